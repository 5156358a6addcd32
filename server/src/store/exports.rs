//! Export jobs: what was asked for, how far it is, and which file holds it. Must not know how a file is made.

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{OptionalExtension, Row, named_params};
use uuid::Uuid;

use super::records::id;
use super::{Fault, HomeNo, Tx};

/// How the records are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON object.
    Json,
    /// A zip with one CSV file for each kind.
    Csv,
    /// A SQLite database with one table for each kind.
    Sqlite,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 3] = [Format::Json, Format::Csv, Format::Sqlite];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Sqlite => "sqlite",
        }
    }

    /// The format a word names.
    pub fn parse(word: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.as_str() == word)
    }
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It waits.
    Queued,
    /// It is being done.
    Running,
    /// Its file is there.
    Succeeded,
    /// It could not be done.
    Failed,
    /// Its file was there, and is gone.
    Expired,
}

impl Status {
    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Succeeded => "succeeded",
            Status::Failed => "failed",
            Status::Expired => "expired",
        }
    }

    fn parse(word: &str) -> Option<Status> {
        let all = [Status::Queued, Status::Running, Status::Succeeded, Status::Failed, Status::Expired];
        all.into_iter().find(|status| status.as_str() == word)
    }
}

/// One job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its place in the order in which jobs were asked for; 0 before it is kept.
    pub number: i64,
    /// Its id.
    pub id: Uuid,
    /// Whose records.
    pub home: HomeNo,
    /// How they are written down.
    pub format: Format,
    /// Of which kinds, in the contract's order.
    pub kinds: Vec<Kind>,
    /// In the words of which version of the API.
    pub version: String,
    /// How far it is.
    pub status: Status,
    /// Records written.
    pub done: u64,
    /// Records there are to write.
    pub total: u64,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When it came to its end.
    pub finished_at: Option<Timestamp>,
    /// From when its file is gone.
    pub expires_at: Option<Timestamp>,
    /// Its file.
    pub product: Option<Product>,
    /// Why it failed, in a sentence.
    pub error: Option<String>,
}

/// A finished file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// Its name in the directory of exports.
    pub file: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
}

const SELECT: &str = "SELECT number, id, home, format, kinds, status, done, total, created_at, finished_at, expires_at,
    file, size_bytes, sha256, error, version FROM exports";

/// Keeps a new job.
pub fn insert(tx: &Tx<'_>, job: &Job) -> Result<(), Fault> {
    let kinds: Vec<&str> = job.kinds.iter().map(|kind| kind.as_str()).collect();
    tx.conn.execute(
        "INSERT INTO exports (id, home, format, kinds, version, status, created_at)
         VALUES (:id, :home, :format, :kinds, :version, :status, :at)",
        named_params! {
            ":id": job.id.to_string(),
            ":home": job.home.0,
            ":format": job.format.as_str(),
            ":kinds": kinds.join(" "),
            ":version": job.version,
            ":status": job.status.as_str(),
            ":at": job.created_at.millis(),
        },
    )?;
    Ok(())
}

/// A job of a home.
pub fn find(tx: &Tx<'_>, home: HomeNo, id: Uuid) -> Result<Option<Job>, Fault> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE home = ?1 AND id = ?2"))?;
    statement.query_and_then((home.0, id.to_string()), job)?.next().transpose()
}

/// Jobs of a home, latest first, at most `limit` before a place.
pub fn page(tx: &Tx<'_>, home: HomeNo, before: Option<i64>, limit: usize) -> Result<Vec<Job>, Fault> {
    let mut statement =
        tx.conn.prepare_cached(&format!("{SELECT} WHERE home = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3"))?;
    statement.query_and_then((home.0, before.unwrap_or(i64::MAX), limit as i64), job)?.collect()
}

/// Jobs of a home that wait, run, or have a file.
pub fn count_kept(tx: &Tx<'_>, home: HomeNo) -> Result<i64, Fault> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT count(*) FROM exports WHERE home = ?1 AND status IN ('queued', 'running', 'succeeded')",
    )?;
    Ok(statement.query_row([home.0], |row| row.get(0))?)
}

/// Forgets a job of a home; gives it.
pub fn remove(tx: &Tx<'_>, home: HomeNo, id: Uuid) -> Result<Option<Job>, Fault> {
    let found = find(tx, home, id)?;
    tx.conn.execute("DELETE FROM exports WHERE home = ?1 AND id = ?2", (home.0, id.to_string()))?;
    Ok(found)
}

/// Takes the job that waits longest, to be done now.
pub fn claim(tx: &Tx<'_>) -> Result<Option<Job>, Fault> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE status = 'queued' ORDER BY number LIMIT 1"))?;
    let Some(job) = statement.query_and_then([], job)?.next().transpose()? else { return Ok(None) };
    tx.conn.execute("UPDATE exports SET status = 'running' WHERE number = ?1", [job.number])?;
    Ok(Some(Job { status: Status::Running, ..job }))
}

/// Lets jobs wait again that were being done when the process ended.
pub fn put_back(tx: &Tx<'_>) -> Result<(), Fault> {
    tx.conn.execute("UPDATE exports SET status = 'queued' WHERE status = 'running'", [])?;
    Ok(())
}

/// Keeps what a job came to. False: the job is forgotten, and its file must go.
pub fn finish(tx: &Tx<'_>, done: &Job) -> Result<bool, Fault> {
    let product = done.product.as_ref();
    let changed = tx.conn.execute(
        "UPDATE exports SET status = :status, done = :done, total = :total, finished_at = :finished,
           expires_at = :expires, file = :file, size_bytes = :size, sha256 = :sha256, error = :error
         WHERE number = :number AND status = 'running'",
        named_params! {
            ":status": done.status.as_str(),
            ":done": done.done as i64,
            ":total": done.total as i64,
            ":finished": done.finished_at.map(Timestamp::millis),
            ":expires": done.expires_at.map(Timestamp::millis),
            ":file": product.map(|product| &product.file),
            ":size": product.map(|product| product.size_bytes as i64),
            ":sha256": product.map(|product| &product.sha256),
            ":error": done.error,
            ":number": done.number,
        },
    )?;
    Ok(changed == 1)
}

/// Marks the jobs whose files have had their time, at most `limit`; gives the files.
pub fn expire(tx: &Tx<'_>, now: Timestamp, limit: usize) -> Result<Vec<String>, Fault> {
    let mut statement = tx.conn.prepare_cached(
        "UPDATE exports SET status = 'expired' WHERE number IN
           (SELECT number FROM exports WHERE status = 'succeeded' AND expires_at <= ?1 LIMIT ?2) RETURNING file",
    )?;
    Ok(statement.query_map((now.millis(), limit as i64), |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Marks a job whose file is not there, after the database was put back for instance.
pub fn lose(tx: &Tx<'_>, number: i64) -> Result<(), Fault> {
    tx.conn.execute("UPDATE exports SET status = 'expired' WHERE number = ?1", [number])?;
    Ok(())
}

/// The files there should be, with the places of their jobs.
pub fn files(tx: &Tx<'_>) -> Result<Vec<(i64, String)>, Fault> {
    let mut statement = tx.conn.prepare_cached("SELECT number, file FROM exports WHERE status = 'succeeded'")?;
    Ok(statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
}

/// Forgets jobs that came to their end before a moment and have no file, at most `limit`; says how many.
pub fn forget(tx: &Tx<'_>, before: Timestamp, limit: usize) -> Result<usize, Fault> {
    let mut statement = tx.conn.prepare_cached(
        "DELETE FROM exports WHERE number IN
           (SELECT number FROM exports WHERE status IN ('failed', 'expired') AND finished_at < ?1 LIMIT ?2)",
    )?;
    Ok(statement.execute((before.millis(), limit as i64))?)
}

/// How many records of a kind a home has.
pub fn count(tx: &Tx<'_>, home: HomeNo, kind: Kind) -> Result<u64, Fault> {
    let mut statement =
        tx.conn.prepare_cached("SELECT count(*) FROM records WHERE home = ?1 AND kind = ?2 AND deleted = 0")?;
    let count: Option<i64> =
        statement.query_row((home.0, super::records::number(kind)), |row| row.get(0)).optional()?;
    Ok(count.unwrap_or(0) as u64)
}

fn job(row: &Row<'_>) -> Result<Job, Fault> {
    let moment = |column: usize| row.get::<_, Option<i64>>(column).map(|m| m.map(Timestamp::from_millis));
    let corrupt = |what: &str, word: &str| Fault::Corrupt(format!("{what} {word} of an export"));
    let (format, kinds, status): (String, String, String) = (row.get(3)?, row.get(4)?, row.get(5)?);
    let product = match (row.get::<_, Option<String>>(11)?, row.get::<_, Option<i64>>(12)?, row.get(13)?) {
        (Some(file), Some(size), Some(sha256)) => Some(Product { file, size_bytes: size as u64, sha256 }),
        _ => None,
    };
    Ok(Job {
        number: row.get(0)?,
        id: id(row.get_ref(1)?.as_str().unwrap_or_default())?,
        home: HomeNo(row.get(2)?),
        format: Format::parse(&format).ok_or_else(|| corrupt("format", &format))?,
        kinds: kinds.split_whitespace().filter_map(Kind::parse).collect(),
        version: row.get(15)?,
        status: Status::parse(&status).ok_or_else(|| corrupt("status", &status))?,
        done: row.get::<_, i64>(6)? as u64,
        total: row.get::<_, i64>(7)? as u64,
        created_at: Timestamp::from_millis(row.get(8)?),
        finished_at: moment(9)?,
        expires_at: moment(10)?,
        product,
        error: row.get(14)?,
    })
}

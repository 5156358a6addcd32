//! Export jobs: the request, the progress, and the name of the finished file. Must not know how a file is written.

use data_encoding::HEXLOWER;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use hearth_exchange::table;
use rusqlite::{OptionalExtension, Row, named_params};
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::records::{id, number};
use super::tx::Tx;
use crate::random::random_bytes;

/// The file format of an export (contract 16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON object with an array per collection.
    Json,
    /// A zip with one CSV file per collection.
    Csv,
    /// A SQLite database with one table per collection.
    Sqlite,
    /// A report for people: one HTML file.
    Html,
}

impl Format {
    /// All formats, in the order of the contract.
    pub const ALL: [Format; 4] = [Format::Json, Format::Csv, Format::Sqlite, Format::Html];

    /// The word in the database and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Sqlite => "sqlite",
            Format::Html => "html",
        }
    }

    /// The format with this word; None for any other word.
    pub fn parse(word: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.as_str() == word)
    }
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Waiting to be carried out.
    Queued,
    /// The file is being written.
    Running,
    /// The file is complete.
    Succeeded,
    /// The file could not be written.
    Failed,
    /// The file was deleted after its time, or is missing.
    Expired,
}

impl Status {
    /// The word in the database and in the API.
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

/// An export job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The position in the order of creation. None before the job is inserted.
    pub number: Option<i64>,
    /// The id in the API.
    pub id: Uuid,
    /// The home whose records are exported.
    pub home: HomeNumber,
    /// The format of the file.
    pub format: Format,
    /// What the tables of a CSV export have besides the members of the records.
    pub options: table::Options,
    /// The kinds exported, in the order of the contract.
    pub kinds: Vec<Kind>,
    /// The API version in which the file is written: `YYYY-MM-DD`.
    pub version: String,
    /// The state of the job.
    pub status: Status,
    /// Records written.
    pub done: u64,
    /// Records to write.
    pub total: u64,
    /// The moment of the request.
    pub created_at: Timestamp,
    /// The moment of success or failure. None: not finished.
    pub finished_at: Option<Timestamp>,
    /// The moment from which the file is deleted. None: no file.
    pub expires_at: Option<Timestamp>,
    /// The finished file. None before success.
    pub product: Option<Product>,
    /// Why the job failed: one sentence. None: not failed.
    pub error: Option<String>,
}

/// The name of an export file: 32 hexadecimal digits. A name of any other form comes from outside, such as from an altered
/// backup, and is never used as a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileName(String);

impl FileName {
    /// Bytes of chance in a name.
    const BYTES: usize = 16;

    /// A name that no file has.
    pub fn random() -> FileName {
        FileName(HEXLOWER.encode(&random_bytes::<{ FileName::BYTES }>()))
    }

    /// The name with this text. None: the program never makes such a name.
    pub fn parse(text: &str) -> Option<FileName> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 2 * FileName::BYTES && text.bytes().all(is_digit)).then(|| FileName(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A finished file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The file in the directory of exports.
    pub file: FileName,
    /// The size of the file.
    pub size_bytes: u64,
    /// SHA-256 of the file, in lower-case hexadecimal.
    pub sha256: String,
}

const SELECT: &str = "SELECT number, id, home, format, kinds, status, done, total, created_at, finished_at, expires_at,
    file, size_bytes, sha256, error, version, names, bom FROM exports";

/// Inserts a new job; the database gives the number.
pub fn insert(tx: &Tx<'_>, job: &Job) -> Result<(), StoreError> {
    let kinds: Vec<&str> = job.kinds.iter().map(|kind| kind.as_str()).collect();
    tx.conn.execute(
        "INSERT INTO exports (id, home, format, names, bom, kinds, version, status, created_at)
         VALUES (:id, :home, :format, :names, :bom, :kinds, :version, :status, :at)",
        named_params! {
            ":id": job.id.to_string(),
            ":home": job.home.0,
            ":format": job.format.as_str(),
            ":names": job.options.names,
            ":bom": job.options.bom,
            ":kinds": kinds.join(" "),
            ":version": job.version,
            ":status": job.status.as_str(),
            ":at": job.created_at.millis(),
        },
    )?;
    Ok(())
}

/// A job of a home, by id.
pub fn find(tx: &Tx<'_>, home: HomeNumber, id: Uuid) -> Result<Option<Job>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE home = ?1 AND id = ?2"))?;
    statement.query_and_then((home.0, id.to_string()), read_job)?.next().transpose()
}

/// Jobs of a home, the latest first, at most `limit`, with numbers below `before`.
pub fn page(tx: &Tx<'_>, home: HomeNumber, before: Option<i64>, limit: usize) -> Result<Vec<Job>, StoreError> {
    let mut statement =
        tx.conn.prepare_cached(&format!("{SELECT} WHERE home = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3"))?;
    statement.query_and_then((home.0, before.unwrap_or(i64::MAX), limit as i64), read_job)?.collect()
}

/// The number of jobs of a home that wait, run, or have a file.
pub fn count_active(tx: &Tx<'_>, home: HomeNumber) -> Result<i64, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT count(*) FROM exports WHERE home = ?1 AND status IN ('queued', 'running', 'succeeded')",
    )?;
    Ok(statement.query_row([home.0], |row| row.get(0))?)
}

/// Deletes a job of a home. Gives the job, if there was one.
pub fn remove(tx: &Tx<'_>, home: HomeNumber, id: Uuid) -> Result<Option<Job>, StoreError> {
    let found = find(tx, home, id)?;
    tx.conn.execute("DELETE FROM exports WHERE home = ?1 AND id = ?2", (home.0, id.to_string()))?;
    Ok(found)
}

/// Takes the oldest queued job and marks the job as running.
pub fn claim(tx: &Tx<'_>) -> Result<Option<Job>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE status = 'queued' ORDER BY number LIMIT 1"))?;
    let Some(job) = statement.query_and_then([], read_job)?.next().transpose()? else { return Ok(None) };
    tx.conn.execute("UPDATE exports SET status = 'running' WHERE number = ?1", [job.number])?;
    Ok(Some(Job { status: Status::Running, ..job }))
}

/// Queues the jobs again that ran when the process ended.
pub fn requeue_running(tx: &Tx<'_>) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE exports SET status = 'queued' WHERE status = 'running'", [])?;
    Ok(())
}

/// Stores the result of a running job. False: the job was deleted meanwhile, and the caller must delete the file.
pub fn finish(tx: &Tx<'_>, done: &Job) -> Result<bool, StoreError> {
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
            ":file": product.map(|product| product.file.as_str()),
            ":size": product.map(|product| product.size_bytes as i64),
            ":sha256": product.map(|product| &product.sha256),
            ":error": done.error,
            ":number": done.number,
        },
    )?;
    Ok(changed == 1)
}

/// Marks jobs as expired at a moment, at most `limit`. Gives the file of each job; None: the stored name is no name of a
/// file.
pub fn expire(tx: &Tx<'_>, now: Timestamp, limit: usize) -> Result<Vec<Option<FileName>>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "UPDATE exports SET status = 'expired' WHERE number IN
           (SELECT number FROM exports WHERE status = 'succeeded' AND expires_at <= ?1 LIMIT ?2) RETURNING file",
    )?;
    Ok(statement.query_map((now.millis(), limit as i64), |row| file_name(row, 0))?.collect::<Result<_, _>>()?)
}

/// Marks a job as expired because its file is missing, for example after a restore.
pub fn mark_file_missing(tx: &Tx<'_>, number: i64) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE exports SET status = 'expired' WHERE number = ?1", [number])?;
    Ok(())
}

/// The number and the file of each job that should have a file. None: the stored name is no name of a file.
pub fn files(tx: &Tx<'_>) -> Result<Vec<(i64, Option<FileName>)>, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT number, file FROM exports WHERE status = 'succeeded'")?;
    Ok(statement.query_map([], |row| Ok((row.get(0)?, file_name(row, 1)?)))?.collect::<Result<_, _>>()?)
}

/// Deletes all jobs. The jobs of a backup have no files.
pub(super) fn clear(tx: &Tx<'_>) -> Result<(), StoreError> {
    tx.conn.execute("DELETE FROM exports", [])?;
    Ok(())
}

/// Deletes jobs without a file that finished before a moment, at most `limit`. Gives the number deleted.
pub fn delete_finished(tx: &Tx<'_>, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "DELETE FROM exports WHERE number IN
           (SELECT number FROM exports WHERE status IN ('failed', 'expired') AND finished_at < ?1 LIMIT ?2)",
    )?;
    Ok(statement.execute((before.millis(), limit as i64))?)
}

/// The number of existing records of a kind in a home.
pub fn count(tx: &Tx<'_>, home: HomeNumber, kind: Kind) -> Result<u64, StoreError> {
    let mut statement =
        tx.conn.prepare_cached("SELECT count(*) FROM records WHERE home = ?1 AND kind = ?2 AND deleted = 0")?;
    let count: Option<i64> = statement.query_row((home.0, number(kind)), |row| row.get(0)).optional()?;
    Ok(count.unwrap_or(0) as u64)
}

fn file_name(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<FileName>> {
    Ok(row.get::<_, Option<String>>(column)?.as_deref().and_then(FileName::parse))
}

fn read_job(row: &Row<'_>) -> Result<Job, StoreError> {
    let moment = |column: usize| row.get::<_, Option<i64>>(column).map(|m| m.map(Timestamp::from_millis));
    let corrupt = |what: &str, word: &str| StoreError::Corrupt(format!("{what} `{word}` of an export"));
    let known_kind = |word: &str| Kind::parse(word).ok_or_else(|| corrupt("kind", word));
    let (format, kinds, status): (String, String, String) = (row.get(3)?, row.get(4)?, row.get(5)?);
    let product = match (file_name(row, 11)?, row.get::<_, Option<i64>>(12)?, row.get(13)?) {
        (Some(file), Some(size), Some(sha256)) => Some(Product { file, size_bytes: size as u64, sha256 }),
        _ => None,
    };
    Ok(Job {
        number: row.get(0)?,
        id: id(row.get_ref(1)?.as_str().unwrap_or_default())?,
        home: HomeNumber(row.get(2)?),
        options: table::Options { names: row.get(16)?, bom: row.get(17)? },
        format: Format::parse(&format).ok_or_else(|| corrupt("format", &format))?,
        kinds: kinds.split_whitespace().map(known_kind).collect::<Result<_, _>>()?,
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

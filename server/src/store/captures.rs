//! Jobs that make drafts of records from files (contract 22): the requests, the drafts, and the files that they still need. Must not
//! know how a draft is made.

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Row, named_params};
use uuid::Uuid;

use super::capture_files::{add_bytes, count_unread_of};
use super::error::StoreError;
use super::home_number::HomeNumber;
use super::readings::{Failure, failure};
use super::records::{id, kind, number};
use super::stored_files::{self, FileHash};
use super::tx::Tx;

/// How long a job waits for a person, in milliseconds: 30 days (contract 22).
pub const KEPT_MS: i64 = 30 * 24 * 3_600_000;
/// How often drafting begins at most: once, and once again after the server stopped meanwhile.
pub const ATTEMPTS_MAX: i64 = 2;

/// What a job is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// New items or vehicles from photos.
    SmartAdd,
    /// Documents from papers, and what they say of their subject.
    Extract,
}

impl Purpose {
    /// Both purposes.
    pub const ALL: [Purpose; 2] = [Purpose::SmartAdd, Purpose::Extract];

    /// The word in the database and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Purpose::SmartAdd => "smart_add",
            Purpose::Extract => "extract",
        }
    }
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// None of its files is being read.
    Queued,
    /// Its files are being read.
    Running,
    /// The drafts wait for a person.
    Ready,
    /// No draft could be made.
    Failed,
    /// A client has discarded the job.
    Discarded,
    /// Nobody has accepted a draft in time.
    Expired,
    /// A record was made of the drafts.
    Accepted,
}

impl Status {
    /// All states.
    pub const ALL: [Status; 7] = [
        Status::Queued,
        Status::Running,
        Status::Ready,
        Status::Failed,
        Status::Discarded,
        Status::Expired,
        Status::Accepted,
    ];

    /// The word in the database and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Ready => "ready",
            Status::Failed => "failed",
            Status::Discarded => "discarded",
            Status::Expired => "expired",
            Status::Accepted => "accepted",
        }
    }

    /// Whether a person may still accept a draft.
    pub const fn is_open(self) -> bool {
        matches!(self, Status::Queued | Status::Running | Status::Ready | Status::Failed)
    }
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The position in the order of creation; 0 before the job is inserted.
    pub number: i64,
    /// The id in the API.
    pub id: Uuid,
    /// The home.
    pub home: HomeNumber,
    /// What the job is for.
    pub purpose: Purpose,
    /// The state.
    pub status: Status,
    /// The files, in the order of the request.
    pub files: Vec<FileHash>,
    /// The room of new items.
    pub room: Option<Uuid>,
    /// What the person says about the files.
    pub note: Option<String>,
    /// The record that the papers are about.
    pub subject: Option<(Kind, Uuid)>,
    /// The moment of the request.
    pub created_at: Timestamp,
    /// The moment at which the drafts were made. None: not yet.
    pub finished_at: Option<Timestamp>,
    /// The moment at which the job expires.
    pub expires_at: Timestamp,
    /// Why the job failed. None: not failed.
    pub error: Option<Failure>,
    /// The drafts of the reader: a JSON array.
    pub drafts: String,
    /// The drafts of clients: a JSON object, by name.
    pub suggestions: String,
    /// What was read in each file: a JSON array.
    pub facts: String,
    /// The record that was made of the drafts.
    pub accepted: Option<(Kind, Uuid)>,
    /// How often drafting began.
    pub attempts: i64,
}

const SELECT: &str = "SELECT number, id, home, purpose, status, files, room, note, subject_kind, subject, created_at,
    finished_at, expires_at, code, error, drafts, suggestions, facts, accepted_kind, accepted, attempts FROM captures";

/// Bytes of the texts of a row.
const BYTES: &str = "octet_length(files) + coalesce(octet_length(note), 0) + octet_length(drafts)
    + octet_length(suggestions) + octet_length(facts)";

/// Inserts a job whose files wait for the reader or were read; the database gives the number.
pub fn insert(tx: &Tx<'_>, job: &Capture) -> Result<(), StoreError> {
    let files: Vec<&str> = job.files.iter().map(FileHash::as_str).collect();
    tx.conn.execute(
        "INSERT INTO captures (id, home, purpose, status, files, room, note, subject_kind, subject, created_at, expires_at)
         VALUES (:id, :home, :purpose, :status, :files, :room, :note, :subject_kind, :subject, :at, :expires)",
        named_params! {
            ":id": job.id.to_string(), ":home": job.home.0, ":purpose": job.purpose.as_str(),
            ":status": job.status.as_str(), ":files": files.join(" "), ":room": job.room.map(|id| id.to_string()),
            ":note": job.note, ":subject_kind": job.subject.map(|(kind, _)| number(kind)),
            ":subject": job.subject.map(|(_, id)| id.to_string()), ":at": job.created_at.millis(),
            ":expires": job.expires_at.millis(),
        },
    )?;
    let capture = tx.conn.last_insert_rowid();
    let mut hold = tx.conn.prepare_cached("INSERT INTO capture_files (home, sha256, capture) VALUES (?1, ?2, ?3)")?;
    for file in &job.files {
        hold.execute((job.home.0, file.as_str(), capture))?;
        stored_files::note_use(tx, job.home, file, job.created_at)?;
    }
    count_unread_of(tx, capture)?;
    measure(tx, job.home, capture)
}

/// A job of a home, by purpose and id.
pub fn find(tx: &Tx<'_>, home: HomeNumber, purpose: Purpose, id: Uuid) -> Result<Option<Capture>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE home = ?1 AND purpose = ?2 AND id = ?3"))?;
    statement.query_and_then((home.0, purpose.as_str(), id.to_string()), read_job)?.next().transpose()
}

/// Jobs of a home, the latest first, at most `limit`, with numbers below `before`. `status`: None for all.
pub fn page(
    tx: &Tx<'_>,
    home: HomeNumber,
    purpose: Purpose,
    status: Option<Status>,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<Capture>, StoreError> {
    let filter = status.map_or(String::new(), |status| format!("AND status = '{}'", status.as_str()));
    let sql =
        format!("{SELECT} WHERE home = ?1 AND purpose = ?2 AND number < ?3 {filter} ORDER BY number DESC LIMIT ?4");
    let mut statement = tx.conn.prepare_cached(&sql)?;
    let values = (home.0, purpose.as_str(), before.unwrap_or(i64::MAX), limit as i64);
    statement.query_and_then(values, read_job)?.collect()
}

/// The number of jobs of a home that wait or run.
pub fn count_waiting(tx: &Tx<'_>, home: HomeNumber) -> Result<i64, StoreError> {
    let mut statement =
        tx.conn.prepare_cached("SELECT count(*) FROM captures WHERE home = ?1 AND status IN ('queued', 'running')")?;
    Ok(statement.query_row([home.0], |row| row.get(0))?)
}

/// Takes the oldest job whose files were all looked at.
pub fn claim(tx: &Tx<'_>) -> Result<Option<Capture>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!(
        "{SELECT} WHERE status IN ('queued', 'running') AND unread = 0 ORDER BY number LIMIT 1"
    ))?;
    let Some(mut job) = statement.query_and_then([], read_job)?.next().transpose()? else { return Ok(None) };
    tx.conn
        .execute("UPDATE captures SET status = 'running', attempts = attempts + 1 WHERE number = ?1", [job.number])?;
    job.attempts += 1;
    Ok(Some(job))
}

/// Stores the drafts of a running job, or why there are none. False: the job was discarded meanwhile.
pub fn finish(
    tx: &Tx<'_>,
    job: &Capture,
    drafted: Result<(&str, &str), &Failure>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let (status, drafts, facts) = match drafted {
        Ok((drafts, facts)) => (Status::Ready, drafts, facts),
        Err(_) => (Status::Failed, "[]", "[]"),
    };
    let failure = drafted.err();
    let changed = tx.conn.execute(
        "UPDATE captures SET status = :status, drafts = :drafts, facts = :facts, finished_at = :at, code = :code, error = :error
         WHERE number = :number AND status IN ('queued', 'running')",
        named_params! {
            ":status": status.as_str(), ":drafts": drafts, ":facts": facts, ":at": now.millis(),
            ":code": failure.map(|failure| failure.code.as_str()),
            ":error": failure.map(|failure| failure.message.as_str()), ":number": job.number,
        },
    )?;
    measure(tx, job.home, job.number)?;
    Ok(changed == 1)
}

/// Stores the drafts of clients of a job: a JSON object.
pub fn set_suggestions(tx: &Tx<'_>, job: &Capture, suggestions: &str) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE captures SET suggestions = ?2 WHERE number = ?1", (job.number, suggestions))?;
    measure(tx, job.home, job.number)
}

/// Stores which record was made of the drafts, and lets go of the files.
pub fn accept(tx: &Tx<'_>, job: &Capture, record: (Kind, Uuid), now: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute(
        "UPDATE captures SET status = 'accepted', finished_at = coalesce(finished_at, ?2), accepted_kind = ?3, accepted = ?4
         WHERE number = ?1",
        (job.number, now.millis(), number(record.0), record.1.to_string()),
    )?;
    let_go(tx, job, now)
}

/// Ends an open job: without drafts, facts and files.
pub fn end(tx: &Tx<'_>, job: &Capture, status: Status, now: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute(
        "UPDATE captures SET status = ?2, finished_at = coalesce(finished_at, ?3), drafts = '[]', suggestions = '{}', facts = '[]'
         WHERE number = ?1",
        (job.number, status.as_str(), now.millis()),
    )?;
    measure(tx, job.home, job.number)?;
    let_go(tx, job, now)
}

/// Ends jobs that expire until a moment, and deletes those that ended [`KEPT_MS`] before, at most `limit` of each. True: there may be
/// more.
pub fn clean_up(tx: &Tx<'_>, now: Timestamp, limit: usize) -> Result<bool, StoreError> {
    let mut select = tx.conn.prepare_cached(&format!(
        "{SELECT} WHERE expires_at <= ?1 AND status IN ('queued', 'running', 'ready', 'failed')
         ORDER BY expires_at LIMIT ?2"
    ))?;
    let forgotten = now.plus_millis(-KEPT_MS);
    let due: Vec<Capture> = select.query_and_then((now.millis(), limit as i64), read_job)?.collect::<Result<_, _>>()?;
    due.iter().try_for_each(|job| end(tx, job, Status::Expired, now))?;
    let mut select =
        tx.conn.prepare_cached(&format!("{SELECT} WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2"))?;
    let old: Vec<Capture> =
        select.query_and_then((forgotten.millis(), limit as i64), read_job)?.collect::<Result<_, _>>()?;
    for job in &old {
        let_go(tx, job, now)?;
        add_bytes(tx, job.home, -bytes(tx, job.number)?)?;
        tx.conn.execute("DELETE FROM captures WHERE number = ?1", [job.number])?;
    }
    Ok(due.len() == limit || old.len() == limit)
}

/// Frees the files of a job.
fn let_go(tx: &Tx<'_>, job: &Capture, now: Timestamp) -> Result<(), StoreError> {
    let freed = tx.conn.execute("DELETE FROM capture_files WHERE capture = ?1", [job.number])?;
    if freed > 0 {
        job.files.iter().try_for_each(|file| stored_files::note_use(tx, job.home, file, now))?;
    }
    Ok(())
}

/// Counts the bytes of a job again, for the job and for its home.
fn measure(tx: &Tx<'_>, home: HomeNumber, job: i64) -> Result<(), StoreError> {
    let before = bytes(tx, job)?;
    tx.conn.prepare_cached(&format!("UPDATE captures SET bytes = {BYTES} WHERE number = ?1"))?.execute([job])?;
    add_bytes(tx, home, bytes(tx, job)? - before)
}

fn bytes(tx: &Tx<'_>, job: i64) -> Result<i64, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT bytes FROM captures WHERE number = ?1")?;
    Ok(statement.query_row([job], |row| row.get(0))?)
}

fn read_job(row: &Row<'_>) -> Result<Capture, StoreError> {
    let word = |column: usize| -> Result<String, StoreError> { Ok(row.get(column)?) };
    let record = |kind_column: usize| -> Result<Option<(Kind, Uuid)>, StoreError> {
        let (Some(stored), Some(text)) =
            (row.get::<_, Option<i64>>(kind_column)?, row.get::<_, Option<String>>(kind_column + 1)?)
        else {
            return Ok(None);
        };
        Ok(Some((kind(stored)?, id(&text)?)))
    };
    let (purpose, status) = (word(3)?, word(4)?);
    let corrupt = |what: &str| StoreError::Corrupt(format!("{what} of a job that makes drafts"));
    let files = word(5)?.split_whitespace().map(FileHash::parse).collect::<Option<Vec<_>>>();
    Ok(Capture {
        number: row.get(0)?,
        id: id(&word(1)?)?,
        home: HomeNumber(row.get(2)?),
        purpose: Purpose::ALL.into_iter().find(|known| known.as_str() == purpose).ok_or_else(|| corrupt("purpose"))?,
        status: Status::ALL.into_iter().find(|known| known.as_str() == status).ok_or_else(|| corrupt("status"))?,
        files: files.ok_or_else(|| corrupt("hash"))?,
        room: row.get::<_, Option<String>>(6)?.map(|text| id(&text)).transpose()?,
        note: row.get(7)?,
        subject: record(8)?,
        created_at: Timestamp::from_millis(row.get(10)?),
        finished_at: row.get::<_, Option<i64>>(11)?.map(Timestamp::from_millis),
        expires_at: Timestamp::from_millis(row.get(12)?),
        error: failure(row.get(13)?, row.get(14)?)?,
        drafts: word(15)?,
        suggestions: word(16)?,
        facts: word(17)?,
        accepted: record(18)?,
        attempts: row.get(20)?,
    })
}

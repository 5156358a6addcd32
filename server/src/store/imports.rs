//! Import jobs: the request, the file while it waits, and the results of the rows. Must not know how a file is read.

use hearth_contract::formats::Timestamp;
use rusqlite::{OptionalExtension, Row, named_params};
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::records::id;
use super::tx::Tx;

/// How long an ended job is kept, in milliseconds: 30 days.
pub const KEPT_MS: i64 = 30 * 24 * 3_600_000;
/// Jobs that one step of the cleanup deletes. Each may have tens of thousands of results.
const JOBS_PER_STEP: usize = 1;

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Waiting to be carried out.
    Queued,
    /// The file is being read, or its rows are being written.
    Running,
    /// All rows are done, or were looked at in a dry run.
    Succeeded,
    /// The file or a row was refused.
    Failed,
}

impl Status {
    /// The word in the database and in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Succeeded => "succeeded",
            Status::Failed => "failed",
        }
    }

    fn parse(word: &str) -> Option<Status> {
        let all = [Status::Queued, Status::Running, Status::Succeeded, Status::Failed];
        all.into_iter().find(|status| status.as_str() == word)
    }
}

/// The numbers of rows by what they do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "contract 23 names the counts")]
pub struct Counts {
    pub created: i64,
    pub updated: i64,
    pub unchanged: i64,
    pub failed: i64,
}

/// An import job, without its file and its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The position in the order of creation; 0 before the job is inserted.
    pub number: i64,
    /// The id in the API.
    pub id: Uuid,
    /// The home into which the file goes.
    pub home: HomeNumber,
    /// The parameters, as a JSON object of texts.
    pub request: String,
    /// The scopes of the key that asked.
    pub scopes: Vec<String>,
    /// The name of the key that asked, for `updated_by`.
    pub author: String,
    /// The state of the job.
    pub status: Status,
    /// The rows by what they do; zero until the file was read.
    pub counts: Counts,
    /// The moment of the request.
    pub created_at: Timestamp,
    /// The moment of the end. None: not ended.
    pub finished_at: Option<Timestamp>,
    /// Why the job failed: one sentence. None: not failed.
    pub error: Option<String>,
}

const SELECT: &str = "SELECT number, id, home, request, scopes, author, status, created, updated, unchanged, failed,
    created_at, finished_at, error FROM imports";

/// Inserts a new job with its file; the database gives the number.
pub fn insert(tx: &Tx<'_>, job: &Job, body: &[u8]) -> Result<(), StoreError> {
    tx.conn.execute(
        "INSERT INTO imports (id, home, request, scopes, author, body, status, created_at)
         VALUES (:id, :home, :request, :scopes, :author, :body, :status, :at)",
        named_params! {
            ":id": job.id.to_string(),
            ":home": job.home.0,
            ":request": job.request,
            ":scopes": job.scopes.join(" "),
            ":author": job.author,
            ":body": body,
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

/// The number of jobs of a home that wait or run.
pub fn count_waiting(tx: &Tx<'_>, home: HomeNumber) -> Result<i64, StoreError> {
    let mut statement =
        tx.conn.prepare_cached("SELECT count(*) FROM imports WHERE home = ?1 AND status IN ('queued', 'running')")?;
    Ok(statement.query_row([home.0], |row| row.get(0))?)
}

/// The file of a job. None: the job was deleted.
pub fn body(tx: &Tx<'_>, number: i64) -> Result<Option<Vec<u8>>, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT body FROM imports WHERE number = ?1")?;
    Ok(statement.query_row([number], |row| row.get(0)).optional()?.flatten())
}

/// Results of a job from a position on, at most `limit`, as JSON texts.
pub fn results(tx: &Tx<'_>, number: i64, from: i64, limit: usize) -> Result<Vec<String>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT result FROM import_rows WHERE import = ?1 AND position >= ?2 ORDER BY position LIMIT ?3",
    )?;
    Ok(statement.query_map((number, from, limit as i64), |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Deletes a job of a home with its results. A running job ends at its next step.
pub fn remove(tx: &Tx<'_>, home: HomeNumber, id: Uuid) -> Result<(), StoreError> {
    if let Some(job) = find(tx, home, id)? {
        forget(tx, job.number)?;
    }
    Ok(())
}

fn forget(tx: &Tx<'_>, number: i64) -> Result<(), StoreError> {
    clear_results(tx, number)?;
    tx.conn.execute("DELETE FROM imports WHERE number = ?1", [number])?;
    Ok(())
}

/// Takes the oldest queued job and marks the job as running.
pub fn claim(tx: &Tx<'_>) -> Result<Option<Job>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE status = 'queued' ORDER BY number LIMIT 1"))?;
    let Some(job) = statement.query_and_then([], read_job)?.next().transpose()? else { return Ok(None) };
    tx.conn.execute("UPDATE imports SET status = 'running' WHERE number = ?1", [job.number])?;
    clear_results(tx, job.number)?;
    Ok(Some(Job { status: Status::Running, ..job }))
}

/// Fails the jobs that ran when the process ended, with a sentence. None runs again: a file that ends the process would end it
/// at each start.
pub fn end_interrupted(tx: &Tx<'_>, now: Timestamp, sentence: &str) -> Result<(), StoreError> {
    tx.conn.execute(
        "UPDATE imports SET status = 'failed', body = NULL, finished_at = ?1, error = ?2 WHERE status = 'running'",
        (now.millis(), sentence),
    )?;
    Ok(())
}

/// Deletes the results of a job.
pub fn clear_results(tx: &Tx<'_>, number: i64) -> Result<(), StoreError> {
    tx.conn.execute("DELETE FROM import_rows WHERE import = ?1", [number])?;
    Ok(())
}

/// Stores results, the first at a position. False: the job was deleted.
pub fn add_results(tx: &Tx<'_>, number: i64, first: usize, results: &[String]) -> Result<bool, StoreError> {
    if !is_running(tx, number)? {
        return Ok(false);
    }
    let mut statement =
        tx.conn.prepare_cached("INSERT INTO import_rows (import, position, result) VALUES (?1, ?2, ?3)")?;
    for (at, result) in results.iter().enumerate() {
        statement.execute((number, (first + at) as i64, result))?;
    }
    Ok(true)
}

/// Adds to the number of committed changes. False: the job was deleted.
pub fn add_applied(tx: &Tx<'_>, number: i64, changes: usize) -> Result<bool, StoreError> {
    let mut statement =
        tx.conn.prepare_cached("UPDATE imports SET applied = applied + ?2 WHERE number = ?1 AND status = 'running'")?;
    Ok(statement.execute((number, changes as i64))? == 1)
}

/// Whether a job runs; false after its delete.
fn is_running(tx: &Tx<'_>, number: i64) -> Result<bool, StoreError> {
    let mut statement =
        tx.conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM imports WHERE number = ?1 AND status = 'running')")?;
    Ok(statement.query_row([number], |row| row.get(0))?)
}

/// Stores the end of a running job, and forgets its file. False: the job was deleted.
pub fn finish(tx: &Tx<'_>, job: &Job) -> Result<bool, StoreError> {
    let changed = tx.conn.execute(
        "UPDATE imports SET status = :status, body = NULL, created = :created, updated = :updated,
           unchanged = :unchanged, failed = :failed, finished_at = :at, error = :error
         WHERE number = :number AND status = 'running'",
        named_params! {
            ":status": job.status.as_str(),
            ":created": job.counts.created,
            ":updated": job.counts.updated,
            ":unchanged": job.counts.unchanged,
            ":failed": job.counts.failed,
            ":at": job.finished_at.map(Timestamp::millis),
            ":error": job.error,
            ":number": job.number,
        },
    )?;
    Ok(changed == 1)
}

/// Deletes all jobs.
pub(super) fn clear(tx: &Tx<'_>) -> Result<(), StoreError> {
    tx.conn.execute("DELETE FROM import_rows", [])?;
    tx.conn.execute("DELETE FROM imports", [])?;
    Ok(())
}

/// Deletes jobs that ended before a moment. True: there may be more.
pub fn delete_finished(tx: &Tx<'_>, before: Timestamp) -> Result<bool, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT number FROM imports WHERE status IN ('succeeded', 'failed') AND finished_at < ?1 LIMIT ?2",
    )?;
    let numbers: Vec<i64> =
        statement.query_map((before.millis(), JOBS_PER_STEP as i64), |row| row.get(0))?.collect::<Result<_, _>>()?;
    numbers.iter().try_for_each(|number| forget(tx, *number))?;
    Ok(numbers.len() == JOBS_PER_STEP)
}

fn read_job(row: &Row<'_>) -> Result<Job, StoreError> {
    let (scopes, status): (String, String) = (row.get(4)?, row.get(6)?);
    Ok(Job {
        number: row.get(0)?,
        id: id(row.get_ref(1)?.as_str().unwrap_or_default())?,
        home: HomeNumber(row.get(2)?),
        request: row.get(3)?,
        scopes: scopes.split_whitespace().map(str::to_owned).collect(),
        author: row.get(5)?,
        status: Status::parse(&status).ok_or_else(|| StoreError::Corrupt(format!("status `{status}` of an import")))?,
        counts: Counts { created: row.get(7)?, updated: row.get(8)?, unchanged: row.get(9)?, failed: row.get(10)? },
        created_at: Timestamp::from_millis(row.get(11)?),
        finished_at: row.get::<_, Option<i64>>(12)?.map(Timestamp::from_millis),
        error: row.get(13)?,
    })
}

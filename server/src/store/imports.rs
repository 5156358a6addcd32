//! Import jobs: the request, the file while it waits, and the results of the rows. All of them count to the bytes of the home.
//! Must not know how a file is read.

use hearth_contract::formats::Timestamp;
use rusqlite::{OptionalExtension, named_params};
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::homes;
use super::import_job::{SELECT, read_job};
use super::tx::Tx;

pub use super::import_job::{Counts, Failure, FailureCause, Job, Status};

/// How long an ended job is kept, in milliseconds: 30 days.
const KEPT_MS: i64 = 30 * 24 * 3_600_000;
/// How long a dry run is kept after its end, in milliseconds: one day.
const DRY_RUN_KEPT_MS: i64 = 24 * 3_600_000;
/// Jobs that one step of the cleanup deletes. Each may have tens of thousands of results.
const JOBS_PER_STEP: usize = 1;

/// How results were stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// All of them.
    All,
    /// None of them: the home has no room for them.
    Full,
    /// None of them: the job was deleted.
    Deleted,
}

/// Inserts a new job with its file; the database gives the number.
pub fn insert(tx: &Tx<'_>, job: &Job, body: &[u8]) -> Result<(), StoreError> {
    tx.conn.execute(
        "INSERT INTO imports (id, home, request, is_dry_run, key, scopes, author, body, status, created_at)
         VALUES (:id, :home, :request, :is_dry_run, :key, :scopes, :author, :body, :status, :at)",
        named_params! {
            ":id": job.id.to_string(),
            ":home": job.home.0,
            ":request": job.request,
            ":is_dry_run": job.is_dry_run,
            ":key": job.key,
            ":scopes": job.scopes.join(" "),
            ":author": job.author,
            ":body": body,
            ":status": job.status.as_str(),
            ":at": job.created_at.millis(),
        },
    )?;
    add_bytes(tx, tx.conn.last_insert_rowid(), (job.request.len() + body.len()) as i64)
}

/// Adds to the bytes of a job, and of its home.
fn add_bytes(tx: &Tx<'_>, number: i64, change: i64) -> Result<(), StoreError> {
    let mut of_home = tx.conn.prepare_cached(
        "UPDATE homes SET import_bytes = import_bytes + ?2 WHERE number = (SELECT home FROM imports WHERE number = ?1)",
    )?;
    of_home.execute((number, change))?;
    let mut of_job = tx.conn.prepare_cached("UPDATE imports SET bytes = bytes + ?2 WHERE number = ?1")?;
    of_job.execute((number, change))?;
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

/// The file of a job. None: the job was deleted, or the file was forgotten.
pub fn body(tx: &Tx<'_>, number: i64) -> Result<Option<Vec<u8>>, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT body FROM imports WHERE number = ?1")?;
    Ok(statement.query_row([number], |row| row.get(0)).optional()?.flatten())
}

/// Forgets the file of a job: no job reads its file twice.
pub fn forget_body(tx: &Tx<'_>, number: i64) -> Result<(), StoreError> {
    let mut size = tx.conn.prepare_cached("SELECT octet_length(body) FROM imports WHERE number = ?1")?;
    let size: Option<i64> = size.query_row([number], |row| row.get(0)).optional()?.flatten();
    let Some(size) = size else { return Ok(()) };
    tx.conn.execute("UPDATE imports SET body = NULL WHERE number = ?1", [number])?;
    add_bytes(tx, number, -size)
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
    forget_body(tx, number)?;
    tx.conn.execute(
        "UPDATE homes SET import_bytes = import_bytes - i.bytes FROM imports i
         WHERE i.number = ?1 AND homes.number = i.home",
        [number],
    )?;
    tx.conn.execute("DELETE FROM imports WHERE number = ?1", [number])?;
    Ok(())
}

/// Takes the oldest queued job and marks the job as running.
pub fn claim(tx: &Tx<'_>) -> Result<Option<Job>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE status = 'queued' ORDER BY number LIMIT 1"))?;
    let Some(job) = statement.query_and_then([], read_job)?.next().transpose()? else { return Ok(None) };
    tx.conn.execute("UPDATE imports SET status = 'running' WHERE number = ?1", [job.number])?;
    Ok(Some(Job { status: Status::Running, ..job }))
}

/// Fails the jobs that run although nothing works on them. None runs again: a file that ends the process would end it at each
/// start.
pub fn end_running(tx: &Tx<'_>, now: Timestamp, failure: &Failure) -> Result<(), StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT number, applied FROM imports WHERE status = 'running'")?;
    let running: Vec<(i64, i64)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    for (number, applied) in running {
        clear_results(tx, number)?;
        forget_body(tx, number)?;
        let sentence = match applied {
            0 => failure.sentence.clone(),
            _ => format!("{} {applied} changes were written before.", failure.sentence),
        };
        tx.conn.execute(
            "UPDATE imports SET status = 'failed', finished_at = ?2, error = ?3, cause = ?4 WHERE number = ?1",
            (number, now.millis(), sentence, failure.cause.as_str()),
        )?;
    }
    Ok(())
}

/// Deletes the results of a job.
fn clear_results(tx: &Tx<'_>, number: i64) -> Result<(), StoreError> {
    let sql = "SELECT coalesce(sum(octet_length(result)), 0) FROM import_rows WHERE import = ?1";
    let size: i64 = tx.conn.prepare_cached(sql)?.query_row([number], |row| row.get(0))?;
    tx.conn.execute("DELETE FROM import_rows WHERE import = ?1", [number])?;
    add_bytes(tx, number, -size)
}

/// Stores results of a running job, the first at a position. `home_bytes_max`: the most bytes of its home.
pub fn add_results(
    tx: &Tx<'_>,
    job: &Job,
    first: usize,
    results: &[String],
    home_bytes_max: i64,
) -> Result<Stored, StoreError> {
    let number = job.number;
    if !is_running(tx, number)? {
        return Ok(Stored::Deleted);
    }
    let bytes = results.iter().map(String::len).sum::<usize>() as i64;
    if homes::used_bytes(tx, job.home)?.saturating_add(bytes) > home_bytes_max {
        return Ok(Stored::Full);
    }
    let mut statement =
        tx.conn.prepare_cached("INSERT INTO import_rows (import, position, result) VALUES (?1, ?2, ?3)")?;
    for (at, result) in results.iter().enumerate() {
        statement.execute((number, (first + at) as i64, result))?;
    }
    add_bytes(tx, number, bytes)?;
    Ok(Stored::All)
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

/// Stores the end of a running job, and forgets its file. A deleted job has no end.
pub fn finish(tx: &Tx<'_>, job: &Job) -> Result<(), StoreError> {
    forget_body(tx, job.number)?;
    tx.conn.execute(
        "UPDATE imports SET status = :status, created = :created, updated = :updated,
           unchanged = :unchanged, failed = :failed, finished_at = :at, error = :error, cause = :cause
         WHERE number = :number AND status = 'running'",
        named_params! {
            ":status": job.status.as_str(),
            ":created": job.counts.created,
            ":updated": job.counts.updated,
            ":unchanged": job.counts.unchanged,
            ":failed": job.counts.failed,
            ":at": job.finished_at.map(Timestamp::millis),
            ":error": job.failure.as_ref().map(|failure| &failure.sentence),
            ":cause": job.failure.as_ref().map(|failure| failure.cause.as_str()),
            ":number": job.number,
        },
    )?;
    Ok(())
}

/// Deletes all jobs.
pub(super) fn clear(tx: &Tx<'_>) -> Result<(), StoreError> {
    tx.conn.execute("DELETE FROM import_rows", [])?;
    tx.conn.execute("DELETE FROM imports", [])?;
    tx.conn.execute("UPDATE homes SET import_bytes = 0", [])?;
    Ok(())
}

/// Deletes jobs that ended long enough before a moment. True: there may be more.
pub fn delete_finished(tx: &Tx<'_>, now: Timestamp) -> Result<bool, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT number FROM imports WHERE is_dry_run = ?1 AND finished_at < ?2 ORDER BY finished_at LIMIT ?3",
    )?;
    let mut is_more = false;
    for (is_dry_run, kept) in [(false, KEPT_MS), (true, DRY_RUN_KEPT_MS)] {
        let parameters = (is_dry_run, now.plus_millis(-kept).millis(), JOBS_PER_STEP as i64);
        let numbers: Vec<i64> = statement.query_map(parameters, |row| row.get(0))?.collect::<Result<_, _>>()?;
        numbers.iter().try_for_each(|number| forget(tx, *number))?;
        is_more |= numbers.len() == JOBS_PER_STEP;
    }
    Ok(is_more)
}

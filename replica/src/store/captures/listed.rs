//! The server's list of captures becomes rows. Must not change a row whose state the server does not know yet.

use hearth_contract::formats::Timestamp;
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use crate::model::{CapturePurpose, CaptureState};
use crate::store::file_store::bytes;
use crate::store::{StoreError, gate, rows, select};

/// An ended capture is kept for this long after its creation (milliseconds), as on the server.
const KEPT_MILLIS: i64 = 60 * 86_400_000;

/// The most bytes of the drafts of one capture. Larger ones are left to the server's page.
const DRAFTS_BYTES_MAX: usize = 1 << 20;

/// Jobs of one purpose, as the server lists them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Listed {
    /// What the jobs are for.
    pub purpose: CapturePurpose,
    /// The latest jobs.
    pub jobs: Vec<Value>,
    /// True when the server has no others.
    pub is_whole: bool,
}

/// Writes the server's jobs. True when a row has changed.
pub(crate) fn take(connection: &mut Connection, listed: &Listed, now: Timestamp) -> Result<bool, StoreError> {
    // A write that changes nothing would wake other programs.
    if !is_news(connection, listed)? {
        return Ok(false);
    }
    gate::sync_tx(connection, |tx| {
        for job in &listed.jobs {
            take_job(tx, listed.purpose, job)?;
        }
        if listed.is_whole {
            tx.execute(&format!("UPDATE captures SET state = 'expired' WHERE {GONE}"), named(listed))?;
        }
        tx.execute(
            "DELETE FROM captures WHERE unsent = 0 AND created_at < ?1
                 AND state IN ('accepted', 'discarded', 'failed', 'expired')",
            [now.plus_millis(-KEPT_MILLIS).to_string()],
        )?;
        Ok(true)
    })
}

/// True while the server reads files of a capture, or will.
pub(crate) fn is_reading(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM captures WHERE state IN ('queued', 'running'))";
    select::value(connection, text, [])
}

/// SQL condition: an open capture that the server does not have any more. Parameters: purpose, JSON array of the server's ids.
const GONE: &str = "purpose = ?1 AND unsent = 0 AND server_id IS NOT NULL AND state IN ('queued', 'running', 'ready')
    AND server_id NOT IN (SELECT value FROM json_each(?2))";

fn named(listed: &Listed) -> (CapturePurpose, String) {
    let ids: Vec<&Value> = listed.jobs.iter().map(|job| &job["id"]).collect();
    (listed.purpose, rows::json_text(&ids))
}

fn is_news(connection: &Connection, listed: &Listed) -> Result<bool, StoreError> {
    for job in &listed.jobs {
        let Some(row) = Job::of(job) else { continue };
        let text = "SELECT state = ?2 AND drafts = ?3 OR unsent FROM captures WHERE server_id = ?1";
        let is_known = select::first(connection, text, (row.server_id, row.state, &row.drafts))?;
        if !is_known.unwrap_or(!row.state.is_open()) {
            return Ok(true);
        }
    }
    let text = format!("SELECT EXISTS (SELECT 1 FROM captures WHERE {GONE})");
    Ok(listed.is_whole && select::value(connection, &text, named(listed))?)
}

/// What is stored of a job.
struct Job<'a> {
    server_id: &'a str,
    state: CaptureState,
    files: Vec<&'a str>,
    drafts: String,
}

impl<'a> Job<'a> {
    /// None: a job that this program does not understand.
    fn of(job: &'a Value) -> Option<Job<'a>> {
        let state = CaptureState::parse(job["status"].as_str()?).filter(|state| *state != CaptureState::Waiting)?;
        let files: Option<Vec<&str>> = job["files"].as_array()?.iter().map(Value::as_str).collect();
        let files: Vec<&str> = files?.into_iter().filter(|hash| bytes::is_hash(hash)).collect();
        let drafts = job["drafts"].as_array().map(|_| job["drafts"].to_string());
        let drafts = drafts.filter(|drafts| drafts.len() <= DRAFTS_BYTES_MAX).unwrap_or_else(|| "[]".to_owned());
        Some(Job { server_id: job["id"].as_str()?, state, files, drafts })
    }
}

fn take_job(tx: &Transaction<'_>, purpose: CapturePurpose, job: &Value) -> Result<(), StoreError> {
    let Some(row) = Job::of(job) else { return Ok(()) };
    let text = |member: &Value| member.as_str().map(str::to_owned);
    let problem = job.get("error").filter(|error| error.is_object()).map(Value::to_string);
    let accepted = &job["accepted"];
    tx.execute(
        "UPDATE captures SET state = ?2, drafts = ?3, problem = ?4, accepted_type = ?5, accepted_id = ?6
         WHERE server_id = ?1 AND unsent = 0",
        (row.server_id, row.state, &row.drafts, &problem, text(&accepted["type"]), text(&accepted["id"])),
    )?;
    // A job that has ended elsewhere is of no use here.
    if !row.state.is_open() {
        return Ok(());
    }
    tx.execute(
        "INSERT INTO captures (id, server_id, purpose, state, files, room_id, note, subject_type, subject_id,
             created_at, drafts, problem)
         VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
         ON CONFLICT DO NOTHING",
        (
            row.server_id,
            purpose,
            row.state,
            rows::json_text(&row.files),
            text(&job["room_id"]),
            text(&job["note"]),
            text(&job["subject_type"]),
            text(&job["subject_id"]),
            job["created_at"].as_str().unwrap_or_default(),
            &row.drafts,
            &problem,
        ),
    )?;
    note_files(tx, &row, &job["facts"])
}

/// Makes rows of the files of an open job, so that a person can ask for their bytes.
fn note_files(tx: &Transaction<'_>, job: &Job<'_>, facts: &Value) -> Result<(), StoreError> {
    for hash in &job.files {
        let fact = facts.as_array().and_then(|facts| facts.iter().find(|fact| fact["file"].as_str() == Some(hash)));
        let media = fact.and_then(|fact| fact["content_type"].as_str());
        tx.prepare_cached("INSERT OR IGNORE INTO files (sha256, content_type, state) VALUES (?1, ?2, 'wanted')")?
            .execute((hash, media))?;
    }
    Ok(())
}

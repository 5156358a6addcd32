//! What the server does not know of captures yet, and what follows from its answers. Must not know HTTP.

use rusqlite::{Connection, Transaction};
use serde_json::{Value, json};

use crate::model::{CapturePurpose, CaptureState, LogLevel};
use crate::store::{StoreError, gate, log, select};

/// After so many attempts a capture is still sent again when the server does not have its files. After one more, the server's
/// refusal counts.
const ATTEMPTS_MAX: i64 = 3;

/// Something that the server does not know yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsent {
    /// The id of the capture in this replica.
    pub id: String,
    /// What the capture is for.
    pub purpose: CapturePurpose,
    /// What the server is told.
    pub news: News,
}

/// What the server is told of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// The capture itself: the idempotency key and the body of the request.
    New { key: String, body: String },
    /// The record that a person made of its drafts: the server's id and the body.
    Accepted { server_id: String, body: String },
    /// A person has thrown the drafts away: the server's id.
    Discarded { server_id: String },
}

/// SQL condition: all files of the capture `c` are on the server, and so are its room and its subject.
const FILES_ARE_THERE: &str = "NOT EXISTS (SELECT 1 FROM json_each(c.files) j LEFT JOIN files f ON f.sha256 = j.value
         WHERE f.state IS NULL OR f.state NOT IN ('present', 'wanted'))
     AND NOT EXISTS (SELECT 1 FROM edits e WHERE e.record_id IN (c.room_id, c.subject_id) AND e.method = 'create')";

/// The oldest capture of which something can be sent now. A capture waits for its files; an acceptance waits until the server has
/// the record.
pub(crate) fn unsent(connection: &Connection) -> Result<Option<Unsent>, StoreError> {
    let text = format!(
        "SELECT id, purpose, state, server_id, idempotency_key, files, room_id, note, subject_type, subject_id,
             accepted_type, accepted_id
         FROM captures c
         WHERE unsent = 1 AND CASE
             WHEN server_id IS NULL THEN idempotency_key IS NOT NULL AND {FILES_ARE_THERE}
             WHEN state = 'accepted' THEN NOT EXISTS (
                 SELECT 1 FROM edits e WHERE e.record_id = c.accepted_id AND e.method = 'create')
             ELSE 1 END
         ORDER BY created_at, id LIMIT 1"
    );
    let found = select::all(connection, &text, [], |row| {
        let text = |name: &str| row.get::<_, Option<String>>(name);
        let (purpose, state) = (row.get("purpose")?, row.get("state")?);
        let news = match (text("server_id")?, state) {
            (None, _) => News::New { key: row.get("idempotency_key")?, body: new_body(purpose, text)? },
            (Some(server_id), CaptureState::Accepted) => {
                let body = json!({ "type": text("accepted_type")?, "id": text("accepted_id")? });
                News::Accepted { server_id, body: body.to_string() }
            }
            (Some(server_id), _) => News::Discarded { server_id },
        };
        Ok(Unsent { id: row.get("id")?, purpose, news })
    });
    Ok(found?.pop())
}

/// The body of the request that makes the job. The same for each attempt.
fn new_body(
    purpose: CapturePurpose,
    text: impl Fn(&str) -> rusqlite::Result<Option<String>>,
) -> rusqlite::Result<String> {
    let files: Value = serde_json::from_str(&text("files")?.unwrap_or_default()).unwrap_or_default();
    let mut body = json!({ "files": files });
    let names: &[&str] = match purpose {
        CapturePurpose::SmartAdd => &["room_id", "note"],
        CapturePurpose::Extract => &["subject_type", "subject_id"],
    };
    for name in names {
        if let Some(value) = text(name)? {
            body[*name] = value.into();
        }
    }
    Ok(body.to_string())
}

/// Counts an attempt before the request leaves.
pub(crate) fn begin_attempt(connection: &mut Connection, id: &str) -> Result<(), StoreError> {
    gate::execute(connection, "UPDATE captures SET attempts = attempts + 1 WHERE id = ?1", [id]).map(drop)
}

/// Notes that the server has made the job. A decision that a person has made meanwhile is still to be sent.
pub(crate) fn made(connection: &mut Connection, id: &str, server_id: &str) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        // The server's list may have shown the job before this answer.
        tx.execute("DELETE FROM captures WHERE server_id = ?1 AND id <> ?2", (server_id, id))?;
        tx.execute(
            "UPDATE captures SET server_id = ?2, problem = NULL, unsent = state <> 'waiting',
                 state = CASE state WHEN 'waiting' THEN 'queued' ELSE state END WHERE id = ?1",
            (id, server_id),
        )?;
        Ok(())
    })
}

/// Notes that the server knows the end of a capture, or will never take it.
pub(crate) fn known(connection: &mut Connection, id: &str) -> Result<(), StoreError> {
    gate::execute(connection, "UPDATE captures SET unsent = 0 WHERE id = ?1", [id]).map(drop)
}

/// Notes why a capture is not sent now; it is tried again.
pub(crate) fn delayed(connection: &mut Connection, id: &str, problem: &Value) -> Result<(), StoreError> {
    let text = "UPDATE captures SET problem = ?2 WHERE id = ?1";
    gate::execute(connection, text, (id, problem.to_string())).map(drop)
}

/// Notes that the server refuses a new capture. It has no job of it, so a decision that a person has made meanwhile is not sent.
pub(crate) fn refused(connection: &mut Connection, id: &str, problem: &Value) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        fail(tx, "id = ?1", id, problem)?;
        tx.execute("UPDATE captures SET unsent = 0, attempts = 0 WHERE id = ?1 AND server_id IS NULL", [id])?;
        Ok(())
    })
}

/// The captures that wait for a file fail, because the file cannot be sent.
pub(in crate::store) fn fail_of_file(tx: &Transaction<'_>, sha256: &str, problem: &Value) -> Result<(), StoreError> {
    fail(tx, "EXISTS (SELECT 1 FROM json_each(files) j WHERE j.value = ?1)", sha256, problem)
}

fn fail(tx: &Transaction<'_>, condition: &str, value: &str, problem: &Value) -> Result<(), StoreError> {
    let text = format!(
        "UPDATE captures SET state = 'failed', unsent = 0, problem = ?2
         WHERE server_id IS NULL AND state = 'waiting' AND {condition}"
    );
    if tx.execute(&text, (value, problem.to_string()))? > 0 {
        let why = problem["message"].as_str().unwrap_or("the server refuses it");
        log(tx, LogLevel::Warning, &format!("A capture cannot be sent: {why}"))?;
    }
    Ok(())
}

/// Sends the files of a capture again, because the server does not have one any more. False: that has not helped before, or the
/// bytes are not here.
pub(crate) fn send_files_again(connection: &mut Connection, id: &str) -> Result<bool, StoreError> {
    let text = "UPDATE files SET state = 'waiting' WHERE state = 'present' AND sha256 IN (
         SELECT j.value FROM captures c, json_each(c.files) j WHERE c.id = ?1 AND c.attempts <= ?2)";
    Ok(gate::execute(connection, text, (id, ATTEMPTS_MAX))? > 0)
}

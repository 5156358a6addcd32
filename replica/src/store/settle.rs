//! How edits end: the server is known to hold them, the feed passes them, they move to the history. Must not send.

use hearth_contract::event::Event;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{OptionalExtension, Transaction};

use super::{StoreError, image, log};

/// Notes that the server holds an edit, since this position if it is known.
pub(super) fn mark_sent(tx: &Transaction<'_>, edit: i64, rev: Option<i64>) -> Result<(), StoreError> {
    let known = tx
        .prepare_cached(
            "UPDATE edits SET state = 'sent', reason = NULL, problem = NULL, next_attempt_at = NULL WHERE id = ?1",
        )?
        .execute([edit])?;
    if known > 0 {
        tx.prepare_cached(
            "INSERT INTO _sent (edit_id, rev) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET rev = coalesce(rev, excluded.rev)",
        )?
        .execute((edit, rev))?;
    }
    Ok(())
}

/// An event that carries the key of one of our requests proves that the server has it, even if its answer was lost.
pub(crate) fn recognise(tx: &Transaction<'_>, event: &Event, record: &str) -> Result<bool, StoreError> {
    let Some(key) = &event.idempotency_key else { return Ok(false) };
    let edit: Option<i64> = tx
        .prepare_cached("SELECT id FROM edits WHERE idempotency_key = ?1 AND record_id = ?2")?
        .query_row((key, record), |row| row.get(0))
        .optional()?;
    if let Some(edit) = edit {
        mark_sent(tx, edit, Some(event.id))?;
    }
    Ok(edit.is_some())
}

/// Ends the edits that the feed has passed: their overlay goes, because the record itself shows them now.
pub(crate) fn settle(tx: &Transaction<'_>, position: i64, now: Timestamp) -> Result<bool, StoreError> {
    // A delete's answer names no position; the record's tomb tells that the feed has passed it.
    let done: Vec<(i64, String, String)> = tx
        .prepare_cached(
            "SELECT e.id, e.kind, e.record_id FROM _sent s JOIN edits e ON e.id = s.edit_id
             WHERE s.rev <= ?1 OR (s.rev IS NULL AND EXISTS
                 (SELECT 1 FROM _tombs t WHERE t.kind = e.kind AND t.record_id = e.record_id))",
        )?
        .query_map([position], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    for (edit, _, _) in &done {
        finish(tx, *edit, "confirmed", now)?;
    }
    for (_, word, record) in &done {
        if let Some(kind) = Kind::from_word(word) {
            image::project(tx, kind, record)?;
        }
    }
    Ok(!done.is_empty())
}

/// Moves an edit to the history.
fn finish(tx: &Transaction<'_>, edit: i64, outcome: &str, now: Timestamp) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO edit_history (id, kind, record_id, method, patch, base, outcome, rev, reason, attempts,
             idempotency_key, origin, created_at, settled_at)
         SELECT e.id, kind, record_id, method, patch, base, ?2, s.rev, reason, attempts, idempotency_key, origin, created_at, ?3
         FROM edits e LEFT JOIN _sent s ON s.edit_id = e.id WHERE e.id = ?1",
    )?
    .execute((edit, outcome, now.to_string()))?;
    tx.prepare_cached(
        "DELETE FROM _requests WHERE idempotency_key = (SELECT idempotency_key FROM edits WHERE id = ?1)
         AND NOT EXISTS (SELECT 1 FROM edits e WHERE e.idempotency_key = _requests.idempotency_key AND e.id <> ?1)",
    )?
    .execute([edit])?;
    tx.prepare_cached("DELETE FROM edits WHERE id = ?1")?.execute([edit])?;
    tx.prepare_cached("DELETE FROM _sent WHERE edit_id = ?1")?.execute([edit])?;
    let oldest = now.plus_millis(-HISTORY_MILLIS).to_string();
    tx.prepare_cached("DELETE FROM edit_history WHERE settled_at < ?1")?.execute([oldest])?;
    Ok(())
}

/// How long settled edits are remembered: 30 days.
const HISTORY_MILLIS: i64 = 30 * 24 * 3600 * 1000;

/// A record with edits was deleted on the server. If its last edit deletes it too, both wanted the same; otherwise
/// the edits wait for a person and the row stays as it was last seen.
pub(crate) fn record_is_gone(tx: &Transaction<'_>, kind: Kind, record: &str, now: Timestamp) -> Result<(), StoreError> {
    let edits: Vec<(i64, String, String)> = tx
        .prepare_cached("SELECT id, method, state FROM edits WHERE kind = ?1 AND record_id = ?2 ORDER BY id")?
        .query_map((kind.word(), record), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let agreed = edits.last().is_some_and(|(_, method, _)| method == "delete");
    for (edit, method, state) in &edits {
        if agreed {
            let outcome = if method == "delete" || state == "sent" { "confirmed" } else { "superseded" };
            finish(tx, *edit, outcome, now)?;
        } else if state != "sent" {
            tx.execute(
                "UPDATE edits SET state = 'conflict', reason = 'deleted there', next_attempt_at = NULL WHERE id = ?1",
                [edit],
            )?;
            log(tx, "warning", &format!("Edit {edit} needs you (conflict): the {kind} was deleted there."))?;
        }
    }
    image::project(tx, kind, record)
}

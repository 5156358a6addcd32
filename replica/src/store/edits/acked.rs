//! What the server is known to have: by a response, or by an event that carries the key of a request. Must not end an edit;
//! for that, the feed must have passed the edit's position.

use std::collections::BTreeMap;

use hearth_contract::event::Event;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};

use crate::model::{EditState, Method};
use crate::store::edits::reason::{Reason, set_state};
use crate::store::{StoreError, rows, select};

/// An edit with the position at which the server accepted the edit; None when the position is unknown.
pub(crate) type Acked = (i64, Option<i64>);

/// Notes that the server has accepted edits, all in one statement: the guards cost more for each statement than for
/// each row.
pub(crate) fn mark_acked(tx: &Transaction<'_>, edits: &[Acked]) -> Result<(), StoreError> {
    let list = id_list(edits.iter().copied());
    for text in [
        "UPDATE edits SET state = 'sent', reason_code = NULL, reason = NULL, problem = NULL, next_attempt_at = NULL
         WHERE id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))",
        "INSERT INTO _outbox (edit_id, acked_rev)
         SELECT e.id, j.value FROM json_each(?1) j CROSS JOIN edits e ON e.id = CAST(j.key AS INTEGER) WHERE true
         ON CONFLICT DO UPDATE SET acked_rev = coalesce(acked_rev, excluded.acked_rev), awaits_record = 0",
    ] {
        tx.prepare_cached(text)?.execute([&list])?;
    }
    Ok(())
}

/// Notes that later edits of the record must wait although the server has accepted this edit: others may have changed
/// the record since, and a later edit would overwrite the change unseen.
pub(crate) fn mark_awaits_record(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    set_state(
        tx,
        edit,
        EditState::Sent,
        Some(Reason::Told("the server has the change; the present version of the record is on the way")),
    )?;
    tx.prepare_cached("UPDATE _outbox SET awaits_record = 1 WHERE edit_id = ?1")?.execute([edit])?;
    Ok(())
}

/// A JSON object of edit numbers and positions, for statements that take many edits.
pub(super) fn id_list(edits: impl IntoIterator<Item = Acked>) -> String {
    rows::json_text(&edits.into_iter().collect::<BTreeMap<_, _>>())
}

/// An edit of a record, with what the server is known to have of it.
#[derive(Debug)]
pub(crate) struct RecordEdit {
    pub edit: i64,
    pub method: Method,
    pub is_sent: bool,
    /// The idempotency key of the edit's request.
    pub key: Option<String>,
    /// The position at which the server accepted the edit, when a response named one.
    pub rev: Option<i64>,
}

impl RecordEdit {
    /// True when an event carries the key of the edit's request.
    pub(crate) fn is_named_by(&self, event: &Event) -> bool {
        self.key.is_some() && self.key == event.idempotency_key
    }
}

/// The edits of a record in their order.
pub(crate) fn edits_of_record(tx: &Transaction<'_>, kind: Kind, record: &str) -> Result<Vec<RecordEdit>, StoreError> {
    let text = "SELECT e.id, e.method, e.state = 'sent', e.idempotency_key, s.acked_rev FROM edits e LEFT JOIN _outbox s ON s.edit_id = e.id
         WHERE e.kind = ?1 AND e.record_id = ?2 ORDER BY e.id";
    select::all(tx, text, (kind.as_str(), record), |row| {
        let (edit, method, is_sent) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(RecordEdit { edit, method, is_sent, key: row.get(3)?, rev: row.get(4)? })
    })
}

/// Finds the edit whose request caused an event. The key of the event proves that the server has the edit, also when
/// the response was lost. Gives the number of the edit, and true when its position was unknown or another.
pub(crate) fn match_own_event(
    tx: &Transaction<'_>,
    event: &Event,
    edits: &[RecordEdit],
) -> Result<Option<(i64, bool)>, StoreError> {
    let Some(RecordEdit { edit, rev, .. }) = edits.iter().find(|edit| edit.is_named_by(event)) else { return Ok(None) };
    if *rev != Some(event.id) {
        mark_acked(tx, &[(*edit, Some(event.id))])?;
        // The event has the right position. An earlier one may be of a discarded history.
        tx.prepare_cached("UPDATE _outbox SET acked_rev = ?2 WHERE edit_id = ?1")?.execute((edit, event.id))?;
    }
    Ok(Some((*edit, *rev != Some(event.id))))
}

/// The edits that the server has accepted and the feed has not shown.
pub(crate) fn acked_edits(connection: &Connection) -> Result<Vec<i64>, StoreError> {
    select::column(connection, "SELECT id FROM edits WHERE state = 'sent'", [])
}

/// Accepted edits that the feed has shown although the rows are behind. A reconcile that restarts before its end has
/// such edits.
pub(crate) fn acked_and_seen(tx: &Transaction<'_>) -> Result<Vec<i64>, StoreError> {
    let text = "SELECT s.edit_id FROM _outbox s JOIN edits e ON e.id = s.edit_id
                    LEFT JOIN _base i ON i.kind = e.kind AND i.record_id = e.record_id
                WHERE e.state = 'sent' AND i.rev >= s.acked_rev AND (i.deleted OR e.method <> 'delete')";
    select::column(tx, text, [])
}

/// Notes deletes that the server accepted up to a position. A backfill does not show records that were
/// created and deleted during the backfill (contract 9.2).
pub(crate) fn note_accepted_deletes(tx: &Transaction<'_>, position: i64) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO _base (kind, record_id, rev, fields, deleted)
         SELECT kind, record_id, max(s.acked_rev), '{}', 1 FROM _outbox s JOIN edits e ON e.id = s.edit_id
             LEFT JOIN _base i USING (kind, record_id)
         WHERE e.method = 'delete' AND s.acked_rev <= ?1 AND coalesce(i.deleted, 1) GROUP BY kind, record_id
         ON CONFLICT DO UPDATE SET rev = max(rev, excluded.rev)",
    )?
    .execute([position])?;
    Ok(())
}

//! What the server is known to have: by a response, or by an event that carries the key of a request. Must not end an edit;
//! for that, the feed must have passed the edit's position.

use std::fmt::Write as _;

use hearth_contract::event::Event;
use hearth_contract::schema::Kind;
use rusqlite::Transaction;

use crate::model::{EditState, Method};
use crate::store::StoreError;
use crate::store::edits::reason::{Reason, set_state};

/// An edit and the position since which the server holds it, if that is known.
pub(crate) type Acked = (i64, Option<i64>);

/// Notes that the server holds edits. Many are one statement: each that a if_match looks at costs more than its rows.
pub(crate) fn mark_acked(tx: &Transaction<'_>, edits: &[Acked]) -> Result<(), StoreError> {
    let list = id_list(edits.iter().copied());
    let known = tx
        .prepare_cached(
            "UPDATE edits SET state = 'sent', reason_code = NULL, reason = NULL, problem = NULL, next_attempt_at = NULL
             WHERE id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))",
        )?
        .execute([&list])?;
    if known > 0 {
        tx.prepare_cached(
            "INSERT INTO _acked (edit_id, rev)
             SELECT e.id, j.value FROM json_each(?1) j CROSS JOIN edits e ON e.id = CAST(j.key AS INTEGER) WHERE true
             ON CONFLICT DO UPDATE SET rev = coalesce(rev, excluded.rev), awaits_record = 0",
        )?
        .execute([list])?;
    }
    Ok(())
}

/// Notes of an edit that the server holds why those after it do not go yet: what others have made of its record since is not
/// known here, and would be written over unseen.
pub(crate) fn mark_awaits_record(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    set_state(tx, edit, EditState::Sent, Some(Reason::Told(None, "it is there; what it is by now is on the way")))?;
    tx.prepare_cached("UPDATE _acked SET awaits_record = 1 WHERE edit_id = ?1")?.execute([edit])?;
    Ok(())
}

/// Edits as a statement takes them: a JSON object of their numbers and positions.
pub(super) fn id_list(edits: impl IntoIterator<Item = Acked>) -> String {
    let mut list = String::from("{");
    for (number, (edit, rev)) in edits.into_iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        let _ = match rev {
            Some(rev) => write!(list, "{comma}\"{edit}\":{rev}"),
            None => write!(list, "{comma}\"{edit}\":null"),
        };
    }
    list.push('}');
    list
}

/// An edit of a record, as far as the feed has to do with it.
#[derive(Debug)]
pub(crate) struct RecordEdit {
    pub edit: i64,
    pub method: Method,
    pub is_sent: bool,
    /// The key of its request.
    pub key: Option<String>,
    /// Since when the server holds it, as far as it has said so.
    pub rev: Option<i64>,
}

impl RecordEdit {
    /// Whether an event carries the key of its request.
    pub(crate) fn is_named_by(&self, event: &Event) -> bool {
        self.key.is_some() && self.key == event.idempotency_key
    }
}

/// The edits of a record, in their order.
pub(crate) fn edits_of_record(tx: &Transaction<'_>, kind: Kind, record: &str) -> Result<Vec<RecordEdit>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT e.id, e.method, e.state = 'sent', e.idempotency_key, s.rev FROM edits e LEFT JOIN _acked s ON s.edit_id = e.id
         WHERE e.kind = ?1 AND e.record_id = ?2 ORDER BY e.id",
    )?;
    let found = statement.query_map((kind.as_str(), record), |row| {
        let (edit, method, is_sent) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(RecordEdit { edit, method, is_sent, key: row.get(3)?, rev: row.get(4)? })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// An event that carries the key of one of our requests proves that the server has it, even if its answer was lost.
/// Gives the edit, and whether this was not known.
pub(crate) fn match_own_event(
    tx: &Transaction<'_>,
    event: &Event,
    edits: &[RecordEdit],
) -> Result<Option<(i64, bool)>, StoreError> {
    let Some(RecordEdit { edit, rev, .. }) = edits.iter().find(|edit| edit.is_named_by(event)) else { return Ok(None) };
    if *rev != Some(event.id) {
        mark_acked(tx, &[(*edit, Some(event.id))])?;
        // Whatever was said of its position before, perhaps by a history that is put back: here it is.
        tx.prepare_cached("UPDATE _acked SET rev = ?2 WHERE edit_id = ?1")?.execute((edit, event.id))?;
    }
    Ok(Some((*edit, *rev != Some(event.id))))
}

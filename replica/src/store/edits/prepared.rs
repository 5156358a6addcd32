//! An edit on its way to a request. Must not know how the edit is merged or sent.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

use crate::model::Method;
use crate::store::{StoreError, rows};

/// An edit as it is about to be sent.
pub(super) struct PreparedEdit {
    pub(super) edit: i64,
    pub(super) kind: Kind,
    pub(super) record: String,
    pub(super) method: Method,
    pub(super) patch: Fields,
    pub(super) base: Fields,
    /// A request of it was refused because the record had moved on.
    pub(super) precondition_failed: bool,
    /// That request may have been in before: its own event may be among those that were missed.
    pub(super) maybe_applied: bool,
}

/// An edit that has not reached the server; None: it has, or it is settled, or a person decides.
pub(super) fn load(tx: &Connection, edit: i64) -> Result<Option<PreparedEdit>, StoreError> {
    let found = tx
        .prepare_cached(
            "SELECT kind, record_id, method, patch, base, coalesce(f.rejected, 0), coalesce(f.rejected AND f.own_event = 'maybe_applied', 0)
             FROM edits e LEFT JOIN _outbox f ON f.edit_id = e.id WHERE id = ?1 AND state IN ('waiting', 'sending')",
        )?
        .query_row([edit], |row| {
            let strings: (String, String, Method) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((strings, row.get::<_, String>(3)?, row.get::<_, String>(4)?, (row.get(5)?, row.get(6)?)))
        })
        .optional()?;
    let Some(((word, record, method), patch, base, (precondition_failed, maybe_applied))) = found else {
        return Ok(None);
    };
    let kind = Kind::parse(&word).ok_or_else(|| StoreError::Garbled(format!("an edit of unknown kind {word}")))?;
    let (patch, base) = (rows::object(&patch)?, rows::object(&base)?);
    Ok(Some(PreparedEdit { edit, kind, record, method, patch, base, precondition_failed, maybe_applied }))
}

pub(super) fn save(tx: &Connection, prepared: &PreparedEdit) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE edits SET method = ?2, patch = ?3, base = ?4 WHERE id = ?1")?.execute((
        prepared.edit,
        prepared.method,
        text(&prepared.patch),
        text(&prepared.base),
    ))?;
    Ok(())
}

/// JSON text.
pub(super) fn text(value: &impl Serialize) -> String {
    // What is serialized here has keys of text and no numbers that JSON lacks.
    serde_json::to_string(value).unwrap_or_default()
}

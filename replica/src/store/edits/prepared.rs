//! An edit on its way to a request. Must not know how the edit is merged or sent.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

use crate::model::Method;
use crate::store::{StoreError, rows};

/// An edit before its request is frozen.
pub(super) struct PreparedEdit {
    pub(super) edit: i64,
    pub(super) kind: Kind,
    pub(super) record: String,
    pub(super) method: Method,
    pub(super) patch: Fields,
    pub(super) base: Fields,
    /// True when a request of the edit was given up, usually because the record had changed (412).
    pub(super) request_given_up: bool,
    /// True when an attempt of the given-up request may have been applied, and the feed cannot tell.
    pub(super) maybe_applied: bool,
}

/// Loads an edit that is to be sent. None when the edit has ended, was accepted, or waits for a person.
pub(super) fn load(tx: &Connection, edit: i64) -> Result<Option<PreparedEdit>, StoreError> {
    let found = tx
        .prepare_cached(
            "SELECT kind, record_id, method, patch, base, coalesce(f.given_up, 0),
                    coalesce(f.given_up AND f.maybe_applied, 0)
             FROM edits e LEFT JOIN _outbox f ON f.edit_id = e.id WHERE id = ?1 AND state IN ('waiting', 'sending')",
        )?
        .query_row([edit], |row| {
            let strings: (String, String, Method) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((strings, row.get::<_, String>(3)?, row.get::<_, String>(4)?, (row.get(5)?, row.get(6)?)))
        })
        .optional()?;
    let Some(((word, record, method), patch, base, (request_given_up, maybe_applied))) = found else {
        return Ok(None);
    };
    let kind =
        Kind::parse(&word).ok_or_else(|| StoreError::InvalidContent(format!("an edit of unknown kind {word}")))?;
    let (patch, base) = (rows::parse_object(&patch)?, rows::parse_object(&base)?);
    Ok(Some(PreparedEdit { edit, kind, record, method, patch, base, request_given_up, maybe_applied }))
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

/// A value as JSON text.
pub(super) fn text(value: &impl Serialize) -> String {
    // The values have text keys and no numbers that JSON lacks, so writing cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

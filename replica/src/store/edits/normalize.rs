//! Writes the values of an edit in the server's form, for the person who decides about the edit. Must not know why it waits.

use hearth_contract::schema::Kind;
use rusqlite::Transaction;
use serde_json::Value;

use crate::store::merge::normalized;
use crate::store::{StoreError, base, rows};

/// Writes the values of an edit in the server's form: plain SQL can then compare base, mine and theirs.
pub(crate) fn normalize_edit(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    let (word, record, patch, base): (String, String, String, String) = tx
        .prepare_cached("SELECT kind, record_id, patch, base FROM edits WHERE id = ?1")?
        .query_row([edit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let kind =
        Kind::parse(&word).ok_or_else(|| StoreError::InvalidContent(format!("an edit of unknown kind {word}")))?;
    let before = [rows::parse_object(&patch)?, rows::parse_object(&base)?];
    let mut sides = before.clone();
    for (name, value) in sides.iter_mut().flatten() {
        *value = normalized(kind, name, Some(value));
    }
    if sides == before {
        return Ok(());
    }
    let [patch, base] = sides.map(|side| Value::Object(side).to_string());
    tx.prepare_cached("UPDATE edits SET patch = ?2, base = ?3 WHERE id = ?1")?.execute((edit, patch, base))?;
    // The row shows the values of the edit.
    base::rebase(tx, kind, &record)
}

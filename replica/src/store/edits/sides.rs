//! What a person who decides about an edit is shown of it. Must not know why it waits.

use hearth_contract::schema::Kind;
use rusqlite::Transaction;
use serde_json::Value;

use crate::store::edits::judge::spelled;
use crate::store::mirror::image;
use crate::store::{StoreError, rows};

/// Writes the values of an edit as the server spells them, so that plain SQL can compare the three sides.
pub(crate) fn spell(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    let (word, record, patch, base): (String, String, String, String) = tx
        .prepare_cached("SELECT kind, record_id, patch, base FROM edits WHERE id = ?1")?
        .query_row([edit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let kind =
        Kind::parse(&word).ok_or_else(|| StoreError::InvalidContent(format!("an edit of unknown kind {word}")))?;
    let before = [rows::parse_object(&patch)?, rows::parse_object(&base)?];
    let mut sides = before.clone();
    for (name, value) in sides.iter_mut().flatten() {
        *value = spelled(kind, name, Some(value));
    }
    if sides == before {
        return Ok(());
    }
    let [patch, base] = sides.map(|side| Value::Object(side).to_string());
    tx.prepare_cached("UPDATE edits SET patch = ?2, base = ?3 WHERE id = ?1")?.execute((edit, patch, base))?;
    // The row shows what the edit says.
    image::project(tx, kind, &record)
}

//! Fields of an edit that the server already had with the wanted value. Somebody else set these fields, and undo leaves them
//! alone. Base and patch of the edit stay unchanged, because a restored server may lose the values again. Must not merge.

use std::collections::HashSet;

use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use crate::store::edits::next_step::Compared;
use crate::store::merge::normalized;
use crate::store::{StoreError, rows, select};

/// Replaces the noted fields of an edit and of its parts.
pub(super) fn record_fields(
    tx: &Transaction<'_>,
    edit: i64,
    kind: Kind,
    Compared { known, patch, base, .. }: &Compared,
) -> Result<(), StoreError> {
    // Where the server's value equals the base, nobody else has changed the field.
    let is_there = |name: &str, value: &Value| {
        known.as_ref().map(|known| known.fields.get(name).cloned().unwrap_or_default()).is_some_and(|there| {
            let is_base = base.contains_key(name) && there == normalized(kind, name, base.get(name));
            there == normalized(kind, name, Some(value)) && !is_base
        })
    };
    let fields: Vec<&String> =
        patch.iter().filter(|(name, value)| is_there(name, value)).map(|(name, _)| name).collect();
    let note = (!fields.is_empty()).then(|| rows::json_text(&fields));
    let clear = "UPDATE _outbox SET already_applied = NULL
                 WHERE already_applied IS NOT NULL AND (edit_id = ?1 OR part_of = ?1)";
    let write = "INSERT INTO _outbox (edit_id, already_applied)
                 SELECT id, ?2 FROM (SELECT ?1 AS id UNION SELECT edit_id FROM _outbox WHERE part_of = ?1) WHERE true
                 ON CONFLICT DO UPDATE SET already_applied = excluded.already_applied";
    match note {
        None => tx.prepare_cached(clear)?.execute([edit])?,
        Some(note) => tx.prepare_cached(write)?.execute((edit, note))?,
    };
    Ok(())
}

/// The fields that are noted for an edit.
pub(super) fn fields_of(tx: &Connection, edit: i64) -> Result<HashSet<String>, StoreError> {
    let text = "SELECT value FROM _outbox, json_each(already_applied) WHERE edit_id = ?1";
    Ok(select::column(tx, text, [edit])?.into_iter().collect())
}

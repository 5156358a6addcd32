//! Fields of an edit that the server already had with the wanted value. Somebody else set these fields, and undo leaves them
//! alone. Base and patch of the edit stay unchanged, because a restored server may lose the values again. Must not merge.

use std::collections::HashSet;

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use crate::store::StoreError;
use crate::store::merge::{BaseImage, normalized};

/// Replaces the noted fields of an edit and of the edits in the same request.
pub(super) fn record_fields(
    tx: &Transaction<'_>,
    edit: i64,
    kind: Kind,
    patch: &Fields,
    base: &Fields,
    known: Option<&BaseImage>,
) -> Result<(), StoreError> {
    // Where the server's value equals the base, nobody else has changed the field.
    let is_there = |name: &str, value: &Value| {
        known.map(|known| known.fields.get(name).cloned().unwrap_or_default()).is_some_and(|there| {
            let is_base = base.contains_key(name) && there == normalized(kind, name, base.get(name));
            there == normalized(kind, name, Some(value)) && !is_base
        })
    };
    tx.prepare_cached(&format!("DELETE FROM _already_applied WHERE edit_id IN {AS_ONE}"))?.execute([edit])?;
    for (name, _) in patch.iter().filter(|(name, value)| is_there(name, value)) {
        tx.prepare_cached(&format!("INSERT INTO _already_applied (edit_id, field) SELECT id, ?2 FROM {AS_ONE}"))?
            .execute((edit, name))?;
    }
    Ok(())
}

/// The numbers of an edit and of the edits in the same request.
const AS_ONE: &str = "(SELECT ?1 AS id UNION SELECT edit_id FROM _coalesced WHERE of_edit = ?1)";

/// The fields that are noted for an edit.
pub(super) fn fields_of(tx: &Connection, edit: i64) -> Result<HashSet<String>, StoreError> {
    let mut statement = tx.prepare_cached("SELECT field FROM _already_applied WHERE edit_id = ?1")?;
    Ok(statement.query_map([edit], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

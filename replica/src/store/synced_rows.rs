//! Copies of the rows of the typed tables as the sync last wrote them (`_synced_rows`). Must not judge a difference.

use std::sync::OnceLock;

use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, Resource};
use rusqlite::{Connection, Transaction};

use super::StoreError;

/// The columns before the fields in a copied row, in their order.
const COMMON_COLUMNS: [&str; 5] = ["rev", "created_at", "updated_at", "updated_by", "extra"];

/// The index of a column in a copied row; None for `id`.
pub(crate) fn position(resource: &Resource, column: &str) -> Option<usize> {
    copied_columns(resource).position(|name| name == column)
}

/// The columns of a copied row, in their order.
pub(crate) fn copied_columns(resource: &Resource) -> impl Iterator<Item = &'static str> {
    COMMON_COLUMNS.into_iter().chain(resource.fields.iter().map(|field| field.name))
}

/// Copies a row as it is now, or deletes the copy of a row that is gone. Called after every write of the sync to the row.
pub(crate) fn note(connection: &Connection, kind: Kind, id: &str) -> Result<(), StoreError> {
    if connection.prepare_cached(copy_statement(kind))?.execute([id])? == 0 {
        connection
            .prepare_cached("DELETE FROM _synced_rows WHERE kind = ?1 AND record_id = ?2")?
            .execute((kind.as_str(), id))?;
    }
    Ok(())
}

/// Forgets all revisions after a position, as `unknown_revs` does in the rows.
pub(crate) fn forget_revs(tx: &Transaction<'_>, position: i64) -> Result<(), StoreError> {
    let text = "UPDATE _synced_rows SET row = json_set(row, '$[0]', NULL) WHERE json_extract(row, '$[0]') > ?1";
    tx.execute(text, [position])?;
    Ok(())
}

/// The statement that copies the row of an id. The texts are made once.
fn copy_statement(kind: Kind) -> &'static str {
    static TEXTS: OnceLock<Vec<String>> = OnceLock::new();
    let text = |kind: Kind| {
        let columns: Vec<&str> = copied_columns(resource(kind)).collect();
        format!(
            "INSERT INTO _synced_rows (kind, record_id, row) SELECT '{kind}', id, json_array({}) FROM {} WHERE id = ?1
             ON CONFLICT DO UPDATE SET row = excluded.row",
            columns.join(", "),
            kind.collection()
        )
    };
    let all = TEXTS.get_or_init(|| Kind::ALL.into_iter().map(text).collect());
    &all[kind as usize]
}

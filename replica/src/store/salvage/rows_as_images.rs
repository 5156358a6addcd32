//! Base images from the rows of a damaged database: where a base image cannot be read, the row of a record without edits shows the same
//! values. Must not judge edits.

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, Transaction};
use uuid::Uuid;

use super::reader::{SalvagedTable, read_table};
use crate::store::rows::StoredRecord;
use crate::store::{StoreError, base, health, rows};

/// Reads the rows of all kinds.
pub(super) fn read(damaged: &Connection) -> Result<Vec<(Kind, SalvagedTable)>, StoreError> {
    Kind::ALL.into_iter().map(|kind| Ok((kind, read_table(damaged, kind.collection())?))).collect()
}

/// Saves a base image for each row without one, unless the record has edits. The revision is unknown. `knows_edits`: all edits are
/// known, so a record without edits is the server's.
pub(super) fn save(
    tx: &Transaction<'_>,
    tables: &[(Kind, SalvagedTable)],
    knows_edits: bool,
) -> Result<(), StoreError> {
    let mut has_edits = tx.prepare("SELECT 1 FROM edits WHERE kind = ?1 AND record_id = ?2")?;
    for (kind, table) in tables {
        for (id, image) in table.rows.iter().filter_map(|row| image_of(*kind, table, row, knows_edits)) {
            if base::load(tx, *kind, id)?.is_none() && !has_edits.exists((kind.as_str(), id))? {
                base::save(tx, *kind, id, &image)?;
            }
        }
    }
    Ok(())
}

/// The id of a row and its values. None for a row that the server may not have confirmed, or that is damaged.
fn image_of<'a>(
    kind: Kind,
    table: &'a SalvagedTable,
    row: &'a [Sql],
    knows_edits: bool,
) -> Option<(&'a str, StoredRecord)> {
    let id = table.text(row, "id").filter(|id| Uuid::try_parse(id).is_ok())?;
    let text = |name| table.text(row, name).map(str::to_owned);
    let extra = text("extra");
    // The revision is unknown after a rebuild and after a restore of the server.
    let is_from_server = knows_edits
        || matches!(table.value(row, "rev"), Some(Sql::Integer(_)))
        || table.text(row, "updated_by").is_some();
    if !is_from_server || extra.as_ref().is_some_and(|extra| !health::is_valid_text(kind.collection(), "extra", extra))
    {
        return None;
    }
    let value = |name| table.value(row, name).map(|value| rows::sql_to_json(ValueRef::from(value))).unwrap_or_default();
    let fields = resource(kind).fields.iter().map(|field| (field.name.to_owned(), value(field.name))).collect();
    let [created_at, updated_at, updated_by] = ["created_at", "updated_at", "updated_by"].map(text);
    Some((id, StoredRecord { fields, rev: None, created_at, updated_at, updated_by, extra }))
}

//! Compares the rows of a typed table as found with the rows that the replica knows, and writes the known rows. Must not
//! make edits.
//!
//! The known row of a record is its base image with its edits.

use std::collections::HashMap;

use hearth_contract::check::Fields;
use hearth_contract::schema::Resource;
use rusqlite::Transaction;
use serde_json::Value;

use super::change::{FoundChange, is_same, of_patch};
use super::found_table::{FoundRow, FoundTable};
use crate::model::Method;
use crate::store::rows::StoredRecord;
use crate::store::{StoreError, base, rows, select};

/// The result of a comparison.
#[derive(Default)]
pub(super) struct Comparison {
    pub changes: Vec<FoundChange>,
    /// The number of records that the replica knows.
    pub known: usize,
    /// Rows with another value in a column that only the server sets. The known value is written again.
    pub set_back: usize,
}

/// Compares all rows of a table. The table then shows the known rows.
pub(super) fn compare(tx: &Transaction<'_>, resource: &Resource, table: &FoundTable) -> Result<Comparison, StoreError> {
    let kind = resource.kind;
    let mut known = load_known(tx, resource)?;
    let mut result = Comparison { known: known.len(), ..Comparison::default() };
    for row in &table.rows {
        // Of two rows with one id, the second is a new record.
        match row.id().and_then(|id| known.remove(&id).map(|known| (id, known))) {
            Some((id, known)) => {
                let (patch, is_set_back) = difference(resource, &known, row, &table.missing);
                if table.is_replaced || is_set_back || !patch.is_empty() || !table.missing.is_empty() {
                    rows::write_row(tx, kind, &id, &known)?;
                }
                result.set_back += usize::from(is_set_back);
                if !patch.is_empty() {
                    result.changes.push(FoundChange {
                        kind,
                        record: id,
                        method: Method::Update,
                        base: of_patch(&known.fields, &patch),
                        patch,
                        added: Fields::new(),
                    });
                }
            }
            None => {
                let id = row.id().unwrap_or_default();
                if !table.is_replaced {
                    rows::delete_row(tx, kind, &id)?;
                }
                let fields = resource.fields.iter().filter(|field| field.is_writable());
                let values = fields.map(|field| (field.name.to_owned(), row.value(resource, field.name).clone()));
                let patch = values.filter(|(_, value)| !value.is_null()).collect();
                let added = table.added_values(row);
                let base = Fields::new();
                result.changes.push(FoundChange { kind, record: id, method: Method::Create, patch, base, added });
            }
        }
    }
    for (id, known) in known {
        rows::write_row(tx, kind, &id, &known)?;
        // The profile cannot be deleted.
        if kind.is_singleton() {
            continue;
        }
        let (patch, base, added) = (Fields::new(), known.fields, Fields::new());
        result.changes.push(FoundChange { kind, record: id, method: Method::Delete, patch, base, added });
    }
    Ok(result)
}

/// How a found row differs from the known row: the changed fields that a person may write, as found; and true when a column
/// that only the server sets differs. `missing`: columns that are not compared.
fn difference(resource: &Resource, known: &StoredRecord, row: &FoundRow, missing: &[&str]) -> (Fields, bool) {
    let is_compared = |name: &str| !missing.contains(&name);
    let (mut patch, mut is_set_back) = (Fields::new(), false);
    for field in resource.fields.iter().filter(|field| is_compared(field.name)) {
        let found = row.value(resource, field.name);
        let before = known.fields.get(field.name).unwrap_or(&Value::Null);
        match is_same(resource.kind, field.name, before, found) {
            true => {}
            false if field.is_writable() => drop(patch.insert(field.name.to_owned(), found.clone())),
            false => is_set_back = true,
        }
    }
    let of_server = [
        ("created_at", known.created_at.clone().into()),
        ("updated_at", known.updated_at.clone().into()),
        ("updated_by", known.updated_by.clone().into()),
        ("rev", known.rev.into()),
        ("extra", known.extra.clone().into()),
    ];
    for (name, before) in of_server.into_iter().filter(|(name, _)| is_compared(name)) {
        is_set_back |= !is_same(resource.kind, name, &before, row.value(resource, name));
    }
    (patch, is_set_back)
}

/// The rows of a kind that the replica knows, by id.
fn load_known(tx: &Transaction<'_>, resource: &Resource) -> Result<HashMap<String, StoredRecord>, StoreError> {
    let kind = resource.kind;
    let mut known: HashMap<String, StoredRecord> = base::all_on_server(tx, kind)?.into_iter().collect();
    let edited = "SELECT DISTINCT record_id FROM edits WHERE kind = ?1";
    for id in select::column::<String>(tx, edited, [kind.as_str()])? {
        known.remove(&id);
        if let Some(row) = base::overlay(tx, kind, &id, i64::MAX)? {
            known.insert(id, row);
        }
    }
    Ok(known)
}

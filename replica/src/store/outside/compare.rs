//! Compares the rows of a typed table as found with the rows that the replica knows, and writes the known rows. Must not
//! make edits.
//!
//! The known row of a record is its base image with its edits.

use std::collections::HashMap;

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::{Kind, Resource};
use rusqlite::Transaction;
use serde_json::Value;

use super::change::{FoundChange, is_same};
use super::found_table::{FoundRow, FoundTable};
use crate::model::Method;
use crate::store::rows::StoredRecord;
use crate::store::{StoreError, base, rows};

/// The result of a comparison.
#[derive(Default)]
pub(super) struct Comparison {
    pub changes: Vec<FoundChange>,
    /// The number of records that the replica knows.
    pub known: usize,
    /// Rows with another value in a column that only the server sets. The known value is written again.
    pub set_back: usize,
}

/// A row that the replica knows.
struct Known {
    stored: StoredRecord,
    /// False for a record that the server does not have yet: its times are provisional.
    has_times: bool,
}

/// Compares all rows of a table. The table then shows the known rows.
pub(super) fn compare(tx: &Transaction<'_>, resource: &Resource, table: &FoundTable) -> Result<Comparison, StoreError> {
    let kind = resource.kind;
    let mut known = load_known(tx, resource)?;
    let mut result = Comparison { known: known.len(), ..Comparison::default() };
    for row in &table.rows {
        // Of two rows with one id, the second is a new record.
        match row.id().and_then(|id| known.remove(&id).map(|known| (id, known))) {
            Some((id, mut known)) => {
                if !known.has_times {
                    let found = |name| Timestamp::parse(row.value(resource, name).as_str()?).map(|at| at.to_string());
                    let stored = &mut known.stored;
                    stored.created_at = found("created_at").or(stored.created_at.take());
                    stored.updated_at = found("updated_at").or(stored.updated_at.take());
                }
                let difference = Difference::between(resource, &known, row, &table.missing);
                if table.is_replaced || !difference.is_nothing() {
                    rows::write_row(tx, kind, &id, &known.stored)?;
                }
                result.set_back += usize::from(difference.is_set_back);
                if !difference.patch.is_empty() {
                    result.changes.push(FoundChange {
                        kind,
                        record: id,
                        method: Method::Update,
                        base: of_patch(&known.stored.fields, &difference.patch),
                        patch: difference.patch,
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
        rows::write_row(tx, kind, &id, &known.stored)?;
        // The profile cannot be deleted.
        if kind.is_singleton() {
            continue;
        }
        let (patch, base, added) = (Fields::new(), known.stored.fields, Fields::new());
        result.changes.push(FoundChange { kind, record: id, method: Method::Delete, patch, base, added });
    }
    Ok(result)
}

/// The known values of the fields of a patch.
fn of_patch(known: &Fields, patch: &Fields) -> Fields {
    patch.keys().map(|name| (name.clone(), known.get(name).cloned().unwrap_or_default())).collect()
}

/// How a found row differs from the known row.
struct Difference {
    /// The changed fields that a person may write, as found.
    patch: Fields,
    /// True when a column that only the server sets differs.
    is_set_back: bool,
    /// True when a column was missing.
    is_incomplete: bool,
}

impl Difference {
    fn between(resource: &Resource, known: &Known, row: &FoundRow, missing: &[&str]) -> Difference {
        let is_compared = |name: &str| !missing.contains(&name);
        let (mut patch, mut is_set_back) = (Fields::new(), false);
        for field in resource.fields.iter().filter(|field| is_compared(field.name)) {
            let found = row.value(resource, field.name);
            let before = known.stored.fields.get(field.name).unwrap_or(&Value::Null);
            match is_same(resource.kind, field.name, before, found) {
                true => {}
                false if field.is_writable() => drop(patch.insert(field.name.to_owned(), found.clone())),
                false => is_set_back = true,
            }
        }
        let stored = &known.stored;
        let times = [("created_at", &stored.created_at), ("updated_at", &stored.updated_at)];
        let times = times.into_iter().filter(|_| known.has_times).map(|(name, text)| (name, text.clone().into()));
        let others = [
            ("updated_by", stored.updated_by.clone().into()),
            ("rev", stored.rev.into()),
            ("extra", stored.extra.clone().into()),
        ];
        let of_server = times.chain(others);
        for (name, before) in of_server.filter(|(name, _)| is_compared(name)) {
            is_set_back |= !is_same(resource.kind, name, &before, row.value(resource, name));
        }
        Difference { patch, is_set_back, is_incomplete: !missing.is_empty() }
    }

    fn is_nothing(&self) -> bool {
        self.patch.is_empty() && !self.is_set_back && !self.is_incomplete
    }
}

/// The rows of a kind that the replica knows, by id.
fn load_known(tx: &Transaction<'_>, resource: &Resource) -> Result<HashMap<String, Known>, StoreError> {
    let kind = resource.kind;
    let on_server = base::all_on_server(tx, kind)?.into_iter();
    let mut known: HashMap<String, Known> =
        on_server.map(|(id, stored)| (id, Known { stored, has_times: true })).collect();
    let edited: Vec<String> = tx
        .prepare("SELECT DISTINCT record_id FROM edits WHERE kind = ?1")?
        .query_map([kind.as_str()], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in edited {
        known.remove(&id);
        if let Some(known_row) = overlay(tx, kind, &id)? {
            known.insert(id, known_row);
        }
    }
    Ok(known)
}

/// The row of a record with edits. A record that the server does not have yet has the times of its edits, for a row that is
/// gone.
fn overlay(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<Option<Known>, StoreError> {
    let has_times = base::load(tx, kind, id)?.is_some();
    let Some(mut stored) = base::overlay(tx, kind, id, i64::MAX)? else { return Ok(None) };
    if !has_times {
        let text = "SELECT min(created_at), max(created_at) FROM edits WHERE kind = ?1 AND record_id = ?2";
        let (first, last) = tx.query_row(text, (kind.as_str(), id), |row| Ok((row.get(0)?, row.get(1)?)))?;
        stored.created_at = stored.created_at.or(first);
        stored.updated_at = stored.updated_at.or(last);
    }
    Ok(Some(Known { stored, has_times }))
}

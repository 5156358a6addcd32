//! What edits that cannot be read any more have left: rows that differ from what the server had of them. Must not let any of
//! it be sent unasked, because a row may also differ for being what is damaged.

use std::collections::BTreeSet;

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, Transaction};
use serde_json::Value;
use uuid::Uuid;

use super::salvage::{self, Salvaged};
use crate::store::base;
use crate::store::{StoreError, rows};

/// What is said of an edit that was read off its record.
const READ_OFF: &str =
    "the database was damaged, and this is what its record showed; retry sends it, discard lets it go";

/// A record that had edits.
pub(super) struct Trace {
    kind: Kind,
    record: String,
    /// What its row showed; None: there was none.
    shown: Option<Fields>,
}

/// Finds the records of a damaged database that had edits: the server's form of them was kept, or it has none.
pub(super) fn read(damaged: &Connection, images: &Salvaged) -> Result<Vec<Trace>, StoreError> {
    let mut traces = Vec::new();
    for kind in Kind::ALL {
        let of_kind = images.rows.iter().filter(|row| images.text(row, "kind") == Some(kind.as_str()));
        let mut kept: BTreeSet<&str> = of_kind.filter_map(|row| images.text(row, "record_id")).collect();
        let table = salvage::table(damaged, kind.collection())?;
        for row in &table.rows {
            let Some(record) = table.text(row, "id").filter(|id| Uuid::try_parse(id).is_ok()) else { continue };
            let is_new = matches!(table.member(row, "rev"), Some(Sql::Null));
            if kept.remove(record) || is_new {
                traces.push(Trace { kind, record: record.to_owned(), shown: Some(shown(kind, &table, row)) });
            }
        }
        // Where not every row can be read, one that is not found tells nothing.
        if table.complete && table.garbled.is_empty() && !kind.is_singleton() {
            traces.extend(kept.into_iter().map(|record| Trace { kind, record: record.to_owned(), shown: None }));
        }
    }
    Ok(traces)
}

fn shown(kind: Kind, table: &Salvaged, row: &[Sql]) -> Fields {
    let fields = resource(kind).fields.iter().filter(|field| field.is_writable());
    let value = |name| table.member(row, name).map_or(Value::Null, |value| rows::from_sql(ValueRef::from(value)));
    fields.map(|field| (field.name.to_owned(), value(field.name))).collect()
}

/// Queues what the edits that were carried over leave unexplained, each as one edit that waits for a person; gives how many.
pub(super) fn take_up(tx: &Transaction<'_>, traces: &[Trace]) -> Result<usize, StoreError> {
    let mut taken = 0;
    for Trace { kind, record, shown } in traces {
        let explained = base::overlay(tx, *kind, record, i64::MAX)?.map(|stored| stored.fields);
        let (method, patch, base) = match (explained, shown) {
            (None, Some(shown)) if base::load(tx, *kind, record)?.is_none() => {
                let given = shown.iter().filter(|(_, value)| !value.is_null());
                let patch = given.map(|(name, value)| (name.clone(), value.clone())).collect();
                (if kind.is_singleton() { "update" } else { "create" }, patch, Fields::new())
            }
            (Some(explained), Some(shown)) => {
                let before = |name: &str| explained.get(name).cloned().unwrap_or_default();
                let other: Vec<_> = shown.iter().filter(|(name, value)| **value != before(name)).collect();
                let patch: Fields = other.iter().map(|(name, value)| ((*name).clone(), (*value).clone())).collect();
                ("update", patch, other.iter().map(|(name, _)| ((*name).clone(), before(name))).collect())
            }
            (Some(explained), None) => ("delete", Fields::new(), explained),
            _ => continue,
        };
        if method == "update" && patch.is_empty() {
            continue;
        }
        tx.prepare_cached(
            "INSERT INTO edits (kind, record_id, method, patch, base, state, reason_code, reason)
                 VALUES (?1, ?2, ?3, ?4, ?5, 'rejected', 'from_a_copy', ?6)",
        )?
        .execute((
            kind.as_str(),
            record,
            method,
            Value::Object(patch).to_string(),
            Value::Object(base).to_string(),
            READ_OFF,
        ))?;
        taken += 1;
    }
    Ok(taken)
}

//! Infers unreadable edits of a damaged database: a row that differs from the base image shows an edit. A person must
//! decide about each inferred edit before it is sent, because the row may be damaged too.

use std::collections::BTreeSet;

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, Transaction};
use serde_json::Value;
use uuid::Uuid;

use super::reader::{SalvagedTable, read_table};
use crate::model::{EditState, Method, ReasonCode};
use crate::store::base;
use crate::store::{StoreError, rows};

/// The reason of an inferred edit.
const INFERRED: &str = "the database was damaged, and this change was inferred from what the record showed; retry sends it, discard drops it";

/// A record of the damaged database, which may have had edits.
pub(super) struct EditTrace {
    kind: Kind,
    record: String,
    /// The writable fields of the record's row. None when the record had no row.
    shown: Option<Fields>,
}

/// Reads what a damaged database shows of every record. `images`: the base images.
pub(super) fn find_traces(damaged: &Connection, images: &SalvagedTable) -> Result<Vec<EditTrace>, StoreError> {
    let mut traces = Vec::new();
    for kind in Kind::ALL {
        let is_deleted = |row: &[Sql]| matches!(images.value(row, "deleted"), Some(Sql::Integer(1)));
        let of_kind = images.rows.iter().filter(|row| images.text(row, "kind") == Some(kind.as_str()));
        let with_image = of_kind.filter(|row| !is_deleted(row)).filter_map(|row| images.text(row, "record_id"));
        let mut with_image: BTreeSet<&str> = with_image.collect();
        let table = read_table(damaged, kind.collection())?;
        for row in &table.rows {
            let Some(record) = table.text(row, "id").filter(|id| Uuid::try_parse(id).is_ok()) else { continue };
            // Only an edit makes a row that the server has never confirmed.
            let is_new = images.complete && matches!(table.value(row, "rev"), Some(Sql::Null));
            if with_image.remove(record) || is_new {
                let shown = Some(shown_fields(kind, &table, row));
                traces.push(EditTrace { kind, record: record.to_owned(), shown });
            }
        }
        // A missing row proves a delete only when every row of the table was read.
        if table.complete && table.invalid_rows.is_empty() && !kind.is_singleton() {
            let deleted = |record: &str| EditTrace { kind, record: record.to_owned(), shown: None };
            traces.extend(with_image.into_iter().map(deleted));
        }
    }
    Ok(traces)
}

fn shown_fields(kind: Kind, table: &SalvagedTable, row: &[Sql]) -> Fields {
    let fields = resource(kind).fields.iter().filter(|field| field.is_writable());
    let value = |name| table.value(row, name).map_or(Value::Null, |value| rows::sql_to_json(ValueRef::from(value)));
    fields.map(|field| (field.name.to_owned(), value(field.name))).collect()
}

/// Queues an edit for each record whose row the readable edits do not explain. The queued edits wait for a person.
/// Returns the number of queued edits.
pub(super) fn queue_inferred_edits(tx: &Transaction<'_>, traces: &[EditTrace]) -> Result<usize, StoreError> {
    let mut queued = 0;
    for trace in traces {
        let EditTrace { kind, record, .. } = trace;
        // The row that results from the readable edits.
        let explained = base::overlay(tx, *kind, record, i64::MAX)?.map(|stored| stored.fields);
        let has_image = base::load(tx, *kind, record)?.is_some();
        let Some((method, patch, base)) = infer_edit(trace, explained, has_image) else { continue };
        tx.prepare_cached(
            "INSERT INTO edits (kind, record_id, method, patch, base, state, reason_code, reason)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            kind.as_str(),
            record,
            method,
            Value::Object(patch).to_string(),
            Value::Object(base).to_string(),
            EditState::Rejected,
            ReasonCode::FromACopy,
            INFERRED,
        ))?;
        queued += 1;
    }
    Ok(queued)
}

/// The method, patch and base of the edit that turns the explained row into the shown row. None when both rows are
/// equal. `explained`: the row that results from the readable edits.
fn infer_edit(trace: &EditTrace, explained: Option<Fields>, has_image: bool) -> Option<(Method, Fields, Fields)> {
    match (explained, &trace.shown) {
        (None, Some(shown)) if !has_image => {
            let given = shown.iter().filter(|(_, value)| !value.is_null());
            let patch: Fields = given.map(|(name, value)| (name.clone(), value.clone())).collect();
            match trace.kind.is_singleton() {
                true if patch.is_empty() => None,
                true => Some((Method::Update, patch, Fields::new())),
                false => Some((Method::Create, patch, Fields::new())),
            }
        }
        (Some(explained), Some(shown)) => {
            let before = |name: &str| explained.get(name).cloned().unwrap_or_default();
            let changed: Vec<_> = shown.iter().filter(|(name, value)| **value != before(name)).collect();
            let patch: Fields = changed.iter().map(|(name, value)| ((*name).clone(), (*value).clone())).collect();
            let base = changed.iter().map(|(name, _)| ((*name).clone(), before(name))).collect();
            (!patch.is_empty()).then_some((Method::Update, patch, base))
        }
        (Some(explained), None) => Some((Method::Delete, Fields::new(), explained)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn edit_is_inferred_from_difference() {
        let fields = |value: Value| value.as_object().cloned().unwrap();
        let infer = |explained: Option<Value>, shown: Option<Value>, has_image| {
            let trace = EditTrace { kind: Kind::Room, record: String::new(), shown: shown.map(fields) };
            infer_edit(&trace, explained.map(fields), has_image)
        };
        let (hall, attic) = (json!({ "name": "Hall" }), json!({ "name": "Attic" }));
        let none = || fields(json!({}));
        let shown = json!({ "name": "Hall", "floor": null });
        assert_eq!(infer(None, Some(shown), false), Some((Method::Create, fields(hall.clone()), none())));
        let update = (Method::Update, fields(attic.clone()), fields(hall.clone()));
        assert_eq!(infer(Some(hall.clone()), Some(attic.clone()), true), Some(update));
        assert_eq!(infer(Some(hall.clone()), None, true), Some((Method::Delete, none(), fields(hall.clone()))));
        assert_eq!(infer(Some(hall.clone()), Some(hall), true), None, "the readable edits explain the row");
        assert_eq!(infer(None, Some(attic), true), None, "an edit deletes the record");
    }
}

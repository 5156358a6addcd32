//! The change of one record by one row, checked as the API checks it; and faults of a cell. Must not know other rows.

use hearth_contract::check::{Fields, Intent, check, check_subject};
use hearth_contract::problem::FieldFault;
use serde_json::Value;

use crate::import::draft::{DraftRow, DraftTable};
use crate::import::fault::{RowCode, RowFault};
use crate::import::plan::Action;

/// The change of a record: the fields that differ.
pub(super) fn change(table: &DraftTable, row: &DraftRow, present: &Fields, body: Fields) -> Result<Action, RowFault> {
    let differs = |name: &String, value: &Value| present.get(name).unwrap_or(&Value::Null) != value;
    let changed: Fields = body.into_iter().filter(|(name, value)| differs(name, value)).collect();
    if changed.is_empty() {
        return Ok(Action::Unchanged);
    }
    let mut whole = present.clone();
    whole.extend(changed.clone());
    let mut faults = Vec::new();
    check_subject(table.columns.kind, &whole, &mut faults);
    refuse(table, row, faults)?;
    Ok(Action::Update(changed))
}

/// A new record: everything that the API demands of one.
pub(super) fn create(table: &DraftTable, row: &DraftRow, body: Fields) -> Result<Action, RowFault> {
    let checked = check(table.columns.kind, Intent::Create, &Value::Object(body));
    refuse(table, row, checked.faults)?;
    Ok(Action::Create(checked.fields))
}

fn refuse(table: &DraftTable, row: &DraftRow, faults: Vec<FieldFault>) -> Result<(), RowFault> {
    match faults.into_iter().next() {
        Some(fault) => {
            let (field, code) = (fault.field.clone(), RowCode::Field(fault.code));
            Err(fault_at(table, row, &field, None, code, fault.message))
        }
        None => Ok(()),
    }
}

/// A fault of a field, with the heading of its column.
pub(super) fn fault_at(
    table: &DraftTable,
    row: &DraftRow,
    field: &str,
    value: Option<String>,
    code: RowCode,
    message: impl Into<String>,
) -> RowFault {
    let column = table.columns.used().find(|(_, name)| *name == field).map_or(field, |(name, _)| name);
    let text =
        row.body.get(field).and_then(|value| value.as_str().map(str::to_owned).or_else(|| Some(value.to_string())));
    let value = value.or(text).unwrap_or_default();
    RowFault::of_cell(column, &value, code, message)
}

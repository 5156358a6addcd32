//! Tables in JSON: an array of objects, or an export of a home. Must not know fields.

use std::collections::HashSet;

use hearth_contract::schema::Kind;
use serde_json::{Map, Value};

use super::error::{Cause, ImportError};
use super::table::{Cell, Table, TableRow, check_columns, check_size};

/// The tables of a text: one, or one for each kind of an export. `kind` is the kind of an array, and the only kind that is read
/// from an export.
pub(super) fn tables(text: &str, kind: Option<Kind>) -> Result<Vec<Table>, ImportError> {
    let refuse = |message: String| Err(ImportError::new(Cause::Form, message));
    match serde_json::from_str(text) {
        Ok(Value::Array(items)) => Ok(vec![table(items, kind, false)?]),
        Ok(Value::Object(members)) => export(members, kind),
        Ok(_) => refuse("The JSON must be an array of objects, or an export of a home.".to_owned()),
        Err(error) => refuse(format!("The file is no JSON: {error}.")),
    }
}

fn export(members: Map<String, Value>, only: Option<Kind>) -> Result<Vec<Table>, ImportError> {
    let mut tables = Vec::new();
    for (name, value) in members {
        let Some(kind) = Kind::from_collection(&name).filter(|kind| only.is_none_or(|only| only == *kind)) else {
            continue;
        };
        let items = match value {
            Value::Array(items) => items,
            Value::Null => Vec::new(),
            object => vec![object],
        };
        tables.push(table(items, Some(kind), true)?);
    }
    if tables.is_empty() {
        let message = "The JSON has no records: it must be an array of objects, or have members such as inventory.";
        return Err(ImportError::new(Cause::Form, message));
    }
    Ok(tables)
}

/// A table whose columns are the members of all objects, in the order in which they appear.
fn table(items: Vec<Value>, kind: Option<Kind>, is_export: bool) -> Result<Table, ImportError> {
    let (mut columns, mut seen) = (Vec::new(), HashSet::new());
    let mut objects = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let Value::Object(members) = item else {
            let message = format!("Item {} of the JSON is no object.", index + 1);
            return Err(ImportError::new(Cause::Form, message));
        };
        for name in members.keys() {
            if seen.insert(name.clone()) {
                columns.push(name.clone());
            }
        }
        objects.push(members);
    }
    if !objects.is_empty() {
        check_columns(&columns)?;
    }
    // Each row gets a cell for each column.
    check_size(objects.len(), columns.len())?;
    let row = |(index, mut members): (usize, Map<String, Value>)| TableRow {
        // A table of the same records would have its heading in row 1.
        number: u32::try_from(index + 2).unwrap_or(u32::MAX),
        cells: columns.iter().map(|name| cell(members.remove(name))).collect(),
        surplus: None,
    };
    let rows = objects.into_iter().enumerate().map(row).collect();
    Ok(Table { kind, is_export, columns, rows })
}

fn cell(value: Option<Value>) -> Cell {
    match value {
        None => Cell::Absent,
        Some(Value::Null) => Cell::Null,
        Some(Value::String(text)) => Cell::Text(text),
        Some(other) => Cell::Json(other),
    }
}

//! All records as JSON, in the form of the server's export (contract 16), and the records of one kind as CSV. Must not know how a
//! file is created.

use std::io::Write;

use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Kind};
use hearth_replica::Replica;
use serde_json::{Value, json};

use super::super::records::api_members;
use super::super::text::{csv_cell, csv_line};
use super::file::{ExportError, each_row};

/// The order of the records in a file: the oldest comes first.
const ORDER: &str = "created_at";

/// Writes every record of every kind. Returns the number of records.
pub(super) fn write_json(replica: &Replica, out: &mut dyn Write) -> Result<usize, ExportError> {
    let head = json!({ "exported_at": hearth_replica::now().to_string(), "as_of": replica.status()?.position });
    let head = head.to_string();
    write!(out, "{}", head.trim_end_matches('}'))?;
    let mut records = 0;
    for kind in Kind::ALL {
        let mut first = true;
        let (open, close) = if kind.is_singleton() { ("", "") } else { ("[", "]") };
        write!(out, ",\n\"{}\":{open}", kind.collection())?;
        records += each_row(replica, kind, ORDER, |row| {
            write!(out, "{}\n{}", if first { "" } else { "," }, Value::Object(api_members(row)))?;
            first = false;
            Ok(())
        })?;
        write!(out, "{}{close}", if kind.is_singleton() && first { "null" } else { "" })?;
    }
    writeln!(out, "}}")?;
    Ok(records)
}

/// Writes the records of one kind with a line of column names, in the CSV format of RFC 4180. The name of a referenced record stands
/// before its id. Returns the number of records.
pub(super) fn write_csv(replica: &Replica, kind: Kind, out: &mut dyn Write) -> Result<usize, ExportError> {
    let fields = resource(kind).fields;
    let columns =
        ["id"].into_iter().chain(fields.iter().flat_map(columns)).chain(["created_at", "updated_at", "updated_by"]);
    write!(out, "{}\r\n", csv_line(columns.map(str::to_owned)))?;
    each_row(replica, kind, ORDER, |row| {
        let cells = fields.iter().flat_map(|field| {
            let name = field.relation().map(|_| row.names.get(field.name).cloned().unwrap_or_default());
            name.map(|name| csv_cell(&name.into())).into_iter().chain([csv_cell(&row.fields[field.name])])
        });
        let last = [&row.created_at, &row.updated_at, &row.updated_by].map(|text| csv_cell(&text.clone().into()));
        let cells = [row.id.clone()].into_iter().chain(cells).chain(last);
        Ok(write!(out, "{}\r\n", csv_line(cells))?)
    })
}

/// The columns of a field: a reference has a column for the name of the record, too.
fn columns(field: &'static Field) -> impl Iterator<Item = &'static str> {
    field.relation().into_iter().chain([field.name])
}

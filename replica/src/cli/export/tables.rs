//! All records as JSON, in the form of the server's export (contract 16), and the records of one kind as CSV. Must not know how a
//! file is created.

use std::io::Write;

use hearth_contract::schema::Kind;
use hearth_exchange::table::{self, Options};
use hearth_replica::Replica;
use serde_json::{Value, json};

use super::super::records::api_members;
use super::file::{ExportError, oldest_first};

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
        records += replica.each_row(&oldest_first(kind), |row| -> Result<(), ExportError> {
            write!(out, "{}\n{}", if first { "" } else { "," }, Value::Object(api_members(row)))?;
            first = false;
            Ok(())
        })?;
        write!(out, "{}{close}", if kind.is_singleton() && first { "null" } else { "" })?;
    }
    writeln!(out, "}}")?;
    Ok(records)
}

/// Writes the records of one kind with a line of column names. Returns the number of records.
pub(super) fn write_csv(
    replica: &Replica,
    kind: Kind,
    options: Options,
    out: &mut dyn Write,
) -> Result<usize, ExportError> {
    write!(out, "{}", table::heading(kind, options))?;
    replica.each_row(&oldest_first(kind), |row| -> Result<(), ExportError> {
        let line = table::row(kind, options, &api_members(row), |field| row.names.get(field.name).cloned());
        Ok(write!(out, "{line}")?)
    })
}

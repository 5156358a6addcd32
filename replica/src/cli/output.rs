//! The one place that writes: data to stdout, everything else to stderr. Must not know what it writes.

use std::io::{self, IsTerminal, Write};

use hearth_replica::Table;
use serde_json::Value;

/// Writes a line of data. A reader that has gone away, as `head` does, is no failure.
pub(super) fn line(text: &str) -> io::Result<()> {
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        result => result,
    }
}

/// Says something to the person beside the data.
pub(super) fn note(text: &str) {
    // Nobody is left to tell if this fails.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes JSON, for people with line breaks.
pub(super) fn json(value: &Value) -> io::Result<()> {
    line(&if io::stdout().is_terminal() { format!("{value:#}") } else { value.to_string() })
}

/// A number of things, as it is said.
pub(super) fn count(number: i64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Bold text, where a person reads it and wants it so.
pub(super) fn bold(text: &str) -> String {
    let wanted = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}

/// Writes rows as an array of objects.
pub(super) fn table_json(table: &Table) -> io::Result<()> {
    let rows = table.rows.iter().map(|row| {
        let members = table.columns.iter().cloned().zip(row.iter().cloned());
        Value::Object(members.collect())
    });
    json(&rows.collect())
}

/// Writes rows as CSV (RFC 4180), with the names of the columns first. Null is an empty field.
pub(super) fn table_csv(table: &Table) -> io::Result<()> {
    let quote = |text: String| match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    };
    line(&table.columns.iter().cloned().map(quote).collect::<Vec<_>>().join(","))?;
    for row in &table.rows {
        line(&row.iter().map(|value| quote(plain(value))).collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

/// Writes rows in columns of equal width.
pub(super) fn table(table: &Table) -> io::Result<()> {
    let cells: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(shown).collect()).collect();
    let widths: Vec<usize> = table
        .columns
        .iter()
        .enumerate()
        .map(|(n, name)| cells.iter().map(|row| width(&row[n])).chain([width(name)]).max().unwrap_or(0))
        .collect();
    let join = |row: &[String]| {
        let padded = row.iter().zip(&widths).map(|(cell, wide)| format!("{cell}{}", " ".repeat(wide - width(cell))));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    line(&bold(&join(&table.columns)))?;
    for row in &cells {
        line(&join(row))?;
    }
    Ok(())
}

fn width(text: &str) -> usize {
    console::measure_text_width(text)
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value on one line, without anything that could steer the terminal.
fn shown(value: &Value) -> String {
    plain(value).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

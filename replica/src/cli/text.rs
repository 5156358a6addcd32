//! Text for a terminal: values, counts, and foreign text on one line. Must not print.

use hearth_contract::typed_text;
use serde_json::Value;

/// A number with its noun.
pub(super) fn count(number: i64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Cents as the API writes money: `1299.00`.
pub(super) fn money(cents: i64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// A JSON value as plain text: a string without quotes; null is empty.
pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A JSON value as a CSV cell for spreadsheets. Null is empty. A text that a spreadsheet would compute gets a `'` in front.
pub(super) fn csv_cell(value: &Value) -> String {
    match value {
        Value::String(text) => typed_text::csv_text(text),
        other => value_text(other),
    }
}

/// A line of CSV (RFC 4180) without its end.
pub(super) fn csv_line(cells: impl IntoIterator<Item = String>) -> String {
    let quote = |text: String| match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    };
    cells.into_iter().map(quote).collect::<Vec<_>>().join(",")
}

/// A JSON value on one line, without terminal control characters.
pub(super) fn cell_text(value: &Value) -> String {
    one_line(&value_text(value))
}

/// A text on one line, without control characters and direction marks.
pub(super) fn one_line(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

/// A text of several lines, each without control characters. Not for texts of a server, which go on one line.
pub(super) fn sanitized_lines(text: &str) -> String {
    text.split('\n').map(one_line).collect::<Vec<_>>().join("\n")
}

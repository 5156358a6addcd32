//! Text for a terminal: values, counts, and foreign text on one line. Must not print.

use hearth_contract::printed_text;
use hearth_exchange::table;
use serde_json::Value;

/// A number with its noun.
pub(super) fn count(number: impl TryInto<i64>, thing: &str) -> String {
    let number = number.try_into().unwrap_or(i64::MAX);
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// A JSON value as plain text: a string without quotes; null is empty.
pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A JSON value as a CSV cell for spreadsheets, without characters that steer a terminal. Null is empty, and an empty text is
/// `""`. A text that a spreadsheet would compute gets a `'` in front.
pub(super) fn printed_csv_cell(value: &Value) -> String {
    match value {
        // The guard comes last: an invisible character may precede a formula.
        Value::String(text) => table::cell(&printed_text::clean_lines(text).into()),
        other => table::cell(other),
    }
}

/// A line of CSV (RFC 4180) without its end.
pub(super) fn csv_line(cells: impl IntoIterator<Item = String>) -> String {
    cells.into_iter().collect::<Vec<_>>().join(",")
}

/// A JSON value on one line, without terminal control characters.
pub(super) fn cell_text(value: &Value) -> String {
    one_line(&value_text(value))
}

/// A text on one line, without control characters, direction marks and invisible characters.
pub(super) fn one_line(text: &str) -> String {
    printed_text::clean_line(text).into_owned()
}

/// A text of several lines, each without control characters. Not for texts of a server, which go on one line.
pub(super) fn sanitized_lines(text: &str) -> String {
    text.split('\n').map(one_line).collect::<Vec<_>>().join("\n")
}

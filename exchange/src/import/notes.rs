//! The notes of a row: its own notes, then a line for each column that has no field. Must not know columns.

use hearth_contract::check::Fields;
use serde_json::Value;

use super::target::NOTES;

/// A value as a line of the notes: `Tags: garden`.
pub(super) fn line(label: &str, text: &str) -> String {
    format!("{label}: {}", text.trim().replace("\r\n", "\n"))
}

/// Adds lines to the notes of a body. `owns_notes`: a column of the table is the notes, or lines of them, so the notes are set
/// even if they are empty. A number that no field takes is a line too, whether or not such a column is there.
pub(super) fn add(body: &mut Fields, lines: &[String], owns_notes: bool) {
    if lines.is_empty() && (!owns_notes || body.contains_key(NOTES)) {
        return;
    }
    let own = body.get(NOTES).and_then(Value::as_str).filter(|own| !own.is_empty());
    let parts: Vec<&str> = own.into_iter().chain(lines.iter().map(String::as_str)).collect();
    let value = if parts.is_empty() { Value::Null } else { parts.join("\n").into() };
    body.insert(NOTES.to_owned(), value);
}

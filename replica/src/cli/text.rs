//! Text for a terminal: values, counts and texts of others on one line. Must not write anything.

use serde_json::Value;

/// A number of things, as it is said.
pub(super) fn count(number: i64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// A JSON value as plain text: a string without quotes, nothing for null.
pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value on one line, without anything that could steer the terminal.
pub(super) fn cell_text(value: &Value) -> String {
    one_line(&value_text(value))
}

/// A text on one line, without anything that could steer the terminal or turn its direction.
pub(super) fn one_line(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

/// The same of a text of several lines, each of which stays one. A server's words are none: they go on one line.
pub(super) fn sanitized_lines(text: &str) -> String {
    text.split('\n').map(one_line).collect::<Vec<_>>().join("\n")
}

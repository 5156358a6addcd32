//! Reads parts of a JSON document. A missing part counts as empty, because the description was made by this program. Must not
//! know what a part means.

use serde_json::Value;

/// The text of a JSON string; "" for another value.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The items of a JSON array; none for another value.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The members of a JSON object; none for another value.
pub(super) fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// The value that a `$ref` points to, or the value itself.
pub(super) fn resolve<'r>(document: &'r Value, value: &'r Value) -> &'r Value {
    match value["$ref"].as_str().and_then(|reference| document.pointer(reference.trim_start_matches('#'))) {
        Some(found) => found,
        None => value,
    }
}

/// JSON in several lines.
pub(super) fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

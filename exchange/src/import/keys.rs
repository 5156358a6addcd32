//! Keys: the values of some fields as one text, so that rows and records can be compared. Must not know tables.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, Presence};
use serde_json::Value;

/// The key of a record or of a checked row. A missing field with a default has the default. None: all values are null or empty.
pub(super) fn key(kind: Kind, names: &[&'static str], fields: &Fields) -> Option<String> {
    let default = |name: &str| match resource(kind).field(name).map(|field| field.presence) {
        Some(Presence::Default(preset)) => preset.value(),
        _ => Value::Null,
    };
    let values: Vec<Value> =
        names.iter().map(|name| fields.get(*name).cloned().unwrap_or_else(|| default(name))).collect();
    if values.iter().all(|value| value.is_null() || value == "") {
        return None;
    }
    Some(Value::Array(values).to_string())
}

/// The name of a room as it is compared: upper and lower case and white space at the ends do not count.
pub(super) fn room(name: &str) -> String {
    name.trim().to_lowercase()
}

//! Builders of schemas: references, objects, arrays. Must not know named schemas.

use hearth_contract::schema::Kind;
use serde_json::{Value, json};

/// A reference to a named schema.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The schema name of a kind, for example `Task`.
pub(super) fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Inventory => "Inventory",
        Kind::Vehicle => "Vehicle",
        Kind::Document => "Document",
        Kind::Task => "Task",
        Kind::Room => "Room",
        Kind::Property => "Property",
    }
}

/// `{ data, meta }`. `meta` is a schema name.
pub(super) fn envelope(data: Value, meta: &str) -> Value {
    object(json!({ "data": data, "meta": reference(meta) }), &["data", "meta"])
}

/// An array.
pub(super) fn array(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// An object that may have more members.
pub(super) fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// An object without other members.
pub(super) fn strict(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// The schema, or null.
pub(super) fn nullable(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

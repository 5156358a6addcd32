//! The words that schemas are built of: references, objects, arrays. Must not know which schemas there are.

use hearth_contract::schema::Kind;
use serde_json::{Value, json};

/// A reference to a schema.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// A kind's name among schemas: `Task`.
pub(crate) fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Inventory => "Inventory",
        Kind::Vehicle => "Vehicle",
        Kind::Document => "Document",
        Kind::Task => "Task",
        Kind::Room => "Room",
        Kind::Property => "Property",
    }
}

/// `{ data, meta }`.
pub(super) fn envelope(data: Value, meta: &str) -> Value {
    object(json!({ "data": data, "meta": reference(meta) }), &["data", "meta"])
}

/// A list.
pub(crate) fn array(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// An object that may grow.
pub(crate) fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

/// An object that is refused with any other member.
pub(super) fn strict(properties: Value, required: &[&str]) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// One of these, or null.
pub(crate) fn nullable(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

//! Every named schema, and the words they are built of. Those of records come from the resource table, the rest are
//! the contract's envelopes.

use std::collections::HashSet;
use std::sync::LazyLock;

use hearth_contract::resources::RESOURCES;
use hearth_contract::schema::Kind;
use serde_json::{Map, Value, json};

use super::{envelopes, operations, parts, records, rpc, services};
use crate::http::parameters::{Parameter, Takes};
use crate::http::routes::ROUTES;

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

/// All of them by name. What no route speaks of is left out.
pub(super) fn all() -> Map<String, Value> {
    let mut schemas = Map::new();
    for resource in &RESOURCES {
        records::describe(resource, &mut schemas);
    }
    for (name, words) in choices() {
        schemas.insert(name, json!({ "type": "string", "enum": words }));
    }
    schemas.extend(
        envelopes::all().chain(services::all()).chain(rpc::all()).map(|(name, schema)| (name.to_owned(), schema)),
    );
    prune(&mut schemas);
    schemas
}

/// A named schema by itself, for readers that know no others: what it refers to is written out in its place.
pub(crate) fn alone(name: &str) -> Value {
    static ALL: LazyLock<Map<String, Value>> = LazyLock::new(all);
    write_out(&ALL, &reference(name))
}

fn write_out(all: &Map<String, Value>, schema: &Value) -> Value {
    let within = |value: &Value| write_out(all, value);
    match schema {
        Value::Object(members) => {
            match members.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()) {
                Some(name) => all.get(name).map_or(json!({}), within),
                None => members.iter().map(|(name, value)| (name.clone(), within(value))).collect(),
            }
        }
        Value::Array(items) => items.iter().map(within).collect(),
        other => other.clone(),
    }
}

/// The named word lists of query parameters.
fn choices() -> impl Iterator<Item = (String, &'static [&'static str])> {
    ROUTES.iter().flat_map(|route| route.parameters).filter_map(|parameter: &Parameter| match parameter.takes {
        Takes::Choice { schema, words } => Some((schema.to_owned(), words)),
        _ => None,
    })
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

/// Leaves out what no operation leads to.
fn prune(schemas: &mut Map<String, Value>) {
    let mut open = vec![operations::paths(), parts::parameters(), parts::headers(), parts::responses()];
    let mut known = HashSet::new();
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.into_iter().map(|(_, value)| value)),
            Value::String(text) => {
                if let Some(name) = text.strip_prefix("#/components/schemas/")
                    && known.insert(name.to_owned())
                {
                    open.extend(schemas.get(name).cloned());
                }
            }
            _ => (),
        }
    }
    schemas.retain(|name, _| known.contains(name));
}

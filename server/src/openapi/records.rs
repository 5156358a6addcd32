//! The schemas of a kind, from the resource table: record, create, patch, list and bulk. Must not know operations.

use hearth_contract::schema::{AUTHOR_MAX, COMMON, Field, Format, Lines, Presence, Resource, URL_MAX};
use serde_json::{Map, Value, json};

use super::examples;
use super::schema::{array, envelope, name, nullable, reference, strict};
use crate::http::bodies::BULK_OPERATIONS_MAX;

/// Adds all schemas of a kind.
pub(super) fn describe(resource: &Resource, schemas: &mut Map<String, Value>) {
    let (kind, name) = (resource.kind, name(resource.kind));
    for field in resource.fields {
        if let Format::Choice(words) = field.format {
            let schema = json!({ "type": "string", "enum": words, "description": field.about });
            schemas.insert(choice_name(resource, field), schema);
        }
    }
    let (fields, relations) = names(resource);
    schemas.insert(format!("{name}Field"), json!({ "type": "string", "enum": fields }));
    schemas.insert(format!("{name}Relation"), json!({ "type": "string", "enum": relations }));
    schemas.insert(name.to_owned(), image(resource));
    if !kind.is_singleton() {
        schemas.insert(format!("{name}Create"), create(resource));
        schemas.insert(format!("{name}List"), envelope(array(reference(name)), "ListMeta"));
        let (operation, result) = bulk(resource);
        schemas.insert(format!("{name}Operation"), operation);
        schemas.insert(format!("{name}BulkRequest"), strict(
            json!({ "operations": {
                "type": "array", "minItems": 1, "maxItems": BULK_OPERATIONS_MAX, "items": reference(&format!("{name}Operation")),
            } }),
            &["operations"],
        ));
        schemas.insert(format!("{name}BulkResult"), result);
        let results = array(reference(&format!("{name}BulkResult")));
        schemas.insert(format!("{name}BulkResponse"), envelope(results, "ReadMeta"));
    }
    schemas.insert(format!("{name}Patch"), strict(Value::Object(writable(resource, true)), &[]));
    let data = if kind.is_singleton() { nullable(reference(name)) } else { reference(name) };
    schemas.insert(format!("{name}Response"), envelope(data, "ReadMeta"));
}

/// The schema of a record in a response. Only `id` is required, because `fields` may exclude the rest.
fn image(resource: &Resource) -> Value {
    let mut members = Map::new();
    members.insert("id".to_owned(), reference("Id"));
    members.insert(
        "rev".to_owned(),
        json!({
            "type": "integer", "minimum": 1, "description": "Id of the event that last changed the record; in quotes, the ETag",
        }),
    );
    for field in resource.fields {
        members.insert(field.name.to_owned(), value(resource, field, false));
    }
    for (relation, field) in resource.relations() {
        let expanded = match field.format {
            Format::Reference(kind) => nullable(reference(name(kind))),
            _ => json!({ "type": ["object", "null"], "description": "The related record" }),
        };
        members.insert(relation.to_owned(), expanded);
    }
    for (name, about) in [("created_at", "Time of creation"), ("updated_at", "Time of the last change")] {
        members.insert(name.to_owned(), json!({ "type": "string", "format": "date-time", "description": about }));
    }
    members.insert(
        "updated_by".to_owned(),
        json!({
            "type": "string", "maxLength": AUTHOR_MAX, "description": "Name of the person or the key that changed it last",
        }),
    );
    json!({
        "type": "object",
        "description": resource.about,
        "properties": members,
        "required": ["id"],
        "examples": [examples::record(resource.kind)],
    })
}

fn create(resource: &Resource) -> Value {
    let mut members = writable(resource, false);
    members.insert("id".to_owned(), json!({
        "type": ["string", "null"], "format": "uuid", "description": "An id of your own choice; null: the service creates an id",
    }));
    let required: Vec<&str> =
        resource.fields.iter().filter(|field| field.presence == Presence::Required).map(|field| field.name).collect();
    strict(Value::Object(members), &required)
}

/// The fields that a client may send. A patch has no defaults, because absent fields keep their values.
fn writable(resource: &Resource, is_patch: bool) -> Map<String, Value> {
    let fields = resource.fields.iter().filter(|field| field.is_sendable());
    fields
        .map(|field| {
            let mut schema = value(resource, field, true);
            if let (Presence::Default(preset), false, None) = (field.presence, is_patch, schema.get("$ref")) {
                schema["default"] = preset.value();
            }
            (field.name.to_owned(), schema)
        })
        .collect()
}

/// The schemas of a bulk operation and its result. The fields stand beside `method` or all inside `data`.
fn bulk(resource: &Resource) -> (Value, Value) {
    let name = name(resource.kind);
    let mut members = Map::new();
    members.insert("method".to_owned(), reference("BulkMethod"));
    members.insert(
        "id".to_owned(),
        json!({ "type": ["string", "null"], "description": "The record; optional on create" }),
    );
    members.insert("if_match".to_owned(), nullable(reference("BulkIfMatch")));
    let mut nested = writable(resource, true);
    let about = "An id of your own choice, for a create only";
    nested.insert("id".to_owned(), json!({ "type": ["string", "null"], "format": "uuid", "description": about }));
    members.insert("data".to_owned(), strict(Value::Object(nested), &[]));
    members.extend(writable(resource, true));
    let result = json!({
        "type": "object",
        "properties": {
            "index": { "type": "integer", "minimum": 0, "description": "Position of the operation in the request" },
            "method": reference("BulkMethod"),
            "status": { "type": "integer", "description": "The status that a single request would have had" },
            "id": { "type": ["string", "null"], "description": "The record's id, or the one given" },
            "data": reference(name),
            "error": reference("ErrorBody"),
        },
        "required": ["index", "method", "status", "id"],
    });
    let mut operation = strict(Value::Object(members), &["method"]);
    operation["dependentSchemas"] =
        json!({ "data": { "propertyNames": { "enum": ["method", "id", "if_match", "data"] } } });
    operation["if"] = json!({ "properties": { "method": { "enum": ["update", "delete"] } } });
    operation["then"] = json!({
        "properties": { "id": { "type": "string" }, "data": { "propertyNames": { "not": { "const": "id" } } } },
        "required": ["id"],
    });
    // A create has its id in one place.
    operation["else"] = json!({
        "if": { "properties": { "id": { "type": "string" } }, "required": ["id"] },
        "then": { "properties": { "data": { "properties": { "id": { "type": "null" } } } } },
    });
    (operation, result)
}

/// The schema of a field, in a request or a response.
fn value(resource: &Resource, field: &Field, is_sent: bool) -> Value {
    if let Format::Choice(_) = field.format {
        let words = reference(&choice_name(resource, field));
        return if field.is_nullable() { nullable(words) } else { words };
    }
    let mut schema = match field.format {
        Format::Text { max, lines } => {
            let pattern = match (lines, field.presence == Presence::Required) {
                (Lines::One, false) => r"^[^\x00-\x1f\x7f-\x9f]*$",
                (Lines::One, true) => r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$",
                (Lines::Many, _) => r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*$",
            };
            json!({ "type": "string", "maxLength": max, "pattern": pattern })
        }
        Format::Vin if is_sent => json!({ "type": "string", "pattern": "^[A-HJ-NPR-Za-hj-npr-z0-9]{11,17}$" }),
        Format::Vin => json!({ "type": "string", "pattern": "^[A-HJ-NPR-Z0-9]{11,17}$" }),
        Format::Url => {
            json!({ "type": "string", "format": "uri", "maxLength": URL_MAX, "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@:\\s]" })
        }
        Format::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Format::Year => json!({ "type": "integer", "minimum": 1000, "maximum": 9999 }),
        Format::Money if is_sent => json!({ "type": "string", "pattern": "^[0-9]{1,12}(\\.[0-9]{1,2})?$" }),
        Format::Money => json!({ "type": "string", "pattern": "^(0|[1-9][0-9]{0,11})\\.[0-9]{2}$" }),
        Format::Date => json!({ "type": "string", "format": "date" }),
        Format::Timestamp => json!({ "type": "string", "format": "date-time" }),
        // The names are too many for an enum.
        Format::TimeZone => json!({ "type": "string", "pattern": "^[A-Za-z0-9_+/-]+$", "examples": ["Europe/Berlin"] }),
        // The codes are too many for an enum.
        Format::Currency if is_sent => json!({ "type": "string", "pattern": "^[A-Za-z]{3}$", "examples": ["EUR"] }),
        Format::Currency => json!({ "type": "string", "pattern": "^[A-Z]{3}$", "examples": ["EUR"] }),
        Format::Sha256 if is_sent => json!({ "type": "string", "pattern": "^[0-9A-Fa-f]{64}$" }),
        Format::Sha256 => json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" }),
        Format::Reference(_) | Format::Subject => json!({ "type": "string", "format": "uuid" }),
        Format::Choice(_) => Value::Null,
    };
    if field.is_nullable() {
        schema["type"] = json!([schema["type"], "null"]);
    }
    schema["description"] = field.about.into();
    schema
}

/// The schema name of a choice, for example `TaskStatus`.
fn choice_name(resource: &Resource, field: &Field) -> String {
    let camel: String = field
        .name
        .split('_')
        .map(|word| {
            let (first, rest) = word.split_at(1);
            format!("{}{rest}", first.to_uppercase())
        })
        .collect();
    let name = name(resource.kind);
    if camel.starts_with(name) { camel } else { format!("{name}{camel}") }
}

/// The words that `fields` and `expand` accept.
fn names(resource: &Resource) -> (Vec<&'static str>, Vec<&'static str>) {
    let fields = COMMON.into_iter().chain(resource.fields.iter().map(|field| field.name));
    (fields.collect(), resource.relations().map(|(relation, _)| relation).collect())
}

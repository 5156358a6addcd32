//! JSON Schema 2020-12 of the inputs and outputs of tools, from the table of kinds and the parameters of the route. Every
//! root is an object. Language models read all of them at once: each schema is short, and has no list of types, which some
//! clients refuse. Must not know single tools.

use hearth_contract::headers::IDEMPOTENCY_KEY_MAX;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind, Presence, URL_MAX};
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

use super::arguments::{IDEMPOTENCY_ARGUMENT, RECORD_ARGUMENT, takes_idempotency_key};
use crate::http::bodies::{RequestBody, ResponseBody};
use crate::http::parameters::{NULL, Parameter, ParameterType};
use crate::http::route::Route;

/// The input schema of a tool with this route.
pub(super) fn input(route: &Route) -> JsonObject {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    if route.has_id() {
        properties.insert("id".to_owned(), json!({ "type": "string", "format": "uuid", "description": "Which one" }));
        required.push("id");
    }
    match (route.request_body, route.kind) {
        (RequestBody::Create, Some(kind)) => {
            let about = "An id of your own choice; the service creates one otherwise";
            properties.insert("id".to_owned(), json!({ "type": "string", "format": "uuid", "description": about }));
            let fields = resource(kind).fields.iter().filter(|field| field.presence == Presence::Required);
            required.extend(fields.map(|field| field.name));
            properties.extend(writable(kind, true));
        }
        (RequestBody::Patch, Some(kind)) => properties.extend(writable(kind, false)),
        (RequestBody::Suggestion, _) => {
            properties.extend(suggestion());
            required.extend(["name", "type", "fields"]);
        }
        _ => {
            let has_relations = route.kind.is_some_and(|kind| resource(kind).relations().next().is_some());
            let is_of_use =
                |parameter: &&Parameter| has_relations || !matches!(parameter.value_type, ParameterType::Relations);
            for parameter in route.parameters.iter().filter(is_of_use) {
                properties.insert(parameter.name.to_owned(), argument(parameter, route.kind));
                if let ParameterType::Text { .. } = parameter.value_type {
                    required.push(parameter.name);
                }
            }
        }
    }
    if takes_idempotency_key(route) {
        let about = "Text without spaces, unique for this creation: a repeated call with the same key gets the first result and \
            creates nothing";
        let key = json!({
            "type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_MAX, "pattern": "^[!-~]+$",
            "description": about,
        });
        properties.insert(IDEMPOTENCY_ARGUMENT.to_owned(), key);
    }
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    members(schema)
}

/// The arguments of a suggested draft.
fn suggestion() -> Map<String, Value> {
    members(json!({
        "name": { "type": "string", "pattern": "^[a-z0-9-]{1,40}$", "description": "Name of the draft" },
        "type": { "type": "string", "enum": ["inventory", "vehicle", "document"] },
        RECORD_ARGUMENT: { "type": "string", "format": "uuid", "description": "The record to change" },
        "fields": { "type": "object", "description": "As in the tools that create" },
        "evidence": { "type": "object", "description": "Where each value stands, as in drafts" },
    }))
    .into_iter()
    .collect()
}

/// The output schema of a tool with this route: data or an error, because some clients validate failed calls too.
pub(super) fn output(route: &Route) -> JsonObject {
    let one = json!({ "type": "object" });
    let (data, is_page) = match route.response_body {
        ResponseBody::Records | ResponseBody::SearchResults | ResponseBody::Captures => {
            (json!({ "type": "array", "items": one }), true)
        }
        ResponseBody::Profile => (nullable(one), false),
        _ => (one, false),
    };
    let error = json!({ "type": "object", "description": "type, message, fix, doc_url and details" });
    let mut properties = json!({ "data": data, "error": error });
    let mut success = vec!["data"];
    if is_page {
        properties["page"] = json!({ "type": "object", "description": "has_more and next_cursor" });
        success.push("page");
    }
    members(json!({
        "type": "object",
        "properties": properties,
        "anyOf": [{ "required": success }, { "required": ["error"] }],
    }))
}

fn members(schema: Value) -> JsonObject {
    match schema {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    }
}

/// The schema, or null.
fn nullable(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// The fields that a client may send. A patch has no defaults, because absent fields keep their values.
fn writable(kind: Kind, is_create: bool) -> impl Iterator<Item = (String, Value)> {
    resource(kind).fields.iter().filter(|field| field.is_sendable()).map(move |field| {
        let mut schema = if field.is_nullable() { nullable(value(field)) } else { value(field) };
        if let (Presence::Default(preset), true) = (field.presence, is_create) {
            schema["default"] = preset.value();
        }
        schema["description"] = field.about.into();
        (field.name.to_owned(), schema)
    })
}

/// The schema of a value of a field that is not null. The service checks more than the schema says.
fn value(field: &Field) -> Value {
    match field.format {
        Format::Text { max, .. } if field.presence == Presence::Required => {
            json!({ "type": "string", "minLength": 1, "maxLength": max })
        }
        Format::Text { max, .. } => json!({ "type": "string", "maxLength": max }),
        Format::Vin => json!({ "type": "string", "minLength": 11, "maxLength": 17 }),
        Format::Url => json!({ "type": "string", "format": "uri", "maxLength": URL_MAX }),
        Format::Choice(words) => json!({ "type": "string", "enum": words }),
        Format::Year => json!({ "type": "integer", "minimum": 1000, "maximum": 9999 }),
        Format::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Format::Money => json!({ "type": "string", "pattern": r"^\d{1,12}(\.\d{1,2})?$" }),
        Format::Date => json!({ "type": "string", "format": "date" }),
        Format::Timestamp => json!({ "type": "string", "format": "date-time" }),
        Format::Reference(_) | Format::Subject => json!({ "type": "string", "format": "uuid" }),
        _ => json!({ "type": "string" }),
    }
}

/// A query parameter as an argument. The service also takes an array for a comma-separated list.
fn argument(parameter: &Parameter, kind: Option<Kind>) -> Value {
    let several = || {
        let text = json!({ "type": "string", "minLength": 1 });
        json!({ "anyOf": [text, { "type": "array", "minItems": 1, "items": { "type": "string" } }] })
    };
    // A result has no `meta`.
    let about = parameter.about.replace("meta.page", "page");
    let with_names = |names: Vec<&str>| format!("{about}: {}", names.join(", "));
    let (mut schema, about) = match parameter.value_type {
        ParameterType::Limit { default, max } => {
            (json!({ "type": "integer", "minimum": 1, "maximum": max, "default": default }), about)
        }
        ParameterType::Cursor => (json!({ "type": "string", "minLength": 1 }), about),
        ParameterType::Choice { words, .. } => (json!({ "type": "string", "enum": words, "default": words[0] }), about),
        ParameterType::Word { words, .. } => (json!({ "type": "string", "enum": words }), about),
        ParameterType::Flag => (json!({ "type": "string", "enum": ["true", "false"] }), about),
        ParameterType::Moment => (json!({ "type": "string", "examples": ["2026-06-01T12:00:00Z"] }), about),
        ParameterType::Revision => (json!({ "type": "integer", "minimum": 0 }), about),
        ParameterType::Text { min, max } => (json!({ "type": "string", "minLength": min, "maxLength": max }), about),
        ParameterType::Kinds(kinds) => (several(), with_names(kinds.iter().map(|kind| kind.as_str()).collect())),
        ParameterType::Relations => {
            let relations = kind.into_iter().flat_map(|kind| resource(kind).relations());
            let names = relations.map(|(relation, _)| relation).collect();
            (several(), with_names(names))
        }
        ParameterType::Fields => (several(), about),
        ParameterType::Filter(field) => (json!({ "type": "string", "minLength": 1 }), filter_about(field)),
    };
    schema["description"] = about.into();
    schema
}

/// The description of a filter. A filter is one text, so that its schema is short.
fn filter_about(field: &Field) -> String {
    let mut values = match field.format {
        Format::Choice(words) => words.join(", "),
        Format::Date => "dates, YYYY-MM-DD".to_owned(),
        _ => "ids".to_owned(),
    };
    if field.is_nullable() {
        values = format!("{values}, {NULL}");
    }
    format!("Filter: one or more of {values}; separated by commas")
}

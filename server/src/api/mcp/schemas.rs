//! JSON Schema 2020-12 of the inputs and outputs of tools: the schemas of the OpenAPI description with all references
//! inlined, and the parameters of the route as arguments. Every root is an object. Must not know single tools.

use hearth_contract::headers::IDEMPOTENCY_KEY_MAX;
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Kind};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::arguments::{IDEMPOTENCY_ARGUMENT, takes_idempotency_key};
use crate::http::bodies::{RequestBody, ResponseBody};
use crate::http::parameters::{Parameter, ParameterType};
use crate::http::route::Route;
use crate::openapi::schema::{array, name, nullable};
use crate::openapi::schemas::inlined;

/// The input schema of a tool with this route.
pub(super) fn input(route: &Route, routes: &[Route]) -> JsonObject {
    let mut schema = match (route.request_body, route.kind) {
        (RequestBody::Create, Some(kind)) => inlined(&format!("{}Create", name(kind)), routes),
        (RequestBody::Patch, Some(kind)) => inlined(&format!("{}Patch", name(kind)), routes),
        _ => json!({ "type": "object", "properties": {}, "additionalProperties": false }),
    };
    let mut required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    let has_relations = route.kind.is_some_and(|kind| resource(kind).relations().next().is_some());
    for parameter in route.parameters.iter().filter(|_| route.request_body == RequestBody::None) {
        if matches!(parameter.value_type, ParameterType::Relations) && !has_relations {
            continue;
        }
        schema["properties"][parameter.name] = argument(parameter, route.kind);
        if let ParameterType::Text { .. } = parameter.value_type {
            required.push(parameter.name.into());
        }
    }
    if route.has_id() {
        schema["properties"]["id"] = json!({ "type": "string", "format": "uuid", "description": "Which record" });
        required.push("id".into());
    }
    if takes_idempotency_key(route) {
        let about = "Text without spaces, unique for this creation: a repeated call with the same key gets the first result and \
            creates nothing";
        schema["properties"][IDEMPOTENCY_ARGUMENT] = json!({
            "type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_MAX, "pattern": "^[!-~]+$",
            "description": about,
        });
    }
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    members(schema)
}

/// The output schema of a tool with this route: data or an error, because some clients validate failed calls too.
pub(super) fn output(route: &Route, routes: &[Route]) -> JsonObject {
    let one = inlined(route.kind.map_or("SearchResult", name), routes);
    let (data, is_page) = match route.response_body {
        ResponseBody::Records | ResponseBody::SearchResults => (array(one), true),
        ResponseBody::Profile => (nullable(one), false),
        _ => (one, false),
    };
    let mut properties = json!({ "data": data, "error": inlined("ErrorBody", routes) });
    let mut success = vec!["data"];
    if is_page {
        properties["page"] = inlined("Page", routes);
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

/// A query parameter as an argument. A comma-separated list may also be an array.
fn argument(parameter: &Parameter, kind: Option<Kind>) -> Value {
    let several =
        || json!({ "type": ["string", "array"], "minLength": 1, "minItems": 1, "items": { "type": "string" } });
    let mut schema = match parameter.value_type {
        ParameterType::Limit { default, max } => {
            json!({ "type": "integer", "minimum": 1, "maximum": max, "default": default })
        }
        ParameterType::Cursor => json!({ "type": "string", "minLength": 1 }),
        ParameterType::Choice { words, .. } => json!({ "type": "string", "enum": words, "default": words[0] }),
        ParameterType::Moment => json!({ "type": "string", "examples": ["2026-06-01", "2026-06-01T12:00:00Z"] }),
        ParameterType::Text { min, max } => json!({ "type": "string", "minLength": min, "maxLength": max }),
        ParameterType::Kinds(_) | ParameterType::Fields | ParameterType::Relations | ParameterType::Filter(_) => several(),
    };
    let names: Vec<&str> = match (parameter.value_type, kind) {
        (ParameterType::Kinds(kinds), _) => kinds.iter().map(|kind| kind.as_str()).collect(),
        (ParameterType::Fields, Some(kind)) => {
            COMMON.into_iter().chain(resource(kind).fields.iter().map(|f| f.name)).collect()
        }
        (ParameterType::Relations, Some(kind)) => resource(kind).relations().map(|(relation, _)| relation).collect(),
        _ => Vec::new(),
    };
    let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    // A result has no `meta`.
    schema["description"] = format!("{}{names}", parameter.about.replace("meta.page", "page")).into();
    schema
}

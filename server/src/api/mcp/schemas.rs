//! What tools take and give, in JSON Schema 2020-12: the schemas of the API's description, each written out by itself,
//! and the routes' parameters as arguments. Every root is an object.

use hearth_contract::headers::IDEMPOTENCY_KEY_MAX;
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Kind};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::tools::{KEY, takes_key};
use crate::http::bodies::{Carries, Gives};
use crate::http::parameters::{Parameter, Takes};
use crate::http::route::Route;
use crate::openapi::schema::{array, name, nullable};
use crate::openapi::schemas::alone;

/// What a tool of this route takes.
pub(super) fn input(route: &Route, routes: &[Route]) -> JsonObject {
    let mut schema = match (route.carries, route.kind) {
        (Carries::Create, Some(kind)) => alone(&format!("{}Create", name(kind)), routes),
        (Carries::Patch, Some(kind)) => alone(&format!("{}Patch", name(kind)), routes),
        _ => json!({ "type": "object", "properties": {}, "additionalProperties": false }),
    };
    let mut required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    let has_relations = route.kind.is_some_and(|kind| resource(kind).relations().next().is_some());
    for parameter in route.parameters.iter().filter(|_| route.carries == Carries::Nothing) {
        if matches!(parameter.takes, Takes::Relations) && !has_relations {
            continue;
        }
        schema["properties"][parameter.name] = argument(parameter, route.kind);
        if let Takes::Text { .. } = parameter.takes {
            required.push(parameter.name.into());
        }
    }
    if route.path.ends_with("{id}") {
        schema["properties"]["id"] = json!({ "type": "string", "format": "uuid", "description": "Which record" });
        required.push("id".into());
    }
    if takes_key(route) {
        let about = "Text without spaces, unique to this wish: a repeated call with it gets the first answer and creates \
            nothing";
        schema["properties"][KEY] = json!({
            "type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_MAX, "pattern": "^[!-~]+$",
            "description": about,
        });
    }
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    members(schema)
}

/// What a tool of this route gives: its data, or an error. Some clients hold failed calls to the schema too.
pub(super) fn output(route: &Route, routes: &[Route]) -> JsonObject {
    let one = alone(route.kind.map_or("SearchResult", name), routes);
    let (data, is_page) = match route.gives {
        Gives::Records | Gives::Found => (array(one), true),
        Gives::Profile => (nullable(one), false),
        _ => (one, false),
    };
    let mut properties = json!({ "data": data, "error": alone("ErrorBody", routes) });
    let mut success = vec!["data"];
    if is_page {
        properties["page"] = alone("Page", routes);
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

/// A parameter as an argument. What a query separates by commas may also come as a list.
fn argument(parameter: &Parameter, kind: Option<Kind>) -> Value {
    let several =
        || json!({ "type": ["string", "array"], "minLength": 1, "minItems": 1, "items": { "type": "string" } });
    let mut schema = match parameter.takes {
        Takes::Limit { default, max } => json!({ "type": "integer", "minimum": 1, "maximum": max, "default": default }),
        Takes::Cursor => json!({ "type": "string", "minLength": 1 }),
        Takes::Choice { words, .. } => json!({ "type": "string", "enum": words, "default": words[0] }),
        Takes::Moment => json!({ "type": "string", "examples": ["2026-06-01", "2026-06-01T12:00:00Z"] }),
        Takes::Text { min, max } => json!({ "type": "string", "minLength": min, "maxLength": max }),
        Takes::Kinds(_) | Takes::Fields | Takes::Relations => several(),
    };
    let names: Vec<&str> = match (parameter.takes, kind) {
        (Takes::Kinds(kinds), _) => kinds.iter().map(|kind| kind.as_str()).collect(),
        (Takes::Fields, Some(kind)) => COMMON.into_iter().chain(resource(kind).fields.iter().map(|f| f.name)).collect(),
        (Takes::Relations, Some(kind)) => resource(kind).relations().map(|(relation, _)| relation).collect(),
        _ => Vec::new(),
    };
    let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    // What is said of REST's envelope holds here without `meta`.
    schema["description"] = format!("{}{names}", parameter.about.replace("meta.page", "page")).into();
    schema
}

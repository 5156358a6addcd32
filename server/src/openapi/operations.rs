//! The paths of the description: access, parameters and request body of each route. Must not know handlers.

use hearth_contract::paths;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind};
use serde_json::{Map, Value, json};

use super::schema::{name, reference};
use super::{captures, examples, imports, responses};
use crate::app::limits::RateClass;
use crate::http::bodies::{RequestBody, ResponseBody};
use crate::http::parameters::{NULL, Parameter, ParameterType};
use crate::http::route::{Access, Route};
use crate::store::filter::FILTER_VALUES_MAX;

/// The groups of operations, with descriptions.
pub(super) const TAGS: [(&str, &str); 18] = [
    ("Inventory", "Things the household owns"),
    ("Vehicles", "Cars, bikes, trailers"),
    ("Documents", "Papers and their details"),
    ("Tasks", "Things to do"),
    ("Rooms", "Rooms of the home"),
    ("Property", "The home's profile"),
    ("Search", "Full-text search in all records"),
    ("Events", "The change feed, by poll and by stream"),
    ("Files", "The bytes of photos and papers, named by their SHA-256"),
    ("Smart-add", "Drafts of items and vehicles that the server reads from photos"),
    ("Extract", "Drafts of documents that the server reads from papers"),
    ("Exports", "All records as a file"),
    ("Imports", "Tables of other programs that become records"),
    ("Calendars", "Due and expiring days for calendar programs"),
    ("Account", "The key of the request"),
    ("Discovery", "Descriptions for programs"),
    ("Documentation", "Pages for people"),
    ("Operations", "For supervisors, and tools for language models"),
];

/// The paths of all routes.
pub(super) fn paths(routes: &[Route]) -> Value {
    let mut paths = Map::new();
    for route in routes {
        let item = paths.entry(route.path.as_str()).or_insert_with(|| json!({}));
        item[route.method.as_str().to_lowercase()] = operation(route);
    }
    Value::Object(paths)
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": route.operation,
        "summary": sentence(&route.summary),
        "description": description(route),
        "tags": [tag(route)],
        "security": match &route.access {
            Access::Open => json!([]),
            Access::Key => json!([{ "apiKey": [] }]),
            Access::Scope(scopes) => json!([{ "apiKey": scopes.split(' ').collect::<Vec<_>>() }]),
        },
        "responses": responses::responses(route),
    });
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = body(route) {
        operation["requestBody"] = body;
    }
    operation
}

fn description(route: &Route) -> String {
    let access = match &route.access {
        Access::Open => "Needs no key.".to_owned(),
        Access::Key => "Needs a key, of any scope.".to_owned(),
        Access::Scope(scopes) => match scopes.split_once(' ') {
            Some((one, other)) => format!("Needs the scopes `{one}` and `{other}`."),
            None => format!("Needs the scope `{scopes}`."),
        },
    };
    let window = match route.class {
        RateClass::Free => "",
        RateClass::Read => " Counts as a read.",
        RateClass::Write => " Counts as a write.",
        RateClass::Bulk => " Counts as a bulk call.",
    };
    format!("{}. {access}{window}", sentence(&route.summary))
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn tag(route: &Route) -> &'static str {
    let path = route.path.as_str();
    let known = || TAGS.iter().map(|(name, _)| *name);
    match route.kind {
        Some(kind) => known().find(|tag| tag.to_lowercase() == kind.collection()).unwrap_or("Property"),
        None if path.starts_with(paths::DOCS) => "Documentation",
        None if matches!(path, paths::ME) => "Account",
        None if matches!(path, paths::DELETIONS) => "Events",
        None if matches!(path, paths::HEALTH | paths::READY | paths::MCP | paths::REFILL) => "Operations",
        None => {
            let second = path.split('/').nth(2).unwrap_or_default();
            known().find(|tag| tag.to_lowercase() == second).unwrap_or("Discovery")
        }
    }
}

fn parameters(route: &Route) -> Vec<Value> {
    let mut parameters = Vec::new();
    for segment in route.path.split('/').filter_map(|s| s.strip_prefix('{')?.strip_suffix('}')) {
        // An export has the id of the example answer.
        let id = examples::id(route.kind.unwrap_or(Kind::Document)).to_string();
        let (about, schema, example) = match segment {
            "id" => ("The id", json!({ "type": "string", "format": "uuid" }), id.as_str()),
            "sha256" => ("The SHA-256 of the bytes", reference("FileHash"), examples::FILE_HASH),
            "name" => {
                ("The name of the draft", json!({ "type": "string", "pattern": "^[a-z0-9-]{1,40}$" }), "item-by-agent")
            }
            "section" => ("The name of the page", json!({ "type": "string", "pattern": "^[a-z-]+$" }), "tasks"),
            "guide" => ("The name of the guide", json!({ "type": "string", "pattern": "^[a-z-]+$" }), "paging"),
            _ => ("The error type", reference("ErrorType"), "not_found"),
        };
        parameters.push(json!({
            "name": segment, "in": "path", "required": true, "description": about, "schema": schema, "example": example,
        }));
    }
    parameters.extend(route.parameters.iter().filter_map(|parameter| query_parameter(route.kind, parameter)));
    let mut header = |name: &str| parameters.push(json!({ "$ref": format!("#/components/parameters/{name}") }));
    if route.is_versioned() {
        header("ServiceApiVersion");
    }
    if route.takes_ticket() {
        header("IdempotencyKey");
    }
    if route.request_body == RequestBody::Rpc {
        ["McpProtocolVersion", "McpMethod", "McpName", "Origin"].into_iter().for_each(&mut header);
    }
    if route.is_guarded() {
        header("IfMatch");
        header("UnlessMatch");
    }
    if route.is_conditional() {
        header("IfNoneMatch");
    }
    if route.response_body == ResponseBody::FileBytes {
        header("Range");
        header("IfRange");
    }
    if route.response_body == ResponseBody::Stream {
        header("LastEventId");
    }
    parameters
}

fn query_parameter(kind: Option<Kind>, parameter: &Parameter) -> Option<Value> {
    let has_relations = kind.is_some_and(|kind| resource(kind).relations().next().is_some());
    let kind = kind.map_or("", name);
    let list = |items: Value| json!({ "type": "array", "minItems": 1, "items": items });
    let schema = match parameter.value_type {
        ParameterType::Limit { default, max } => {
            json!({ "type": "integer", "minimum": 1, "maximum": max, "default": default })
        }
        ParameterType::Cursor => json!({ "type": "string", "minLength": 1 }),
        ParameterType::Choice { schema, .. } | ParameterType::Word { schema, .. } => reference(schema),
        ParameterType::Kinds(kinds) if kinds.len() == Kind::ALL.len() => list(reference("ResourceType")),
        ParameterType::Kinds(_) => list(reference("CollectionType")),
        ParameterType::Fields => list(reference(&format!("{kind}Field"))),
        ParameterType::Relations if !has_relations => return None,
        ParameterType::Relations => list(reference(&format!("{kind}Relation"))),
        ParameterType::Filter(field) => {
            let mut values = list(filter_value(field));
            values["maxItems"] = FILTER_VALUES_MAX.into();
            values
        }
        ParameterType::Flag => json!({ "type": "string", "enum": ["true", "false"] }),
        ParameterType::Moment => {
            json!({ "type": "string", "anyOf": [{ "format": "date" }, { "format": "date-time" }] })
        }
        ParameterType::Revision => json!({ "type": "integer", "minimum": 0 }),
        ParameterType::Text { min, max } => json!({ "type": "string", "minLength": min, "maxLength": max }),
    };
    let required = matches!(parameter.value_type, ParameterType::Text { .. });
    // The default stands only in the description: generated clients would send a schema default together with a cursor,
    // which may contradict the default.
    let about = match parameter.value_type {
        ParameterType::Choice { words: [first, ..], .. } => {
            format!("{}; `{first}` when neither this nor a cursor says", parameter.about)
        }
        _ => parameter.about.to_owned(),
    };
    let mut value = json!({
        "name": parameter.name,
        "in": "query",
        "required": required,
        "description": about,
        "schema": schema,
    });
    if required {
        value["example"] = "furnace".into();
    }
    if parameter.value_type.is_list() {
        value["style"] = "form".into();
        value["explode"] = false.into();
    }
    Some(value)
}

/// The schema of one value of a filter: one plain string type, because generated clients make a class of its own of each
/// `anyOf`.
fn filter_value(field: &Field) -> Value {
    let null = field.is_nullable().then_some(NULL);
    let pattern = match field.format {
        Format::Choice(words) => {
            let words: Vec<&str> = words.iter().copied().chain(null).collect();
            return json!({ "type": "string", "enum": words });
        }
        Format::Date => DATE_PATTERN,
        _ => ID_PATTERN,
    };
    let pattern = null.map_or(format!("^({pattern})$"), |null| format!("^({null}|{pattern})$"));
    json!({ "type": "string", "pattern": pattern })
}

/// A UUID with hyphens.
const ID_PATTERN: &str = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
/// A day of the calendar: months of 31 and of 30 days, the first 28 days of February, and leap days.
const DATE_PATTERN: &str = "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|\
     02-(0[1-9]|1[0-9]|2[0-8]))|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29";

fn body(route: &Route) -> Option<Value> {
    let kind = route.kind.map_or("", name);
    let create = || route.kind.map(examples::create).unwrap_or_default();
    let (schema, example) = match route.request_body {
        // Generated clients could not leave out a body that is described.
        RequestBody::None | RequestBody::Empty => return None,
        // The routes with these bodies are no part of the description.
        RequestBody::Form | RequestBody::Multipart | RequestBody::WebJson => return None,
        RequestBody::Create => (format!("{kind}Create"), create()),
        RequestBody::Patch => (format!("{kind}Patch"), route.kind.map(examples::patch).unwrap_or_default()),
        RequestBody::Bulk => {
            let mut operation = create();
            operation["method"] = "create".into();
            (format!("{kind}BulkRequest"), json!({ "operations": [operation] }))
        }
        RequestBody::File => {
            let content = json!({ "application/octet-stream": { "schema": { "type": "string", "format": "binary" } } });
            return Some(
                json!({ "required": true, "description": "The bytes, of any media type", "content": content }),
            );
        }
        RequestBody::Import => return Some(imports::request()),
        RequestBody::SmartAdd | RequestBody::Extract | RequestBody::Suggestion | RequestBody::Accepted => {
            let (schema, example) = captures::request(route.request_body);
            (schema.to_owned(), example)
        }
        RequestBody::Export => {
            ("ExportCreate".to_owned(), json!({ "format": "csv", "types": ["inventory", "room"], "names": true }))
        }
        RequestBody::Calendar => ("CalendarCreate".to_owned(), json!({ "name": "Home" })),
        RequestBody::Refill => ("RefillBegin".to_owned(), json!({ "from": examples::id(Kind::Property) })),
        RequestBody::Rpc => {
            ("RpcRequest".to_owned(), json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} }))
        }
    };
    let content: Map<String, Value> = route
        .request_body
        .media()
        .iter()
        .map(|media| ((*media).to_owned(), json!({ "schema": reference(&schema), "example": example })))
        .collect();
    Some(json!({ "required": true, "content": content }))
}

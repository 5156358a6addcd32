//! What an operation answers: its good answer with an example, and the refusals that it can meet.

use std::collections::BTreeSet;

use hearth_contract::schema::Kind;
use serde_json::{Map, Value, json};

use super::examples;
use super::parts::{ALWAYS, ENDING, GUARDED, KEYED, LATER, REPLAYED, header_references, of_refusal};
use super::schema::{name, reference};
use crate::http::bodies::{Carries, Gives};
use crate::http::route::{Access, Route};

/// All answers of an operation, by status.
pub(super) fn of(route: &Route) -> Value {
    let mut responses = Map::new();
    let shared = of_all(route);
    let mut headers = shared.clone();
    if matches!(route.gives, Gives::Record | Gives::Created | Gives::Profile) {
        headers.extend(header_references(&[("ETag", "ETag")]));
    }
    if matches!(route.gives, Gives::Created | Gives::Exporting) {
        headers.extend(header_references(&[("Location", "Location")]));
    }
    if route.takes_ticket() {
        headers.extend(header_references(&REPLAYED));
    }
    match route.gives {
        Gives::File => headers.extend(header_references(&[("Content-Disposition", "ContentDisposition")])),
        Gives::Page | Gives::ErrorPage | Gives::Style | Gives::Script => headers.extend(header_references(&GUARDED)),
        Gives::Stream => headers.extend(header_references(&[("X-Accel-Buffering", "XAccelBuffering")])),
        // A tool that is refused for its window is answered in the protocol's own way.
        Gives::Rpc => headers.extend(header_references(&LATER)),
        _ => (),
    }
    let content: Map<String, Value> = route
        .gives
        .media()
        .iter()
        .map(|media| {
            let mut content = json!({ "schema": good_schema(route, media) });
            if let Some(example) = good_example(route).filter(|_| media.ends_with("json")) {
                content["example"] = example;
            }
            ((*media).to_owned(), content)
        })
        .collect();
    responses.insert(
        route.gives.status().to_string(),
        json!({ "description": good_about(route.gives), "headers": headers, "content": content }),
    );
    if route.is_conditional() {
        let mut headers = shared.clone();
        headers.extend(header_references(&[("ETag", "ETag")]));
        responses.insert("304".to_owned(), json!({ "description": "The reader has this already", "headers": headers }));
    }
    if route.carries == Carries::Rpc {
        responses.insert("202".to_owned(), json!({ "description": "A notification was taken", "headers": shared }));
        for (status, about) in
            [(400, "No message of the protocol, or not as its version asks"), (404, "No such method")]
        {
            let content = json!({ "application/json": { "schema": reference("RpcRefusal") } });
            let answer = json!({ "description": about, "headers": of_refusal(status), "content": content });
            responses.insert(status.to_string(), answer);
        }
    }
    for status in refusals(route) {
        if responses.contains_key(&status.to_string()) {
            continue;
        }
        responses.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/Error{status}") }));
    }
    Value::Object(responses)
}

/// The headers that every answer of a route that is no refusal may carry.
fn of_all(route: &Route) -> Map<String, Value> {
    let mut headers = header_references(&ALWAYS);
    if route.access != Access::Open {
        headers.extend(header_references(&KEYED));
    }
    if route.is_versioned() {
        headers.extend(header_references(&ENDING));
    }
    headers
}

/// The statuses of the refusals that a route can meet, in the order of its checks (contract 4).
fn refusals(route: &Route) -> BTreeSet<u16> {
    // Any head may be late.
    let mut statuses = BTreeSet::from([400, 405, 406, 408, 414, 431, 500, 503]);
    if route.access != Access::Open {
        statuses.extend([401, 403, 429]);
    }
    if route.path.contains('{') {
        statuses.insert(404);
    }
    if route.carries != Carries::Nothing {
        statuses.extend([413, 415, 422]);
    }
    if route.takes_ticket() {
        // What is compared with its first time is read, its body too.
        statuses.extend([413, 422]);
    }
    if route.is_guarded() {
        statuses.insert(412);
    }
    match route.gives {
        Gives::Created => drop(statuses.insert(409)),
        Gives::Events | Gives::Stream => drop(statuses.insert(410)),
        _ => (),
    }
    statuses
}

fn good_about(gives: Gives) -> &'static str {
    match gives {
        Gives::Record => "The record",
        Gives::Created => "The record as it was made",
        Gives::Profile => "The home's profile; null until something is set",
        Gives::Records => "A page of records",
        Gives::Deleted => "It is gone, now or before",
        Gives::Bulk => "What came of each operation",
        Gives::Found => "A page of results, the best first",
        Gives::Events => "A page of events; `next_cursor` is always given",
        Gives::Stream => "Events as they come",
        Gives::Me => "What the key is and may do",
        Gives::Export => "The job",
        Gives::Exporting => "The job was taken on",
        Gives::Exports => "A page of jobs",
        Gives::File => "The file",
        Gives::Index => "The root index",
        Gives::Meta => "The catalogues",
        Gives::Health => "All is well",
        Gives::Metrics => "Counts and times",
        Gives::Document | Gives::DocumentJson | Gives::DocumentYaml => "The description",
        Gives::Page | Gives::ErrorPage => "The page",
        Gives::Style => "The style sheet",
        Gives::Script => "The script",
        Gives::Rpc => "The answer to the message",
    }
}

fn good_schema(route: &Route, media: &str) -> Value {
    let kind = route.kind.map_or("", name);
    let schema = match route.gives {
        Gives::Record | Gives::Created | Gives::Profile => format!("{kind}Response"),
        Gives::Records => format!("{kind}List"),
        Gives::Bulk => format!("{kind}BulkResponse"),
        Gives::Deleted => "DeletedResponse".to_owned(),
        Gives::Found => "SearchResultList".to_owned(),
        Gives::Events => "EventList".to_owned(),
        Gives::Stream => "EventStream".to_owned(),
        Gives::Me => "MeResponse".to_owned(),
        Gives::Export | Gives::Exporting => "ExportResponse".to_owned(),
        Gives::Exports => "ExportList".to_owned(),
        Gives::Index => "IndexResponse".to_owned(),
        Gives::Meta => "MetaResponse".to_owned(),
        Gives::Health => "HealthResponse".to_owned(),
        Gives::Document | Gives::DocumentJson | Gives::DocumentYaml => "Description".to_owned(),
        Gives::ErrorPage if media == "application/json" => "ErrorDescriptionResponse".to_owned(),
        Gives::File if media == "application/json" => return json!({ "type": "object", "additionalProperties": true }),
        Gives::File => return json!({ "type": "string", "format": "binary" }),
        Gives::Page | Gives::ErrorPage | Gives::Style | Gives::Script | Gives::Metrics => {
            return json!({ "type": "string" });
        }
        Gives::Rpc => "RpcAnswer".to_owned(),
    };
    reference(&schema)
}

fn good_example(route: &Route) -> Option<Value> {
    let meta = json!({ "request_id": examples::REQUEST_ID });
    let read = json!({ "request_id": examples::REQUEST_ID, "as_of": 812 });
    let page = json!({ "has_more": false, "next_cursor": null });
    let envelope = |data: Value, meta: Value| Some(json!({ "data": data, "meta": meta }));
    match (route.gives, route.kind) {
        (Gives::Record | Gives::Created | Gives::Profile, Some(kind)) => envelope(examples::record(kind), read),
        (Gives::Records, Some(kind)) => {
            let meta = json!({ "request_id": examples::REQUEST_ID, "page": page, "as_of": 812 });
            envelope(json!([examples::record(kind)]), meta)
        }
        (Gives::Deleted, kind) => {
            let id = examples::id(kind.unwrap_or(Kind::Task));
            envelope(json!({ "id": id, "deleted": true }), read)
        }
        (Gives::Bulk, Some(kind)) => {
            let result = json!({
                "index": 0, "method": "create", "status": 201, "id": examples::id(kind), "data": examples::record(kind),
            });
            envelope(json!([result]), read)
        }
        (Gives::Events, _) => {
            let feed = json!({ "head": 812, "oldest": 1, "retention_seconds": 2_592_000 });
            let page = json!({ "has_more": false, "next_cursor": examples::CURSOR });
            let meta = json!({ "request_id": examples::REQUEST_ID, "page": page, "feed": feed });
            envelope(json!([examples::event(Kind::Task)]), meta)
        }
        (Gives::Health, _) => envelope(json!({ "status": "ok" }), meta),
        _ => None,
    }
}

//! The responses of an operation: success with an example, and all possible errors. Must not know handlers.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::answers::answer;
use super::parts::{
    BYTES_HEADERS, COMMON_HEADERS, DEPRECATION_HEADERS, PAGE_HEADERS, RATE_LIMIT_HEADERS, REPLAY_HEADERS,
    RETRY_HEADERS, header_references, refusal_headers,
};
use super::schema::{name, reference};
use crate::http::bodies::{RequestBody, ResponseBody};
use crate::http::route::{Access, Route};

/// All responses of an operation, by status.
pub(super) fn responses(route: &Route) -> Value {
    let mut responses = Map::new();
    let shared = common_headers(route);
    responses.insert(route.response_body.status().to_string(), success(route, &shared));
    if route.is_conditional() {
        let mut headers = shared.clone();
        headers.extend(header_references(&[("ETag", "ETag")]));
        responses.insert(
            "304".to_owned(),
            json!({ "description": "The client already has this revision, as its ETag says", "headers": headers }),
        );
    }
    if route.response_body == ResponseBody::FileStored {
        let mut stored = success(route, &shared);
        stored["description"] = "The file is new".into();
        responses.insert("201".to_owned(), stored);
    }
    if route.response_body == ResponseBody::FileBytes {
        let mut part = success(route, &shared);
        part["description"] = "The bytes that Range names".into();
        part["headers"]["Content-Range"] = json!({ "$ref": "#/components/headers/ContentRange" });
        responses.insert("206".to_owned(), part);
    }
    if route.request_body == RequestBody::Rpc {
        responses
            .insert("202".to_owned(), json!({ "description": "The notification was accepted", "headers": shared }));
        for (status, about) in
            [(400, "Not a message of the protocol, or not valid in its version"), (404, "No such method")]
        {
            let content = json!({ "application/json": { "schema": reference("RpcRefusal") } });
            let refusal = json!({ "description": about, "headers": refusal_headers(status), "content": content });
            responses.insert(status.to_string(), refusal);
        }
    }
    for status in refusal_statuses(route) {
        if responses.contains_key(&status.to_string()) {
            continue;
        }
        responses.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/Error{status}") }));
    }
    Value::Object(responses)
}

/// The successful response of an operation.
fn success(route: &Route, shared: &Map<String, Value>) -> Value {
    let content: Map<String, Value> = route
        .response_body
        .media()
        .iter()
        .map(|media| {
            let mut content = json!({ "schema": success_schema(route, media) });
            if let Some(example) = answer(route, media) {
                content["example"] = example;
            }
            ((*media).to_owned(), content)
        })
        .collect();
    json!({
        "description": success_description(route.response_body),
        "headers": success_headers(route, shared),
        "content": content,
    })
}

/// The headers of a successful response, in addition to the shared headers.
fn success_headers(route: &Route, shared: &Map<String, Value>) -> Map<String, Value> {
    let mut headers = shared.clone();
    if route.response_body.is_asset()
        || matches!(route.response_body, ResponseBody::Record | ResponseBody::Created | ResponseBody::Profile)
    {
        headers.extend(header_references(&[("ETag", "ETag")]));
    }
    if matches!(route.response_body, ResponseBody::FileBytes | ResponseBody::Thumbnail) {
        headers.extend(header_references(&BYTES_HEADERS));
    }
    if matches!(
        route.response_body,
        ResponseBody::Created
            | ResponseBody::ExportAccepted
            | ResponseBody::ImportAccepted
            | ResponseBody::CaptureAccepted
            | ResponseBody::FileStored
    ) {
        headers.extend(header_references(&[("Location", "Location")]));
    }
    if route.takes_ticket() {
        headers.extend(header_references(&REPLAY_HEADERS));
    }
    match route.response_body {
        ResponseBody::File => headers.extend(header_references(&[("Content-Disposition", "ContentDisposition")])),
        ResponseBody::Page | ResponseBody::ErrorPage | ResponseBody::Style | ResponseBody::Script => {
            headers.extend(header_references(&PAGE_HEADERS));
        }
        ResponseBody::Stream => headers.extend(header_references(&[("X-Accel-Buffering", "XAccelBuffering")])),
        // A rate-limited tool call gets an MCP response, not a 429.
        ResponseBody::Rpc => headers.extend(header_references(&RETRY_HEADERS)),
        _ => (),
    }
    headers
}

/// The headers of every response that is no refusal.
fn common_headers(route: &Route) -> Map<String, Value> {
    let mut headers = header_references(&COMMON_HEADERS);
    if route.access != Access::Open {
        headers.extend(header_references(&RATE_LIMIT_HEADERS));
    }
    if route.is_versioned() {
        headers.extend(header_references(&DEPRECATION_HEADERS));
    }
    headers
}

/// The error statuses of a route, in the order of its checks (contract 4).
fn refusal_statuses(route: &Route) -> BTreeSet<u16> {
    // Any request head may arrive late.
    let mut statuses = BTreeSet::from([400, 405, 406, 408, 414, 431, 500, 501, 503]);
    if route.access != Access::Open {
        statuses.extend([401, 403, 429]);
    }
    if route.path.contains('{') {
        statuses.insert(404);
    }
    if route.request_body != RequestBody::None {
        statuses.extend([413, 415, 422]);
    }
    if route.takes_ticket() {
        // A reused idempotency key.
        statuses.insert(422);
    }
    if route.is_guarded() {
        statuses.insert(412);
    }
    // A taken import_ref.
    if route.request_body == RequestBody::Patch {
        statuses.insert(409);
    }
    match route.response_body {
        ResponseBody::Created | ResponseBody::FileDeleted => drop(statuses.insert(409)),
        ResponseBody::Refill => statuses.extend([404, 409]),
        ResponseBody::FileBytes => drop(statuses.insert(416)),
        ResponseBody::Events | ResponseBody::Stream => drop(statuses.insert(410)),
        _ => (),
    }
    statuses
}

fn success_description(body: ResponseBody) -> &'static str {
    match body {
        ResponseBody::Record => "The record",
        ResponseBody::Created => "The new record",
        ResponseBody::Profile => "The home's profile; null until something is set",
        ResponseBody::Records => "A page of records",
        ResponseBody::Deleted => "The record does not exist any more",
        ResponseBody::Bulk => "The result of each operation",
        ResponseBody::SearchResults => "A page of results, the best match first",
        ResponseBody::Events => "A page of events; `next_cursor` is always present",
        ResponseBody::Deletions => "A page of deletions, the oldest first",
        ResponseBody::Stream => "A stream of events",
        ResponseBody::KeyProfile => "The key with its home, scopes and limits",
        ResponseBody::Export => "The job",
        ResponseBody::ExportAccepted => "The job is queued",
        ResponseBody::Exports => "A page of jobs",
        ResponseBody::Import => "The job with the results of its rows",
        ResponseBody::ImportAccepted => "The job is queued",
        ResponseBody::Imports => "A page of jobs",
        ResponseBody::Capture => "The job with its drafts",
        ResponseBody::CaptureAccepted => "The job is queued",
        ResponseBody::Captures => "A page of jobs; it ends early at 4 MiB",
        ResponseBody::File => "The file",
        ResponseBody::CalendarCreated => "The calendar with its url, which is shown only here",
        ResponseBody::Calendars => "The calendars, at most 100",
        ResponseBody::Refill => "The refill",
        ResponseBody::FileStored => "The file was there",
        ResponseBody::Files => "A page of files",
        ResponseBody::FileBytes => "The bytes",
        ResponseBody::Thumbnail => "The picture",
        ResponseBody::FileText => "The text of each page",
        ResponseBody::FileDeleted => "The file does not exist any more",
        ResponseBody::Index => "The root index",
        ResponseBody::Meta => "The catalogues",
        ResponseBody::Health => "The service is healthy",
        ResponseBody::Metrics => "Metrics",
        ResponseBody::Document | ResponseBody::DocumentJson | ResponseBody::DocumentYaml => "The description",
        ResponseBody::Page | ResponseBody::ErrorPage => "The page",
        ResponseBody::Style => "The style sheet",
        ResponseBody::Script => "The script",
        ResponseBody::Rpc => "The response to the message",
    }
}

fn success_schema(route: &Route, media: &str) -> Value {
    let kind = route.kind.map_or("", name);
    let schema = match route.response_body {
        ResponseBody::Record | ResponseBody::Created | ResponseBody::Profile => format!("{kind}Response"),
        ResponseBody::Records => format!("{kind}List"),
        ResponseBody::Bulk => format!("{kind}BulkResponse"),
        ResponseBody::Deleted => "DeletedResponse".to_owned(),
        ResponseBody::SearchResults => "SearchResultList".to_owned(),
        ResponseBody::Events => "EventList".to_owned(),
        ResponseBody::Deletions => "DeletionList".to_owned(),
        ResponseBody::Stream => "EventStream".to_owned(),
        ResponseBody::KeyProfile => "MeResponse".to_owned(),
        ResponseBody::Export | ResponseBody::ExportAccepted => "ExportResponse".to_owned(),
        ResponseBody::Exports => "ExportList".to_owned(),
        ResponseBody::CalendarCreated => "CalendarResponse".to_owned(),
        ResponseBody::Calendars => "CalendarList".to_owned(),
        ResponseBody::Refill => "RefillResponse".to_owned(),
        ResponseBody::Import => "ImportResultResponse".to_owned(),
        ResponseBody::ImportAccepted => "ImportResponse".to_owned(),
        ResponseBody::Imports => "ImportList".to_owned(),
        ResponseBody::Capture | ResponseBody::CaptureAccepted => "CaptureResponse".to_owned(),
        ResponseBody::Captures => "CaptureList".to_owned(),
        ResponseBody::FileStored => "FileResponse".to_owned(),
        ResponseBody::Files => "FileList".to_owned(),
        ResponseBody::FileText => "FileTextResponse".to_owned(),
        ResponseBody::FileDeleted => "FileDeletedResponse".to_owned(),
        ResponseBody::FileBytes | ResponseBody::Thumbnail => {
            return json!({ "type": "string", "format": "binary" });
        }
        ResponseBody::Index => "IndexResponse".to_owned(),
        ResponseBody::Meta => "MetaResponse".to_owned(),
        ResponseBody::Health => "HealthResponse".to_owned(),
        ResponseBody::Document | ResponseBody::DocumentJson | ResponseBody::DocumentYaml => "Description".to_owned(),
        ResponseBody::ErrorPage if media == "application/json" => "ErrorDescriptionResponse".to_owned(),
        ResponseBody::File if media == "application/json" => {
            return json!({ "type": "object", "additionalProperties": true });
        }
        ResponseBody::File => return json!({ "type": "string", "format": "binary" }),
        ResponseBody::Page
        | ResponseBody::ErrorPage
        | ResponseBody::Style
        | ResponseBody::Script
        | ResponseBody::Metrics => {
            return json!({ "type": "string" });
        }
        ResponseBody::Rpc => "RpcAnswer".to_owned(),
    };
    reference(&schema)
}

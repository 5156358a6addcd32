//! The example answer of each operation, made to fit the example request. Must not know handlers, nor headers.

use axum::http::Method;
use hearth_contract::headers::CURRENT_VERSION;
use hearth_contract::paths;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};

use super::{captures, examples, files, imports};
use crate::http::bodies::ResponseBody;
use crate::http::route::Route;
use crate::scopes::SCOPES;
use crate::versions::STABILITY;

/// The body of the example answer in a media type: a value for JSON and YAML, or a string with the text of another media type.
/// None: the answer is a file, whose bytes no example can show.
pub(super) fn answer(route: &Route, media: &str) -> Option<Value> {
    match (media, route.response_body) {
        (_, ResponseBody::File | ResponseBody::FileBytes | ResponseBody::Thumbnail) => None,
        ("text/event-stream", _) => Some(stream().into()),
        ("text/html", _) => Some("<!doctype html>\n<html lang=\"en\">…".into()),
        ("text/css", _) => Some("body { margin: 0 }".into()),
        ("text/javascript", _) => Some("\"use strict\";".into()),
        ("text/plain", _) => Some("hearth_open_streams 0\n".into()),
        (_, ResponseBody::Document | ResponseBody::DocumentJson | ResponseBody::DocumentYaml) => Some(description()),
        (_, ResponseBody::Rpc) => Some(tools()),
        _ => Some(envelope(route)),
    }
}

/// `{ data, meta }`.
fn envelope(route: &Route) -> Value {
    let kind = route.kind.unwrap_or(Kind::Task);
    let meta = json!({ "request_id": examples::REQUEST_ID });
    let read = json!({ "request_id": examples::REQUEST_ID, "as_of": examples::REV });
    let changed = json!({ "request_id": examples::REQUEST_ID, "as_of": examples::PATCHED_REV });
    let page = json!({ "has_more": false, "next_cursor": null });
    let list = json!({ "request_id": examples::REQUEST_ID, "page": page, "as_of": examples::REV });
    if let Some((data, meta)) = files::answer(route.response_body, &meta, &page) {
        return json!({ "data": data, "meta": meta });
    }
    if let Some((data, meta)) = imports::answer(route.response_body, &meta, &page) {
        return json!({ "data": data, "meta": meta });
    }
    if let Some((data, meta)) = captures::answer(route, &meta, &page) {
        return json!({ "data": data, "meta": meta });
    }
    let is_write = route.takes_ticket();
    let (data, meta) = match route.response_body {
        ResponseBody::Record | ResponseBody::Profile if is_write => (examples::patched(kind), changed),
        ResponseBody::Record | ResponseBody::Created | ResponseBody::Profile => (examples::record(kind), read),
        ResponseBody::Records => (json!([examples::record(kind)]), list),
        ResponseBody::Deleted => (json!({ "id": examples::id(kind), "deleted": true }), changed),
        ResponseBody::Bulk => (json!([bulk_result(kind)]), read),
        ResponseBody::SearchResults => (json!([search_result()]), list),
        ResponseBody::Events => (json!([examples::event(Kind::Task)]), feed_meta()),
        ResponseBody::Deletions => (json!([deletion()]), list),
        ResponseBody::KeyProfile => (key_profile(), meta),
        ResponseBody::ExportAccepted => (export("queued"), meta),
        ResponseBody::Export => (export("succeeded"), meta),
        ResponseBody::Exports => {
            (json!([export("succeeded")]), json!({ "request_id": examples::REQUEST_ID, "page": page }))
        }
        ResponseBody::CalendarCreated => (calendar(true), meta),
        ResponseBody::Calendars => {
            (json!([calendar(false)]), json!({ "request_id": examples::REQUEST_ID, "page": page }))
        }
        ResponseBody::Refill => (refill(route.method == Method::DELETE), meta),
        ResponseBody::Index => (index(), meta),
        ResponseBody::Meta => (catalogue(), meta),
        ResponseBody::ErrorPage => (error_type(), meta),
        _ => (json!({ "status": if route.path == paths::READY { "ready" } else { "ok" } }), meta),
    };
    json!({ "data": data, "meta": meta })
}

fn bulk_result(kind: Kind) -> Value {
    json!({ "index": 0, "method": "create", "status": 201, "id": examples::id(kind), "data": examples::record(kind) })
}

fn search_result() -> Value {
    json!({
        "type": "task", "id": examples::id(Kind::Task), "title": "Replace the furnace filter",
        "snippet": "Replace the **furnace** filter", "score": 0.75, "updated_at": examples::MOMENT,
    })
}

fn deletion() -> Value {
    json!({
        "type": "task", "id": examples::id(Kind::Task), "rev": examples::REV, "deleted_at": examples::MOMENT,
    })
}

fn feed_meta() -> Value {
    json!({
        "request_id": examples::REQUEST_ID,
        "page": { "has_more": false, "next_cursor": examples::CURSOR },
        "feed": { "head": examples::REV, "oldest": 1, "retention_seconds": 2_592_000 },
    })
}

/// The first frames of a stream.
fn stream() -> String {
    let (cursor, event) = (examples::CURSOR, examples::event(Kind::Task));
    let ready = json!({ "cursor": cursor, "head": examples::REV });
    format!("retry: 1000\nid: {cursor}\ndata: {event}\n\nevent: ready\nid: {cursor}\ndata: {ready}\n")
}

fn key_profile() -> Value {
    json!({
        "team": { "id": examples::id(Kind::Room), "name": "My home", "plan": "paid" },
        "home": {
            "id": examples::id(Kind::Property), "environment": "test", "used_bytes": 51_234, "limit_bytes": 10_737_418_240_i64,
            "refilled_from": null,
        },
        "environment": "test",
        "key": {
            "id": examples::id(Kind::Task), "name": "laptop", "hint": "svc_test_abc…wxyz", "created_at": examples::MOMENT,
            "last_used_at": examples::MOMENT, "flagged_at": null,
        },
        "scopes": ["tasks:read", "tasks:write", "events:read"],
        "plan": "paid",
        "api_version": { "pinned": CURRENT_VERSION, "resolved": CURRENT_VERSION },
        "rate_limits": { "reads_per_minute": 300, "writes_per_minute": 60, "bulk_per_minute": 20 },
    })
}

fn export(status: &str) -> Value {
    let is_done = status == "succeeded";
    let done = |value: Value| if is_done { value } else { Value::Null };
    json!({
        "id": examples::id(Kind::Document), "status": status, "format": "csv", "types": ["inventory", "room"],
        "names": true, "bom": false,
        "progress": { "done": if is_done { 412 } else { 0 }, "total": 412 },
        "created_at": examples::MOMENT, "finished_at": done(examples::MOMENT.into()),
        "expires_at": done(examples::LATER.into()), "size_bytes": done(20_480.into()),
        "sha256": done("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into()), "error": null,
    })
}

fn refill(has_ended: bool) -> Value {
    json!({
        "from": examples::id(Kind::Property), "began_at": examples::MOMENT, "expires_at": examples::LATER,
        "ended_at": has_ended.then_some(examples::MOMENT),
    })
}

/// A calendar. Its url stands in the answer that makes it.
fn calendar(is_new: bool) -> Value {
    json!({
        "id": examples::id(Kind::Task), "name": "Home",
        "url": is_new.then_some("https://hearth.example/calendar/svc_cal_….ics"),
        "created_at": examples::MOMENT, "last_used_at": if is_new { Value::Null } else { examples::LATER.into() },
    })
}

fn index() -> Value {
    let resource = json!({
        "kind": "room", "collection": "rooms", "path": paths::collection(Kind::Room), "description": "A room of the home",
        "singleton": false, "fields": [{ "name": "name", "format": "text", "required": true, "nullable": false }],
        "relations": [], "filters": ["room_type"], "searchable": ["name", "notes"],
    });
    json!({
        "name": "Hearth", "stability": STABILITY, "resources": [resource],
        "list_conventions": [{ "name": "limit", "default": 50, "maximum": 100 }],
        "field_formats": [{ "format": "date", "rule": "a calendar date, YYYY-MM-DD" }],
        "links": { "docs": "https://hearth.example/docs" },
    })
}

fn catalogue() -> Value {
    let version = json!({
        "version": CURRENT_VERSION, "status": "current", "released_on": CURRENT_VERSION, "deprecated_on": null,
        "sunset_on": null,
    });
    json!({
        "stability": STABILITY, "versions": [version],
        "scopes": [{ "scope": SCOPES[0], "description": "Read inventory" }],
        "errors": [error_type()],
        "limits": { "reads_per_minute": 300, "writes_per_minute": 60, "bulk_per_minute": 20, "page_max": 100 },
    })
}

fn error_type() -> Value {
    json!({
        "type": "not_found", "status": 404, "description": "No such record in this home.", "fix": "Check the id.",
        "details": {}, "retryable": false,
    })
}

fn description() -> Value {
    json!({ "openapi": "3.1.0", "info": { "title": "Hearth" }, "paths": {} })
}

fn tools() -> Value {
    let tool = json!({ "name": "svc_list_tasks", "description": "List tasks", "inputSchema": { "type": "object" } });
    json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [tool] } })
}

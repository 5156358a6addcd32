//! Schemas around records: shared types, envelopes, errors, events and search results. Must not know single kinds.

use hearth_contract::headers::CURRENT_VERSION;
use hearth_contract::problem::{CURSOR_EXPIRED, ProblemType};
use hearth_contract::record::etag;
use hearth_contract::schema::Kind;
use serde_json::{Map, Value, json};

use super::examples;
use super::schema::{array, envelope, object, reference};
use crate::scopes::SCOPES;
use crate::versions::VERSIONS;

/// Pairs of schema name and schema.
pub(super) type Named = Vec<(&'static str, Value)>;

/// All schemas of this file.
pub(super) fn all() -> impl Iterator<Item = (&'static str, Value)> {
    [words(), metas(), outcomes(), feed_and_search()].into_iter().flatten()
}

fn words() -> Named {
    vec![
        ("Id", json!({ "type": "string", "format": "uuid", "description": "A UUID, lower case with hyphens" })),
        (
            "RequestId",
            json!({ "type": "string", "pattern": "^req_[0-9A-HJKMNP-TV-Z]{26}$", "examples": [examples::REQUEST_ID] }),
        ),
        (
            "ApiVersion",
            json!({
                "type": "string", "enum": VERSIONS.each_ref().map(|version| version.name),
                "description": "A dated version of the API",
            }),
        ),
        (
            "CurrentVersion",
            json!({ "type": "string", "enum": [CURRENT_VERSION], "description": "The version that this document describes" }),
        ),
        ("ResourceType", json!({ "type": "string", "enum": Kind::ALL.map(Kind::as_str) })),
        ("CollectionType", json!({ "type": "string", "enum": Kind::COLLECTIONS.map(Kind::as_str) })),
        ("Scope", json!({ "type": "string", "enum": SCOPES })),
        ("Environment", json!({ "type": "string", "enum": ["live", "test"] })),
        ("Plan", json!({ "type": "string", "enum": ["free", "paid"] })),
    ]
}

fn metas() -> Named {
    vec![
        ("Meta", object(json!({ "request_id": reference("RequestId") }), &["request_id"])),
        (
            "ReadMeta",
            object(json!({ "request_id": reference("RequestId"), "as_of": reference("Position") }), &["request_id"]),
        ),
        (
            "ListMeta",
            object(
                json!({ "request_id": reference("RequestId"), "page": reference("Page"), "as_of": reference("Position") }),
                &["request_id", "page"],
            ),
        ),
        (
            "FeedMeta",
            object(
                json!({ "request_id": reference("RequestId"), "page": reference("Page"), "feed": reference("Feed") }),
                &["request_id", "page", "feed"],
            ),
        ),
        (
            "Position",
            json!({ "type": "integer", "minimum": 0, "description": "The home's position when this was read: an event id" }),
        ),
        (
            "Page",
            object(
                json!({
                    "has_more": { "type": "boolean", "description": "Whether more items follow" },
                    "next_cursor": { "type": ["string", "null"], "description": "The `cursor` of the next page" },
                }),
                &["has_more", "next_cursor"],
            ),
        ),
        (
            "Feed",
            object(
                json!({
                    "head": { "type": "integer", "minimum": 0, "description": "Id of the newest event" },
                    "oldest": { "type": ["integer", "null"], "description": "Lowest event id that a backfill returns" },
                    "retention_seconds": { "type": ["integer", "null"], "description": "How long events are kept; null: forever" },
                }),
                &["head", "oldest", "retention_seconds"],
            ),
        ),
    ]
}

fn outcomes() -> Named {
    vec![
        ("Error", object(json!({ "error": reference("ErrorBody"), "meta": reference("Meta") }), &["error", "meta"])),
        (
            "ErrorBody",
            object(
                json!({
                    "type": reference("ErrorType"),
                    "message": { "type": "string", "description": "One sentence about the concrete error" },
                    "fix": { "type": "string", "description": "What to do next; absent in version 2026-03-01" },
                    "doc_url": { "type": "string", "format": "uri", "description": "A page about the type" },
                    "details": { "type": "object", "description": "Details that depend on the type; for validation `fields`, up to 100", "additionalProperties": true },
                }),
                &["type", "message", "doc_url", "details"],
            ),
        ),
        ("CursorExpired", cursor_expired()),
        ("CursorExpiredDetails", cursor_expired_details()),
        (
            "ErrorType",
            json!({
                "type": "string", "examples": ProblemType::ALL.map(ProblemType::as_str).to_vec(),
                "description": "The type of the error. Types may be added; the status of a type never changes",
            }),
        ),
        (
            "Deleted",
            object(
                json!({ "id": reference("Id"), "deleted": { "type": "boolean", "description": "Always true" } }),
                &["id", "deleted"],
            ),
        ),
        ("DeletedResponse", envelope(reference("Deleted"), "ReadMeta")),
        (
            "BulkIfMatch",
            json!({
                "anyOf": [{ "type": "integer" }, { "type": "string", "pattern": r#"^(\*|"(0|[1-9][0-9]{0,17})")$"# }],
                "description": "Carry out only if the record still has this revision",
                "examples": [812, etag(812)],
            }),
        ),
        ("BulkMethod", json!({ "type": "string", "enum": ["create", "update", "delete"] })),
    ]
}

/// The error of an expired cursor. Its details tell the client how to continue.
fn cursor_expired() -> Value {
    let body = object(
        json!({
            "type": { "type": "string", "const": ProblemType::CursorExpired.as_str() },
            "message": { "type": "string" },
            "fix": { "type": "string", "description": "Absent in version 2026-03-01" },
            "doc_url": { "type": "string", "format": "uri" },
            "details": reference("CursorExpiredDetails"),
        }),
        &["type", "message", "doc_url", "details"],
    );
    object(json!({ "error": body, "meta": reference("Meta") }), &["error", "meta"])
}

fn cursor_expired_details() -> Value {
    let form = |name: &str| match name {
        "reason" => json!({ "type": "string", "enum": ["retention", "restored"] }),
        "resume_cursor" => json!({ "type": "string" }),
        "retained_since" => nullable_moment(),
        _ => json!({ "type": ["integer", "null"] }),
    };
    let members: Map<String, Value> = CURSOR_EXPIRED
        .iter()
        .map(|(name, about)| {
            let mut form = form(name);
            form["description"] = (*about).into();
            ((*name).to_owned(), form)
        })
        .collect();
    object(members.into(), &CURSOR_EXPIRED.map(|(name, _)| name))
}

fn feed_and_search() -> Named {
    vec![
        ("EventType", json!({ "type": "string", "enum": ["created", "updated", "deleted"] })),
        (
            "Event",
            json!({
                "type": "object",
                "description": "One entry of the home's change feed",
                "properties": {
                    "id": { "type": "integer", "minimum": 1, "description": "Strictly increasing within the home" },
                    "type": reference("EventType"),
                    "resource_type": reference("ResourceType"),
                    "resource_id": reference("Id"),
                    "api_version": reference("ApiVersion"),
                    "payload": {
                        "type": ["object", "null"], "additionalProperties": true,
                        "description": "The record after the event, of the kind that `resource_type` names; null when deleted",
                    },
                    "created_at": moment(),
                    "idempotency_key": { "type": ["string", "null"], "description": "The idempotency key of the write" },
                },
                "required": ["id", "type", "resource_type", "resource_id", "api_version", "payload", "created_at", "idempotency_key"],
                "examples": [examples::event(Kind::Task)],
            }),
        ),
        ("EventList", envelope(array(reference("Event")), "FeedMeta")),
        (
            "EventStream",
            json!({
                "type": "string",
                "description": "Frames of `text/event-stream`: each change as `id: <cursor>` and `data: <Event>`; after the newest event, once, `event: ready`, and then `event: heartbeat` at intervals, both with `data: {\"cursor\": …, \"head\": …}`",
            }),
        ),
        (
            "SearchResult",
            object(
                json!({
                    "type": reference("CollectionType"),
                    "id": reference("Id"),
                    "title": { "type": "string" },
                    "snippet": { "type": ["string", "null"], "description": "The text around the match, with each hit between `**`" },
                    "score": { "type": "number", "description": "Higher is better" },
                    "updated_at": moment(),
                }),
                &["type", "id", "title", "snippet", "score", "updated_at"],
            ),
        ),
        ("SearchResultList", envelope(array(reference("SearchResult")), "ListMeta")),
        (
            "Deletion",
            object(
                json!({
                    "type": reference("CollectionType"),
                    "id": reference("Id"),
                    "rev": { "type": "integer", "minimum": 1, "description": "The id of the event that deleted the record" },
                    "deleted_at": moment(),
                }),
                &["type", "id", "rev", "deleted_at"],
            ),
        ),
        ("DeletionList", envelope(array(reference("Deletion")), "ListMeta")),
    ]
}

pub(super) fn moment() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

pub(super) fn nullable_moment() -> Value {
    json!({ "type": ["string", "null"], "format": "date-time" })
}

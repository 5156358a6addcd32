//! Schemas and examples of import jobs (contract 23). Must not know operations.

use hearth_contract::schema::Kind;
use serde_json::{Value, json};

use super::envelopes::{Named, moment, nullable_moment};
use super::examples;
use super::schema::{array, envelope, nullable, object, reference};
use crate::http::bodies::{RequestBody, ResponseBody};

/// All schemas of this file.
pub(super) fn all() -> Named {
    let count = || json!({ "type": "integer", "minimum": 0 });
    let text = || json!({ "type": ["string", "null"] });
    let job = || {
        json!({
            "id": reference("Id"),
            "status": reference("ImportStatus"),
            "dry_run": { "type": "boolean" },
            "kind": { "type": ["string", "null"], "description": "The kind that the request named" },
            "counts": reference("ImportCounts"),
            "created_at": moment(),
            "finished_at": nullable_moment(),
            "error": nullable(reference("ErrorBody")),
        })
    };
    let members = ["id", "status", "dry_run", "kind", "counts", "created_at", "finished_at", "error"];
    let mut result = job();
    result["rows"] = array(reference("ImportRow"));
    let meta = json!({ "request_id": reference("RequestId"), "page": reference("Page") });
    vec![
        ("ImportStatus", json!({ "type": "string", "enum": ["queued", "running", "succeeded", "failed"] })),
        (
            "ImportCounts",
            object(
                json!({ "created": count(), "updated": count(), "unchanged": count(), "failed": count() }),
                &["created", "updated", "unchanged", "failed"],
            ),
        ),
        ("Import", object(job(), &members)),
        (
            "ImportFault",
            object(
                json!({ "column": text(), "value": text(), "code": { "type": "string" }, "message": { "type": "string" } }),
                &["column", "value", "code", "message"],
            ),
        ),
        (
            "ImportRow",
            object(
                json!({
                    "row": { "type": "integer", "minimum": 2, "description": "The heading is row 1" },
                    "action": { "type": "string", "enum": ["create", "update", "unchanged", "fail"] },
                    "type": reference("ResourceType"),
                    "id": nullable(reference("Id")),
                    "error": nullable(reference("ImportFault")),
                }),
                &["row", "action", "type", "id", "error"],
            ),
        ),
        ("ImportResult", object(result, &[&members[..], &["rows"]].concat())),
        ("ImportResultMeta", object(meta, &["request_id", "page"])),
        ("ImportResponse", envelope(reference("Import"), "Meta")),
        ("ImportResultResponse", envelope(reference("ImportResult"), "ImportResultMeta")),
        ("ImportList", envelope(array(reference("Import")), "ListMeta")),
    ]
}

/// The body of a request: a file in one of three forms.
pub(super) fn request() -> Value {
    let content: serde_json::Map<String, Value> = RequestBody::Import
        .media()
        .iter()
        .map(|media| {
            let content = match *media {
                "application/json" => json!({ "schema": {}, "example": [{ "name": "Chair", "room": "Hall" }] }),
                "text/csv" => {
                    json!({ "schema": { "type": "string" }, "example": "name,room,quantity\nChair,Hall,4\n" })
                }
                _ => json!({ "schema": { "type": "string", "format": "binary" } }),
            };
            ((*media).to_owned(), content)
        })
        .collect();
    json!({ "required": true, "description": "A table, an array of objects, or an export", "content": content })
}

/// The example answer of a route of imports: `data` and `meta`. None: no such route.
pub(super) fn answer(body: ResponseBody, meta: &Value, page: &Value) -> Option<(Value, Value)> {
    let job = |status: &str| {
        let created = if status == "queued" { 0 } else { 1 };
        json!({
            "id": examples::id(Kind::Document), "status": status, "dry_run": false, "kind": "inventory",
            "counts": { "created": created, "updated": 0, "unchanged": 0, "failed": 0 },
            "created_at": examples::MOMENT,
            "finished_at": if status == "queued" { Value::Null } else { examples::MOMENT.into() }, "error": null,
        })
    };
    let with_page = || json!({ "request_id": examples::REQUEST_ID, "page": page });
    match body {
        ResponseBody::ImportAccepted => Some((job("queued"), meta.clone())),
        ResponseBody::Imports => Some((json!([job("succeeded")]), with_page())),
        ResponseBody::Import => {
            let mut data = job("succeeded");
            let id = examples::id(Kind::Inventory);
            data["rows"] = json!([{ "row": 2, "action": "create", "type": "inventory", "id": id, "error": null }]);
            Some((data, with_page()))
        }
        _ => None,
    }
}

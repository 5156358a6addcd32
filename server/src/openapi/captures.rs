//! Schemas and examples of jobs that make drafts (contract 22). Must not know operations.

use hearth_contract::schema::Kind;
use serde_json::{Value, json};

use super::envelopes::{Named, moment, nullable_moment};
use super::examples;
use super::schema::{array, envelope, nullable, object, reference, strict};
use crate::http::bodies::{RequestBody, ResponseBody};
use crate::http::route::Route;

/// All schemas of this file.
pub(super) fn all() -> Named {
    [requests(), parts(), jobs()].concat()
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn words(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

fn nullable_text() -> Value {
    json!({ "type": ["string", "null"] })
}

/// Four numbers: left edge, upper edge, width, height, as parts of the page.
fn area() -> Value {
    json!({ "type": "array", "minItems": 4, "maxItems": 4, "items": { "type": "number" } })
}

fn requests() -> Named {
    let files = || {
        let mut files = array(reference("FileHash"));
        (files["minItems"], files["maxItems"]) = (1.into(), 8.into());
        files
    };
    let evidence = json!({
        "from": reference("EvidenceSource"), "file": nullable(reference("FileHash")), "page": { "type": "integer", "minimum": 0 },
        "box": nullable(area()), "text": { "type": "string", "maxLength": 500 }, "confidence": words(&["likely", "guess"]),
    });
    vec![
        (
            "SmartAddCreate",
            strict(
                json!({
                    "files": files(), "room_id": nullable(reference("Id")),
                    "note": { "type": ["string", "null"], "maxLength": 2000 },
                }),
                &["files"],
            ),
        ),
        (
            "ExtractCreate",
            strict(
                json!({
                    "files": files(), "subject_type": nullable(reference("PaperSubject")),
                    "subject_id": nullable(reference("Id")),
                }),
                &["files"],
            ),
        ),
        ("PaperSubject", words(&["inventory", "vehicle"])),
        ("DraftType", words(&["inventory", "vehicle", "document"])),
        ("EvidenceSource", words(&["text", "code", "exif", "home", "equation"])),
        ("SuggestedEvidence", strict(evidence, &[])),
        (
            "SuggestionPut",
            strict(
                json!({
                    "type": reference("DraftType"), "id": nullable(reference("Id")),
                    "fields": { "type": "object", "additionalProperties": true },
                    "evidence": {
                        "type": ["object", "null"], "additionalProperties": reference("SuggestedEvidence"),
                    },
                }),
                &["type", "fields"],
            ),
        ),
        ("AcceptedPut", strict(json!({ "type": reference("DraftType"), "id": reference("Id") }), &["type", "id"])),
    ]
}

fn parts() -> Named {
    let evidence = json!({
        "from": reference("EvidenceSource"), "file": nullable_text(), "page": { "type": "integer", "minimum": 0 },
        "box": nullable(area()), "text": text(), "confidence": words(&["certain", "likely", "guess"]),
        "rivals": { "type": "array", "items": {} },
    });
    let found = json!({
        "type": reference("ResourceType"), "id": reference("Id"), "name": nullable_text(),
        "rev": { "type": "integer", "format": "int64" }, "why": words(&["same_serial", "same_barcode", "looks_alike"]),
    });
    let draft = json!({
        "name": text(), "source": words(&["reader", "agent"]), "type": reference("DraftType"),
        "id": nullable(reference("Id")), "fields": { "type": "object", "additionalProperties": true },
        "evidence": { "type": "object", "additionalProperties": reference("FieldEvidence") },
        "matches": array(reference("DraftMatch")),
    });
    let code = json!({
        "format": words(&["gtin", "qr", "data_matrix", "linear"]), "text": text(),
        "page": { "type": "integer", "minimum": 0 }, "box": area(), "proved": { "type": "boolean" },
    });
    let fact = json!({
        "file": reference("FileHash"), "content_type": nullable_text(), "pages": { "type": "integer", "minimum": 0 },
        "text_source": words(&["none", "stored", "recognized", "no_models"]), "taken_on": nullable_text(),
        "codes": array(reference("FactCode")),
        "text": { "type": "string", "description": "The first 4,000 characters" },
        "complete": { "type": "boolean", "description": "All text of the file was read" },
        "error": nullable(reference("CaptureError")),
    });
    vec![
        ("FieldEvidence", object(evidence, &["from", "file", "page", "box", "text", "confidence", "rivals"])),
        ("DraftMatch", object(found, &["type", "id", "name", "rev", "why"])),
        ("Draft", object(draft, &["name", "source", "type", "id", "fields", "evidence", "matches"])),
        ("FactCode", object(code, &["format", "text", "page", "box", "proved"])),
        (
            "CaptureFact",
            object(
                fact,
                &["file", "content_type", "pages", "text_source", "taken_on", "codes", "text", "complete", "error"],
            ),
        ),
        (
            "CaptureError",
            object(
                json!({
                    "code": words(&["unreadable", "time_up", "no_reader", "interrupted", "home_full", "internal"]),
                    "message": text(),
                }),
                &["code", "message"],
            ),
        ),
    ]
}

fn jobs() -> Named {
    let job = json!({
        "id": reference("Id"), "purpose": words(&["smart_add", "extract"]), "status": reference("CaptureStatus"),
        "files": array(reference("FileHash")), "room_id": nullable(reference("Id")), "note": nullable_text(),
        "subject_type": nullable_text(), "subject_id": nullable(reference("Id")), "created_at": moment(),
        "finished_at": nullable_moment(), "expires_at": moment(), "error": nullable(reference("CaptureError")),
        "drafts": array(reference("Draft")), "facts": array(reference("CaptureFact")),
        "accepted": nullable(reference("AcceptedRecord")),
    });
    let members = [
        "id",
        "purpose",
        "status",
        "files",
        "room_id",
        "note",
        "subject_type",
        "subject_id",
        "created_at",
        "finished_at",
        "expires_at",
        "error",
        "drafts",
        "facts",
        "accepted",
    ];
    vec![
        (
            "AcceptedRecord",
            object(json!({ "type": reference("ResourceType"), "id": reference("Id") }), &["type", "id"]),
        ),
        ("Capture", object(job, &members)),
        ("CaptureResponse", envelope(reference("Capture"), "Meta")),
        ("CaptureList", envelope(array(reference("Capture")), "ListMeta")),
    ]
}

/// The name of the schema and the example of the body of a request.
pub(super) fn request(body: RequestBody) -> (&'static str, Value) {
    let id = || examples::id(Kind::Inventory);
    match body {
        RequestBody::Extract => ("ExtractCreate", json!({ "files": [examples::FILE_HASH] })),
        RequestBody::Suggestion => {
            ("SuggestionPut", json!({ "type": "inventory", "fields": { "name": "Washing machine", "make": "Bosch" } }))
        }
        RequestBody::Accepted => ("AcceptedPut", json!({ "type": "inventory", "id": id() })),
        _ => ("SmartAddCreate", json!({ "files": [examples::FILE_HASH], "note": "In the cellar" })),
    }
}

/// The example answer of a route of jobs with drafts: `data` and `meta`. None: no such route.
pub(super) fn answer(route: &Route, meta: &Value, page: &Value) -> Option<(Value, Value)> {
    let purpose = if route.path.starts_with(hearth_contract::paths::SMART_ADD) { "smart_add" } else { "extract" };
    let with_page = || json!({ "request_id": examples::REQUEST_ID, "page": page });
    match route.response_body {
        ResponseBody::CaptureAccepted => Some((job(purpose, false), meta.clone())),
        ResponseBody::Capture => Some((job(purpose, true), meta.clone())),
        ResponseBody::Captures => Some((json!([job(purpose, true)]), with_page())),
        _ => None,
    }
}

fn job(purpose: &str, is_ready: bool) -> Value {
    let evidence = json!({
        "from": "text", "file": examples::FILE_HASH, "page": 0, "box": [0.1, 0.2, 0.3, 0.05], "text": "Model WAN28232",
        "confidence": "likely", "rivals": [],
    });
    let draft = json!({
        "name": "item", "source": "reader", "type": "inventory", "id": null, "fields": { "model": "WAN28232" },
        "evidence": { "model": evidence }, "matches": [],
    });
    let fact = json!({
        "file": examples::FILE_HASH, "content_type": "image/jpeg", "pages": 1, "text_source": "recognized", "taken_on": null,
        "codes": [], "text": "Model WAN28232", "complete": true, "error": null,
    });
    let (drafts, facts) = if is_ready { (json!([draft]), json!([fact])) } else { (json!([]), json!([])) };
    json!({
        "id": examples::id(Kind::Document), "purpose": purpose, "status": if is_ready { "ready" } else { "queued" },
        "files": [examples::FILE_HASH], "room_id": null, "note": null, "subject_type": null, "subject_id": null,
        "created_at": examples::MOMENT, "finished_at": if is_ready { examples::MOMENT.into() } else { Value::Null },
        "expires_at": examples::LATER, "error": null, "drafts": drafts, "facts": facts, "accepted": null,
    })
}

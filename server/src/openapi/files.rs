//! Schemas and examples of the files of a home (contract 21). Must not know operations.

use serde_json::{Value, json};

use super::envelopes::{Named, moment};
use super::examples;
use super::schema::{array, envelope, object, reference};
use crate::http::bodies::ResponseBody;

/// All schemas of this file.
pub(super) fn all() -> Named {
    let size = || json!({ "type": "integer", "format": "int64", "minimum": 0 });
    let deleted = json!({
        "sha256": reference("FileHash"),
        "deleted": { "type": "boolean", "description": "Always true" },
    });
    let meta = json!({
        "request_id": reference("RequestId"), "page": reference("Page"), "usage": reference("FileUsage"),
    });
    vec![
        (
            "FileHash",
            json!({
                "type": "string", "pattern": "^[0-9A-Fa-f]{64}$", "examples": [examples::FILE_HASH],
                "description": "The SHA-256 of the bytes, in hexadecimal; answers have lower case",
            }),
        ),
        (
            "File",
            object(
                json!({
                    "sha256": reference("FileHash"),
                    "size_bytes": size(),
                    "content_type": { "type": "string", "description": "The media type, judged by the bytes" },
                    "created_at": moment(),
                }),
                &["sha256", "size_bytes", "content_type", "created_at"],
            ),
        ),
        ("FileResponse", envelope(reference("File"), "Meta")),
        ("FileUsage", object(json!({ "used_bytes": size(), "limit_bytes": size() }), &["used_bytes", "limit_bytes"])),
        ("FileListMeta", object(meta, &["request_id", "page", "usage"])),
        ("FileList", envelope(array(reference("File")), "FileListMeta")),
        ("FilePage", object(json!({ "text": { "type": "string" } }), &["text"])),
        ("FileText", object(json!({ "pages": array(reference("FilePage")) }), &["pages"])),
        ("FileTextResponse", envelope(reference("FileText"), "Meta")),
        ("FileDeleted", object(deleted, &["sha256", "deleted"])),
        ("FileDeletedResponse", envelope(reference("FileDeleted"), "Meta")),
    ]
}

/// The example answer of a route of files: `data` and `meta`. None: no such route.
pub(super) fn answer(body: ResponseBody, meta: &Value, page: &Value) -> Option<(Value, Value)> {
    let file = json!({
        "sha256": examples::FILE_HASH, "size_bytes": 4, "content_type": "text/plain; charset=utf-8",
        "created_at": examples::MOMENT,
    });
    match body {
        ResponseBody::FileStored => Some((file, meta.clone())),
        ResponseBody::Files => {
            let usage = json!({ "used_bytes": 4, "limit_bytes": 10_737_418_240_i64 });
            let meta = json!({ "request_id": examples::REQUEST_ID, "page": page, "usage": usage });
            Some((json!([file]), meta))
        }
        ResponseBody::FileText => Some((json!({ "pages": [{ "text": "test" }] }), meta.clone())),
        ResponseBody::FileDeleted => Some((json!({ "sha256": examples::FILE_HASH, "deleted": true }), meta.clone())),
        _ => None,
    }
}

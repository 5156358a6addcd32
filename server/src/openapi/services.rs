//! Schemas beside records: export jobs, the key, discovery and health. Must not know operations.

use hearth_contract::schema::Kind;
use serde_json::{Value, json};

use super::envelopes::{Named, moment, nullable_moment};
use super::schema::{array, envelope, nullable, object, reference, strict};
use crate::versions::STABILITY;

/// All schemas of this file.
pub(super) fn all() -> impl Iterator<Item = (&'static str, Value)> {
    [exports(), calendars(), refill(), account(), discovery(), catalogue()].into_iter().flatten()
}

fn exports() -> Named {
    vec![
        ("ExportFormat", json!({ "type": "string", "enum": ["json", "csv", "sqlite", "html"] })),
        ("ExportStatus", json!({ "type": "string", "enum": ["queued", "running", "succeeded", "failed", "expired"] })),
        (
            "ExportCreate",
            strict(
                json!({
                    "format": reference("ExportFormat"),
                    "types": { "type": "array", "minItems": 1, "maxItems": Kind::ALL.len(), "uniqueItems": true, "items": reference("ResourceType"), "description": "The kinds to export; default: all" },
                    "names": { "type": "boolean", "description": "Only csv: a column with the name of the record before each id, such as `room` before `room_id`" },
                    "bom": { "type": "boolean", "description": "Only csv: each file begins with a byte order mark, as Excel expects" },
                }),
                &["format"],
            ),
        ),
        (
            "ExportProgress",
            object(json!({ "done": { "type": "integer" }, "total": { "type": "integer" } }), &["done", "total"]),
        ),
        (
            "Export",
            object(
                json!({
                    "id": reference("Id"),
                    "status": reference("ExportStatus"),
                    "format": reference("ExportFormat"),
                    "types": array(reference("ResourceType")),
                    "names": { "type": "boolean" },
                    "bom": { "type": "boolean" },
                    "progress": reference("ExportProgress"),
                    "created_at": moment(),
                    "finished_at": nullable_moment(),
                    "expires_at": nullable_moment(),
                    "size_bytes": { "type": ["integer", "null"] },
                    "sha256": { "type": ["string", "null"] },
                    "error": nullable(reference("ErrorBody")),
                }),
                &[
                    "id",
                    "status",
                    "format",
                    "types",
                    "names",
                    "bom",
                    "progress",
                    "created_at",
                    "finished_at",
                    "expires_at",
                    "size_bytes",
                    "sha256",
                    "error",
                ],
            ),
        ),
        ("ExportResponse", envelope(reference("Export"), "Meta")),
        ("ExportList", envelope(array(reference("Export")), "ListMeta")),
    ]
}

fn calendars() -> Named {
    vec![
        (
            "CalendarCreate",
            strict(
                json!({ "name": { "type": ["string", "null"], "minLength": 1, "maxLength": 100, "description": "The name in calendar programs; default: Hearth" } }),
                &[],
            ),
        ),
        (
            "Calendar",
            object(
                json!({
                    "id": reference("Id"),
                    "name": { "type": "string" },
                    "url": { "type": ["string", "null"], "description": "The address for calendar programs; only in the first answer to the request that makes the calendar" },
                    "created_at": moment(),
                    "last_used_at": nullable_moment(),
                }),
                &["id", "name", "url", "created_at", "last_used_at"],
            ),
        ),
        ("CalendarResponse", envelope(reference("Calendar"), "Meta")),
        ("CalendarList", envelope(array(reference("Calendar")), "ListMeta")),
    ]
}

fn refill() -> Named {
    vec![
        (
            "RefillBegin",
            strict(
                json!({ "from": { "type": "string", "format": "uuid", "description": "The id of the lost home" } }),
                &["from"],
            ),
        ),
        (
            "Refill",
            object(
                json!({
                    "from": reference("Id"),
                    "began_at": moment(),
                    "expires_at": moment(),
                    "ended_at": nullable_moment(),
                }),
                &["from", "began_at", "expires_at", "ended_at"],
            ),
        ),
        ("RefillResponse", envelope(reference("Refill"), "Meta")),
    ]
}

fn account() -> Named {
    vec![
        (
            "Me",
            object(
                json!({
                    "team": object(json!({ "id": reference("Id"), "name": { "type": "string" }, "plan": reference("Plan") }), &["id", "name", "plan"]),
                    "home": object(
                        json!({
                            "id": reference("Id"),
                            "environment": reference("Environment"),
                            "used_bytes": { "type": "integer", "format": "int64", "minimum": 0 },
                            "limit_bytes": { "type": "integer", "format": "int64", "minimum": 1 },
                            "refilled_from": { "type": ["string", "null"], "format": "uuid", "description": "The lost home whose records a replica has sent" },
                        }),
                        &["id", "environment", "used_bytes", "limit_bytes", "refilled_from"],
                    ),
                    "environment": reference("Environment"),
                    "key": object(
                        json!({
                            "id": reference("Id"), "name": { "type": "string" }, "hint": { "type": "string", "description": "The first and last characters of the key" },
                            "created_at": moment(), "last_used_at": nullable_moment(), "flagged_at": nullable_moment(),
                        }),
                        &["id", "name", "hint", "created_at", "last_used_at", "flagged_at"],
                    ),
                    "scopes": array(reference("Scope")),
                    "plan": reference("Plan"),
                    "api_version": object(
                        json!({ "pinned": { "type": "string", "format": "date" }, "resolved": reference("ApiVersion") }),
                        &["pinned", "resolved"],
                    ),
                    "rate_limits": reference("RateLimits"),
                    "faults": reference("Faults"),
                }),
                &["team", "home", "environment", "key", "scopes", "plan", "api_version", "rate_limits"],
            ),
        ),
        (
            "Faults",
            object(
                json!({
                    "rules": { "type": "array", "items": { "type": "string" }, "description": "The rules as written" },
                    "seed": { "type": "integer" },
                    "reaches_this_key": { "type": "boolean" },
                }),
                &["rules", "seed", "reaches_this_key"],
            ),
        ),
        (
            "RateLimits",
            object(
                json!({
                    "reads_per_minute": { "type": ["integer", "null"], "description": "Null: no limit" },
                    "writes_per_minute": { "type": ["integer", "null"], "description": "Null: no limit" },
                    "bulk_per_minute": { "type": ["integer", "null"], "description": "Null: no limit" },
                }),
                &["reads_per_minute", "writes_per_minute", "bulk_per_minute"],
            ),
        ),
        ("MeResponse", envelope(reference("Me"), "Meta")),
    ]
}

fn discovery() -> Named {
    vec![
        (
            "Index",
            object(
                json!({
                    "name": { "type": "string" },
                    "stability": { "type": "string", "const": STABILITY },
                    "resources": array(reference("ResourceDescription")),
                    "list_conventions": array(json!({ "type": "object", "additionalProperties": true })),
                    "field_formats": array(json!({ "type": "object", "additionalProperties": true })),
                    "links": { "type": "object", "additionalProperties": { "type": "string", "format": "uri" } },
                }),
                &["name", "stability", "resources", "list_conventions", "field_formats", "links"],
            ),
        ),
        (
            "ResourceDescription",
            object(
                json!({
                    "kind": reference("ResourceType"),
                    "collection": { "type": "string" },
                    "path": { "type": "string" },
                    "description": { "type": "string" },
                    "singleton": { "type": "boolean" },
                    "fields": array(json!({ "type": "object", "additionalProperties": true })),
                    "relations": array(json!({ "type": "string" })),
                    "filters": array(json!({ "type": "string" })),
                    "searchable": array(json!({ "type": "string" })),
                }),
                &[
                    "kind",
                    "collection",
                    "path",
                    "description",
                    "singleton",
                    "fields",
                    "relations",
                    "filters",
                    "searchable",
                ],
            ),
        ),
        ("IndexResponse", envelope(reference("Index"), "Meta")),
    ]
}

fn catalogue() -> Named {
    vec![
        (
            "Catalogue",
            object(
                json!({
                    "stability": { "type": "string", "const": STABILITY },
                    "versions": array(reference("VersionDescription")),
                    "scopes": array(object(json!({ "scope": reference("Scope"), "description": { "type": "string" } }), &["scope", "description"])),
                    "errors": array(reference("ErrorDescription")),
                    "limits": { "type": "object", "additionalProperties": { "type": ["number", "null"] } },
                }),
                &["stability", "versions", "scopes", "errors", "limits"],
            ),
        ),
        (
            "VersionDescription",
            object(
                json!({
                    "version": reference("ApiVersion"),
                    "status": { "type": "string" },
                    "released_on": { "type": "string", "format": "date" },
                    "deprecated_on": { "type": ["string", "null"], "format": "date" },
                    "sunset_on": { "type": ["string", "null"], "format": "date" },
                }),
                &["version", "status", "released_on", "deprecated_on", "sunset_on"],
            ),
        ),
        (
            "ErrorDescription",
            object(
                json!({
                    "type": reference("ErrorType"),
                    "status": { "type": "integer" },
                    "description": { "type": "string" },
                    "fix": { "type": "string" },
                    "details": {
                        "type": "object", "additionalProperties": { "type": "string" },
                        "description": "The meaning of the members of `error.details`; only on the page of the type",
                    },
                    "retryable": { "type": "boolean", "description": "Whether the same request may succeed later" },
                }),
                &["type", "status", "description", "fix"],
            ),
        ),
        ("MetaResponse", envelope(reference("Catalogue"), "Meta")),
        ("ErrorDescriptionResponse", envelope(reference("ErrorDescription"), "Meta")),
        ("Health", object(json!({ "status": { "type": "string" } }), &["status"])),
        ("HealthResponse", envelope(reference("Health"), "Meta")),
        (
            "Description",
            json!({ "type": "object", "description": "An OpenAPI 3.1 document", "additionalProperties": true }),
        ),
    ]
}

//! Parts that operations share: header parameters, response headers, and one error response per status. Must not know
//! single routes.

use hearth_contract::headers::IDEMPOTENCY_KEY_MAX;
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::{Map, Value, json};

use super::examples;
use super::schema::reference;
use crate::http::parts::ETAG_LIST_PATTERN;

/// The parameters in headers.
pub(super) fn parameters() -> Value {
    let header = |name: &str, about: &str, schema: Value| json!({ "name": name, "in": "header", "required": false, "description": about, "schema": schema });
    let text = json!({ "type": "string", "minLength": 1, "maxLength": 1000, "pattern": "^[!-~]+$" });
    let etags = |examples: &[&str]| json!({ "type": "string", "pattern": ETAG_LIST_PATTERN, "examples": examples });
    json!({
        "ServiceApiVersion": header(
            "Service-API-Version",
            "The API version; default: the key's pinned version. This document describes the current version; \
             the changelog describes the older versions",
            reference("CurrentVersion"),
        ),
        "IdempotencyKey": header(
            "Idempotency-Key",
            "Names this write, so that a retry within the `idempotency_hours` of /v1/_meta (24 as a rule) gets the same \
             answer, be it a refusal, and happens once. The same key with another method, path with query, body (compared as JSON; of a tool's call its name and arguments) or \
             If-Match is 422 `idempotency_key_reused`: read the record then, because the earlier request may have been applied",
            json!({ "type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_MAX, "pattern": "^[!-~]+$" }),
        ),
        "IfMatch": header(
            "If-Match",
            "Write only if the record still has this ETag; `*`: if the record exists",
            etags(&["*", "\"445\""]),
        ),
        "UnlessMatch": header(
            "If-None-Match",
            "Write only if the record does not have this ETag; `*`: if the record does not exist",
            etags(&["\"0\""]),
        ),
        "IfNoneMatch": header(
            "If-None-Match",
            "Answer 304 without a body if the answer still has this ETag",
            etags(&["*"]),
        ),
        "Range": header(
            "Range",
            "The bytes to send, such as `bytes=0-1023`. Several ranges or a malformed one: all bytes are sent",
            json!({ "type": "string", "examples": ["bytes=0-1023"] }),
        ),
        "IfRange": header(
            "If-Range",
            "The ETag for which Range holds; with another one all bytes are sent",
            json!({ "type": "string" }),
        ),
        "McpProtocolVersion": header(
            "MCP-Protocol-Version",
            "The revision of the protocol; required from 2026-07-28 on",
            json!({ "type": "string", "examples": ["2026-07-28"] }),
        ),
        "McpMethod": header(
            "Mcp-Method",
            "The `method` of the message; required from 2026-07-28 on",
            json!({ "type": "string", "examples": ["tools/call"] }),
        ),
        "McpName": header(
            "Mcp-Name",
            "The name of the tool; required for calls from 2026-07-28 on",
            json!({ "type": "string", "examples": ["svc_list_tasks"] }),
        ),
        "Origin": header(
            "Origin",
            "The origin of the web page, sent by browsers; only the service's own and allowed origins are accepted",
            json!({ "type": "string", "examples": ["https://hearth.example"] }),
        ),
        "LastEventId": header(
            "Last-Event-ID",
            "The last id of the stream, which standard clients send when they reconnect; overrides `cursor`",
            text,
        ),
    })
}

/// The response headers.
pub(super) fn headers() -> Value {
    let header = |about: &str, schema: Value| json!({ "description": about, "schema": schema });
    let text = || json!({ "type": "string" });
    json!({
        "XRequestId": header("The request's id, as in `meta.request_id`", reference("RequestId")),
        "ServiceApiVersion": header("The API version of the response", reference("ApiVersion")),
        "RateLimitLimit": header("Calls in the key's window of a minute", json!({ "type": "integer" })),
        "RateLimitRemaining": header("Calls left in the window", json!({ "type": "integer" })),
        "RateLimitReset": header("Unix time in seconds when the window ends", json!({ "type": "integer" })),
        "ETag": header("The revision of the answer, quoted; of a record its `rev`", text()),
        "Location": header("The path of the new resource", text()),
        "IdempotencyReplayed": header("`true` if the response is stored from an earlier request", text()),
        "CacheControl": header("`no-store`: responses are private; `public` for files that are the same for everybody, `private` and `immutable` for the bytes of a home's files", text()),
        "XAccelBuffering": header("Tells proxies to forward events at once", text()),
        "ContentDisposition": header("The suggested file name", text()),
        "AcceptRanges": header("`bytes`: Range is served", text()),
        "ContentRange": header("The bytes that were sent, and the size of the file", text()),
        "ContentSecurityPolicy": header("The resources that the page may load", text()),
        "ContentTypeOptions": header("`nosniff`: browsers must trust the media type", text()),
        "ReferrerPolicy": header("`no-referrer`: linked sites do not see the address of the page", text()),
        "RetryAfter": header("Seconds to wait", json!({ "type": "integer" })),
        "WwwAuthenticate": header("The problem with the credentials (RFC 6750)", text()),
        "Allow": header("Methods of this path", text()),
        "Deprecation": header("When the version was deprecated (RFC 9745); in its last six months", text()),
        "Sunset": header("When the version ends (RFC 8594); in its last six months", text()),
        "Link": header("The changelog; in the version's last six months", text()),
    })
}

/// References to response headers. The pairs are header name and component name.
pub(super) fn header_references(names: &[(&str, &str)]) -> Map<String, Value> {
    names
        .iter()
        .map(|(wire, name)| ((*wire).to_owned(), json!({ "$ref": format!("#/components/headers/{name}") })))
        .collect()
}

/// Headers of every response.
pub(super) const COMMON_HEADERS: [(&str, &str); 3] =
    [("X-Request-Id", "XRequestId"), ("Service-API-Version", "ServiceApiVersion"), ("Cache-Control", "CacheControl")];
/// Headers of responses to a key, once the rate-limit window is known.
pub(super) const RATE_LIMIT_HEADERS: [(&str, &str); 3] = [
    ("X-RateLimit-Limit", "RateLimitLimit"),
    ("X-RateLimit-Remaining", "RateLimitRemaining"),
    ("X-RateLimit-Reset", "RateLimitReset"),
];
/// Headers of responses in a version that is about to end.
pub(super) const DEPRECATION_HEADERS: [(&str, &str); 3] =
    [("Deprecation", "Deprecation"), ("Sunset", "Sunset"), ("Link", "Link")];
/// The header of a replayed response, success or stored refusal (contract 6.4).
pub(super) const REPLAY_HEADERS: [(&str, &str); 1] = [("Idempotency-Replayed", "IdempotencyReplayed")];
/// The header with the time to wait.
pub(super) const RETRY_HEADERS: [(&str, &str); 1] = [("Retry-After", "RetryAfter")];
/// Headers of pages for browsers.
pub(super) const PAGE_HEADERS: [(&str, &str); 3] = [
    ("Content-Security-Policy", "ContentSecurityPolicy"),
    ("X-Content-Type-Options", "ContentTypeOptions"),
    ("Referrer-Policy", "ReferrerPolicy"),
];

/// Headers of the bytes of files.
pub(super) const BYTES_HEADERS: [(&str, &str); 5] = [
    ("ETag", "ETag"),
    ("Content-Disposition", "ContentDisposition"),
    ("Content-Security-Policy", "ContentSecurityPolicy"),
    ("X-Content-Type-Options", "ContentTypeOptions"),
    ("Accept-Ranges", "AcceptRanges"),
];

/// One error response per status.
pub(super) fn responses() -> Value {
    let mut responses = Map::new();
    for status in statuses() {
        responses.insert(format!("Error{status}"), response(status));
    }
    Value::Object(responses)
}

/// All error statuses, each once.
fn statuses() -> Vec<u16> {
    let mut statuses: Vec<u16> = ProblemType::ALL.into_iter().map(ProblemType::status).collect();
    statuses.dedup();
    statuses
}

fn response(status: u16) -> Value {
    let kinds: Vec<ProblemType> = ProblemType::ALL.into_iter().filter(|kind| kind.status() == status).collect();
    let about: Vec<String> = kinds.iter().map(|kind| format!("`{}`: {}", kind.as_str(), kind.about())).collect();
    let examples: Map<String, Value> = kinds
        .iter()
        .map(|kind| {
            let mut problem = Problem::new(*kind, kind.about());
            if *kind == ProblemType::CursorExpired {
                problem = examples::expired(problem);
            }
            let error = problem.to_value("https://hearth.example");
            let value = json!({ "error": error, "meta": { "request_id": examples::REQUEST_ID } });
            (kind.as_str().to_owned(), json!({ "value": value }))
        })
        .collect();
    let schema = if status == ProblemType::CursorExpired.status() { "CursorExpired" } else { "Error" };
    json!({
        "description": about.join("\n\n"),
        "headers": refusal_headers(status),
        "content": { "application/json": { "schema": reference(schema), "examples": examples } },
    })
}

/// The headers of error responses with a status.
pub(super) fn refusal_headers(status: u16) -> Map<String, Value> {
    let mut headers = header_references(&COMMON_HEADERS);
    headers.extend(header_references(&DEPRECATION_HEADERS));
    // These statuses are sent before the rate-limit window is known (contract 4).
    if !matches!(status, 401 | 405 | 414 | 431 | 501) {
        headers.extend(header_references(&RATE_LIMIT_HEADERS));
    }
    match status {
        401 | 403 => headers.extend(header_references(&[("WWW-Authenticate", "WwwAuthenticate")])),
        404 | 409 | 412 | 422 => headers.extend(header_references(&REPLAY_HEADERS)),
        405 => headers.extend(header_references(&[("Allow", "Allow")])),
        416 => headers.extend(header_references(&[("Content-Range", "ContentRange")])),
        429 | 503 => headers.extend(header_references(&RETRY_HEADERS)),
        _ => (),
    }
    headers
}

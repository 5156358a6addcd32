//! Cross-origin requests of web pages (contract 19): preflights, and the headers that let a page read a response. Must
//! not know routes, nor how a request is answered.

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method};
use hearth_contract::paths;

use super::map::PathEntry;
use super::reply::{Payload, Reply};
use crate::config::AllowedOrigin;

/// The paths that web pages of other origins may call, with all paths below them. Never a page for people, such as `/docs` or
/// `/oauth/authorize`.
const SHARED: [&str; 9] = [
    paths::ROOT,
    "/openapi",
    paths::MCP,
    "/.well-known",
    paths::TOKEN,
    paths::REVOKE,
    paths::REGISTER,
    paths::PAR,
    paths::DEVICE_AUTHORIZATION,
];
/// The request headers that a page may send.
const ALLOWED_HEADERS: &str = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, \
                               Service-API-Version, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Range, \
                               If-Range";
/// The response headers that a page may read.
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "ETag, Location, Retry-After, Service-API-Version, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, \
     X-RateLimit-Reset, Idempotency-Replayed, WWW-Authenticate, Allow, Accept-Ranges, Content-Range, \
     Content-Disposition, Deprecation, Sunset, Link",
);
/// How long a browser may remember a preflight, in seconds.
const MAX_AGE: &str = "600";
/// The origin of a page without one, such as a local file. Any page can get this origin, so no rule allows it.
const OPAQUE: &str = "null";

/// Whether web pages of other origins may call a path. `target` is the path of the URL.
pub(super) fn is_shared(target: &str) -> bool {
    let is_below = |rest: &str| rest.is_empty() || rest.starts_with('/');
    SHARED.into_iter().any(|prefix| target.strip_prefix(prefix).is_some_and(is_below))
}

/// The value of `Access-Control-Allow-Origin` for a request. None: the request names no origin, or the origin is not
/// allowed.
pub(crate) fn allowed_origin(allowed: &[AllowedOrigin], headers: &HeaderMap) -> Option<HeaderValue> {
    let sent = headers.get(ORIGIN).filter(|sent| *sent != OPAQUE)?;
    if allowed.contains(&AllowedOrigin::Any) {
        return Some(HeaderValue::from_static("*"));
    }
    let origin = sent.to_str().ok()?.parse().ok()?;
    allowed.contains(&origin).then(|| sent.clone())
}

/// Whether a browser asks whether a page may send a request.
pub(super) fn is_preflight(parts: &Parts) -> bool {
    let is_asked = parts.method == Method::OPTIONS && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    is_asked && is_shared(parts.uri.path())
}

/// The answer to a preflight. None: the request is no preflight, or its origin is not allowed.
pub(super) fn preflight(allowed: &[AllowedOrigin], entry: &PathEntry, parts: &Parts) -> Option<Reply> {
    if !is_preflight(parts) {
        return None;
    }
    allowed_origin(allowed, &parts.headers)?;
    let headers = vec![
        ("access-control-allow-methods", entry.methods().join(", ")),
        ("access-control-allow-headers", ALLOWED_HEADERS.to_owned()),
        ("access-control-max-age", MAX_AGE.to_owned()),
    ];
    Some(Reply { status: 204, headers, payload: Payload::Empty })
}

/// Adds the headers of a response at a shared path. `origin`: the result of [`allowed_origin`].
pub(super) fn mark(headers: &mut HeaderMap, origin: Option<HeaderValue>) {
    // Caches must not give a response for one origin to another.
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(allowed: &[&str], sent: &'static str) -> Option<String> {
        let allowed: Vec<AllowedOrigin> = allowed.iter().map(|origin| origin.parse().unwrap()).collect();
        let headers = [(ORIGIN, HeaderValue::from_static(sent))].into_iter().collect();
        allowed_origin(&allowed, &headers).map(|origin| origin.to_str().unwrap().to_owned())
    }

    #[test]
    fn only_listed_origin_is_repeated() {
        let listed = ["https://app.example", "http://localhost:3000"];
        for sent in ["https://app.example", "https://app.example:443", "http://localhost:3000"] {
            assert_eq!(answered(&listed, sent).as_deref(), Some(sent));
        }
        for sent in [
            "http://app.example",
            "https://app.example:8443",
            "https://app.example.evil.example",
            "https://evil.example",
            "http://localhost",
            "null",
            "*",
            "",
        ] {
            assert_eq!(answered(&listed, sent), None, "{sent}");
        }
        assert_eq!(answered(&[], "https://app.example"), None);
    }

    #[test]
    fn star_allows_all_origins_except_null() {
        for sent in ["https://app.example", "capacitor://localhost"] {
            assert_eq!(answered(&["*"], sent).as_deref(), Some("*"));
        }
        assert_eq!(answered(&["*"], "null"), None);
    }

    #[test]
    fn pages_and_health_are_not_shared() {
        for target in
            ["/v1", "/v1/tasks", "/v1/nonsense/x", "/openapi/v1.yaml", "/mcp", "/.well-known/x", "/oauth/token"]
        {
            assert!(is_shared(target), "{target}");
        }
        for target in [
            "/",
            "/docs",
            "/docs/reference",
            "/healthz",
            "/v1x",
            "/v12/tasks",
            "/mcpx",
            "/openapix",
            "/console",
            "/oauth/authorize",
            "/oauth/device",
        ] {
            assert!(!is_shared(target), "{target}");
        }
    }
}

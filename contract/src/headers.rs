//! Names and values of HTTP headers in the contract. Must not know an HTTP library.

/// The current API version (contract 13): handlers, payloads and schemas are written in this version.
pub const CURRENT_VERSION: &str = "2026-06-01";

/// Request: the dated version to use. Response: the resolved version (contract 13).
pub const SERVICE_API_VERSION: &str = "service-api-version";
/// Request: the key under which a retry replays the first response (contract 6.4).
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Response: `true` on a replayed response (contract 6.4).
pub const IDEMPOTENCY_REPLAYED: &str = "idempotency-replayed";
/// Response: the id of the request, as in `meta.request_id`.
pub const X_REQUEST_ID: &str = "x-request-id";
/// Response: calls allowed in the window of 60 s (contract 11).
pub const X_RATELIMIT_LIMIT: &str = "x-ratelimit-limit";
/// Response: calls left in the window.
pub const X_RATELIMIT_REMAINING: &str = "x-ratelimit-remaining";
/// Response: end of the window, Unix time in whole seconds.
pub const X_RATELIMIT_RESET: &str = "x-ratelimit-reset";
/// Request: the cursor of a client that reconnects to the event stream (contract 9.4).
pub const LAST_EVENT_ID: &str = "last-event-id";

/// Greatest length of an idempotency key in characters.
pub const IDEMPOTENCY_KEY_MAX: usize = 255;

/// The idempotency key in a header value. `k` and `"k"` are the same key. None: the value is empty, too long, or not
/// visible ASCII.
pub fn idempotency_key(value: &str) -> Option<&str> {
    let key = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    let fits = (1..=IDEMPOTENCY_KEY_MAX).contains(&key.len());
    (fits && key.bytes().all(|byte| byte.is_ascii_graphic())).then_some(key)
}

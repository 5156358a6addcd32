//! Names and values of the headers that the contract speaks of. Must not know any HTTP library.

/// The API version that handlers, payloads and schemas are written in (contract 13).
pub const CURRENT_VERSION: &str = "2026-06-01";

/// Pins a request's dated behaviour; echoed on every response.
pub const SERVICE_API_VERSION: &str = "service-api-version";
/// Makes a write repeatable (contract 6.4).
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Marks a stored answer.
pub const IDEMPOTENCY_REPLAYED: &str = "idempotency-replayed";
/// The request's id, as in `meta.request_id`.
pub const X_REQUEST_ID: &str = "x-request-id";
/// Calls allowed in the window.
pub const X_RATELIMIT_LIMIT: &str = "x-ratelimit-limit";
/// Calls left in the window.
pub const X_RATELIMIT_REMAINING: &str = "x-ratelimit-remaining";
/// Unix time in whole seconds when the window ends.
pub const X_RATELIMIT_RESET: &str = "x-ratelimit-reset";
/// The event-stream cursor of a reconnecting client.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// Greatest length of an idempotency key in characters.
pub const IDEMPOTENCY_KEY_MAX: usize = 255;

/// The idempotency key a header value stands for: `k` and `"k"` are the same key. None: empty, too long, or not
/// visible ASCII.
pub fn idempotency_key(value: &str) -> Option<&str> {
    let key = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    let fits = (1..=IDEMPOTENCY_KEY_MAX).contains(&key.len());
    (fits && key.bytes().all(|byte| byte.is_ascii_graphic())).then_some(key)
}

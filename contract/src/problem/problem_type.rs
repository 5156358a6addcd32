//! The error types of the API (contract 12): name, status, whether a retry can help, meaning, next step. Must not know
//! a particular refusal.

/// The closed list of error types. A new type never changes the status of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "`as_str`, `about` and `fix` describe each type")]
pub enum ProblemType {
    InvalidRequest,
    InvalidJson,
    InvalidCursor,
    UnsupportedVersion,
    HashMismatch,
    AuthenticationRequired,
    InvalidApiKey,
    InsufficientScope,
    PlanRequired,
    IpNotAllowed,
    OriginNotAllowed,
    NotFound,
    RouteNotFound,
    MethodNotAllowed,
    NotAcceptable,
    RequestTimeout,
    AlreadyExists,
    InUse,
    CursorExpired,
    PreconditionFailed,
    PayloadTooLarge,
    UriTooLong,
    UnsupportedMediaType,
    RangeNotSatisfiable,
    ValidationFailed,
    IdempotencyKeyReused,
    RateLimited,
    TooManyStreams,
    TooManyJobs,
    HeadersTooLarge,
    InternalError,
    NotImplemented,
    Unavailable,
}

use ProblemType as T;

impl ProblemType {
    /// All types, by status.
    pub const ALL: [ProblemType; 33] = [
        T::InvalidRequest,
        T::InvalidJson,
        T::InvalidCursor,
        T::UnsupportedVersion,
        T::HashMismatch,
        T::AuthenticationRequired,
        T::InvalidApiKey,
        T::InsufficientScope,
        T::PlanRequired,
        T::IpNotAllowed,
        T::OriginNotAllowed,
        T::NotFound,
        T::RouteNotFound,
        T::MethodNotAllowed,
        T::NotAcceptable,
        T::RequestTimeout,
        T::AlreadyExists,
        T::InUse,
        T::CursorExpired,
        T::PreconditionFailed,
        T::PayloadTooLarge,
        T::UriTooLong,
        T::UnsupportedMediaType,
        T::RangeNotSatisfiable,
        T::ValidationFailed,
        T::IdempotencyKeyReused,
        T::RateLimited,
        T::TooManyStreams,
        T::TooManyJobs,
        T::HeadersTooLarge,
        T::InternalError,
        T::NotImplemented,
        T::Unavailable,
    ];

    /// The value of `error.type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            T::InvalidRequest => "invalid_request",
            T::InvalidJson => "invalid_json",
            T::InvalidCursor => "invalid_cursor",
            T::UnsupportedVersion => "unsupported_version",
            T::HashMismatch => "hash_mismatch",
            T::AuthenticationRequired => "authentication_required",
            T::InvalidApiKey => "invalid_api_key",
            T::InsufficientScope => "insufficient_scope",
            T::PlanRequired => "plan_required",
            T::IpNotAllowed => "ip_not_allowed",
            T::OriginNotAllowed => "origin_not_allowed",
            T::NotFound => "not_found",
            T::RouteNotFound => "route_not_found",
            T::MethodNotAllowed => "method_not_allowed",
            T::NotAcceptable => "not_acceptable",
            T::RequestTimeout => "request_timeout",
            T::AlreadyExists => "already_exists",
            T::InUse => "in_use",
            T::CursorExpired => "cursor_expired",
            T::PreconditionFailed => "precondition_failed",
            T::PayloadTooLarge => "payload_too_large",
            T::UriTooLong => "uri_too_long",
            T::UnsupportedMediaType => "unsupported_media_type",
            T::RangeNotSatisfiable => "range_not_satisfiable",
            T::ValidationFailed => "validation_failed",
            T::IdempotencyKeyReused => "idempotency_key_reused",
            T::RateLimited => "rate_limited",
            T::TooManyStreams => "too_many_streams",
            T::TooManyJobs => "too_many_jobs",
            T::HeadersTooLarge => "headers_too_large",
            T::InternalError => "internal_error",
            T::NotImplemented => "not_implemented",
            T::Unavailable => "unavailable",
        }
    }

    /// The type with this `error.type`. None for an unknown name.
    pub fn parse(word: &str) -> Option<ProblemType> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The HTTP status of the type.
    pub const fn status(self) -> u16 {
        match self {
            T::InvalidRequest | T::InvalidJson | T::InvalidCursor | T::UnsupportedVersion | T::HashMismatch => 400,
            T::AuthenticationRequired | T::InvalidApiKey => 401,
            T::InsufficientScope | T::PlanRequired | T::IpNotAllowed | T::OriginNotAllowed => 403,
            T::NotFound | T::RouteNotFound => 404,
            T::MethodNotAllowed => 405,
            T::NotAcceptable => 406,
            T::RequestTimeout => 408,
            T::AlreadyExists | T::InUse => 409,
            T::CursorExpired => 410,
            T::PreconditionFailed => 412,
            T::PayloadTooLarge => 413,
            T::UriTooLong => 414,
            T::UnsupportedMediaType => 415,
            T::RangeNotSatisfiable => 416,
            T::ValidationFailed | T::IdempotencyKeyReused => 422,
            T::RateLimited | T::TooManyStreams | T::TooManyJobs => 429,
            T::HeadersTooLarge => 431,
            T::InternalError => 500,
            T::NotImplemented => 501,
            T::Unavailable => 503,
        }
    }

    /// Whether the same request may succeed later, unchanged.
    pub const fn retryable(self) -> bool {
        matches!(
            self,
            T::RequestTimeout | T::RateLimited | T::TooManyStreams | T::TooManyJobs | T::InternalError | T::Unavailable
        )
    }

    /// The meaning of the type, in one sentence, for `GET /v1/_meta` and the documentation.
    pub const fn about(self) -> &'static str {
        match self {
            T::InvalidRequest => "A parameter or header is unknown, repeated, empty or out of its range.",
            T::InvalidJson => "The body is not JSON, or is ambiguous: a member twice, or an unpaired surrogate.",
            T::InvalidCursor => "The cursor is altered, or belongs to another collection, home, sort or filter.",
            T::UnsupportedVersion => "Service-API-Version names a version that this service does not support.",
            T::HashMismatch => "The bytes of the file have another SHA-256 than the path says.",
            T::AuthenticationRequired => "The request carries no usable Authorization header.",
            T::InvalidApiKey => "The API key is unknown, revoked or expired.",
            T::InsufficientScope => "The API key lacks the scope that this operation needs.",
            T::PlanRequired => "Live keys need the paid plan.",
            T::IpNotAllowed => "The API key may not be used from this address.",
            T::OriginNotAllowed => "The request comes from a web page whose origin is not allowed.",
            T::NotFound => "No such record in this home.",
            T::RouteNotFound => "No such path.",
            T::MethodNotAllowed => "The path exists, the method does not.",
            T::NotAcceptable => "The Accept header excludes every media type of this path.",
            T::RequestTimeout => "The request did not arrive in time.",
            T::AlreadyExists => {
                "The id was used before in this home, by a record that exists or by one that was deleted."
            }
            T::InUse => {
                "The file is still named by a document or a job of this home, or the home to be refilled is not empty."
            }
            T::CursorExpired => "Events after this cursor are gone, or it belongs to another history of this home.",
            T::PreconditionFailed => {
                "The record is at no revision that If-Match names, or at one that If-None-Match names."
            }
            T::PayloadTooLarge => "The body is over 1 MiB, or over the limit that details.limit_bytes names.",
            T::UriTooLong => "The request target is over 8 KiB.",
            T::UnsupportedMediaType => "The body is not sent as plain application/json.",
            T::RangeNotSatisfiable => "The header Range begins after the end of the file.",
            T::ValidationFailed => "One or more fields break a rule; details.fields lists them, up to 100.",
            T::IdempotencyKeyReused => "The Idempotency-Key was used for a different request.",
            T::RateLimited => "The key has used up its window of calls.",
            T::TooManyStreams => "The key has as many open streams as allowed.",
            T::TooManyJobs => "The home has as many waiting jobs as allowed.",
            T::HeadersTooLarge => "The request's headers are over 32 KiB or 100 lines.",
            T::InternalError => "The service failed; the fault is logged under the request id.",
            T::NotImplemented => "The request uses a transfer coding that the service does not read.",
            T::Unavailable => "The service cannot take this now: it is stopping, overloaded, or its disk is full.",
        }
    }

    /// The members of `error.details` that the documentation describes: name and sentence. Empty for most types.
    pub const fn details(self) -> &'static [(&'static str, &'static str)] {
        match self {
            T::CursorExpired => &CURSOR_EXPIRED,
            T::RateLimited => &RATE_LIMITED,
            T::HashMismatch => &HASH_MISMATCH,
            T::TooManyJobs => &TOO_MANY_JOBS,
            _ => &[],
        }
    }

    /// The next step for a client. [`Problem::fix`](super::Problem::fix) replaces this text if the server knows more. No
    /// step may create a second record when the response to an earlier attempt was lost.
    pub const fn fix(self) -> &'static str {
        match self {
            T::InvalidRequest => "Correct the parameter that details names and send the request again.",
            T::InvalidJson => "Send one JSON object in UTF-8, with each member once and at most 32 levels.",
            T::InvalidCursor => {
                "Send the cursor exactly as it was given, or start again without cursor; a stream of events with \
                 `cursor=start`, because without cursor it begins at the present."
            }
            T::UnsupportedVersion => "Send one of details.supported as Service-API-Version, or leave the header out.",
            T::HashMismatch => {
                "Compute the SHA-256 of the file again and send all its bytes to the path with that hash."
            }
            T::AuthenticationRequired => "Send one header `Authorization: Bearer <API key>`.",
            T::InvalidApiKey => "Check the key for typing errors, or make a new one with `hearth-server key create`.",
            T::InsufficientScope => "Use a key that has the scope details.required_scope.",
            T::PlanRequired => "Move the team to the paid plan, or use a test key with the sandbox home.",
            T::IpNotAllowed => {
                "Call from an allowed address, or make a key that allows this one with `hearth-server key create --allow`."
            }
            T::OriginNotAllowed => "Allow the origin with `hearth-server serve --allow-origin`.",
            T::NotFound => "List the collection to find the ids that exist.",
            T::RouteNotFound => "See /openapi/v1 for the paths that exist; paths are exact in case and slashes.",
            T::MethodNotAllowed => "Use one of the methods in the Allow header.",
            T::NotAcceptable => "Accept the media type that the message names, or send no Accept header.",
            T::RequestTimeout => "Send the request again, headers within 10 s and the body within 30 s.",
            T::AlreadyExists => {
                "Read the record with this id: an earlier attempt may have created it. Then patch the record; only another \
                 thing needs another id, with a new Idempotency-Key if there was one."
            }
            T::InUse => {
                "Delete the documents that name the file, or set their `file_sha256` to null, and discard the jobs that need \
                 it, then delete the file."
            }
            T::CursorExpired => {
                "Keep the first details.resume_cursor, reconcile every collection, then continue from that cursor."
            }
            T::PreconditionFailed => {
                "Read the record again; if the change still holds, send it with the new ETag, and with a new \
                 Idempotency-Key if it had one."
            }
            T::PayloadTooLarge => "Send less at once, for instance by several bulk calls.",
            T::UriTooLong => "Shorten the query.",
            T::UnsupportedMediaType => "Send the body with `Content-Type: application/json` and no Content-Encoding.",
            T::RangeNotSatisfiable => "Ask for bytes within the size that Content-Range names, or leave Range out.",
            T::ValidationFailed => {
                "Correct the fields in details.fields and send the request again, with a new Idempotency-Key if it had \
                 one."
            }
            T::IdempotencyKeyReused => {
                "Read the record, or list the collection, first: the earlier request with this key may have been applied. \
                 Then send only what is still missing, as a request with its own key."
            }
            T::RateLimited => "Wait for the seconds that Retry-After names.",
            T::TooManyStreams => "Close a stream, or wait for the seconds that Retry-After names.",
            T::TooManyJobs => "Discard a job that nobody needs, or wait for the seconds that Retry-After names.",
            T::HeadersTooLarge => "Send fewer or shorter headers.",
            T::InternalError => {
                "Send the same request again, a create with the same id or Idempotency-Key; if it fails again, report \
                 meta.request_id."
            }
            T::NotImplemented => "Send the body with a Content-Length, or with `Transfer-Encoding: chunked` alone.",
            T::Unavailable => {
                "Send the same request again after the seconds that Retry-After names, a create with the same id or \
                 Idempotency-Key."
            }
        }
    }
}

/// The members of `error.details` for [`ProblemType::RateLimited`]: name and sentence (contract 11).
const RATE_LIMITED: [(&str, &str); 3] = [
    ("window", "The window that is used up: `reads`, `writes` or `bulk`; or `uploads`, the uploads of files at once."),
    ("limit", "The calls that the window allows in a minute, or the uploads at once."),
    ("retry_after_seconds", "Seconds until the window ends, as in Retry-After."),
];

/// The members of `error.details` for [`ProblemType::TooManyJobs`]: name and sentence (contract 22).
const TOO_MANY_JOBS: [(&str, &str); 2] = [
    ("limit", "The jobs of a home that may wait or run."),
    ("retry_after_seconds", "Seconds after which the request may be tried again, as in Retry-After."),
];

/// The members of `error.details` for [`ProblemType::HashMismatch`]: name and sentence (contract 21).
const HASH_MISMATCH: [(&str, &str); 2] = [
    ("expected", "The SHA-256 in the path, in lower-case hexadecimal."),
    ("found", "The SHA-256 of the bytes that arrived."),
];

/// The members of `error.details` for [`ProblemType::CursorExpired`]: name and sentence (contract 9.3).
pub const CURSOR_EXPIRED: [(&str, &str); 5] = [
    (
        "reason",
        "`retention`: events after the cursor are no longer kept one by one. `restored`: the home was put back to an older \
         copy, and the cursor is from another history of the home.",
    ),
    (
        "resume_cursor",
        "The end of the feed at this moment. Reconcile every collection, then continue from this cursor. Keep the first one: \
         a later refusal has another.",
    ),
    (
        "retained_since",
        "The time of the oldest event inside retention; null if there is none. A reader may have missed earlier events, from \
         its last event on.",
    ),
    ("retention_seconds", "How long events are kept whole; null: for ever."),
    (
        "fork",
        "With `restored`, the last position that both histories share: a record with a higher `rev` belongs to the lost \
         history. Null: unknown, and any record may.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_types_have_unique_names() {
        for kind in ProblemType::ALL {
            assert_eq!(ProblemType::parse(kind.as_str()), Some(kind));
            assert!((400..=599).contains(&kind.status()));
        }
    }
}

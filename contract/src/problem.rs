//! Every refusal of the service (contract 12): what it is called, its status, whether a retry can help, what to do
//! next. Must not know how a refusal came about or how it is sent.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// The closed list of error types. Adding one never changes the status of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "`word`, `about` and `fix` say what each is")]
pub enum ProblemType {
    InvalidRequest,
    InvalidJson,
    InvalidCursor,
    UnsupportedVersion,
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
    CursorExpired,
    PreconditionFailed,
    PayloadTooLarge,
    UriTooLong,
    UnsupportedMediaType,
    ValidationFailed,
    IdempotencyKeyReused,
    RateLimited,
    TooManyStreams,
    HeadersTooLarge,
    InternalError,
    Unavailable,
}

use ProblemType as T;

impl ProblemType {
    /// All types, by status.
    pub const ALL: [ProblemType; 28] = [
        T::InvalidRequest,
        T::InvalidJson,
        T::InvalidCursor,
        T::UnsupportedVersion,
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
        T::CursorExpired,
        T::PreconditionFailed,
        T::PayloadTooLarge,
        T::UriTooLong,
        T::UnsupportedMediaType,
        T::ValidationFailed,
        T::IdempotencyKeyReused,
        T::RateLimited,
        T::TooManyStreams,
        T::HeadersTooLarge,
        T::InternalError,
        T::Unavailable,
    ];

    /// The value of `error.type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            T::InvalidRequest => "invalid_request",
            T::InvalidJson => "invalid_json",
            T::InvalidCursor => "invalid_cursor",
            T::UnsupportedVersion => "unsupported_version",
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
            T::CursorExpired => "cursor_expired",
            T::PreconditionFailed => "precondition_failed",
            T::PayloadTooLarge => "payload_too_large",
            T::UriTooLong => "uri_too_long",
            T::UnsupportedMediaType => "unsupported_media_type",
            T::ValidationFailed => "validation_failed",
            T::IdempotencyKeyReused => "idempotency_key_reused",
            T::RateLimited => "rate_limited",
            T::TooManyStreams => "too_many_streams",
            T::HeadersTooLarge => "headers_too_large",
            T::InternalError => "internal_error",
            T::Unavailable => "unavailable",
        }
    }

    /// The type a word names.
    pub fn parse(word: &str) -> Option<ProblemType> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Its HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            T::InvalidRequest | T::InvalidJson | T::InvalidCursor | T::UnsupportedVersion => 400,
            T::AuthenticationRequired | T::InvalidApiKey => 401,
            T::InsufficientScope | T::PlanRequired | T::IpNotAllowed | T::OriginNotAllowed => 403,
            T::NotFound | T::RouteNotFound => 404,
            T::MethodNotAllowed => 405,
            T::NotAcceptable => 406,
            T::RequestTimeout => 408,
            T::AlreadyExists => 409,
            T::CursorExpired => 410,
            T::PreconditionFailed => 412,
            T::PayloadTooLarge => 413,
            T::UriTooLong => 414,
            T::UnsupportedMediaType => 415,
            T::ValidationFailed | T::IdempotencyKeyReused => 422,
            T::RateLimited | T::TooManyStreams => 429,
            T::HeadersTooLarge => 431,
            T::InternalError => 500,
            T::Unavailable => 503,
        }
    }

    /// Whether the same request may succeed later without anybody changing it.
    pub const fn retryable(self) -> bool {
        matches!(self, T::RequestTimeout | T::RateLimited | T::TooManyStreams | T::InternalError | T::Unavailable)
    }

    /// What the type means, for the catalogue and the documentation.
    pub const fn about(self) -> &'static str {
        match self {
            T::InvalidRequest => "A parameter or header is unknown, repeated, empty or out of its range.",
            T::InvalidJson => "The body is not JSON, or is JSON that no two readers would read alike.",
            T::InvalidCursor => "The cursor is altered, or belongs to another collection, home, sort or filter.",
            T::UnsupportedVersion => "Service-API-Version names a version that this service does not speak.",
            T::AuthenticationRequired => "The request carries no usable Authorization header.",
            T::InvalidApiKey => "The API key is unknown, revoked or expired.",
            T::InsufficientScope => "The API key lacks the scope that this operation needs.",
            T::PlanRequired => "Live keys need the paid plan.",
            T::IpNotAllowed => "The API key may not be used from this address.",
            T::OriginNotAllowed => "The request comes from a web page whose origin is not allowed.",
            T::NotFound => "No such record in this home.",
            T::RouteNotFound => "No such path.",
            T::MethodNotAllowed => "The path exists, the method does not.",
            T::NotAcceptable => "The Accept header excludes what this path answers.",
            T::RequestTimeout => "The request did not arrive in time.",
            T::AlreadyExists => {
                "The id was used before in this home, by a record that exists or by one that was deleted."
            }
            T::CursorExpired => "Events after this cursor are gone, or it belongs to another history of this home.",
            T::PreconditionFailed => {
                "The record is at no revision that If-Match names, or at one that If-None-Match names."
            }
            T::PayloadTooLarge => "The body is over 1 MiB.",
            T::UriTooLong => "The request target is over 8 KiB.",
            T::UnsupportedMediaType => "The body is not sent as plain application/json.",
            T::ValidationFailed => "One or more fields break a rule; details.fields lists them, up to 100.",
            T::IdempotencyKeyReused => "The Idempotency-Key was used for a different request.",
            T::RateLimited => "The key has used up its window of calls.",
            T::TooManyStreams => "The key has its greatest number of open streams.",
            T::HeadersTooLarge => "The request's headers are over 32 KiB or 100 lines.",
            T::InternalError => "The service failed; the fault is logged under the request id.",
            T::Unavailable => "The service cannot take this now: it is stopping, overloaded, or its disk is full.",
        }
    }

    /// The members of `error.details` that a type always has and that want a sentence.
    pub const fn details(self) -> &'static [(&'static str, &'static str)] {
        match self {
            T::CursorExpired => &CURSOR_EXPIRED,
            _ => &[],
        }
    }

    /// What to do next, when nothing more particular is known.
    pub const fn fix(self) -> &'static str {
        match self {
            T::InvalidRequest => "Correct the parameter that details names and send the request again.",
            T::InvalidJson => "Send one JSON object in UTF-8, with each member once and at most 32 levels.",
            T::InvalidCursor => {
                "Send the cursor exactly as it was given, or start again without cursor; a stream of events with \
                 `cursor=start`, because without cursor it begins at the present."
            }
            T::UnsupportedVersion => "Send one of details.supported as Service-API-Version, or leave the header out.",
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
                "Choose another id, with a new Idempotency-Key if there was one, or patch the record that has this one."
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
            T::ValidationFailed => {
                "Correct the fields in details.fields and send the request again, with a new Idempotency-Key if it had \
                 one."
            }
            T::IdempotencyKeyReused => "Use a new Idempotency-Key for a new request.",
            T::RateLimited => "Wait for the seconds that Retry-After names.",
            T::TooManyStreams => "Close a stream, or wait for the seconds that Retry-After names.",
            T::HeadersTooLarge => "Send fewer or shorter headers.",
            T::InternalError => "Send the request again; if it fails again, report meta.request_id.",
            T::Unavailable => "Send the request again after the seconds that Retry-After names.",
        }
    }
}

/// The members of `details` of an expired cursor, each in a sentence (contract 9.3).
pub const CURSOR_EXPIRED: [(&str, &str); 5] = [
    (
        "reason",
        "`retention`: events after the cursor are no longer kept one by one. `restored`: the home was put back to an older \
         copy, and the cursor is from another history of it.",
    ),
    (
        "resume_cursor",
        "The end of the feed at this moment: where to continue, once every collection was compared. A later refusal has \
         another; the first is the one to keep.",
    ),
    (
        "retained_since",
        "The time of the oldest event that is kept; null when there is none. It does not say since when the reader has missed \
         something: the last event that it saw does.",
    ),
    ("retention_seconds", "How long events are kept; null: for ever."),
    (
        "fork",
        "With `restored`, the last position that both histories share: a record with a higher `rev` is of the one that is gone. \
         Null: it is unknown, and any may be.",
    ),
];

/// One refusal, ready to be said.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Which refusal it is.
    pub kind: ProblemType,
    /// One sentence about this very case.
    pub message: String,
    /// What to do next, when more is known than [`ProblemType::fix`].
    pub fix: Option<String>,
    /// Members of `error.details`.
    pub details: Map<String, Value>,
}

impl Problem {
    /// A refusal with its message and empty details.
    pub fn new(kind: ProblemType, message: impl Into<String>) -> Problem {
        Problem { kind, message: message.into(), fix: None, details: Map::new() }
    }

    /// The same with a detail added.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Problem {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// The same with a particular next step.
    pub fn fixed_by(mut self, fix: impl Into<String>) -> Problem {
        self.fix = Some(fix.into());
        self
    }

    /// All faults of a body at once (contract 12), up to [`FAULTS_MAX`]. Whoever gathered more had stopped to count.
    pub fn validation(faults: &[FieldFault]) -> Problem {
        let message = match faults {
            [only] => only.message.clone(),
            _ if faults.len() > FAULTS_MAX => format!("More than {FAULTS_MAX} fields break a rule."),
            _ => format!("{} fields break a rule.", faults.len()),
        };
        let fields: Vec<Value> = faults.iter().take(FAULTS_MAX + 1).map(FieldFault::to_value).collect();
        let problem = Problem::new(ProblemType::ValidationFailed, message).with("fields", fields);
        problem.telling_at_most(FAULTS_MAX)
    }

    /// How many faults of fields it tells.
    pub fn faults(&self) -> usize {
        self.details.get("fields").and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// The same with so many faults of fields at most, which it says where it leaves some out.
    pub fn telling_at_most(mut self, most: usize) -> Problem {
        let Some(Value::Array(fields)) = self.details.get_mut("fields").filter(|_| self.kind == T::ValidationFailed)
        else {
            return self;
        };
        if fields.len() > most {
            fields.truncate(most);
            let told = if most == 1 { "the first is".to_owned() } else { format!("the first {most} are") };
            let whole = self.message.split(['.', ';']).next().unwrap_or_default();
            self.message = format!("{whole}; {told} told.");
        }
        self
    }

    /// A bad query parameter (contract 5), with the nearest known name or value.
    pub fn parameter(parameter: &str, value: &str, nearest: Option<&str>, message: impl Into<String>) -> Problem {
        let problem = Problem::new(ProblemType::InvalidRequest, message)
            .with("parameter", shortened(parameter, NAME_SHOWN))
            .with("value", shortened(value, VALUE_SHOWN))
            .with("nearest", nearest.map_or(Value::Null, Value::from));
        match nearest {
            Some(nearest) => problem.fixed_by(format!("Did you mean `{nearest}`?")),
            None => problem,
        }
    }

    /// The error object: the value of the envelope's `error` member.
    pub fn to_value(&self, base_url: &str) -> Value {
        json!({
            "type": self.kind.as_str(),
            "message": self.message,
            "fix": self.fix.as_deref().unwrap_or(self.kind.fix()),
            "doc_url": format!("{base_url}/docs/errors/{}", self.kind.as_str()),
            "details": self.details,
        })
    }
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFault {
    /// The member's name, or a path such as `operations[3].method`.
    pub field: String,
    /// What sort of fault.
    pub code: FaultCode,
    /// One sentence.
    pub message: String,
}

impl FieldFault {
    /// A fault of a field. A name that no field has may be of any length: it is quoted by its beginning.
    pub fn new(field: impl Into<String>, code: FaultCode, message: impl Into<String>) -> FieldFault {
        let mut field = field.into();
        if let Cow::Owned(short) = shortened(&field, NAME_SHOWN) {
            field = short;
        }
        FieldFault { field, code, message: message.into() }
    }

    fn to_value(&self) -> Value {
        json!({ "field": self.field, "code": self.code.as_str(), "message": self.message })
    }
}

/// The closed list of field faults (contract 12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words are the contract's")]
pub enum FaultCode {
    Required,
    UnknownField,
    WrongType,
    InvalidFormat,
    TooLong,
    TooShort,
    OutOfRange,
    NotAChoice,
    NotFound,
    ReadOnly,
    NotNullable,
    Inconsistent,
}

impl FaultCode {
    /// The value of `code`.
    pub const fn as_str(self) -> &'static str {
        match self {
            FaultCode::Required => "required",
            FaultCode::UnknownField => "unknown_field",
            FaultCode::WrongType => "wrong_type",
            FaultCode::InvalidFormat => "invalid_format",
            FaultCode::TooLong => "too_long",
            FaultCode::TooShort => "too_short",
            FaultCode::OutOfRange => "out_of_range",
            FaultCode::NotAChoice => "not_a_choice",
            FaultCode::NotFound => "not_found",
            FaultCode::ReadOnly => "read_only",
            FaultCode::NotNullable => "not_nullable",
            FaultCode::Inconsistent => "inconsistent",
        }
    }
}

/// Faults of fields that one answer tells at most. Whoever gathers them stops at one more, which says that there are more:
/// a body that is nothing but faults must not make an answer many times its size.
pub const FAULTS_MAX: usize = 100;
/// Characters of a name that was sent and is not known, as far as it is quoted.
pub const NAME_SHOWN: usize = 64;
/// Characters of a parameter's value, as far as it is quoted: all that a request target can hold.
const VALUE_SHOWN: usize = 8 * 1024;

/// A text that was sent, as far as it is quoted.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// The known name that was meant, if any was: a slip away, or else the only one of the same stem. A name that is longer than
/// any is none's slip, and comparing it would take long.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.chars().nth(NAME_SHOWN).is_some() {
        return None;
    }
    let lower = name.to_lowercase();
    let known: Vec<&str> = known.into_iter().collect();
    let slips = known.iter().copied().filter(|meant| is_slip(&lower, meant));
    let likest = slips.max_by(|a, b| strsim::jaro_winkler(&lower, a).total_cmp(&strsim::jaro_winkler(&lower, b)));
    likest.or_else(|| {
        let mut stems = known.into_iter().filter(|meant| is_of_stem(&lower, meant));
        stems.next().filter(|_| stems.next().is_none())
    })
}

/// Whether no more than a third of the letters are wrong, missing, too many or in the other's place.
fn is_slip(name: &str, meant: &str) -> bool {
    let letters = name.chars().count().max(meant.chars().count());
    strsim::osa_distance(name, meant) * 3 <= letters
}

/// Whether one goes on where the other ends, or both begin with the same word.
fn is_of_stem(name: &str, meant: &str) -> bool {
    let first = |text: &str| text.split('_').next().map(str::len).unwrap_or_default();
    let shared = name.bytes().zip(meant.bytes()).take_while(|(a, b)| a == b).count();
    shared >= STEM_MIN && (shared == name.len().min(meant.len()) || shared >= first(name).max(first(meant)))
}

/// Letters that a stem has at least.
const STEM_MIN: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_own_word() {
        for kind in ProblemType::ALL {
            assert_eq!(ProblemType::parse(kind.as_str()), Some(kind));
            assert!((400..=599).contains(&kind.status()));
        }
    }

    #[test]
    fn the_nearest_name_is_a_slip_away_or_none() {
        assert_eq!(nearest("titel", ["title", "priority", "status"]), Some("title"));
        assert_eq!(nearest("Priorty", ["title", "priority", "status"]), Some("priority"));
        assert_eq!(nearest("zzz", ["title", "priority", "status"]), None);
        // What somebody took a field for is no slip of another one.
        assert_eq!(nearest("tags", ["title", "priority", "status"]), None);
        assert_eq!(nearest("count", ["quantity", "condition"]), None);
        assert_eq!(nearest("due_date", ["done", "due_on", "created_at"]), Some("due_on"));
        assert_eq!(nearest("descr", ["title", "description"]), Some("description"));
        assert_eq!(nearest("é", ["e"]), None);
        let long = "title".repeat(13);
        assert_eq!(nearest(&long, [&long[..]]), None);
    }

    #[test]
    fn a_hundred_faults_are_told_and_that_there_are_more() {
        let faults =
            |count: usize| vec![FieldFault::new("é".repeat(65), FaultCode::UnknownField, "It is not."); count];
        for (count, told, message) in [
            (1, 1, "It is not."),
            (100, 100, "100 fields break a rule."),
            (101, 100, "More than 100 fields break a rule; the first 100 are told."),
            (5000, 100, "More than 100 fields break a rule; the first 100 are told."),
        ] {
            let problem = Problem::validation(&faults(count));
            assert_eq!((problem.faults(), &problem.message[..]), (told, message));
            assert_eq!(problem.details["fields"][0]["field"], "é".repeat(64) + "…");
        }
        let less = Problem::validation(&faults(7)).telling_at_most(1);
        assert_eq!((less.faults(), &less.message[..]), (1, "7 fields break a rule; the first is told."));
        let least = Problem::validation(&faults(101)).telling_at_most(2);
        assert_eq!(least.message, "More than 100 fields break a rule; the first 2 are told.");
    }
}

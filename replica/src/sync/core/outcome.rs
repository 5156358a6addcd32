//! Results of requests. Plain values; must not decide what follows from a result.

use hearth_contract::problem::ProblemType;
use serde_json::Value;

use super::clock::Millis;

/// Why a request has no usable answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum Failure {
    /// No answer arrived, or the answer makes no sense.
    #[error("{0}")]
    NoAnswer(String),
    /// An error response.
    #[error("{}", .0.message)]
    Refused(Refusal),
}

/// An error response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// `error.type`.
    pub error_type: ErrorType,
    /// `error.message`, or a sentence about the status.
    pub message: String,
    /// Details of a 410 for an expired cursor.
    pub expired: Option<Expired>,
    /// The whole error object; null if the response has none.
    pub problem: Value,
    /// `Retry-After` in milliseconds.
    pub retry_after: Option<Millis>,
}

/// `error.type` of an error response (contract 12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorType {
    /// A type of the contract.
    Known(ProblemType),
    /// A type of a newer contract.
    Unknown,
    /// No type: a proxy or a network's sign-in page has answered instead of the server.
    Foreign,
}

impl ErrorType {
    /// The type for the text of `error.type`; an empty text is [`ErrorType::Foreign`].
    pub(crate) fn parse(text: &str) -> ErrorType {
        match ProblemType::parse(text) {
            Some(known) => ErrorType::Known(known),
            None if text.is_empty() => ErrorType::Foreign,
            None => ErrorType::Unknown,
        }
    }
}

impl Refusal {
    /// Whether `error.type` is the given type.
    pub(super) fn is(&self, problem_type: ProblemType) -> bool {
        self.error_type == ErrorType::Known(problem_type)
    }

    /// Whether the Hearth server has answered, rather than a proxy on the way.
    pub(crate) fn is_from_server(&self) -> bool {
        self.error_type != ErrorType::Foreign
    }

    /// Whether the server refuses the key. A 401 or 403 of a proxy does not count.
    pub(super) fn is_of_the_key(&self) -> bool {
        matches!(self.status, 401 | 403) && self.is_from_server()
    }

    /// Whether the server refuses the feed cursor.
    pub(super) fn is_of_the_cursor(&self) -> bool {
        self.status == 410 && self.is_from_server() || self.is(ProblemType::InvalidCursor)
    }

    /// Whether a poll would get the same refusal as the stream, because key or cursor are refused.
    pub(super) fn is_of_the_replica(&self) -> bool {
        self.is_of_the_key() || self.is_of_the_cursor()
    }
}

/// Why a cursor has expired, and where the feed continues (contract 9.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expired {
    /// True: the server was restored, and the cursor belongs to the discarded history. False: the events after the cursor
    /// are older than the retention.
    pub restored: bool,
    /// The cursor to continue from.
    pub resume: String,
    /// The last position that both histories share. None: unknown.
    pub fork: Option<i64>,
}

/// The server's answer to each edit of a request: the position of the write, if the response tells, or why the edit is not
/// applied.
pub(crate) type EditAnswers = Vec<(i64, Result<Option<i64>, Refusal>)>;

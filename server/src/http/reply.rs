//! An answer as a handler gives it, and the words around it. Must not know the request it answers.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use hearth_contract::envelope::{self, Page};
use hearth_contract::headers::{IDEMPOTENCY_REPLAYED, SERVICE_API_VERSION};
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::{Map, Value};

use crate::config::base_path;
use crate::store::Fault;
use crate::store::receipts::Receipt;
use crate::versions::{VERSIONS, Version};

/// ResponseBody a future that is done when a stream must end. Asked only where a reader does not keep up, so that others cost
/// nothing.
pub type StreamEnd = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// What an answer carries.
pub enum Payload {
    /// A finished JSON text.
    Json(String),
    /// A finished text of another media type, with that type.
    Text(&'static str, Bytes),
    /// Frames of an event stream as they come, and when it must end though nobody takes them.
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>, StreamEnd),
    /// A file, sent piece by piece.
    File {
        /// The media type.
        media: &'static str,
        /// The open file, at its start.
        file: tokio::fs::File,
        /// Its size in bytes.
        length: u64,
    },
    /// Nothing.
    Empty,
}

/// An answer without the headers that the edge adds to all.
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Headers of its own.
    pub headers: Vec<(&'static str, String)>,
    /// What it carries.
    pub payload: Payload,
}

impl Reply {
    /// The same with a header.
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }

    /// A header of its own.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }

    /// The error type of a refusal's body. None: the body is no refusal.
    pub fn error_type(&self) -> Option<&str> {
        match &self.payload {
            Payload::Json(text) => envelope::error_type(text),
            _ => None,
        }
    }

    /// The version it is written in, when it says so: a stored answer keeps its first.
    pub fn version(&self) -> Option<&'static Version> {
        let (_, named) = self.headers.iter().find(|(name, _)| *name == SERVICE_API_VERSION)?;
        VERSIONS.iter().find(|version| version.name == named)
    }

    /// What a retry would get again: status, own headers and body.
    pub fn to_receipt(&self, fingerprint: [u8; 32], at: hearth_contract::formats::Timestamp) -> Receipt {
        let headers: Map<String, Value> =
            self.headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect();
        let body = match &self.payload {
            Payload::Json(text) => text.clone(),
            _ => String::new(),
        };
        Receipt { fingerprint, at, status: self.status, headers: Value::Object(headers).to_string(), body }
    }

    /// The stored answer, byte for byte, marked as such.
    pub fn from_receipt(receipt: Receipt) -> Reply {
        let stored: Map<String, Value> = serde_json::from_str(&receipt.headers).unwrap_or_default();
        let headers = STORED_HEADERS
            .into_iter()
            .filter_map(|name| Some((name, stored.get(name)?.as_str()?.to_owned())))
            .chain([(IDEMPOTENCY_REPLAYED, "true".to_owned())])
            .collect();
        Reply { status: receipt.status, headers, payload: Payload::Json(receipt.body) }
    }
}

/// The headers that belong to an answer itself and come again with it (contract 6.4).
const STORED_HEADERS: [&str; 3] = [SERVICE_API_VERSION, "etag", "location"];

/// What the texts around an answer depend on. Cheap to clone into a transaction.
#[derive(Clone)]
pub struct ResponseContext {
    /// The request's id.
    pub request_id: Arc<str>,
    /// What links begin with.
    pub base_url: Arc<str>,
    /// The version that the client speaks.
    pub version: &'static Version,
}

impl ResponseContext {
    /// Where a path of the service is found by who reads this answer: a proxy may have put something before it.
    pub fn base_path_of(&self, path: &str) -> String {
        format!("{}{path}", base_path(&self.base_url))
    }

    /// `{ data, meta }` out of a finished text; `meta` is further members or "".
    pub fn data_reply(&self, status: u16, data: &str, meta: &str) -> Reply {
        self.json(status, envelope::one(data, &self.request_id, meta))
    }

    /// `{ data: [...], meta }` out of finished texts.
    pub fn list_reply<T: AsRef<str>>(&self, items: &[T], page: &Page, meta: &str) -> Reply {
        self.json(200, envelope::many(items, page, &self.request_id, meta))
    }

    /// `{ error, meta }`, with the headers that its type demands.
    pub fn problem_reply(&self, problem: &Problem) -> Reply {
        let mut reply = self.json(problem.kind.status(), envelope::error(problem, &self.request_id, &self.base_url));
        let detail = |name: &str| problem.details.get(name).and_then(Value::as_str).unwrap_or_default();
        match problem.kind {
            ProblemType::AuthenticationRequired => reply.headers.push(("www-authenticate", "Bearer".to_owned())),
            ProblemType::InvalidApiKey => {
                reply.headers.push(("www-authenticate", r#"Bearer error="invalid_token""#.to_owned()));
            }
            ProblemType::InsufficientScope => {
                let scope = detail("required_scope");
                let challenge = format!(r#"Bearer error="insufficient_scope", scope="{scope}""#);
                reply.headers.push(("www-authenticate", challenge));
            }
            ProblemType::MethodNotAllowed => {
                let allowed = problem.details.get("allowed").and_then(Value::as_array).cloned().unwrap_or_default();
                let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
                reply.headers.push(("allow", allowed.join(", ")));
            }
            ProblemType::RateLimited | ProblemType::TooManyStreams | ProblemType::Unavailable => {
                let seconds = problem.details.get("retry_after_seconds").and_then(Value::as_u64).unwrap_or(1);
                reply.headers.push(("retry-after", seconds.to_string()));
            }
            _ => (),
        }
        reply
    }

    fn json(&self, status: u16, text: String) -> Reply {
        let headers = vec![(SERVICE_API_VERSION, self.version.name.to_owned())];
        Reply { status, headers, payload: Payload::Json(self.version.downgrade(text)) }
    }
}

/// Why a handler has no answer: it refuses, or something broke.
pub enum Refusal {
    /// An expected refusal.
    Problem(Box<Problem>),
    /// Something broke; it is logged and leaves as `internal_error` or `unavailable`.
    Fault(Fault),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        Refusal::Problem(Box::new(problem))
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Fault(fault)
    }
}

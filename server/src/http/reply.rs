//! A response as a handler returns it, and the facts that its texts depend on. Must not know the request.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use hearth_contract::envelope::{self, Page};
use hearth_contract::headers::{IDEMPOTENCY_REPLAYED, SERVICE_API_VERSION};
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::{Map, Value};

use crate::store::StoreError;
use crate::store::receipts::Receipt;
use crate::versions::{VERSIONS, Version};

/// Creates a future that completes when the stream must end, although the client reads no frames. Created only while
/// the client is slow, so fast clients cost nothing.
pub type StreamEnd = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// The body of a response.
pub enum Payload {
    /// A complete JSON text.
    Json(String),
    /// The media type and the bytes of a complete text.
    Text(&'static str, Bytes),
    /// The frames of an event stream, and the end for a client that reads no frames.
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>, StreamEnd),
    /// A file, sent in pieces.
    File {
        /// The media type.
        media: &'static str,
        /// The open file, positioned at the first byte to send.
        file: tokio::fs::File,
        /// The bytes to send.
        length: u64,
    },
    /// No body.
    Empty,
}

/// A response without the common headers, which the edge adds.
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers of this response.
    pub headers: Vec<(&'static str, String)>,
    /// The body of the response.
    pub payload: Payload,
}

impl Reply {
    /// Adds a header.
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }

    /// The value of a header that the handler set.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }

    /// The error type in the body. None: the response is no refusal.
    pub fn error_type(&self) -> Option<&str> {
        match &self.payload {
            Payload::Json(text) => envelope::error_type(text),
            _ => None,
        }
    }

    /// The API version of the body, if the reply names one: a stored reply keeps its first version.
    pub fn version(&self) -> Option<&'static Version> {
        let (_, named) = self.headers.iter().find(|(name, _)| *name == SERVICE_API_VERSION)?;
        VERSIONS.iter().find(|version| version.name == named)
    }

    /// The form in which a reply is stored for a repeated request: status, headers and body.
    pub fn to_receipt(&self, fingerprint: [u8; 32], at: hearth_contract::formats::Timestamp) -> Receipt {
        let headers: Map<String, Value> =
            self.headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_str().into())).collect();
        let body = match &self.payload {
            Payload::Json(text) => text.clone(),
            _ => String::new(),
        };
        Receipt { fingerprint, at, status: self.status, headers: Value::Object(headers).to_string(), body }
    }

    /// The stored reply, byte for byte, marked as replayed.
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

/// The headers that are stored with a reply (contract 6.4).
const STORED_HEADERS: [&str; 3] = [SERVICE_API_VERSION, "etag", "location"];

/// The facts of a request that the texts of its response depend on. Cheap to clone into a transaction.
#[derive(Clone)]
pub struct ResponseContext {
    /// The id of the request, for `meta.request_id`.
    pub request_id: Arc<str>,
    /// The URL at which clients reach the service.
    pub base_url: Arc<str>,
    /// The API version of the client.
    pub version: &'static Version,
    /// Where a program without a key may ask for access. None: this server gives no access to partners.
    pub challenge: Option<Challenge>,
}

/// What a refusal tells programs of partners (RFC 9728).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Challenge {
    /// The path of the protected resource: `/v1` or `/mcp`.
    pub resource: &'static str,
    /// The scopes that the route needs, separated by spaces; "" for none.
    pub scopes: &'static str,
}

impl ResponseContext {
    /// `{ data, meta }`. `data` is JSON text; `meta` is more members of `meta` as JSON text, or "".
    pub fn data_reply(&self, status: u16, data: &str, meta: &str) -> Reply {
        self.json(status, envelope::success(data, &self.request_id, meta))
    }

    /// `{ data: [...], meta }`. The items are JSON texts.
    pub fn list_reply<T: AsRef<str>>(&self, items: &[T], page: &Page, meta: &str) -> Reply {
        self.json(200, envelope::list(items, page, &self.request_id, meta))
    }

    /// `{ error, meta }`, with the headers that the error type requires.
    pub fn problem_reply(&self, problem: &Problem) -> Reply {
        let mut reply = self.json(problem.kind.status(), envelope::error(problem, &self.request_id, &self.base_url));
        let detail = |name: &str| problem.details.get(name).and_then(Value::as_str).unwrap_or_default();
        match problem.kind {
            ProblemType::AuthenticationRequired => {
                reply.headers.push(("www-authenticate", self.challenge_text("", "")))
            }
            ProblemType::InvalidApiKey => {
                reply.headers.push(("www-authenticate", self.challenge_text("invalid_token", "")));
            }
            ProblemType::InsufficientScope => {
                let challenge = self.challenge_text("insufficient_scope", detail("required_scope"));
                reply.headers.push(("www-authenticate", challenge));
            }
            ProblemType::MethodNotAllowed => {
                let allowed = problem.details.get("allowed").and_then(Value::as_array).cloned().unwrap_or_default();
                let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
                reply.headers.push(("allow", allowed.join(", ")));
            }
            ProblemType::RateLimited
            | ProblemType::TooManyStreams
            | ProblemType::TooManyJobs
            | ProblemType::Unavailable => {
                let seconds = problem.details.get("retry_after_seconds").and_then(Value::as_u64).unwrap_or(1);
                reply.headers.push(("retry-after", seconds.to_string()));
            }
            _ => (),
        }
        reply
    }

    /// The value of `WWW-Authenticate`. `scope`: the scope that is missing; "" for those of the route.
    fn challenge_text(&self, error: &str, scope: &str) -> String {
        let scope = match self.challenge {
            Some(challenge) if scope.is_empty() => challenge.scopes,
            _ => scope,
        };
        let resource = self.challenge.map_or_else(String::new, |challenge| {
            format!("{}{}{}", self.base_url, paths::PROTECTED_RESOURCE, challenge.resource)
        });
        let parts = [("error", error), ("scope", scope), ("resource_metadata", &resource)];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}=\"{value}\""))
            .collect();
        format!("Bearer {}", parts.join(", ")).trim_end().to_owned()
    }

    /// The problem that a client sees after a fault. The cause goes to the log, under the request id.
    pub(crate) fn fault_problem(&self, fault: &StoreError) -> Problem {
        tracing::error!(request_id = &*self.request_id, %fault, "a request failed");
        if fault.is_transient() {
            Problem::new(ProblemType::Unavailable, "The service cannot take this now.").with("retry_after_seconds", 1)
        } else {
            Problem::new(ProblemType::InternalError, "The service failed on this request.")
        }
    }

    fn json(&self, status: u16, text: String) -> Reply {
        let headers = vec![(SERVICE_API_VERSION, self.version.name.to_owned())];
        Reply { status, headers, payload: Payload::Json(self.version.downgrade(text)) }
    }
}

/// The reason why a handler has no reply.
pub enum Refusal {
    /// An expected refusal, for the client.
    Problem(Box<Problem>),
    /// A fault of the server. The edge logs the cause and sends `internal_error` or `unavailable`.
    StoreError(StoreError),
    /// A complete response, such as a page that says what to do.
    Reply(Box<Reply>),
}

impl From<Reply> for Refusal {
    fn from(reply: Reply) -> Refusal {
        Refusal::Reply(Box::new(reply))
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        Refusal::Problem(Box::new(problem))
    }
}

impl From<StoreError> for Refusal {
    fn from(fault: StoreError) -> Refusal {
        Refusal::StoreError(fault)
    }
}

//! An operation of the API: method, path, access, bodies and handler. Must not know the table of routes.

use std::pin::Pin;

use axum::http::Method;
use hearth_contract::paths;
use hearth_contract::problem::Problem;
use hearth_contract::schema::Kind;

use super::bodies::{RequestBody, ResponseBody};
use super::call::{Call, PublicRequest};
use super::parameters::Parameter;
use super::reply::{Challenge, Refusal, Reply, ResponseContext};
use super::web::WebRequest;
use crate::app::keyring::Principal;
use crate::app::limits::RateClass;
use crate::scopes::ALL_SCOPES;

/// The pending result of a handler.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Result<Reply, Refusal>> + Send>>;

/// The access rule of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// No key is required.
    Open,
    /// Any valid key.
    Key,
    /// A valid key with this scope, or with each of these scopes, separated by spaces.
    Scope(String),
}

/// An operation of the API.
pub struct Route {
    /// The HTTP method. A GET route also serves HEAD.
    pub method: Method,
    /// The path; `{id}` stands for one segment.
    pub path: String,
    /// The operation id in the OpenAPI document, the log and the metrics.
    pub operation: String,
    /// A phrase for the OpenAPI document.
    pub summary: String,
    /// The access rule.
    pub access: Access,
    /// The rate-limit window that counts the call.
    pub class: RateClass,
    /// The kind of the records. None: the operation concerns no single kind.
    pub kind: Option<Kind>,
    /// The body of the request.
    pub request_body: RequestBody,
    /// The body of a successful response.
    pub response_body: ResponseBody,
    /// The query parameters. All others are refused.
    pub parameters: &'static [Parameter],
    /// The function that answers.
    pub handler: Handler,
}

impl Route {
    /// A route outside of the API, for the table of pages and forms. `request_body`: None, Form or WebJson.
    pub fn web(method: Method, path: &str, operation: &str, request_body: RequestBody, handler: WebHandler) -> Route {
        Route {
            method,
            path: path.to_owned(),
            operation: operation.to_owned(),
            summary: String::new(),
            access: Access::Open,
            class: RateClass::Free,
            kind: None,
            request_body,
            response_body: ResponseBody::Page,
            parameters: &[],
            handler: Handler::Web(handler),
        }
    }

    /// The function that writes the refusals of a route outside of the API. None: a route of the API.
    pub fn web_refusal(&self) -> Option<WebRefusal> {
        match self.handler {
            Handler::Web(handler) => Some(handler.refuse),
            Handler::Keyed(_) | Handler::Open(_) => None,
        }
    }

    /// What a refusal at the route tells programs of partners.
    pub fn challenge(&'static self) -> Challenge {
        match &self.access {
            Access::Scope(scope) => Challenge { resource: paths::ROOT, scopes: scope },
            // A tool may need each scope.
            Access::Open | Access::Key if self.path == paths::MCP => {
                Challenge { resource: paths::MCP, scopes: &ALL_SCOPES }
            }
            Access::Open | Access::Key => Challenge { resource: paths::ROOT, scopes: "" },
        }
    }

    /// Refuses a key without the scope of the route.
    pub fn check_scope(&self, principal: &Principal) -> Result<(), Problem> {
        match &self.access {
            Access::Scope(scopes) => scopes.split(' ').try_for_each(|scope| principal.require_scope(scope)),
            Access::Open | Access::Key => Ok(()),
        }
    }

    /// Whether the route writes one record that may exist. Only such a route has a revision for preconditions.
    pub fn is_guarded(&self) -> bool {
        self.request_body == RequestBody::Patch || self.response_body == ResponseBody::Deleted && self.kind.is_some()
    }

    /// Whether the path has the id of a record or a job.
    pub fn has_id(&self) -> bool {
        self.path.contains("{id}")
    }

    /// Whether the path has a name behind the id.
    pub fn has_name(&self) -> bool {
        self.path.contains("{name}")
    }

    /// Whether the route reads one record or a file of the service, which `If-None-Match` may answer with 304.
    pub fn is_conditional(&self) -> bool {
        let is_record = matches!(
            self.response_body,
            ResponseBody::Record | ResponseBody::Profile | ResponseBody::FileBytes | ResponseBody::Thumbnail
        );
        self.method == Method::GET && (is_record || self.response_body.is_asset())
    }

    /// Whether the route follows the version that the request asks for. Discovery and tools always use the current
    /// version (contract 13).
    pub fn is_versioned(&self) -> bool {
        self.access != Access::Open && self.path.starts_with(paths::ROOT)
    }

    /// Whether an idempotency key applies to the route (contract 6.4). A PUT is idempotent by itself, and a response with a
    /// secret is never stored.
    pub fn takes_ticket(&self) -> bool {
        self.is_write() && self.method != Method::PUT
    }

    /// Whether the route changes something for a key.
    pub fn is_write(&self) -> bool {
        self.method != Method::GET && self.access != Access::Open
    }
}

/// The function that answers, with or without a key.
#[derive(Clone, Copy)]
pub enum Handler {
    /// Answers a request with a valid key.
    Keyed(fn(Call) -> HandlerFuture),
    /// Answers a request without a key.
    Open(fn(PublicRequest) -> HandlerFuture),
    /// Answers a request outside of the API: no key, no envelope and no API version.
    Web(WebHandler),
}

/// The two functions of a route outside of the API.
#[derive(Clone, Copy)]
pub struct WebHandler {
    /// Answers a request.
    pub answer: fn(WebRequest) -> HandlerFuture,
    /// Writes a refusal in the form that the clients of the route read, such as an HTML page.
    pub refuse: WebRefusal,
}

/// Writes a refusal of a route outside of the API.
pub type WebRefusal = fn(&ResponseContext, &Problem) -> Reply;

//! One thing that can be asked: its method and path, who may ask, what it carries and gives, and who answers. Must not
//! know which routes there are.

use std::pin::Pin;

use axum::http::Method;
use hearth_contract::paths;
use hearth_contract::problem::Problem;
use hearth_contract::schema::Kind;

use super::bodies::{RequestBody, ResponseBody};
use super::call::{Call, PublicRequest};
use super::parameters::Parameter;
use super::reply::{Refusal, Reply};
use crate::app::keyring::Principal;
use crate::app::limits::RateClass;

/// What a handler promises.
pub type HandlerFuture = Pin<Box<dyn Future<Output = Result<Reply, Refusal>> + Send>>;

/// Who may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Open,
    /// Any key that holds.
    Key,
    /// A key with this scope.
    Scope(String),
}

/// One thing that can be asked.
pub struct Route {
    /// Its method. HEAD works wherever GET does.
    pub method: Method,
    /// Its path; `{id}` stands for one segment.
    pub path: String,
    /// Its name in documents and metrics.
    pub operation: String,
    /// What it does, in a phrase.
    pub summary: String,
    /// Who may ask.
    pub access: Access,
    /// Which window it counts in.
    pub class: RateClass,
    /// The kind it is about.
    pub kind: Option<Kind>,
    /// What the request carries.
    pub request_body: RequestBody,
    /// What the answer is.
    pub response_body: ResponseBody,
    /// Parameters it knows; any other is refused.
    pub parameters: &'static [Parameter],
    /// Who answers.
    pub handler: Handler,
}

impl Route {
    /// Refuses a key that lacks the scope.
    pub fn check_scope(&self, principal: &Principal) -> Result<(), Problem> {
        match &self.access {
            Access::Scope(scope) => principal.require_scope(scope),
            Access::Open | Access::Key => Ok(()),
        }
    }

    /// Whether it is a write of one record that may exist: it has a revision to hold conditions to.
    pub fn is_guarded(&self) -> bool {
        self.request_body == RequestBody::Patch || self.response_body == ResponseBody::Deleted && self.kind.is_some()
    }

    /// Whether this is a read of one record, which `If-None-Match` may answer with 304.
    pub fn is_conditional(&self) -> bool {
        self.method == Method::GET && matches!(self.response_body, ResponseBody::Record | ResponseBody::Profile)
    }

    /// Whether it speaks the version that the request asks for; discovery and tools always speak the current one
    /// (contract 13).
    pub fn is_versioned(&self) -> bool {
        self.access != Access::Open && self.path.starts_with(paths::ROOT)
    }

    /// Whether an idempotency key makes it happen once (contract 6.4).
    pub fn takes_ticket(&self) -> bool {
        self.method != Method::GET && self.access != Access::Open
    }
}

/// Who answers.
#[derive(Clone, Copy)]
pub enum Handler {
    /// To a key, as a call.
    Keyed(fn(Call) -> HandlerFuture),
    /// To anybody.
    Open(fn(PublicRequest) -> HandlerFuture),
}

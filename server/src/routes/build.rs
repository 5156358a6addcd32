//! How a row of the table of operations is made: by the members in which it differs from an ordinary GET. Must not know a
//! handler.

use axum::http::Method;

use crate::app::limits::RateClass;
use crate::http::bodies::{RequestBody, ResponseBody};
use crate::http::call::{Call, PublicRequest};
use crate::http::route::{Access, Handler, HandlerFuture, Route};

/// Access for keys with these scopes, separated by spaces.
pub(super) fn scope(scope: &str) -> Access {
    Access::Scope(scope.to_owned())
}

/// A GET route for a key. Callers override the members that differ.
pub(super) fn get(
    path: &str,
    operation: &str,
    summary: &str,
    access: Access,
    handler: fn(Call) -> HandlerFuture,
) -> Route {
    route(path, operation, summary, access, Handler::Keyed(handler))
}

pub(super) fn route(path: &str, operation: &str, summary: &str, access: Access, handler: Handler) -> Route {
    Route {
        method: Method::GET,
        path: path.to_owned(),
        operation: operation.to_owned(),
        summary: summary.to_owned(),
        access,
        class: RateClass::Read,
        kind: None,
        request_body: RequestBody::None,
        response_body: ResponseBody::Record,
        parameters: &[],
        handler,
    }
}

/// A GET route without a key.
pub(super) fn open(path: &str, operation: &str, summary: &str, handler: fn(PublicRequest) -> HandlerFuture) -> Route {
    Route { class: RateClass::Free, ..route(path, operation, summary, Access::Open, Handler::Open(handler)) }
}

pub(super) fn page(
    path: &str,
    operation: &str,
    summary: &str,
    response_body: ResponseBody,
    handler: fn(PublicRequest) -> HandlerFuture,
) -> Route {
    Route { response_body, ..open(path, operation, summary, handler) }
}

pub(super) fn health(path: &str, operation: &str, summary: &str, handler: fn(PublicRequest) -> HandlerFuture) -> Route {
    Route { response_body: ResponseBody::Health, ..open(path, operation, summary, handler) }
}

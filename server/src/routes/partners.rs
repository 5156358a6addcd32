//! The table of the endpoints and pages of partner authorization (contract 20). Neither OpenAPI nor MCP describes them. Must
//! not know how an endpoint works.

use std::sync::LazyLock;

use axum::http::Method;
use hearth_contract::paths;

use crate::console::page::refuse;
use crate::http::bodies::RequestBody;
use crate::http::route::{HandlerFuture, Route, WebHandler};
use crate::http::web::WebRequest;
use crate::partners::pages::with_page_headers;
use crate::partners::{consent, device, endpoints, metadata, registration, wire};

/// The endpoints and pages of partner authorization (contract 20).
pub static PARTNERS: LazyLock<Vec<Route>> = LazyLock::new(|| {
    vec![
        document("", "get_protected_resource"),
        document(paths::ROOT, "get_protected_resource_v1"),
        document(paths::MCP, "get_protected_resource_mcp"),
        described(Method::GET, paths::AUTHORIZATION_SERVER, "get_authorization_server", RequestBody::None, |request| {
            Box::pin(metadata::authorization_server(request))
        }),
        form(paths::TOKEN, "oauth_token", |request| Box::pin(endpoints::token(request))),
        form(paths::PAR, "oauth_par", |request| Box::pin(endpoints::push(request))),
        form(paths::DEVICE_AUTHORIZATION, "oauth_device_authorization", |request| {
            Box::pin(endpoints::device_authorization(request))
        }),
        form(paths::REVOKE, "oauth_revoke", |request| Box::pin(endpoints::revoke(request))),
        form(paths::INTROSPECT, "oauth_introspect", |request| Box::pin(endpoints::introspect(request))),
        described(Method::POST, paths::REGISTER, "oauth_register", RequestBody::WebJson, |request| {
            Box::pin(registration::register(request))
        }),
        page(Method::GET, paths::AUTHORIZE, "oauth_authorize", |request| with_page_headers(consent::ask(request))),
        page(Method::POST, paths::AUTHORIZE, "oauth_decide", |request| with_page_headers(consent::decide(request))),
        page(Method::GET, paths::DEVICE, "oauth_device", |request| with_page_headers(device::ask(request))),
        page(Method::POST, paths::DEVICE, "oauth_decide_device", |request| with_page_headers(device::decide(request))),
    ]
});

fn document(appended: &str, operation: &str) -> Route {
    let path = format!("{}{appended}", paths::PROTECTED_RESOURCE);
    described(Method::GET, &path, operation, RequestBody::None, |request| {
        Box::pin(metadata::protected_resource(request))
    })
}

/// An endpoint for programs that send a form.
fn form(path: &str, operation: &str, answer: fn(WebRequest) -> HandlerFuture) -> Route {
    described(Method::POST, path, operation, RequestBody::Form, answer)
}

/// An endpoint for programs, which read refusals as `{error, error_description}`.
fn described(
    method: Method,
    path: &str,
    operation: &str,
    body: RequestBody,
    answer: fn(WebRequest) -> HandlerFuture,
) -> Route {
    Route::web(method, path, operation, body, WebHandler { answer, refuse: wire::refuse })
}

/// A page for people, with its form.
fn page(method: Method, path: &str, operation: &str, answer: fn(WebRequest) -> HandlerFuture) -> Route {
    let body = if method == Method::POST { RequestBody::Form } else { RequestBody::None };
    Route::web(method, path, operation, body, WebHandler { answer, refuse })
}

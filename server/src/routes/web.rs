//! The tables of routes outside of the API: pages and forms for people, and files for calendar programs. Neither OpenAPI nor MCP describes them. Must not know
//! how a page works.

use std::sync::LazyLock;

use axum::http::Method;
use hearth_contract::paths;

use crate::api::calendars;
use crate::console::page::refuse;
use crate::console::pages::{PAGES, Page, answer};
use crate::http::bodies::RequestBody;
use crate::http::route::{Route, WebHandler};

/// The pages and forms of the console.
pub static CONSOLE: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let handler = WebHandler { answer, refuse };
    let route = |page: &Page| Route::web(page.method.clone(), page.path, page.operation, page.request_body(), handler);
    PAGES.iter().map(route).collect()
});

/// The files for calendar programs (contract 23). The path holds a secret.
pub static CALENDAR: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let handler = WebHandler { answer: |request| Box::pin(calendars::file(request)), refuse: calendars::refuse };
    vec![Route::web(Method::GET, paths::CALENDAR_FILE, "calendar_file", RequestBody::None, handler)]
});

//! The tables of routes outside of the API: pages and forms for people. Neither OpenAPI nor MCP describes them. Must not know
//! how a page works.

use std::sync::LazyLock;

use crate::console::page::refuse;
use crate::console::pages::{PAGES, Page, answer};
use crate::http::route::{Route, WebHandler};

/// The pages and forms of the console.
pub static CONSOLE: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let handler = WebHandler { answer, refuse };
    let route = |page: &Page| Route::web(page.method.clone(), page.path, page.operation, page.body, handler);
    PAGES.iter().map(route).collect()
});

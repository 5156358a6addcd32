//! The tables of routes outside of the API: pages and forms for people. Neither OpenAPI nor MCP describes them. Must not know
//! how a page works.

use std::sync::LazyLock;

use crate::http::route::Route;

/// The pages and forms of the console.
pub static CONSOLE: LazyLock<Vec<Route>> = LazyLock::new(Vec::new);

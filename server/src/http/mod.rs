//! HTTP: connections, routing, and the steps around every request. Must not know SQL, the meaning of a record, nor the
//! handlers and the table of routes.
//!
//! - [`listener`]: the accept loop with its timers, caps and drain. `idle`: connections that make room for new ones.
//!   `unread_body`: bodies that were not read to the end.
//! - [`connection`]: peer address, hangup switch and request id, which travel inside a request.
//! - [`edge`]: the steps around every request. `pipeline`: the steps before the handler. `parts` checks headers and body, `headers` reads one.
//!   `cors`: preflights and headers for web pages of other origins.
//! - [`auth`]: from the Authorization header to a verified key; [`scopes`]: all scopes.
//! - [`route`]: one operation with its [`parameters`] and [`bodies`]; [`map`]: finds the routes of a path.
//! - [`call`]: a request as the handler receives it; [`query`], [`json`] and [`accept`] parse its parts strictly.
//! - [`web`]: a request to a route outside of the API, such as a page or a form.
//! - [`reply`]: a response as the handler returns it; `streaming` writes a response without an end. `seen`: what log and console
//!   show of a request.

pub mod accept;
pub mod auth;
pub mod bodies;
pub mod call;
pub mod connection;
pub(crate) mod cors;
pub mod edge;
mod headers;
mod idle;
pub mod json;
pub mod listener;
pub mod map;
pub mod parameters;
pub(crate) mod parts;
mod pipeline;
pub mod query;
pub mod reply;
pub mod route;
pub mod scopes;
pub(crate) mod seen;
mod streaming;
mod unread_body;
pub mod web;

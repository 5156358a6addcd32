//! HTTP: connections, routing, and the steps around every request. Must not know SQL, the meaning of a record, nor the
//! handlers and the table of routes.
//!
//! - [`listener`]: the accept loop with its cap and drain. [`rules`]: the limits of its connections. `idle`: connections
//!   that make room for new ones.
//! - `socket`: a connection, plain or with TLS. [`tls`]: handshakes and new certificates; [`certificate`] reads the files.
//! - `http1` and `http2`: the requests of a connection. `unread_body`: bodies that were not read to the end; `paced_body`:
//!   bodies in pieces, over HTTP/2.
//! - [`connection`]: peer address, hangup switch and request id, which travel inside a request.
//! - [`edge`]: the steps around every request. `pipeline`: the steps before the handler. `parts` checks headers and body, `headers` reads one.
//!   `cors`: preflights and headers for web pages of other origins.
//! - [`auth`]: from the Authorization header to a verified key.
//! - [`route`]: one operation with its [`parameters`] and [`bodies`]; [`map`]: finds the routes of a path.
//! - [`call`]: a request as the handler receives it; [`query`], [`json`] and [`accept`] parse its parts strictly.
//! - [`upload_body`]: a body that is read in pieces. [`range`]: which bytes of a file a request asks for.
//! - [`web`]: a request to a route outside of the API, such as a page or a form.
//! - [`reply`]: a response as the handler returns it; `streaming` writes a response without an end. `seen`: what log and console
//!   show of a request.

pub mod accept;
pub mod auth;
pub mod bodies;
pub mod call;
pub mod certificate;
pub mod connection;
pub(crate) mod cors;
pub mod edge;
mod headers;
mod http1;
mod http2;
mod idle;
pub mod json;
pub mod listener;
pub mod map;
mod paced_body;
pub mod parameters;
pub(crate) mod parts;
mod pipeline;
pub mod query;
pub mod range;
pub mod reply;
pub mod route;
pub mod rules;
mod seen;
mod socket;
pub(crate) mod streaming;
pub mod tls;
mod unread_body;
pub mod upload_body;
pub mod web;

//! HTTP: accepting, routing, the wrapper around every request, and what it needs. Must not know SQL, nor what a
//! record means.
//!
//! - [`listener`]: our accept loop: timers, caps, drain; `unread` is what clients send on after their answer.
//! - [`routes`]: the one table of what can be asked; each [`route`] with its [`parameters`], [`bodies`] and [`scopes`].
//!   [`map`] looks paths up in it.
//! - [`edge`]: the wrapper that owns every exit; `parts` looks at what a request carries.
//! - [`auth`], [`keyring`], [`limits`]: who asks, and how often they may.
//! - [`call`]: a request as a handler sees it; [`query`], [`json`] and [`accept`] read its parts strictly.
//! - [`reply`]: an answer as a handler gives it; `streaming` writes one that does not end.

pub mod accept;
pub mod auth;
pub mod bodies;
pub mod call;
pub mod connection;
pub mod edge;
pub mod json;
pub mod listener;
pub mod map;
pub mod parameters;
pub(crate) mod parts;
pub mod query;
pub mod reply;
pub mod route;
pub mod scopes;
pub(crate) mod streaming;
mod unread_body;

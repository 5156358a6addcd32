//! HTTP: accepting, routing, the wrapper around every request, and what it needs. Must not know SQL, nor what a
//! record means.
//!
//! - [`listener`]: our accept loop: timers, caps, drain.
//! - [`routes`]: the one table of what can be asked, with its [`parameters`] and [`bodies`].
//! - [`edge`]: the wrapper that owns every exit.
//! - [`auth`], [`limits`]: who asks, and how often they may.
//! - [`call`]: a request as a handler sees it; [`query`], [`json`] and [`accept`] read its parts strictly.
//! - [`reply`]: an answer as a handler gives it.

pub mod accept;
pub mod auth;
pub mod bodies;
pub mod call;
pub mod edge;
pub mod json;
pub mod limits;
pub mod listener;
pub mod parameters;
pub mod query;
pub mod reply;
pub mod routes;

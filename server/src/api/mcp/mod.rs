//! `POST /mcp`: the Model Context Protocol (contract 15), in the stateless and the `initialize` revisions. The official SDK
//! parses the protocol. Must not know the table of routes: the caller passes the routes.
//!
//! - `endpoint`: the HTTP side.
//! - `handler`: answers the methods of the protocol.
//! - `tools`: the table of tools; `arguments`: turns arguments into the input of a route; `schemas`: JSON Schemas.
//! - `pictures`: adds pictures to a result.

mod arguments;
mod endpoint;
mod handler;
mod pictures;
mod schemas;
pub(crate) mod tools;

pub use endpoint::serve;

//! What the suites and benches share: a home to try things on. Must not know what is tried.
//!
//! - [`client`]: one call, one answer.
//! - [`server`]: a service in this process, or its binary in another.
//! - [`wire`]: the least that speaks HTTP, for loads where a client library would be what is measured.

pub mod client;
pub mod server;
pub mod wire;

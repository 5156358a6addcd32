//! What every connection of a listener must obey. Must not know sockets.

use std::sync::Arc;
use std::time::Duration;

use super::tls::Tls;

/// Limits of a connection, its TLS, and the response to a late request head.
#[derive(Clone)]
pub struct Rules {
    /// Open connections, at most. A further connection replaces the one that has been idle longest. While all are busy, it
    /// waits in the queue of the operating system.
    pub connections_max: usize,
    /// Time limit for a TLS handshake.
    pub handshake_time_max: Duration,
    /// Time limit for the headers of a request, also between two requests on one connection.
    pub headers_time_max: Duration,
    /// Time limit for a client to accept some bytes of a response.
    pub write_time_max: Duration,
    /// The complete response, as bytes, to a request head that did not arrive in time.
    pub late_head_response: Arc<dyn Fn() -> Vec<u8> + Send + Sync>,
    /// The complete response, as bytes, to a request in plain HTTP where TLS is expected.
    pub plain_http_response: Arc<dyn Fn() -> Vec<u8> + Send + Sync>,
    /// Encrypts all connections. None: plain HTTP.
    pub tls: Option<Tls>,
}

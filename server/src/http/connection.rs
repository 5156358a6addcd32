//! The marks that the listener and the faults put into a request: peer address, hangup switch, request id. Must not know
//! how a request is answered.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::Request;
use tokio::sync::Notify;

use crate::random::unique_bytes;

/// The address of the client's end of the socket. Requests without a socket have none.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The mark of a request that came over TLS. A listener with TLS sets it.
#[derive(Clone, Copy, Debug)]
pub struct Secure;

/// What the requests of a connection have in common.
#[derive(Clone)]
pub(super) struct ConnectionMarks {
    pub(super) peer: Peer,
    pub(super) hangup: Hangup,
    /// Whether the connection has TLS.
    pub(super) is_secure: bool,
}

impl ConnectionMarks {
    /// Puts the marks into a request.
    pub(super) fn set<B>(&self, request: &mut Request<B>) {
        let marks = request.extensions_mut();
        marks.insert(self.peer);
        marks.insert(self.hangup.clone());
        if self.is_secure {
            marks.insert(Secure);
        }
    }
}

/// A switch that closes the connection of a request without a response.
#[derive(Clone, Default)]
pub struct Hangup(Arc<Notify>);

impl Hangup {
    /// Closes the connection now. Never returns: the caller is dropped together with the connection.
    pub async fn now<T>(&self) -> T {
        self.0.notify_one();
        pending().await
    }

    /// Returns once [`Hangup::now`] was called.
    pub(super) async fn requested(&self) {
        self.0.notified().await;
    }
}

/// The id of a request: `req_` and 26 characters of Crockford base32. Set before the edge by a caller that logs the id.
#[derive(Clone)]
pub struct RequestId(pub Arc<str>);

impl RequestId {
    /// A fresh random id of 128 bits.
    pub(crate) fn new() -> RequestId {
        RequestId(request_id(unique_bytes()))
    }
}

fn request_id(entropy: [u8; 16]) -> Arc<str> {
    let mut text = *b"req_00000000000000000000000000";
    let mut rest = u128::from_be_bytes(entropy);
    for digit in text[4..].iter_mut().rev() {
        *digit = CROCKFORD[(rest % 32) as usize];
        rest /= 32;
    }
    std::str::from_utf8(&text).unwrap_or_default().into()
}

const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_id_is_base32_of_128_bits() {
        let id = request_id([0xff; 16]);
        assert_eq!(id.len(), 30);
        assert!(id.starts_with("req_7ZZZ"));
    }
}

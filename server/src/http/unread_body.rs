//! Request bodies that were not read to the end before the response, and the time for the client to notice the
//! response. Must not know the reason of an early response.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use hyper::body::{Body as _, Bytes, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes that a client may still send after the response.
const BYTES_MAX: u64 = 16 << 20;
/// Time limit for these bytes: as for a body (contract 12).
const TIME_MAX: Duration = Duration::from_secs(30);
/// Time limit for the next bytes.
const PAUSE_MAX: Duration = Duration::from_secs(3);
/// Bytes per read.
const PIECE: usize = 16 * 1024;

/// Whether the last request of a connection has an unread rest of a body. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct UnreadBody(Arc<AtomicBool>);

impl UnreadBody {
    /// Whether a rest is unread.
    pub(super) fn is_some(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Wraps the body of the next request, to notice its end.
    pub(super) fn watch(&self, body: Incoming) -> Body {
        let is_some = !body.is_end_stream();
        self.0.store(is_some, Ordering::Relaxed);
        if is_some { Body::new(Watched { body, unread: self.clone() }) } else { Body::empty() }
    }
}

struct Watched {
    body: Incoming,
    unread: UnreadBody,
}

impl hyper::body::Body for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.unread.0.store(false, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Reads and discards the rest of a body until the client closes the connection. Closing at once with unread bytes
/// would make the system discard the response too (RFC 9112 9.6).
pub(super) async fn linger(socket: &mut (impl AsyncRead + Unpin)) {
    let read = async {
        let (mut left, mut nowhere) = (BYTES_MAX, vec![0; PIECE]);
        while left > 0
            && let Ok(Ok(read @ 1..)) = tokio::time::timeout(PAUSE_MAX, socket.read(&mut nowhere)).await
        {
            left = left.saturating_sub(read as u64);
        }
    };
    let _ = tokio::time::timeout(TIME_MAX, read).await;
}

//! Bodies that were not read to their end when their request was answered, and the time their clients get to see that.
//! Must not know why a request is answered early.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use hyper::body::{Body as _, Bytes, Frame, Incoming, SizeHint};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// What a client may still send until it has read its answer.
const BYTES_MAX: u64 = 16 << 20;
/// Time it has for that: as long as a body may take (contract 12).
const TIME_MAX: Duration = Duration::from_secs(30);
/// Time in which something of it must come.
const PAUSE_MAX: Duration = Duration::from_secs(3);
/// Bytes that are read at once.
const PIECE: usize = 16 * 1024;

/// Whether the last request of a connection has a body that was not read to its end.
#[derive(Clone, Default)]
pub(super) struct UnreadBody(Arc<AtomicBool>);

impl UnreadBody {
    /// Whether there is something unread.
    pub(super) fn is_some(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Follows the body of the next request.
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

/// Lets a client that has its answer send on until it has seen that, and closes. To close at once, with something unread,
/// is to have the system take the answer back (RFC 9112 9.6).
pub(super) async fn linger(socket: &mut TcpStream) {
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

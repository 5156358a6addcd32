//! The body of a response over HTTP/2, in pieces, so that the server notices a client who reads none of them. Must not
//! know what a body contains.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::FutureExt;
use hyper::body::{Frame, SizeHint};
use tokio::time::Instant;

use super::idle::OpenConnection;
use super::reply::StreamEnd;

/// Bytes of a body that are given to HTTP/2 at once.
const PIECE: usize = 16 * 1024;
/// Time without progress after which a stream is asked whether it must end.
const STREAM_PAUSE: Duration = Duration::from_secs(1);

/// The requests and responses in progress on one connection. Cheap to clone.
#[derive(Clone)]
pub(super) struct Responses {
    /// The connection, busy while a request or response is in progress.
    pub(super) open: Arc<OpenConnection>,
    bodies: Arc<Mutex<HashMap<u64, Progress>>>,
    numbers: Arc<AtomicU64>,
}

/// How far the body of a response has come.
#[derive(Default)]
struct Progress {
    /// Since when the client has not taken a piece that was ready. None: the server has no piece ready.
    waits_since: Option<Instant>,
    /// The condition that ends a response without an end. None: an ordinary response.
    end: Option<StreamEnd>,
    /// The same condition, while the client takes no pieces.
    ending: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// A request and its response in progress. Dropping the value ends them.
pub(super) struct InProgress {
    responses: Responses,
    number: u64,
}

impl Responses {
    /// A connection without requests.
    pub(super) fn new(open: OpenConnection) -> Responses {
        Responses { open: Arc::new(open), bodies: Arc::default(), numbers: Arc::default() }
    }

    /// Adds a request.
    pub(super) fn begin(&self) -> InProgress {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let mut bodies = self.lock();
        self.open.begin_request();
        bodies.insert(number, Progress::default());
        InProgress { responses: self.clone(), number }
    }

    /// Whether a client has taken no piece of a response for `patience`, or of a stream that must end.
    pub(super) fn are_stalled(&self, now: Instant, patience: Duration) -> bool {
        self.lock().values_mut().any(|progress| {
            let Some(since) = progress.waits_since else { return false };
            let Some(end) = &progress.end else { return now.duration_since(since) > patience };
            let is_slow = now.duration_since(since) > STREAM_PAUSE;
            // A slow client may read on as long as the stream may continue (contract 9.4).
            is_slow && progress.ending.get_or_insert_with(|| end()).now_or_never().is_some()
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Progress>> {
        self.bodies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InProgress {
    fn change(&self, change: impl FnOnce(&mut Progress)) {
        if let Some(progress) = self.responses.lock().get_mut(&self.number) {
            change(progress);
        }
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        let mut bodies = self.responses.lock();
        bodies.remove(&self.number);
        if bodies.is_empty() {
            self.responses.open.end_request();
        }
    }
}

/// The body of a response, in pieces.
pub(super) struct PacedBody {
    body: Body,
    /// The rest of the bytes that `body` gave last.
    rest: Bytes,
    in_progress: InProgress,
}

impl PacedBody {
    /// `end`: the condition that ends a response without an end.
    pub(super) fn new(body: Body, end: Option<StreamEnd>, in_progress: InProgress) -> PacedBody {
        in_progress.change(|progress| *progress = Progress { waits_since: None, end, ending: None });
        PacedBody { body, rest: Bytes::new(), in_progress }
    }

    fn record(&self, waits_since: Option<Instant>) {
        self.in_progress.change(|progress| (progress.waits_since, progress.ending) = (waits_since, None));
    }
}

impl hyper::body::Body for PacedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            // HTTP/2 has room for a piece, and the server has none.
            self.record(None);
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                ended => return Poll::Ready(ended),
            }
        }
        self.record(Some(Instant::now()));
        let piece = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        inner.upper().into_iter().for_each(|upper| hint.set_upper(upper + rest));
        hint
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use hyper::body::Body as _;

    use super::*;
    use crate::http::idle::Connections;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn is_stalled_after(responses: &Responses, seconds: u64) -> bool {
        responses.are_stalled(Instant::now() + Duration::from_secs(seconds), PATIENCE)
    }

    #[tokio::test]
    async fn body_comes_in_pieces_and_ends_its_request() {
        let responses = Responses::new(Connections::default().open());
        let mut body = PacedBody::new(Body::from(vec![7; PIECE + 1]), None, responses.begin());
        assert_eq!(body.size_hint().exact(), Some(PIECE as u64 + 1));
        assert!(!is_stalled_after(&responses, 100), "nothing was ready yet");
        for size in [PIECE, 1] {
            assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap().len(), size);
            assert!(!is_stalled_after(&responses, 29) && is_stalled_after(&responses, 31));
        }
        assert!(body.is_end_stream() && !responses.open.is_idle());
        drop(body);
        assert!(responses.open.is_idle() && !is_stalled_after(&responses, 100));
    }

    #[tokio::test]
    async fn unread_stream_is_stalled_when_it_must_end() {
        let responses = Responses::new(Connections::default().open());
        let over = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let asked = over.clone();
        let end: StreamEnd = Arc::new(move || {
            let asked = asked.clone();
            Box::pin(std::future::poll_fn(move |_| match asked.load(Ordering::Relaxed) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }))
        });
        let mut body = PacedBody::new(Body::from("frame"), Some(end), responses.begin());
        body.frame().await.unwrap().unwrap();
        assert!(!is_stalled_after(&responses, 3600), "the client is only slow");
        over.store(true, Ordering::Relaxed);
        assert!(is_stalled_after(&responses, 3600));
    }
}

//! The accept loop: hyper with timers, a cap on connections, and a drain with a time limit. `axum::serve` offers none
//! of them. Must not know how requests are answered.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Version};
use axum::response::Response;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Sleep;

use super::connection::{Hangup, Peer};
use super::edge::Edge;
use super::idle::{Connections, OpenConnection};
use super::streaming::{self, Streaming, Unchunked};
use super::unread_body::{self, UnreadBody};
use crate::shutdown::Shutdown;

/// Bytes of a request head that hyper reads. The edge refuses smaller excess with a response.
const HEAD_BYTES_MAX: usize = 128 * 1024;
/// Header lines that hyper reads.
const HEAD_LINES_MAX: usize = 256;
/// Time limit for sending the response to a request head that came too late.
const LATE_RESPONSE_TIME_MAX: Duration = Duration::from_secs(1);
/// Time limit for requests in progress after a stop.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(10);
/// Time after which a further idle connection is asked to make room.
const ROOM_PAUSE: Duration = Duration::from_millis(50);
/// Pause after an accept error, for example too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Limits of a connection, and the response to a late request head.
#[derive(Clone)]
pub struct Rules {
    /// Open connections, at most. A further connection replaces the one that has been idle longest. While all are busy, it
    /// waits in the queue of the operating system.
    pub connections_max: usize,
    /// Time limit for the headers of a request, also between two requests on one connection.
    pub headers_time_max: Duration,
    /// Time limit for a client to accept some bytes of a response.
    pub write_time_max: Duration,
    /// The complete response, as bytes, to a request head that did not arrive in time.
    pub late_head_response: Arc<dyn Fn() -> Vec<u8> + Send + Sync>,
}

/// Serves until `shutdown` is requested, then waits a limited time for the requests in progress.
pub async fn serve(listener: TcpListener, edge: Edge, rules: Rules, mut shutdown: Shutdown) {
    let (slots, open) = (Arc::new(Semaphore::new(rules.connections_max)), Connections::default());
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.requested() => break,
        };
        let slot = tokio::select! {
            slot = free_slot(&slots, &open) => slot,
            () = shutdown.requested() => break,
        };
        match accepted {
            Ok((socket, peer)) => {
                let connection =
                    connection(socket, Peer(peer), open.open(), edge.clone(), rules.clone(), shutdown.clone());
                connections.spawn(async move {
                    // The connection frees the memory for requests before the streaming starts.
                    if let Some((socket, answer)) = Box::pin(connection).await
                        && let Some(mark) = answer.extensions().get::<Streaming>().cloned()
                    {
                        let ended = Box::pin(streaming::run(socket, answer, mark)).await;
                        tracing::debug!(?ended, "a streaming response ended");
                    }
                    drop(slot);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    let drained = tokio::time::timeout(DRAIN_TIME_MAX, async { while connections.join_next().await.is_some() {} });
    if drained.await.is_err() {
        tracing::warn!(left = connections.len(), "requests did not end in time and were dropped");
    }
}

/// A slot for a new connection. While all slots are taken, idle connections are asked to close, one after the other.
async fn free_slot(slots: &Arc<Semaphore>, open: &Connections) -> Result<OwnedSemaphorePermit, AcquireError> {
    if let Ok(slot) = slots.clone().try_acquire_owned() {
        return Ok(slot);
    }
    loop {
        open.close_longest_idle();
        if let Ok(slot) = tokio::time::timeout(ROOM_PAUSE, slots.clone().acquire_owned()).await {
            return slot;
        }
    }
}

/// Answers the requests of a connection. Some: the last response is a stream, whose head is not yet written.
async fn connection(
    socket: TcpStream,
    peer: Peer,
    open: OpenConnection,
    edge: Edge,
    rules: Rules,
    mut shutdown: Shutdown,
) -> Option<(TcpStream, Response)> {
    // Responses and frames are small and complete, so Nagle's algorithm would only delay them.
    let _ = socket.set_nodelay(true);
    let (handover, hangup, open) = (Arc::new(Handover::default()), Hangup::default(), Arc::new(open));
    let patience = rules.write_time_max;
    let socket = Socket { io: TokioIo::new(socket), handover: handover.clone(), patience, stalled: None };
    let (handover_of_request, hangup_of_request, activity) = (handover.clone(), hangup.clone(), open.clone());
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(hangup_of_request.clone());
        answer(edge.clone(), request, handover_of_request.clone(), activity.clone())
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(rules.headers_time_max)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEAD_LINES_MAX)
        .serve_connection(socket, service);
    let mut is_stopping = false;
    let ended = loop {
        tokio::select! {
            ended = poll_fn(|cx| poll_end(&mut connection, &handover, cx)) => break ended,
            () = hangup.requested() => return None,
            // A response that the socket has not taken belongs to a request.
            () = open.close_requested() => if open.is_idle() && !handover.is_full.load(Ordering::Relaxed) {
                return None;
            },
            () = shutdown.requested(), if !is_stopping => {
                is_stopping = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    let http1::Parts { io, read_buf, .. } = connection.into_parts();
    let (is_stalled, mut socket) = (io.stalled.is_some(), io.io.into_inner());
    match ended {
        Ok(Some(response)) => return Some((socket, response)),
        Ok(None) if handover.unread.is_some() => {
            tokio::select! {
                () = unread_body::linger(&mut socket) => {}
                () = open.close_requested() => {}
                () = shutdown.requested() => {}
            }
        }
        Ok(None) => {}
        Err(error) => {
            tracing::debug!(%error, "a connection ended early");
            // An idle connection is closed without a response.
            let is_late = error.is_timeout() && !read_buf.is_empty();
            close_after_error(socket, is_stalled, is_late.then_some(&rules)).await;
        }
    }
    None
}

/// Closes a connection after an error. `late`: the request head was late, and the client receives a response first.
async fn close_after_error(mut socket: TcpStream, is_stalled: bool, late: Option<&Rules>) {
    if is_stalled {
        // The system's send buffer would keep data that the client does not read.
        let _ = socket.set_zero_linger();
    } else if let Some(rules) = late {
        let sent = async {
            socket.write_all(&(rules.late_head_response)()).await?;
            socket.shutdown().await
        };
        let _ = tokio::time::timeout(LATE_RESPONSE_TIME_MAX, sent).await;
    }
}

/// Passes a streaming response out of hyper. The response waits in `response` until all earlier bytes are written.
#[derive(Default)]
struct Handover {
    response: Mutex<Option<Response>>,
    /// Whether the socket accepted fewer bytes than it was given.
    is_full: AtomicBool,
    /// Whether the body of the last request was read to its end.
    unread: UnreadBody,
}

/// Answers one request. A streaming response waits in `handover`, and the request stays open for hyper.
async fn answer(
    edge: Edge,
    request: hyper::Request<Incoming>,
    handover: Arc<Handover>,
    open: Arc<OpenConnection>,
) -> Result<Response, Infallible> {
    open.begin_request();
    let (knows_chunks, wants_body) = (request.version() >= Version::HTTP_11, request.method() != Method::HEAD);
    let mut response = edge.answer(request.map(|body| handover.unread.watch(body))).await;
    if wants_body && response.extensions().get::<Streaming>().is_some() {
        if !knows_chunks {
            response.extensions_mut().insert(Unchunked);
        }
        *handover.response.lock().unwrap_or_else(PoisonError::into_inner) = Some(response);
        return pending().await;
    }
    // hyper takes a whole body at once. A body in pieces keeps the connection busy until the next request.
    if response.body().size_hint().exact().is_some() {
        open.end_request();
    }
    Ok(response)
}

/// Ready when the connection ended, or when a streaming response waits and all earlier responses are written.
fn poll_end<S>(
    connection: &mut http1::Connection<Socket, S>,
    handover: &Handover,
    cx: &mut Context<'_>,
) -> Poll<hyper::Result<Option<Response>>>
where
    S: hyper::service::HttpService<Incoming, ResBody = Body>,
    S::Error: Into<axum::BoxError>,
{
    if let Poll::Ready(ended) = Pin::new(&mut *connection).poll(cx) {
        return Poll::Ready(ended.map(|()| None));
    }
    let is_full = handover.is_full.load(Ordering::Relaxed);
    match handover.response.lock().unwrap_or_else(PoisonError::into_inner).take_if(|_| !is_full) {
        Some(response) => Poll::Ready(Ok(Some(response))),
        None => Poll::Pending,
    }
}

/// A socket that reports whether its send buffer is full. Fails after `patience` without progress, because a client
/// that does not read must not occupy a connection forever.
struct Socket {
    io: TokioIo<TcpStream>,
    handover: Arc<Handover>,
    /// Time limit for progress.
    patience: Duration,
    /// Runs while the send buffer is full.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    /// Records the result of a write attempt, and fails once the time limit has passed.
    fn record_write(&mut self, written: Poll<io::Result<usize>>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.handover.is_full.store(written.is_pending(), Ordering::Relaxed);
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl hyper::rt::Read for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl hyper::rt::Write for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.record_write(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.record_write(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

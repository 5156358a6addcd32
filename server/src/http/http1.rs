//! A connection over HTTP/1.1: hyper with timers. A streaming response leaves hyper before its head is written. Must not
//! know how requests are answered.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
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

use super::connection::{ConnectionMarks, Hangup, Peer};
use super::edge::Edge;
use super::idle::OpenConnection;
use super::rules::Rules;
use super::socket::Channel;
use super::streaming::{Streaming, Unchunked};
use super::unread_body::{self, UnreadBody};
use crate::shutdown::Shutdown;

/// Bytes of a request head that hyper reads. The edge refuses smaller excess with a response.
const HEAD_BYTES_MAX: usize = 128 * 1024;
/// Header lines that hyper reads.
const HEAD_LINES_MAX: usize = 256;
/// Time limit for sending the response to a request head that came too late.
const LATE_RESPONSE_TIME_MAX: Duration = Duration::from_secs(1);

/// Answers the requests of a connection. Some: the last response is a stream, whose head is not yet written.
pub(super) async fn serve(
    mut channel: Channel,
    peer: Peer,
    open: OpenConnection,
    edge: Edge,
    rules: Rules,
    mut shutdown: Shutdown,
) -> Option<(Channel, Response)> {
    let marks = ConnectionMarks { peer, hangup: Hangup::default(), is_secure: channel.is_secure() };
    let handover = Arc::new(Handover::new(channel.full_flag()));
    let (hangup, open) = (marks.hangup.clone(), Arc::new(open));
    let (handover_of_request, activity) = (handover.clone(), open.clone());
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        marks.set(&mut request);
        answer(edge.clone(), request, handover_of_request.clone(), activity.clone())
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(rules.headers_time_max)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEAD_LINES_MAX)
        .serve_connection(TokioIo::new(channel), service);
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
    let mut channel = io.into_inner();
    match ended {
        Ok(Some(response)) => return Some((channel, response)),
        Ok(None) if handover.unread.is_some() => {
            tokio::select! {
                () = unread_body::linger(&mut channel) => {}
                () = open.close_requested() => {}
                () = shutdown.requested() => {}
            }
        }
        Ok(None) => {}
        Err(error) => {
            tracing::debug!(%error, "a connection ended early");
            // An idle connection is closed without a response.
            let is_late = error.is_timeout() && !read_buf.is_empty();
            close_after_error(channel, is_late.then_some(&rules)).await;
        }
    }
    None
}

/// Closes a connection after an error. `late`: the request head was late, and the client receives a response first.
async fn close_after_error(mut channel: Channel, late: Option<&Rules>) {
    if channel.is_stalled() {
        // The system's send buffer would keep data that the client does not read.
        channel.discard_unread();
    } else if let Some(rules) = late {
        let sent = async {
            channel.write_all(&(rules.late_head_response)()).await?;
            channel.shutdown().await
        };
        let _ = tokio::time::timeout(LATE_RESPONSE_TIME_MAX, sent).await;
    }
}

/// Passes a streaming response out of hyper. The response waits in `response` until all earlier bytes are written.
struct Handover {
    response: Mutex<Option<Response>>,
    /// Whether the socket accepted fewer bytes than it was given.
    is_full: Arc<AtomicBool>,
    /// Whether the body of the last request was read to its end.
    unread: UnreadBody,
}

impl Handover {
    fn new(is_full: Arc<AtomicBool>) -> Handover {
        Handover { response: Mutex::default(), is_full, unread: UnreadBody::default() }
    }
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
    connection: &mut http1::Connection<TokioIo<Channel>, S>,
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

//! Our accept loop: hyper with its timers on, a cap on connections, and a drain that ends. (`axum::serve` has none of
//! the three.) Must not know what is served.

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
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Sleep;

use super::edge::{Edge, Peer};
use super::endless::{self, Endless, Unchunked};
use super::unread::{self, Unread};
use crate::shutdown::Shutdown;

/// Bytes of head that are read at all; the edge refuses smaller excess with an answer.
const HEAD_BYTES_MAX: usize = 128 * 1024;
/// Header lines that are read at all.
const HEAD_LINES_MAX: usize = 256;
/// Time for a client that came too late to take its answer.
const TELL_TIME_MAX: Duration = Duration::from_secs(1);
/// Time for requests in flight to end once stopping.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(10);
/// Pause after the system refused a connection, out of file handles for instance.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What connections may take, and what they are told.
#[derive(Clone)]
pub struct Rules {
    /// Connections at once; further ones wait in the system's queue until one closes.
    pub connections_max: usize,
    /// Time for a request's headers to arrive, also between two requests on one connection.
    pub headers_time_max: Duration,
    /// Time in which a client must take some of what is written to it.
    pub write_time_max: Duration,
    /// The whole answer to a head that was begun and did not arrive in time.
    pub too_late: Arc<dyn Fn() -> Vec<u8> + Send + Sync>,
}

/// Ends a connection without another word; put into each of its requests.
#[derive(Clone, Default)]
pub struct Hangup(Arc<Notify>);

impl Hangup {
    /// Ends the connection now. Never returns, because who waits goes with the connection.
    pub async fn now<T>(&self) -> T {
        self.0.notify_one();
        std::future::pending().await
    }
}

/// Serves until told to stop, then lets what is in flight end.
pub async fn serve(listener: TcpListener, edge: Edge, rules: Rules, mut shutdown: Shutdown) {
    let places = Arc::new(Semaphore::new(rules.connections_max));
    let mut connections = JoinSet::new();
    loop {
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            () = shutdown.requested() => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shutdown.requested() => break,
        };
        match accepted {
            Ok((socket, peer)) => {
                let connection = connection(socket, Peer(peer), edge.clone(), rules.clone(), shutdown.clone());
                connections.spawn(async move {
                    // What a connection needs for requests is let go before an endless answer begins.
                    if let Some((socket, answer)) = Box::pin(connection).await
                        && let Some(mark) = answer.extensions().get::<Endless>().cloned()
                    {
                        let ended = Box::pin(endless::run(socket, answer, mark)).await;
                        tracing::debug!(?ended, "an endless answer ended");
                    }
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    let drained = tokio::time::timeout(DRAIN_TIME_MAX, async { while connections.join_next().await.is_some() {} });
    if drained.await.is_err() {
        tracing::warn!(left = connections.len(), "requests were cut off after waiting for them");
    }
}

/// Answers the requests of a connection. Some: the last has an answer without end, whose head is still to be written.
async fn connection(
    socket: TcpStream,
    peer: Peer,
    edge: Edge,
    rules: Rules,
    mut shutdown: Shutdown,
) -> Option<(TcpStream, Response)> {
    // Answers and frames are small and whole: sending each at once beats waiting for more.
    let _ = socket.set_nodelay(true);
    let (exit, hangup) = (Arc::new(Exit::default()), Hangup::default());
    let patience = rules.write_time_max;
    let socket = Socket { io: TokioIo::new(socket), exit: exit.clone(), patience, stalled: None };
    let (leaving, rest) = (exit.clone(), exit.clone());
    let hung_up = hangup.clone();
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(hung_up.clone());
        answer(edge.clone(), request, exit.clone())
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
            ended = poll_fn(|cx| ended_or_leaving(&mut connection, &leaving, cx)) => break ended,
            () = hangup.0.notified() => return None,
            () = shutdown.requested(), if !is_stopping => {
                is_stopping = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    let http1::Parts { io, read_buf, .. } = connection.into_parts();
    let (is_stalled, mut socket) = (io.stalled.is_some(), io.io.into_inner());
    let error = match ended {
        Ok(Some(answer)) => return Some((socket, answer)),
        Ok(None) if rest.unread.is_some() => {
            tokio::select! {
                () = unread::linger(&mut socket) => {}
                () = shutdown.requested() => {}
            }
            return None;
        }
        Ok(None) => return None,
        Err(error) => error,
    };
    tracing::debug!(%error, "a connection ended early");
    if is_stalled {
        // Nor does the system keep what nobody takes.
        let _ = socket.set_zero_linger();
        return None;
    }
    // A connection that is only idle is closed without a word.
    if error.is_timeout() && !read_buf.is_empty() {
        let told = async {
            socket.write_all(&(rules.too_late)()).await?;
            socket.shutdown().await
        };
        let _ = tokio::time::timeout(TELL_TIME_MAX, told).await;
    }
    None
}

/// How an answer leaves hyper: put here, it goes once nothing is left to be written before it.
#[derive(Default)]
struct Exit {
    left: Mutex<Option<Response>>,
    /// The socket took less than it was given.
    is_full: AtomicBool,
    /// Whether the last request has a body that was not read to its end.
    unread: Unread,
}

/// Answers one request. An endless answer is put aside, and the request left open.
async fn answer(edge: Edge, request: hyper::Request<Incoming>, exit: Arc<Exit>) -> Result<Response, Infallible> {
    let (knows_chunks, takes_a_body) = (request.version() >= Version::HTTP_11, request.method() != Method::HEAD);
    let mut response = edge.answer(request.map(|body| exit.unread.watch(body))).await;
    if takes_a_body && response.extensions().get::<Endless>().is_some() {
        if !knows_chunks {
            response.extensions_mut().insert(Unchunked);
        }
        *exit.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(response);
        return pending().await;
    }
    Ok(response)
}

/// Ready when the connection has ended, or when all that was answered on it has left and what follows is endless.
fn ended_or_leaving<S>(
    connection: &mut http1::Connection<Socket, S>,
    exit: &Exit,
    cx: &mut Context<'_>,
) -> Poll<hyper::Result<Option<Response>>>
where
    S: hyper::service::HttpService<Incoming, ResBody = Body>,
    S::Error: Into<axum::BoxError>,
{
    if let Poll::Ready(ended) = Pin::new(&mut *connection).poll(cx) {
        return Poll::Ready(ended.map(|()| None));
    }
    let is_full = exit.is_full.load(Ordering::Relaxed);
    match exit.left.lock().unwrap_or_else(PoisonError::into_inner).take_if(|_| !is_full) {
        Some(left) => Poll::Ready(Ok(Some(left))),
        None => Poll::Pending,
    }
}

/// A socket that says whether it is full, and breaks off when it stays so: a client that does not read must not hold its
/// place for ever.
struct Socket {
    io: TokioIo<TcpStream>,
    exit: Arc<Exit>,
    /// How long it may take nothing.
    patience: Duration,
    /// Runs while it takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    /// What came of a try to write.
    fn tried(&mut self, written: Poll<io::Result<usize>>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.exit.is_full.store(written.is_pending(), Ordering::Relaxed);
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
        self.tried(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.tried(written, cx)
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

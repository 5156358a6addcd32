//! Our accept loop: hyper with its timers on, a cap on connections, and a drain that ends. (`axum::serve` has none of
//! the three.) Must not know what is served.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tower::util::MapRequestLayer;
use tower::{Layer, Service};

use super::edge::Peer;
use crate::stopping::Stopping;

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
pub async fn serve(listener: TcpListener, router: Router, rules: Rules, mut stopping: Stopping) {
    let places = Arc::new(Semaphore::new(rules.connections_max));
    let mut connections = JoinSet::new();
    loop {
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            () = stopping.heard() => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.heard() => break,
        };
        match accepted {
            Ok((socket, peer)) => {
                let connection = connection(socket, Peer(peer), router.clone(), rules.clone(), stopping.clone());
                connections.spawn(async move {
                    connection.await;
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

async fn connection(socket: TcpStream, peer: Peer, router: Router, rules: Rules, mut stopping: Stopping) {
    // Answers and frames are small and whole: sending each at once beats waiting for more.
    let _ = socket.set_nodelay(true);
    let hangup = Hangup::default();
    let hung_up = hangup.clone();
    let with_peer = MapRequestLayer::new(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(hung_up.clone());
        request
    });
    let service = TowerToHyperService::new(with_peer.layer(tower_service(router)));
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(rules.headers_time_max)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEAD_LINES_MAX)
        .serve_connection(TokioIo::new(socket), service);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = hangup.0.notified() => return,
        () = stopping.heard() => {
            Pin::new(&mut connection).graceful_shutdown();
            tokio::select! {
                ended = &mut connection => ended,
                () = hangup.0.notified() => return,
            }
        }
    };
    let Err(error) = ended else { return };
    tracing::debug!(%error, "a connection ended early");
    let http1::Parts { io, read_buf, .. } = connection.into_parts();
    // A connection that is only idle is closed without a word.
    if error.is_timeout() && !read_buf.is_empty() {
        let mut socket = io.into_inner();
        let told = async {
            socket.write_all(&(rules.too_late)()).await?;
            socket.shutdown().await
        };
        let _ = tokio::time::timeout(TELL_TIME_MAX, told).await;
    }
}

fn tower_service<B>(
    router: Router,
) -> impl Service<hyper::Request<B>, Response = axum::response::Response, Error = std::convert::Infallible, Future: Send>
+ Clone
where
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    router
}

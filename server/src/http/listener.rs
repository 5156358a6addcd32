//! The accept loop: a cap on connections, TLS where it is set up, and a drain with a time limit. `axum::serve` offers none
//! of them. Must not know how requests are answered.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::connection::Peer;
use super::edge::Edge;
use super::idle::{Connections, OpenConnection};
use super::rules::Rules;
use super::socket::{Channel, Socket};
use super::streaming::{self, Streaming};
use super::{http1, http2};
use crate::shutdown::Shutdown;

/// Time limit for requests in progress after a stop.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(10);
/// Time after which a further idle connection is asked to make room.
const ROOM_PAUSE: Duration = Duration::from_millis(50);
/// Pause after an accept error, for example too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

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
                let served = connection(socket, Peer(peer), open.open(), edge.clone(), rules.clone(), shutdown.clone());
                connections.spawn(async move {
                    served.await;
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

/// Serves a connection to its end. Each stage frees its memory before the next one: a streaming response needs little.
async fn connection(
    socket: TcpStream,
    peer: Peer,
    open: OpenConnection,
    edge: Edge,
    rules: Rules,
    mut shutdown: Shutdown,
) {
    let socket = Socket::new(socket, rules.write_time_max);
    let channel = match &rules.tls {
        None => Channel::Plain(socket),
        Some(tls) => {
            let accepted = tls.accept(socket, rules.handshake_time_max, &*rules.plain_http_response);
            let accepted = tokio::select! {
                accepted = Box::pin(accepted) => accepted,
                () = open.close_requested() => None,
                () = shutdown.requested() => None,
            };
            let Some(channel) = accepted else { return };
            channel
        }
    };
    if channel.speaks_http2() {
        return Box::pin(http2::serve(channel, peer, open, edge, rules, shutdown)).await;
    }
    let served = Box::pin(http1::serve(channel, peer, open, edge, rules, shutdown)).await;
    if let Some((channel, answer)) = served
        && let Some(mark) = answer.extensions().get::<Streaming>().cloned()
    {
        let ended = Box::pin(streaming::run(channel, answer, mark)).await;
        tracing::debug!(?ended, "a streaming response ended");
    }
}

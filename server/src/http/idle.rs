//! The connections without a request in progress. When all connections are taken, the one that has been idle longest makes
//! room for a new one. Must not know sockets, nor requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// The idle mark of a connection with a request in progress.
const BUSY: u64 = 0;

/// All open connections. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Connections(Arc<Registry>);

#[derive(Default)]
struct Registry {
    open: Mutex<HashMap<u64, Arc<Activity>>>,
    /// Counts the moments at which a connection became idle. Begins with 1.
    turns: AtomicU64,
}

/// An open connection. Dropping the value removes the connection.
pub(super) struct OpenConnection {
    registry: Connections,
    number: u64,
    activity: Arc<Activity>,
}

/// Whether a connection is idle, and the request to close it.
struct Activity {
    /// The turn at which the connection became idle, or [`BUSY`].
    idle_since: AtomicU64,
    close: Notify,
}

impl Connections {
    /// Adds a connection, which is idle.
    pub(super) fn open(&self) -> OpenConnection {
        let number = self.next_turn();
        let activity = Arc::new(Activity { idle_since: AtomicU64::new(number), close: Notify::new() });
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner).insert(number, activity.clone());
        OpenConnection { registry: self.clone(), number, activity }
    }

    /// Asks the connection that has been idle longest to close. Does nothing when all connections are busy.
    pub(super) fn close_longest_idle(&self) {
        let open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let idle = open.values().map(|activity| (activity.idle_since.load(Ordering::Relaxed), activity));
            let Some((since, longest)) = idle.filter(|(since, _)| *since != BUSY).min_by_key(|(since, _)| *since)
            else {
                return;
            };
            // A connection that cannot close is asked again after all others. One that has begun a request meanwhile is busy.
            let next = self.next_turn();
            if longest.idle_since.compare_exchange(since, next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return longest.close.notify_one();
            }
        }
    }

    fn next_turn(&self) -> u64 {
        self.0.turns.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl OpenConnection {
    /// Marks the connection as busy.
    pub(super) fn begin_request(&self) {
        self.activity.idle_since.store(BUSY, Ordering::Relaxed);
    }

    /// Marks the connection as idle.
    pub(super) fn end_request(&self) {
        self.activity.idle_since.store(self.registry.next_turn(), Ordering::Relaxed);
    }

    /// Whether no request is in progress.
    pub(super) fn is_idle(&self) -> bool {
        self.activity.idle_since.load(Ordering::Relaxed) != BUSY
    }

    /// Returns once the connection is asked to close. It may have become busy meanwhile.
    pub(super) async fn close_requested(&self) {
        self.activity.close.notified().await;
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.registry.0.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn is_asked(connection: &OpenConnection) -> bool {
        connection.close_requested().now_or_never().is_some()
    }

    #[test]
    fn longest_idle_connection_makes_room() {
        let connections = Connections::default();
        let [first, second, third] = [(); 3].map(|()| connections.open());
        first.begin_request();
        connections.close_longest_idle();
        assert!(!is_asked(&first) && is_asked(&second) && !is_asked(&third));
        connections.close_longest_idle();
        assert!(!is_asked(&second) && is_asked(&third), "each is asked in its turn");
        drop(second);
        first.end_request();
        connections.close_longest_idle();
        assert!(!is_asked(&first) && is_asked(&third));
        third.begin_request();
        first.begin_request();
        connections.close_longest_idle();
        assert!(!is_asked(&first) && !is_asked(&third));
        assert!(!first.is_idle());
    }
}

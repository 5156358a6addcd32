//! Counts of the writer's work, for whoever watches the service. Must not know how they are shown.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the start. Each is read by itself: two of them need not be of the same instant.
#[derive(Debug, Default)]
pub struct Tally {
    /// Writes that wait for the writer, or are in its hands.
    pub waiting: AtomicU64,
    /// Transactions that were committed.
    pub commits: AtomicU64,
    /// Transactions that could not be committed.
    pub failures: AtomicU64,
    /// Writes in all committed transactions.
    pub writes: AtomicU64,
    /// Transactions of at most so many writes as [`Tally::BATCHES`] says; those of more are in none.
    pub batches: [AtomicU64; Tally::BATCHES.len()],
    /// Events that were appended.
    pub events: AtomicU64,
}

impl Tally {
    /// The greatest sizes of the batches that are counted together.
    pub const BATCHES: [u64; 6] = [1, 4, 16, 64, 256, 512];

    /// Counts a batch that was committed.
    pub(super) fn committed(&self, writes: u64, events: u64) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(writes, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
        if let Some(place) = Tally::BATCHES.iter().position(|most| writes <= *most) {
            self.batches[place].fetch_add(1, Ordering::Relaxed);
        }
    }
}

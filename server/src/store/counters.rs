//! Counters of the writer's work, for the metrics. Must not know how the counters are shown.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counters since the start. Each is read on its own: two values may come from different instants.
#[derive(Debug, Default)]
pub struct WriterCounters {
    /// Writes in the queue or in the open batch.
    pub waiting: AtomicU64,
    /// Committed transactions. One transaction holds the writes of one batch.
    pub commits: AtomicU64,
    /// Transactions that could not be committed.
    pub failures: AtomicU64,
    /// Writes in all committed transactions.
    pub writes: AtomicU64,
    /// Committed transactions by size: entry n counts those of at most [`WriterCounters::BATCHES`]`[n]` writes, and more
    /// than the entry before. Larger transactions are in no entry.
    pub batches: [AtomicU64; WriterCounters::BATCHES.len()],
    /// Events appended.
    pub events: AtomicU64,
    /// Whether the last write with an outcome was refused: the disk is full, or another process holds the lock.
    pub is_refusing: AtomicBool,
}

impl WriterCounters {
    /// Upper bounds of the sizes in [`WriterCounters::batches`], in writes.
    pub const BATCHES: [u64; 6] = [1, 4, 16, 64, 256, 512];

    /// Counts a committed transaction of so many writes and events.
    pub(super) fn count_commit(&self, writes: u64, events: u64) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(writes, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
        self.is_refusing.store(false, Ordering::Relaxed);
        if let Some(index) = WriterCounters::BATCHES.iter().position(|most| writes <= *most) {
            self.batches[index].fetch_add(1, Ordering::Relaxed);
        }
    }
}

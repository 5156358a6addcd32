//! Encoded feed frames, shared by the streams of a home at the same position: the first stream reads the event log, and
//! the others reuse its frames. Must not know when a stream reads, nor how frames are sent.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use hearth_contract::schema::Kind;
use tokio::sync::OnceCell;

use crate::home::cursor::FeedCursor;
use crate::store::{HomeNumber, StoreError};

/// Entries per home. Streams that have caught up seldom differ by more.
const ENTRIES_MAX: usize = 8;

/// Identifies frames: position, filter and API version of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrameKey {
    /// The frames follow this cursor.
    pub cursor: FeedCursor,
    /// Only events of these kinds. Empty: all kinds.
    pub kinds: Vec<Kind>,
    /// The API version of the frames.
    pub version: &'static str,
}

/// The notification counters at the time of a read. A read that starts after a notification sees everything committed
/// before the notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signals {
    /// The newest event id that the home's notifications named.
    pub home: i64,
    /// The number of notifications about writes of other processes.
    pub external: u64,
}

impl Signals {
    fn is_current(self, wanted: Signals) -> bool {
        self.home >= wanted.home && self.external >= wanted.external
    }
}

/// The frames that one read of the event log produced.
#[derive(Debug)]
pub(crate) struct CachedFrames {
    /// The frames; empty without events.
    pub frames: Bytes,
    /// The cursor after these frames.
    pub next: FeedCursor,
    /// `next` as text, for the client.
    pub next_text: Arc<str>,
    /// Whether more events existed at the time of the read.
    pub has_more: bool,
    /// The newest event id of the home at the time of the read.
    pub head: i64,
}

/// The result of a read. None: the cursor is no longer valid.
pub(crate) type Lookup = Option<Arc<CachedFrames>>;

/// The frame caches of all homes with streams.
#[derive(Default)]
pub struct FrameCaches {
    homes: Mutex<HashMap<HomeNumber, Weak<FrameCache>>>,
}

impl FrameCaches {
    /// The frame cache of a home. The cache lives as long as a stream holds the `Arc`.
    pub(crate) fn cache_of(&self, home: HomeNumber) -> Arc<FrameCache> {
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cache) = homes.get(&home).and_then(Weak::upgrade) {
            return cache;
        }
        homes.retain(|_, cache| cache.strong_count() > 0);
        let cache = Arc::new(FrameCache::default());
        homes.insert(home, Arc::downgrade(&cache));
        cache
    }
}

/// The latest reads of the event log of a home.
#[derive(Default)]
pub(crate) struct FrameCache {
    entries: Mutex<VecDeque<CacheEntry>>,
}

struct CacheEntry {
    key: FrameKey,
    signals: Signals,
    cell: Arc<OnceCell<Lookup>>,
}

impl FrameCache {
    /// Returns the frames for a key: from the cache, or from `load`, whose result is cached. A failed load is not
    /// cached.
    pub(crate) async fn get_or_load<F: Future<Output = Result<Lookup, StoreError>>>(
        &self,
        key: &FrameKey,
        signals: Signals,
        load: impl FnOnce() -> F,
    ) -> Result<Lookup, StoreError> {
        let cell = self.cell(key, signals);
        cell.get_or_try_init(load).await.cloned()
    }

    fn cell(&self, key: &FrameKey, signals: Signals) -> Arc<OnceCell<Lookup>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        // An entry is valid until the next notification. Later its frames would still be correct, but a new read
        // returns more events at once, so a slow stream catches up.
        let is_valid = |entry: &&CacheEntry| entry.key == *key && entry.signals.is_current(signals);
        if let Some(entry) = entries.iter().rev().find(is_valid) {
            return entry.cell.clone();
        }
        if entries.len() == ENTRIES_MAX {
            entries.pop_front();
        }
        let cell = Arc::new(OnceCell::new());
        entries.push_back(CacheEntry { key: key.clone(), signals, cell: cell.clone() });
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(position: i64) -> FrameKey {
        FrameKey { cursor: FeedCursor { position, ..FeedCursor::default() }, kinds: Vec::new(), version: "v" }
    }

    fn frames(text: &'static str) -> Lookup {
        let next = FeedCursor { position: 9, ..FeedCursor::default() };
        Some(Arc::new(CachedFrames { frames: text.into(), next, next_text: "".into(), has_more: false, head: 9 }))
    }

    const fn signals(home: i64, external: u64) -> Signals {
        Signals { home, external }
    }

    /// The frames that a stream receives whose own read would return `own`.
    async fn get(cache: &FrameCache, position: i64, signals: Signals, own: &'static str) -> String {
        let found = cache.get_or_load(&key(position), signals, async || Ok(frames(own))).await.unwrap().unwrap();
        String::from_utf8(found.frames.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn frames_of_first_reader_serve_others() {
        let cache = FrameCache::default();
        assert_eq!(get(&cache, 1, signals(5, 0), "a").await, "a");
        assert_eq!(get(&cache, 1, signals(5, 0), "b").await, "a");
        assert_eq!(get(&cache, 1, signals(4, 0), "b").await, "a");
        assert_eq!(get(&cache, 2, signals(5, 0), "c").await, "c");
    }

    #[tokio::test]
    async fn frames_expire_at_next_notification() {
        let cache = FrameCache::default();
        assert_eq!(get(&cache, 1, signals(5, 0), "").await, "");
        assert_eq!(get(&cache, 1, signals(5, 0), "a").await, "");
        assert_eq!(get(&cache, 1, signals(5, 1), "a").await, "a");
        assert_eq!(get(&cache, 1, signals(6, 1), "b").await, "b");
    }

    #[tokio::test]
    async fn failed_load_is_repeated() {
        let cache = FrameCache::default();
        let failed = cache.get_or_load(&key(1), signals(5, 0), async || Err(StoreError::DiskFull)).await;
        assert!(failed.is_err());
        assert_eq!(get(&cache, 1, signals(5, 0), "a").await, "a");
    }
}

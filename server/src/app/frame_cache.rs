//! Frames that are made once for all streams of a home that stand at the same key: the first who entries there reads the
//! log, and who comes after takes what it found. Must not know when a stream entries, or how frames are sent.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use hearth_contract::schema::Kind;
use tokio::sync::OnceCell;

use crate::home::cursor::FeedCursor;
use crate::store::{Fault, HomeNo};

/// Looks that a home keeps at hand: streams that are level are seldom further apart.
const ENTRIES_MAX: usize = 8;

/// Where a stream stands, and in which form it wants what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrameKey {
    /// After this.
    pub cursor: FeedCursor,
    /// Only these kinds; none: all.
    pub kinds: Vec<Kind>,
    /// In the words of this version.
    pub version: &'static str,
}

/// What the bells had said when a stream looked: its home's, and that of other processes. What was committed before they
/// rang is seen by every look that begins after.
pub(crate) type Signals = (i64, u64);

/// What one look at the log has found.
#[derive(Debug)]
pub(crate) struct CachedFrames {
    /// The frames of the events; "" when there were none.
    pub frames: Bytes,
    /// Where to look next.
    pub next: FeedCursor,
    /// `next` as a text.
    pub next_text: Arc<str>,
    /// Whether there was more at this moment.
    pub has_more: bool,
    /// The home's head at this moment.
    pub head: i64,
}

/// What came of a look; None: the key is no longer good.
pub(crate) type Lookup = Option<Arc<CachedFrames>>;

/// The frame_caches of all homes that have streams.
#[derive(Default)]
pub struct FrameCaches {
    homes: Mutex<HashMap<HomeNo, Weak<FrameCache>>>,
}

impl FrameCaches {
    /// The cache of a home; it lasts as long as somebody holds it.
    pub(crate) fn of(&self, home: HomeNo) -> Arc<FrameCache> {
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

/// The latest entries at a home's log.
#[derive(Default)]
pub(crate) struct FrameCache {
    entries: Mutex<VecDeque<CacheEntry>>,
}

struct CacheEntry {
    key: FrameKey,
    signals: Signals,
    found: Arc<OnceCell<Lookup>>,
}

impl FrameCache {
    /// What follows a key: taken from the cache, or found by `look` and put there.
    pub(crate) async fn get_or_load<F: Future<Output = Result<Lookup, Fault>>>(
        &self,
        key: &FrameKey,
        signals: Signals,
        load: impl FnOnce() -> F,
    ) -> Result<Lookup, Fault> {
        let cell = self.cell(key, signals);
        cell.get_or_try_init(load).await.cloned()
    }

    fn cell(&self, key: &FrameKey, signals: Signals) -> Arc<OnceCell<Lookup>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        // A look holds until a bell rings. From then on it would still be true of what followed, but who entries anew gets
        // all there is by now: so a stream that lags writes more at once, and catches up.
        let holds = |kept: &CacheEntry| kept.key == *key && kept.signals.0 >= signals.0 && kept.signals.1 >= signals.1;
        if let Some(kept) = entries.iter().rev().find(|kept| holds(kept)) {
            return kept.found.clone();
        }
        if entries.len() == ENTRIES_MAX {
            entries.pop_front();
        }
        let found = Arc::new(OnceCell::new());
        entries.push_back(CacheEntry { key: key.clone(), signals, found: found.clone() });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(position: i64) -> FrameKey {
        FrameKey { cursor: FeedCursor { position, run: 1, ..FeedCursor::default() }, kinds: Vec::new(), version: "v" }
    }

    fn look(frames: &'static str) -> Lookup {
        let next = FeedCursor { position: 9, run: 1, ..FeedCursor::default() };
        Some(Arc::new(CachedFrames { frames: frames.into(), next, next_text: "".into(), has_more: false, head: 9 }))
    }

    /// What a stream at a key gets whose own look would find `own`.
    async fn get(cache: &FrameCache, position: i64, signals: Signals, own: &'static str) -> String {
        let found = cache.get_or_load(&key(position), signals, async || Ok(look(own))).await.unwrap().unwrap();
        String::from_utf8(found.frames.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn the_first_looks_for_all_who_stand_there() {
        let cache = FrameCache::default();
        assert_eq!(get(&cache, 1, (5, 0), "a").await, "a");
        assert_eq!(get(&cache, 1, (5, 0), "b").await, "a");
        assert_eq!(get(&cache, 1, (4, 0), "b").await, "a");
        assert_eq!(get(&cache, 2, (5, 0), "c").await, "c");
    }

    #[tokio::test]
    async fn what_was_found_holds_until_a_bell_rings() {
        let cache = FrameCache::default();
        assert_eq!(get(&cache, 1, (5, 0), "").await, "");
        assert_eq!(get(&cache, 1, (5, 0), "a").await, "");
        assert_eq!(get(&cache, 1, (5, 1), "a").await, "a");
        assert_eq!(get(&cache, 1, (6, 1), "b").await, "b");
    }

    #[tokio::test]
    async fn a_look_that_failed_is_made_again() {
        let cache = FrameCache::default();
        let failed = cache.get_or_load(&key(1), (5, 0), async || Err(Fault::DiskFull)).await;
        assert!(failed.is_err());
        assert_eq!(get(&cache, 1, (5, 0), "a").await, "a");
    }
}

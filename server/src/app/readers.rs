//! How far each reader of the feed has come: the open streams, and the keys that polled or streamed a short time ago. In memory
//! only. Must not know how events are sent; the time is an argument.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_contract::formats::Timestamp;

use crate::home::cursor::FeedCursor;

/// How long a reader without an open stream is remembered after its last page.
pub const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// Readers of all keys that are remembered. Beyond this limit, those without an open stream are forgotten, the oldest first.
const READERS_MAX: usize = 2000;

/// The way in which a reader gets events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By an event stream.
    Stream,
    /// By polling.
    Poll,
}

/// What is known of a reader at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The id of the key.
    pub key: String,
    /// How the reader gets events.
    pub way: Way,
    /// Whether the stream is open; false for polling.
    pub is_open: bool,
    /// The event id up to which the reader was served.
    pub position: i64,
    /// Whether the reader is still in its backfill, which retention does not end.
    pub is_backfill: bool,
    /// The moment at which events, or the lack of events, were served last.
    pub at: Timestamp,
}

/// One reader. The values change without a lock; two values may come from different instants.
struct Reader {
    way: Way,
    is_open: AtomicBool,
    position: AtomicI64,
    is_backfill: AtomicBool,
    at: AtomicI64,
}

impl Reader {
    fn served(&self, cursor: FeedCursor, now: Timestamp) {
        self.position.store(cursor.position, Ordering::Relaxed);
        self.is_backfill.store(cursor.is_backfill(), Ordering::Relaxed);
        self.at.store(now.millis(), Ordering::Relaxed);
    }

    fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    fn at(&self) -> i64 {
        self.at.load(Ordering::Relaxed)
    }

    fn is_remembered(&self, now: Timestamp) -> bool {
        self.is_open() || now.millis() - self.at() < REMEMBERED.as_millis() as i64
    }
}

/// The place of an open stream. Dropping the value closes the stream; its last position stays known for a while.
pub struct StreamPlace(Arc<Reader>);

impl StreamPlace {
    /// Stores up to where the stream was served.
    pub fn served(&self, cursor: FeedCursor, now: Timestamp) {
        self.0.served(cursor, now);
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.0.is_open.store(false, Ordering::Relaxed);
    }
}

/// The readers of each key (id).
#[derive(Default)]
pub struct FeedReaders(Mutex<HashMap<String, Vec<Arc<Reader>>>>);

impl FeedReaders {
    /// Adds a stream that starts after a cursor. It takes the place of a closed stream of the key: most streams are the same
    /// client again.
    pub fn open_stream(&self, key: &str, cursor: FeedCursor, now: Timestamp) -> StreamPlace {
        StreamPlace(self.place(key, Way::Stream, cursor, now))
    }

    /// Stores that a poll was served up to a cursor.
    pub fn polled(&self, key: &str, cursor: FeedCursor, now: Timestamp) {
        self.place(key, Way::Poll, cursor, now);
    }

    /// The remembered readers of the keys (ids) that `is_wanted` accepts.
    pub fn of_keys(&self, is_wanted: impl Fn(&str) -> bool, now: Timestamp) -> Vec<Progress> {
        let readers = self.lock();
        let wanted = readers.iter().filter(|(key, _)| is_wanted(key));
        let pairs = wanted.flat_map(|(key, readers)| readers.iter().map(move |reader| (key, reader)));
        let progress = |(key, reader): (&String, &Arc<Reader>)| Progress {
            key: key.clone(),
            way: reader.way,
            is_open: reader.is_open(),
            position: reader.position.load(Ordering::Relaxed),
            is_backfill: reader.is_backfill.load(Ordering::Relaxed),
            at: Timestamp::from_millis(reader.at()),
        };
        pairs.filter(|(_, reader)| reader.is_remembered(now)).map(progress).collect()
    }

    /// The place of a reader, marked as served.
    fn place(&self, key: &str, way: Way, cursor: FeedCursor, now: Timestamp) -> Arc<Reader> {
        let mut readers = self.lock();
        let known = readers.get(key).into_iter().flatten();
        let free = known.clone().find(|reader| reader.way == way && !reader.is_open());
        let reader = match free {
            Some(reader) => reader.clone(),
            None => {
                if readers.values().map(Vec::len).sum::<usize>() >= READERS_MAX {
                    forget(&mut readers, now);
                }
                let (position, at) = (AtomicI64::default(), AtomicI64::default());
                let reader = Arc::new(Reader { way, is_open: false.into(), position, is_backfill: false.into(), at });
                readers.entry(key.to_owned()).or_default().push(reader.clone());
                reader
            }
        };
        reader.is_open.store(way == Way::Stream, Ordering::Relaxed);
        reader.served(cursor, now);
        reader
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<Arc<Reader>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the readers that need not be remembered, or else the older half of those without an open stream.
fn forget(readers: &mut HashMap<String, Vec<Arc<Reader>>>, now: Timestamp) {
    let mut closed: Vec<i64> = readers.values().flatten().filter(|one| !one.is_open()).map(|one| one.at()).collect();
    closed.sort_unstable();
    let middle = closed.get(closed.len() / 2).copied().unwrap_or_default();
    readers
        .values_mut()
        .for_each(|readers| readers.retain(|one| one.is_remembered(now) && (one.is_open() || one.at() > middle)));
    readers.retain(|_, readers| !readers.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn cursor(position: i64) -> FeedCursor {
        FeedCursor { position, ..FeedCursor::default() }
    }

    fn shown(readers: &FeedReaders, now: i64) -> Vec<(Way, bool, i64)> {
        let mut found = readers.of_keys(|key| key == "k", at(now));
        found.sort_by_key(|reader| reader.position);
        found.iter().map(|reader| (reader.way, reader.is_open, reader.position)).collect()
    }

    #[test]
    fn closed_stream_keeps_its_place_for_a_day_and_the_next_one_takes_it() {
        let readers = FeedReaders::default();
        readers.polled("k", cursor(3), at(0));
        readers.polled("other", cursor(4), at(0));
        let first = readers.open_stream("k", cursor(5), at(0));
        let second = readers.open_stream("k", cursor(6), at(0));
        first.served(cursor(7), at(1));
        assert_eq!(shown(&readers, 1), [(Way::Poll, false, 3), (Way::Stream, true, 6), (Way::Stream, true, 7)]);
        drop(first);
        readers.polled("k", cursor(8), at(2));
        assert_eq!(shown(&readers, 2), [(Way::Stream, true, 6), (Way::Stream, false, 7), (Way::Poll, false, 8)]);
        let third = readers.open_stream("k", cursor(9), at(3));
        assert_eq!(shown(&readers, 3), [(Way::Stream, true, 6), (Way::Poll, false, 8), (Way::Stream, true, 9)]);
        drop(third);
        assert_eq!(shown(&readers, 3 + 24 * 3600), [(Way::Stream, true, 6)]);
        drop(second);
        assert!(shown(&readers, 3 + 24 * 3600).is_empty());
    }

    #[test]
    fn readers_are_limited_and_open_streams_stay() {
        let readers = FeedReaders::default();
        let open = readers.open_stream("k", cursor(1), at(0));
        for number in 0..3 * READERS_MAX {
            readers.polled(&number.to_string(), cursor(1), at(number as i64));
        }
        let all = readers.of_keys(|_| true, at(0));
        assert!(all.len() <= READERS_MAX && all.iter().any(|reader| reader.is_open), "{}", all.len());
        let newest = (3 * READERS_MAX - 1).to_string();
        assert!(all.iter().any(|reader| reader.key == newest));
        drop(open);
    }
}

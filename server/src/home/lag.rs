//! How far a reader of the feed lies behind, and when retention will end its cursor. Must not know who reads, nor the clock.

use std::time::Duration;

use hearth_contract::formats::Timestamp;

use crate::store::homes::Home;
use crate::store::{StoreError, Tx, events};

/// Events that are counted one by one. Beyond them, the distance of the event ids is the lag.
const COUNTED_MAX: usize = 200;

/// The distance between a reader and the head of its home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lag {
    /// Events that the reader has not been served.
    pub events: i64,
    /// The moment of the first of them. None: there is none.
    pub since: Option<Timestamp>,
    /// When the cursor of the reader ends.
    pub end: CursorEnd,
}

/// When the cursor of a reader ends, so that the reader has to compare all records (contract 9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorEnd {
    /// Never: the home keeps all events.
    Never,
    /// Not during the backfill of the reader.
    NotInBackfill,
    /// It has ended: events after the position were removed.
    Already,
    /// At this moment or later: then the first event that the reader misses is older than retention.
    NotBefore(Timestamp),
}

/// The lag of a reader at a position. `retention`: how long events are kept; None: forever.
pub fn lag_of(
    tx: &Tx<'_>,
    home: &Home,
    position: i64,
    is_backfill: bool,
    now: Timestamp,
    retention: Option<Duration>,
) -> Result<Lag, StoreError> {
    let counted = events::count_after(tx, home.number, position, COUNTED_MAX)?;
    let events = if counted < COUNTED_MAX { counted as i64 } else { home.head - position };
    let since = if counted == 0 { None } else { events::first_moment_after(tx, home.number, position)? };
    let end = match retention {
        _ if is_backfill => CursorEnd::NotInBackfill,
        _ if position < home.compacted_pos => CursorEnd::Already,
        None => CursorEnd::Never,
        // A reader that has read everything misses the next event at the earliest.
        Some(kept) => CursorEnd::NotBefore(since.unwrap_or(now).plus_millis(kept.as_millis() as i64)),
    };
    Ok(Lag { events, since, end })
}

//! Pages of a home's feed, from a cursor or from the beginning, and whether a cursor is still valid (contract 9). Must not
//! know whether the reader polls or streams.

use hearth_contract::event::StoredEvent;
use hearth_contract::problem::{Problem, ProblemType};
use hearth_contract::schema::Kind;
use hearth_simulated::{PlantedFault, planted};
use serde_json::Value;
use uuid::Uuid;

use super::cursor::{CursorError, FeedCursor};
use crate::store::events::{self, Following, ReadLimit};
use crate::store::homes::{self, Epoch, Home};
use crate::store::{HomeNumber, StoreError, Tx};

/// Where a reader starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedStart {
    /// With the oldest event: a backfill.
    Oldest,
    /// With the next event from now on.
    Present,
    /// After the event of a cursor. The text is as the client sent it.
    After(String),
}

/// How much a page holds at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit {
    /// Events.
    pub events: usize,
    /// Bytes of record JSON. The event that reaches the limit is the last event of the page.
    pub bytes: usize,
}

/// A page of the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedPage {
    /// The events.
    pub events: Vec<StoredEvent>,
    /// The cursor for the next page. The cursor also passes events that the filter on kinds leaves out.
    pub next: FeedCursor,
    /// `next` as text.
    pub next_text: String,
    /// Whether events follow the page. With a filter on kinds, the following events may all be of other kinds.
    pub has_more: bool,
    /// The head of the home.
    pub head: i64,
    home: Uuid,
    /// The epochs of the page.
    epochs: Vec<Epoch>,
}

impl FeedPage {
    /// The text of the cursor after an event of the page. Only streams need one for each event.
    pub fn cursor_text_after(&self, event: &StoredEvent) -> String {
        cursor_at(event.id, self.next, &self.epochs).encode(self.home)
    }
}

/// The cursor with which a reader starts, or the refusal of the reader's cursor.
pub fn start(
    tx: &Tx<'_>,
    number: HomeNumber,
    from: &FeedStart,
    retention_seconds: Option<u64>,
) -> Result<Result<FeedCursor, Problem>, StoreError> {
    let home = homes::load(tx, number)?;
    match from {
        FeedStart::Oldest => Ok(Ok(backfill_to_head(tx, &home, FeedCursor::default())?)),
        FeedStart::Present => Ok(Ok(cursor_at_head(tx, &home)?)),
        FeedStart::After(text) => match FeedCursor::decode(text, home.id) {
            Ok(cursor) => validate(tx, &home, cursor, retention_seconds),
            Err(error) => Ok(Err(cursor_problem(error))),
        },
    }
}

/// The page after a cursor, or the refusal of the cursor: compaction or a restore may invalidate a cursor between two
/// pages. No kind given means all kinds.
pub fn read_page(
    tx: &Tx<'_>,
    number: HomeNumber,
    cursor: FeedCursor,
    kinds: &[Kind],
    limit: PageLimit,
    retention_seconds: Option<u64>,
) -> Result<Result<FeedPage, Problem>, StoreError> {
    let home = homes::load(tx, number)?;
    let cursor = match validate(tx, &home, cursor, retention_seconds)? {
        // A record that changed since the backfill began appears at its new position only. The backfill ends there.
        Ok(cursor) if cursor.is_backfill() => backfill_to_head(tx, &home, cursor)?,
        Ok(cursor) => cursor,
        Err(problem) => return Ok(Err(problem)),
    };
    let Following { events: mut found, paused_at } = read_following(tx, &home, cursor, kinds, limit)?;
    let kept = count_within(&found, limit);
    let is_cut = found.len() > kept;
    found.truncate(kept);
    let position = match paused_at {
        _ if is_cut => found.last().map_or(cursor.position, |event| event.id),
        Some(paused_at) => paused_at,
        None => home.head,
    };

    let epochs = homes::epochs_between(tx, number, cursor.position, position)?;
    let next = cursor_at(position, cursor, &epochs);
    Ok(Ok(FeedPage {
        events: found,
        next,
        next_text: next.encode(home.id),
        has_more: is_cut || paused_at.is_some(),
        head: home.head,
        home: home.id,
        epochs,
    }))
}

/// The cursor of a position, for a reader whose backfill began as that of another cursor.
fn cursor_at(position: i64, reader: FeedCursor, epochs: &[Epoch]) -> FeedCursor {
    FeedCursor { start: reader.start, start_run: reader.start_run, ..cursor_in_epochs(position, epochs) }
}

/// Events after a cursor, at least one more than the page may hold, if there are as many. A backfill below the retention
/// horizon also gets the tombstones there (contract 9.2).
fn read_following(
    tx: &Tx<'_>,
    home: &Home,
    cursor: FeedCursor,
    kinds: &[Kind],
    limit: PageLimit,
) -> Result<Following, StoreError> {
    let read_limit = ReadLimit { events: limit.events + 1, bytes: limit.bytes };
    let mut following = events::after(tx, home.number, cursor.position, kinds, read_limit)?;
    let has_tombstones = cursor.is_backfill() && cursor.position < home.retention_pos;
    if has_tombstones && !planted(PlantedFault::TombstonesOmitted) {
        let last_read = following.events.get(limit.events).map(|event| event.id).or(following.paused_at);
        let up_to = last_read.map_or(home.retention_pos, |last| last.min(home.retention_pos));
        let tombstones = events::tombstones(tx, home.number, cursor.position, up_to, kinds, limit.events + 1)?;
        following.events.extend(tombstones);
        following.events.sort_by_key(|event| event.id);
    }
    Ok(following)
}

/// How many of the events fit on a page.
fn count_within(events: &[StoredEvent], limit: PageLimit) -> usize {
    let mut bytes = 0;
    let fitting = events.iter().take_while(|event| {
        let bytes_before = bytes;
        bytes += event.payload.as_ref().map_or(0, String::len);
        bytes_before < limit.bytes
    });
    fitting.count().min(limit.events)
}

/// Whether a cursor is still valid.
pub fn is_valid(tx: &Tx<'_>, number: HomeNumber, cursor: FeedCursor) -> Result<bool, StoreError> {
    Ok(validate(tx, &homes::load(tx, number)?, cursor, None)?.is_ok())
}

/// Whether the history of a cursor is the history of this database, and complete after the cursor (contract 9.3).
fn validate(
    tx: &Tx<'_>,
    home: &Home,
    cursor: FeedCursor,
    retention_seconds: Option<u64>,
) -> Result<Result<FeedCursor, Problem>, StoreError> {
    if let Some(foreign) = foreign_epoch(tx, home, cursor)?
        && !planted(PlantedFault::RestoreIgnored)
    {
        let fork = fork_position(tx, home, cursor, foreign)?;
        return expired(tx, home, Expiry::Restored, fork, retention_seconds).map(Err);
    }
    let is_backfill = cursor.is_backfill() && !planted(PlantedFault::BackfillExpires);
    if cursor.position < home.compacted_pos && !is_backfill && !planted(PlantedFault::RetentionGapIgnored) {
        return expired(tx, home, Expiry::Retention, None, retention_seconds).map(Err);
    }
    Ok(Ok(cursor))
}

/// An epoch that a cursor names and that did not write the position in this database. `None` inside: the cursor names no
/// epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ForeignEpoch(Option<i64>);

/// The foreign epoch of a cursor, if the cursor comes from another history. The start of a backfill is compared too: a
/// backfill leaves out records that change before its start, and a restore may discard exactly these changes.
fn foreign_epoch(tx: &Tx<'_>, home: &Home, cursor: FeedCursor) -> Result<Option<ForeignEpoch>, StoreError> {
    let start = cursor.start.filter(|_| cursor.is_backfill()).map(|start| (start, cursor.start_run));
    for (position, epoch) in [(cursor.position, cursor.run)].into_iter().chain(start) {
        if position > home.head || epoch_at(tx, home.number, position)?.map(|found| found.number) != epoch {
            return Ok(Some(ForeignEpoch(epoch)));
        }
    }
    Ok(None)
}

/// The last position that the history of a cursor shares with this database. None: unknown.
fn fork_position(
    tx: &Tx<'_>,
    home: &Home,
    cursor: FeedCursor,
    ForeignEpoch(epoch): ForeignEpoch,
) -> Result<Option<i64>, StoreError> {
    // A restored database may be older than the epoch of the cursor, but know the epoch before.
    let by_parent = match cursor.parent {
        Some(parent) if epoch == cursor.run => {
            shared_with(tx, home, Some(parent))?.map(|shared| shared.min(cursor.origin - 1))
        }
        _ => None,
    };
    let fork = shared_with(tx, home, epoch)?.max(by_parent);
    Ok(fork.map(|fork| fork.min(cursor.position)))
}

/// The last position at which the history of an epoch is the history of this database. None: the epoch is unknown here.
fn shared_with(tx: &Tx<'_>, home: &Home, epoch: Option<i64>) -> Result<Option<i64>, StoreError> {
    let ended = match epoch {
        Some(epoch) => homes::end_of_epoch(tx, home.number, epoch)?,
        None => None,
    };
    // The epoch that writes now shares all positions up to the head, even if the cursor lies beyond the head.
    Ok(ended.or((epoch == home.epoch).then_some(home.head)))
}

/// The same cursor, as a backfill that ends at the present head.
fn backfill_to_head(tx: &Tx<'_>, home: &Home, cursor: FeedCursor) -> Result<FeedCursor, StoreError> {
    let start_run = epoch_at(tx, home.number, home.head)?.map(|epoch| epoch.number);
    Ok(FeedCursor { start: Some(home.head), start_run, ..cursor })
}

/// The cursor of a reader that has read all events.
fn cursor_at_head(tx: &Tx<'_>, home: &Home) -> Result<FeedCursor, StoreError> {
    Ok(cursor_in_epochs(home.head, &homes::epochs_between(tx, home.number, home.head, home.head)?))
}

/// Why a cursor expired (contract 9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expiry {
    Retention,
    Restored,
}

impl Expiry {
    /// The word in `details.reason`.
    const fn as_str(self) -> &'static str {
        match self {
            Expiry::Retention => "retention",
            Expiry::Restored => "restored",
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Expiry::Retention => "Events after this cursor are older than retention and no longer kept one by one.",
            Expiry::Restored => "This home was restored to an older copy; the cursor is from another history.",
        }
    }
}

/// The refusal of an expired cursor: 410 with the details of contract 9.3.
fn expired(
    tx: &Tx<'_>,
    home: &Home,
    reason: Expiry,
    fork: Option<i64>,
    retention_seconds: Option<u64>,
) -> Result<Problem, StoreError> {
    let resume = cursor_at_head(tx, home)?;
    let limit = ReadLimit { events: 1, bytes: usize::MAX };
    let retained = events::after(tx, home.number, home.retention_pos, &[], limit)?;
    let retained_since = retained.events.first().map_or(Value::Null, |event| event.created_at.to_string().into());
    Ok(Problem::new(ProblemType::CursorExpired, reason.message())
        .with("reason", reason.as_str())
        .with("resume_cursor", resume.encode(home.id))
        .with("retained_since", retained_since)
        .with("retention_seconds", retention_seconds.map_or(Value::Null, Value::from))
        .with("fork", fork.map_or(Value::Null, Value::from)))
}

/// The refusal of a text that is no cursor for this request.
pub fn cursor_problem(error: CursorError) -> Problem {
    let message = match error {
        CursorError::Altered => "The cursor is not one that this service gave out.",
        CursorError::OtherHome => "The cursor belongs to another home.",
        CursorError::OtherUse => "The cursor was given out by another path, or for another question.",
    };
    Problem::new(ProblemType::InvalidCursor, message).with("parameter", "cursor")
}

/// The cursor of a position, by the epochs around the position.
fn cursor_in_epochs(position: i64, epochs: &[Epoch]) -> FeedCursor {
    match epoch_in(epochs, position) {
        Some(Epoch { number, origin, parent, .. }) => {
            FeedCursor { position, run: Some(number), origin, parent, ..FeedCursor::default() }
        }
        None => FeedCursor { position, ..FeedCursor::default() },
    }
}

fn epoch_at(tx: &Tx<'_>, number: HomeNumber, position: i64) -> Result<Option<Epoch>, StoreError> {
    Ok(epoch_in(&homes::epochs_between(tx, number, position, position)?, position))
}

/// The epoch of a position: the last epoch that begins at or before the position.
fn epoch_in(epochs: &[Epoch], position: i64) -> Option<Epoch> {
    epochs.iter().rev().find(|epoch| epoch.first_pos <= position).copied()
}

#[cfg(test)]
mod tests {
    use hearth_contract::event::EventType;
    use hearth_contract::formats::Timestamp;

    use super::*;

    fn event(bytes: usize) -> StoredEvent {
        StoredEvent {
            id: 1,
            event_type: EventType::Created,
            kind: Kind::Room,
            record: Uuid::nil(),
            payload: Some("x".repeat(bytes)),
            created_at: Timestamp::from_millis(0),
            idempotency_key: None,
        }
    }

    #[test]
    fn page_ends_at_event_that_reaches_byte_limit() {
        let events: Vec<StoredEvent> = [10, 10, 10].into_iter().map(event).collect();
        for (limit, bytes, expected) in [(5, 100, 3), (2, 100, 2), (5, 10, 1), (5, 11, 2), (5, 20, 2), (0, 100, 0)] {
            assert_eq!(count_within(&events, PageLimit { events: limit, bytes }), expected, "{limit} {bytes}");
        }
    }

    #[test]
    fn position_belongs_to_last_epoch_at_or_before_it() {
        let epoch = |number, first_pos| Epoch { number, first_pos, origin: first_pos, parent: None };
        let epochs = [epoch(7, 1), epoch(9, 5)];
        for (position, expected) in [(0, None), (1, Some(7)), (4, Some(7)), (5, Some(9)), (100, Some(9))] {
            assert_eq!(epoch_in(&epochs, position).map(|epoch| epoch.number), expected, "{position}");
        }
    }
}

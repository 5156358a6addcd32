//! Reading a home's feed: on from a cursor, or from the beginning; and whether a cursor is still good (contract 9).
//! Must not know whether the reader polls or streams.

use hearth_contract::event::StoredEvent;
use hearth_contract::problem::{Problem, ProblemType};
use hearth_contract::schema::Kind;
use serde_json::Value;

use super::cursor::{FeedCursor, Unreadable};
use crate::store::events::{self, Following};
use crate::store::homes::{self, Home, Run};
use crate::store::{Fault, HomeNo, Tx};

/// Where a reader wants to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begin {
    /// With the oldest there is: a full backfill.
    Oldest,
    /// With what happens from now on.
    Present,
    /// After this cursor, as it was given.
    After(String),
}

/// How much a piece may hold at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// Events.
    pub events: usize,
    /// Bytes of the records in them; the event that reaches this is the last.
    pub bytes: usize,
}

/// A piece of the feed.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// The events, each with the cursor text that follows it.
    pub events: Vec<(StoredEvent, String)>,
    /// Where to read on. Also passes events that the kinds leave out.
    pub next: FeedCursor,
    /// `next` as a text.
    pub next_text: String,
    /// Whether there was more at this moment, perhaps of other kinds alone.
    pub has_more: bool,
    /// The home's head at this moment.
    pub head: i64,
}

/// The cursor a reader begins with, or why it cannot.
pub fn begin(
    tx: &Tx<'_>,
    number: HomeNo,
    from: &Begin,
    retention_seconds: Option<u64>,
) -> Result<Result<FeedCursor, Problem>, Fault> {
    let home = homes::load(tx, number)?;
    match from {
        Begin::Oldest => Ok(Ok(from_nothing(tx, &home, FeedCursor::default())?)),
        Begin::Present => Ok(Ok(level(tx, &home)?)),
        Begin::After(text) => match FeedCursor::read(text, home.id) {
            Ok(cursor) => judge(tx, &home, cursor, retention_seconds),
            Err(reason) => Ok(Err(unreadable(reason))),
        },
    }
}

/// The next piece after a cursor, or the refusal if the cursor is no longer good: history may be thinned out or put
/// back between two pieces.
pub fn read(
    tx: &Tx<'_>,
    number: HomeNo,
    cursor: FeedCursor,
    kinds: &[Kind],
    most: Most,
    retention_seconds: Option<u64>,
) -> Result<Result<Piece, Problem>, Fault> {
    let limit = most.events;
    let home = homes::load(tx, number)?;
    let cursor = match judge(tx, &home, cursor, retention_seconds)? {
        // What has changed since it began is shown where it stands now, and perhaps not where it stood before.
        Ok(cursor) if cursor.is_first_read() => from_nothing(tx, &home, cursor)?,
        Ok(cursor) => cursor,
        Err(problem) => return Ok(Err(problem)),
    };
    let Following { events: mut found, paused_at } =
        events::after(tx, number, cursor.position, kinds, (limit + 1, most.bytes))?;
    let graves = !hearth_simulated::planted(hearth_simulated::Fault::TombstonesOmitted);
    if cursor.is_first_read() && cursor.position < home.aged && graves {
        let seen_to = found.get(limit).map(|event| event.id).or(paused_at);
        let up_to = home.aged.min(seen_to.unwrap_or(i64::MAX));
        found.extend(events::graves(tx, number, cursor.position, up_to, kinds, limit + 1)?);
        found.sort_by_key(|event| event.id);
    }
    let mut bytes = 0;
    let within = found.iter().take_while(|event| {
        let before = bytes;
        bytes += event.payload.as_ref().map_or(0, String::len);
        before < most.bytes
    });
    let fits = within.count().min(limit);
    let is_cut = found.len() > fits;
    found.truncate(fits);

    let has_more = is_cut || paused_at.is_some();
    let position = match paused_at {
        _ if is_cut => found.last().map_or(cursor.position, |event| event.id),
        Some(passed) => passed,
        None => home.head,
    };
    let runs = homes::runs(tx, number, cursor.position, position)?;
    let at = |position: i64| FeedCursor { start: cursor.start, start_run: cursor.start_run, ..place(position, &runs) };
    let next = at(position);
    Ok(Ok(Piece {
        events: found
            .into_iter()
            .map(|event| {
                let text = at(event.id).write(home.id);
                (event, text)
            })
            .collect(),
        next,
        next_text: next.write(home.id),
        has_more,
        head: home.head,
    }))
}

/// Whether a reader at a cursor could read on.
pub fn is_good(tx: &Tx<'_>, number: HomeNo, cursor: FeedCursor) -> Result<bool, Fault> {
    Ok(judge(tx, &homes::load(tx, number)?, cursor, None)?.is_ok())
}

/// Whether the history that a cursor names is still this one and still whole after it (contract 9.3).
fn judge(
    tx: &Tx<'_>,
    home: &Home,
    cursor: FeedCursor,
    retention_seconds: Option<u64>,
) -> Result<Result<FeedCursor, Problem>, Fault> {
    if let Some(run) = of_another_history(tx, home, cursor)?
        && !hearth_simulated::planted(hearth_simulated::Fault::RestoreIgnored)
    {
        // A copy that is older than the run, or than where the run went on after another had written, knows that other one
        // perhaps.
        let before = match run == cursor.run && cursor.parent != 0 {
            true => shared_with(tx, home, cursor.parent)?.map(|shared| shared.min(cursor.origin - 1)),
            false => None,
        };
        let fork = shared_with(tx, home, run)?.max(before);
        let fork = fork.map(|fork| fork.min(cursor.position));
        return expired(tx, home, "restored", fork, retention_seconds).map(Err);
    }
    let first_read = cursor.is_first_read() && !hearth_simulated::planted(hearth_simulated::Fault::BackfillExpires);
    let unnoticed = hearth_simulated::planted(hearth_simulated::Fault::RetentionGapIgnored);
    if cursor.position < home.thinned && !first_read && !unnoticed {
        return expired(tx, home, "retention", None, retention_seconds).map(Err);
    }
    Ok(Ok(cursor))
}

/// The run of a cursor that this history does not have at its position. A first read does not show a record whose
/// change is still to come: should that change be thrown away, nobody would show it any more.
fn of_another_history(tx: &Tx<'_>, home: &Home, cursor: FeedCursor) -> Result<Option<i64>, Fault> {
    let start = cursor.is_first_read().then_some((cursor.start, cursor.start_run));
    for (position, run) in [(cursor.position, cursor.run)].into_iter().chain(start) {
        if position > home.head || run_at(tx, home.number, position)?.number != run {
            return Ok(Some(run));
        }
    }
    Ok(None)
}

/// The same place of a reader who reads from nothing up to the present head.
fn from_nothing(tx: &Tx<'_>, home: &Home, cursor: FeedCursor) -> Result<FeedCursor, Fault> {
    Ok(FeedCursor { start: home.head, start_run: run_at(tx, home.number, home.head)?.number, ..cursor })
}

/// The place of a reader who is level with the home.
fn level(tx: &Tx<'_>, home: &Home) -> Result<FeedCursor, Fault> {
    Ok(place(home.head, &[run_at(tx, home.number, home.head)?]))
}

fn expired(
    tx: &Tx<'_>,
    home: &Home,
    reason: &str,
    fork: Option<i64>,
    retention_seconds: Option<u64>,
) -> Result<Problem, Fault> {
    let resume = level(tx, home)?;
    let retained = events::after(tx, home.number, home.aged, &[], (1, usize::MAX))?;
    let message = match reason {
        "restored" => "This home was put back to an older copy; the cursor is from another history.",
        _ => "Events after this cursor are older than retention and no longer kept one by one.",
    };
    Ok(Problem::new(ProblemType::CursorExpired, message)
        .with("reason", reason)
        .with("resume_cursor", resume.write(home.id))
        .with(
            "retained_since",
            retained.events.first().map_or(Value::Null, |event| event.created_at.to_string().into()),
        )
        .with("retention_seconds", retention_seconds.map_or(Value::Null, Value::from))
        .with("fork", fork.map_or(Value::Null, Value::from)))
}

/// The refusal of a text that is no cursor of this home's feed.
pub fn unreadable(reason: Unreadable) -> Problem {
    let message = match reason {
        Unreadable::Altered => "The cursor is not one that this service gave out.",
        Unreadable::OtherHome => "The cursor belongs to another home.",
        Unreadable::OtherUse => "The cursor was given out by another path, or for another question.",
    };
    Problem::new(ProblemType::InvalidCursor, message).with("parameter", "cursor")
}

/// The cursor of a position that one of these runs wrote.
fn place(position: i64, runs: &[Run]) -> FeedCursor {
    let Run { number, origin, parent, .. } = run_of(runs, position);
    FeedCursor { position, run: number, origin, parent, ..FeedCursor::default() }
}

fn run_at(tx: &Tx<'_>, number: HomeNo, position: i64) -> Result<Run, Fault> {
    Ok(run_of(&homes::runs(tx, number, position, position)?, position))
}

fn run_of(runs: &[Run], position: i64) -> Run {
    runs.iter().rev().find(|run| run.first <= position).copied().unwrap_or_default()
}

/// Up to where a run's history is this one; None: it is unknown here.
fn shared_with(tx: &Tx<'_>, home: &Home, run: i64) -> Result<Option<i64>, Fault> {
    // One that still writes here shares all there is, though a cursor of it may be beyond.
    Ok(homes::end_of_run(tx, home.number, run)?.or((run == home.run).then_some(home.head)))
}

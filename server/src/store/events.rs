//! The event log of each home: append, read from a position, and remove what is older than retention. Must not know
//! cursors, or what the events mean.

use hearth_contract::event::{EventType, StoredEvent};
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{OptionalExtension, Row};

use super::error::StoreError;
use super::home_number::{HomeNumber, event_id};
use super::receipts;
use super::records::{id, kind, number, text};
use super::tx::Tx;

/// Appends an event, whose id must be higher than the head of the home. `author`: the name of the person or the key that
/// writes; stored with a delete alone, because every other event names its author in its JSON. The new head must be saved
/// in the same job.
pub fn append(tx: &Tx<'_>, home: HomeNumber, event: &StoredEvent, author: &str) -> Result<(), StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO events (event_rowid, kind, event_type, record, at, key, body, deleted_by)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let deleted_by = (event.event_type == EventType::Deleted).then_some(author);
    statement.execute((
        home.event_rowid(event.id),
        number(event.kind),
        type_code(event.event_type),
        text(&event.record),
        event.created_at.millis(),
        &event.idempotency_key,
        &event.payload,
        deleted_by,
    ))?;
    tx.pending.borrow_mut().events_appended += 1;
    tx.first_appended.set(tx.first_appended.get().or(Some(home.event_rowid(event.id))));
    if let Some(body) = &event.payload {
        tx.event_bytes.set(tx.event_bytes.get() + body.len() as i64);
    }
    tx.is_head_unsaved.set(true);
    tx.commit_early_if(hearth_simulated::PlantedFault::EventInOwnTransaction)
}

/// The record JSON of an event. None: the event left the log, or deleted its record.
pub fn payload(tx: &Tx<'_>, home: HomeNumber, event: i64) -> Result<Option<String>, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT body FROM events WHERE event_rowid = ?1")?;
    Ok(statement.query_row([home.event_rowid(event)], |row| row.get(0)).optional()?.flatten())
}

/// Events of other kinds that one read skips at most. Without a limit, the search for a rare kind would read the whole
/// log while other reads wait.
const SKIPPED_MAX: usize = 10_000;

/// Events that follow a position.
#[derive(Debug, Default)]
pub struct Following {
    /// In ascending order of their ids.
    pub events: Vec<StoredEvent>,
    /// The last event looked at, when the read stopped after `SKIPPED_MAX` events of other kinds. None: the read
    /// reached its limit or the head.
    pub paused_at: Option<i64>,
}

/// How much one read returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimit {
    /// Events at most.
    pub events: usize,
    /// Bytes of record JSON, after which exactly one more event is read.
    pub bytes: usize,
}

/// Events after a position, of the given kinds; no kind given means all kinds.
pub fn after(
    tx: &Tx<'_>,
    home: HomeNumber,
    position: i64,
    kinds: &[Kind],
    limit: ReadLimit,
) -> Result<Following, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT event_rowid, kind, event_type, record, at, key, body FROM events
         WHERE event_rowid > ?1 AND event_rowid < ?2 ORDER BY event_rowid",
    )?;
    let mut rows = statement.query((home.event_rowid(position), home.rowid_end()))?;
    let (mut found, mut bytes, mut skipped) = (Following::default(), 0, 0);
    while found.events.len() < limit.events {
        let Some(row) = rows.next()? else { break };
        if !kinds.is_empty() && !kinds.contains(&kind(row.get(1)?)?) {
            skipped += 1;
            if skipped == SKIPPED_MAX {
                found.paused_at = Some(event_id(row.get(0)?));
                break;
            }
            continue;
        }
        let (event, is_last) = (read_event(row)?, bytes >= limit.bytes);
        bytes += event.payload.as_ref().map_or(0, String::len);
        found.events.push(event);
        if is_last {
            break;
        }
    }
    Ok(found)
}

/// Tombstones between two positions, of records created at or before the first position: a backfill that stands at the
/// first position may have read these records (contract 9.2).
pub fn tombstones(
    tx: &Tx<'_>,
    home: HomeNumber,
    after: i64,
    up_to: i64,
    kinds: &[Kind],
    limit: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!(
        "SELECT event_rowid, kind, 2, record, at, key, NULL FROM tombstones
         WHERE event_rowid > ?1 AND event_rowid <= ?2 AND created <= ?3 {} ORDER BY event_rowid LIMIT ?4",
        kind_condition(kinds)
    ))?;
    let params = (home.event_rowid(after), home.event_rowid(up_to), after, limit as i64);
    let rows = statement.query_and_then(params, read_event)?;
    rows.collect()
}

/// The latest events of a home, the newest first, each with the name of the person or the key that deleted its record.
/// None: the event is no delete.
pub fn latest(tx: &Tx<'_>, home: HomeNumber, limit: usize) -> Result<Vec<(StoredEvent, Option<String>)>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT event_rowid, kind, event_type, record, at, key, body, deleted_by FROM events
         WHERE event_rowid > ?1 AND event_rowid < ?2 ORDER BY event_rowid DESC LIMIT ?3",
    )?;
    let rows = statement.query_and_then((home.event_rowid(0), home.rowid_end(), limit as i64), |row| {
        Ok::<_, StoreError>((read_event(row)?, row.get(7)?))
    })?;
    rows.collect()
}

/// The number of events after a position, at most `max`.
pub fn count_after(tx: &Tx<'_>, home: HomeNumber, position: i64, max: usize) -> Result<usize, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM events WHERE event_rowid > ?1 AND event_rowid < ?2 LIMIT ?3)",
    )?;
    let count: i64 =
        statement.query_row((home.event_rowid(position), home.rowid_end(), max as i64), |row| row.get(0))?;
    Ok(count as usize)
}

/// The lowest event id in the log of a home. None: the log is empty.
pub fn oldest_id(tx: &Tx<'_>, home: HomeNumber) -> Result<Option<i64>, StoreError> {
    let mut statement =
        tx.conn.prepare_cached("SELECT min(event_rowid) FROM events WHERE event_rowid > ?1 AND event_rowid < ?2")?;
    let rowid: Option<i64> = statement.query_row((home.event_rowid(0), home.rowid_end()), |row| row.get(0))?;
    Ok(rowid.map(event_id))
}

/// The moment of the first event after a position. None: no event follows.
pub fn first_moment_after(tx: &Tx<'_>, home: HomeNumber, position: i64) -> Result<Option<Timestamp>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT at FROM events WHERE event_rowid > ?1 AND event_rowid < ?2 ORDER BY event_rowid LIMIT 1",
    )?;
    let found = statement.query_row((home.event_rowid(position), home.rowid_end()), |row| row.get(0)).optional()?;
    Ok(found.map(Timestamp::from_millis))
}

/// An event older than retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpiredEvent {
    /// The event id.
    pub id: i64,
    /// Whether the event holds the current JSON of its record.
    pub is_current: bool,
    /// Whether the event deleted its record.
    pub is_delete: bool,
}

/// Events after a position that happened before a moment, in ascending order of their ids, at most `limit`.
pub fn expired(
    tx: &Tx<'_>,
    home: HomeNumber,
    after: i64,
    before: Timestamp,
    limit: usize,
) -> Result<Vec<ExpiredEvent>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT e.event_rowid, r.rev, e.event_type, e.at FROM events e JOIN records r ON r.home = ?1 AND r.id = e.record
         WHERE e.event_rowid > ?2 AND e.event_rowid < ?3 ORDER BY e.event_rowid LIMIT ?4",
    )?;
    let mut rows = statement.query((home.0, home.event_rowid(after), home.rowid_end(), limit as i64))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(3)? >= before.millis() {
            break;
        }
        let id = event_id(row.get(0)?);
        let is_delete = parse_type(row.get(2)?)? == EventType::Deleted;
        found.push(ExpiredEvent { id, is_current: row.get::<_, i64>(1)? == id && !is_delete, is_delete });
    }
    Ok(found)
}

/// Removes an event from the log. A receipt that stands on the body of the event gets a copy. The home must be saved in the
/// same job.
pub fn remove(tx: &Tx<'_>, home: HomeNumber, event: i64) -> Result<(), StoreError> {
    let mut delete = tx.conn.prepare_cached("DELETE FROM events WHERE event_rowid = ?1 RETURNING key, body")?;
    let removed: Option<(Option<String>, Option<String>)> =
        delete.query_row([home.event_rowid(event)], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((key, Some(body))) = removed else { return Ok(()) };
    tx.event_bytes.set(tx.event_bytes.get() - body.len() as i64);
    match key {
        Some(key) => receipts::copy_event(tx, home, &key, event, &body),
        None => Ok(()),
    }
}

/// Moves a delete event from the log to the tombstones.
pub fn move_to_tombstones(tx: &Tx<'_>, home: HomeNumber, event: i64) -> Result<(), StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO tombstones (event_rowid, kind, record, created, at, key)
         SELECT e.event_rowid, e.kind, e.record, r.created, e.at, e.key
         FROM events e JOIN records r ON r.home = ?2 AND r.id = e.record WHERE e.event_rowid = ?1",
    )?;
    statement.execute((home.event_rowid(event), home.0))?;
    remove(tx, home, event)
}

/// An SQL condition for the given kinds; empty for all kinds.
fn kind_condition(kinds: &[Kind]) -> String {
    if kinds.is_empty() {
        return String::new();
    }
    let numbers: Vec<String> = kinds.iter().map(|kind| number(*kind).to_string()).collect();
    format!("AND kind IN ({})", numbers.join(","))
}

fn read_event(row: &Row<'_>) -> Result<StoredEvent, StoreError> {
    Ok(StoredEvent {
        id: event_id(row.get(0)?),
        kind: kind(row.get(1)?)?,
        event_type: parse_type(row.get(2)?)?,
        record: id(row.get_ref(3)?.as_str().unwrap_or_default())?,
        created_at: Timestamp::from_millis(row.get(4)?),
        idempotency_key: row.get(5)?,
        payload: row.get(6)?,
    })
}

/// The number under which a type is stored.
fn type_code(event_type: EventType) -> i64 {
    match event_type {
        EventType::Created => 0,
        EventType::Updated => 1,
        EventType::Deleted => 2,
    }
}

fn parse_type(code: i64) -> Result<EventType, StoreError> {
    match code {
        0 => Ok(EventType::Created),
        1 => Ok(EventType::Updated),
        2 => Ok(EventType::Deleted),
        _ => Err(StoreError::Corrupt(format!("event_type {code}"))),
    }
}

//! The log of each home: appending, reading on from a position, and thinning out what is older than retention.

use hearth_contract::event::{EventType, StoredEvent};
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::Row;

use super::records::{id, kind, number, text};
use super::{Fault, HomeNo, Tx, event_of_seat};

/// Appends an event. Its id must be the home's head plus one.
pub fn append(tx: &Tx<'_>, home: HomeNo, event: &StoredEvent) -> Result<(), Fault> {
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO events (seat, kind, event_type, record, at, key, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    statement.execute((
        home.seat(event.id),
        number(event.kind),
        code(event.event_type),
        text(&event.record),
        event.created_at.millis(),
        &event.idempotency_key,
        &event.payload,
    ))?;
    tx.appended.update(|count| count + 1);
    tx.ahead.set(true);
    tx.tear(hearth_simulated::Fault::EventInOwnTransaction)
}

/// Events of other kinds that are passed by in one go. A kind that is rare would otherwise have the whole log looked
/// through while others wait.
const PASSED_MAX: usize = 10_000;

/// Events that follow a position.
#[derive(Debug, Default)]
pub struct Following {
    /// In id order.
    pub events: Vec<StoredEvent>,
    /// The last that was looked at, where so many of other kinds were passed by that it is enough for one go.
    pub paused_at: Option<i64>,
}

/// Events after a position in id order, at most `limit`, of these kinds (none given: of all). Once their records have this
/// many bytes, one more is read and no further.
pub fn after(
    tx: &Tx<'_>,
    home: HomeNo,
    position: i64,
    kinds: &[Kind],
    (limit, bytes_max): (usize, usize),
) -> Result<Following, Fault> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT seat, kind, event_type, record, at, key, body FROM events
         WHERE seat > ?1 AND seat < ?2 ORDER BY seat",
    )?;
    let mut rows = statement.query((home.seat(position), home.end()))?;
    let (mut found, mut bytes, mut passed) = (Following::default(), 0, 0);
    while found.events.len() < limit {
        let Some(row) = rows.next()? else { break };
        if !kinds.is_empty() && !kinds.contains(&kind(row.get(1)?)?) {
            passed += 1;
            if passed == PASSED_MAX {
                found.paused_at = Some(event_of_seat(row.get(0)?));
                break;
            }
            continue;
        }
        let (event, is_last) = (event(row)?, bytes >= bytes_max);
        bytes += event.payload.as_ref().map_or(0, String::len);
        found.events.push(event);
        if is_last {
            break;
        }
    }
    Ok(found)
}

/// Deletes older than retention between two positions, of records created at or before the first one: a reader there
/// may have seen these (contract 9.2).
pub fn graves(
    tx: &Tx<'_>,
    home: HomeNo,
    after: i64,
    up_to: i64,
    kinds: &[Kind],
    limit: usize,
) -> Result<Vec<StoredEvent>, Fault> {
    let mut statement = tx.conn.prepare_cached(&format!(
        "SELECT seat, kind, 2, record, at, key, NULL FROM graves
         WHERE seat > ?1 AND seat <= ?2 AND created <= ?3 {} ORDER BY seat LIMIT ?4",
        among(kinds)
    ))?;
    let rows = statement.query_and_then((home.seat(after), home.seat(up_to), after, limit as i64), event)?;
    rows.collect()
}

/// The lowest event id that a first read shows.
pub fn oldest(tx: &Tx<'_>, home: HomeNo) -> Result<Option<i64>, Fault> {
    let mut statement = tx.conn.prepare_cached("SELECT min(seat) FROM events WHERE seat > ?1 AND seat < ?2")?;
    let seat: Option<i64> = statement.query_row((home.seat(0), home.end()), |row| row.get(0))?;
    Ok(seat.map(event_of_seat))
}

/// An event that has become older than retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aged {
    /// Its id.
    pub id: i64,
    /// Whether it is still its record's image.
    pub current: bool,
    /// Whether it deleted its record.
    pub deleted: bool,
}

/// Events after a position that happened before a moment, in id order, at most `limit`.
pub fn aged(tx: &Tx<'_>, home: HomeNo, after: i64, before: Timestamp, limit: usize) -> Result<Vec<Aged>, Fault> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT e.seat, r.rev, e.event_type, e.at FROM events e JOIN records r ON r.home = ?1 AND r.id = e.record
         WHERE e.seat > ?2 AND e.seat < ?3 ORDER BY e.seat LIMIT ?4",
    )?;
    let mut rows = statement.query((home.0, home.seat(after), home.end(), limit as i64))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(3)? >= before.millis() {
            break;
        }
        let id = event_of_seat(row.get(0)?);
        let deleted = event_type(row.get(2)?)? == EventType::Deleted;
        found.push(Aged { id, current: row.get::<_, i64>(1)? == id && !deleted, deleted });
    }
    Ok(found)
}

/// Takes an event out of the log.
pub fn remove(tx: &Tx<'_>, home: HomeNo, event: i64) -> Result<(), Fault> {
    tx.conn.prepare_cached("DELETE FROM events WHERE seat = ?1")?.execute([home.seat(event)])?;
    Ok(())
}

/// Moves a delete out of the log to where only unfinished first reads look.
pub fn bury(tx: &Tx<'_>, home: HomeNo, event: i64) -> Result<(), Fault> {
    let mut statement = tx.conn.prepare_cached(
        "INSERT INTO graves (seat, kind, record, created, at, key)
         SELECT e.seat, e.kind, e.record, r.created, e.at, e.key
         FROM events e JOIN records r ON r.home = ?2 AND r.id = e.record WHERE e.seat = ?1",
    )?;
    statement.execute((home.seat(event), home.0))?;
    remove(tx, home, event)
}

fn among(kinds: &[Kind]) -> String {
    if kinds.is_empty() {
        return String::new();
    }
    let numbers: Vec<String> = kinds.iter().map(|kind| number(*kind).to_string()).collect();
    format!("AND kind IN ({})", numbers.join(","))
}

fn event(row: &Row<'_>) -> Result<StoredEvent, Fault> {
    Ok(StoredEvent {
        id: event_of_seat(row.get(0)?),
        kind: kind(row.get(1)?)?,
        event_type: event_type(row.get(2)?)?,
        record: id(row.get_ref(3)?.as_str().unwrap_or_default())?,
        created_at: Timestamp::from_millis(row.get(4)?),
        idempotency_key: row.get(5)?,
        payload: row.get(6)?,
    })
}

fn code(event_type: EventType) -> i64 {
    match event_type {
        EventType::Created => 0,
        EventType::Updated => 1,
        EventType::Deleted => 2,
    }
}

fn event_type(code: i64) -> Result<EventType, Fault> {
    match code {
        0 => Ok(EventType::Created),
        1 => Ok(EventType::Updated),
        2 => Ok(EventType::Deleted),
        _ => Err(Fault::Corrupt(format!("event_type {code}"))),
    }
}

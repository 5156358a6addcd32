//! A home's past: which records changed after a position and what they were then, and cutting the log off there. Must
//! not know why anybody would.

use hearth_contract::schema::Kind;
use rusqlite::OptionalExtension;
use uuid::Uuid;

use super::homes::Home;
use super::records::{id, kind};
use super::{Fault, HomeNo, Tx, event_of_seat};

/// A record that changed after a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub id: Uuid,
    /// The event that created it.
    pub created: i64,
    /// Its wire JSON now; None: it is deleted.
    pub now: Option<String>,
    /// Its wire JSON then; None: it was not there, or what it was is no longer kept.
    pub then: Option<String>,
}

/// The position after which a number of events happened. None: there were not so many. Of what was thinned out each
/// position counts as an event, because nothing else is left of most.
pub fn before_last(tx: &Tx<'_>, home: &Home, events: u64) -> Result<Option<i64>, Fault> {
    let (aged, end) = (home.number.seat(home.aged), HomeNo(home.number.0 + 1).seat(0));
    let mut statement = tx
        .conn
        .prepare_cached("SELECT seat FROM events WHERE seat > ?1 AND seat < ?2 ORDER BY seat DESC LIMIT 1 OFFSET ?3")?;
    let events = i64::try_from(events).unwrap_or(i64::MAX);
    let seat = statement.query_row((aged, end, events), |row| row.get(0)).optional()?;
    if let Some(seat) = seat {
        return Ok(Some(event_of_seat(seat)));
    }
    let mut count = tx.conn.prepare_cached("SELECT count(*) FROM events WHERE seat > ?1 AND seat < ?2")?;
    let whole: i64 = count.query_row((aged, end), |row| row.get(0))?;
    Ok(Some(home.aged - (events - whole)).filter(|position| *position >= 0))
}

/// The lowest position from which on it is known what every record was.
pub fn known_from(tx: &Tx<'_>, home: HomeNo) -> Result<i64, Fault> {
    let mut statement = tx.conn.prepare(
        "WITH firsts AS (SELECT record, min(seat) - ?2 AS first FROM events WHERE seat > ?2 AND seat < ?3 GROUP BY record)
         SELECT coalesce(max(coalesce(f.first, r.rev)), 0)
         FROM records r LEFT JOIN firsts f ON f.record = r.id
         WHERE r.home = ?1 AND coalesce(f.first, r.rev) > r.created",
    )?;
    Ok(statement.query_row((home.0, home.seat(0), HomeNo(home.0 + 1).seat(0)), |row| row.get(0))?)
}

/// The records that changed after a position, in no order.
pub fn changed_after(tx: &Tx<'_>, home: HomeNo, position: i64) -> Result<Vec<Undone>, Fault> {
    let mut statement = tx.conn.prepare(
        "WITH changed AS (SELECT id, kind, created, rev, deleted FROM records WHERE home = ?1 AND rev > ?2),
              past AS (SELECT record, max(seat) AS seat FROM events
                       WHERE seat > ?3 AND seat <= ?4 AND record IN (SELECT id FROM changed) GROUP BY record)
         SELECT c.id, c.kind, c.created, now.body, past_event.body
         FROM changed c
         LEFT JOIN events now ON now.seat = ?3 + c.rev AND c.deleted = 0
         LEFT JOIN past ON past.record = c.id
         LEFT JOIN events past_event ON past_event.seat = past.seat",
    )?;
    let mut rows = statement.query((home.0, position, home.seat(0), home.seat(position)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(Undone {
            id: id(row.get_ref(0)?.as_str().unwrap_or_default())?,
            kind: kind(row.get(1)?)?,
            created: row.get(2)?,
            now: row.get(3)?,
            then: row.get(4)?,
        });
    }
    Ok(found)
}

/// Cuts a home off after a position: events, runs and receipts of later are gone, and it stands there as it did then.
pub fn cut(tx: &Tx<'_>, home: &Home, position: i64) -> Result<(), Fault> {
    let number = home.number;
    let (after, end) = (number.seat(position), HomeNo(number.0 + 1).seat(0));
    let moment: i64 = tx
        .conn
        .query_row(
            "SELECT at FROM events WHERE seat > ?1 AND seat <= ?2 ORDER BY seat DESC LIMIT 1",
            (number.seat(0), after),
            |row| row.get(0),
        )
        .optional()?
        .unwrap_or(0);
    let mut receipts = tx.conn.prepare_cached(
        "DELETE FROM receipts WHERE home = ?1
         AND (at > ?2 OR key IN (SELECT key FROM events WHERE seat > ?3 AND seat < ?4 AND key IS NOT NULL))",
    )?;
    receipts.execute((number.0, moment, after, end))?;
    tx.conn.execute("DELETE FROM events WHERE seat > ?1 AND seat < ?2", (after, end))?;
    tx.conn.execute("DELETE FROM graves WHERE seat > ?1 AND seat < ?2", (after, end))?;
    tx.conn.execute("DELETE FROM runs WHERE home = ?1 AND first > ?2", (number.0, position))?;
    tx.conn.execute(
        "UPDATE homes SET head = ?2, clock = ?3, aged = min(aged, ?2), thinned = min(thinned, ?2),
                floor = CASE WHEN floor > ?2 THEN 0 ELSE floor END,
                run = coalesce((SELECT run FROM runs WHERE home = ?1 ORDER BY first DESC LIMIT 1), 0)
         WHERE number = ?1",
        (number.0, position, moment),
    )?;
    tx.rung.borrow_mut().push((number, position));
    Ok(())
}

//! Earlier states of a home: the records that changed after a position, their JSON at the position, and the removal of the
//! later history. Must not know why a home is rewound.

use hearth_contract::schema::Kind;
use rusqlite::OptionalExtension;
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::{HomeNumber, event_id};
use super::homes::Home;
use super::records::{id, kind};
use super::tx::Tx;

/// A record that changed after a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedRecord {
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record.
    pub id: Uuid,
    /// The id of the event that created the record.
    pub created: i64,
    /// The present JSON. None: the record is deleted.
    pub now: Option<String>,
    /// The JSON at the position. None: the record did not exist, or compaction removed the event with the JSON.
    pub then: Option<String>,
}

/// The position with exactly `events` events after it. None: the home had fewer events. Below the retention horizon each
/// position counts as one event, because compaction removed most events.
pub fn before_last(tx: &Tx<'_>, home: &Home, events: u64) -> Result<Option<i64>, StoreError> {
    let (horizon, end) = (home.number.event_rowid(home.retention_pos), home.number.rowid_end());
    let mut statement = tx.conn.prepare_cached(
        "SELECT event_rowid FROM events WHERE event_rowid > ?1 AND event_rowid < ?2
         ORDER BY event_rowid DESC LIMIT 1 OFFSET ?3",
    )?;
    let events = i64::try_from(events).unwrap_or(i64::MAX);
    let rowid = statement.query_row((horizon, end, events), |row| row.get(0)).optional()?;
    if let Some(rowid) = rowid {
        return Ok(Some(event_id(rowid)));
    }
    let mut count =
        tx.conn.prepare_cached("SELECT count(*) FROM events WHERE event_rowid > ?1 AND event_rowid < ?2")?;
    let complete: i64 = count.query_row((horizon, end), |row| row.get(0))?;
    Ok(Some(home.retention_pos - (events - complete)).filter(|position| *position >= 0))
}

/// The lowest position from which on the JSON of each record at each position is still stored.
pub fn known_from(tx: &Tx<'_>, home: HomeNumber) -> Result<i64, StoreError> {
    let mut statement = tx.conn.prepare(
        "WITH firsts AS (SELECT record, min(event_rowid) - ?2 AS first FROM events
                         WHERE event_rowid > ?2 AND event_rowid < ?3 GROUP BY record)
         SELECT coalesce(max(coalesce(f.first, r.rev)), 0)
         FROM records r LEFT JOIN firsts f ON f.record = r.id
         WHERE r.home = ?1 AND coalesce(f.first, r.rev) > r.created",
    )?;
    Ok(statement.query_row((home.0, home.event_rowid(0), home.rowid_end()), |row| row.get(0))?)
}

/// The records that changed after a position, in no particular order.
pub fn changed_after(tx: &Tx<'_>, home: HomeNumber, position: i64) -> Result<Vec<ChangedRecord>, StoreError> {
    let mut statement = tx.conn.prepare(
        "WITH changed AS (SELECT id, kind, created, rev, deleted FROM records WHERE home = ?1 AND rev > ?2),
              past AS (SELECT record, max(event_rowid) AS event_rowid FROM events
                       WHERE event_rowid > ?3 AND event_rowid <= ?4 AND record IN (SELECT id FROM changed)
                       GROUP BY record)
         SELECT c.id, c.kind, c.created, now.body, past_event.body
         FROM changed c
         LEFT JOIN events now ON now.event_rowid = ?3 + c.rev AND c.deleted = 0
         LEFT JOIN past ON past.record = c.id
         LEFT JOIN events past_event ON past_event.event_rowid = past.event_rowid",
    )?;
    let mut rows = statement.query((home.0, position, home.event_rowid(0), home.event_rowid(position)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(ChangedRecord {
            id: id(row.get_ref(0)?.as_str().unwrap_or_default())?,
            kind: kind(row.get(1)?)?,
            created: row.get(2)?,
            now: row.get(3)?,
            then: row.get(4)?,
        });
    }
    Ok(found)
}

/// The position of the last change of a record, deletes included. 0: the home is empty.
pub fn last_change(tx: &Tx<'_>, home: HomeNumber) -> Result<i64, StoreError> {
    let mut statement = tx.conn.prepare("SELECT coalesce(max(rev), 0) FROM records WHERE home = ?1")?;
    Ok(statement.query_row([home.0], |row| row.get(0))?)
}

/// Removes the history of a home after a position: events, tombstones, epochs and receipts. The row of the home becomes
/// as the row was at the position.
pub fn cut_history(tx: &Tx<'_>, home: &Home, position: i64) -> Result<(), StoreError> {
    let number = home.number;
    let (after, end) = (number.event_rowid(position), number.rowid_end());
    let moment: Option<i64> = tx
        .conn
        .query_row(
            "SELECT at FROM events WHERE event_rowid > ?1 AND event_rowid <= ?2 ORDER BY event_rowid DESC LIMIT 1",
            (number.event_rowid(0), after),
            |row| row.get(0),
        )
        .optional()?;
    let mut receipts = tx.conn.prepare_cached(
        "DELETE FROM receipts WHERE home = ?1
         AND (?2 IS NULL OR at > ?2
              OR key IN (SELECT key FROM events WHERE event_rowid > ?3 AND event_rowid < ?4 AND key IS NOT NULL))",
    )?;
    receipts.execute((number.0, moment, after, end))?;
    tx.conn.execute("DELETE FROM events WHERE event_rowid > ?1 AND event_rowid < ?2", (after, end))?;
    tx.conn.execute("DELETE FROM tombstones WHERE event_rowid > ?1 AND event_rowid < ?2", (after, end))?;
    tx.conn.execute("DELETE FROM epochs WHERE home = ?1 AND first_pos > ?2", (number.0, position))?;
    tx.conn.execute(
        "UPDATE homes SET head = ?2, last_updated_at = ?3,
                retention_pos = min(retention_pos, ?2), compacted_pos = min(compacted_pos, ?2),
                event_bytes = (SELECT coalesce(sum(octet_length(body)), 0) FROM events
                               WHERE event_rowid > ?4 AND event_rowid <= ?4 + ?2),
                receipt_bytes = (SELECT coalesce(sum(octet_length(body)), 0) FROM receipts WHERE home = ?1),
                oldest_event_at = (SELECT at FROM events WHERE event_rowid > ?4 + retention_pos AND event_rowid <= ?4 + ?2
                                   ORDER BY event_rowid LIMIT 1),
                next_event_min = CASE WHEN next_event_min > ?2 THEN 0 ELSE next_event_min END,
                epoch = (SELECT epoch FROM epochs WHERE home = ?1 ORDER BY first_pos DESC LIMIT 1)
         WHERE number = ?1",
        (number.0, position, moment, number.event_rowid(0)),
    )?;
    tx.pending.borrow_mut().new_heads.push((number, position));
    Ok(())
}

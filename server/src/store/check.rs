//! Looking whether the tables agree: each function gives sentences about what does not. Must not know what images mean.

use std::collections::HashSet;

use hearth_contract::schema::Kind;
use uuid::Uuid;

use super::records::{id, kind};
use super::{Fault, HomeNo, Tx};

/// Faults of one sort that are told; one damaged page can make thousands.
const FAULTS_MAX: usize = 100;

/// Faults of the file itself: pages, indexes, constraints and references between tables.
pub fn database(tx: &Tx<'_>) -> Result<Vec<String>, Fault> {
    let mut integrity = tx.conn.prepare(&format!("PRAGMA integrity_check({FAULTS_MAX})"))?;
    let said: Vec<String> = integrity.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut faults: Vec<String> = said.into_iter().filter(|said| said != "ok").collect();
    if !faults.is_empty() {
        // Looking at the rows of such a file may fail, and what was found would be lost.
        return Ok(faults);
    }
    let mut strays = tx.conn.prepare("PRAGMA foreign_key_check")?;
    let mut rows = strays.query([])?;
    while let Some(row) = rows.next()?.filter(|_| faults.len() < FAULTS_MAX) {
        faults.push(format!("a row of {} names nothing in {}", row.get::<_, String>(0)?, row.get::<_, String>(2)?));
    }
    Ok(faults)
}

/// Records and events of a home that exist: how many of each.
pub fn count(tx: &Tx<'_>, home: HomeNo) -> Result<(i64, i64), Fault> {
    let records = "SELECT count(*) FROM records WHERE home = ?1 AND deleted = 0";
    let events = "SELECT count(*) FROM events WHERE seat > ?1 AND seat < ?2";
    Ok((
        tx.conn.query_row(records, [home.0], |row| row.get(0))?,
        tx.conn.query_row(events, [home.seat(0), HomeNo(home.0 + 1).seat(0)], |row| row.get(0))?,
    ))
}

/// What each sort of disagreement between log and entries is called, and the ids of the events or records in it.
/// `?1` is the home, `?2` its first seat, `?3` one past its last, `?4` its head.
const DISAGREEMENTS: [(&str, &str); 8] = [
    ("event after the head", "SELECT seat - ?2 FROM events WHERE seat > ?2 + ?4 AND seat < ?3"),
    (
        "event of a record without entry",
        "SELECT e.seat - ?2 FROM events e LEFT JOIN records r ON r.home = ?1 AND r.id = e.record
         WHERE e.seat > ?2 AND e.seat < ?3 AND r.id IS NULL",
    ),
    (
        "event later than its record's entry, or of another kind",
        "SELECT e.seat - ?2 FROM events e JOIN records r ON r.home = ?1 AND r.id = e.record
         WHERE e.seat > ?2 AND e.seat < ?3 AND (e.seat - ?2 > r.rev OR e.kind <> r.kind)",
    ),
    (
        "record without its image in the log",
        "SELECT r.id FROM records r LEFT JOIN events e ON e.seat = ?2 + r.rev AND e.record = r.id
         WHERE r.home = ?1 AND r.deleted = 0 AND (e.event_type IS NULL OR e.event_type = 2 OR e.body IS NULL)",
    ),
    (
        "deleted record that the feed ends with",
        "SELECT r.id FROM records r JOIN events e ON e.seat = ?2 + r.rev AND e.record = r.id
         WHERE r.home = ?1 AND r.deleted = 1 AND e.event_type <> 2
         UNION
         SELECT e.record FROM events e JOIN records r ON r.home = ?1 AND r.id = e.record
         LEFT JOIN events d ON d.seat = ?2 + r.rev AND d.record = r.id
         WHERE e.seat > ?2 AND e.seat < ?3 AND r.deleted = 1 AND d.seat IS NULL",
    ),
    (
        "deleted record that neither log nor graves know",
        "SELECT r.id FROM records r WHERE r.home = ?1 AND r.deleted = 1
           AND NOT EXISTS (SELECT 1 FROM events e WHERE e.seat = ?2 + r.rev)
           AND NOT EXISTS (SELECT 1 FROM graves g WHERE g.seat = ?2 + r.rev)",
    ),
    (
        "record created after it last changed, or after the head",
        "SELECT id FROM records WHERE home = ?1 AND (created > rev OR rev > ?4 OR created < 1)",
    ),
    (
        "profile under another id than its home's",
        "SELECT r.id FROM records r JOIN homes h ON h.number = r.home WHERE r.home = ?1 AND r.kind = 6 AND r.id <> h.id",
    ),
];

/// Where a home's log, entries and head disagree. Nothing of it: folding the log from its start gives the entries.
pub fn log(tx: &Tx<'_>, home: HomeNo, head: i64) -> Result<Vec<String>, Fault> {
    let mut faults = Vec::new();
    for (what, sql) in DISAGREEMENTS {
        // Every number is bound in every statement, whether it is needed there or not.
        let sql = format!("SELECT * FROM ({sql}) WHERE coalesce(?1, ?2, ?3, ?4) IS NOT NULL LIMIT {FAULTS_MAX}");
        let mut statement = tx.conn.prepare(&sql)?;
        let mut rows = statement.query((home.0, home.seat(0), HomeNo(home.0 + 1).seat(0), head))?;
        while let Some(row) = rows.next()? {
            let which = match row.get_ref(0)? {
                rusqlite::types::ValueRef::Integer(id) => id.to_string(),
                other => other.as_str().unwrap_or_default().to_owned(),
            };
            faults.push(format!("{what}: {which}"));
        }
    }
    Ok(faults)
}

/// A reference as the index of links has it: from a record of a kind to a target.
pub type Link = (Uuid, Kind, Uuid);

/// All links of a home.
pub fn links(tx: &Tx<'_>, home: HomeNo) -> Result<HashSet<Link>, Fault> {
    let mut statement = tx.conn.prepare("SELECT target, kind, record FROM links WHERE home = ?1")?;
    let rows = statement.query_and_then([home.0], |row| -> Result<Link, Fault> {
        let text = |column| -> Result<Uuid, Fault> { id(row.get_ref(column)?.as_str().unwrap_or_default()) };
        Ok((text(0)?, kind(row.get(1)?)?, text(2)?))
    })?;
    rows.collect()
}

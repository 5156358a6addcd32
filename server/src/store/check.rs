//! Integrity checks of the file and of the tables against each other. Each function returns sentences about what is wrong.
//! Must not know what the JSON of a record means.

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::tx::Tx;

/// Sentences of one sort at most. One damaged page can cause thousands.
const FAULTS_MAX: usize = 100;

/// Faults of the file: pages, indexes, constraints and foreign keys.
pub fn database(tx: &Tx<'_>) -> Result<Vec<String>, StoreError> {
    let mut integrity = tx.conn.prepare(&format!("PRAGMA integrity_check({FAULTS_MAX})"))?;
    let results: Vec<String> = integrity.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut faults: Vec<String> = results.into_iter().filter(|result| result != "ok").collect();
    if !faults.is_empty() {
        // Reading the rows of a damaged file may fail, and the faults found so far would be lost.
        return Ok(faults);
    }
    let mut violations = tx.conn.prepare("PRAGMA foreign_key_check")?;
    let mut rows = violations.query([])?;
    while let Some(row) = rows.next()?.filter(|_| faults.len() < FAULTS_MAX) {
        let (table, parent) = (row.get::<_, String>(0)?, row.get::<_, String>(2)?);
        faults.push(format!("a row of {table} refers to a row of {parent} that does not exist"));
    }
    Ok(faults)
}

/// The number of existing records and the number of events of a home.
pub fn count(tx: &Tx<'_>, home: HomeNumber) -> Result<(i64, i64), StoreError> {
    let records = "SELECT count(*) FROM records WHERE home = ?1 AND deleted = 0";
    let events = "SELECT count(*) FROM events WHERE event_rowid > ?1 AND event_rowid < ?2";
    Ok((
        tx.conn.query_row(records, [home.0], |row| row.get(0))?,
        tx.conn.query_row(events, [home.event_rowid(0), home.rowid_end()], |row| row.get(0))?,
    ))
}

/// Contradictions between `events`, `tombstones`, `records` and `homes`: a description, and a query for the ids of the
/// events or records. `?1` is the home, `?2` the row id of position 0, `?3` the row id after the last event, `?4` the head.
const CONTRADICTIONS: [(&str, &str); 19] = [
    ("event after the head", "SELECT event_rowid - ?2 FROM events WHERE event_rowid > ?2 + ?4 AND event_rowid < ?3"),
    (
        "head after the last event, which is",
        "SELECT last FROM (SELECT coalesce(max(rev), 0) AS last FROM records WHERE home = ?1) WHERE last < ?4",
    ),
    (
        "event at another moment than its image says",
        "SELECT event_rowid - ?2 FROM events WHERE event_rowid > ?2 AND event_rowid < ?3 AND body IS NOT NULL
           AND at IS NOT CAST(round(unixepoch(body ->> 'updated_at', 'subsec') * 1000) AS INTEGER)",
    ),
    (
        "event earlier than the event before it",
        "SELECT event_rowid - ?2 FROM (SELECT event_rowid, at, lag(at) OVER (ORDER BY event_rowid) AS before
             FROM (SELECT event_rowid, at FROM events WHERE event_rowid > ?2 AND event_rowid < ?3
                   UNION ALL SELECT event_rowid, at FROM tombstones WHERE event_rowid > ?2 AND event_rowid < ?3))
         WHERE at < before",
    ),
    (
        "last event at another moment than the home's last",
        "SELECT e.event_rowid - ?2 FROM events e JOIN homes h ON h.number = ?1
         WHERE e.event_rowid = ?2 + ?4 AND e.at IS NOT h.last_updated_at",
    ),
    (
        "home whose events have another size",
        "SELECT h.id FROM homes h WHERE h.number = ?1 AND h.event_bytes <>
             (SELECT coalesce(sum(octet_length(body)), 0) FROM events WHERE event_rowid > ?2 AND event_rowid < ?3)",
    ),
    (
        "home whose receipts have another size",
        "SELECT h.id FROM homes h WHERE h.number = ?1 AND h.receipt_bytes <>
             (SELECT coalesce(sum(octet_length(body)), 0) FROM receipts WHERE home = ?1)",
    ),
    (
        "home whose files have another size",
        "SELECT h.id FROM homes h WHERE h.number = ?1
             AND h.file_bytes <> (SELECT coalesce(sum(size_bytes), 0) FROM files WHERE home = ?1)",
    ),
    (
        "home whose imports have another size",
        "SELECT h.id FROM homes h WHERE h.number = ?1 AND h.import_bytes <>
             (SELECT coalesce(sum(octet_length(request) + coalesce(octet_length(body), 0)), 0) FROM imports WHERE home = ?1)
             + (SELECT coalesce(sum(octet_length(r.result)), 0) FROM import_rows r JOIN imports i ON i.number = r.import
                WHERE i.home = ?1)",
    ),
    (
        "home whose readings and jobs have another size",
        "SELECT h.id FROM homes h WHERE h.number = ?1 AND h.capture_bytes <>
             (SELECT coalesce(sum(bytes), 0) FROM readings WHERE home = ?1)
             + (SELECT coalesce(sum(bytes), 0) FROM captures WHERE home = ?1)",
    ),
    (
        "file whose row does not say whether a document or a job names the file",
        "SELECT sha256 FROM files WHERE home = ?1 AND (unused_since IS NULL) <> (EXISTS
             (SELECT 1 FROM field_values v WHERE v.home = ?1 AND v.kind = 3 AND v.field = 7 AND v.value = sha256)
             OR EXISTS (SELECT 1 FROM capture_files c WHERE c.home = ?1 AND c.sha256 = files.sha256))",
    ),
    (
        "home whose oldest event is of another moment",
        "SELECT h.id FROM homes h WHERE h.number = ?1 AND h.oldest_event_at IS NOT
             (SELECT at FROM events WHERE event_rowid > ?2 + h.retention_pos AND event_rowid < ?3 ORDER BY event_rowid LIMIT 1)",
    ),
    (
        "event of a record without entry",
        "SELECT e.event_rowid - ?2 FROM events e LEFT JOIN records r ON r.home = ?1 AND r.id = e.record
         WHERE e.event_rowid > ?2 AND e.event_rowid < ?3 AND r.id IS NULL",
    ),
    (
        "event later than its record's entry, or of another kind",
        "SELECT e.event_rowid - ?2 FROM events e JOIN records r ON r.home = ?1 AND r.id = e.record
         WHERE e.event_rowid > ?2 AND e.event_rowid < ?3 AND (e.event_rowid - ?2 > r.rev OR e.kind <> r.kind)",
    ),
    (
        "record without its image in the log",
        "SELECT r.id FROM records r LEFT JOIN events e ON e.event_rowid = ?2 + r.rev AND e.record = r.id
         WHERE r.home = ?1 AND r.deleted = 0 AND (e.event_type IS NULL OR e.event_type = 2 OR e.body IS NULL)",
    ),
    (
        "deleted record whose last event in the feed is no delete",
        "SELECT r.id FROM records r JOIN events e ON e.event_rowid = ?2 + r.rev AND e.record = r.id
         WHERE r.home = ?1 AND r.deleted = 1 AND e.event_type <> 2
         UNION
         SELECT e.record FROM events e JOIN records r ON r.home = ?1 AND r.id = e.record
         LEFT JOIN events d ON d.event_rowid = ?2 + r.rev AND d.record = r.id
         WHERE e.event_rowid > ?2 AND e.event_rowid < ?3 AND r.deleted = 1 AND d.event_rowid IS NULL",
    ),
    (
        "deleted record without a delete event or tombstone",
        "SELECT r.id FROM records r WHERE r.home = ?1 AND r.deleted = 1
           AND NOT EXISTS (SELECT 1 FROM events e WHERE e.event_rowid = ?2 + r.rev)
           AND NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.event_rowid = ?2 + r.rev)",
    ),
    (
        "record created after it last changed, or after the head",
        "SELECT id FROM records WHERE home = ?1 AND (created > rev OR rev > ?4 OR created < 1)",
    ),
    (
        "property record with another id than its home",
        "SELECT r.id FROM records r JOIN homes h ON h.number = r.home WHERE r.home = ?1 AND r.kind = 6 AND r.id <> h.id",
    ),
];

/// Contradictions between the event log, the records and the head of a home. Without any, folding the log from the oldest
/// event gives the records.
pub fn event_log(tx: &Tx<'_>, home: HomeNumber, head: i64) -> Result<Vec<String>, StoreError> {
    let mut faults = Vec::new();
    for (description, sql) in CONTRADICTIONS {
        // The condition names all four numbers, because SQLite refuses values for parameters that a statement lacks.
        let sql = format!("SELECT * FROM ({sql}) WHERE coalesce(?1, ?2, ?3, ?4) IS NOT NULL LIMIT {FAULTS_MAX}");
        let mut statement = tx.conn.prepare(&sql)?;
        let mut rows = statement.query((home.0, home.event_rowid(0), home.rowid_end(), head))?;
        while let Some(row) = rows.next()? {
            let subject = match row.get_ref(0)? {
                rusqlite::types::ValueRef::Integer(id) => id.to_string(),
                other => other.as_str().unwrap_or_default().to_owned(),
            };
            faults.push(format!("{description}: {subject}"));
        }
    }
    Ok(faults)
}

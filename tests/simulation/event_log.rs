//! Reads the events of the simulated home from the server's database. Must not judge the events.

use std::path::Path;

use hearth_contract::schema::Kind;
use rusqlite::Connection;

use super::history::EventRow;
use super::record::RecordKey;

/// Opens the server's database in a data directory, read-only.
pub fn open(data: &Path) -> Result<Connection, String> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    Connection::open_with_flags(data.join("hearth.db"), flags).map_err(|error| error.to_string())
}

/// The head of the home.
pub fn read_head(database: &Connection, home: i64) -> rusqlite::Result<i64> {
    database.prepare_cached("SELECT head FROM homes WHERE number = ?1")?.query_row([home], |row| row.get(0))
}

/// The events of the home from a position on, included; and the head of the home.
pub fn read_events(database: &Connection, home: i64, from: i64) -> rusqlite::Result<(Vec<EventRow>, i64)> {
    let head = read_head(database, home)?;
    // An event's rowid contains the number of the home in its upper bits.
    let first_rowid = home << 40;
    let mut statement = database.prepare_cached(
        "SELECT event_rowid, kind, record, event_type, at, key, body FROM events
         WHERE event_rowid >= ?1 AND event_rowid < ?2 ORDER BY event_rowid",
    )?;
    let kinds = ["", "inventory", "vehicle", "document", "task", "room", "property"];
    let events = statement.query_map((first_rowid + from, (home + 1) << 40), |row| {
        let word = usize::try_from(row.get::<_, i64>(1)?).ok().and_then(|number| kinds.get(number));
        let kind = word.and_then(|word| Kind::parse(word));
        Ok(EventRow {
            id: row.get::<_, i64>(0)? - first_rowid,
            record: RecordKey { kind: kind.expect("a known kind"), id: row.get(2)? },
            event_type: row.get(3)?,
            at: row.get(4)?,
            key: row.get(5)?,
            body: row.get(6)?,
        })
    })?;
    Ok((events.collect::<Result<_, _>>()?, head))
}

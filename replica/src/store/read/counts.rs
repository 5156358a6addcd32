//! Counts and sizes for monitoring: `run --metrics-listen` serves them. Must not write.

use std::fs;
use std::path::Path;

use hearth_contract::schema::Kind;
use rusqlite::Connection;

use crate::store::{StoreError, files, select};

/// Counts and sizes of one replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaCounts {
    /// The number of rows of each kind.
    pub records: Vec<(Kind, i64)>,
    /// The number of edits of each state that occurs.
    pub edits: Vec<(String, i64)>,
    /// The number of history entries of each outcome that occurs.
    pub settled: Vec<(String, i64)>,
    /// The size of the database file.
    pub database_bytes: u64,
    /// The size of the write-ahead log.
    pub wal_bytes: u64,
}

/// Counts everything. `db` is the path of the connection's database.
pub(crate) fn load_counts(connection: &Connection, db: &Path) -> Result<ReplicaCounts, StoreError> {
    let mut records = Vec::new();
    for kind in Kind::ALL {
        let text = format!("SELECT count(*) FROM {}", kind.collection());
        records.push((kind, select::value(connection, &text, [])?));
    }
    let by_word = |text: &str| select::all(connection, text, [], |row| Ok(row.try_into()?));
    let bytes = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    Ok(ReplicaCounts {
        records,
        edits: by_word("SELECT state, count(*) FROM edits GROUP BY state ORDER BY state")?,
        settled: by_word("SELECT outcome, count(*) FROM edit_history GROUP BY outcome ORDER BY outcome")?,
        database_bytes: bytes(db),
        wal_bytes: bytes(&files::beside(db, "-wal")),
    })
}

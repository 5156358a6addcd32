//! How much there is of everything: what whoever watches a replica counts. Must not write.

use std::fs;
use std::path::Path;

use hearth_contract::schema::Kind;
use rusqlite::Connection;

use crate::store::{StoreError, open};

/// Counts and sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Rows of each kind.
    pub records: Vec<(Kind, i64)>,
    /// Edits of each state that there is.
    pub edits: Vec<(String, i64)>,
    /// Settled edits that are remembered, by how they ended.
    pub settled: Vec<(String, i64)>,
    /// Size of the database's file.
    pub database_bytes: u64,
    /// Size of its write-ahead log.
    pub log_bytes: u64,
}

/// Counts.
pub(crate) fn read(connection: &Connection, db: &Path) -> Result<Tally, StoreError> {
    let mut records = Vec::new();
    for kind in Kind::ALL {
        let text = format!("SELECT count(*) FROM {}", kind.collection());
        records.push((kind, connection.query_row(&text, [], |row| row.get(0))?));
    }
    let by_word = |text: &str| -> Result<Vec<(String, i64)>, StoreError> {
        let mut statement = connection.prepare(text)?;
        let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(found.collect::<Result<_, _>>()?)
    };
    let bytes = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    Ok(Tally {
        records,
        edits: by_word("SELECT state, count(*) FROM edits GROUP BY state ORDER BY state")?,
        settled: by_word("SELECT outcome, count(*) FROM edit_history GROUP BY outcome ORDER BY outcome")?,
        database_bytes: bytes(db),
        log_bytes: bytes(&open::beside(db, "-wal")),
    })
}

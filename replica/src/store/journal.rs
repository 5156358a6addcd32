//! The journal: `sync_log`. Must not know who writes its lines.

use rusqlite::Connection;

use crate::store::{StoreError, gate, log};

/// One line of `sync_log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Its number; later lines have higher ones.
    pub id: i64,
    /// When it was written.
    pub at: String,
    /// `info` or `warning`.
    pub level: String,
    /// What happened, in plain words.
    pub text: String,
}

/// The newest lines, newest first.
pub(crate) fn newest(connection: &Connection, limit: usize) -> Result<Vec<LogLine>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT id, at, level, text FROM sync_log ORDER BY id DESC LIMIT ?1")?;
    let lines = statement.query_map([i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
        Ok(LogLine { id: row.get(0)?, at: row.get(1)?, level: row.get(2)?, text: row.get(3)? })
    })?;
    Ok(lines.collect::<Result<_, _>>()?)
}

/// Adds a line that stands for itself. It is only display, so nothing waits for the disk.
pub(crate) fn note(connection: &mut Connection, level: &str, text: &str) -> Result<(), StoreError> {
    gate::keep_cheaply(connection, |tx| log(tx, level, text))
}

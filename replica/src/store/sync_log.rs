//! The table `sync_log`: what happened, for people. Must not know who writes a line.

use rusqlite::Connection;

use super::{StoreError, select};
use crate::model::LogLevel;

/// Characters of a foreign word or value that a line repeats, at most.
const WORD_CHARS_MAX: usize = 40;

/// One line of `sync_log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The number of the line. Later lines have higher numbers.
    pub id: i64,
    /// When the line was written (RFC 3339, UTC, milliseconds).
    pub at: String,
    /// How much the line matters.
    pub level: LogLevel,
    /// What happened, as sentences for people.
    pub text: String,
}

/// The newest lines, newest first.
pub(crate) fn newest_lines(connection: &Connection, limit: usize) -> Result<Vec<LogLine>, StoreError> {
    let text = "SELECT id, at, level, text FROM sync_log ORDER BY id DESC LIMIT ?1";
    select::all(connection, text, [select::limit(limit)], |row| {
        Ok(LogLine { id: row.get(0)?, at: row.get(1)?, level: row.get(2)?, text: row.get(3)? })
    })
}

/// A foreign word or value, cut to the length that a line repeats.
pub(super) fn brief(word: &str) -> String {
    word.chars().take(WORD_CHARS_MAX).collect()
}

/// Adds a line in the transaction of the change that the line describes. The table keeps the newest 10,000 lines.
pub(crate) fn log(tx: &Connection, level: LogLevel, text: &str) -> Result<(), StoreError> {
    tx.prepare_cached("INSERT INTO sync_log (level, text) VALUES (?1, ?2)")?.execute((level, text))?;
    tx.prepare_cached("DELETE FROM sync_log WHERE id <= (SELECT max(id) FROM sync_log) - 10000")?.execute([])?;
    Ok(())
}

//! Whether the database is what it must be: its pages, its tables, triggers and views. Must not repair anything.

use std::path::Path;

use rusqlite::Connection;

use crate::store::{StoreError, open, schema};

/// Faults of the file that are named.
const FAULTS_MAX: usize = 3;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Health {
    /// What SQLite finds wrong with the pages; empty when it is sound.
    pub broken: Vec<String>,
    /// Tables, triggers and views that are missing or not what this version makes.
    pub missing: Vec<String>,
    /// Triggers that are not ours and fire while the replica keeps its tables too, with their tables.
    pub ungated: Vec<(String, String)>,
    /// Whether search finds each record, and nothing else.
    pub finds_all: bool,
    /// The home it is of; None before `init`.
    pub home_id: Option<String>,
    /// The process that said it syncs and has not said that it ended.
    pub said_pid: Option<i64>,
}

/// Looks through the whole file.
pub(crate) fn read(db: &Path) -> Result<Health, StoreError> {
    let connection = open::read_write(db)?;
    let mut health = Health { broken: broken(&connection)?, ..Health::default() };
    if health.broken.is_empty() {
        health.missing = schema::missing(&connection)?;
        health.ungated = schema::ungated(&connection)?;
        // Where a table is missing that is said first.
        health.finds_all = !health.missing.is_empty() || schema::search::is_complete(&connection)?;
        (health.home_id, health.said_pid) =
            connection.query_row("SELECT home_id, daemon_pid FROM _sync", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    }
    Ok(health)
}

fn broken(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({FAULTS_MAX})"))?;
    let found = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}

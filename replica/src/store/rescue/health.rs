//! Whether the database is what it must be: its pages, its texts, its tables, triggers and views. Must not repair anything.

use std::path::Path;

use hearth_contract::resources::RESOURCES;
use hearth_contract::schema::Kind;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use uuid::Uuid;

use crate::store::{StoreError, open, rows, schema};

/// Faults of the file that are named.
const FAULTS_MAX: usize = 3;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Health {
    /// What is wrong with the pages and what stands on them; empty when it is sound.
    pub broken: Vec<String>,
    /// Tables, triggers and views that are missing or not what this version makes.
    pub missing: Vec<String>,
    /// Triggers that are not ours and fire while the replica keeps its tables too, with their tables.
    pub ungated: Vec<(String, String)>,
    /// Indexes that are not ours and refuse a value that stands there already, with their tables.
    pub unique: Vec<(String, String)>,
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
        health.ungated = schema::others::ungated(&connection)?;
        health.unique = schema::others::unique(&connection)?;
        // Where a table is missing that is said first.
        health.finds_all = !health.missing.is_empty() || schema::search::is_complete(&connection)?;
    }
    let of_sync =
        connection.query_row("SELECT home_id, daemon_pid FROM _sync", [], |row| Ok((row.get(0)?, row.get(1)?)));
    (health.home_id, health.said_pid) = match of_sync {
        Err(_) if !health.broken.is_empty() => (None, None),
        read => read?,
    };
    Ok(health)
}

fn broken(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut broken = faults(connection, "integrity_check")?;
    if broken.is_empty() {
        let garbled = garbled(connection)?;
        broken.extend(garbled.iter().map(|table| format!("a text in {table} is not what can have been written there")));
    }
    Ok(broken)
}

/// What SQLite finds by a check. The index of search is left out: it is made of the records and can be made of them again,
/// so that a fault of it is no damage to them.
pub(super) fn faults(connection: &Connection, check: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare(&format!("PRAGMA {check}({FAULTS_MAX})"))?;
    let found = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let found: Vec<String> = found.into_iter().filter(|line| line != "ok").collect();
    if found.is_empty() {
        return Ok(found);
    }
    let of_search = schema::search::index_faults(connection).unwrap_or_default();
    Ok(found.into_iter().filter(|line| !of_search.contains(line)).collect())
}

/// Tables with a text that nobody can have written there, and SQLite does not look: a bit has turned on the disk, and whoever
/// reads that text fails. A column that somebody has added to a typed table is read by nobody here, whatever it is called and
/// holds.
pub(super) fn garbled(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let kept = schema::KEPT.iter().map(|(table, _)| *table);
    let names: Vec<&str> = kept.chain(Kind::ALL.iter().map(|kind| kind.collection())).collect();
    let tables: Vec<String> = connection
        .prepare(
            "SELECT name FROM sqlite_schema
             WHERE type = 'table' AND name IN (SELECT value FROM json_each(?1)) ORDER BY rowid",
        )?
        .query_map([serde_json::json!(names).to_string()], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut garbled = Vec::new();
    for table in tables {
        let mut statement = connection.prepare(&format!("SELECT * FROM {table} NOT INDEXED"))?;
        let of_ours = RESOURCES.iter().find(|resource| resource.kind.collection() == table);
        let is_judged = |name: &str| of_ours.is_none_or(|resource| rows::columns(resource).any(|ours| ours == name));
        let columns = statement.column_names().enumerate().filter(|(_, name)| is_judged(name));
        let columns: Vec<(usize, String)> = columns.map(|(n, name)| (n, name.to_owned())).collect();
        let mut rows = statement.query([])?;
        let mut good = true;
        while let Some(row) = rows.next()?.filter(|_| good) {
            for (n, column) in &columns {
                good &= match row.get_ref(*n)? {
                    ValueRef::Text(text) => std::str::from_utf8(text).is_ok_and(|text| can_stand(&table, column, text)),
                    _ => true,
                };
            }
        }
        if !good {
            garbled.push(table);
        }
    }
    Ok(garbled)
}

/// Whether a text can have been written into a column, as far as whoever reads it would fail otherwise.
pub(super) fn can_stand(table: &str, column: &str, text: &str) -> bool {
    match column {
        "patch" | "base" | "fields" | "extra" => rows::object(text).is_ok(),
        "kind" => Kind::parse(text).is_some(),
        "method" => matches!(text, "create" | "update" | "delete"),
        "record_id" if table == "edits" => Uuid::try_parse(text).is_ok(),
        _ => true,
    }
}

//! Examines a database: its pages, its texts, its tables, triggers and views. Must not repair pages or texts.

use std::path::Path;

use hearth_contract::resources::RESOURCES;
use hearth_contract::schema::Kind;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use uuid::Uuid;

use super::connection::faults;
use super::outside::Restored;
use super::schema::user_objects::{self, UserTrigger};
use super::schema::{protected, search};
use super::{StoreError, open, rows, select};
use crate::model::Method;

/// The most faults of a file that are reported.
const FAULTS_MAX: usize = 3;

/// The result of an examination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Health {
    /// Faults of pages, indexes and texts, a sentence each. Empty when the file is sound.
    pub broken: Vec<String>,
    /// What was restored at the start of the examination, because another program had removed or altered it.
    pub restored: Option<Restored>,
    /// A person's triggers that also fire on writes of the sync.
    pub ungated: Vec<UserTrigger>,
    /// A person's triggers that write to a table that only the replica writes, with that table.
    pub on_protected: Vec<(UserTrigger, String)>,
    /// A person's UNIQUE indexes on typed tables: index and table.
    pub unique: Vec<(String, String)>,
    /// True when `search` holds exactly the records.
    pub search_complete: bool,
    /// The id of the home of the profile's key; None before `init`.
    pub home_id: Option<String>,
    /// The id of the process that syncs, as stored. The process may have been killed since.
    pub recorded_pid: Option<i64>,
}

/// Examines the whole file.
pub(crate) fn examine(db: &Path) -> Result<Health, StoreError> {
    let (connection, restored) = open::read_write_and_report(db)?;
    let mut health = Health { broken: find_damage(&connection)?, restored, ..Health::default() };
    if health.broken.is_empty() {
        health.ungated = user_objects::ungated_triggers(&connection)?;
        health.on_protected = user_objects::triggers_on_protected(&connection)?;
        health.unique = user_objects::unique_indexes(&connection)?;
        health.search_complete = search::is_complete(&connection)?;
    }
    // During a refill, the profile has the key of the home that is filled.
    let text = "SELECT coalesce(refill_home_id, home_id), daemon_pid FROM _sync";
    let stored = connection.query_row(text, [], |row| Ok((row.get(0)?, row.get(1)?)));
    (health.home_id, health.recorded_pid) = match stored {
        Err(_) if !health.broken.is_empty() => (None, None),
        stored => stored?,
    };
    Ok(health)
}

/// Faults of pages, indexes and texts, a sentence each. Empty when the file is sound.
pub(super) fn find_damage(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut broken = page_faults(connection, "integrity_check")?;
    if broken.is_empty() {
        let tables = tables_with_invalid_text(connection)?;
        broken.extend(tables.iter().map(|table| format!("{table} holds a text that cannot have been written to it")));
    }
    Ok(broken)
}

/// The faults that SQLite finds with `integrity_check` or `quick_check`. Faults of the index of `search` are left out, because
/// the index is made from the records and can be made again.
pub(super) fn page_faults(connection: &Connection, check: &str) -> Result<Vec<String>, StoreError> {
    // SQLite leaves the list of free pages out of the whole check when its first object is a view. It belongs to the schema's check.
    let mut found = faults(connection, "quick_check(sqlite_schema)")?;
    if found.is_empty() {
        found = faults(connection, &format!("{check}({FAULTS_MAX})"))?;
    }
    if !found.is_empty() {
        let search_faults = search::index_faults(connection).unwrap_or_default();
        found.retain(|line| !search_faults.contains(line));
    }
    Ok(found)
}

/// Tables with a text that no version of this program writes: a bit has flipped on the disk, which SQLite does not check, and
/// code that reads the text fails. A column that a person has added to a typed table is not checked.
fn tables_with_invalid_text(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let collections = Kind::ALL.iter().map(|kind| kind.collection());
    let names: Vec<&str> = protected::TABLES.into_iter().chain(collections).collect();
    let text = "SELECT name FROM sqlite_schema
         WHERE type = 'table' AND name IN (SELECT value FROM json_each(?1)) ORDER BY rowid";
    let tables: Vec<String> = select::column(connection, text, [rows::json_text(&names)])?;
    let mut invalid = Vec::new();
    for table in tables {
        let mut statement = connection.prepare(&format!("SELECT * FROM {table} NOT INDEXED"))?;
        let resource = RESOURCES.iter().find(|resource| resource.kind.collection() == table);
        let is_own = |name: &str| resource.is_none_or(|resource| rows::columns(resource).any(|own| own == name));
        let columns = statement.column_names().enumerate().filter(|(_, name)| is_own(name));
        let columns: Vec<(usize, String)> = columns.map(|(n, name)| (n, name.to_owned())).collect();
        let mut rows = statement.query([])?;
        let mut is_valid = true;
        while let Some(row) = rows.next()?.filter(|_| is_valid) {
            for (n, column) in &columns {
                is_valid &= match row.get_ref(*n)? {
                    ValueRef::Text(text) => str::from_utf8(text).is_ok_and(|text| is_valid_text(&table, column, text)),
                    _ => true,
                };
            }
        }
        if !is_valid {
            invalid.push(table);
        }
    }
    Ok(invalid)
}

/// True when code that reads the column can use the text.
pub(super) fn is_valid_text(table: &str, column: &str, text: &str) -> bool {
    match column {
        "patch" | "base" | "fields" | "extra" => rows::parse_object(text).is_ok(),
        "kind" => Kind::parse(text).is_some(),
        "method" => Method::parse(text).is_some(),
        "record_id" if matches!(table, "edits" | "_base") => Uuid::try_parse(text).is_ok(),
        _ => true,
    }
}

//! Objects that people have added to the replica's tables: triggers, and indexes and columns that refuse values. Must not
//! change them.

use std::collections::BTreeMap;

use hearth_contract::resources::RESOURCES;
use rusqlite::{Connection, ffi};

use super::{protected, table_sql};
use crate::store::{StoreError, select};

/// A person's trigger on a table of the replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserTrigger {
    pub name: String,
    /// The table in lower case.
    pub table: String,
    /// The CREATE statement in lower case.
    text: String,
}

impl std::fmt::Display for UserTrigger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the trigger {} on {}", self.name, self.table)
    }
}

/// True when the database has a person's trigger.
pub(crate) fn has_triggers(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name NOT GLOB '[_]*')";
    select::value(connection, text, [])
}

/// A person's triggers that act on writes of the sync: triggers on a typed table that do not read `_gate`, and triggers on a
/// protected table that write to a typed table.
pub(crate) fn ungated_triggers(connection: &Connection) -> Result<Vec<UserTrigger>, StoreError> {
    let is_ungated = |trigger: &UserTrigger| match is_typed_table(&trigger.table) {
        true => !trigger.text.contains("_gate"),
        false => written_table(&trigger.text, is_typed_table).is_some(),
    };
    Ok(triggers(connection)?.into_iter().filter(is_ungated).collect())
}

/// A person's triggers that write to a table that only the replica writes, with that table.
pub(crate) fn triggers_on_protected(connection: &Connection) -> Result<Vec<(UserTrigger, String)>, StoreError> {
    let is_protected = |table: &str| table == "_gate" || protected::TABLES.contains(&table);
    let written = |trigger: UserTrigger| {
        let table = written_table(&trigger.text, is_protected)?.to_owned();
        Some((trigger, table))
    };
    Ok(triggers(connection)?.into_iter().filter_map(written).collect())
}

/// True for a typed table, such as `rooms`.
pub(crate) fn is_typed_table(table: &str) -> bool {
    RESOURCES.iter().any(|resource| resource.kind.collection() == table)
}

/// The first table of a group that an SQL text in lower case seems to write to. Judged by neighbouring words.
fn written_table(text: &str, is_in_group: impl Fn(&str) -> bool) -> Option<&str> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let is_written = |n: usize| {
        let before = |back: usize| n.checked_sub(back).and_then(|n| words.get(n)).copied().unwrap_or_default();
        matches!(before(1), "into" | "update")
            || (before(2), before(1)) == ("delete", "from")
            || (before(3), before(2)) == ("update", "or")
    };
    words.iter().enumerate().find(|(n, word)| is_in_group(word) && is_written(*n)).map(|(_, word)| *word)
}

/// UNIQUE indexes on typed tables, with their tables. The replica itself creates none, so these are a person's.
pub(crate) fn unique_indexes(connection: &Connection) -> Result<Vec<(String, String)>, StoreError> {
    let text = "SELECT i.name, t.value FROM json_each(?1) t, pragma_index_list(t.value) i
         WHERE i.\"unique\" AND i.origin = 'c' ORDER BY i.name";
    select::all(connection, text, [tables()], |row| Ok(row.try_into()?))
}

/// Replaces a refusal of SQLite by an error that names the cause: a person's UNIQUE index, or all objects that can have
/// refused. Other errors are returned unchanged.
pub(crate) fn explain_refusal(connection: &Connection, error: StoreError) -> StoreError {
    let StoreError::Sqlite(refusal) = &error else { return error };
    let Some(failure) = refusal.sqlite_error() else { return error };
    if !matches!(failure.extended_code & 0xff, ffi::SQLITE_ERROR | ffi::SQLITE_CONSTRAINT | ffi::SQLITE_MISMATCH) {
        return error;
    }
    if let (ffi::SQLITE_CONSTRAINT_UNIQUE, rusqlite::Error::SqliteFailure(_, Some(sentence))) =
        (failure.extended_code, refusal)
    {
        let by = unique_indexes(connection).unwrap_or_default().into_iter().find(|(index, table)| {
            // The message is the only place where SQLite names the index: its result code does not. SQLite names an index on an
            // expression by its name, and any other index by its columns.
            sentence.ends_with(&format!(": index '{index}'"))
                || index_columns(connection, index, table)
                    .is_ok_and(|columns| sentence.ends_with(&format!(": {columns}")))
        });
        if let Some((index, table)) = by {
            return StoreError::RefusedByUniqueIndex { index, table };
        }
    }
    let mut suspects = refusing_objects(connection).unwrap_or_default();
    suspects.extend(triggers(connection).unwrap_or_default().iter().map(UserTrigger::to_string));
    match suspects.is_empty() {
        true => error,
        false => StoreError::RefusedByUserObject { sentence: refusal.to_string(), by: suspects.join(", ") },
    }
}

/// A person's objects on typed tables that can refuse a value, such as `the index a on rooms`: indexes on expressions, generated
/// columns, and columns with NOT NULL or CHECK. Without triggers and [`unique_indexes`].
pub(crate) fn refusing_objects(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let indexes =
        "SELECT 'the index ' || i.name || ' on ' || t.value FROM json_each(?1) t, pragma_index_list(t.value) i
         WHERE i.origin = 'c' AND NOT i.\"unique\" AND i.name NOT GLOB '[_]*'
            AND (i.partial OR EXISTS (SELECT 1 FROM pragma_index_info(i.name) WHERE cid = -2)) ORDER BY 1";
    let columns = "SELECT c.name FROM pragma_table_xinfo(?1) c, sqlite_schema s
         WHERE s.type = 'table' AND s.name = ?1
            AND (c.hidden <> 0 OR c.\"notnull\" OR instr(lower(s.sql), 'check') > 0)";
    let mut found: Vec<String> = select::column(connection, indexes, [tables()])?;
    for resource in &RESOURCES {
        let table = resource.kind.collection();
        let mut added: Vec<String> = select::column(connection, columns, [table])?;
        added.retain(|name| table_sql::columns(resource).all(|own| own != name));
        found.extend(added.iter().map(|name| format!("the column {name} of {table}")));
    }
    Ok(found)
}

/// A person's triggers on tables that SQLite cannot write to because of them, with SQLite's message: a trigger refers to an
/// object that is gone, or to a function that a trigger may not use. Triggers of one table are joined by commas.
pub(crate) fn broken_triggers(connection: &Connection) -> Result<Vec<(String, String)>, StoreError> {
    let mut on_table: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for trigger in triggers(connection)? {
        on_table.entry(trigger.table.clone()).or_default().push(trigger.to_string());
    }
    let mut found = Vec::new();
    for (table, triggers) in on_table {
        let columns = "SELECT group_concat(format('\"%w\" = \"%w\"', name, name), ', ') FROM pragma_table_info(?1)";
        let columns: String = select::value(connection, columns, [&table])?;
        let verbs = [
            format!("EXPLAIN INSERT INTO {table} DEFAULT VALUES"),
            format!("EXPLAIN UPDATE {table} SET {columns}"),
            format!("EXPLAIN DELETE FROM {table}"),
        ];
        if let Some(error) = verbs.iter().find_map(|text| connection.prepare(text).err()) {
            let sentence = match error {
                rusqlite::Error::SqlInputError { msg, .. } => msg,
                other => other.to_string(),
            };
            found.push((triggers.join(", "), sentence));
        }
    }
    Ok(found)
}

/// A person's triggers on the replica's tables.
pub(crate) fn triggers(connection: &Connection) -> Result<Vec<UserTrigger>, StoreError> {
    let text = "SELECT name, lower(tbl_name), lower(sql) FROM sqlite_schema
         WHERE type = 'trigger' AND name NOT GLOB '[_]*' AND lower(tbl_name) IN (SELECT value FROM json_each(?1))
         ORDER BY name";
    select::all(connection, text, [every_table()], |row| {
        Ok(UserTrigger { name: row.get(0)?, table: row.get(1)?, text: row.get(2)? })
    })
}

/// The columns of an index in the form of SQLite's messages: `rooms.name, rooms.floor`.
fn index_columns(connection: &Connection, index: &str, table: &str) -> Result<String, StoreError> {
    let text = "SELECT group_concat(?2 || '.' || name, ', ') FROM pragma_index_info(?1)";
    select::value(connection, text, [index, table])
}

/// The names of the typed tables as a JSON array.
fn tables() -> String {
    serde_json::json!(RESOURCES.each_ref().map(|resource| resource.kind.collection())).to_string()
}

/// The names of all tables of the replica as a JSON array.
fn every_table() -> String {
    let internal = protected::TABLES.into_iter().chain(["_gate"]);
    let all: Vec<&str> = RESOURCES.iter().map(|resource| resource.kind.collection()).chain(internal).collect();
    serde_json::json!(all).to_string()
}

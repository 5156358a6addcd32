//! What others have made on the replica's tables and the sync meets when it writes: triggers, and indexes that refuse a value.
//! Must not change any of it.

use std::collections::BTreeMap;

use hearth_contract::resources::RESOURCES;
use rusqlite::{Connection, ffi};

use crate::store::StoreError;
use crate::store::schema::KEPT;

/// Whether anybody else has made a trigger.
pub(crate) fn has_triggers(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND name NOT GLOB '[_]*')";
    Ok(connection.query_row(text, [], |row| row.get(0))?)
}

/// Triggers that are not ours and fire while the gate is open, with their tables: those on the typed tables that do not
/// ask for it, and those on any other of ours that write to a typed table, because only the keeper writes there.
pub(crate) fn ungated(connection: &Connection) -> Result<Vec<(String, String)>, StoreError> {
    let mut statement = connection.prepare(
        "SELECT name, lower(tbl_name), lower(sql) FROM sqlite_schema
         WHERE type = 'trigger' AND name NOT GLOB '[_]*' AND lower(tbl_name) IN (SELECT value FROM json_each(?1))
         ORDER BY name",
    )?;
    let found = statement
        .query_map([every_table()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<Vec<(String, String, String)>, _>>()?;
    let fires_open = |table: &str, text: &str| if is_typed(table) { !text.contains("_gate") } else { writes(text) };
    Ok(found
        .into_iter()
        .filter(|(_, table, text)| fires_open(table, text))
        .map(|(name, table, _)| (name, table))
        .collect())
}

/// Whether a table is one of the typed ones.
pub(crate) fn is_typed(table: &str) -> bool {
    RESOURCES.iter().any(|resource| resource.kind.collection() == table)
}

/// Whether a text in lower case has a statement that writes to a typed table, as far as its words tell.
fn writes(text: &str) -> bool {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().any(|(n, word)| {
        let before = |back: usize| n.checked_sub(back).and_then(|n| words.get(n)).copied().unwrap_or_default();
        is_typed(word)
            && (matches!(before(1), "into" | "update")
                || (before(2), before(1)) == ("delete", "from")
                || (before(3), before(2)) == ("update", "or"))
    })
}

/// Indexes on the typed tables that are not ours and let nothing stand twice, with their tables. Of ours none does.
pub(crate) fn unique(connection: &Connection) -> Result<Vec<(String, String)>, StoreError> {
    let mut statement = connection.prepare(
        "SELECT i.name, t.value FROM json_each(?1) t, pragma_index_list(t.value) i
         WHERE i.\"unique\" AND i.origin = 'c' ORDER BY i.name",
    )?;
    let found = statement.query_map([tables()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// A refusal of SQLite's with what it comes from: an index of [`unique`], or else what there is that can have refused.
pub(crate) fn named(connection: &Connection, error: StoreError) -> StoreError {
    let StoreError::Sqlite(refusal) = &error else { return error };
    let Some(failure) = refusal.sqlite_error() else { return error };
    if !matches!(failure.extended_code & 0xff, ffi::SQLITE_ERROR | ffi::SQLITE_CONSTRAINT | ffi::SQLITE_MISMATCH) {
        return error;
    }
    if let (ffi::SQLITE_CONSTRAINT_UNIQUE, rusqlite::Error::SqliteFailure(_, Some(said))) =
        (failure.extended_code, refusal)
    {
        let by = unique(connection).unwrap_or_default().into_iter().find(|(index, table)| {
            // It names the index, if that is on an expression, and the columns otherwise.
            said.ends_with(&format!(": index '{index}'"))
                || columns(connection, index, table).is_ok_and(|columns| said.ends_with(&format!(": {columns}")))
        });
        if let Some((index, table)) = by {
            return StoreError::Barred { index, table };
        }
    }
    let mut able = refusing(connection).unwrap_or_default();
    able.extend(triggers(connection).unwrap_or_default().into_iter().map(|(name, table)| of_trigger(&name, &table)));
    if able.is_empty() { error } else { StoreError::Hindered { said: refusal.to_string(), by: able.join(", ") } }
}

/// What is not ours on the typed tables and can refuse a value, by what it is, its name and its table: indexes that
/// evaluate something, columns that do or that check what is in others. Triggers are not among it, nor [`unique`].
pub(crate) fn refusing(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let indexes = connection
        .prepare(
            "SELECT 'the index ' || i.name || ' on ' || t.value FROM json_each(?1) t, pragma_index_list(t.value) i
             WHERE i.origin = 'c' AND NOT i.\"unique\" AND i.name NOT GLOB '[_]*'
                AND (i.partial OR EXISTS (SELECT 1 FROM pragma_index_info(i.name) WHERE cid = -2)) ORDER BY 1",
        )?
        .query_map([tables()], |row| row.get(0))?
        .collect::<Result<Vec<String>, _>>()?;
    let mut found = indexes;
    for resource in &RESOURCES {
        let table = resource.kind.collection();
        let mut statement = connection.prepare(
            "SELECT c.name, c.hidden <> 0 OR c.\"notnull\" OR instr(lower(s.sql), 'check') > 0
             FROM pragma_table_xinfo(?1) c, sqlite_schema s WHERE s.type = 'table' AND s.name = ?1",
        )?;
        let columns = statement
            .query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<Vec<(String, bool)>, _>>()?;
        let ours = |name: &str| {
            resource.field(name).is_some() || matches!(name, "id" | "created_at" | "updated_at" | "rev" | "extra")
        };
        let can_refuse = columns.into_iter().filter(|(name, refuses)| *refuses && !ours(name));
        found.extend(can_refuse.map(|(name, _)| format!("the column {name} of {table}")));
    }
    Ok(found)
}

/// Triggers of others on tables of ours that nothing can be written to, with what SQLite says: one of them speaks of what is
/// not there any more, or of what a trigger may not use.
pub(crate) fn unwritable(connection: &Connection) -> Result<Vec<(String, String)>, StoreError> {
    let mut on_table: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, table) in triggers(connection)? {
        on_table.entry(table.clone()).or_default().push(of_trigger(&name, &table));
    }
    let mut found = Vec::new();
    for (table, triggers) in on_table {
        let columns: String = connection
            .prepare("SELECT group_concat(format('\"%w\" = \"%w\"', name, name), ', ') FROM pragma_table_info(?1)")?
            .query_row([&table], |row| row.get(0))?;
        let verbs = [
            format!("EXPLAIN INSERT INTO {table} DEFAULT VALUES"),
            format!("EXPLAIN UPDATE {table} SET {columns}"),
            format!("EXPLAIN DELETE FROM {table}"),
        ];
        if let Some(error) = verbs.iter().find_map(|text| connection.prepare(text).err()) {
            let said = match error {
                rusqlite::Error::SqlInputError { msg, .. } => msg,
                other => other.to_string(),
            };
            found.push((triggers.join(", "), said));
        }
    }
    Ok(found)
}

/// Triggers that are not ours on tables that are, with their tables.
fn triggers(connection: &Connection) -> Result<Vec<(String, String)>, StoreError> {
    let mut statement = connection.prepare(
        "SELECT name, lower(tbl_name) FROM sqlite_schema
         WHERE type = 'trigger' AND name NOT GLOB '[_]*' AND lower(tbl_name) IN (SELECT value FROM json_each(?1))
         ORDER BY name",
    )?;
    let found = statement.query_map([every_table()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn of_trigger(name: &str, table: &str) -> String {
    format!("the trigger {name} on {table}")
}

/// The columns of an index, as SQLite names them in its refusals.
fn columns(connection: &Connection, index: &str, table: &str) -> Result<String, StoreError> {
    let text = "SELECT group_concat(?2 || '.' || name, ', ') FROM pragma_index_info(?1)";
    Ok(connection.query_row(text, [index, table], |row| row.get(0))?)
}

/// The typed tables, as a statement takes them.
fn tables() -> String {
    serde_json::json!(RESOURCES.each_ref().map(|resource| resource.kind.collection())).to_string()
}

/// The tables that the replica writes to, the same way.
fn every_table() -> String {
    let kept = KEPT.iter().map(|(table, _)| *table).chain(["_gate"]);
    let all: Vec<&str> = RESOURCES.iter().map(|resource| resource.kind.collection()).chain(kept).collect();
    serde_json::json!(all).to_string()
}

//! Opens a work copy of a damaged database. SQLite's list of tables (`sqlite_schema`) may be damaged too; then a second work copy
//! gets a new list. Must not read rows of tables.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OpenFlags};

use super::header::{EMPTY_LEAF, HEADER_BYTES, begins_tree, mend_copy};
use super::reader::{read_until_damage, table_columns, unless_damaged};
use crate::store::files::beside;
use crate::store::{StoreError, migrations};

/// An opened work copy of a damaged database.
pub(super) struct OpenedCopy {
    pub connection: Connection,
    /// The readable entries of the list of tables.
    pub entries: Vec<SchemaEntry>,
    /// True when no entry is missing.
    pub is_complete: bool,
}

/// An entry of the list of tables that has a CREATE statement.
pub(super) struct SchemaEntry {
    /// `table`, `index`, `view` or `trigger`.
    pub object_type: String,
    pub name: String,
    /// The CREATE statement; None when its text is damaged.
    pub text: Option<String>,
    /// The root page in the file; 0 for views, triggers and virtual tables, as in `sqlite_schema`.
    root_page: i64,
}

/// Opens a work copy to read the named tables and the objects of people. None when no named table can be read. `sound` is a
/// new replica, which has the expected tables.
pub(super) fn open_copy(copy: &Path, sound: &Connection, names: &[&str]) -> Result<Option<OpenedCopy>, StoreError> {
    let mended = || mend_copy(copy).and_then(|()| open_file(copy));
    let old = match unless_damaged(open_file(copy))? {
        None => unless_damaged(mended())?,
        old => old,
    };
    let Some(old) = old else {
        let relisted = unless_damaged(open_with_new_list(copy, sound, names))?;
        let opened = relisted.map(|(connection, entries)| OpenedCopy { connection, entries, is_complete: false });
        return Ok(opened.filter(|opened| !opened.entries.is_empty()));
    };
    let readable_old = readable_tables(&old, sound, names)?;
    let (entries, is_complete) = read_entries(&old)?;
    let opened = |connection, entries| OpenedCopy { connection, entries, is_complete };
    // The columns of such a database are in another order: only its own list tells their names.
    let is_before_release = entries.iter().any(|entry| entry.name == migrations::TABLE_BEFORE_RELEASE);
    if is_before_release || !readable_old.contains(&false) {
        return Ok(Some(opened(old, entries)));
    }
    // The new list is used only when every table stays readable that is readable by the old list.
    if let Some((relisted, entries)) = unless_damaged(open_with_new_list(copy, sound, names))? {
        let readable_new = readable_tables(&relisted, sound, names)?;
        if readable_new.iter().zip(&readable_old).all(|(new, old)| new >= old) {
            return Ok(readable_new.contains(&true).then(|| opened(relisted, entries)));
        }
    }
    Ok(readable_old.contains(&true).then(|| opened(old, entries)))
}

/// The path of the second work copy.
fn relisted_path(copy: &Path) -> PathBuf {
    beside(copy, "-listed")
}

fn open_file(copy: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // SQLite normally refuses a file with one damaged word in its list of tables, and a file that is shorter than its header says.
    // With a writable schema SQLite reads what it can.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Reads the list of tables. Fails when the file does not begin like a database.
    connection.prepare("SELECT 1 FROM sqlite_schema")?;
    Ok(connection)
}

/// For each named table, whether the connection knows all its columns: neither its CREATE statement nor its entry is damaged.
fn readable_tables(connection: &Connection, sound: &Connection, names: &[&str]) -> Result<Vec<bool>, StoreError> {
    let columns = |connection: &Connection, name: &str| -> Result<Vec<String>, StoreError> {
        Ok(unless_damaged(table_columns(connection, name))?.map(|(columns, _)| columns).unwrap_or_default())
    };
    let is_readable = |name: &&str| -> Result<bool, StoreError> {
        let found = columns(connection, name)?;
        Ok(columns(sound, name)?.iter().all(|column| found.contains(column)))
    };
    names.iter().map(is_readable).collect()
}

/// Makes a second work copy with a new list of tables. Root pages come from the readable part of the old list. CREATE statements
/// come from the sound database, and those of people's tables from the old list. A table of an older version has fewer columns,
/// and SQLite reads the missing ones as their defaults. Without any old entry, the tables have the root pages that they have in
/// the sound database. Returns the old entries too.
fn open_with_new_list(
    copy: &Path,
    sound: &Connection,
    names: &[&str],
) -> Result<(Connection, Vec<SchemaEntry>), StoreError> {
    let path = relisted_path(copy);
    let at = |error| StoreError::File(path.clone(), error);
    for part in ["", "-wal"] {
        if beside(copy, part).exists() {
            fs::copy(beside(copy, part), beside(&path, part)).map_err(at)?;
        }
    }
    let close = |connection: Connection| connection.close().map_err(|(_, error)| error);
    let empty_list = || {
        let mut file = fs::OpenOptions::new().write(true).open(&path)?;
        file.seek(SeekFrom::Start(HEADER_BYTES)).and_then(|_| file.write_all(&EMPTY_LEAF))
    };
    let connection = match unless_damaged(open_file(&path))? {
        Some(connection) => connection,
        None => {
            empty_list().map_err(at)?;
            mend_copy(&path)?;
            open_file(&path)?
        }
    };
    // Pages in the log would hide the pages that are written into the file below.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    close(connection)?;
    mend_copy(&path)?;
    let connection = open_file(&path)?;
    let (mut entries, _) = read_entries(&connection)?;
    if entries.is_empty() {
        entries = read_entries(sound)?.0;
        let file = fs::File::open(&path).map_err(at)?;
        entries.retain(|entry| names.contains(&entry.name.as_str()) && begins_tree(&file, entry.root_page));
    }
    close(connection)?;
    empty_list().map_err(at)?;
    let connection = open_file(&path)?;
    write_entries(&connection, sound, names, &entries)?;
    // SQLite reads the list when the file is opened.
    close(connection)?;
    Ok((open_file(&path)?, entries))
}

/// Writes the entries of tables into an empty list of tables.
fn write_entries(
    connection: &Connection,
    sound: &Connection,
    names: &[&str],
    entries: &[SchemaEntry],
) -> Result<(), StoreError> {
    let tables = entries.iter().filter(|entry| entry.object_type == "table" && entry.root_page > 1);
    for SchemaEntry { name, text, root_page, .. } in tables {
        let text = if names.contains(&name.as_str()) {
            let own = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1";
            Some(sound.query_row(own, [name], |row| row.get(0))?)
        } else {
            text.clone()
        };
        if let Some(text) = text {
            let insert =
                "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('table', ?1, ?1, ?2, ?3)";
            connection.execute(insert, (name, root_page, text))?;
        }
    }
    Ok(())
}

/// The readable entries of the list of tables, and whether no entry is missing.
fn read_entries(connection: &Connection) -> Result<(Vec<SchemaEntry>, bool), StoreError> {
    let text = "SELECT rowid, type, name, rootpage, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid";
    let (mut found, is_complete) = read_until_damage(connection, &format!("{text} ASC"), 4)?;
    if !is_complete {
        let last = found.last().map_or(0, |row| row.rowid);
        let (falling, _) = read_until_damage(connection, &format!("{text} DESC"), 4)?;
        found.extend(falling.into_iter().rev().filter(|row| row.rowid > last));
    }
    let entries = found.into_iter().filter_map(|row| match <[Sql; 4]>::try_from(row.values) {
        Ok([Sql::Text(object_type), Sql::Text(name), Sql::Integer(root_page), Sql::Text(text)]) => {
            Some(SchemaEntry { object_type, name, text: (!row.is_invalid).then_some(text), root_page })
        }
        _ => None,
    });
    Ok((entries.collect(), is_complete))
}

//! Reads tables of a damaged database row by row, around damaged pages. Must not write, and must not judge values. A failure
//! that will pass, such as a full disk, is an error and not damage.

use std::io::ErrorKind;

use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, ErrorCode, Row, ffi};

pub(super) use crate::store::sql_words::quoted;
use crate::store::{StoreError, select};

/// The most rows that are read one by one in the damaged middle of a table.
const PROBES_MAX: usize = 10_000;

/// What was read of one table.
#[derive(Debug, Default)]
pub(super) struct SalvagedTable {
    /// The names of the columns in the damaged database.
    pub columns: Vec<String>,
    /// The rows, with their values in the order of the columns.
    pub rows: Vec<Vec<Sql>>,
    /// Rows with a text that is not UTF-8. Invalid bytes are replaced by U+FFFD.
    pub invalid_rows: Vec<Vec<Sql>>,
    /// True when no row is missing.
    pub complete: bool,
}

impl SalvagedTable {
    /// A row's value of a column; None when the table lacks the column.
    pub(super) fn value<'a>(&self, row: &'a [Sql], name: &str) -> Option<&'a Sql> {
        self.columns.iter().position(|column| column == name).and_then(|n| row.get(n))
    }

    /// A row's value of a column when the value is a text.
    pub(super) fn text<'a>(&self, row: &'a [Sql], name: &str) -> Option<&'a str> {
        match self.value(row, name) {
            Some(Sql::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// Turns an error that damage explains into None. Other errors stay errors.
pub(super) fn unless_damaged<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Err(error) if is_no_damage(&error) => Err(error),
        result => Ok(result.ok()),
    }
}

/// True when an error has another cause than damage of the file.
fn is_no_damage(error: &StoreError) -> bool {
    /// A page that cannot be read, or is cut off.
    const PAGE_FAILURES: [i32; 2] = [ffi::SQLITE_IOERR_READ, ffi::SQLITE_IOERR_SHORT_READ];
    match error {
        StoreError::Sqlite(error) => error.sqlite_error().is_some_and(|error| match error.code {
            ErrorCode::DiskFull | ErrorCode::CannotOpen | ErrorCode::DatabaseBusy | ErrorCode::OutOfMemory => true,
            ErrorCode::SystemIoFailure => !PAGE_FAILURES.contains(&error.extended_code),
            _ => false,
        }),
        StoreError::File(_, error) => !matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof),
        _ => false,
    }
}

/// Reads a table from both ends up to the damage, then the rows between the ends one by one. A missing table is empty and not
/// complete.
pub(super) fn read_table(connection: &Connection, name: &str) -> Result<SalvagedTable, StoreError> {
    let mut salvaged = SalvagedTable::default();
    let Some((columns, keys)) = unless_damaged(table_columns(connection, name))? else { return Ok(salvaged) };
    salvaged.columns = columns;
    if salvaged.columns.is_empty() {
        return Ok(salvaged);
    }
    let by_rowid = keys.is_empty();
    let key = |way: &str| {
        let names = if by_rowid { vec!["rowid".to_owned()] } else { keys.iter().map(|key| quoted(key)).collect() };
        names.iter().map(|name| format!("{name} {way}")).collect::<Vec<_>>().join(", ")
    };
    let all = salvaged.columns.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", ");
    let name = quoted(name);
    let first = if by_rowid { "rowid" } else { "0" };
    let text = |way: &str| format!("SELECT {first}, {all} FROM {name} NOT INDEXED ORDER BY {}", key(way));
    let (mut rising, is_complete) = read_until_damage(connection, &text("ASC"), salvaged.columns.len())?;
    if !is_complete {
        let (falling, _) = read_until_damage(connection, &text("DESC"), salvaged.columns.len())?;
        let low = rising.last().map_or(0, |row| row.rowid);
        let high = falling.last().map_or(low, |row| row.rowid);
        if by_rowid {
            let between = format!("SELECT rowid, {all} FROM {name} NOT INDEXED WHERE rowid = ?1");
            for rowid in (low + 1..high).take(PROBES_MAX) {
                let row = connection.query_row(&between, [rowid], |row| raw_row(row, salvaged.columns.len()));
                rising.extend(unless_damaged(row.map_err(StoreError::from))?);
            }
        }
        // A damaged tree may lead to the same row twice.
        rising.extend(falling.into_iter().filter(|row| !by_rowid || row.rowid > low));
    }
    for row in rising {
        if row.is_invalid { &mut salvaged.invalid_rows } else { &mut salvaged.rows }.push(row.values);
    }
    salvaged.complete = is_complete;
    Ok(salvaged)
}

/// The names of a table's columns, and those of its primary key when the table has no rowid.
pub(super) fn table_columns(connection: &Connection, table: &str) -> Result<(Vec<String>, Vec<String>), StoreError> {
    let text = "SELECT wr FROM pragma_table_list(?1) WHERE schema = 'main' AND type = 'table'";
    let without_rowid: bool = connection.query_row(text, [table], |row| row.get(0))?;
    let text = "SELECT name, pk FROM pragma_table_info(?1) ORDER BY pk";
    let found: Vec<(String, i64)> = select::all(connection, text, [table], |row| Ok(row.try_into()?))?;
    let keys = found.iter().filter(|(_, pk)| without_rowid && *pk > 0).map(|(name, _)| name.clone()).collect();
    Ok((found.into_iter().map(|(name, _)| name).collect(), keys))
}

/// A row with unchecked values.
pub(super) struct RawRow {
    pub rowid: i64,
    pub values: Vec<Sql>,
    /// True when a text of the row is not UTF-8.
    pub is_invalid: bool,
}

/// The rows of a query up to the first damaged one, and whether no row was damaged. The first selected value is the rowid, and
/// `columns` values follow.
pub(super) fn read_until_damage(
    connection: &Connection,
    text: &str,
    columns: usize,
) -> Result<(Vec<RawRow>, bool), StoreError> {
    let mut found = Vec::new();
    let mut read = || -> Result<(), StoreError> {
        let mut statement = connection.prepare(text)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            found.push(raw_row(row, columns)?);
        }
        Ok(())
    };
    let is_complete = unless_damaged(read())?.is_some();
    Ok((found, is_complete))
}

fn raw_row(row: &Row<'_>, columns: usize) -> Result<RawRow, rusqlite::Error> {
    let mut found = RawRow { rowid: row.get(0)?, values: Vec::with_capacity(columns), is_invalid: false };
    for n in 1..=columns {
        found.values.push(match row.get_ref(n)? {
            ValueRef::Text(bytes) => {
                found.is_invalid |= str::from_utf8(bytes).is_err();
                Sql::Text(String::from_utf8_lossy(bytes).into_owned())
            }
            _ => row.get(n)?,
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passing_failures_are_no_damage() {
        let failed = |code| StoreError::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        for code in
            [ffi::SQLITE_FULL, ffi::SQLITE_CANTOPEN, ffi::SQLITE_BUSY, ffi::SQLITE_NOMEM, ffi::SQLITE_IOERR_SHMSIZE]
        {
            assert!(unless_damaged::<()>(Err(failed(code))).is_err(), "{code}");
        }
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB, ffi::SQLITE_ERROR, ffi::SQLITE_IOERR_SHORT_READ] {
            assert_eq!(unless_damaged::<()>(Err(failed(code))).unwrap(), None, "{code}");
        }
    }
}

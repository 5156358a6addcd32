//! A person's own SQL, for reading alone. Must not be able to write, whatever the SQL says.

use std::path::Path;

use rusqlite::ffi;
use serde_json::Value;

use crate::store::{StoreError, open, rows};

/// The answer of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values of the rows, in the order of the columns.
    pub rows: Vec<Vec<Value>>,
}

/// Runs one statement on a read-only connection.
pub fn read_query(db: &Path, sql: &str) -> Result<Table, StoreError> {
    let connection = open::read_only(db)?;
    let mut statement = connection.prepare(sql)?;
    if !statement.readonly() {
        // Before it is run: some of them make a file before SQLite finds that they may not.
        return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_READONLY), None).into());
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let count = columns.len();
    let rows = statement
        .query_map([], |row| (0..count).map(|n| Ok(rows::from_sql(row.get_ref(n)?))).collect())?
        .collect::<Result<_, _>>()?;
    Ok(Table { columns, rows })
}

//! A person's own SQL, for reading alone. Must not be able to write, whatever the SQL says.

use std::path::Path;

use rusqlite::ffi;
use rusqlite::types::ValueRef;
use serde_json::Value;

use crate::store::{StoreError, rows, snapshot};

/// The answer of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values of the rows, in the order of the columns.
    pub rows: Vec<Vec<Value>>,
}

/// The rows of an answer, each read when it is asked for.
pub type Rows<'a> = dyn Iterator<Item = Result<Vec<Value>, StoreError>> + 'a;

/// Runs one statement on a read-only connection and hands on the names of its columns and its rows, of which there may be
/// more than the memory holds. One that fails at once has no answer.
pub fn read_query<T>(
    db: &Path,
    sql: &str,
    read: impl FnOnce(Vec<String>, &mut Rows<'_>) -> T,
) -> Result<T, StoreError> {
    let connection = snapshot::read_only(db)?;
    let mut statement = connection.prepare(sql)?;
    if !statement.readonly() {
        // Before it is run: some of them make a file before SQLite finds that they may not.
        return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_READONLY), None).into());
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let count = columns.len();
    let mut rows = statement.query_map([], |row| (0..count).map(|n| Ok(value(row.get_ref(n)?))).collect())?;
    let first = rows.next().transpose()?;
    Ok(read(columns, &mut first.map(Ok).into_iter().chain(rows.map(|row| Ok(row?)))))
}

/// A value as JSON, which knows no bytes that are no text: these are written as SQL has them, `X'00FF'`.
fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("X'{digits}'").into()
        }
        other => rows::from_sql(other),
    }
}

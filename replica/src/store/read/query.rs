//! Runs a person's own SQL read-only. Must not write, whatever the SQL says.

use std::path::Path;

use rusqlite::ffi;
use rusqlite::types::ValueRef;
use serde_json::Value;

use crate::store::{StoreError, read_only, rows};

/// The rows of a result. Each row is read when it is asked for.
pub type Rows<'a> = dyn Iterator<Item = Result<Vec<Value>, StoreError>> + 'a;

/// Runs one statement on a read-only connection and passes the column names and the rows to `read`. The result may be larger
/// than the memory. An error when the statement writes, or when its first row fails; `read` is not called then.
pub fn read_query<T>(
    db: &Path,
    sql: &str,
    read: impl FnOnce(Vec<String>, &mut Rows<'_>) -> T,
) -> Result<T, StoreError> {
    let connection = read_only::open_any(db)?;
    let mut statement = connection.prepare(sql)?;
    if !statement.readonly() {
        // Refused before it runs: some statements create a file before SQLite refuses the write.
        return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_READONLY), None).into());
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let count = columns.len();
    let mut rows = statement.query_map([], |row| (0..count).map(|n| Ok(json_value(row.get_ref(n)?))).collect())?;
    let first = rows.next().transpose()?;
    Ok(read(columns, &mut first.map(Ok).into_iter().chain(rows.map(|row| Ok(row?)))))
}

/// A value as JSON. Bytes (BLOB) become the text of an SQL literal, `X'00FF'`.
fn json_value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("X'{digits}'").into()
        }
        other => rows::sql_to_json(other),
    }
}

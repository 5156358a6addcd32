//! Runs a query and reads its rows. Must not know tables.

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::StoreError;

/// The rows of a query, each as `read` reads it.
pub(super) fn all<T>(
    connection: &Connection,
    text: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    connection.prepare_cached(text)?.query_and_then(params, read)?.collect()
}

/// The first column of the rows of a query.
pub(super) fn column<T: FromSql>(
    connection: &Connection,
    text: &str,
    params: impl Params,
) -> Result<Vec<T>, StoreError> {
    all(connection, text, params, |row| Ok(row.get(0)?))
}

/// The first column of the first row of a query. None: there is no row, or NULL.
pub(super) fn first<T: FromSql>(
    connection: &Connection,
    text: &str,
    params: impl Params,
) -> Result<Option<T>, StoreError> {
    Ok(connection.prepare_cached(text)?.query_row(params, |row| row.get(0)).optional()?.flatten())
}

/// The first column of the only row of a query.
pub(super) fn value<T: FromSql>(connection: &Connection, text: &str, params: impl Params) -> Result<T, StoreError> {
    Ok(connection.prepare_cached(text)?.query_row(params, |row| row.get(0))?)
}

/// The number that a query counts.
pub(super) fn count(connection: &Connection, text: &str, params: impl Params) -> Result<usize, StoreError> {
    Ok(connection.prepare_cached(text)?.query_row(params, |row| count_of(row, 0))?)
}

/// A column that counts.
pub(super) fn count_of(row: &Row<'_>, column: usize) -> rusqlite::Result<usize> {
    Ok(usize::try_from(row.get::<_, i64>(column)?).unwrap_or_default())
}

/// The most rows of a query, as SQLite takes the number.
pub(super) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

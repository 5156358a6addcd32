//! Edits that have ended, and the present conflicts, as people and programs read them. Must not write.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow};

use crate::model::{Conflict, Settled};
use crate::store::edits::names::title;
use crate::store::{StoreError, rows};

/// The last ended edits, newest first.
pub(crate) fn list(connection: &Connection, limit: usize) -> Result<Vec<Settled>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM edit_history ORDER BY settled_at DESC, id DESC LIMIT ?1")?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = statement.query_map([limit], |row| Ok(read(connection, row)))?.collect::<Result<Vec<_>, _>>()?;
    found.into_iter().collect()
}

/// The last ended edits of one record, newest first.
pub(crate) fn of_record(
    connection: &Connection,
    kind: Kind,
    record: &str,
    limit: usize,
) -> Result<Vec<Settled>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT * FROM edit_history WHERE kind = ?1 AND record_id = ?2 ORDER BY settled_at DESC, id DESC LIMIT ?3",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = statement
        .query_map((kind.as_str(), record, limit), |row| Ok(read(connection, row)))?
        .collect::<Result<Vec<_>, _>>()?;
    found.into_iter().collect()
}

/// One ended edit; None when it ended more than 30 days ago or never existed.
pub(crate) fn get(connection: &Connection, edit: i64) -> Result<Option<Settled>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT * FROM edit_history WHERE id = ?1")?;
    statement.query_row([edit], |row| Ok(read(connection, row))).optional()?.transpose()
}

/// The present conflicts, one for each field.
pub(crate) fn conflicts(connection: &Connection) -> Result<Vec<Conflict>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT * FROM conflicts")?;
    let read = |row: &SqlRow<'_>| -> Result<Conflict, StoreError> {
        let (kind, record_id) = (kind(row)?, row.get::<_, String>("record_id")?);
        Ok(Conflict {
            edit_id: row.get("edit_id")?,
            field: row.get("field")?,
            base: rows::sql_to_json(row.get_ref("base")?),
            mine: rows::sql_to_json(row.get_ref("mine")?),
            theirs: rows::sql_to_json(row.get_ref("theirs")?),
            theirs_at: row.get("theirs_at")?,
            theirs_by: row.get("theirs_by")?,
            title: title(connection, kind, &record_id, &[])?,
            kind,
            record_id,
        })
    };
    let found = statement.query_map([], |row| Ok(read(row)))?.collect::<Result<Vec<_>, _>>()?;
    found.into_iter().collect()
}

fn read(connection: &Connection, row: &SqlRow<'_>) -> Result<Settled, StoreError> {
    let (kind, record_id) = (kind(row)?, row.get::<_, String>("record_id")?);
    let patch = rows::parse_object(&row.get::<_, String>("patch")?)?;
    let base = rows::parse_object(&row.get::<_, String>("base")?)?;
    Ok(Settled {
        id: row.get("id")?,
        method: row.get("method")?,
        outcome: row.get("outcome")?,
        rev: row.get("rev")?,
        reason: row.get("reason")?,
        origin: row.get("origin")?,
        created_at: row.get("created_at")?,
        settled_at: row.get("settled_at")?,
        title: title(connection, kind, &record_id, &[&patch, &base])?,
        kind,
        record_id,
        patch,
        base,
    })
}

fn kind(row: &SqlRow<'_>) -> Result<Kind, StoreError> {
    let word: String = row.get("kind")?;
    Kind::parse(&word).ok_or_else(|| StoreError::InvalidContent(format!("an edit of unknown kind {word}")))
}

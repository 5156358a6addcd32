//! Edits that have ended, and the present conflicts, as people and programs read them. Must not write.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Params, Row as SqlRow};

use crate::model::{Conflict, EditProgress, Settled};
use crate::store::edits::names::title;
use crate::store::{StoreError, rows, select};

/// The last ended edits, newest first.
pub(crate) fn list(connection: &Connection, limit: usize) -> Result<Vec<Settled>, StoreError> {
    read_all(connection, "ORDER BY settled_at DESC, id DESC LIMIT ?1", [select::limit(limit)])
}

/// The last ended edits of one record, newest first.
pub(crate) fn of_record(
    connection: &Connection,
    kind: Kind,
    record: &str,
    limit: usize,
) -> Result<Vec<Settled>, StoreError> {
    let which = "WHERE kind = ?1 AND record_id = ?2 ORDER BY settled_at DESC, id DESC LIMIT ?3";
    read_all(connection, which, (kind.as_str(), record, select::limit(limit)))
}

/// One ended edit; None when it ended more than 30 days ago or never existed.
pub(crate) fn get(connection: &Connection, edit: i64) -> Result<Option<Settled>, StoreError> {
    Ok(read_all(connection, "WHERE id = ?1", [edit])?.pop())
}

fn read_all(connection: &Connection, which: &str, of: impl Params) -> Result<Vec<Settled>, StoreError> {
    let text = format!("SELECT * FROM edit_history {which}");
    select::all(connection, &text, of, |row| read(connection, row))
}

/// How far an edit is, or how it ended. None when it ended more than 30 days ago or never existed.
pub(crate) fn progress(connection: &Connection, edit: i64) -> Result<Option<EditProgress>, StoreError> {
    let text = "SELECT state FROM edits WHERE id = ?1 UNION ALL SELECT outcome FROM edit_history WHERE id = ?1";
    Ok(connection.prepare_cached(text)?.query_row([edit], |row| row.get(0)).optional()?)
}

/// The present conflicts, one for each field.
pub(crate) fn conflicts(connection: &Connection) -> Result<Vec<Conflict>, StoreError> {
    let read = |row: &SqlRow<'_>| {
        let (kind, record_id) = (rows::kind(row, "kind")?, row.get::<_, String>("record_id")?);
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
    select::all(connection, "SELECT * FROM conflicts", [], read)
}

fn read(connection: &Connection, row: &SqlRow<'_>) -> Result<Settled, StoreError> {
    let (kind, record_id) = (rows::kind(row, "kind")?, row.get::<_, String>("record_id")?);
    let (patch, base) = (rows::object(row, "patch")?, rows::object(row, "base")?);
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

//! What a person can look back on: edits that ended, and what is in conflict now. Must not write.

use crate::model::{Conflict, Settled};
use crate::store::{StoreError, rows};
use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow};

/// Settled edits, the last settled first.
pub(crate) fn list(connection: &Connection, limit: usize) -> Result<Vec<Settled>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM edit_history ORDER BY settled_at DESC, id DESC LIMIT ?1")?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = statement.query_map([limit], |row| Ok(read(connection, row)))?.collect::<Result<Vec<_>, _>>()?;
    found.into_iter().collect()
}

/// Settled edits of one record, the last settled first.
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

/// One settled edit.
pub(crate) fn get(connection: &Connection, edit: i64) -> Result<Option<Settled>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT * FROM edit_history WHERE id = ?1")?;
    statement.query_row([edit], |row| Ok(read(connection, row))).optional()?.transpose()
}

/// What is in conflict now.
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
        rev: row.get::<_, Option<i64>>("rev")?.filter(|rev| *rev > 0),
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

/// What a record is called: as it stands here, or as it last was.
pub(crate) fn title(connection: &Connection, kind: Kind, id: &str, before: &[&Fields]) -> Result<String, StoreError> {
    let name = resource(kind).title;
    let stored = rows::load_row(connection, kind, id)?;
    let fields = stored.as_ref().map(|stored| &stored.fields).into_iter().chain(before.iter().copied());
    let title = fields.filter_map(|fields| fields.get(name)?.as_str()).find(|title| !title.is_empty());
    if let Some(title) = title {
        return Ok(title.to_owned());
    }
    // What is told here changed something else, but another change of the record may name it.
    let text = format!(
        "SELECT coalesce(json_extract(patch, '$.{name}'), json_extract(base, '$.{name}')) AS title
         FROM (SELECT id, kind, record_id, patch, base FROM edits UNION ALL
               SELECT id, kind, record_id, patch, base FROM edit_history)
         WHERE kind = ?1 AND record_id = ?2 AND title <> '' ORDER BY id DESC LIMIT 1"
    );
    let told = connection.prepare_cached(&text)?.query_row((kind.as_str(), id), |row| row.get(0)).optional()?;
    Ok(told.unwrap_or_else(|| kind.as_str().to_owned()))
}

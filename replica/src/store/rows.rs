//! Rows of the six typed tables as values. Must not know where a value comes from: the feed, a list, a response or an edit.

use std::fmt::Write as _;
use std::sync::LazyLock;

use hearth_contract::check::Fields;
use hearth_contract::record::complete;
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Kind};
use rusqlite::types::{ToSqlOutput, Value as Sql, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, RowIndex, ToSql, params_from_iter};
use serde::Serialize;
use serde_json::{Map, Value};

use super::schema::search;
pub(crate) use super::schema::table_sql::columns;
use super::{StoreError, file_store, select};
use crate::model::FILE_SHA256;

/// One record as a typed table holds it, without its id.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct StoredRecord {
    /// Every field of the kind, with JSON types.
    pub fields: Fields,
    /// The position of the last change; None until the server has confirmed the record, and while the position is unknown.
    pub rev: Option<i64>,
    /// RFC 3339, UTC, milliseconds.
    pub created_at: Option<String>,
    /// RFC 3339, UTC, milliseconds.
    pub updated_at: Option<String>,
    /// The name of the person or the key that made the last change on the server; None until the server has confirmed the
    /// record.
    pub updated_by: Option<String>,
    /// A JSON object of members that this version has no column for.
    pub extra: Option<String>,
}

impl StoredRecord {
    /// Reads the wire form. A known member of an unexpected type goes to `extra`, as unknown members do: no value is lost, and
    /// no value of a newer server stops the sync. Members that an older server does not send get their defaults.
    pub(crate) fn from_payload(kind: Kind, rev: i64, payload: &Map<String, Value>) -> StoredRecord {
        let mut stored = StoredRecord { rev: Some(rev), ..StoredRecord::default() };
        let mut extra = Map::new();
        for (name, value) in payload {
            let text = value.as_str().map(str::to_owned);
            match (name.as_str(), resource(kind).field(name)) {
                ("created_at", _) => stored.created_at = text,
                ("updated_at", _) => stored.updated_at = text,
                ("updated_by", _) => stored.updated_by = text,
                (name, None) if COMMON.contains(&name) => {}
                (_, Some(field)) if fits_column(field.format.is_integer(), value) => {
                    stored.fields.insert(name.clone(), value.clone());
                }
                _ => drop(extra.insert(name.clone(), value.clone())),
            }
        }
        complete(kind, &mut stored.fields);
        stored.extra = (!extra.is_empty()).then(|| Value::Object(extra).to_string());
        stored
    }
}

/// True when a column of the type can hold the value.
fn fits_column(integer: bool, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(_) => !integer,
        Value::Number(number) => integer && number.is_i64(),
        _ => false,
    }
}

/// Inserts a row; or writes its times, its author and its revision, and of the other columns those that differ. The indexes of equal
/// fields are not touched.
pub(crate) fn write_row(
    connection: &Connection,
    kind: Kind,
    id: &str,
    stored: &StoredRecord,
) -> Result<(), StoreError> {
    let differing = connection
        .prepare_cached(&statements(kind).select_fields)?
        .query_row([id], |row| differing_columns(kind, row, stored))
        .optional()?;
    match differing {
        None => insert_row(connection, kind, id, stored)?,
        Some(columns) => {
            let has_equal_fields = columns.is_empty();
            update_columns(connection, kind, id, stored, columns)?;
            if has_equal_fields {
                return Ok(());
            }
        }
    }
    search::mark_touched(connection, kind, id)?;
    // The trigger that does this for a script acts only while the gate is closed.
    if stored.fields.get(FILE_SHA256).is_some_and(|file| !file.is_null()) {
        file_store::table::note_document(connection, id)?;
    }
    Ok(())
}

/// The columns of a row, of its fields and `extra`, that differ from a record, with the record's values.
fn differing_columns<'a>(
    kind: Kind,
    row: &SqlRow<'_>,
    stored: &'a StoredRecord,
) -> Result<Vec<(&'static str, ToSqlOutput<'a>)>, rusqlite::Error> {
    let mut differing = Vec::new();
    if row.get_ref(0)?.as_str_or_null().ok() != Some(stored.extra.as_deref()) {
        differing.push(("extra", stored.extra.to_sql()?));
    }
    for (index, field) in resource(kind).fields.iter().enumerate() {
        let value = stored.fields.get(field.name);
        if !column_equals(row.get_ref(index + 1)?, value) {
            differing.push((field.name, json_as_sql(value)));
        }
    }
    Ok(differing)
}

/// Writes some columns of a row, its times, its author and its revision.
fn update_columns(
    connection: &Connection,
    kind: Kind,
    id: &str,
    stored: &StoredRecord,
    columns: Vec<(&'static str, ToSqlOutput<'_>)>,
) -> Result<(), StoreError> {
    let mut text = format!(
        "UPDATE {kind} SET created_at = ?2, updated_at = ?3, updated_by = ?4, rev = ?5",
        kind = kind.collection()
    );
    let mut values = vec![
        ToSqlOutput::from(id),
        stored.created_at.to_sql()?,
        stored.updated_at.to_sql()?,
        stored.updated_by.to_sql()?,
        ToSqlOutput::Owned(stored.rev.into()),
    ];
    for (name, value) in columns {
        values.push(value);
        let _ = write!(text, ", {name} = ?{}", values.len());
    }
    text.push_str(" WHERE id = ?1");
    connection.prepare_cached(&text)?.execute(params_from_iter(values))?;
    Ok(())
}

/// True when a column holds the stored form of a value.
fn column_equals(cell: ValueRef<'_>, value: Option<&Value>) -> bool {
    match (cell, value) {
        (ValueRef::Null, None | Some(Value::Null)) => true,
        (ValueRef::Text(cell), Some(Value::String(value))) => cell == value.as_bytes(),
        (ValueRef::Integer(cell), Some(Value::Number(value))) => value.as_i64() == Some(cell),
        _ => false,
    }
}

fn insert_row(connection: &Connection, kind: Kind, id: &str, stored: &StoredRecord) -> Result<(), StoreError> {
    let values = resource(kind).fields.iter().map(|field| json_as_sql(stored.fields.get(field.name)));
    let values = [ToSqlOutput::from(id)].into_iter().chain(values).chain([
        stored.created_at.to_sql()?,
        stored.updated_at.to_sql()?,
        stored.updated_by.to_sql()?,
        ToSqlOutput::Owned(stored.rev.into()),
        stored.extra.to_sql()?,
    ]);
    connection.prepare_cached(&statements(kind).insert)?.execute(params_from_iter(values))?;
    Ok(())
}

/// The statements that write rows of one kind.
struct Statements {
    insert: String,
    /// Selects `extra` and every field.
    select_fields: String,
}

/// The statements of a kind. The texts are made once.
fn statements(kind: Kind) -> &'static Statements {
    static STATEMENTS: LazyLock<[Statements; 6]> = LazyLock::new(|| {
        Kind::ALL.map(|kind| {
            let names: Vec<&str> = columns(resource(kind)).collect();
            let marks: Vec<String> = (1..=names.len()).map(|n| format!("?{n}")).collect();
            let table = kind.collection();
            let insert = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), marks.join(", "));
            let fields: String = resource(kind).fields.iter().map(|field| format!(", {}", field.name)).collect();
            let select_fields = format!("SELECT extra{fields} FROM {table} WHERE id = ?1");
            Statements { insert, select_fields }
        })
    });
    &STATEMENTS[kind as usize]
}

/// Deletes a row, if the row exists.
pub(crate) fn delete_row(connection: &Connection, kind: Kind, id: &str) -> Result<(), StoreError> {
    connection.prepare_cached(&format!("DELETE FROM {} WHERE id = ?1", kind.collection()))?.execute([id])?;
    search::mark_touched(connection, kind, id)
}

/// Gives a profile row that was written before the first contact the id of its home. The id of no other row changes.
pub(crate) fn set_profile_id(connection: &Connection, home: &str) -> Result<(), StoreError> {
    let text = "SELECT id FROM property WHERE rev IS NULL AND id <> ?1";
    let before: Option<String> = select::first(connection, text, [home])?;
    before.map_or(Ok(()), |before| set_id(connection, Kind::Property, &before, home))
}

/// Gives a row another id. All other columns stay, also those that a person has added.
pub(crate) fn set_id(connection: &Connection, kind: Kind, old: &str, new: &str) -> Result<(), StoreError> {
    connection.execute(&format!("UPDATE {} SET id = ?2 WHERE id = ?1", kind.collection()), [old, new])?;
    // The trigger on updates makes an entry for the new id, and leaves the old one.
    search::renew_entry(connection, kind, old)?;
    search::mark_touched(connection, kind, new)
}

/// Loads a row; None when there is no such row.
pub(crate) fn load_row(connection: &Connection, kind: Kind, id: &str) -> Result<Option<StoredRecord>, StoreError> {
    let mut statement = connection.prepare_cached(&format!("SELECT * FROM {} WHERE id = ?1", kind.collection()))?;
    Ok(statement.query_row([id], |row| record_from_row(kind, row)).optional()?)
}

/// Calls `each` with the id and the fields of every row of a kind.
pub(crate) fn each(connection: &Connection, kind: Kind, mut each: impl FnMut(&str, &Fields)) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(&format!("SELECT * FROM {}", kind.collection()))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(row.get_ref("id")?.as_str().unwrap_or_default(), &record_from_row(kind, row)?.fields);
    }
    Ok(())
}

/// Reads the columns of a typed table by name.
pub(crate) fn record_from_row(kind: Kind, row: &SqlRow<'_>) -> Result<StoredRecord, rusqlite::Error> {
    let value = |name: &str| Ok((name.to_owned(), sql_to_json(row.get_ref(name)?)));
    let fields = resource(kind).fields.iter().map(|field| value(field.name)).collect::<rusqlite::Result<Fields>>()?;
    with_server_columns(row, fields)
}

/// A record with these fields, and the columns of the row that only the server sets.
pub(super) fn with_server_columns(row: &SqlRow<'_>, fields: Fields) -> rusqlite::Result<StoredRecord> {
    Ok(StoredRecord {
        fields,
        rev: row.get("rev")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        updated_by: row.get("updated_by")?,
        extra: row.get("extra")?,
    })
}

/// A JSON value as a column holds the value; an absent value is NULL.
pub(crate) fn json_to_sql(value: Option<&Value>) -> Sql {
    match value {
        None | Some(Value::Null) => Sql::Null,
        Some(Value::String(text)) => Sql::Text(text.clone()),
        Some(Value::Number(number)) => match number.as_i64() {
            Some(whole) => Sql::Integer(whole),
            None => Sql::Real(number.as_f64().unwrap_or_default()),
        },
        Some(Value::Bool(flag)) => Sql::Integer((*flag).into()),
        Some(other) => Sql::Text(other.to_string()),
    }
}

/// A JSON value as a column holds the value, without copying a text.
fn json_as_sql(value: Option<&Value>) -> ToSqlOutput<'_> {
    match value {
        Some(Value::String(text)) => text.as_str().into(),
        other => ToSqlOutput::Owned(json_to_sql(other)),
    }
}

/// A column's value as JSON. Bytes become a text.
pub(crate) fn sql_to_json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned().into(),
    }
}

/// The kind that a column names.
pub(crate) fn kind(row: &SqlRow<'_>, column: impl RowIndex) -> Result<Kind, StoreError> {
    let word: String = row.get(column)?;
    Kind::parse(&word).ok_or_else(|| StoreError::InvalidContent(format!("the unknown kind {word}")))
}

/// A value as JSON text.
pub(crate) fn json_text(value: &impl Serialize) -> String {
    // The values have text keys and no numbers that JSON lacks, so writing cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// The JSON object that a column holds as text.
pub(crate) fn object(row: &SqlRow<'_>, column: impl RowIndex) -> Result<Fields, StoreError> {
    parse_object(&row.get::<_, String>(column)?)
}

/// Parses a JSON object that a column holds as text.
pub(crate) fn parse_object(text: &str) -> Result<Fields, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::InvalidContent(format!("text that is no JSON object ({error})")))
}

/// The title in the row of a record. None: there is no row, or it has no title.
pub(crate) fn stored_title(connection: &Connection, kind: Kind, id: &str) -> Result<Option<String>, StoreError> {
    let text = format!("SELECT {} FROM {} WHERE id = ?1", resource(kind).title, kind.collection());
    select::first(connection, &text, [id])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::{gate, open};

    const ID: &str = "0190a3b0-0000-7000-8000-0000000000a1";

    /// Only the columns that differ are written. The row must be the record afterwards, whatever stood there.
    #[test]
    fn row_is_the_record_after_any_row() {
        let directory = tempfile::tempdir().unwrap();
        let mut connection = open::read_write(&directory.path().join("replica.db")).unwrap();
        let payloads = [
            json!({ "name": "Chair" }),
            json!({ "name": "Chair", "quantity": 3, "notes": "oak", "updated_at": "2026-11-28T00:00:00.000Z" }),
            json!({ "name": "Stool", "quantity": 3, "notes": null, "color_of_a_newer_server": "red" }),
            json!({ "name": "Stool", "quantity": "three", "notes": "oak", "updated_by": "Ann" }),
        ];
        let records: Vec<StoredRecord> = (1..)
            .zip(&payloads)
            .map(|(rev, payload)| StoredRecord::from_payload(Kind::Inventory, rev, payload.as_object().unwrap()))
            .collect();
        for (before, after) in records.iter().flat_map(|before| records.iter().map(move |after| (before, after))) {
            gate::sync_tx(&mut connection, |tx| {
                write_row(tx, Kind::Inventory, ID, before)?;
                write_row(tx, Kind::Inventory, ID, after)
            })
            .unwrap();
            let mut written = load_row(&connection, Kind::Inventory, ID).unwrap().unwrap();
            written.fields.retain(|name, value| !value.is_null() || after.fields.contains_key(name));
            assert_eq!(&written, after, "over {before:?}");
            let found = "SELECT count(*) FROM search WHERE search MATCH ?1";
            let name = after.fields["name"].as_str().unwrap();
            assert_eq!(connection.query_row(found, [name], |row| row.get::<_, i64>(0)).unwrap(), 1);
        }
    }
}

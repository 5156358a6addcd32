//! Rows of the six typed tables as values. Must not know where a value comes from: the feed, a list or an edit.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Kind, Resource};
use rusqlite::types::{ToSqlOutput, Value as Sql, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, ToSql, params_from_iter};
use serde_json::{Map, Value};

use crate::store::StoreError;
use crate::store::schema::search;

/// One record as a typed table holds it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Stored {
    /// Every field of the contract; JSON types.
    pub fields: Fields,
    /// Position of its last change; None until the server has confirmed it.
    pub rev: Option<i64>,
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
    /// Members that this version has no column for.
    pub extra: Option<String>,
}

impl Stored {
    /// From the wire form. A known member of an unexpected type goes where unknown members go: nothing is lost, and
    /// nothing that a newer server says can stop the sync.
    pub(crate) fn from_payload(kind: Kind, rev: i64, payload: &Map<String, Value>) -> Stored {
        let mut stored = Stored { rev: Some(rev), ..Stored::default() };
        let mut extra = Map::new();
        for (name, value) in payload {
            let text = value.as_str().map(str::to_owned);
            match (name.as_str(), resource(kind).field(name)) {
                ("created_at", _) => stored.created_at = text,
                ("updated_at", _) => stored.updated_at = text,
                (name, None) if COMMON.contains(&name) => {}
                (_, Some(field)) if fits(field.format.is_integer(), value) => {
                    stored.fields.insert(name.clone(), value.clone());
                }
                _ => drop(extra.insert(name.clone(), value.clone())),
            }
        }
        stored.extra = (!extra.is_empty()).then(|| Value::Object(extra).to_string());
        stored
    }

    /// Lays a patch over the fields.
    pub(crate) fn merge(&mut self, patch: &Fields) {
        for (name, value) in patch {
            self.fields.insert(name.clone(), value.clone());
        }
    }
}

fn fits(integer: bool, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(_) => !integer,
        Value::Number(number) => integer && number.is_i64(),
        _ => false,
    }
}

/// Makes a row this, whether it exists or not. Where its fields are these already, its times and revision alone are written:
/// of the many indexes behind the lists that concerns one.
pub(crate) fn put(connection: &Connection, kind: Kind, id: &str, stored: &Stored) -> Result<(), StoreError> {
    lay(connection, kind, id, stored, false).map(drop)
}

/// The same unless there is a row of this revision or a newer one; gives whether there was none.
pub(crate) fn put_over(connection: &Connection, kind: Kind, id: &str, stored: &Stored) -> Result<bool, StoreError> {
    lay(connection, kind, id, stored, true)
}

fn lay(connection: &Connection, kind: Kind, id: &str, stored: &Stored, if_newer: bool) -> Result<bool, StoreError> {
    let texts = texts(kind);
    let row = connection
        .prepare_cached(&texts.fields)?
        .query_row([id], |row| {
            let (rev, extra) = (row.get::<_, Option<i64>>(0)?, row.get_ref(1)?);
            let mut same = extra.as_str_or_null().ok() == Some(stored.extra.as_deref());
            for (place, field) in resource(kind).fields.iter().enumerate() {
                same = same && is(row.get_ref(place + 2)?, stored.fields.get(field.name));
            }
            Ok((rev, same))
        })
        .optional()?;
    match row {
        Some((rev, _)) if if_newer && rev >= stored.rev => return Ok(false),
        Some((_, true)) => {
            let times = (id, &stored.created_at, &stored.updated_at, stored.rev);
            connection.prepare_cached(&texts.stamp)?.execute(times)?;
        }
        _ => write(connection, &texts.always, kind, id, stored)?,
    }
    Ok(true)
}

/// Whether a column holds what a value would be stored as.
fn is(cell: ValueRef<'_>, value: Option<&Value>) -> bool {
    match (cell, value) {
        (ValueRef::Null, None | Some(Value::Null)) => true,
        (ValueRef::Text(cell), Some(Value::String(value))) => cell == value.as_bytes(),
        (ValueRef::Integer(cell), Some(Value::Number(value))) => value.as_i64() == Some(cell),
        _ => false,
    }
}

/// Writes a row unless there is one of this revision or a newer one.
pub(crate) fn put_newer(connection: &Connection, kind: Kind, id: &str, stored: &Stored) -> Result<(), StoreError> {
    write(connection, &texts(kind).if_newer, kind, id, stored)
}

fn write(connection: &Connection, upsert: &str, kind: Kind, id: &str, stored: &Stored) -> Result<(), StoreError> {
    fn text(text: &Option<String>) -> ToSqlOutput<'_> {
        text.as_deref().map_or(ToSqlOutput::Owned(Sql::Null), ToSqlOutput::from)
    }
    let resource = resource(kind);
    let mut statement = connection.prepare_cached(upsert)?;
    let values = resource.fields.iter().map(|field| borrowed(stored.fields.get(field.name)));
    let values = [ToSqlOutput::from(id)].into_iter().chain(values).chain([
        text(&stored.created_at),
        text(&stored.updated_at),
        ToSqlOutput::Owned(stored.rev.into()),
        text(&stored.extra),
    ]);
    match statement.execute(params_from_iter(values))? {
        0 => Ok(()),
        _ => search::note(connection, kind, id),
    }
}

/// The statements that write a kind's rows.
struct Texts {
    /// Upserts.
    always: String,
    if_newer: String,
    /// What is compared before.
    fields: String,
    /// The times and the revision alone.
    stamp: String,
}

/// The texts of all of these, made once.
fn texts(kind: Kind) -> &'static Texts {
    static TEXTS: std::sync::OnceLock<Vec<Texts>> = std::sync::OnceLock::new();
    let texts = TEXTS.get_or_init(|| {
        Kind::ALL
            .into_iter()
            .map(|kind| {
                let names: Vec<&str> = columns(resource(kind)).collect();
                let marks: Vec<String> = (1..=names.len()).map(|n| format!("?{n}")).collect();
                let set: Vec<String> = names[1..].iter().map(|name| format!("{name} = excluded.{name}")).collect();
                let table = kind.collection();
                let always = format!(
                    "INSERT INTO {table} ({}) VALUES ({}) ON CONFLICT (id) DO UPDATE SET {}",
                    names.join(", "),
                    marks.join(", "),
                    set.join(", ")
                );
                let if_newer = format!("{always} WHERE coalesce({table}.rev, -1) < excluded.rev");
                let fields: String = resource(kind).fields.iter().map(|field| format!(", {}", field.name)).collect();
                let fields = format!("SELECT rev, extra{fields} FROM {table} WHERE id = ?1");
                let stamp = format!("UPDATE {table} SET created_at = ?2, updated_at = ?3, rev = ?4 WHERE id = ?1");
                Texts { always, if_newer, fields, stamp }
            })
            .collect()
    });
    &texts[kind as usize]
}

/// Every column of a typed table, `id` first.
pub(crate) fn columns(resource: &Resource) -> impl Iterator<Item = &'static str> {
    let tail = ["created_at", "updated_at", "rev", "extra"];
    ["id"].into_iter().chain(resource.fields.iter().map(|field| field.name)).chain(tail)
}

/// Removes a row, if there is one.
pub(crate) fn remove(connection: &Connection, kind: Kind, id: &str) -> Result<(), StoreError> {
    connection.prepare_cached(&format!("DELETE FROM {} WHERE id = ?1", kind.collection()))?.execute([id])?;
    search::note(connection, kind, id)
}

/// Gives a profile that was filled in before its home was known the id of that home. No other row's id ever changes.
pub(crate) fn move_profile(connection: &Connection, home: &str) -> Result<(), StoreError> {
    let before: Option<String> = connection
        .query_row("SELECT id FROM property WHERE rev IS NULL AND id <> ?1", [home], |row| row.get(0))
        .optional()?;
    if let Some(before) = before {
        connection.execute("UPDATE property SET id = ?2 WHERE id = ?1", [&before, home])?;
        search::note(connection, Kind::Property, &before)?;
        search::note(connection, Kind::Property, home)?;
    }
    Ok(())
}

/// Reads a row.
pub(crate) fn get(connection: &Connection, kind: Kind, id: &str) -> Result<Option<Stored>, StoreError> {
    let mut statement = connection.prepare_cached(&format!("SELECT * FROM {} WHERE id = ?1", kind.collection()))?;
    Ok(statement.query_row([id], |row| read(kind, row)).optional()?)
}

/// The position of a row's last change; None when there is no row or the server has not confirmed it.
pub(crate) fn rev(connection: &Connection, kind: Kind, id: &str) -> Result<Option<i64>, StoreError> {
    let mut statement = connection.prepare_cached(&format!("SELECT rev FROM {} WHERE id = ?1", kind.collection()))?;
    Ok(statement.query_row([id], |row| row.get(0)).optional()?.flatten())
}

/// Reads the columns of a row by name.
pub(crate) fn read(kind: Kind, row: &SqlRow<'_>) -> Result<Stored, rusqlite::Error> {
    let mut stored = Stored {
        rev: row.get("rev")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        extra: row.get("extra")?,
        fields: Fields::new(),
    };
    for field in resource(kind).fields {
        stored.fields.insert(field.name.to_owned(), from_sql(row.get_ref(field.name)?));
    }
    Ok(stored)
}

/// A JSON value as a column holds it; absent is null.
pub(crate) fn to_sql(value: Option<&Value>) -> Sql {
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

/// The same without a copy of its text.
fn borrowed(value: Option<&Value>) -> ToSqlOutput<'_> {
    match value {
        Some(Value::String(text)) => text.as_str().into(),
        other => ToSqlOutput::Owned(to_sql(other)),
    }
}

/// A column's value as JSON.
pub(crate) fn from_sql(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned().into(),
    }
}

/// A JSON object in a column of text.
pub(crate) fn object(text: &str) -> Result<Fields, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Garbled(format!("text that is no JSON object ({error})")))
}

/// Values bound by name order; a shorthand for statements with a varying number of them.
pub(crate) fn bound(values: &[Sql]) -> Vec<&dyn ToSql> {
    values.iter().map(|value| value as &dyn ToSql).collect()
}

//! Local changes: made through the same statements as anyone's, and listed while they wait. Must not know how they
//! are sent.
//!
//! [`plan`] says which may go ([`ahead`]: not in a ring), [`judge`] whether they still fit what the server has, [`parcel`]
//! makes an edit ready and [`push`] fixes its request; [`answers`] keeps what came of that, [`held`] what the server has,
//! [`had`] what it had before, [`doubt`] what it may have unheard, and [`settle`] ends it. What a person sees of it:
//! [`sides`]; and [`agreed`] which of that ends by itself. [`decide`], [`resolve`], [`undo`], [`take_back`] and [`history`]:
//! what a person decides about them, of several in one transaction ([`each`]), and what they can look back on. [`numbers`]
//! are how all of them are called.

pub(crate) mod agreed;
mod ahead;
pub(crate) mod answers;
pub(crate) mod decide;
pub(crate) mod doubt;
mod each;
mod had;
pub(super) mod held;
pub(crate) mod history;
pub(crate) mod judge;
pub(crate) mod numbers;
mod parcel;
mod parts;
pub(crate) mod plan;
pub(crate) mod push;
pub(crate) mod resolve;
pub(super) mod settle;
pub(crate) mod sides;
mod take_back;
pub(crate) mod undo;

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Params, Row as SqlRow, Transaction};
use serde_json::Value;
use uuid::{Builder, Uuid};

use crate::model::{Edit, Origin};
use crate::store::edits::judge::spelled;
use crate::store::{StoreError, gate, rows};

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// A value broke a rule; the sentence says which.
    #[error("{0}")]
    Refused(String),
    /// There is no such record here.
    #[error("there is no such record")]
    NotFound,
    /// The database failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for EditError {
    fn from(error: StoreError) -> EditError {
        match error {
            StoreError::Sqlite(error) => error.into(),
            other => EditError::Store(other),
        }
    }
}

impl From<rusqlite::Error> for EditError {
    fn from(error: rusqlite::Error) -> EditError {
        match &error {
            // What a trigger aborts with, or STRICT: a sentence for whoever typed the value.
            rusqlite::Error::SqliteFailure(failure, Some(sentence))
                if failure.code == rusqlite::ErrorCode::ConstraintViolation =>
            {
                EditError::Refused(sentence.clone())
            }
            _ => EditError::Store(error.into()),
        }
    }
}

/// Inserts a record and gives its id.
pub(crate) fn create(
    connection: &mut Connection,
    origin: Origin,
    kind: Kind,
    fields: &Fields,
) -> Result<String, EditError> {
    gate::edit_tx(connection, origin, |tx| create_in(tx, kind, fields))
}

/// Updates the fields of a record that differ. The home's profile comes into being by its first update.
pub(crate) fn update(
    connection: &mut Connection,
    origin: Origin,
    kind: Kind,
    id: &str,
    fields: &Fields,
) -> Result<(), EditError> {
    gate::edit_tx(connection, origin, |tx| update_in(tx, kind, id, fields))
}

/// [`update`], unless a field of `seen` has another value by now than was seen and than is wanted; then nothing is written
/// and it says false.
pub(crate) fn update_seen(
    connection: &mut Connection,
    origin: Origin,
    kind: Kind,
    id: &str,
    fields: &Fields,
    seen: &Fields,
) -> Result<bool, EditError> {
    gate::edit_tx(connection, origin, |tx| {
        let is = is_as_seen(tx, kind, id, fields, seen)?;
        if is {
            update_in(tx, kind, id, fields)?;
        }
        Ok(is)
    })
}

/// Whether every field of `seen` still has its value, or has the one that is wanted already.
fn is_as_seen(tx: &Connection, kind: Kind, id: &str, fields: &Fields, seen: &Fields) -> Result<bool, EditError> {
    let id = if kind.is_singleton() { profile_id(tx)? } else { Some(id.to_owned()) };
    let present = id.map(|id| rows::load_row(tx, kind, &id)).transpose()?.flatten();
    // Of a record that is gone the update says so; a profile that is not there yet has no values.
    let Some(present) = present else { return Ok(true) };
    // In one spelling: a value that comes back as the server writes it is the same value.
    Ok(seen.iter().all(|(name, value)| {
        let now = spelled(kind, name, present.fields.get(name));
        now == spelled(kind, name, Some(value))
            || fields.get(name).is_some_and(|wanted| now == spelled(kind, name, Some(wanted)))
    }))
}

/// Deletes a record.
pub(crate) fn delete(connection: &mut Connection, origin: Origin, kind: Kind, id: &str) -> Result<(), EditError> {
    gate::edit_tx(connection, origin, |tx| delete_in(tx, kind, id))
}

/// [`update`], within an editor's transaction.
pub(crate) fn update_in(tx: &Transaction<'_>, kind: Kind, id: &str, fields: &Fields) -> Result<(), EditError> {
    let id = if kind.is_singleton() { profile_id(tx)? } else { Some(id.to_owned()) };
    let Some(id) = id else { return create_in(tx, kind, fields).map(drop) };
    let Some(present) = rows::load_row(tx, kind, &id)? else { return Err(EditError::NotFound) };
    let changed: Vec<(&str, Sql)> = known(kind, fields)?
        .into_iter()
        .filter(|(name, value)| rows::json_to_sql(present.fields.get(*name)) != *value)
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let set: Vec<String> = changed.iter().enumerate().map(|(n, (name, _))| format!("{name} = ?{}", n + 2)).collect();
    let mut values = vec![Sql::from(id)];
    values.extend(changed.into_iter().map(|(_, value)| value));
    let text = format!("UPDATE {} SET {} WHERE id = ?1", kind.collection(), set.join(", "));
    tx.execute(&text, rows::as_params(&values).as_slice())?;
    Ok(())
}

/// [`delete`], within an editor's transaction.
pub(crate) fn delete_in(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<(), EditError> {
    match tx.execute(&format!("DELETE FROM {} WHERE id = ?1", kind.collection()), [id])? {
        0 => Err(EditError::NotFound),
        _ => Ok(()),
    }
}

/// An id that nobody has: of the machine's chance, or of a simulation's, so that a seed tells the same story twice.
fn fresh_id() -> Uuid {
    let mut bytes = [0; 16];
    if hearth_simulated::random(&mut bytes) { Builder::from_random_bytes(bytes).into_uuid() } else { Uuid::new_v4() }
}

/// [`create`], within an editor's transaction.
pub(crate) fn create_in(tx: &Transaction<'_>, kind: Kind, fields: &Fields) -> Result<String, EditError> {
    let id = match fields.get("id").and_then(Value::as_str) {
        Some(id) => id.to_owned(),
        None => fresh_id().to_string(),
    };
    if !kind.is_singleton() && rows::load_row(tx, kind, &id)?.is_some() {
        return Err(EditError::Refused(format!("a {kind} with the id {id} is there already; change that one")));
    }
    let mut names = vec!["id"];
    let mut values = vec![Sql::from(id.clone())];
    for (name, value) in known(kind, fields)? {
        // A null is left to the column's default, so a form may leave a field with a preset empty.
        if value != Sql::Null {
            names.push(name);
            values.push(value);
        }
    }
    let marks: Vec<String> = (1..=names.len()).map(|n| format!("?{n}")).collect();
    let text = format!("INSERT INTO {} ({}) VALUES ({})", kind.collection(), names.join(", "), marks.join(", "));
    tx.execute(&text, rows::as_params(&values).as_slice())?;
    Ok(match profile_id(tx)? {
        Some(profile) if kind.is_singleton() => profile,
        _ => id,
    })
}

/// The columns and values of a change; a name that is no column of the kind is refused before it reaches SQL text.
fn known(kind: Kind, fields: &Fields) -> Result<Vec<(&'static str, Sql)>, EditError> {
    fields
        .iter()
        .filter(|(name, _)| name.as_str() != "id")
        .map(|(name, value)| match resource(kind).field(name) {
            Some(field) => Ok((field.name, rows::json_to_sql(Some(value)))),
            None => Err(EditError::Refused(format!("{kind} has no field {name}"))),
        })
        .collect()
}

fn profile_id(connection: &Connection) -> Result<Option<String>, rusqlite::Error> {
    connection.query_row("SELECT id FROM property", [], |row| row.get(0)).optional()
}

/// All edits that are not settled, oldest first.
pub(crate) fn list(connection: &Connection) -> Result<Vec<Edit>, StoreError> {
    listed(connection, "", ())
}

/// Those of one record.
pub(crate) fn of_record(connection: &Connection, kind: Kind, id: &str) -> Result<Vec<Edit>, StoreError> {
    listed(connection, "WHERE e.record_id = ?2 AND e.kind = ?1", (kind.as_str(), id))
}

fn listed(connection: &Connection, which: &str, of: impl Params) -> Result<Vec<Edit>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT e.*, (SELECT s.title FROM search s, _search_rows r
                      WHERE r.kind = e.kind AND r.record_id = e.record_id AND s.rowid = r.id) AS title
         FROM edits e {which} ORDER BY e.id"
    ))?;
    let found = statement.query_map(of, |row| Ok(read(row)))?.collect::<Result<Vec<_>, _>>()?;
    let mut edits: Vec<Edit> = found.into_iter().collect::<Result<_, _>>()?;
    if edits.iter().all(|edit| !edit.title.is_empty()) {
        return Ok(edits);
    }
    // Of a record that is deleted here, another of its edits knows the name.
    let named =
        |edit: &Edit| (!edit.title.is_empty()).then(|| ((edit.kind, edit.record_id.clone()), edit.title.clone()));
    let names: BTreeMap<(Kind, String), String> = edits.iter().filter_map(named).collect();
    for edit in edits.iter_mut().filter(|edit| edit.title.is_empty()) {
        let known = names.get(&(edit.kind, edit.record_id.clone())).cloned();
        edit.title = known.unwrap_or_else(|| edit.kind.as_str().to_owned());
    }
    Ok(edits)
}

fn read(row: &SqlRow<'_>) -> Result<Edit, StoreError> {
    let word: String = row.get("kind")?;
    let kind =
        Kind::parse(&word).ok_or_else(|| StoreError::InvalidContent(format!("an edit of unknown kind {word}")))?;
    let patch = rows::parse_object(&row.get::<_, String>("patch")?)?;
    let base = rows::parse_object(&row.get::<_, String>("base")?)?;
    // A deleted record is no longer in the search index; its last values are the edit's base.
    let name = resource(kind).title;
    let named = |fields: &Fields| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let title = row.get::<_, Option<String>>("title")?.or_else(|| named(&patch)).or_else(|| named(&base));
    Ok(Edit {
        id: row.get("id")?,
        kind,
        record_id: row.get("record_id")?,
        method: row.get("method")?,
        patch,
        base,
        state: row.get("state")?,
        reason: row.get("reason")?,
        reason_code: row.get("reason_code")?,
        attempts: row.get("attempts")?,
        next_attempt_at: row.get("next_attempt_at")?,
        problem: row.get::<_, Option<String>>("problem")?.and_then(|text| serde_json::from_str(&text).ok()),
        origin: row.get("origin")?,
        created_at: row.get("created_at")?,
        title: title.unwrap_or_default(),
    })
}

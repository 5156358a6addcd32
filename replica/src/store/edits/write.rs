//! Local changes, made by the same SQL statements as anyone's: the triggers queue the edits. Must not know how edits are sent.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{IMPORT_REF, Kind};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Transaction};
use serde_json::Value;
use uuid::{Builder, Uuid};

use crate::model::Origin;
use crate::store::edits::error::EditError;
use crate::store::edits::next_tasks;
use crate::store::merge::normalized;
use crate::store::{StoreError, gate, rows, select};

/// Runs `work` in an edit transaction, and makes the next tasks of the tasks that it completes.
fn edit<T>(
    connection: &mut Connection,
    origin: Origin,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, EditError>,
) -> Result<T, EditError> {
    gate::edit_tx(connection, origin, |tx| {
        let value = work(tx)?;
        next_tasks::make::make(tx)?;
        Ok(value)
    })
}

/// Creates a record. Gives its id, a UUID in lower case.
pub(crate) fn create(
    connection: &mut Connection,
    origin: Origin,
    kind: Kind,
    fields: &Fields,
) -> Result<String, EditError> {
    edit(connection, origin, |tx| create_in(tx, kind, fields))
}

/// Updates the fields of a record that differ. The first update of the home's profile creates the profile.
pub(crate) fn update(
    connection: &mut Connection,
    origin: Origin,
    kind: Kind,
    id: &str,
    fields: &Fields,
) -> Result<(), EditError> {
    edit(connection, origin, |tx| update_in(tx, kind, id, fields))
}

/// [`update`], unless a field of `seen` now has a value that is neither the seen nor the wanted one. False when nothing
/// was written.
pub(crate) fn update_seen(
    connection: &mut Connection,
    origin: Origin,
    kind: Kind,
    id: &str,
    fields: &Fields,
    seen: &Fields,
) -> Result<bool, EditError> {
    edit(connection, origin, |tx| {
        let is = is_as_seen(tx, kind, id, fields, seen)?;
        if is {
            update_in(tx, kind, id, fields)?;
        }
        Ok(is)
    })
}

/// True when every field of `seen` has its seen value or the wanted one.
fn is_as_seen(tx: &Connection, kind: Kind, id: &str, fields: &Fields, seen: &Fields) -> Result<bool, EditError> {
    let id = if kind.is_singleton() { profile_id(tx)? } else { Some(id.to_owned()) };
    let present = id.map(|id| rows::load_row(tx, kind, &id)).transpose()?.flatten();
    // The update reports a deleted record. A missing profile has no values.
    let Some(present) = present else { return Ok(true) };
    // Values are compared in the server's form.
    Ok(seen.iter().all(|(name, value)| {
        let now = normalized(kind, name, present.fields.get(name));
        now == normalized(kind, name, Some(value))
            || fields.get(name).is_some_and(|wanted| now == normalized(kind, name, Some(wanted)))
    }))
}

/// Deletes a record.
pub(crate) fn delete(connection: &mut Connection, origin: Origin, kind: Kind, id: &str) -> Result<(), EditError> {
    gate::edit_tx(connection, origin, |tx| delete_in(tx, kind, id))
}

/// [`update`], in an edit transaction.
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
    refuse_taken_import_ref(tx, kind, &id, fields)?;
    let set: Vec<String> = changed.iter().enumerate().map(|(n, (name, _))| format!("{name} = ?{}", n + 2)).collect();
    let mut values = vec![Sql::from(id)];
    values.extend(changed.into_iter().map(|(_, value)| value));
    let text = format!("UPDATE {} SET {} WHERE id = ?1", kind.collection(), set.join(", "));
    tx.prepare_cached(&text)?.execute(rusqlite::params_from_iter(values))?;
    Ok(())
}

/// [`delete`], in an edit transaction.
pub(crate) fn delete_in(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<(), EditError> {
    match tx.execute(&format!("DELETE FROM {} WHERE id = ?1", kind.collection()), [id])? {
        0 => Err(EditError::NotFound),
        _ => Ok(()),
    }
}

/// A new random id. In a simulation, the id follows from the seed, and a run can be repeated.
pub(crate) fn fresh_id() -> Uuid {
    let mut bytes = [0; 16];
    if hearth_simulated::fill_random(&mut bytes) {
        Builder::from_random_bytes(bytes).into_uuid()
    } else {
        Uuid::new_v4()
    }
}

/// [`create`], in an edit transaction.
pub(crate) fn create_in(tx: &Transaction<'_>, kind: Kind, fields: &Fields) -> Result<String, EditError> {
    let id = match fields.get("id").and_then(Value::as_str) {
        Some(id) => id.to_owned(),
        None => fresh_id().to_string(),
    };
    if !kind.is_singleton() && rows::load_row(tx, kind, &id)?.is_some() {
        return Err(EditError::Refused(format!("a {kind} with the id {id} exists already; change that record")));
    }
    refuse_taken_import_ref(tx, kind, &id, fields)?;
    let mut names = vec!["id"];
    let mut values = vec![Sql::from(id.clone())];
    for (name, value) in known(kind, fields)? {
        // A null leaves the field to the column's default: a form may leave a field with a default empty.
        if value != Sql::Null {
            names.push(name);
            values.push(value);
        }
    }
    let marks: Vec<String> = (1..=names.len()).map(|n| format!("?{n}")).collect();
    let text = format!("INSERT INTO {} ({}) VALUES ({})", kind.collection(), names.join(", "), marks.join(", "));
    // Compiling the statement with its triggers takes longer than running it.
    tx.prepare_cached(&text)?.execute(rusqlite::params_from_iter(values))?;
    Ok(match profile_id(tx)? {
        Some(profile) if kind.is_singleton() => profile,
        _ => id,
    })
}

/// The columns and values of a change. A name that is no column of the kind is refused and never reaches SQL.
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

/// The id of the home's profile. None: the home has no profile yet.
pub(crate) fn profile_id(connection: &Connection) -> Result<Option<String>, StoreError> {
    select::first(connection, "SELECT id FROM property", [])
}

/// Refuses fields whose `import_ref` another record of the kind has than the one with this id. The triggers refuse it too, but
/// cannot name a record.
fn refuse_taken_import_ref(connection: &Connection, kind: Kind, id: &str, fields: &Fields) -> Result<(), EditError> {
    let Some(import_ref) = fields.get(IMPORT_REF).and_then(Value::as_str) else { return Ok(()) };
    if resource(kind).field(IMPORT_REF).is_none() {
        return Ok(());
    }
    let (table, title) = (kind.collection(), resource(kind).title);
    let text = format!("SELECT {title} FROM {table} WHERE {IMPORT_REF} = ?1 AND id <> ?2 LIMIT 1");
    match select::first::<String>(connection, &text, (import_ref, id))? {
        None => Ok(()),
        Some(title) => Err(EditError::Refused(format!(
            "the {kind} “{title}” has the {IMPORT_REF} {import_ref} already; change that {kind}, or use another {IMPORT_REF}"
        ))),
    }
}

//! A found change becomes an edit, by the same SQL statement as anyone's change: the triggers check the values and queue the
//! edit. A refused value becomes an edit that waits for a person. Must not compare rows.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, is_subject};
use rusqlite::Transaction;
use serde_json::Value;
use uuid::Uuid;

use super::change::{FoundChange, fitted, of_patch};
use super::refused::{refusal, refuse};
use crate::model::{LogLevel, Method, Origin};
use crate::store::edits::{EditError, create_in, delete_in, profile_id, update_in};
use crate::store::schema::table_sql::column_names;
use crate::store::sql_words::quoted;
use crate::store::sync_log::brief;
use crate::store::{StoreError, base, gate, log, rows, select};

/// How many edits found changes have become.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Queued {
    /// Edits that are sent.
    pub edits: usize,
    /// Edits with values that a rule refuses. They wait for a person.
    pub refused: usize,
}

/// Makes a found change in an edit transaction with closed gate.
pub(super) fn queue(tx: &Transaction<'_>, change: &FoundChange, queued: &mut Queued) -> Result<(), StoreError> {
    let FoundChange { kind, record, method, patch, .. } = change;
    let (mut values, mut faults) = (Fields::new(), Vec::new());
    for (name, found) in patch {
        let field = resource(*kind).field(name);
        // No row may hold NULL in a field that is never null: screens read the name of every record.
        if found.is_null() && field.is_some_and(|field| !field.is_nullable()) {
            faults.push(format!("{name} cannot be null"));
            continue;
        }
        match field.and_then(|field| fitted(field, found)) {
            Some(value) => drop(values.insert(name.clone(), value)),
            None => faults.push(format!("{name} cannot be {}", brief(&found.to_string()))),
        }
    }
    let before = gate::newest_edit_id(tx)?;
    let profile = if kind.is_singleton() { profile_id(tx)? } else { None };
    match (method, profile) {
        // A home has one profile. A second row means a change of the first.
        (Method::Create, Some(profile)) => queue_update(tx, *kind, &profile, values, faults, queued)?,
        (Method::Create, None) => queue_create(tx, change, values, faults, queued)?,
        (Method::Update, _) => queue_update(tx, *kind, record, values, faults, queued)?,
        (Method::Delete, _) => match delete_in(tx, *kind, record) {
            Ok(()) => queued.edits += 1,
            Err(EditError::NotFound) => {}
            Err(EditError::Refused(sentence)) => note(tx, &format!("{kind} {record} stays: {sentence}."))?,
            Err(EditError::Store(error)) => return Err(error),
        },
    }
    keep_base(tx, change, before)
}

/// Gives the edits of a change, which are newer than `before`, the values that the other program saw as their base. The row
/// may show newer values of the server by now.
fn keep_base(tx: &Transaction<'_>, change: &FoundChange, before: i64) -> Result<(), StoreError> {
    if change.base.is_empty() {
        return Ok(());
    }
    let key = (before, change.kind.as_str(), &change.record);
    let text = "SELECT id, base FROM edits WHERE id > ?1 AND kind = ?2 AND record_id = ?3";
    let edits: Vec<(i64, Fields)> = select::all(tx, text, key, |row| Ok((row.get(0)?, rows::object(row, 1)?)))?;
    for (id, mut base) in edits {
        for (name, value) in &mut base {
            if let Some(seen) = change.base.get(name) {
                *value = seen.clone();
            }
        }
        gate::with_guards_off(tx, |tx| {
            tx.execute("UPDATE edits SET base = ?2 WHERE id = ?1", (id, rows::json_text(&base)))
                .map_err(StoreError::from)
        })?;
    }
    Ok(())
}

fn queue_create(
    tx: &Transaction<'_>,
    change: &FoundChange,
    values: Fields,
    mut faults: Vec<String>,
    queued: &mut Queued,
) -> Result<(), StoreError> {
    let FoundChange { kind, record, patch, added, .. } = change;
    let kind = *kind;
    if patch.values().all(Value::is_null) && added.is_empty() {
        let text = format!("A new row of {} without any value by another program is dropped.", kind.collection());
        return note(tx, &text);
    }
    // An id that another program has made, such as 1, 2, 3, cannot be kept.
    let is_usable = Uuid::try_parse(record).is_ok_and(|id| id.to_string() == *record)
        && base::load(tx, kind, record)?.is_none()
        && rows::load_row(tx, kind, record)?.is_none();
    let id = if is_usable { record.to_owned() } else { Uuid::new_v4().to_string() };
    if faults.is_empty() {
        let mut fields = values.clone();
        fields.insert("id".to_owned(), id.clone().into());
        match create_in(tx, kind, &fields) {
            Ok(_) => {
                queued.edits += 1;
                return set_added(tx, kind, &id, added);
            }
            Err(error) => faults.push(refusal(error)?),
        }
    }
    queued.refused += 1;
    refuse(tx, kind, &id, Method::Create, &values, &faults)?;
    set_added(tx, kind, &id, added)
}

/// Writes the values of a new record in columns that a person has added. A column that is gone by now is left out.
fn set_added(tx: &Transaction<'_>, kind: Kind, id: &str, added: &Fields) -> Result<(), StoreError> {
    let table = kind.collection();
    let present = if added.is_empty() { Vec::new() } else { column_names(tx, table)? };
    for (name, value) in added.iter().filter(|(name, _)| present.contains(name)) {
        let text = format!("UPDATE {table} SET {} = ?2 WHERE id = ?1", quoted(name));
        let value = rows::json_to_sql(Some(value));
        gate::with_guards_off(tx, |tx| tx.execute(&text, (id, value)).map_err(StoreError::from))?;
    }
    Ok(())
}

fn queue_update(
    tx: &Transaction<'_>,
    kind: Kind,
    record: &str,
    values: Fields,
    mut faults: Vec<String>,
    queued: &mut Queued,
) -> Result<(), StoreError> {
    if rows::load_row(tx, kind, record)?.is_none() {
        queued.edits += usize::from(!values.is_empty());
        return queue_for_deleted(tx, kind, record, values);
    }
    let mut refused = Fields::new();
    // A value that the row has by now makes no edit.
    let mut count_edit = |before: i64| -> Result<(), StoreError> {
        queued.edits += usize::from(gate::newest_edit_id(tx)? > before);
        Ok(())
    };
    let before = gate::newest_edit_id(tx)?;
    match update_in(tx, kind, record, &values) {
        Ok(()) => count_edit(before)?,
        Err(error) => {
            let sentence = refusal(error)?;
            // One refused value does not keep the others back. The two fields of a subject are one value.
            let (subject, others): (Fields, Fields) = values.into_iter().partition(|(name, _)| is_subject(name));
            let alone = others.into_iter().map(|field| Fields::from_iter([field]));
            for value in alone.chain([subject]).filter(|value| !value.is_empty()) {
                let before = gate::newest_edit_id(tx)?;
                match update_in(tx, kind, record, &value) {
                    Ok(()) => count_edit(before)?,
                    Err(error) => {
                        refusal(error)?;
                        refused.extend(value);
                    }
                }
            }
            faults.push(sentence);
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    queued.refused += 1;
    refuse(tx, kind, record, Method::Update, &refused, &faults)
}

/// Queues an update of a record that is deleted by now. The merge asks a person about it, as about any edit of a deleted record.
fn queue_for_deleted(tx: &Transaction<'_>, kind: Kind, record: &str, values: Fields) -> Result<(), StoreError> {
    if values.is_empty() {
        return Ok(());
    }
    let unseen = of_patch(&Fields::new(), &values);
    let [patch, base] = [values, unseen].map(|side| rows::json_text(&side));
    let text = "INSERT INTO edits (kind, record_id, method, patch, base, origin) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let edit = (kind.as_str(), record, Method::Update, patch, base, Origin::Sql);
    gate::with_guards_off(tx, |tx| Ok(tx.execute(text, edit).map(drop)?))
}

/// Writes a line to `sync_log` while the gate is closed.
fn note(tx: &Transaction<'_>, text: &str) -> Result<(), StoreError> {
    gate::with_guards_off(tx, |tx| log(tx, LogLevel::Warning, text))
}

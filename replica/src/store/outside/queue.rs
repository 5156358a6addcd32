//! A found change becomes an edit, by the same SQL statement as anyone's change: the triggers check the values and queue the
//! edit. A refused value becomes an edit that waits for a person. Must not compare rows.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::Transaction;
use serde_json::Value;
use uuid::Uuid;

use super::change::{FoundChange, fitted};
use crate::model::{EditState, LogLevel, Method, Origin, ReasonCode};
use crate::store::edits::{EditError, create_in, delete_in, update_in};
use crate::store::{StoreError, base, gate, log, rows, unknown_revs};

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
    let FoundChange { kind, record, method, patch } = change;
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
            None => faults.push(format!("{name} cannot be {}", brief(found))),
        }
    }
    match method {
        Method::Create => queue_create(tx, *kind, record, values, faults, queued),
        Method::Update => queue_update(tx, *kind, record, values, faults, queued),
        Method::Delete => match delete_in(tx, *kind, record) {
            Ok(()) => {
                queued.edits += 1;
                Ok(())
            }
            Err(EditError::NotFound) => Ok(()),
            Err(EditError::Refused(sentence)) => note(tx, &format!("{kind} {record} stays: {sentence}.")),
            Err(EditError::Store(error)) => Err(error),
        },
    }
}

fn queue_create(
    tx: &Transaction<'_>,
    kind: Kind,
    record: &str,
    values: Fields,
    mut faults: Vec<String>,
    queued: &mut Queued,
) -> Result<(), StoreError> {
    // An id that another program has made, such as 1, 2, 3, cannot be kept.
    let is_usable = Uuid::try_parse(record).is_ok_and(|id| id.to_string() == record)
        && base::load(tx, kind, record)?.is_none()
        && rows::load_row(tx, kind, record)?.is_none();
    let id = if is_usable { record.to_owned() } else { Uuid::new_v4().to_string() };
    if values.is_empty() {
        return note(
            tx,
            &format!("A new row of {} without any value by another program is dropped.", kind.collection()),
        );
    }
    if faults.is_empty() {
        let mut fields = values.clone();
        fields.insert("id".to_owned(), id.clone().into());
        match create_in(tx, kind, &fields) {
            Ok(_) => {
                queued.edits += 1;
                return Ok(());
            }
            Err(error) => faults.push(refusal(error)?),
        }
    }
    queued.refused += 1;
    refuse(tx, kind, &id, Method::Create, &values, &faults)
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
        let text = format!("A change of {kind} {record} by another program is dropped: the record is deleted.");
        return note(tx, &text);
    }
    let mut refused = Fields::new();
    match update_in(tx, kind, record, &values) {
        Ok(()) => queued.edits += usize::from(!values.is_empty()),
        Err(error) => {
            let sentence = refusal(error)?;
            // One refused value does not keep the others back.
            for (name, value) in values {
                let alone = Fields::from_iter([(name.clone(), value.clone())]);
                match update_in(tx, kind, record, &alone) {
                    Ok(()) => queued.edits += 1,
                    Err(error) => {
                        refusal(error)?;
                        refused.insert(name, value);
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

/// Writes a line to `sync_log` while the gate is closed.
fn note(tx: &Transaction<'_>, text: &str) -> Result<(), StoreError> {
    gate::with_guards_off(tx, |tx| log(tx, LogLevel::Warning, text))
}

/// The sentence of a refusal; other errors stay errors.
fn refusal(error: EditError) -> Result<String, StoreError> {
    match error {
        EditError::Refused(sentence) => Ok(sentence),
        EditError::NotFound => Ok(EditError::NotFound.to_string()),
        EditError::Store(error) => Err(error),
    }
}

/// Queues an edit that waits for a person: a rule refuses its values.
fn refuse(
    tx: &Transaction<'_>,
    kind: Kind,
    record: &str,
    method: Method,
    values: &Fields,
    faults: &[String],
) -> Result<(), StoreError> {
    let reason = unchecked_reason(faults);
    gate::with_guards_off(tx, |tx| {
        let row = rows::load_row(tx, kind, record)?;
        let before = row.as_ref().map(|row| row.fields.clone()).unwrap_or_default();
        if let Some(row) = &row
            && base::load(tx, kind, record)?.is_none()
            && unknown_revs::is_on_server(tx, kind, record)?
        {
            base::save(tx, kind, record, row)?;
        }
        let base: Fields = values
            .keys()
            .filter(|_| method == Method::Update)
            .map(|name| (name.clone(), before.get(name).cloned().unwrap_or_default()))
            .collect();
        tx.prepare_cached(
            "INSERT INTO edits (kind, record_id, method, patch, base, state, reason_code, reason, origin)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            kind.as_str(),
            record,
            method,
            Value::Object(values.clone()).to_string(),
            Value::Object(base).to_string(),
            EditState::Rejected,
            ReasonCode::InvalidValue,
            &reason,
            Origin::Sql,
        ))?;
        base::rebase(tx, kind, record)
    })
}

/// The reason of an edit with values that rules refuse, as a sentence. `faults`: the sentences of the rules.
pub(super) fn unchecked_reason(faults: &[String]) -> String {
    format!("another program wrote a value that no rule has checked: {}", faults.join("; "))
}

/// A value for a sentence, cut to 40 characters.
fn brief(value: &Value) -> String {
    value.to_string().chars().take(40).collect()
}

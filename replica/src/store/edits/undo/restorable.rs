//! Which values of the past can be written today: not the values that the server sets, and no reference to a deleted record.

use hearth_contract::check::Fields;
use hearth_contract::recurrence::{RECURRENCE, is_done};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECT_ID, SUBJECT_TYPE};
use rusqlite::Connection;
use serde_json::Value;

use crate::store::edits::adapt::first_subject;
use crate::store::edits::error::EditError;
use crate::store::rows;

/// The values with which a record can be made anew: without values that the server sets, and without references to
/// deleted records. A task that is done on the server loses its recurrence, because its next task exists already
/// (contract 3). The phrase names what is left out.
pub(in crate::store::edits) fn restorable_fields(
    tx: &Connection,
    kind: Kind,
    fields: &Fields,
    there: &Fields,
) -> Result<(Fields, String), EditError> {
    let mut living = Fields::new();
    let mut phrase = String::new();
    for field in resource(kind).fields.iter().filter(|field| field.is_writable()) {
        let Some(value) = fields.get(field.name).filter(|value| !value.is_null()) else { continue };
        if field.name == RECURRENCE && is_done(fields) && is_done(there) {
            phrase.push_str(", without recurrence, because a task that is done has had its next one");
            continue;
        }
        living.insert(field.name.to_owned(), value.clone());
    }
    let left_out = remove_dead_references(tx, kind, &mut living, &Fields::new())?;
    if !left_out.is_empty() {
        phrase.push_str(&format!(", without {}, which named what is gone", left_out.join(", ")));
    }
    Ok((living, phrase))
}

/// The values of a patch that can be written: the others follow from them.
pub(super) fn writable(kind: Kind, patch: &Fields) -> Fields {
    let is_writable = |name: &str| resource(kind).field(name).is_none_or(|field| field.is_writable());
    patch.iter().filter(|(name, _)| is_writable(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Removes references to deleted records from new values, and gives the names of the fields. A subject is removed as a
/// whole.
pub(super) fn remove_dead_references(
    tx: &Connection,
    kind: Kind,
    values: &mut Fields,
    present: &Fields,
) -> Result<Vec<&'static str>, EditError> {
    let subject = values.get(SUBJECT_TYPE).or(present.get(SUBJECT_TYPE)).and_then(Value::as_str);
    let subject = subject.and_then(Kind::parse);
    let mut dead = Vec::new();
    for field in resource(kind).fields {
        let target = match field.format {
            Format::Reference(kind) => Some(kind),
            Format::Subject => subject,
            _ => None,
        };
        if let (Some(target), Some(id)) = (target, values.get(field.name).and_then(Value::as_str))
            && rows::load_row(tx, target, id)?.is_none()
        {
            dead.push(field.name);
        }
    }
    values.retain(|name, _| !dead.contains(&name.as_str()));
    if dead.contains(&SUBJECT_ID) {
        values.shift_remove(SUBJECT_TYPE);
    }
    Ok(dead)
}

/// Completes half a subject. The kind of an old id follows from its record, because another change may have written the
/// kind. False when only the kind could be restored, beside the id of another kind; the kind is then left out.
pub(super) fn complete_subject(tx: &Connection, values: &mut Fields, present: &Fields) -> Result<bool, EditError> {
    let is_of = |kind: Kind, id: &str| rows::load_row(tx, kind, id).map(|found| found.is_some());
    let text = |fields: &Fields, name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    match (text(values, SUBJECT_TYPE), text(values, SUBJECT_ID)) {
        (None, Some(id)) if !values.contains_key(SUBJECT_TYPE) => {
            if let Some(kind) = first_subject(|kind| is_of(kind, &id))?
                && text(present, SUBJECT_TYPE).as_deref() != Some(kind.as_str())
            {
                values.insert(SUBJECT_TYPE.to_owned(), kind.as_str().into());
            }
        }
        (Some(word), None) if !values.contains_key(SUBJECT_ID) => {
            if let (Some(kind), Some(id)) = (Kind::parse(&word), text(present, SUBJECT_ID))
                && !is_of(kind, &id)?
            {
                values.shift_remove(SUBJECT_TYPE);
                return Ok(false);
            }
        }
        _ => {}
    }
    Ok(true)
}

/// A phrase that names the fields which [`remove_dead_references`] removed.
pub(super) fn left_phrase(dead: &[&str]) -> String {
    if dead.is_empty() { String::new() } else { format!("; left, because what it named is gone: {}", dead.join(", ")) }
}

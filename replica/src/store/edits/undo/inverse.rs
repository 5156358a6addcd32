//! The edit that undoes a change, makes a change again, or makes its record anew: an edit like every other. Must not choose
//! the change.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::recurrence::{self, STATUS};
use hearth_contract::schema::{Kind, is_subject};
use rusqlite::{Connection, Transaction};
use uuid::Uuid;

use super::restorable::{complete_subject, left_phrase, remove_dead_references, restorable_fields, writable};
use crate::model::{EditOutcome, Method, Settled};
use crate::store::edits::error::EditError;
use crate::store::edits::names::quoted;
use crate::store::edits::pending::{Decided, PendingEdit, decided, refused};
use crate::store::edits::{already_applied, revert, write};
use crate::store::merge::normalized;
use crate::store::{base, gate, rows, select};

/// A change that was made, and may have ended.
pub(in crate::store::edits) struct PastEdit {
    pub id: i64,
    /// The title of the record in quotes, for sentences.
    pub name: String,
    pub kind: Kind,
    pub record: String,
    pub method: Method,
    pub patch: Fields,
    pub base: Fields,
}

impl From<PendingEdit> for PastEdit {
    fn from(found: PendingEdit) -> PastEdit {
        let PendingEdit { id, name, kind, record, method, patch, base, .. } = found;
        PastEdit { id, name, kind, record, method, patch, base }
    }
}

impl From<Settled> for PastEdit {
    fn from(found: Settled) -> PastEdit {
        let Settled { id, kind, record_id: record, method, patch, base, title, .. } = found;
        PastEdit { id, name: quoted(&title), kind, record, method, patch, base }
    }
}

/// Queues the edit that undoes a change.
pub(in crate::store::edits) fn inverse(tx: &Transaction<'_>, past: &PastEdit) -> Result<Decided, EditError> {
    let PastEdit { id, name, kind, record, .. } = past;
    let (id, kind) = (*id, *kind);
    let (sentence, changed_record) = match past.method {
        Method::Create => {
            write::delete_in(tx, kind, record).map_err(|error| explain_missing(error, past))?;
            (format!("{name} is deleted again"), record.to_owned())
        }
        Method::Delete => {
            let (fields, without) = restorable_fields(tx, kind, &past.base, &past.base)?;
            let new = write::create_in(tx, kind, &fields)?;
            let unnamed = match kind {
                Kind::Document | Kind::Task | Kind::Property => "",
                Kind::Inventory | Kind::Room | Kind::Vehicle => "; what named the old one names nothing now",
            };
            let text = "is made anew, with another id, because a deleted one is never used again";
            (format!("{name} {text}{without}{unnamed}"), new)
        }
        Method::Update => (inverse_update(tx, past)?, record.to_owned()),
    };
    let edit = newest_of(tx, kind, &changed_record)?;
    note_undone(tx, id, edit)?;
    Ok(Decided { edit, ..decided(sentence) })
}

/// The fields of an update, as undo finds them.
#[derive(Default)]
struct UndoFields {
    /// Fields that still have the value of the change, with the value before.
    set: Fields,
    /// Fields that have another value by now.
    changed: Vec<String>,
    /// True when somebody else had made the same change to a field.
    by_others: bool,
}

impl UndoFields {
    fn compare(tx: &Transaction<'_>, past: &PastEdit, present: &Fields) -> Result<UndoFields, EditError> {
        let mut fields = UndoFields::default();
        let already_applied = already_applied::fields_of(tx, past.id)?;
        for (name, value) in &writable(past.kind, &past.patch) {
            let before = past.base.get(name).cloned().unwrap_or_default();
            let now = normalized(past.kind, name, present.get(name));
            // A change that only wrote the same value differently has changed nothing.
            if now == normalized(past.kind, name, Some(&before)) {
                continue;
            }
            if already_applied.contains(name) {
                fields.by_others = true;
            } else if now == normalized(past.kind, name, Some(value)) {
                fields.set.insert(name.clone(), before);
            } else {
                fields.changed.push(name.clone());
            }
        }
        // A subject is one value in two fields: half of the old subject beside half of the present one names no record.
        let is_half_changed = fields.changed.iter().any(|name| is_subject(name));
        for name in past.patch.keys().filter(|name| is_half_changed && is_subject(name)) {
            if fields.set.shift_remove(name).is_some() {
                fields.changed.push(name.clone());
            }
        }
        if !complete_subject(tx, &mut fields.set, present)? {
            fields.changed.extend(past.patch.keys().filter(|name| is_subject(name)).cloned());
        }
        Ok(fields)
    }
}

/// Writes the values before an update where the update's values still stand. Gives the sentence about the result.
fn inverse_update(tx: &Transaction<'_>, past: &PastEdit) -> Result<String, EditError> {
    let PastEdit { name, record, .. } = past;
    let kind = past.kind;
    let Some(present) = rows::load_row(tx, kind, record)? else {
        return Err(explain_missing(EditError::NotFound, past));
    };
    let UndoFields { mut set, changed, by_others } = UndoFields::compare(tx, past, &present.fields)?;
    let names = changed.join(", ");
    let dead = remove_dead_references(tx, kind, &mut set, &present.fields)?;
    if set.is_empty() {
        return Err(refused(match (changed.is_empty(), dead.is_empty()) {
            (true, true) if by_others => {
                format!("somebody else had changed {name} in the same way, and that stands; nothing is left to undo")
            }
            (true, true) => {
                format!("{name} is as it was before this change already, so there is nothing left to undo")
            }
            (true, false) => {
                format!("{name}: what {} named is gone, so there is nothing left to undo", dead.join(", "))
            }
            _ => format!(
                "{name}: {names} has been changed since, so there is nothing left to undo{}",
                left_phrase(&dead)
            ),
        }));
    }
    let next = next_task_phrase(tx, past, &present.fields, &set)?;
    write::update_in(tx, kind, record, &set)?;
    let back = set.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let kept = if changed.is_empty() { String::new() } else { format!("; changed since, and left: {names}") };
    Ok(format!("{name}: {back} as before{kept}{}{next}", left_phrase(&dead)))
}

/// A phrase about the next task of a recurring task that is done no more. Undo leaves the next task (contract 3).
fn next_task_phrase(
    tx: &Transaction<'_>,
    past: &PastEdit,
    present: &Fields,
    set: &Fields,
) -> Result<&'static str, EditError> {
    if past.kind != Kind::Task || !recurrence::is_done(present) || !set.contains_key(STATUS) {
        return Ok("");
    }
    let next = Uuid::try_parse(&past.record).map(|id| recurrence::next_id(id).to_string()).unwrap_or_default();
    let is_there = rows::load_row(tx, Kind::Task, &next)?.is_some();
    Ok(if is_there { "; its next one is left, and done again, it makes no other" } else { "" })
}

/// Notes which edit undoes a change, or makes a reverted change again.
fn note_undone(tx: &Transaction<'_>, edit: i64, by: Option<i64>) -> Result<(), EditError> {
    gate::with_guards_off(tx, |tx| {
        if let Some(by) = by {
            let note = "INSERT INTO _outbox (edit_id, undone_by) VALUES (?1, ?2)
                        ON CONFLICT DO UPDATE SET undone_by = excluded.undone_by";
            tx.prepare_cached(note)?.execute((edit, by))?;
        }
        Ok(())
    })
}

/// Makes a change again that was reverted, discarded, or lost a conflict.
pub(super) fn again(tx: &Transaction<'_>, past: &PastEdit) -> Result<Decided, EditError> {
    let PastEdit { id, name, kind, record, .. } = past;
    let (id, kind) = (*id, *kind);
    let (sentence, of) = match past.method {
        Method::Create => {
            let (mut fields, without) = restorable_fields(tx, kind, &past.patch, &Fields::new())?;
            if !base::is_used(tx, record)? {
                fields.insert("id".to_owned(), record.as_str().into());
            }
            let new = write::create_in(tx, kind, &fields)?;
            // A repeated create would make a second record; a repeated update or delete changes nothing.
            note_undone(tx, id, newest_of(tx, kind, &new)?)?;
            (format!("{name} is there again{without}"), new)
        }
        Method::Delete => {
            write::delete_in(tx, kind, record).map_err(|error| explain_missing(error, past))?;
            (format!("{name} is deleted"), record.to_owned())
        }
        _ => {
            let before = newest_of(tx, kind, record)?;
            let present = rows::load_row(tx, kind, record)?.unwrap_or_default();
            let mut values = writable(kind, &past.patch);
            let dead = remove_dead_references(tx, kind, &mut values, &present.fields)?;
            write::update_in(tx, kind, record, &values).map_err(|error| explain_missing(error, past))?;
            if values.is_empty() && !dead.is_empty() {
                return Err(refused(format!("{name}: what {} named is gone, so it stays as it is", dead.join(", "))));
            }
            if newest_of(tx, kind, record)? == before {
                return Err(refused(format!("{name} has these values already{}", left_phrase(&dead))));
            }
            let names = values.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            (format!("{name}: {names} as it was written{}", left_phrase(&dead)), record.to_owned())
        }
    };
    Ok(Decided { edit: newest_of(tx, kind, &of)?, ..decided(sentence) })
}

/// Makes a record anew that was deleted on the server, with another id: the server uses no id twice (contract 6.1). The
/// edits of the old record end.
pub(crate) fn make_anew(tx: &Transaction<'_>, found: &PendingEdit, now: Timestamp) -> Result<Decided, EditError> {
    let PendingEdit { id, name, kind, record, .. } = found;
    let Some(stored) = rows::load_row(tx, *kind, record)? else {
        return Err(refused(format!(
            "{name} is no longer on this device, so it cannot be made anew: discard edit {id}"
        )));
    };
    let there = base::with_acked(tx, *kind, record)?.map(|known| known.fields).unwrap_or_default();
    let (fields, without) = restorable_fields(tx, *kind, &stored.fields, &there)?;
    // Before the new record: the old row may have an `import_ref` that no two rows may have.
    gate::with_guards_off(tx, |tx| {
        let all = "SELECT id FROM edits WHERE kind = ?1 AND record_id = ?2 ORDER BY id DESC";
        for edit in select::column(tx, all, (kind.as_str(), record))? {
            revert::revert(tx, edit, EditOutcome::Superseded, Some("made anew as another record"), now)?;
        }
        Ok::<_, EditError>(())
    })?;
    let new = write::create_in(tx, *kind, &fields)?;
    let edit = newest_of(tx, *kind, &new)?;
    // Noted last: ending the old edits removes their undo notes.
    note_undone(tx, *id, edit)?;
    Ok(Decided { edit, ..decided(format!("{name} is made anew, with another id{without}")) })
}

fn newest_of(tx: &Connection, kind: Kind, record: &str) -> Result<Option<i64>, EditError> {
    let text = "SELECT max(id) FROM edits WHERE kind = ?1 AND record_id = ?2";
    Ok(select::first(tx, text, (kind.as_str(), record))?)
}

fn explain_missing(error: EditError, past: &PastEdit) -> EditError {
    match error {
        EditError::NotFound => refused(format!("{} is deleted by now", past.name)),
        other => other,
    }
}

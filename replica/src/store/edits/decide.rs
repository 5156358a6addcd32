//! What a person decides about unsettled edits: retry, discard, change. Must not know the interface that asks, or how edits are
//! sent.

use hearth_contract::check::{Fields, Intent, check, check_field, check_subject};
use hearth_contract::formats::Timestamp;
use hearth_contract::resources::resource;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde_json::Value;

use crate::model::{EditOutcome, EditState, Method, Origin};
use crate::store::edits::decisions::{self, DecisionOutcome, Decisions};
use crate::store::edits::error::EditError;
use crate::store::edits::next_step::compare;
use crate::store::edits::pending::{self, Decided, PendingEdit, decided, refused, require};
use crate::store::edits::reason::set_state;
use crate::store::edits::revert::{consequences, revert, update_later_bases};
use crate::store::edits::{next_tasks, outbox, parts, undo};
use crate::store::merge::MergeResult;
use crate::store::{StoreError, base, gate};

/// Sends rejected and conflicting edits again.
pub(crate) fn retry_each(connection: &mut Connection, edits: &[i64]) -> Result<Decisions, EditError> {
    decisions::decide_each(connection, Origin::Sql, edits, |tx, edit| {
        gate::with_guards_off(tx, |tx| retry_in(tx, edit))
    })
}

fn retry_in(tx: &Transaction<'_>, edit: i64) -> Result<DecisionOutcome, EditError> {
    let found = require(tx, edit)?;
    let name = &found.name;
    match found.state {
        EditState::Rejected => {}
        EditState::Conflict => match compare(tx, &found)?.merge {
            MergeResult::DeletedThere if found.is_lost() => return make_again(tx, found),
            MergeResult::DeletedThere => return Err(refused(deleted_there_sentence(&found))),
            MergeResult::IdTaken(differs) => return Err(refused(id_taken_sentence(&found, !differs.is_empty()))),
            // Both sides must differ while an earlier edit is missing on the server.
            MergeResult::Conflict(_) => match first_before(tx, &found)? {
                Some((_, false)) => {}
                Some((first, true)) => {
                    let sentence = format!("{name}: edit {first} comes before this one; retry or discard that first");
                    return Err(refused(sentence));
                }
                None => return Err(refused(both_differ_sentence(name))),
            },
            MergeResult::Send | MergeResult::AlreadyThere => {}
        },
        EditState::Blocked => return Ok(DecisionOutcome::Blocked(found)),
        EditState::Sent => {
            let sentence = format!("{name}: the server has this change; nothing is left to try");
            return Ok(DecisionOutcome::Done(decided(sentence)));
        }
        _ => return Ok(DecisionOutcome::Done(decided(decisions::already_sending(name)))),
    }
    // A request that is not given up may have been applied, and must stay the same.
    if found.has_frozen_request {
        set_state(tx, edit, EditState::Waiting, None)?;
    } else {
        requeue(tx, &found)?;
    }
    let sentence = format!("{name}: the change goes to the server again");
    Ok(DecisionOutcome::Resend(found, sentence))
}

/// Makes the record of an update again that a restored server lost. The present history has not used the id, so the record
/// keeps it, and so do the edits that other devices send again. If the server has used the id after all, it says so.
pub(super) fn make_again(tx: &Transaction<'_>, mut found: PendingEdit) -> Result<DecisionOutcome, EditError> {
    if let Some((first, true)) = first_before(tx, &found)? {
        let sentence = format!("{}: edit {first} comes before this one; retry or discard that first", found.name);
        return Err(refused(sentence));
    }
    let version = base::load(tx, found.kind, &found.record)?.and_then(base::StoredImage::version);
    let mut fields = version.map(|stored| stored.fields).unwrap_or_default();
    fields.extend(found.patch);
    let (patch, without) = undo::restorable_fields(tx, found.kind, &fields, &Fields::new())?;
    (found.method, found.patch, found.base) = (Method::Create, patch, Fields::new());
    base::forget_record(tx, found.kind, &found.record)?;
    let sentence = format!("{}: the {} is made on the server again{without}", found.name, found.kind);
    resend(tx, found, sentence)
}

/// The first edit of a record before another one, and whether that first edit waits for a person.
fn first_before(tx: &Connection, found: &PendingEdit) -> Result<Option<(i64, bool)>, EditError> {
    let text = "SELECT id, state IN ('conflict', 'rejected') FROM edits
                WHERE kind = ?1 AND record_id = ?2 AND id < ?3 ORDER BY 2 DESC, id LIMIT 1";
    let key = (found.kind.as_str(), &found.record, found.id);
    Ok(tx.prepare_cached(text)?.query_row(key, |row| row.try_into()).optional()?)
}

/// Discards edits. The record shows none of their changes any more; later edits stay, in their order.
pub(crate) fn discard_each(
    connection: &mut Connection,
    origin: Origin,
    edits: &[i64],
    now: Timestamp,
) -> Result<Decisions, EditError> {
    decisions::decide_each(connection, origin, edits, |tx, edit| discard_in(tx, edit, now).map(DecisionOutcome::Done))
}

fn discard_in(tx: &Transaction<'_>, edit: i64, now: Timestamp) -> Result<Decided, EditError> {
    let found = require(tx, edit)?;
    let name = &found.name;
    if found.may_take_effect {
        // The request may be applied, now or later. Only a change after the request can undo its effect for certain.
        if let Some(by) = undo::undone_by_any(tx, edit)? {
            return Err(refused(undo::undone_already_sentence(by)));
        }
        let mut decided = undo::inverse(tx, &found.into())?;
        decided.sentence = format!(
            "the change may be on the server already, so the change is undone on the server: {}",
            decided.sentence
        );
        return Ok(decided);
    }
    gate::with_guards_off(tx, |tx| {
        let (with, named) = consequences(tx, &found)?;
        revert(tx, edit, EditOutcome::Discarded, None, now)?;
        Ok(decided(format!("{name}: the change is given up{with}{named}")))
    })
}

/// Changes the values of an edit before the edit is sent, perhaps again. A null clears a field.
pub(crate) fn change(
    connection: &mut Connection,
    edit: i64,
    fields: &Fields,
    now: Timestamp,
) -> Result<Decided, EditError> {
    decisions::single(decisions::decide_each(connection, Origin::Sql, &[edit], |tx, edit| {
        gate::with_guards_off(tx, |tx| change_in(tx, edit, fields, now))
    }))
}

fn change_in(tx: &Transaction<'_>, edit: i64, fields: &Fields, now: Timestamp) -> Result<DecisionOutcome, EditError> {
    let mut found = require(tx, edit)?;
    if found.may_take_effect {
        return Err(refused(format!(
            "{}: the change is on its way; change the {} itself instead",
            found.name, found.kind
        )));
    }
    if next_tasks::is_next(tx, edit)? {
        return Err(refused(format!("{}: the server makes this task; change the task itself instead", found.name)));
    }
    if found.method == Method::Delete {
        return Err(refused(format!("{} is to be deleted; there are no values to change", found.name)));
    }
    if found.state == EditState::Conflict && compare(tx, &found)?.merge == MergeResult::DeletedThere {
        if found.is_lost() {
            let name = &found.name;
            return Err(refused(format!(
                "{name}: the server lacks this record; retry makes it there again, then change it"
            )));
        }
        return Err(refused(deleted_there_sentence(&found)));
    }
    set_fields(tx, &mut found, fields, now)?;
    // Other values do not say which side wins.
    if found.state == EditState::Conflict && matches!(compare(tx, &found)?.merge, MergeResult::Conflict(_)) {
        return Err(refused(both_differ_sentence(&found.name)));
    }
    if found.method == Method::Update && found.patch.is_empty() {
        revert(tx, edit, EditOutcome::Discarded, None, now)?;
        let sentence = format!("{}: nothing of the change is left, so it is given up", found.name);
        return Ok(DecisionOutcome::Done(decided(sentence)));
    }
    let sentence = format!("{}: the change has other values now and goes to the server", found.name);
    resend(tx, found, sentence)
}

/// Sends an edit again with its present values, which the row shows.
pub(super) fn resend(tx: &Transaction<'_>, found: PendingEdit, sentence: String) -> Result<DecisionOutcome, EditError> {
    requeue(tx, &found)?;
    base::rebase(tx, found.kind, &found.record)?;
    Ok(DecisionOutcome::Resend(found, sentence))
}

/// Sets fields of an edit. The values are checked as those of any change.
pub(super) fn set_fields(
    tx: &Transaction<'_>,
    found: &mut PendingEdit,
    fields: &Fields,
    now: Timestamp,
) -> Result<(), EditError> {
    let PendingEdit { id, kind, .. } = *found;
    let before = base::overlay(tx, kind, &found.record, id)?.map(|stored| stored.fields).unwrap_or_default();
    for (name, value) in fields {
        let Some(field) = resource(kind).field(name) else {
            return Err(refused(format!("{kind} has no field {name}")));
        };
        let value = check_field(field, Intent::Patch, value).map_err(|fault| refused(fault.message))?;
        if found.method == Method::Update {
            found.base.entry(name.clone()).or_insert_with(|| before.get(name).cloned().unwrap_or_default());
        }
        if found.method == Method::Update && found.base.get(name) == Some(&value) {
            found.patch.shift_remove(name);
            found.base.shift_remove(name);
        } else {
            found.patch.insert(name.clone(), value);
        }
    }
    let mut faults = Vec::new();
    if found.method == Method::Create {
        faults = check(kind, Intent::Create, &Value::Object(found.patch.clone())).faults;
    } else {
        let mut after = before.clone();
        after.extend(found.patch.clone());
        check_subject(kind, &after, &mut faults);
    }
    if let Some(fault) = faults.into_iter().next() {
        return Err(refused(fault.message));
    }
    next_tasks::computed::update(tx, found, &before, now)?;
    // A later edit of a field that this edit no longer changes begins with the value before this edit.
    let mut values = before;
    values.extend(found.patch.clone());
    Ok(update_later_bases(tx, found, fields, &values)?)
}

/// Puts an edit back into the queue, without the request that was rejected.
pub(super) fn requeue(tx: &Transaction<'_>, found: &PendingEdit) -> Result<(), StoreError> {
    outbox::forget_request(tx, found.id)?;
    set_state(tx, found.id, EditState::Waiting, None)?;
    pending::save(tx, found)?;
    parts::update_parts(tx, found)
}

fn both_differ_sentence(name: &str) -> String {
    format!("{name}: both sides still differ; resolve it as mine, as theirs, or with another value for a field")
}

fn deleted_there_sentence(found: &PendingEdit) -> String {
    let PendingEdit { name, kind, .. } = found;
    format!(
        "{name} was deleted on the server, and a deleted id is never used again: resolve it as mine to create a new {kind}, \
         or as theirs to discard the change"
    )
}

/// `is_there`: true when the record with the id is known and of the same kind.
fn id_taken_sentence(found: &PendingEdit, is_there: bool) -> String {
    let PendingEdit { name, kind, .. } = found;
    if !is_there {
        return format!(
            "the id of {name} is in use on the server for another record, and no id is used twice: resolve it as mine to \
             create a {kind} with another id, or as theirs to discard the change"
        );
    }
    format!(
        "the server already has a {kind} with this id: resolve it as mine to write {name} over it, or as theirs to keep the \
         server's {kind}"
    )
}

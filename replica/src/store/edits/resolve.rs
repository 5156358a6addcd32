//! How a person ends a conflict: with the local values, with the server's values, or field by field. The values that lose are
//! kept in the history. Must not know the interface that asks, or how edits are sent.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::{SUBJECT_ID, SUBJECT_TYPE};
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use crate::model::{EditOutcome, EditState, Method, Origin};
use crate::store::edits::decide::{make_again, requeue, set_fields};
use crate::store::edits::decisions::{self, DecisionOutcome};
use crate::store::edits::error::EditError;
use crate::store::edits::next_step::compare;
use crate::store::edits::pending::{Decided, PendingEdit, decided, refused, require};
use crate::store::edits::{adapt, revert, settle, undo};
use crate::store::merge::{FieldConflict, MergeResult, side};
use crate::store::{base, gate};

/// The value that a field gets.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// The local value.
    Mine,
    /// The server's value.
    Theirs,
    /// Another value.
    Value(Value),
}

/// How a conflict is resolved.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resolution {
    /// The choice for single fields, by field name.
    pub fields: BTreeMap<String, Choice>,
    /// The choice for the other fields; None when `fields` must name every field.
    pub rest: Option<Choice>,
}

impl Resolution {
    /// Every field gets its local value.
    pub fn mine() -> Resolution {
        Resolution { rest: Some(Choice::Mine), ..Resolution::default() }
    }

    /// Every field gets the server's value.
    pub fn theirs() -> Resolution {
        Resolution { rest: Some(Choice::Theirs), ..Resolution::default() }
    }

    /// The choice for a field. A subject is one value in two fields: the choice for one half holds for both.
    fn of(&self, field: &str) -> Option<&Choice> {
        let other_half = || match self.fields.get(other_half(field)?)? {
            Choice::Value(_) => Some(&Choice::Mine),
            whole => Some(whole),
        };
        self.fields.get(field).or_else(other_half).or(self.rest.as_ref())
    }
}

/// The other field of a subject.
fn other_half(field: &str) -> Option<&'static str> {
    match field {
        SUBJECT_TYPE => Some(SUBJECT_ID),
        SUBJECT_ID => Some(SUBJECT_TYPE),
        _ => None,
    }
}

/// Resolves a conflict. The values that lose go to the history.
pub(crate) fn resolve(
    connection: &mut Connection,
    origin: Origin,
    edit: i64,
    resolution: &Resolution,
    now: Timestamp,
) -> Result<Decided, EditError> {
    decisions::single(decisions::decide_each(connection, origin, &[edit], |tx, edit| {
        resolve_in(tx, edit, resolution, now)
    }))
}

fn resolve_in(
    tx: &Transaction<'_>,
    edit: i64,
    resolution: &Resolution,
    now: Timestamp,
) -> Result<DecisionOutcome, EditError> {
    let mut found = require(tx, edit)?;
    if found.state != EditState::Conflict {
        return Err(refused(format!("{} is not in conflict; its change is {}", found.name, found.state)));
    }
    let judgement = compare(tx, &found)?.merge;
    let whole = resolution.rest.as_ref().filter(|_| resolution.fields.is_empty());
    let is_gone = matches!(judgement, MergeResult::DeletedThere | MergeResult::IdTaken(_));
    // Only conflicting fields of an update or a create are settled one by one.
    if matches!(whole, Some(Choice::Theirs))
        && (found.method == Method::Delete || !matches!(judgement, MergeResult::Conflict(_)))
    {
        return gate::with_guards_off(tx, |tx| take_theirs(tx, &found, is_gone, now));
    }
    match (judgement, whole) {
        (MergeResult::DeletedThere, Some(Choice::Mine)) if found.is_lost() => {
            gate::with_guards_off(tx, |tx| make_again(tx, found))
        }
        (MergeResult::DeletedThere, Some(Choice::Mine)) => undo::make_anew(tx, &found, now).map(DecisionOutcome::Done),
        (MergeResult::IdTaken(conflicts), Some(Choice::Mine)) => {
            if conflicts.is_empty()
                || base::with_acked(tx, found.kind, &found.record)?.is_none_or(|known| known.deleted)
            {
                return undo::make_anew(tx, &found, now).map(DecisionOutcome::Done);
            }
            // The record exists, so the create becomes an update.
            gate::with_guards_off(tx, |tx| {
                found.method = Method::Update;
                found.patch = side(&conflicts, |conflict| &conflict.mine);
                found.base = Fields::new();
                keep_theirs_in_history(tx, &mut found, &conflicts, now)?;
                let text = format!("the {} on the server gets the values of this device", found.kind);
                resend(tx, found, text)
            })
        }
        (MergeResult::DeletedThere | MergeResult::IdTaken(_), _) => {
            Err(refused(format!("{} can only be resolved as a whole: as mine, or as theirs", found.name)))
        }
        (MergeResult::Conflict(conflicts), Some(Choice::Mine)) if found.method == Method::Delete => {
            gate::with_guards_off(tx, |tx| {
                found.base.extend(side(&conflicts, |conflict| &conflict.theirs));
                let text = format!("{} is deleted as it is now", found.name);
                resend(tx, found, text)
            })
        }
        (MergeResult::Conflict(_), _) if found.method == Method::Delete => {
            Err(refused(format!("{} is to be deleted: resolve it as mine, or as theirs", found.name)))
        }
        (MergeResult::Conflict(conflicts), _) => {
            gate::with_guards_off(tx, |tx| resolve_fields(tx, found, &conflicts, resolution, now))
        }
        (MergeResult::Send | MergeResult::AlreadyThere, _) => gate::with_guards_off(tx, |tx| {
            let name = &found.name;
            let text = format!("{name}: nothing stands against the change any more; it goes to the server");
            resend(tx, found, text)
        }),
    }
}

fn resolve_fields(
    tx: &Transaction<'_>,
    mut found: PendingEdit,
    conflicts: &[FieldConflict],
    resolution: &Resolution,
    now: Timestamp,
) -> Result<DecisionOutcome, EditError> {
    let edit = found.id;
    if let Some(name) =
        resolution.fields.keys().find(|name| conflicts.iter().all(|conflict| conflict.field != name.as_str()))
    {
        let names = conflicts.iter().map(|conflict| conflict.field).collect::<Vec<_>>().join(", ");
        return Err(refused(format!("{name} is not in conflict; in conflict: {names}")));
    }
    let (mut won, mut lost, mut typed) = (Vec::new(), Vec::new(), Fields::new());
    for conflict in conflicts {
        match resolution.of(conflict.field) {
            Some(Choice::Mine) => won.push(conflict.clone()),
            Some(Choice::Theirs) => lost.push(conflict.clone()),
            Some(Choice::Value(value)) => {
                typed.insert(conflict.field.to_owned(), value.clone());
                won.push(conflict.clone());
            }
            None => {
                let text =
                    format!("say what becomes of {} too: --field {0}=mine, or theirs, or =VALUE", conflict.field);
                return Err(refused(text));
            }
        }
    }
    keep_theirs_in_history(tx, &mut found, &won, now)?;
    adapt::drop_fields(&mut found.patch, &mut found.base, lost.iter().map(|conflict| conflict.field));
    if found.patch.is_empty() {
        return take_theirs(tx, &found, false, now);
    }
    if !lost.is_empty() {
        let (mine, theirs) = (side(&lost, |conflict| &conflict.mine), side(&lost, |conflict| &conflict.theirs));
        // The local value never stood there, so a later edit of the field does not begin with that value.
        let later = revert::later_edits(tx, found.kind, &found.record, edit)?;
        revert::update_later_bases(tx, edit, &later, &mine, &side(&lost, |conflict| &conflict.base))?;
        settle::keep_loser(
            tx,
            edit,
            &mine,
            &theirs,
            &format!("of edit {edit}: you took the value on the server"),
            now,
        )?;
    }
    if !typed.is_empty() {
        let mine: Fields =
            typed.keys().map(|name| (name.clone(), found.patch.get(name).cloned().unwrap_or_default())).collect();
        settle::keep_loser(tx, edit, &mine, &typed, &format!("of edit {edit}: you wrote another value"), now)?;
        set_fields(tx, &mut found, &typed, now)?;
    }
    let text = format!("{}: settled; the change goes to the server", found.name);
    resend(tx, found, text)
}

/// Takes the server's values of these fields as seen, and keeps them in the history.
fn keep_theirs_in_history(
    tx: &Transaction<'_>,
    found: &mut PendingEdit,
    conflicts: &[FieldConflict],
    now: Timestamp,
) -> Result<(), EditError> {
    if conflicts.is_empty() {
        return Ok(());
    }
    let (mine, theirs) = (side(conflicts, |conflict| &conflict.mine), side(conflicts, |conflict| &conflict.theirs));
    let why = format!("lost to edit {}: you kept the value on this device", found.id);
    settle::keep_loser(tx, found.id, &theirs, &mine, &why, now)?;
    found.base.extend(theirs);
    Ok(())
}

/// `is_gone`: true when the record is deleted or belongs to somebody else, and the local values cannot be written to it
/// any more.
fn take_theirs(
    tx: &Transaction<'_>,
    found: &PendingEdit,
    is_gone: bool,
    now: Timestamp,
) -> Result<DecisionOutcome, EditError> {
    revert::revert(tx, found.id, EditOutcome::Superseded, Some("you took the value on the server"), now)?;
    let PendingEdit { id, name, .. } = found;
    let sentence = format!("{name} is as the server has it");
    Ok(match (is_gone, found.method) {
        (true, _) => decided(format!("{sentence}; the history of edits keeps the value on this device")),
        (false, Method::Delete) => Decided { otherwise: Some(format!("undo {id} deletes it")), ..decided(sentence) },
        (false, _) => {
            Decided { otherwise: Some(format!("undo {id} brings back the value on this device")), ..decided(sentence) }
        }
    }
    .into())
}

fn resend(tx: &Transaction<'_>, found: PendingEdit, sentence: String) -> Result<DecisionOutcome, EditError> {
    requeue(tx, &found)?;
    base::rebase(tx, found.kind, &found.record)?;
    Ok(DecisionOutcome::Resend(found, sentence))
}

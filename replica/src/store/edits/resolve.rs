//! How a person ends a conflict: with the local values, with the server's values, or field by field. The values that lose are
//! kept in the history. Must not know the interface that asks, or how edits are sent.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::{SUBJECT_ID, SUBJECT_TYPE};
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use crate::model::{EditOutcome, EditState, Method, Origin};
use crate::store::edits::decide::{make_again, resend, set_fields};
use crate::store::edits::decisions::{self, DecisionOutcome};
use crate::store::edits::error::EditError;
use crate::store::edits::next_step::compare;
use crate::store::edits::pending::{Decided, PendingEdit, decided, refused, require};
use crate::store::edits::{adapt, revert, settle, undo};
use crate::store::gate;
use crate::store::merge::{FieldConflict, MergeResult, side};

/// Why the server's values of a conflict lost.
const KEPT_MINE: &str = "you kept the value on this device";

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
    let is_made_anew = match &judgement {
        MergeResult::DeletedThere => !found.is_lost(),
        // A record that is not known here has the id.
        MergeResult::IdTaken(differs) => differs.is_empty(),
        _ => false,
    };
    if is_made_anew && whole == Some(&Choice::Mine) {
        return undo::make_anew(tx, &found, now).map(DecisionOutcome::Done);
    }
    gate::with_guards_off(tx, |tx| match (judgement, whole) {
        (MergeResult::DeletedThere | MergeResult::IdTaken(_), Some(Choice::Theirs)) => {
            take_theirs(tx, &found, true, now)
        }
        (MergeResult::DeletedThere, Some(Choice::Mine)) => make_again(tx, found),
        (MergeResult::IdTaken(conflicts), Some(Choice::Mine)) => {
            // The record exists, so the create becomes an update.
            found.method = Method::Update;
            found.patch = side(&conflicts, |conflict| &conflict.mine);
            found.base = Fields::new();
            settle::keep_theirs(tx, &mut found, &conflicts, KEPT_MINE, now)?;
            let text = format!("the {} on the server gets the values of this device", found.kind);
            resend(tx, found, text)
        }
        (MergeResult::DeletedThere | MergeResult::IdTaken(_), _) => {
            Err(refused(format!("{} can only be resolved as a whole: as mine, or as theirs", found.name)))
        }
        // Only conflicting fields of an update or a create are settled one by one.
        (MergeResult::Conflict(conflicts), _) if found.method != Method::Delete => {
            resolve_fields(tx, found, &conflicts, resolution, now)
        }
        (_, Some(Choice::Theirs)) => take_theirs(tx, &found, false, now),
        (MergeResult::Conflict(conflicts), Some(Choice::Mine)) => {
            found.base.extend(side(&conflicts, |conflict| &conflict.theirs));
            let text = format!("{} is deleted as it is now", found.name);
            resend(tx, found, text)
        }
        (MergeResult::Conflict(_), _) => {
            Err(refused(format!("{} is to be deleted: resolve it as mine, or as theirs", found.name)))
        }
        (MergeResult::Send | MergeResult::AlreadyThere, _) => {
            let name = &found.name;
            let text = format!("{name}: nothing stands against the change any more; it goes to the server");
            resend(tx, found, text)
        }
    })
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
    if !won.is_empty() {
        settle::keep_theirs(tx, &mut found, &won, KEPT_MINE, now)?;
    }
    adapt::drop_fields(&mut found.patch, &mut found.base, lost.iter().map(|conflict| conflict.field));
    if found.patch.is_empty() {
        return take_theirs(tx, &found, false, now);
    }
    if !lost.is_empty() {
        let (mine, theirs) = (side(&lost, |conflict| &conflict.mine), side(&lost, |conflict| &conflict.theirs));
        // The local value never stood there, so a later edit of the field does not begin with that value.
        revert::update_later_bases(tx, &found, &mine, &side(&lost, |conflict| &conflict.base))?;
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
    if is_gone {
        let sentence = format!("{sentence}; the history of edits keeps the value on this device");
        return Ok(DecisionOutcome::Done(decided(sentence)));
    }
    let brings = if found.method == Method::Delete { "deletes it" } else { "brings back the value on this device" };
    Ok(DecisionOutcome::Done(Decided { otherwise: Some(format!("undo {id} {brings}")), ..decided(sentence) }))
}

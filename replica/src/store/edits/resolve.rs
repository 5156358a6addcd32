//! How a person ends a conflict: as it was written here, as the server has it, or field by field. What loses is kept.
//! Must not know who asks, nor how edits are sent.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::{SUBJECT_ID, SUBJECT_TYPE};
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use super::decide::{Decided, Pending, look, pending, refused, said, set, wait_again};
use super::each::{self, Came};
use super::judge::{Clash, Judgement};
use super::{EditError, settle, take_back, undo};
use crate::model::{EditOutcome, EditState, Method, Origin};
use crate::store::gate;
use crate::store::mirror::image;

/// What a field shall be.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// What was written here.
    Mine,
    /// What the server has.
    Theirs,
    /// Something else.
    Value(Value),
}

/// How a conflict ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resolution {
    /// For single fields.
    pub fields: BTreeMap<String, Choice>,
    /// For the others; None: there must be no others.
    pub rest: Option<Choice>,
}

impl Resolution {
    /// Everything as it was written here.
    pub fn mine() -> Resolution {
        Resolution { rest: Some(Choice::Mine), ..Resolution::default() }
    }

    /// Everything as the server has it.
    pub fn theirs() -> Resolution {
        Resolution { rest: Some(Choice::Theirs), ..Resolution::default() }
    }

    /// What a field shall be. A subject is one thing in two fields: who says what becomes of one half has said it of both.
    fn of(&self, field: &str) -> Option<&Choice> {
        let other_half = || match self.fields.get(other_half(field)?)? {
            Choice::Value(_) => Some(&Choice::Mine),
            whole => Some(whole),
        };
        self.fields.get(field).or_else(other_half).or(self.rest.as_ref())
    }
}

/// The other half of a subject.
fn other_half(field: &str) -> Option<&'static str> {
    match field {
        SUBJECT_TYPE => Some(SUBJECT_ID),
        SUBJECT_ID => Some(SUBJECT_TYPE),
        _ => None,
    }
}

/// Ends a conflict. The values that lose are kept in the history.
pub(crate) fn resolve(
    connection: &mut Connection,
    origin: Origin,
    edit: i64,
    resolution: &Resolution,
    now: Timestamp,
) -> Result<Decided, EditError> {
    each::only(each::decide(connection, origin, &[edit], |tx, edit| resolve_in(tx, edit, resolution, now)))
}

fn resolve_in(tx: &Transaction<'_>, edit: i64, resolution: &Resolution, now: Timestamp) -> Result<Came, EditError> {
    let mut found = pending(tx, edit)?;
    if found.state != EditState::Conflict {
        return Err(refused(format!("{} is not in conflict; its change is {}", found.name, found.state)));
    }
    let judgement = look(tx, &found)?;
    let whole = match (&resolution.rest, resolution.fields.is_empty()) {
        (Some(Choice::Mine), true) => Some(true),
        (Some(Choice::Theirs), true) => Some(false),
        _ => None,
    };
    match (judgement, whole) {
        (Judgement::Gone | Judgement::Taken(_), None) => {
            Err(refused(format!("{} can only be settled as a whole: as mine, or as theirs", found.name)))
        }
        (Judgement::Gone, Some(true)) => undo::make_anew(tx, &found, now).map(Came::Out),
        (Judgement::Taken(clashes), Some(true)) => {
            if clashes.is_empty() || image::known(tx, found.kind, &found.record)?.is_none_or(|known| known.gone) {
                return undo::make_anew(tx, &found, now).map(Came::Out);
            }
            // The record is there, so what was meant as a new one becomes a change of it.
            gate::with_guards_off(tx, |tx| {
                found.method = Method::Update;
                found.patch = clashes.iter().map(|clash| (clash.field.to_owned(), clash.mine.clone())).collect();
                found.base = Fields::new();
                win(tx, &mut found, &clashes, now)?;
                let text = format!("the {} that is there is changed to what was written here", found.kind);
                again(tx, found, text)
            })
        }
        (Judgement::Clash(clashes), Some(true)) if found.method == Method::Delete => gate::with_guards_off(tx, |tx| {
            found.base.extend(clashes.into_iter().map(|clash| (clash.field.to_owned(), clash.theirs)));
            let text = format!("{} is deleted as it is now", found.name);
            again(tx, found, text)
        }),
        (Judgement::Clash(_), None) if found.method == Method::Delete => {
            Err(refused(format!("{} is to be deleted: settle it as mine, or as theirs", found.name)))
        }
        (Judgement::Gone | Judgement::Taken(_), Some(false)) => {
            gate::with_guards_off(tx, |tx| give_in(tx, &found, true, now))
        }
        (Judgement::Clash(_), Some(false)) if found.method == Method::Delete => {
            gate::with_guards_off(tx, |tx| give_in(tx, &found, false, now))
        }
        (Judgement::Clash(clashes), _) => {
            gate::with_guards_off(tx, |tx| resolve_fields(tx, found, &clashes, resolution, now))
        }
        (Judgement::Go | Judgement::Done, Some(false)) => {
            gate::with_guards_off(tx, |tx| give_in(tx, &found, false, now))
        }
        (Judgement::Go | Judgement::Done, _) => gate::with_guards_off(tx, |tx| {
            let name = &found.name;
            let text = format!("{name}: nothing stands against the change any more; it goes to the server");
            again(tx, found, text)
        }),
    }
}

fn resolve_fields(
    tx: &Transaction<'_>,
    mut found: Pending,
    clashes: &[Clash],
    resolution: &Resolution,
    now: Timestamp,
) -> Result<Came, EditError> {
    let edit = found.id;
    if let Some(name) = resolution.fields.keys().find(|name| clashes.iter().all(|clash| clash.field != name.as_str())) {
        let names = clashes.iter().map(|clash| clash.field).collect::<Vec<_>>().join(", ");
        return Err(refused(format!("{name} is not in conflict; in conflict: {names}")));
    }
    let (mut won, mut lost, mut typed) = (Vec::new(), Vec::new(), Fields::new());
    for clash in clashes {
        match resolution.of(clash.field) {
            Some(Choice::Mine) => won.push(clash.clone()),
            Some(Choice::Theirs) => lost.push(clash.clone()),
            Some(Choice::Value(value)) => {
                typed.insert(clash.field.to_owned(), value.clone());
                won.push(clash.clone());
            }
            None => {
                let text = format!("say what becomes of {} too: --field {0}=mine, or theirs, or =VALUE", clash.field);
                return Err(refused(text));
            }
        }
    }
    win(tx, &mut found, &won, now)?;
    for clash in &lost {
        found.patch.shift_remove(clash.field);
        found.base.shift_remove(clash.field);
    }
    if found.patch.is_empty() {
        return give_in(tx, &found, false, now);
    }
    let side = |of: fn(&Clash) -> &Value, clashes: &[Clash]| -> Fields {
        clashes.iter().map(|clash| (clash.field.to_owned(), of(clash).clone())).collect()
    };
    if !lost.is_empty() {
        let (mine, theirs) = (side(|clash| &clash.mine, &lost), side(|clash| &clash.theirs, &lost));
        // What was written here never stood there, so it is not what a later edit of such a field began with.
        let later = take_back::later(tx, found.kind, &found.record, edit)?;
        take_back::hand_on(tx, edit, &later, &mine, &side(|clash| &clash.base, &lost))?;
        settle::keep_loser(tx, edit, &mine, &theirs, &format!("of edit {edit}: you took what was there"), now)?;
    }
    if !typed.is_empty() {
        let mine: Fields =
            typed.keys().map(|name| (name.clone(), found.patch.get(name).cloned().unwrap_or_default())).collect();
        settle::keep_loser(tx, edit, &mine, &typed, &format!("of edit {edit}: you wrote another value"), now)?;
        set(tx, &mut found, &typed)?;
    }
    let text = format!("{}: settled; the change goes to the server", found.name);
    again(tx, found, text)
}

/// What the server has of these fields counts as seen; it is kept in the history.
fn win(tx: &Transaction<'_>, found: &mut Pending, clashes: &[Clash], now: Timestamp) -> Result<(), EditError> {
    if clashes.is_empty() {
        return Ok(());
    }
    let theirs: Fields = clashes.iter().map(|clash| (clash.field.to_owned(), clash.theirs.clone())).collect();
    let mine: Fields = clashes.iter().map(|clash| (clash.field.to_owned(), clash.mine.clone())).collect();
    let why = format!("lost to edit {}: you kept what was written here", found.id);
    settle::keep_loser(tx, found.id, &theirs, &mine, &why, now)?;
    found.base.extend(theirs);
    Ok(())
}

/// `is_gone`: the record is not there any more, or another is, so that what was written here cannot come back to it.
fn give_in(tx: &Transaction<'_>, found: &Pending, is_gone: bool, now: Timestamp) -> Result<Came, EditError> {
    take_back::take_back(tx, found.id, EditOutcome::Superseded, Some("you took what was there"), now)?;
    let Pending { id, name, .. } = found;
    let sentence = format!("{name} is as the server has it");
    Ok(match (is_gone, found.method) {
        (true, _) => said(format!("{sentence}; the history of edits keeps what was written here")),
        (false, Method::Delete) => Decided { otherwise: Some(format!("undo {id} deletes it")), ..said(sentence) },
        (false, _) => {
            Decided { otherwise: Some(format!("undo {id} brings back what was written here")), ..said(sentence) }
        }
    }
    .into())
}

fn again(tx: &Transaction<'_>, found: Pending, sentence: String) -> Result<Came, EditError> {
    wait_again(tx, &found)?;
    image::project(tx, found.kind, &found.record)?;
    Ok(Came::Goes(found, sentence))
}

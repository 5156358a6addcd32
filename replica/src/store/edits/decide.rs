//! What a person decides about edits that wait: try again, change, discard, resolve. Must not know who asks, nor how
//! edits are sent.

use std::collections::BTreeMap;

use hearth_contract::check::{Fields, Intent, check, check_field, check_subject};
use hearth_contract::formats::Timestamp;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde_json::Value;

use crate::store::edits::EditError;
use crate::store::edits::judge::{Clash, Judgement, judge};
use crate::store::edits::{history, plan, push, settle, undo};
use crate::store::mirror::image;
use crate::store::{StoreError, gate, rows};

/// What came of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// In one sentence.
    pub said: String,
    /// The edit that was queued to carry it out, if one was needed.
    pub edit: Option<i64>,
}

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
}

/// An edit as a decision needs it.
pub(crate) struct Pending {
    pub id: i64,
    /// What the record is called, in quotes: how a sentence speaks of it.
    pub name: String,
    pub kind: Kind,
    pub record: String,
    pub method: String,
    pub patch: Fields,
    pub base: Fields,
    pub state: String,
    /// Its request was sent or may have been, and may still take effect.
    pub in_doubt: bool,
}

pub(crate) fn load(tx: &Connection, edit: i64) -> Result<Option<Pending>, StoreError> {
    let found = tx
        .prepare_cached("SELECT kind, record_id, method, patch, base, state FROM edits WHERE id = ?1")?
        .query_row([edit], |row| {
            let first: (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((first, row.get::<_, String>(3)?, row.get::<_, String>(4)?, row.get::<_, String>(5)?))
        })
        .optional()?;
    let Some(((word, record, method), patch, base, state)) = found else { return Ok(None) };
    let kind = Kind::from_word(&word).ok_or_else(|| StoreError::Odd(format!("an edit of unknown kind {word}")))?;
    let in_doubt = state == "sent" || push::fixed(tx, edit)?.is_some();
    let (patch, base) = (rows::object(&patch)?, rows::object(&base)?);
    let name = quoted(&history::title(tx, kind, &record, &[&patch, &base])?);
    Ok(Some(Pending { id: edit, name, kind, record, method, patch, base, state, in_doubt }))
}

/// A name as it stands in a sentence.
pub(crate) fn quoted(name: &str) -> String {
    format!("“{name}”")
}

fn pending(tx: &Connection, edit: i64) -> Result<Pending, EditError> {
    match load(tx, edit)? {
        Some(pending) => Ok(pending),
        None => Err(refused(format!("there is no edit {edit} that waits; `edits --history` shows what was settled"))),
    }
}

fn refused(sentence: impl Into<String>) -> EditError {
    EditError::Refused(sentence.into())
}

fn said(sentence: impl Into<String>) -> Decided {
    Decided { said: sentence.into(), edit: None }
}

/// Lets an edit that the server refused, or that is in conflict, go to the server again.
pub(crate) fn retry(connection: &mut Connection, edit: i64) -> Result<Decided, EditError> {
    decide(connection, |tx| {
        let found = pending(tx, edit)?;
        let name = &found.name;
        match found.state.as_str() {
            "rejected" => {}
            "conflict" => match look(tx, &found)? {
                Judgement::Gone => return Err(refused(deleted_there(&found))),
                Judgement::Taken(_) => return Err(refused(taken(&found))),
                Judgement::Clash(_) => {
                    return Err(refused(format!("{name}: both sides still differ; settle it as mine or as theirs")));
                }
                Judgement::Go | Judgement::Done => {}
            },
            "blocked" => {
                return Err(refused(format!("{name} waits for another change that needs you first: see its reason")));
            }
            "sent" => return Ok(said(format!("{name}: the server has this change; nothing is left to try"))),
            _ => return Ok(said(format!("{name}: the change is on its way already"))),
        }
        // A request that nobody has refused may be in: it must stay the same.
        let open = "SELECT EXISTS (SELECT 1 FROM _frozen WHERE edit_id = ?1 AND NOT refused)";
        if tx.query_row(open, [edit], |row| row.get(0))? {
            tx.execute("UPDATE edits SET state = 'waiting', reason = NULL, problem = NULL WHERE id = ?1", [edit])?;
        } else {
            wait_again(tx, &found)?;
        }
        plan::mark(tx)?;
        Ok(said(format!("{name}: the change goes to the server again")))
    })
}

/// Gives an edit up. What it changed here is as if it had never been; what came after it stays, in order.
pub(crate) fn discard(
    connection: &mut Connection,
    origin: &str,
    edit: i64,
    now: Timestamp,
) -> Result<Decided, EditError> {
    gate::edit(connection, origin, |tx| {
        let found = pending(tx, edit)?;
        let name = &found.name;
        if found.in_doubt {
            // It may be in, or come in late. Only a change after it can take it back for sure.
            let mut decided = undo::invert(tx, &found)?;
            decided.said = format!("the change may be on the server already, so it is undone there: {}", decided.said);
            return Ok(decided);
        }
        gate::pass(tx, |tx| {
            let dependents = if found.method == "create" { referring(tx, &found.record)? } else { 0 };
            settle::take_back(tx, edit, "discarded", None, now)?;
            plan::mark(tx)?;
            Ok(said(match dependents {
                0 => format!("{name}: the change is given up"),
                1 => format!(
                    "{name} is given up; another change names this {}, and the server will refuse it until that is changed",
                    found.kind
                ),
                many => format!(
                    "{name} is given up; {many} other changes name this {}, and the server will refuse them until that is \
                     changed",
                    found.kind
                ),
            }))
        })
    })
}

/// Gives an edit other values before it goes (again). A null clears a field.
pub(crate) fn change(
    connection: &mut Connection,
    edit: i64,
    fields: &Fields,
    now: Timestamp,
) -> Result<Decided, EditError> {
    decide(connection, |tx| {
        let mut found = pending(tx, edit)?;
        if found.in_doubt {
            return Err(refused(format!(
                "{}: the change is on its way; change the {} itself instead",
                found.name, found.kind
            )));
        }
        if found.method == "delete" {
            return Err(refused(format!("{} is to be deleted; there are no values to change", found.name)));
        }
        if found.state == "conflict" && look(tx, &found)? == Judgement::Gone {
            return Err(refused(deleted_there(&found)));
        }
        set(tx, &mut found, fields)?;
        if found.method == "update" && found.patch.is_empty() {
            settle::take_back(tx, edit, "discarded", None, now)?;
            plan::mark(tx)?;
            return Ok(said(format!("{}: nothing of the change is left, so it is given up", found.name)));
        }
        wait_again(tx, &found)?;
        image::project(tx, found.kind, &found.record)?;
        plan::mark(tx)?;
        Ok(said(format!("{}: the change has other values now and goes to the server", found.name)))
    })
}

/// Ends a conflict. The values that lose are kept in the history.
pub(crate) fn resolve(
    connection: &mut Connection,
    origin: &str,
    edit: i64,
    resolution: &Resolution,
    now: Timestamp,
) -> Result<Decided, EditError> {
    gate::edit(connection, origin, |tx| {
        let mut found = pending(tx, edit)?;
        if found.state != "conflict" {
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
            (Judgement::Gone, Some(true)) => undo::make_anew(tx, &found, now),
            (Judgement::Taken(clashes), Some(true)) => {
                if clashes.is_empty() || image::known(tx, found.kind, &found.record)?.is_none_or(|known| known.gone) {
                    return undo::make_anew(tx, &found, now);
                }
                // The record is there, so what was meant as a new one becomes a change of it.
                gate::pass(tx, |tx| {
                    found.method = "update".to_owned();
                    found.patch = clashes.iter().map(|clash| (clash.field.to_owned(), clash.mine.clone())).collect();
                    found.base = Fields::new();
                    win(tx, &mut found, &clashes, now)?;
                    again(tx, &found, format!("the {} that is there is changed to what was written here", found.kind))
                })
            }
            (Judgement::Clash(clashes), Some(true)) if found.method == "delete" => gate::pass(tx, |tx| {
                found.base.extend(clashes.into_iter().map(|clash| (clash.field.to_owned(), clash.theirs)));
                again(tx, &found, format!("{} is deleted as it is now", found.name))
            }),
            (Judgement::Clash(_), None) if found.method == "delete" => {
                Err(refused(format!("{} is to be deleted: settle it as mine, or as theirs", found.name)))
            }
            (Judgement::Gone | Judgement::Taken(_), Some(false)) => gate::pass(tx, |tx| give_in(tx, &found, now)),
            (Judgement::Clash(_), Some(false)) if found.method == "delete" => {
                gate::pass(tx, |tx| give_in(tx, &found, now))
            }
            (Judgement::Clash(clashes), _) => {
                gate::pass(tx, |tx| resolve_fields(tx, &mut found, &clashes, resolution, now))
            }
            (Judgement::Go | Judgement::Done, Some(false)) => gate::pass(tx, |tx| give_in(tx, &found, now)),
            (Judgement::Go | Judgement::Done, _) => gate::pass(tx, |tx| {
                again(
                    tx,
                    &found,
                    format!("{}: nothing stands against the change any more; it goes to the server", found.name),
                )
            }),
        }
    })
}

fn resolve_fields(
    tx: &Transaction<'_>,
    found: &mut Pending,
    clashes: &[Clash],
    resolution: &Resolution,
    now: Timestamp,
) -> Result<Decided, EditError> {
    let edit = found.id;
    if let Some(name) = resolution.fields.keys().find(|name| clashes.iter().all(|clash| clash.field != name.as_str())) {
        let names = clashes.iter().map(|clash| clash.field).collect::<Vec<_>>().join(", ");
        return Err(refused(format!("{name} is not in conflict; in conflict: {names}")));
    }
    let (mut won, mut lost, mut typed) = (Vec::new(), Vec::new(), Fields::new());
    for clash in clashes {
        match resolution.fields.get(clash.field).or(resolution.rest.as_ref()) {
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
    win(tx, found, &won, now)?;
    for clash in &lost {
        found.patch.shift_remove(clash.field);
        found.base.shift_remove(clash.field);
    }
    if found.patch.is_empty() {
        return give_in(tx, found, now);
    }
    let side = |of: fn(&Clash) -> &Value, clashes: &[Clash]| -> Fields {
        clashes.iter().map(|clash| (clash.field.to_owned(), of(clash).clone())).collect()
    };
    if !lost.is_empty() {
        let (mine, theirs) = (side(|clash| &clash.mine, &lost), side(|clash| &clash.theirs, &lost));
        settle::keep_loser(tx, edit, &mine, &theirs, &format!("of edit {edit}: you took what was there"), now)?;
    }
    if !typed.is_empty() {
        let mine: Fields =
            typed.keys().map(|name| (name.clone(), found.patch.get(name).cloned().unwrap_or_default())).collect();
        settle::keep_loser(tx, edit, &mine, &typed, &format!("of edit {edit}: you wrote another value"), now)?;
        set(tx, found, &typed)?;
    }
    again(tx, found, format!("{}: settled; the change goes to the server", found.name))
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

fn give_in(tx: &Transaction<'_>, found: &Pending, now: Timestamp) -> Result<Decided, EditError> {
    settle::take_back(tx, found.id, "superseded", Some("you took what was there"), now)?;
    plan::mark(tx)?;
    Ok(said(format!("{} is as the server has it; undo brings back what was written here", found.name)))
}

fn again(tx: &Transaction<'_>, found: &Pending, sentence: String) -> Result<Decided, EditError> {
    wait_again(tx, found)?;
    image::project(tx, found.kind, &found.record)?;
    plan::mark(tx)?;
    Ok(said(sentence))
}

/// Sets fields of an edit, judged as any change is.
fn set(tx: &Transaction<'_>, found: &mut Pending, fields: &Fields) -> Result<(), EditError> {
    let Pending { id, kind, .. } = *found;
    let before = image::form(tx, kind, &found.record, id)?.map(|stored| stored.fields).unwrap_or_default();
    for (name, value) in fields {
        let Some(field) = resource(kind).field(name) else {
            return Err(refused(format!("{kind} has no field {name}")));
        };
        let value = check_field(field, Intent::Patch, value).map_err(|fault| refused(fault.message))?;
        if found.method == "update" {
            found.base.entry(name.clone()).or_insert_with(|| before.get(name).cloned().unwrap_or_default());
        }
        if found.method == "update" && found.base.get(name) == Some(&value) {
            found.patch.shift_remove(name);
            found.base.shift_remove(name);
        } else {
            found.patch.insert(name.clone(), value);
        }
    }
    let mut faults = Vec::new();
    if found.method == "create" {
        faults = check(kind, Intent::Create, &Value::Object(found.patch.clone())).faults;
    } else {
        let mut after = before;
        after.extend(found.patch.clone());
        check_subject(kind, &after, &mut faults);
    }
    if let Some(fault) = faults.into_iter().next() {
        return Err(refused(fault.message));
    }
    let later: Vec<i64> = tx
        .prepare_cached("SELECT id FROM edits WHERE record_id = ?1 AND kind = ?2 AND id > ?3 ORDER BY id")?
        .query_map((&found.record, kind.word(), id), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(settle::hand_on(tx, id, &later, fields, &found.patch)?)
}

/// Puts an edit back among those that wait for the server, free of the request that was refused.
fn wait_again(tx: &Transaction<'_>, found: &Pending) -> Result<(), StoreError> {
    settle::forget_request(tx, found.id)?;
    tx.prepare_cached(
        "UPDATE edits SET state = 'waiting', method = ?2, patch = ?3, base = ?4, reason = NULL, problem = NULL,
             next_attempt_at = NULL WHERE id = ?1",
    )?
    .execute((
        found.id,
        &found.method,
        Value::Object(found.patch.clone()).to_string(),
        Value::Object(found.base.clone()).to_string(),
    ))?;
    Ok(())
}

/// What stands against an edit now.
fn look(tx: &Connection, found: &Pending) -> Result<Judgement, StoreError> {
    let known = image::known(tx, found.kind, &found.record)?;
    let judgement = judge(found.kind, &found.method, &found.patch, &found.base, known.as_ref());
    // The server said that the id of a create was used, though its record never showed up here. It has said nothing of
    // a create that it lost when it was put back.
    if found.method == "create" && found.state == "conflict" && judgement == Judgement::Go {
        let said = "SELECT problem IS NOT NULL FROM edits WHERE id = ?1";
        if tx.prepare_cached(said)?.query_row([found.id], |row| row.get(0))? {
            return Ok(Judgement::Taken(Vec::new()));
        }
    }
    Ok(judgement)
}

/// Edits of other records that name this one.
fn referring(tx: &Connection, record: &str) -> Result<i64, StoreError> {
    let text = "SELECT count(*) FROM edits WHERE record_id <> ?1 AND instr(patch, ?1) > 0";
    Ok(tx.prepare_cached(text)?.query_row([record], |row| row.get(0))?)
}

fn deleted_there(found: &Pending) -> String {
    format!(
        "{} was deleted on the server, and a deleted id is never used again: settled as mine it is made anew as another \
         {}, as theirs it is given up",
        found.name, found.kind
    )
}

fn taken(found: &Pending) -> String {
    format!(
        "the server has a {} of this id already: settled as mine {} is written over it, as theirs it is taken as it is",
        found.kind, found.name
    )
}

fn decide(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<Decided, EditError>,
) -> Result<Decided, EditError> {
    gate::edit(connection, "sql", |tx| gate::pass(tx, work))
}

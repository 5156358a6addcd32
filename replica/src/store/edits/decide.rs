//! What a person decides about edits that wait: try again, change, discard. Must not know who asks, nor how edits are
//! sent.

use hearth_contract::check::{Fields, Intent, check, check_field, check_subject};
use hearth_contract::formats::Timestamp;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde_json::Value;

use crate::model::{EditOutcome, EditState, Method, Origin};
use crate::store::edits::EditError;
use crate::store::edits::each::{self, Came, Decisions};
use crate::store::edits::judge::{Judgement, judge};
use crate::store::edits::{history, parcel, parts, push, take_back, undo};
use crate::store::mirror::image;
use crate::store::{StoreError, gate, rows};

/// What came of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// In one sentence.
    pub said: String,
    /// What the command line can type to have it otherwise, for the end of that sentence.
    pub otherwise: Option<String>,
    /// The edit that was queued to carry it out, if one was needed.
    pub edit: Option<i64>,
}

impl Decided {
    /// All of it, as the command line says it.
    pub fn in_full(&self) -> String {
        match &self.otherwise {
            Some(otherwise) => format!("{}; {otherwise}", self.said),
            None => self.said.clone(),
        }
    }
}

/// An edit as a decision needs it.
pub(crate) struct Pending {
    pub id: i64,
    /// What the record is called, in quotes: how a sentence speaks of it.
    pub name: String,
    pub kind: Kind,
    pub record: String,
    pub method: Method,
    pub patch: Fields,
    pub base: Fields,
    pub state: EditState,
    /// Its request was sent or may have been, and may still take effect.
    pub in_doubt: bool,
}

pub(crate) fn load(tx: &Connection, edit: i64) -> Result<Option<Pending>, StoreError> {
    let found = tx
        .prepare_cached("SELECT kind, record_id, method, patch, base, state FROM edits WHERE id = ?1")?
        .query_row([edit], |row| {
            let first: (String, String, Method) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((first, row.get::<_, String>(3)?, row.get::<_, String>(4)?, row.get::<_, EditState>(5)?))
        })
        .optional()?;
    let Some(((word, record, method), patch, base, state)) = found else { return Ok(None) };
    let kind =
        Kind::parse(&word).ok_or_else(|| StoreError::InvalidContent(format!("an edit of unknown kind {word}")))?;
    let in_doubt = state == EditState::Sent || push::fixed(tx, edit)?.is_some() || push::may_be_in(tx, edit)?;
    let (patch, base) = (rows::parse_object(&patch)?, rows::parse_object(&base)?);
    let name = quoted(&history::title(tx, kind, &record, &[&patch, &base])?);
    Ok(Some(Pending { id: edit, name, kind, record, method, patch, base, state, in_doubt }))
}

/// A name as it stands in a sentence.
pub(crate) fn quoted(name: &str) -> String {
    format!("“{name}”")
}

pub(super) fn pending(tx: &Connection, edit: i64) -> Result<Pending, EditError> {
    match load(tx, edit)? {
        Some(pending) => Ok(pending),
        None => Err(refused(format!("there is no edit {edit} that waits; `edits --history` shows what was settled"))),
    }
}

pub(super) fn refused(sentence: impl Into<String>) -> EditError {
    EditError::Refused(sentence.into())
}

pub(super) fn said(sentence: impl Into<String>) -> Decided {
    Decided { said: sentence.into(), otherwise: None, edit: None }
}

/// Lets edits that the server refused, or that are in conflict, go to the server again.
pub(crate) fn retry_each(connection: &mut Connection, edits: &[i64]) -> Result<Decisions, EditError> {
    each::decide(connection, Origin::Sql, edits, |tx, edit| gate::with_guards_off(tx, |tx| retry_in(tx, edit)))
}

/// The same of one.
pub(crate) fn retry(connection: &mut Connection, edit: i64) -> Result<Decided, EditError> {
    each::only(retry_each(connection, &[edit]))
}

fn retry_in(tx: &Transaction<'_>, edit: i64) -> Result<Came, EditError> {
    let found = pending(tx, edit)?;
    let name = &found.name;
    match found.state {
        EditState::Rejected => {}
        EditState::Conflict => match look(tx, &found)? {
            Judgement::Gone => return Err(refused(deleted_there(&found))),
            Judgement::Taken(differs) => return Err(refused(taken(&found, !differs.is_empty()))),
            // As long as what it builds on is not there, the two sides cannot but differ.
            Judgement::Clash(_) => match before(tx, &found)? {
                Some((_, false)) => {}
                Some((first, true)) => {
                    let sentence = format!("{name}: edit {first} comes before this one; retry or discard that first");
                    return Err(refused(sentence));
                }
                None => return Err(refused(both_differ(name))),
            },
            Judgement::Go | Judgement::Done => {}
        },
        EditState::Blocked => return Ok(Came::Held(found)),
        EditState::Sent => {
            return Ok(said(format!("{name}: the server has this change; nothing is left to try")).into());
        }
        _ => return Ok(said(each::on_its_way(name)).into()),
    }
    // A request that nobody has refused may be in: it must stay the same.
    let open = "SELECT EXISTS (SELECT 1 FROM _outbox WHERE edit_id = ?1 AND NOT refused)";
    if tx.query_row(open, [edit], |row| row.get(0))? {
        tx.execute("UPDATE edits SET state = 'waiting', reason = NULL, problem = NULL WHERE id = ?1", [edit])?;
    } else {
        wait_again(tx, &found)?;
    }
    let sentence = format!("{name}: the change goes to the server again");
    Ok(Came::Goes(found, sentence))
}

/// The first edit of a record before another, and whether it waits for a person.
fn before(tx: &Connection, found: &Pending) -> Result<Option<(i64, bool)>, EditError> {
    let text = "SELECT id, state IN ('conflict', 'rejected') FROM edits
                WHERE kind = ?1 AND record_id = ?2 AND id < ?3 ORDER BY 2 DESC, id LIMIT 1";
    let mut statement = tx.prepare_cached(text)?;
    let first =
        statement.query_row((found.kind.as_str(), &found.record, found.id), |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(first.optional()?)
}

/// Gives edits up. What they changed here is as if it had never been; what came after them stays, in order.
pub(crate) fn discard_each(
    connection: &mut Connection,
    origin: Origin,
    edits: &[i64],
    now: Timestamp,
) -> Result<Decisions, EditError> {
    each::decide(connection, origin, edits, |tx, edit| discard_in(tx, edit, now).map(Came::Out))
}

/// The same of one.
pub(crate) fn discard(
    connection: &mut Connection,
    origin: Origin,
    edit: i64,
    now: Timestamp,
) -> Result<Decided, EditError> {
    each::only(discard_each(connection, origin, &[edit], now))
}

fn discard_in(tx: &Transaction<'_>, edit: i64, now: Timestamp) -> Result<Decided, EditError> {
    let found = pending(tx, edit)?;
    let name = &found.name;
    if found.in_doubt {
        // It may be in, or come in late. Only a change after it can take it back for sure, and one does.
        if let Some(by) = undo::is_undone(tx, edit)? {
            return Err(refused(undo::undone_already(by)));
        }
        let mut decided = undo::invert(tx, &found)?;
        decided.said = format!("the change may be on the server already, so it is undone there: {}", decided.said);
        return Ok(decided);
    }
    gate::with_guards_off(tx, |tx| {
        let (with, named) = rests_on(tx, &found)?;
        take_back::take_back(tx, edit, EditOutcome::Discarded, None, now)?;
        Ok(said(format!("{name}: the change is given up{with}{named}")))
    })
}

/// What is said of the changes that rest on one that is taken back: those of what it would have made go with it, and those that
/// name that stay and come to nothing.
pub(super) fn rests_on(tx: &Connection, found: &Pending) -> Result<(String, String), StoreError> {
    if found.method != Method::Create {
        return Ok(Default::default());
    }
    let with = match take_back::later(tx, found.kind, &found.record, found.id)?.len() {
        0 => String::new(),
        1 => ", with a later change of it, which is nothing without it".to_owned(),
        many => format!(", with {many} later changes of it, which are nothing without it"),
    };
    let until = "until that is changed";
    let named = match referring(tx, &found.record)? {
        0 => String::new(),
        1 => format!("; another change names this {}, and the server will refuse it {until}", found.kind),
        many => format!("; {many} other changes name this {}, and the server will refuse them {until}", found.kind),
    };
    Ok((with, named))
}

/// Gives an edit other values before it goes (again). A null clears a field.
pub(crate) fn change(
    connection: &mut Connection,
    edit: i64,
    fields: &Fields,
    now: Timestamp,
) -> Result<Decided, EditError> {
    each::only(each::decide(connection, Origin::Sql, &[edit], |tx, edit| {
        gate::with_guards_off(tx, |tx| change_in(tx, edit, fields, now))
    }))
}

fn change_in(tx: &Transaction<'_>, edit: i64, fields: &Fields, now: Timestamp) -> Result<Came, EditError> {
    let mut found = pending(tx, edit)?;
    if found.in_doubt {
        return Err(refused(format!(
            "{}: the change is on its way; change the {} itself instead",
            found.name, found.kind
        )));
    }
    if found.method == Method::Delete {
        return Err(refused(format!("{} is to be deleted; there are no values to change", found.name)));
    }
    if found.state == EditState::Conflict && look(tx, &found)? == Judgement::Gone {
        return Err(refused(deleted_there(&found)));
    }
    set(tx, &mut found, fields)?;
    // Other values do not say which of the two sides shall stand.
    if found.state == EditState::Conflict && matches!(look(tx, &found)?, Judgement::Clash(_)) {
        return Err(refused(both_differ(&found.name)));
    }
    if found.method == Method::Update && found.patch.is_empty() {
        take_back::take_back(tx, edit, EditOutcome::Discarded, None, now)?;
        return Ok(said(format!("{}: nothing of the change is left, so it is given up", found.name)).into());
    }
    wait_again(tx, &found)?;
    image::project(tx, found.kind, &found.record)?;
    let sentence = format!("{}: the change has other values now and goes to the server", found.name);
    Ok(Came::Goes(found, sentence))
}

/// Sets fields of an edit, judged as any change is.
pub(super) fn set(tx: &Transaction<'_>, found: &mut Pending, fields: &Fields) -> Result<(), EditError> {
    let Pending { id, kind, .. } = *found;
    let before = image::form(tx, kind, &found.record, id)?.map(|stored| stored.fields).unwrap_or_default();
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
    let later = take_back::later(tx, kind, &found.record, id)?;
    // Of a field that the edit does not change any more, what was before it is before the next.
    let mut values = before;
    values.extend(found.patch.clone());
    Ok(take_back::hand_on(tx, id, &later, fields, &values)?)
}

/// Puts an edit back among those that wait for the server, free of the request that was refused.
pub(super) fn wait_again(tx: &Transaction<'_>, found: &Pending) -> Result<(), StoreError> {
    push::forget_request(tx, found.id)?;
    tx.prepare_cached(
        "UPDATE edits SET state = 'waiting', method = ?2, patch = ?3, base = ?4, reason = NULL, problem = NULL,
             next_attempt_at = NULL WHERE id = ?1",
    )?
    .execute((
        found.id,
        found.method,
        Value::Object(found.patch.clone()).to_string(),
        Value::Object(found.base.clone()).to_string(),
    ))?;
    parts::follow(tx, found.id, found.method, &found.patch, &found.base)
}

/// What stands against an edit now.
pub(super) fn look(tx: &Connection, found: &Pending) -> Result<Judgement, StoreError> {
    let known = image::known(tx, found.kind, &found.record)?;
    let (mut patch, mut base) = (found.patch.clone(), found.base.clone());
    parcel::fit(tx, found.kind, &mut patch, &mut base, known.as_ref())?;
    let judgement = judge(found.kind, found.method, &patch, &base, known.as_ref());
    if found.method == Method::Create && found.state == EditState::Conflict && judgement == Judgement::Go {
        // Its record came and went without having been seen here.
        if parcel::is_deleted(tx, found.kind, &found.record)? {
            return Ok(Judgement::Gone);
        }
        // The server said that the id of a create was used, though its record never showed up here. It has said nothing
        // of a create that it lost when it was put back.
        let said = "SELECT problem IS NOT NULL FROM edits WHERE id = ?1";
        if tx.prepare_cached(said)?.query_row([found.id], |row| row.get(0))? {
            return Ok(Judgement::Taken(Vec::new()));
        }
        if parcel::other_kind(tx, found.kind, &found.record)?.is_some() {
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

fn both_differ(name: &str) -> String {
    format!("{name}: both sides still differ; settle it as mine, as theirs, or with another value for a field")
}

fn deleted_there(found: &Pending) -> String {
    format!(
        "{} was deleted on the server, and a deleted id is never used again: settled as mine it is made anew as another \
         {}, as theirs it is given up",
        found.name, found.kind
    )
}

/// `is_there`: what has the id is known, and is of the same kind.
fn taken(found: &Pending, is_there: bool) -> String {
    if !is_there {
        return format!(
            "the id of {} is in use on the server for something else, and is never given twice: settled as mine it is made \
             anew with another id, as theirs it is given up",
            found.name
        );
    }
    format!(
        "the server has a {} of this id already: settled as mine {} is written over it, as theirs it is taken as it is",
        found.kind, found.name
    )
}

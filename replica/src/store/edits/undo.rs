//! Undo: an edit that the server does not have is taken back; of any other the inverse is queued ([`inverse`]), with the
//! values that still can be written ([`living`]). Values that lost a conflict come back the same way. Must not know who asks,
//! nor how edits are sent.

mod inverse;
mod living;

use std::collections::BTreeSet;

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};

pub(crate) use self::inverse::make_anew;
use self::inverse::{Past, again, inverse};
use crate::model::{EditOutcome, EditState, Method, Origin};
use crate::store::edits::decide::{Decided, Pending, load, quoted, rests_on, said};
use crate::store::edits::each::{self, Came, Decisions};
use crate::store::edits::history;
use crate::store::edits::{EditError, take_back};
use crate::store::{gate, rows};

/// Changes that cannot be undone any more are passed over, but not without end.
const PASSED_OVER_MAX: usize = 20;

/// Undoes edits in this order. An edit that undoes can be undone too.
pub(crate) fn undo_each(
    connection: &mut Connection,
    origin: Origin,
    edits: &[i64],
    now: Timestamp,
) -> Result<Decisions, EditError> {
    each::decide(connection, origin, edits, |tx, edit| undo_one(tx, edit, now).map(Came::Out))
}

/// Undoes one; None: the newest change made here that stands.
pub(crate) fn undo(
    connection: &mut Connection,
    origin: Origin,
    edit: Option<i64>,
    now: Timestamp,
) -> Result<Decided, EditError> {
    match edit {
        Some(edit) => each::only(undo_each(connection, origin, &[edit], now)),
        None => undo_newest(connection, origin, &BTreeSet::new(), now),
    }
}

/// Undoes the newest change that can be undone and is none of these.
pub(crate) fn undo_newest(
    connection: &mut Connection,
    origin: Origin,
    but: &BTreeSet<i64>,
    now: Timestamp,
) -> Result<Decided, EditError> {
    each::only(each::decide(connection, origin, &[()], |tx, ()| undo_newest_in(tx, but, now).map(Came::Out)))
}

/// What others have changed or deleted since must not stand in the way of what came before it.
fn undo_newest_in(tx: &Transaction<'_>, but: &BTreeSet<i64>, now: Timestamp) -> Result<Decided, EditError> {
    let mut passed = Vec::new();
    for edit in newest(tx, but)? {
        match undo_one(tx, edit, now) {
            Err(EditError::Refused(why)) => passed.push(why),
            Ok(decided) if passed.is_empty() => return Ok(decided),
            Ok(decided) => {
                let sentence = format!("{} (passed over: {})", decided.said, passed.join("; "));
                return Ok(Decided { said: sentence, ..decided });
            }
            Err(error) => return Err(error),
        }
    }
    Err(refused(passed.into_iter().next().unwrap_or_else(|| "there is no change to undo".to_owned())))
}

/// Every refusal comes before anything is written.
fn undo_one(tx: &Transaction<'_>, edit: i64, now: Timestamp) -> Result<Decided, EditError> {
    if let Some(by) = undone_by(tx, edit)? {
        return Err(refused(match history::get(tx, edit)? {
            Some(found) if !found.is_on_server() => {
                format!("this change is made again already, by edit {by}; undo {by} takes it back")
            }
            _ => undone_already(by),
        }));
    }
    if let Some(part) = part(tx, edit)? {
        return inverse(tx, &part.past());
    }
    if let Some(found) = load(tx, edit)? {
        if found.in_doubt {
            return invert(tx, &found);
        }
        let attempted = tx.query_row("SELECT attempts > 0 FROM edits WHERE id = ?1", [edit], |row| row.get(0))?;
        let how_far = match (attempted, found.state) {
            (false, _) => "it was never sent",
            (true, EditState::Rejected) => "the server had refused it",
            (true, _) => "the server does not have it",
        };
        return gate::with_guards_off(tx, |tx| {
            let (with, named) = rests_on(tx, &found)?;
            take_back::take_back(tx, edit, EditOutcome::Undone, None, now)?;
            Ok(said(format!("{}: the change is taken back{with}; {how_far}{named}", found.name)))
        });
    }
    if let Some(found) = history::get(tx, edit)? {
        let name = quoted(&found.title);
        let past = Past::of(&found, &name);
        return if found.is_on_server() { inverse(tx, &past) } else { again(tx, &past) };
    }
    Err(refused(match part_of(tx, edit)? {
        Some(with) => format!(
            "this change was refused as one with another of its record (edit {with}): give that up, or change it"
        ),
        None => format!("there is no edit {edit}, or it was settled more than 30 days ago"),
    }))
}

/// Queues the inverse of an edit that the server has, or may have.
pub(crate) fn invert(tx: &Transaction<'_>, found: &Pending) -> Result<Decided, EditError> {
    let Pending { id, name, kind, record, method, patch, base, .. } = found;
    inverse(tx, &Past { id: *id, name, kind: *kind, record, method: *method, patch, base })
}

/// A change that goes to the server as one with others of its record, as it was made.
struct Part {
    id: i64,
    name: String,
    kind: Kind,
    record: String,
    method: Method,
    patch: Fields,
    base: Fields,
}

impl Part {
    fn past(&self) -> Past<'_> {
        let Part { id, name, kind, record, method, patch, base } = self;
        Past { id: *id, name, kind: *kind, record, method: *method, patch, base }
    }
}

/// The change of that number, if it is on its way as one with others, or waits to go again. What was refused as one stays
/// one.
fn part(tx: &Connection, edit: i64) -> Result<Option<Part>, EditError> {
    let found = tx
        .prepare_cached("SELECT of_edit, method, patch, base FROM _coalesced WHERE edit_id = ?1")?
        .query_row([edit], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?, row.get::<_, String>(3)?)))
        .optional()?;
    let Some((with, method, patch, base)) = found else { return Ok(None) };
    let stays_one = |sum: &Pending| !sum.in_doubt && matches!(sum.state, EditState::Rejected | EditState::Conflict);
    let Some(sum) = load(tx, with)?.filter(|sum| !stays_one(sum)) else { return Ok(None) };
    let (patch, base) = (rows::parse_object(&patch)?, rows::parse_object(&base)?);
    Ok(Some(Part { id: edit, name: sum.name, kind: sum.kind, record: sum.record, method, patch, base }))
}

/// The changes made here that stand and do not undo one that stood, newest first; as many as may be passed over. Of
/// those that are on their way as one each counts; what was refused as one is one, as new as its last. None of `but`.
fn newest(tx: &Connection, but: &BTreeSet<i64>) -> Result<Vec<i64>, EditError> {
    let mut statement = tx.prepare_cached(
        "SELECT id FROM edits UNION ALL SELECT edit_id FROM _coalesced
         UNION ALL SELECT id FROM edit_history WHERE outcome IN ('confirmed', 'merged')
         EXCEPT SELECT by_edit FROM _undone WHERE edit_id NOT IN
             (SELECT id FROM edit_history WHERE outcome NOT IN ('confirmed', 'merged')) ORDER BY id DESC",
    )?;
    let mut found = statement.query([])?;
    let mut newest = Vec::new();
    while let Some(row) = found.next()?
        && newest.len() < PASSED_OVER_MAX
    {
        let edit = row.get(0)?;
        let edit = match part_of(tx, edit)? {
            Some(sum) if part(tx, edit)?.is_none() => sum,
            _ => edit,
        };
        if undone_by(tx, edit)?.is_none() && !newest.contains(&edit) && !but.contains(&edit) {
            newest.push(edit);
        }
    }
    Ok(newest)
}

/// The edit that a change is, or was refused, as one with.
fn part_of(tx: &Connection, edit: i64) -> Result<Option<i64>, EditError> {
    let text = "SELECT of_edit FROM _coalesced WHERE edit_id = ?1";
    Ok(tx.prepare_cached(text)?.query_row([edit], |row| row.get(0)).optional()?)
}

/// The edit that undoes this one, or one that goes to the server with it.
pub(crate) fn is_undone(tx: &Connection, edit: i64) -> Result<Option<i64>, EditError> {
    let mut statement = tx.prepare_cached("SELECT ?1 UNION SELECT edit_id FROM _coalesced WHERE of_edit = ?1")?;
    let parts: Vec<i64> = statement.query_map([edit], |row| row.get(0))?.collect::<Result<_, _>>()?;
    parts.into_iter().find_map(|part| undone_by(tx, part).transpose()).transpose()
}

/// What is said where something is to be undone that is.
pub(crate) fn undone_already(by: i64) -> String {
    format!("this change is undone already, by edit {by}; undo {by} does it again")
}

/// The edit that undoes this one or makes it again, unless that is undone itself.
fn undone_by(tx: &Connection, edit: i64) -> Result<Option<i64>, EditError> {
    let by: Option<i64> = tx
        .prepare_cached("SELECT by_edit FROM _undone WHERE edit_id = ?1")?
        .query_row([edit], |row| row.get(0))
        .optional()?;
    Ok(match by {
        Some(by) if undone_by(tx, by)?.is_none() => Some(by),
        _ => None,
    })
}

fn refused(sentence: impl Into<String>) -> EditError {
    EditError::Refused(sentence.into())
}

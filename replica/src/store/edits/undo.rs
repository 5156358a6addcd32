//! Undo: reverts an edit that the server does not have. For any other edit, queues the inverse edit ([`inverse`])
//! with the values that can still be written ([`restorable`]). Undo also brings back values that lost a conflict.
//! Must not know the user interface, or how edits are sent.

mod inverse;
mod restorable;

use std::collections::BTreeSet;

use hearth_contract::formats::Timestamp;
use rusqlite::{Connection, Row, Transaction};

pub(super) use self::inverse::inverse;
pub(crate) use self::inverse::make_anew;
use self::inverse::{PastEdit, again};
pub(super) use self::restorable::restorable_fields;
use crate::model::{EditOutcome, EditState, Origin};
use crate::store::edits::decisions::{self, DecisionOutcome, Decisions};
use crate::store::edits::error::EditError;
use crate::store::edits::history;
use crate::store::edits::pending::{Decided, PendingEdit, decided, load, refused};
use crate::store::edits::revert::{consequences, revert};
use crate::store::{gate, rows, select};

/// Changes that [`undo_newest`] tries at most. A change that cannot be undone is skipped.
const PASSED_OVER_MAX: usize = 20;

/// Undoes edits in the given order. An undo is an edit too, and can be undone.
pub(crate) fn undo_each(
    connection: &mut Connection,
    origin: Origin,
    edits: &[i64],
    now: Timestamp,
) -> Result<Decisions, EditError> {
    decisions::decide_each(connection, origin, edits, |tx, edit| {
        undo_with_references(tx, edit, edits, now).map(DecisionOutcome::Done)
    })
}

/// Undoes the newest change that can be undone, except the edits in `but`.
pub(crate) fn undo_newest(
    connection: &mut Connection,
    origin: Origin,
    but: &BTreeSet<i64>,
    now: Timestamp,
) -> Result<Decided, EditError> {
    decisions::single(decisions::decide_each(connection, origin, &[()], |tx, ()| {
        undo_newest_in(tx, but, now).map(DecisionOutcome::Done)
    }))
}

/// [`undo_newest`] in a transaction. Skips changes that cannot be undone, for example because other people have
/// overwritten the values.
fn undo_newest_in(tx: &Transaction<'_>, but: &BTreeSet<i64>, now: Timestamp) -> Result<Decided, EditError> {
    let mut passed = Vec::new();
    for edit in newest_changes(tx, but)? {
        match undo_with_references(tx, edit, &[], now) {
            Err(EditError::Refused(why)) => passed.push(why),
            Ok(decided) if passed.is_empty() => return Ok(decided),
            Ok(decided) => {
                let sentence = format!("{} (passed over: {})", decided.sentence, passed.join("; "));
                return Ok(Decided { sentence, ..decided });
            }
            Err(error) => return Err(error),
        }
    }
    Err(refused(passed.into_iter().next().unwrap_or_else(|| "there is no change to undo".to_owned())))
}

/// Undoes an edit; of a delete in a home without a server, also the updates that cleared the references to its record. The
/// edits in `others` are undone by the caller. A reference that has another value by now keeps it.
fn undo_with_references(tx: &Transaction<'_>, edit: i64, others: &[i64], now: Timestamp) -> Result<Decided, EditError> {
    let mut cleared = references_cleared_by(tx, edit)?;
    cleared.retain(|edit| !others.contains(edit));
    let decided = undo_one(tx, edit, now)?;
    for edit in cleared {
        match undo_one(tx, edit, now) {
            Ok(_) | Err(EditError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(decided)
}

/// The updates with which a delete in a home without a server cleared the references to its record, newest first. The statement
/// of the delete made them too, at the same time.
fn references_cleared_by(tx: &Connection, edit: i64) -> Result<Vec<i64>, EditError> {
    let text = "SELECT u.id FROM edits d JOIN edits u ON u.created_at = d.created_at AND u.id < d.id
                WHERE d.id = ?1 AND d.method = 'delete' AND u.method = 'update' AND (SELECT phase FROM _sync) = 'local'
                    AND EXISTS (SELECT 1 FROM json_each(u.patch) p
                                WHERE p.type = 'null' AND u.base ->> ('$.' || p.key) = d.record_id)
                ORDER BY u.id DESC";
    Ok(select::column(tx, text, [edit])?)
}

/// Undoes an edit. Err(Refused) comes before any write.
fn undo_one(tx: &Transaction<'_>, edit: i64, now: Timestamp) -> Result<Decided, EditError> {
    if let Some(by) = undone_by(tx, edit)? {
        return Err(refused(match history::get(tx, edit)? {
            Some(found) if !found.is_on_server() => {
                format!("this change is made again already, by edit {by}; undo {by} takes it back")
            }
            _ => undone_already_sentence(by),
        }));
    }
    if let Some(part) = sent_part(tx, edit)? {
        return inverse(tx, &part);
    }
    if let Some(found) = load(tx, edit)? {
        if found.may_take_effect {
            return inverse(tx, &found.into());
        }
        let how_far = match (found.is_attempted, found.state) {
            (false, _) => "it was never sent",
            (true, EditState::Rejected) => "the server had refused it",
            (true, _) => "the server does not have it",
        };
        return gate::with_guards_off(tx, |tx| {
            let (with, named) = consequences(tx, &found)?;
            revert(tx, edit, EditOutcome::Undone, None, now)?;
            Ok(decided(format!("{}: the change is taken back{with}; {how_far}{named}", found.name)))
        });
    }
    if let Some(found) = history::get(tx, edit)? {
        let is_on_server = found.is_on_server();
        return if is_on_server { inverse(tx, &found.into()) } else { again(tx, &found.into()) };
    }
    Err(refused(match sum_of(tx, edit)? {
        Some(with) => format!(
            "this change was refused as one with another of its record (edit {with}): give that up, or change it"
        ),
        None => format!("there is no edit {edit}, or it was settled more than 30 days ago"),
    }))
}

/// The part with the number `edit`, when the coalesced edit is being sent or waits to be sent again. None for a
/// rejected coalesced edit, which can only be undone as a whole.
fn sent_part(tx: &Connection, edit: i64) -> Result<Option<PastEdit>, EditError> {
    let text = "SELECT part_of, as_made ->> '$.method', as_made -> '$.patch', as_made -> '$.base' FROM _outbox
                WHERE edit_id = ?1 AND part_of IS NOT NULL";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, rows::object(row, 2)?, rows::object(row, 3)?));
    let Some((with, method, patch, base)) = select::all(tx, text, [edit], read)?.pop() else { return Ok(None) };
    let is_undone_whole =
        |sum: &PendingEdit| !sum.may_take_effect && matches!(sum.state, EditState::Rejected | EditState::Conflict);
    let Some(sum) = load(tx, with)?.filter(|sum| !is_undone_whole(sum)) else { return Ok(None) };
    Ok(Some(PastEdit { id: edit, name: sum.name, kind: sum.kind, record: sum.record, method, patch, base }))
}

/// The numbers of changes that are still in effect and are no undo, newest first; at most [`PASSED_OVER_MAX`],
/// without `but`. Each part of a coalesced edit counts alone. A rejected coalesced edit counts once, at the place of
/// its last part.
fn newest_changes(tx: &Connection, but: &BTreeSet<i64>) -> Result<Vec<i64>, EditError> {
    let mut statement = tx.prepare_cached(
        "SELECT id FROM edits WHERE id NOT IN (SELECT next_edit FROM _outbox WHERE next_edit IS NOT NULL)
         UNION ALL SELECT edit_id FROM _outbox WHERE part_of IS NOT NULL
         UNION ALL SELECT id FROM edit_history WHERE outcome IN ('confirmed', 'merged')
         EXCEPT SELECT undone_by FROM _outbox WHERE undone_by IS NOT NULL AND edit_id NOT IN
             (SELECT id FROM edit_history WHERE outcome NOT IN ('confirmed', 'merged')) ORDER BY id DESC",
    )?;
    let mut found = statement.query([])?;
    let mut newest = Vec::new();
    while let Some(row) = found.next()?
        && newest.len() < PASSED_OVER_MAX
    {
        let edit = row.get(0)?;
        let edit = match sum_of(tx, edit)? {
            Some(sum) if sent_part(tx, edit)?.is_none() => sum,
            _ => edit,
        };
        if undone_by(tx, edit)?.is_none() && !newest.contains(&edit) && !but.contains(&edit) {
            newest.push(edit);
        }
    }
    Ok(newest)
}

/// The coalesced edit that contains a change. None when the change was not coalesced.
fn sum_of(tx: &Connection, edit: i64) -> Result<Option<i64>, EditError> {
    Ok(select::first(tx, "SELECT part_of FROM _outbox WHERE edit_id = ?1", [edit])?)
}

/// The edit that undoes an edit or a part of the edit.
pub(crate) fn undone_by_any(tx: &Connection, edit: i64) -> Result<Option<i64>, EditError> {
    let parts = "SELECT ?1 UNION SELECT edit_id FROM _outbox WHERE part_of = ?1";
    let parts = select::column(tx, parts, [edit])?;
    parts.into_iter().find_map(|part| undone_by(tx, part).transpose()).transpose()
}

/// The refusal to undo a change twice.
pub(crate) fn undone_already_sentence(by: i64) -> String {
    format!("this change is undone already, by edit {by}; undo {by} does it again")
}

/// The edit that undoes or repeats an edit, unless the undo or repetition is undone too.
fn undone_by(tx: &Connection, edit: i64) -> Result<Option<i64>, EditError> {
    Ok(match select::first(tx, "SELECT undone_by FROM _outbox WHERE edit_id = ?1", [edit])? {
        Some(by) if undone_by(tx, by)?.is_none() => Some(by),
        _ => None,
    })
}

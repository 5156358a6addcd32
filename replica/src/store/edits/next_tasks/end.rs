//! The end of the creates that show next tasks. The server has shown the next task: its values replace ours, and later edits
//! stay. Or the server has made none: a next task that nobody edited vanishes, and an edited one becomes an ordinary create.
//! Must not know how the server's records arrive.

use hearth_contract::formats::Timestamp;
use hearth_contract::recurrence;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};

use crate::model::{EditOutcome, EditState, LogLevel};
use crate::store::edits::next_tasks::{is_edited, make};
use crate::store::edits::reason::set_state;
use crate::store::edits::settle;
use crate::store::{StoreError, base, log, rows, select};

/// A create that shows a next task.
struct Shown {
    /// The edit that completes the task before.
    completion: i64,
    /// The completed task.
    task: String,
    /// The create.
    edit: i64,
    /// The next task.
    record: String,
}

/// Ends the creates of next tasks about which the server's decision is known. `at_present`: the rows show the present state of
/// the server.
pub(crate) fn settle_shown(tx: &Transaction<'_>, at_present: bool, now: Timestamp) -> Result<(), StoreError> {
    if !tx.prepare_cached("SELECT 1 FROM _outbox WHERE completes IS NOT NULL")?.exists([])? {
        return Ok(());
    }
    // A person has given up the next task itself.
    tx.prepare_cached(
        "UPDATE _outbox SET completes = NULL, next_edit = NULL
         WHERE next_edit IS NOT NULL AND next_edit NOT IN (SELECT id FROM edits)",
    )?
    .execute([])?;
    for shown in all_shown(tx)? {
        if base::load(tx, Kind::Task, &shown.record)?.is_some() {
            let rev = made_with_completion(tx, &shown)?;
            end(tx, &shown, rev, "the server has made the task itself", now)?;
            continue;
        }
        let Some(why) = why_not_made(tx, &shown, at_present)? else { continue };
        if is_edited(tx, shown.edit)? {
            release(tx, &shown, why)?;
        } else {
            end(tx, &shown, None, why, now)?;
        }
    }
    Ok(())
}

/// Ends the create of a next task that the server has deleted. Later edits of the task wait for a person, as those of any
/// deleted record: the base image gets the values of the create, if the replica never had the server's. `rev`: the task was
/// deleted at this position or before.
pub(crate) fn end_deleted(
    tx: &Transaction<'_>,
    kind: Kind,
    record: &str,
    rev: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    if kind != Kind::Task {
        return Ok(());
    }
    let Some(shown) = all_shown(tx)?.into_iter().find(|shown| shown.record == record) else { return Ok(()) };
    if base::load(tx, kind, record)?.and_then(base::StoredImage::version).is_none()
        && is_edited(tx, shown.edit)?
        && let Some(stored) = base::overlay(tx, kind, record, shown.edit.saturating_add(1))?
    {
        base::save(tx, kind, record, &rows::StoredRecord { rev: Some(rev), ..stored })?;
        base::mark_deleted(tx, kind, record, rev)?;
    }
    end(tx, &shown, None, "the task is deleted on the server", now)
}

fn all_shown(tx: &Connection) -> Result<Vec<Shown>, StoreError> {
    let text = "SELECT n.edit_id, n.completes, e.id, e.record_id FROM _outbox n JOIN edits e ON e.id = n.next_edit ORDER BY e.id";
    select::all(tx, text, [], |row| {
        Ok(Shown { completion: row.get(0)?, task: row.get(1)?, edit: row.get(2)?, record: row.get(3)? })
    })
}

/// Why the server makes no next task that it has not shown, as a sentence. None while that is not known: the completion is pending,
/// or the next event may be that of the next task.
fn why_not_made(tx: &Connection, shown: &Shown, at_present: bool) -> Result<Option<&'static str>, StoreError> {
    let pending = "SELECT 1 FROM edits WHERE id = ?1
                   UNION ALL SELECT 1 FROM _outbox WHERE edit_id = ?1 AND part_of IS NOT NULL";
    if tx.prepare_cached(pending)?.exists([shown.completion])? {
        return Ok(None);
    }
    let outcome: Option<EditOutcome> =
        select::first(tx, "SELECT outcome FROM edit_history WHERE id = ?1", [shown.completion])?;
    if outcome.is_some_and(|outcome| !matches!(outcome, EditOutcome::Confirmed | EditOutcome::Merged)) {
        return Ok(Some("the change from which it follows never reaches the server"));
    }
    // The event of the next task follows that of the completed one directly, in the same transaction.
    let progress = "SELECT backfilled AND NOT EXISTS (SELECT 1 FROM _reconcile),
                        ?2 OR coalesce(position > coalesce(
                            (SELECT rev FROM _base WHERE kind = 'task' AND record_id = ?1),
                            (SELECT rev FROM edit_history WHERE id = ?3)), 0)
                    FROM _sync";
    let (is_whole, has_passed): (bool, bool) =
        tx.prepare_cached(progress)?.query_row((&shown.task, at_present, shown.completion), |row| row.try_into())?;
    let is_decided = is_whole && (has_passed || ends_series(tx, &shown.task)?);
    Ok(is_decided.then_some("the server has made no next task"))
}

/// True when no task follows the completed task as the server has it, for example because somebody has removed the recurrence. The
/// server decides by the same function.
fn ends_series(tx: &Connection, task: &str) -> Result<bool, StoreError> {
    let Some(version) = base::load(tx, Kind::Task, task)?.and_then(base::StoredImage::version) else {
        return Ok(false);
    };
    Ok(recurrence::is_done(&version.fields) && make::next_after(tx, task, &version.fields)?.is_none())
}

/// The revision of a next task that the server has made because of this replica's completion: the event after that of the
/// completion. None when somebody else completed the task, or has changed the next task since.
fn made_with_completion(tx: &Connection, shown: &Shown) -> Result<Option<i64>, StoreError> {
    let text = "SELECT i.rev FROM _base i JOIN edit_history h ON h.id = ?2 AND h.outcome = 'confirmed'
                WHERE i.kind = 'task' AND i.record_id = ?1 AND i.rev = h.rev + 1";
    select::first(tx, text, (&shown.record, shown.completion))
}

/// Ends a create in favour of the server. The row shows the server's version and the later edits. `rev`: the revision at
/// which the server has made the task because of this replica.
fn end(tx: &Transaction<'_>, shown: &Shown, rev: Option<i64>, reason: &str, now: Timestamp) -> Result<(), StoreError> {
    forget(tx, shown)?;
    settle::finish(tx, &[(shown.edit, rev)], EditOutcome::Superseded, Some(reason), now)?;
    base::rebase(tx, Kind::Task, &shown.record)
}

/// Makes a create an ordinary one, which is sent with its later edits.
fn release(tx: &Transaction<'_>, shown: &Shown, reason: &str) -> Result<(), StoreError> {
    forget(tx, shown)?;
    set_state(tx, shown.edit, EditState::Waiting, None)?;
    let text = format!("Edit {}: {reason}; the edited task goes to the server.", shown.edit);
    log(tx, LogLevel::Info, &text)
}

fn forget(tx: &Transaction<'_>, shown: &Shown) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE _outbox SET completes = NULL, next_edit = NULL WHERE next_edit = ?1")?
        .execute([shown.edit])?;
    Ok(())
}

//! Makes the next tasks of tasks that were completed here. The triggers note the completions, because SQL cannot compute the
//! id of the next task. Must not know who completed a task.

use hearth_contract::check::Fields;
use hearth_contract::recurrence::{NextTask, next_task};
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};
use uuid::Uuid;

use crate::model::{EditState, Method, Origin};
use crate::store::edits::reason::{Reason, set_state};
use crate::store::{StoreError, base, gate, rows, select};

const DUE: &str =
    "SELECT edit_id, completes FROM _outbox WHERE completes IS NOT NULL AND next_edit IS NULL ORDER BY edit_id";

/// True when a completion has no next task yet.
pub(crate) fn is_due(connection: &Connection) -> Result<bool, StoreError> {
    Ok(connection.prepare_cached(&format!("SELECT EXISTS ({DUE})"))?.query_row([], |row| row.get(0))?)
}

/// [`make`] in a transaction of its own.
pub(crate) fn make_due(connection: &mut Connection) -> Result<(), StoreError> {
    gate::sync_tx(connection, make)
}

/// Makes the next task of each completion that has none yet.
pub(crate) fn make(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let due: Vec<(i64, String)> = select::all(tx, DUE, [], |row| Ok(row.try_into()?))?;
    if due.is_empty() {
        return Ok(());
    }
    gate::with_guards_off(tx, |tx| due.iter().try_for_each(|(edit, task)| make_next(tx, *edit, task)))
}

/// Makes the next task of one completion. A completion that makes no next task is no longer noted.
fn make_next(tx: &Transaction<'_>, edit: i64, task: &str) -> Result<(), StoreError> {
    let made = match completion(tx, edit)? {
        Some(by) => next_of_task(tx, edit, task)?.map(|next| insert(tx, edit, by, next)).transpose()?,
        None => None,
    };
    let text = "UPDATE _outbox SET next_edit = ?2, completes = iif(?2 IS NULL, NULL, completes) WHERE edit_id = ?1";
    tx.prepare_cached(text)?.execute((edit, made))?;
    Ok(())
}

/// Who completed a task, and when. None when the edit has ended: the server has the completion, or a person has
/// discarded the edit.
fn completion(tx: &Connection, edit: i64) -> Result<Option<(Origin, String)>, StoreError> {
    let text = "SELECT origin, created_at FROM edits WHERE id = ?1
                UNION ALL SELECT as_made ->> '$.origin', as_made ->> '$.created_at' FROM _outbox
                WHERE edit_id = ?1 AND part_of IS NOT NULL LIMIT 1";
    Ok(tx.prepare_cached(text)?.query_row([edit], |row| row.try_into()).optional()?)
}

/// The task that follows a completed task, made from the values of the completed task after the edit. None when the series
/// ends, or when a record has or had the id of the next task: each task has one successor.
fn next_of_task(tx: &Connection, edit: i64, task: &str) -> Result<Option<NextTask>, StoreError> {
    let Some(completed) = base::overlay(tx, Kind::Task, task, edit.saturating_add(1))? else { return Ok(None) };
    let Some(next) = next_after(tx, task, &completed.fields)? else { return Ok(None) };
    Ok(if base::is_used(tx, &next.id.to_string())? { None } else { Some(next) })
}

/// The task that follows a completed task with these values, in the time zone of the home. None when the series ends.
pub(super) fn next_after(tx: &Connection, task: &str, completed: &Fields) -> Result<Option<NextTask>, StoreError> {
    let Ok(id) = Uuid::try_parse(task) else { return Ok(None) };
    let zone: Option<String> = select::first(tx, "SELECT time_zone FROM property", [])?;
    Ok(next_task(id, completed, zone.as_deref()))
}

/// Writes the row of a next task, and the create that holds it. Gives the number of the create.
fn insert(
    tx: &Transaction<'_>,
    edit: i64,
    (origin, made_at): (Origin, String),
    next: NextTask,
) -> Result<i64, StoreError> {
    let id = next.id.to_string();
    let patch: Fields = next.fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
    tx.prepare_cached(
        "INSERT INTO edits (kind, record_id, method, patch, base, origin, created_at) VALUES (?1, ?2, ?3, ?4, '{}', ?5, ?6)",
    )?
    .execute((
        Kind::Task.as_str(),
        &id,
        Method::Create,
        rows::json_text(&patch),
        origin,
        &made_at,
    ))?;
    let made = tx.last_insert_rowid();
    base::rebase(tx, Kind::Task, &id)?;
    let why = format!("the next task of a series, completed by edit {edit}; the server creates it");
    set_state(tx, made, EditState::Waiting, Some(Reason::Told(&why)))?;
    Ok(made)
}

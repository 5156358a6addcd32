//! The next tasks of completed recurring tasks (contract 3). The server makes the next task when it has the edit that
//! completes the task. The replica shows the same task, with the same id, at once: as a create that is never sent. Edits of
//! the next task wait until the server has shown it, and are then ordinary updates. Must not know how edits are sent.
//!
//! [`make`] makes the next tasks. [`end`] ends them: the server has shown the next task, or has made none.
//! [`computed`]: what follows when a person changes the values of an edit.

pub(super) mod computed;
pub(crate) mod end;
pub(crate) mod make;

use rusqlite::Connection;

use crate::store::{StoreError, select};

/// True when an edit is the create that shows a next task.
pub(super) fn is_next(tx: &Connection, edit: i64) -> Result<bool, StoreError> {
    Ok(tx.prepare_cached("SELECT 1 FROM _outbox WHERE next_edit = ?1")?.exists([edit])?)
}

/// True when a next task has edits beside the create that shows it.
pub(super) fn is_edited(tx: &Connection, next: i64) -> Result<bool, StoreError> {
    let text = "SELECT 1 FROM edits e JOIN edits n ON n.kind = e.kind AND n.record_id = e.record_id
                WHERE n.id = ?1 AND e.id <> n.id";
    Ok(tx.prepare_cached(text)?.exists([next])?)
}

/// The create that shows the next task of the task that an edit completes. None also when the server has shown the next task.
pub(super) fn next_of(tx: &Connection, edit: i64) -> Result<Option<i64>, StoreError> {
    select::first(tx, "SELECT next_edit FROM _outbox WHERE edit_id = ?1", [edit])
}

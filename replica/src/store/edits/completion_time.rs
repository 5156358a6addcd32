//! Edits whose `completed_at` the server refuses: the clock of this machine is ahead, or the server is older than this program.
//! Nobody typed the moment, so no person must decide: the edit goes again without it, and the server's clock counts. Must not
//! know other refusals.

use hearth_contract::recurrence::COMPLETED_AT;
use hearth_contract::schema::Kind;
use rusqlite::Transaction;
use serde_json::Value;

use crate::model::{LogLevel, refuses_only};
use crate::store::edits::outbox;
use crate::store::{StoreError, base, log, select};

/// True when `completed_at` is the only field that the server refuses. `problem`: its error object.
pub(super) fn is_refused(problem: &Value) -> bool {
    refuses_only(problem, |fault| fault["field"] == COMPLETED_AT)
}

/// Removes `completed_at` from a refused edit, and lets the edit be sent in a new request. False when the edit does not have
/// the field.
pub(super) fn leave_to_server(tx: &Transaction<'_>, edit: i64) -> Result<bool, StoreError> {
    let text =
        "UPDATE edits SET patch = json_remove(patch, '$.completed_at'), base = json_remove(base, '$.completed_at'),
             state = 'waiting', reason_code = NULL, reason = NULL, problem = NULL, next_attempt_at = NULL
         WHERE id = ?1 AND state IN ('waiting', 'sending') AND json_type(patch, '$.completed_at') IS NOT NULL
         RETURNING record_id";
    let Some(record) = select::first::<String>(tx, text, [edit])? else { return Ok(false) };
    tx.prepare_cached(
        "UPDATE _outbox SET as_made = json_remove(as_made, '$.patch.completed_at', '$.base.completed_at') WHERE part_of = ?1",
    )?
    .execute([edit])?;
    outbox::renew_request(tx, edit)?;
    base::rebase(tx, Kind::Task, &record)?;
    let text = format!(
        "Edit {edit}: the server does not accept when this machine says the task was done; the server's clock counts."
    );
    log(tx, LogLevel::Warning, &text)?;
    Ok(true)
}

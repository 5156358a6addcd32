//! Edits and the files that they name: an edit waits until the server has the bytes of its file. Must not know requests.

use rusqlite::{Connection, Transaction};
use serde_json::Value;

use crate::model::{FileState, LogLevel, ReasonCode};
use crate::store::captures::exchange;
use crate::store::edits::frozen_request::has_frozen_request;
use crate::store::edits::outbox;
use crate::store::file_store::table;
use crate::store::{StoreError, gate, log, select};

/// After so many attempts an edit is still sent again when the server does not have its file. After one more, the server's
/// refusal counts.
const ATTEMPTS_MAX: i64 = 3;

/// SQL condition: the edit `e` names a file whose bytes are not yet on the server.
pub(in crate::store) const WAITS_FOR_FILE: &str = "(e.kind = 'document' AND EXISTS (
     SELECT 1 FROM files w WHERE w.sha256 = e.patch ->> '$.file_sha256' AND w.state IN ('waiting', 'refused')))";

/// Notes that the server has a file.
pub(crate) fn uploaded(connection: &mut Connection, sha256: &str) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| match table::state(tx, sha256)? {
        Some(FileState::Waiting | FileState::Refused) => table::set_state(tx, sha256, FileState::Present, None),
        _ => Ok(()),
    })
}

/// Notes that the server does not take a file. Edits that name the file wait for a person. `problem`: the server's error
/// object; `sentence`: the same for people. `limit`: the server's limit in bytes, if the file is over it.
pub(crate) fn refused(
    connection: &mut Connection,
    sha256: &str,
    code: ReasonCode,
    sentence: &str,
    problem: &Value,
    limit: Option<u64>,
) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        table::set_state(tx, sha256, FileState::Refused, Some(problem))?;
        if let Some(limit) = limit {
            set_limit(tx, limit)?;
        }
        exchange::fail_of_file(tx, sha256, problem)?;
        let reject = format!(
            "UPDATE edits SET state = 'rejected', reason_code = ?2, reason = ?3, problem = ?4, next_attempt_at = NULL
             WHERE kind = 'document' AND state IN ('waiting', 'blocked') AND patch ->> '$.file_sha256' = ?1 AND NOT {}
             RETURNING id",
            has_frozen_request("edits")
        );
        for edit in select::column::<i64>(tx, &reject, (sha256, code, sentence, problem.to_string()))? {
            tx.prepare_cached("UPDATE _outbox SET blocked_by = NULL WHERE edit_id = ?1")?.execute([edit])?;
            log(
                tx,
                LogLevel::Warning,
                &format!("Edit {edit} needs you: the server does not take its file: {sentence}"),
            )?;
        }
        Ok(())
    })
}

/// The most bytes of a file, as the server last named them. None: no server has named them yet.
pub(crate) fn known_limit(connection: &Connection) -> Result<Option<u64>, StoreError> {
    let known: Option<i64> = select::value(connection, "SELECT max_file_bytes FROM _sync", [])?;
    Ok(known.and_then(|bytes| u64::try_from(bytes).ok()))
}

/// Notes the most bytes of a file, as the server names them.
pub(crate) fn note_limit(connection: &mut Connection, bytes: u64) -> Result<(), StoreError> {
    // A write that changes nothing would wake other programs.
    if known_limit(connection)? == Some(bytes) {
        return Ok(());
    }
    gate::sync_tx(connection, |tx| set_limit(tx, bytes))
}

fn set_limit(tx: &Transaction<'_>, bytes: u64) -> Result<(), StoreError> {
    tx.execute("UPDATE _sync SET max_file_bytes = ?1", [i64::try_from(bytes).unwrap_or(i64::MAX)])?;
    Ok(())
}

/// Uploads the file of an edit again, because the server does not have the file any more, and sends the edit after it. False
/// when the bytes are not here, or when that has not helped before.
pub(in crate::store) fn send_file_again(tx: &Transaction<'_>, edit: i64) -> Result<bool, StoreError> {
    let text = "SELECT patch ->> '$.file_sha256' FROM edits WHERE id = ?1 AND attempts <= ?2";
    let Some(file) = select::first::<String>(tx, text, (edit, ATTEMPTS_MAX))? else { return Ok(false) };
    if !table::state(tx, &file)?.is_some_and(FileState::is_here) {
        return Ok(false);
    }
    table::set_state(tx, &file, FileState::Waiting, None)?;
    tx.prepare_cached(
        "UPDATE edits SET state = 'waiting', reason_code = NULL, reason = NULL, problem = NULL, next_attempt_at = NULL
         WHERE id = ?1 AND state IN ('waiting', 'sending')",
    )?
    .execute([edit])?;
    outbox::renew_request(tx, edit)?;
    Ok(true)
}

/// Notes how a download ended: the state of the file, and why it is not as it should be. Without a state, the server does not give
/// the bytes, the state stays, and a person must ask again.
pub(crate) fn downloaded(
    connection: &mut Connection,
    sha256: &str,
    state: Option<FileState>,
    problem: Option<&Value>,
) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        let state = state.map_or_else(|| table::state(tx, sha256), |state| Ok(Some(state)))?;
        table::set_state(tx, sha256, state.unwrap_or(FileState::Wanted), problem)
    })
}

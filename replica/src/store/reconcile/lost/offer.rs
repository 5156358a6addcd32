//! Lost edits wait for a person again. Must not decide which edits are lost.

use rusqlite::Transaction;

use super::candidate::Candidate;
use crate::model::{LogLevel, Method, ReasonCode};
use crate::store::edits::outbox;
use crate::store::edits::reason::{Reason, need_person};
use crate::store::{StoreError, base, log, select};

/// True when lost edits wait for a person.
pub(crate) fn is_any_offered(tx: &Transaction<'_>) -> Result<bool, StoreError> {
    let text = "SELECT 1 FROM edits WHERE state = 'conflict' AND reason_code = ?1";
    Ok(tx.prepare_cached(text)?.exists([ReasonCode::LostByServer])?)
}

/// Puts lost edits back, under their old numbers; a person must decide about them. The row still shows their changes. Some were
/// accepted, and some had ended.
pub(super) fn give_back(tx: &Transaction<'_>, reason: &Reason<'_>, lost: &[Candidate]) -> Result<(), StoreError> {
    for Candidate { edit, kind, record } in lost {
        // A retry is a new request: the old one may name a revision of the discarded history.
        outbox::forget_request(tx, *edit)?;
        // An edit that had ended comes back from the history. An accepted edit is not there, and both statements find nothing.
        tx.execute(
            "INSERT INTO edits (id, kind, record_id, method, patch, base, attempts, origin, created_at)
             SELECT id, kind, record_id, method, patch, base, attempts, origin, created_at FROM edit_history WHERE id = ?1",
            [edit],
        )?;
        tx.execute("DELETE FROM edit_history WHERE id = ?1", [edit])?;
        let method: Method =
            tx.query_row("UPDATE edits SET problem = NULL WHERE id = ?1 RETURNING method", [edit], |row| row.get(0))?;
        let is_missing = method == Method::Update && base::load(tx, *kind, record)?.is_some_and(|image| image.deleted);
        need_person(tx, *edit, if is_missing { reason.of_missing_record() } else { reason.clone() })?;
        if method == Method::Create {
            // The server does not have the record at all. Its answers to requests that change the record are wrong once the record
            // is made again, and it repeats them for the same keys (contract 6.4).
            base::forget_record(tx, *kind, record)?;
            let later = "SELECT id FROM edits WHERE kind = ?1 AND record_id = ?2 AND state IN ('waiting', 'sending', 'blocked')";
            let later = select::column(tx, later, (kind.as_str(), record))?;
            later.into_iter().try_for_each(|edit| outbox::forget_request(tx, edit))?;
        }
    }
    for Candidate { kind, record, .. } in lost {
        base::rebase(tx, *kind, record)?;
    }
    if !lost.is_empty() {
        let count = lost.len();
        let text = format!("The server no longer holds {count} of this replica's edits; they are offered again.");
        log(tx, LogLevel::Warning, &text)?;
    }
    Ok(())
}

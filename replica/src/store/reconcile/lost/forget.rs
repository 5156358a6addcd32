//! Forgets revisions and preconditions of the discarded history when the replica notices that the server was
//! restored. Must not read records from the server.

use rusqlite::Transaction;

use super::compare::{self, Scope};
use super::offer::give_back;
use crate::store::edits::outbox;
use crate::store::edits::reason::Reason;
use crate::store::{StoreError, base, select};

/// Forgets all revisions of the discarded history. `whole`: true when the rows hold only the discarded history, up to
/// `_sync.position`.
pub(crate) fn forget(tx: &Transaction<'_>, fork: Option<i64>, whole: bool) -> Result<(), StoreError> {
    if whole {
        // Edits that the records did not show before the restore were overwritten. The restore did not lose them.
        compare::note_overwritten(tx, fork.is_some())?;
    }
    drop_preconditions(tx, fork)?;
    let lost = fork.map(|fork| compare::find_lost(tx, &Scope::ConfirmedAfter(fork))).transpose()?;
    let fork = fork.unwrap_or(0);
    // Other changes have these positions by now. What the new history contains, the records show at the end of the reconcile.
    tx.execute("UPDATE edit_history SET rev = NULL WHERE rev > ?1", [fork])?;
    tx.execute("UPDATE _outbox SET acked_rev = NULL WHERE acked_rev > ?1", [fork])?;
    base::forget_revs(tx, fork, false)?;
    give_back(tx, &Reason::LostWithHistory, &lost.unwrap_or_default())
}

/// Drops requests with a revision of the discarded history, because the new history may have the same revision with
/// other values. With a known fork, the request was sent after the fork, and its effect is lost. With an unknown
/// fork, the request may have been applied: the request is given up, and the edit is merged again with the record
/// that the reconcile brings.
fn drop_preconditions(tx: &Transaction<'_>, fork: Option<i64>) -> Result<(), StoreError> {
    let carried = "SELECT id FROM edits WHERE state <> 'sent' AND idempotency_key IN
         (SELECT idempotency_key FROM edits JOIN _outbox ON edit_id = id WHERE if_match > ?1)";
    if fork.is_none() {
        let text = format!(
            "UPDATE _outbox SET given_up = 1, maybe_applied = 1, if_match = NULL WHERE NOT given_up AND edit_id IN ({carried})"
        );
        tx.execute(&text, [0])?;
        return Ok(());
    }
    select::column(tx, carried, [fork])?.into_iter().try_for_each(|edit| outbox::forget_request(tx, edit))
}

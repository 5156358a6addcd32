//! Requests whose result the feed cannot show: marks requests without an answer whose event may have been missed, and ends the
//! wait after 412. Must not know how missed events are made up for.

use rusqlite::Connection;

use crate::store::StoreError;
use crate::store::edits::outbox;

/// Forgets which version a refused (412) edit waits for. Called when a contact begins, and when the feed has reached its head: the
/// edit is then merged again, also without a newer version. A restore may have taken that version back, and the edit would wait
/// for ever. True when an edit waited.
pub(crate) fn stop_waiting_for_new_version(tx: &Connection) -> Result<bool, StoreError> {
    let text = "UPDATE _outbox SET if_match = NULL, if_absent = 0
         WHERE given_up AND (if_absent OR if_match IS NOT NULL)
             AND edit_id IN (SELECT id FROM edits WHERE state = 'waiting')";
    Ok(tx.prepare_cached(text)?.execute([])? > 0)
}

/// Notes that events are missed from now on: the event of an attempt without an answer may be among them. A request that was given
/// up had an answer to its last attempt, which says nothing about earlier attempts.
pub(crate) fn mark_events_missed(tx: &Connection) -> Result<(), StoreError> {
    let text = format!(
        "UPDATE _outbox SET maybe_applied = 1
         WHERE edit_id IN (SELECT id FROM edits WHERE idempotency_key IS NOT NULL AND state <> 'sent')
             AND (NOT given_up OR edit_id IN ({}))",
        outbox::SENT_BEFORE
    );
    tx.prepare_cached(&text)?.execute([])?;
    Ok(())
}

/// Clears the marks that the present records disprove, after a backfill or a reconcile: a record at the revision of the
/// precondition shows that the request was not applied. A request without a precondition was the first update of a profile;
/// it must not be sent again once there is a profile.
pub(crate) fn clear_disproved_marks(tx: &Connection) -> Result<(), StoreError> {
    let rev = "(SELECT i.rev FROM _base i JOIN edits e ON e.kind = i.kind AND e.record_id = i.record_id
                WHERE e.id = edit_id)";
    tx.execute(&format!("UPDATE _outbox SET maybe_applied = 0 WHERE maybe_applied AND if_match = {rev}"), [])?;
    let first_updates = "SELECT id FROM edits WHERE method = 'update' AND state IN ('waiting', 'sending', 'blocked')";
    let text = format!(
        "UPDATE _outbox SET given_up = 1
         WHERE maybe_applied AND NOT given_up AND if_match IS NULL AND edit_id IN ({first_updates}) AND {rev} IS NOT NULL"
    );
    tx.execute(&text, [])?;
    Ok(())
}

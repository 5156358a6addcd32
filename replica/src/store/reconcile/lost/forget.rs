//! The moment in which the server turns out to be restored: revisions and preconditions of the discarded history are forgotten.

use hearth_contract::schema::Kind;
use rusqlite::Transaction;

use super::candidate::candidates;
use super::compare::{self, Scope};
use super::offer::{Why, give_back};
use crate::model::OwnEvent;
use crate::store::StoreError;
use crate::store::edits::outbox;

/// Sets all revisions of the discarded history to 0, which is lower than any. Gives the number of such records.
/// `whole`: true when the rows hold that history up to their position, and nothing else.
pub(crate) fn forget(tx: &Transaction<'_>, fork: Option<i64>, whole: bool) -> Result<i64, StoreError> {
    if whole {
        // Edits that the records did not show before were overwritten, and are not lost with the history.
        compare::note_overwritten(tx, if fork.is_none() { Scope::Confirmed } else { Scope::UnknownPosition })?;
    }
    drop_preconditions(tx, fork)?;
    let fork = fork.unwrap_or(0);
    // The new history may have accepted these edits. Only the present records show that.
    tx.execute("UPDATE _acked SET rev = NULL WHERE rev > ?1", [fork])?;
    let mut unknown = 0;
    for kind in Kind::ALL {
        let text = format!("UPDATE {} SET rev = 0 WHERE rev > ?1", kind.collection());
        unknown += i64::try_from(tx.execute(&text, [fork])?).unwrap_or(i64::MAX);
    }
    // A deleted record without edits has no row.
    let edited = "EXISTS (SELECT 1 FROM edits e WHERE e.kind = _base.kind AND e.record_id = _base.record_id)";
    tx.execute(&format!("UPDATE _base SET rev = 0, deleted = deleted AND NOT {edited} WHERE rev > ?1"), [fork])?;
    unknown += i64::try_from(tx.execute("DELETE FROM _tombstones WHERE rev > ?1", [fork])?).unwrap_or(i64::MAX);
    Ok(unknown)
}

/// Before everything is read again: notes which confirmed edits were overwritten, which must not be taken for lost
/// later. Correct only while the rows hold one whole history.
pub(crate) fn note_overwritten(tx: &Transaction<'_>) -> Result<(), StoreError> {
    compare::note_overwritten(tx, Scope::Confirmed)
}

/// Drops requests with a revision of the discarded history: the new history may have the same revision with other
/// values. With a known fork, the request was sent after it, and its effect is lost. Without one, the request may have
/// been applied; the edit is merged again once its record has come.
fn drop_preconditions(tx: &Transaction<'_>, fork: Option<i64>) -> Result<(), StoreError> {
    let carried = "SELECT id FROM edits WHERE state <> 'sent' AND idempotency_key IN
         (SELECT idempotency_key FROM edits JOIN _outbox ON edit_id = id WHERE if_match > ?1)";
    if fork.is_none() {
        let text = format!(
            "UPDATE _outbox SET rejected = 1, own_event = '{}', if_match = min(if_match, 0)
             WHERE NOT rejected AND edit_id IN ({carried})",
            OwnEvent::MaybeApplied
        );
        tx.execute(&text, [0])?;
        return Ok(());
    }
    let edits: Vec<i64> = tx.prepare(carried)?.query_map([fork], |row| row.get(0))?.collect::<Result<_, _>>()?;
    edits.into_iter().try_for_each(|edit| outbox::forget_request(tx, edit))
}

/// Offers edits again that the feed confirmed after the fork.
pub(crate) fn offer_after_fork(tx: &Transaction<'_>, fork: i64) -> Result<(), StoreError> {
    let after = "SELECT id, kind, record_id FROM edit_history
                 WHERE outcome IN ('confirmed', 'merged') AND rev > ?1 ORDER BY id";
    give_back(tx, Why::Lost, &[], &candidates(tx, after, [fork])?)
}

//! Compares accepted and confirmed edits with the records that the server has now. A reconcile does it at its end, when the rows
//! are whole again. Must not read records from the server.

use std::collections::HashSet;

use hearth_contract::formats::Timestamp;
use rusqlite::Transaction;

use super::candidate::{self, Candidate, candidates};
use super::compare::{Scope, find_lost};
use super::offer::give_back;
use crate::model::{EditOutcome, ReasonCode};
use crate::store::edits::reason::Reason;
use crate::store::edits::{acked, settle};
use crate::store::{StoreError, base};

/// At the end of a reconcile: compares the accepted edits at an unknown position. `restored`: true when they may belong to a
/// discarded history.
pub(crate) fn offer_accepted(tx: &Transaction<'_>, restored: bool, now: Timestamp) -> Result<(), StoreError> {
    let accepted = candidate::accepted(tx, "e.state = 'sent' AND s.acked_rev IS NULL", [])?;
    let reason = if restored { Reason::LostWithHistory } else { Reason::NoLongerThere };
    offer_or_confirm(tx, accepted, &reason, now)
}

/// Forgets the positions of accepted edits that the feed does not show there. Without a running reconcile, compares the edits with the
/// records now; otherwise the end of the reconcile does.
pub(super) fn offer_missing(
    tx: &Transaction<'_>,
    missing: Vec<Candidate>,
    reason: &Reason<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    missing.iter().try_for_each(|edit| edit.forget_position(tx))?;
    match tx.prepare_cached("SELECT 1 FROM _reconcile")?.exists([])? {
        true => Ok(()),
        false => offer_or_confirm(tx, missing, reason, now),
    }
}

/// Offers the accepted edits again that the server does not hold, and confirms the others.
fn offer_or_confirm(
    tx: &Transaction<'_>,
    accepted: Vec<Candidate>,
    reason: &Reason<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    if accepted.is_empty() {
        return Ok(());
    }
    let numbers: HashSet<i64> = accepted.iter().map(|edit| edit.edit).collect();
    let lost = find_lost(tx, &Scope::Accepted(&numbers))?;
    give_back(tx, reason, &lost)?;
    let held = accepted.into_iter().filter(|edit| lost.iter().all(|lost| lost.edit != edit.edit));
    confirm(tx, &held.collect::<Vec<_>>(), now)
}

/// At the end of a reconcile with a restored server: offers confirmed edits at an unknown position again that the server does not
/// hold. Confirms an offered delete whose record does not exist: another person deleted the record, or the position of the response
/// was later than the delete.
pub(crate) fn offer_confirmed(tx: &Transaction<'_>, now: Timestamp) -> Result<(), StoreError> {
    give_back(tx, &Reason::LostWithHistory, &find_lost(tx, &Scope::ConfirmedSomewhere)?)?;
    let text =
        "SELECT id, kind, record_id FROM edits e WHERE method = 'delete' AND state = 'conflict' AND reason_code = ?1
                AND NOT EXISTS (SELECT 1 FROM _base i
                    WHERE i.kind = e.kind AND i.record_id = e.record_id AND NOT deleted)
                AND NOT EXISTS (SELECT 1 FROM edits o
                    WHERE o.kind = e.kind AND o.record_id = e.record_id AND o.id <> e.id)";
    confirm(tx, &candidates(tx, text, [ReasonCode::LostByServer])?, now)
}

/// Confirms edits that the server holds.
fn confirm(tx: &Transaction<'_>, held: &[Candidate], now: Timestamp) -> Result<(), StoreError> {
    let ended: Vec<acked::Acked> = held.iter().map(|held| (held.edit, None)).collect();
    settle::finish(tx, &ended, EditOutcome::Confirmed, None, now)?;
    held.iter().try_for_each(|held| base::rebase(tx, held.kind, &held.record))
}

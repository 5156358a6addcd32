//! The end of a reconcile: accepted and confirmed edits are compared with the records that the server has now.

use hearth_contract::formats::Timestamp;
use rusqlite::Transaction;

use super::candidate::{Lost, candidates};
use super::compare::{Scope, find_lost};
use super::offer::{Why, give_back};
use crate::model::ReasonCode;
use crate::store::edits::{acked, settle};
use crate::store::{StoreError, base};

/// SQL for the edits that the server has accepted at an unknown position.
const ACCEPTED_SOMEWHERE: &str = "SELECT e.id, kind, record_id FROM edits e JOIN _outbox s ON s.edit_id = e.id
     WHERE e.state = 'sent' AND s.acked_rev IS NULL";

/// At the end of a reconcile: offers accepted edits at an unknown position again when the server does not hold them,
/// and confirms the others. `restored`: true when they may belong to a discarded history.
pub(crate) fn offer_accepted(tx: &Transaction<'_>, restored: bool, now: Timestamp) -> Result<(), StoreError> {
    let unknown: bool = tx.query_row(&format!("SELECT EXISTS ({ACCEPTED_SOMEWHERE})"), [], |row| row.get(0))?;
    if !unknown {
        return Ok(());
    }
    let lost = find_lost(tx, Scope::Acked)?;
    give_back(tx, if restored { Why::Lost } else { Why::NoLongerShown }, &lost, &[])?;
    let held = candidates(tx, ACCEPTED_SOMEWHERE, [])?;
    let edits: Vec<acked::Acked> = held.iter().map(|held| (held.edit, None)).collect();
    settle::confirm(tx, &edits, now)?;
    for Lost { kind, record, .. } in &held {
        base::rebase(tx, *kind, record)?;
    }
    Ok(())
}

/// At the end of a reconcile with a restored server: offers confirmed edits again that the server does not hold.
/// Without a known fork, all confirmed edits are compared; with a fork, those at an unknown position.
pub(crate) fn offer_confirmed(tx: &Transaction<'_>, fork: Option<i64>) -> Result<(), StoreError> {
    let lost = find_lost(tx, if fork.is_none() { Scope::Confirmed } else { Scope::UnknownPosition })?;
    give_back(tx, Why::Lost, &[], &lost)?;
    if fork.is_none() {
        // The remaining edits are compared now. Positions of the discarded history must not be used again.
        tx.execute("UPDATE edit_history SET rev = NULL WHERE rev IS NOT NULL", [])?;
    }
    Ok(())
}

/// At the end of a reconcile with a restored server: confirms an offered delete whose record does not exist. Another
/// person deleted the record, or the position of the response was later than the delete.
pub(crate) fn confirm_deletes(tx: &Transaction<'_>, now: Timestamp) -> Result<(), StoreError> {
    let text =
        "SELECT id, kind, record_id FROM edits e WHERE method = 'delete' AND state = 'conflict' AND reason_code = ?1
                AND NOT EXISTS (SELECT 1 FROM _base i
                    WHERE i.kind = e.kind AND i.record_id = e.record_id AND NOT deleted)
                AND NOT EXISTS (SELECT 1 FROM edits o
                    WHERE o.kind = e.kind AND o.record_id = e.record_id AND o.id <> e.id)";
    let deletes = candidates(tx, text, [ReasonCode::LostByServer])?;
    let edits: Vec<acked::Acked> = deletes.iter().map(|delete| (delete.edit, None)).collect();
    settle::confirm(tx, &edits, now)?;
    deletes.iter().try_for_each(|Lost { kind, record, .. }| base::rebase(tx, *kind, record))
}

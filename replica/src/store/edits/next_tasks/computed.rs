//! The fields that follow from others, when a person changes the values of an edit: triggers see only changes of rows. Must not
//! know why an edit is changed.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::recurrence::{self, ANCHOR, COMPLETED_AT};
use hearth_contract::schema::Kind;
use rusqlite::Transaction;

use crate::model::Method;
use crate::store::StoreError;
use crate::store::edits::pending::PendingEdit;

/// Brings `completed_at` and the anchor of an edit into step with its other values, and notes a completion. `before`: the
/// task before the edit.
pub(in crate::store::edits) fn update(
    tx: &Transaction<'_>,
    found: &mut PendingEdit,
    before: &Fields,
    now: Timestamp,
) -> Result<(), StoreError> {
    if found.kind != Kind::Task {
        return Ok(());
    }
    let before = Some(before).filter(|_| found.method != Method::Create);
    let mut after = before.cloned().unwrap_or_default();
    after.extend(found.patch.clone());
    recurrence::set_computed(before, &mut after, now);
    for name in [COMPLETED_AT, ANCHOR] {
        let old = before.and_then(|before| before.get(name)).cloned().unwrap_or_default();
        let new = after.get(name).cloned().unwrap_or_default();
        if new == old {
            found.patch.shift_remove(name);
            found.base.shift_remove(name);
        } else {
            found.patch.insert(name.to_owned(), new);
            if before.is_some() {
                found.base.insert(name.to_owned(), old);
            }
        }
    }
    if recurrence::becomes_done(before, &after) && recurrence::recurs(&after) {
        let note = "INSERT INTO _outbox (edit_id, completes) VALUES (?1, ?2)
                    ON CONFLICT DO UPDATE SET completes = coalesce(completes, excluded.completes)";
        tx.prepare_cached(note)?.execute((found.id, &found.record))?;
    }
    Ok(())
}

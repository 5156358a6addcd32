//! Combines unsent edits of a record into a single edit. Must not know how requests are sent.

use hearth_contract::formats::Timestamp;
use rusqlite::Transaction;

use crate::model::{EditOutcome, Method};
use crate::store::edits::parts::remember;
use crate::store::edits::pending::{PendingEdit, load_to_send, save};
use crate::store::edits::settle;
use crate::store::{StoreError, base};

/// Combines an edit with later edits of the same record; none of them was sent. None when the combined edit would
/// create and delete the record: then nothing is left to send.
pub(super) fn coalesce(
    tx: &Transaction<'_>,
    mut sum: PendingEdit,
    with: &[i64],
    now: Timestamp,
) -> Result<Option<PendingEdit>, StoreError> {
    let mut joined = Vec::new();
    for edit in with {
        match load_to_send(tx, *edit)? {
            Some(next) if next.record == sum.record && next.kind == sum.kind => joined.push(next),
            _ => break, // A person has decided about this edit since the plan, so the later edits must wait.
        }
    }
    if joined.is_empty() {
        return Ok(Some(sum));
    }
    for edit in [sum.id].into_iter().chain(joined.iter().map(|part| part.id)) {
        remember(tx, edit, sum.id)?;
    }
    for part in joined {
        for (name, value) in part.base {
            // The oldest base value of a field is the base of the combined edit.
            if !sum.patch.contains_key(&name) {
                sum.base.entry(name).or_insert(value);
            }
        }
        if !hearth_simulated::planted(hearth_simulated::PlantedFault::CoalescedEditLost) {
            sum.patch.extend(part.patch);
        }
        if part.method == Method::Delete {
            sum.patch.clear();
            if sum.method == Method::Create {
                settle::finish(tx, &[(part.id, None)], EditOutcome::Merged, Some("it was never sent"), now)?;
                settle::finish(
                    tx,
                    &[(sum.id, None)],
                    EditOutcome::Superseded,
                    Some("deleted again before it was sent"),
                    now,
                )?;
                base::rebase(tx, sum.kind, &sum.record)?;
                return Ok(None);
            }
            sum.method = part.method;
        }
        tx.prepare_cached("DELETE FROM edits WHERE id = ?1")?.execute([part.id])?;
    }
    if sum.method == Method::Create {
        sum.base.clear();
    }
    save(tx, &sum)?;
    Ok(Some(sum))
}

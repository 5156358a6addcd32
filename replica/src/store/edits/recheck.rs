//! Conflicts that end without a decision: an edit in conflict is compared again when the server has a newer version of its
//! record. Must not release edits that the server rejected or lost, or that may have been applied.

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::Transaction;

use crate::model::{ConflictPolicy, EditState, LogLevel, ReasonCode};
use crate::store::edits::next_step::{self, NextStep};
use crate::store::edits::pending::{self, PendingEdit};
use crate::store::edits::reason::set_state;
use crate::store::edits::{already_applied, decide, plan, prepare};
use crate::store::{StoreError, base, log, rows, select};

/// Merges the conflicting edits of a record again, in their order up to the first one that stays in conflict. Edits
/// that the server already has end; edits without a conflict are sent, as after a retry. True when an edit can go on.
pub(crate) fn recheck_record(
    tx: &Transaction<'_>,
    kind: Kind,
    record: &str,
    now: Timestamp,
) -> Result<bool, StoreError> {
    // Without a revision, the present version of the record is not known.
    if base::with_acked(tx, kind, record)?.and_then(|known| known.rev).is_none() {
        return Ok(false);
    }
    let text = "SELECT id FROM edits WHERE kind = ?1 AND record_id = ?2 AND state <> 'sent' ORDER BY id";
    let mut goes_on = false;
    for edit in select::column(tx, text, (kind.as_str(), record))? {
        let is_in_conflict = |found: &PendingEdit| found.state == EditState::Conflict;
        let Some(found) = pending::load(tx, edit)?.filter(is_in_conflict) else { break };
        let code = found.reason_code;
        // Only these conflicts end by themselves. All other edits may have been applied, were lost, or can never be applied.
        let may_be_released =
            matches!(code, Some(ReasonCode::ChangedThere | ReasonCode::ChangedOnBothSides | ReasonCode::DeletedThere));
        // `next_step` asks with a code of its own when an update of a known record may have been applied. A deleted record can
        // return after a restore, so the question comes up again.
        let maybe_applied = found.maybe_applied && code == Some(ReasonCode::DeletedThere);
        let compared = next_step::compare(tx, &found)?;
        match compared.next_step(found.method, maybe_applied, ConflictPolicy::Ask) {
            NextStep::End(ending) => {
                // An edit that may have been applied may have brought these values itself.
                if may_be_released && !maybe_applied {
                    already_applied::record_fields(tx, edit, kind, &compared)?;
                }
                let rev = compared.known.and_then(|known| known.rev);
                prepare::end_edit(tx, &found, rev, ending, now)?;
                goes_on = true;
                continue;
            }
            _ if !may_be_released => {}
            NextStep::Send => {
                decide::requeue(tx, &found)?;
                log(
                    tx,
                    LogLevel::Info,
                    &format!("Edit {edit}: nothing stands against it any more; it goes to the server."),
                )?;
                goes_on = true;
            }
            NextStep::Ask(reason) => set_state(tx, edit, EditState::Conflict, Some(reason))?,
            // With the policy `Ask`, `next_step` never applies a policy.
            NextStep::ApplyPolicy(_) => {}
        }
        break;
    }
    if goes_on {
        plan::mark(tx)?;
    }
    Ok(goes_on)
}

/// [`recheck_record`] for every record with a conflict, after a reconcile.
pub(crate) fn recheck_all(tx: &Transaction<'_>, now: Timestamp) -> Result<(), StoreError> {
    let text = "SELECT DISTINCT kind, record_id FROM edits WHERE state = 'conflict'";
    let records = select::all(tx, text, [], |row| Ok((rows::kind(row, 0)?, row.get::<_, String>(1)?)))?;
    records.into_iter().try_for_each(|(kind, record)| recheck_record(tx, kind, &record, now).map(drop))
}

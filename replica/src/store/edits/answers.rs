//! Records the outcomes of requests for each of their edits. Must not know HTTP or when an attempt is made.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{FaultCode, ProblemType};
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use crate::model::{EditOutcome, EditState, LogLevel, ReasonCode, WriteOutcome, is_file_missing, refuses_only};
use crate::store::edits::pending::{self, PendingEdit};
use crate::store::edits::reason::normalize_edit;
use crate::store::edits::{acked, completion_time, next_tasks, outbox, settle};
use crate::store::file_store::upload;
use crate::store::merge::holds;
use crate::store::{StoreError, base, gate, log, rows, select};

/// The kind and the id of an edit's record.
pub(crate) fn edit_record(connection: &Connection, edit: i64) -> Result<Option<(Kind, String)>, StoreError> {
    let text = "SELECT kind, record_id FROM edits WHERE id = ?1";
    Ok(select::all(connection, text, [edit], |row| Ok((rows::kind(row, 0)?, row.get(1)?)))?.pop())
}

/// The revision of a server's record that holds every value of a create; None when a value differs.
pub(crate) fn matching_rev(connection: &Connection, edit: i64, record: &Fields) -> Result<Option<i64>, StoreError> {
    let Some(PendingEdit { kind, patch, .. }) = pending::load_to_send(connection, edit)? else { return Ok(None) };
    Ok(record.get("rev").and_then(Value::as_i64).filter(|_| holds(kind, record, &patch)))
}

/// Writes the outcomes of requests for their edits. An edit that has ended stays as it is. The commit does not wait for
/// the disk: after a power cut, the next response to the same request gives the same outcome.
pub(crate) fn record_outcomes(
    connection: &mut Connection,
    outcomes: &[(i64, WriteOutcome)],
    now: Timestamp,
) -> Result<(), StoreError> {
    if !concerns_any(connection, outcomes)? {
        return Ok(());
    }
    gate::sync_tx_without_fsync(connection, |tx| {
        let (mut sent, mut met) = (Vec::new(), Vec::new());
        let mut turned_away = Vec::new();
        for (edit, outcome) in outcomes {
            match outcome {
                WriteOutcome::Sent { rev } => sent.push((*edit, *rev)),
                WriteOutcome::Exists { rev } => {
                    sent.push((*edit, Some(*rev)));
                    met.push(*edit);
                }
                outcome => record_one(tx, *edit, outcome, now)?,
            }
            if matches!(outcome, WriteOutcome::KeyRefused { .. }) {
                turned_away.push(*edit);
            }
        }
        outbox::withdraw_attempt(tx, &turned_away)?;
        if !sent.is_empty() {
            acked::mark_acked(tx, &sent)?;
            for edit in met {
                acked::mark_awaits_record(tx, edit)?;
            }
            let position = tx.query_row("SELECT position FROM _sync", [], |row| row.get(0))?;
            settle::settle(tx, position, now)?;
            next_tasks::end::settle_shown(tx, false, now)?;
        }
        Ok(())
    })
}

/// True when one of these edits has not ended. The feed is often faster than the response.
fn concerns_any(connection: &Connection, outcomes: &[(i64, WriteOutcome)]) -> Result<bool, StoreError> {
    let list = acked::id_list(outcomes.iter().map(|(edit, _)| (*edit, None)));
    let text = "SELECT 1 FROM edits WHERE id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))";
    Ok(connection.prepare_cached(text)?.exists([list])?)
}

/// The code of an edit that the server refused for good, from the server's error object.
fn rejection_code(problem: &Value) -> ReasonCode {
    match problem.get("type").and_then(Value::as_str).and_then(ProblemType::parse) {
        Some(ProblemType::ValidationFailed) => {
            match refuses_only(problem, |fault| fault["code"] == FaultCode::NotFound.as_str()) {
                true => ReasonCode::MissingReference,
                false => ReasonCode::InvalidValue,
            }
        }
        Some(ProblemType::InvalidRequest | ProblemType::InvalidJson) => ReasonCode::InvalidValue,
        Some(ProblemType::PayloadTooLarge) => ReasonCode::TooLarge,
        _ => ReasonCode::Refused,
    }
}

/// The state of an edit after an outcome, with its reason. None for accepted edits, which are written together.
fn state_after(outcome: &WriteOutcome) -> Option<(EditState, Option<ReasonCode>, &str)> {
    let changes_conflict = || hearth_simulated::planted(hearth_simulated::PlantedFault::AnyRemoteChangeConflicts);
    Some(match outcome {
        WriteOutcome::Sent { .. } | WriteOutcome::Exists { .. } => return None,
        WriteOutcome::Later { code, reason, .. } => (EditState::Waiting, *code, reason),
        WriteOutcome::KeyRefused { reason } => (EditState::Waiting, None, reason),
        WriteOutcome::PreconditionFailed if changes_conflict() => {
            (EditState::Conflict, Some(ReasonCode::Refused), "changed on the server meanwhile")
        }
        WriteOutcome::PreconditionFailed => {
            (EditState::Waiting, None, "changed on the server; the new version is on the way")
        }
        WriteOutcome::SendAlone => (EditState::Waiting, None, "is sent again in a request of its own"),
        WriteOutcome::Rejected { reason, problem } => (EditState::Rejected, Some(rejection_code(problem)), reason),
        WriteOutcome::Conflict { reason, deleted: true, .. } => {
            (EditState::Conflict, Some(ReasonCode::DeletedThere), reason)
        }
        WriteOutcome::Conflict { reason, .. } => (EditState::Conflict, Some(ReasonCode::ExistsThere), reason),
    })
}

/// Writes the outcome of one edit. An edit that has ended, or that a person must decide about, stays as it is.
fn record_one(tx: &Transaction<'_>, edit: i64, outcome: &WriteOutcome, now: Timestamp) -> Result<(), StoreError> {
    if let Some(done) = planted_outcome(tx, edit, outcome) {
        return done;
    }
    if let WriteOutcome::Rejected { problem, .. } = outcome
        && (completion_time::is_refused(problem) && completion_time::leave_to_server(tx, edit)?
            || is_file_missing(problem) && upload::send_file_again(tx, edit)?)
    {
        return Ok(());
    }
    let Some((state, code, sentence)) = state_after(outcome) else { return Ok(()) };
    let problem = match outcome {
        WriteOutcome::Rejected { problem, .. } | WriteOutcome::Conflict { problem, .. } => Some(problem.to_string()),
        _ => None,
    };
    let next_attempt_at = match outcome {
        WriteOutcome::Later { pause: Some(pause), .. } => Some(now.plus_millis(*pause).to_string()),
        _ => None,
    };
    let changed = tx
        .prepare_cached(
            "UPDATE edits SET state = ?2, reason_code = ?3, reason = ?4, problem = ?5, next_attempt_at = ?6
             WHERE id = ?1 AND state IN ('waiting', 'sending')",
        )?
        .execute((edit, state, code, sentence, problem, next_attempt_at))?;
    if changed == 0 {
        return Ok(());
    }
    match outcome {
        WriteOutcome::SendAlone => return outbox::renew_request(tx, edit),
        WriteOutcome::PreconditionFailed => {
            tx.prepare_cached("UPDATE _outbox SET if_absent = if_match IS NULL WHERE edit_id = ?1")?.execute([edit])?;
            outbox::give_up(tx, edit)?;
        }
        WriteOutcome::Rejected { .. } => outbox::give_up(tx, edit)?,
        WriteOutcome::Conflict { deleted, .. } => {
            outbox::give_up(tx, edit)?;
            if *deleted {
                base::mark_reported_missing(tx, edit)?;
            }
            normalize_edit(tx, edit)?;
        }
        _ => return Ok(()),
    }
    if state != EditState::Waiting {
        let name = pending::name_of(tx, edit)?;
        log(tx, LogLevel::Warning, &format!("{name} needs you (edit {edit}, {state}): {sentence}"))?;
    }
    Ok(())
}

/// Faults that a simulation plants, in place of what an outcome means.
fn planted_outcome(tx: &Transaction<'_>, edit: i64, outcome: &WriteOutcome) -> Option<Result<(), StoreError>> {
    use hearth_simulated::PlantedFault::{PreconditionFailureIsSuccess, RejectedEditDropped, RejectedEditSuperseded};
    let is = hearth_simulated::planted;
    let ends = |ending| Some(settle::finish(tx, &[(edit, None)], ending, None, Timestamp::from_millis(0)));
    match outcome {
        WriteOutcome::Rejected { .. } if is(RejectedEditDropped) => ends(EditOutcome::Discarded),
        WriteOutcome::Rejected { .. } if is(RejectedEditSuperseded) => ends(EditOutcome::Superseded),
        WriteOutcome::PreconditionFailed if is(PreconditionFailureIsSuccess) => {
            Some(acked::mark_acked(tx, &[(edit, None)]))
        }
        _ => None,
    }
}

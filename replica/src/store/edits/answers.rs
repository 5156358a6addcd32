//! What came of requests, written down for each of their edits. Must not know HTTP or when to try again.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde_json::Value;

use crate::model::{EditOutcome, EditState};
use crate::store::edits::doubt::ABSENT;
use crate::store::edits::judge::{Judgement, Known, judge};
use crate::store::edits::parcel::{self, Parcel};
use crate::store::edits::{held, push, settle, sides};
use crate::store::mirror::image;
use crate::store::{StoreError, gate, log};

/// What came of an edit's request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// The server holds it, since this position if it said so.
    Sent { rev: Option<i64> },
    /// The server holds its record, with all that it wrote; by now it stands at this position, perhaps by others. Until the
    /// feed has brought that, nothing else of it is known.
    There { rev: i64 },
    /// It is tried again, at about this time.
    Later { at: Option<Timestamp>, reason: String },
    /// The server did not look at it.
    TurnedAway { reason: String },
    /// The record has moved on. Once the feed has brought what it is now, the edit is judged anew.
    Overtaken,
    /// The server refuses what it was sent with, without a word about it: it goes again by itself.
    Apart,
    /// The server refuses it for good.
    Rejected { reason: String, problem: Value },
    /// Somebody else has changed or deleted what it changes.
    Conflict { reason: String, problem: Value, gone: bool },
}

/// The record of an edit, for reading it back.
pub(crate) fn record_of(connection: &Connection, edit: i64) -> Result<Option<(Kind, String)>, StoreError> {
    let found: Option<(String, String)> = connection
        .prepare_cached("SELECT kind, record_id FROM edits WHERE id = ?1")?
        .query_row([edit], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.and_then(|(word, record)| Some((Kind::parse(&word)?, record))))
}

/// Whether a record of the server holds every value of a create, in the server's spelling; then its position.
pub(crate) fn compare(connection: &Connection, edit: i64, record: &Fields) -> Result<Option<i64>, StoreError> {
    let Some(Parcel { kind, method, patch, base, .. }) = parcel::load(connection, edit)? else { return Ok(None) };
    let rev = record.get("rev").and_then(Value::as_i64);
    let known = Known { rev, fields: record.clone(), gone: false };
    Ok(rev.filter(|_| judge(kind, method, &patch, &base, Some(&known)) == Judgement::Done))
}

/// Writes down what came of a request, for each of its edits. An edit that was settled meanwhile stays settled. Nothing
/// waits for the disk: what a power cut takes, the same request's next answer says again.
pub(crate) fn record(
    connection: &mut Connection,
    verdicts: &[(i64, Verdict)],
    now: Timestamp,
) -> Result<(), StoreError> {
    if !concerns_any(connection, verdicts)? {
        return Ok(());
    }
    gate::sync_tx_without_fsync(connection, |tx| {
        let (mut sent, mut met) = (Vec::new(), Vec::new());
        let mut turned_away = Vec::new();
        for (edit, verdict) in verdicts {
            match verdict {
                Verdict::Sent { rev } => sent.push((*edit, *rev)),
                Verdict::There { rev } => {
                    sent.push((*edit, Some(*rev)));
                    met.push(*edit);
                }
                verdict => record_one(tx, *edit, verdict)?,
            }
            if matches!(verdict, Verdict::TurnedAway { .. }) {
                turned_away.push(*edit);
            }
        }
        push::let_go(tx, &turned_away)?;
        if !sent.is_empty() {
            held::mark_sent(tx, &sent)?;
            for edit in met {
                held::wait_for_form(tx, edit)?;
            }
            let position = tx.query_row("SELECT position FROM _sync", [], |row| row.get(0))?;
            settle::settle(tx, position, now)?;
        }
        Ok(())
    })
}

/// Whether an edit of these is not settled: the feed is often quicker than the answer.
fn concerns_any(connection: &Connection, verdicts: &[(i64, Verdict)]) -> Result<bool, StoreError> {
    let mut exists = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM edits WHERE id = ?1)")?;
    for (edit, _) in verdicts {
        if exists.query_row([edit], |row| row.get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn record_one(tx: &Transaction<'_>, edit: i64, verdict: &Verdict) -> Result<(), StoreError> {
    if matches!(verdict, Verdict::Rejected { .. })
        && hearth_simulated::planted(hearth_simulated::Fault::RejectedEditDropped)
    {
        return settle::finish(tx, edit, EditOutcome::Discarded, None, Timestamp::from_millis(0));
    }
    if matches!(verdict, Verdict::Rejected { .. })
        && hearth_simulated::planted(hearth_simulated::Fault::RejectedEditSuperseded)
    {
        return settle::finish(tx, edit, EditOutcome::Superseded, None, Timestamp::from_millis(0));
    }
    if matches!(verdict, Verdict::Overtaken)
        && hearth_simulated::planted(hearth_simulated::Fault::PreconditionFailureIsSuccess)
    {
        return held::mark_sent(tx, &[(edit, None)]);
    }
    let (state, reason, problem, at) = match verdict {
        // Noted together with the others of an answer.
        Verdict::Sent { .. } | Verdict::There { .. } => return Ok(()),
        Verdict::Later { at, reason } => (EditState::Waiting, reason.as_str(), None, at.map(|at| at.to_string())),
        Verdict::TurnedAway { reason } => (EditState::Waiting, reason.as_str(), None, None),
        Verdict::Overtaken if hearth_simulated::planted(hearth_simulated::Fault::AnyRemoteChangeConflicts) => {
            (EditState::Conflict, "changed there meanwhile", None, None)
        }
        Verdict::Overtaken => (EditState::Waiting, "changed there meanwhile; its new form is on the way", None, None),
        Verdict::Apart => (EditState::Waiting, "goes again by itself", None, None),
        Verdict::Rejected { reason, problem } => {
            (EditState::Rejected, reason.as_str(), Some(problem.to_string()), None)
        }
        Verdict::Conflict { reason, problem, .. } => {
            (EditState::Conflict, reason.as_str(), Some(problem.to_string()), None)
        }
    };
    let changed = tx
        .prepare_cached(
            "UPDATE edits SET state = ?2, reason = ?3, problem = ?4, next_attempt_at = ?5
             WHERE id = ?1 AND state IN ('waiting', 'sending')",
        )?
        .execute((edit, state, reason, problem, at))?;
    if changed == 0 {
        return Ok(());
    }
    match verdict {
        Verdict::Sent { .. } | Verdict::There { .. } | Verdict::Later { .. } | Verdict::TurnedAway { .. } => {
            return Ok(());
        }
        Verdict::Apart => return push::split(tx, edit),
        Verdict::Overtaken => {
            tx.prepare_cached("UPDATE _outbox SET refused = 1, guard = coalesce(guard, ?2) WHERE edit_id = ?1")?
                .execute((edit, ABSENT))?;
        }
        Verdict::Rejected { .. } | Verdict::Conflict { .. } => {
            tx.prepare_cached("UPDATE _outbox SET refused = 1 WHERE edit_id = ?1")?.execute([edit])?;
        }
    }
    if let Verdict::Conflict { gone, .. } = verdict {
        if *gone {
            image::not_found(tx, edit)?;
        }
        sides::spell(tx, edit)?;
    }
    if state != EditState::Waiting {
        let name = super::decide::load(tx, edit)?.map(|found| found.name).unwrap_or_default();
        log(tx, "warning", &format!("{name} needs you (edit {edit}, {state}): {reason}"))?;
    }
    Ok(())
}

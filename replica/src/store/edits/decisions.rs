//! Runs decisions about edits, one or several in one transaction. Each decision succeeds or is refused on its own; the edits
//! that depend on the decided ones are marked once, at the end. Must not know what is decided.

use rusqlite::{Connection, Transaction};

use crate::model::Origin;
use crate::store::edits::error::EditError;
use crate::store::edits::pending::{Decided, PendingEdit, refused, said};
use crate::store::edits::plan;
use crate::store::gate;

/// The outcome of one decision, before the edits that depend on others are marked.
pub(super) enum DecisionOutcome {
    /// The decision is carried out.
    Done(Decided),
    /// The edit is sent again, with this sentence, unless the edit turns out to be blocked.
    Resend(PendingEdit, String),
    /// The edit is blocked by another edit. This is a refusal, unless a decision before has unblocked the edit.
    Blocked(PendingEdit),
}

impl From<Decided> for DecisionOutcome {
    fn from(decided: Decided) -> DecisionOutcome {
        DecisionOutcome::Done(decided)
    }
}

/// The results of several decisions. A refused decision changes nothing and does not stop the others.
pub(crate) type Decisions = Vec<Result<Decided, EditError>>;

/// Makes the decisions one by one. Err when the database failed; then nothing is decided.
pub(super) fn decide_each<T: Copy>(
    connection: &mut Connection,
    origin: Origin,
    all: &[T],
    mut work: impl FnMut(&Transaction<'_>, T) -> Result<DecisionOutcome, EditError>,
) -> Result<Decisions, EditError> {
    gate::edit_tx(connection, origin, |tx| {
        let mut came = Vec::with_capacity(all.len());
        for one in all {
            came.push(in_savepoint(tx, |tx| work(tx, *one))?);
        }
        if came.iter().any(|came| matches!(came, Ok(DecisionOutcome::Done(_) | DecisionOutcome::Resend(..)))) {
            gate::with_guards_off(tx, plan::mark)?;
        }
        came.into_iter().map(|came| finish_outcome(tx, came)).collect()
    })
}

/// The result of a single decision.
pub(super) fn single(decided: Result<Decisions, EditError>) -> Result<Decided, EditError> {
    decided?.pop().unwrap_or_else(|| Err(refused("nothing was to be decided")))
}

/// Runs `work` in a savepoint: all of it is kept, or nothing. Err when the database failed.
fn in_savepoint<T>(
    tx: &Transaction<'_>,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, EditError>,
) -> Result<Result<T, EditError>, EditError> {
    tx.execute_batch("SAVEPOINT decision")?;
    let done = work(tx);
    tx.execute_batch(match &done {
        Err(EditError::Store(_)) => return done.map(Ok),
        Err(_) => "ROLLBACK TO decision; RELEASE decision",
        Ok(_) => "RELEASE decision",
    })?;
    Ok(done)
}

/// The result of a decision, once all dependent edits are marked. Err when the database failed.
fn finish_outcome(
    tx: &Transaction<'_>,
    came: Result<DecisionOutcome, EditError>,
) -> Result<Result<Decided, EditError>, EditError> {
    let text = "SELECT EXISTS (SELECT 1 FROM edits WHERE id = ?1 AND state = 'blocked')";
    let is_held = |found: &PendingEdit| -> Result<bool, EditError> {
        Ok(tx.prepare_cached(text)?.query_row([found.id], |row| row.get(0))?)
    };
    Ok(match came {
        Err(refused) => Err(refused),
        Ok(DecisionOutcome::Done(decided)) => Ok(decided),
        Ok(DecisionOutcome::Resend(found, _)) if is_held(&found)? => Ok(said(blocked_sentence(&found.name))),
        Ok(DecisionOutcome::Resend(_, sentence)) => Ok(said(sentence)),
        Ok(DecisionOutcome::Blocked(found)) if is_held(&found)? => Err(refused(blocked_sentence(&found.name))),
        Ok(DecisionOutcome::Blocked(found)) => Ok(said(already_sending(&found.name))),
    })
}

fn blocked_sentence(name: &str) -> String {
    format!("{name} waits for another change that needs you first: see its reason")
}

pub(super) fn already_sending(name: &str) -> String {
    format!("{name}: the change is on its way already")
}

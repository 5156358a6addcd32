//! Runs decisions about edits in a transaction. Each decision succeeds or is refused independently. At the end,
//! dependent edits are marked once. Must not know the rules of a decision.

use rusqlite::{Connection, Transaction};

use crate::model::Origin;
use crate::store::edits::error::EditError;
use crate::store::edits::pending::{Decided, PendingEdit, decided, refused};
use crate::store::edits::{next_tasks, plan};
use crate::store::gate;

/// The outcome of one decision, before the edits that depend on others are marked.
pub(super) enum DecisionOutcome {
    /// The decision is carried out.
    Done(Decided),
    /// The edit is sent again, unless another edit blocks the edit. The text is the sentence for people.
    Resend(PendingEdit, String),
    /// Another edit blocks the edit. The decision is refused, unless another decision of the same call ends the
    /// block.
    Blocked(PendingEdit),
}

/// The results of several decisions. A refused decision changes nothing and does not stop the others.
pub(crate) type Decisions = Vec<Result<Decided, EditError>>;

/// Makes the decisions in the given order. Err when the database failed: then nothing is decided.
pub(super) fn decide_each<T: Copy>(
    connection: &mut Connection,
    origin: Origin,
    edits: &[T],
    mut decide: impl FnMut(&Transaction<'_>, T) -> Result<DecisionOutcome, EditError>,
) -> Result<Decisions, EditError> {
    gate::edit_tx(connection, origin, |tx| {
        let mut outcomes = Vec::with_capacity(edits.len());
        for edit in edits {
            outcomes.push(in_savepoint(tx, |tx| decide(tx, *edit))?);
        }
        if outcomes.iter().any(|outcome| matches!(outcome, Ok(DecisionOutcome::Done(_) | DecisionOutcome::Resend(..))))
        {
            next_tasks::make::make(tx)?;
            gate::with_guards_off(tx, plan::mark)?;
        }
        outcomes.into_iter().map(|outcome| finish_outcome(tx, outcome)).collect()
    })
}

/// The result of a single decision.
pub(crate) fn single(decided: Result<Decisions, EditError>) -> Result<Decided, EditError> {
    decided?.pop().unwrap_or_else(|| Err(refused("nothing was to be decided")))
}

/// Runs a decision in a savepoint. A refused decision leaves nothing behind. Err when the database failed.
fn in_savepoint<T>(
    tx: &Transaction<'_>,
    decide: impl FnOnce(&Transaction<'_>) -> Result<T, EditError>,
) -> Result<Result<T, EditError>, EditError> {
    tx.execute_batch("SAVEPOINT decision")?;
    let done = decide(tx);
    tx.execute_batch(match &done {
        Err(EditError::Store(_)) => return done.map(Ok),
        Err(_) => "ROLLBACK TO decision; RELEASE decision",
        Ok(_) => "RELEASE decision",
    })?;
    Ok(done)
}

/// The result of a decision, after all dependent edits are marked. Err when the database failed.
fn finish_outcome(
    tx: &Transaction<'_>,
    outcome: Result<DecisionOutcome, EditError>,
) -> Result<Result<Decided, EditError>, EditError> {
    let text = "SELECT 1 FROM edits WHERE id = ?1 AND state = 'blocked'";
    let is_held = |found: &PendingEdit| tx.prepare_cached(text)?.exists([found.id]);
    Ok(match outcome {
        Err(refused) => Err(refused),
        Ok(DecisionOutcome::Done(decided)) => Ok(decided),
        Ok(DecisionOutcome::Resend(found, _)) if is_held(&found)? => Ok(decided(blocked_sentence(&found.name))),
        Ok(DecisionOutcome::Resend(_, sentence)) => Ok(decided(sentence)),
        Ok(DecisionOutcome::Blocked(found)) if is_held(&found)? => Err(refused(blocked_sentence(&found.name))),
        Ok(DecisionOutcome::Blocked(found)) => Ok(decided(already_sending(&found.name))),
    })
}

fn blocked_sentence(name: &str) -> String {
    format!("{name} waits for another change that needs you first: see its reason")
}

pub(super) fn already_sending(name: &str) -> String {
    format!("{name}: the change is on its way already")
}

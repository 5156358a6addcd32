//! Prints the result of decisions about edits, and turns a refusal into an exit code. Must not know which decisions
//! exist.

use std::collections::BTreeSet;

use hearth_replica::{Decided, EditError, EditProgress, EditState, Replica};
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{output, text};

/// The number of edits decided in one transaction. Other programs cannot write during the transaction.
const BATCH_MAX: usize = 100;

/// The edit of a decision; it selects the exit code of a refusal.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    /// An open edit. A settled edit with this id counts as not found.
    Waiting(i64),
    /// An open or a settled edit.
    Any(i64),
    /// The newest edit.
    Newest,
}

/// Prints the result of one decision.
pub(super) fn report(
    context: &Context,
    replica: &Replica,
    target: Target,
    decided: Result<Decided, EditError>,
) -> Result<(), Failure> {
    let (sentence, edit) = match decided {
        Ok(decided) => (decided.in_full(), decided.edit),
        Err(refused) => return Err(decision_failure(replica, target, refused)?),
    };
    if context.json {
        return Ok(output::json(&json!({ "said": sentence, "edit": edit }))?);
    }
    Ok(output::line(&text::one_line(&sentence))?)
}

/// Decides about several edits in batches and prints each result. A refusal does not stop the others; a failing
/// database stops all. One edit alone is printed as by [`report`].
pub(super) fn report_each(
    context: &Context,
    replica: &Replica,
    mut edits: Vec<i64>,
    target: fn(i64) -> Target,
    decide: impl Fn(&[i64]) -> Result<Vec<Result<Decided, EditError>>, EditError>,
) -> Result<(), Failure> {
    // A second undo of the same edit would be a redo.
    let mut seen = BTreeSet::new();
    edits.retain(|edit| seen.insert(*edit));
    if let [edit] = edits[..] {
        let decided = decide(&[edit]).and_then(|mut decided| decided.remove(0));
        return report(context, replica, target(edit), decided);
    }
    let (mut all, mut refused, mut stopped) = (Vec::new(), Vec::new(), None);
    'all: for batch in edits.chunks(BATCH_MAX) {
        let decided = match decide(batch) {
            Ok(decided) => decided,
            Err(error) => {
                stopped = Some(error.into());
                break;
            }
        };
        for (&id, decided) in batch.iter().zip(decided) {
            let (done, sentence, edit) = match decided.map_err(|why| decision_failure(replica, target(id), why)) {
                Ok(decided) => (true, decided.in_full(), decided.edit),
                Err(Ok(why)) => {
                    let sentence = why.text.clone();
                    refused.push(why);
                    (false, sentence, None)
                }
                // The results so far are still printed.
                Err(Err(failure)) => {
                    stopped = Some(failure);
                    break 'all;
                }
            };
            match (context.json, done) {
                (true, _) => all.push(json!({ "id": id, "done": done, "said": sentence, "edit": edit })),
                (false, true) => output::line(&text::one_line(&format!("{id}: {sentence}")))?,
                (false, false) => output::message(&text::one_line(&format!("hearth-replica: {id}: {sentence}"))),
            }
        }
    }
    if context.json {
        output::json(&all)?;
    }
    match (stopped, refused.first()) {
        (Some(failure), _) => Err(failure),
        (None, None) => Ok(()),
        (None, Some(first)) => {
            let is_same = refused.iter().all(|one| one.exit == first.exit);
            let verb = if refused.len() == 1 { "was" } else { "were" };
            let text = format!("{} of {} edits {verb} not decided", refused.len(), edits.len());
            let mut failure = Failure::new(if is_same { first.exit } else { Exit::Failure }, text);
            failure.next = first.next.clone();
            Err(failure)
        }
    }
}

/// The failure for a refused decision. Err: the database failed.
fn decision_failure(replica: &Replica, target: Target, refused: EditError) -> Result<Failure, Failure> {
    if let EditError::Store(error) = refused {
        return Err(error.into());
    }
    let (Target::Waiting(edit) | Target::Any(edit)) = target else {
        return Ok(Failure::new(Exit::Failure, refused.to_string()).hint("hearth-replica edits --history"));
    };
    let (exit, next) = match (replica.edit_progress(edit)?, target) {
        (Some(EditProgress::Open(EditState::Rejected | EditState::Conflict | EditState::Blocked)), _) => {
            (Exit::NeedsYou, "hearth-replica edits")
        }
        (Some(EditProgress::Open(_)), _) => (Exit::Failure, "hearth-replica edits"),
        (Some(EditProgress::Ended(_)), Target::Any(_)) => (Exit::Failure, "hearth-replica edits --history"),
        _ => (Exit::NotFound, "hearth-replica edits"),
    };
    Ok(Failure::new(exit, refused.to_string()).hint(next))
}

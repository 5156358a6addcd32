//! Types of the core as types of the store. Must not decide anything.

use hearth_contract::formats::Timestamp;

use super::messages::Moment;
use crate::store::edits::answers;
use crate::store::standing;
use crate::sync::core::{Identity, Millis, WriteOutcome};

/// The home of a key, as saved in the database.
pub(crate) fn stored_home(server: &str, identity: &Identity) -> standing::Home {
    standing::Home {
        server: server.to_owned(),
        id: identity.home_id.clone(),
        name: identity.home_name.clone(),
        environment: identity.environment.clone(),
    }
}

/// An outcome as the store takes outcomes, with wall-clock times.
pub(super) fn edit_verdict(now: Moment, outcome: WriteOutcome) -> answers::Verdict {
    match outcome {
        WriteOutcome::Accepted { rev } => answers::Verdict::Sent { rev },
        WriteOutcome::AlreadyExists { rev } => answers::Verdict::There { rev },
        WriteOutcome::Retry { at, code: _, reason } => {
            answers::Verdict::Later { at: at.map(|at| wall_time(now, at)), reason }
        }
        WriteOutcome::KeyRefused { reason } => answers::Verdict::TurnedAway { reason },
        WriteOutcome::Outdated => answers::Verdict::Overtaken,
        WriteOutcome::SendAlone => answers::Verdict::Apart,
        WriteOutcome::Rejected { reason, problem } => answers::Verdict::Rejected { reason, problem },
        WriteOutcome::Conflict { reason, problem, is_deleted } => {
            answers::Verdict::Conflict { reason, problem, gone: is_deleted }
        }
    }
}

/// A time of the steady clock on the wall clock.
pub(super) fn wall_time(now: Moment, at: Millis) -> Timestamp {
    now.wall.plus_millis(at - now.steady)
}

//! Types of the core as types of the store. Must not decide anything.

use hearth_contract::formats::Timestamp;

use super::messages::Moment;
use crate::store::edits::answers;
use crate::store::sync_state;
use crate::sync::core::{Identity, Millis, WriteOutcome};

/// The home of a key, as saved in the database.
pub(crate) fn stored_home(server: &str, identity: &Identity) -> sync_state::Home {
    sync_state::Home {
        server: server.to_owned(),
        id: identity.home_id.clone(),
        name: identity.home_name.clone(),
        environment: identity.environment.clone(),
    }
}

/// An outcome as the store takes outcomes, with wall-clock times.
pub(super) fn edit_verdict(now: Moment, outcome: WriteOutcome) -> answers::WriteOutcome {
    match outcome {
        WriteOutcome::Accepted { rev } => answers::WriteOutcome::Sent { rev },
        WriteOutcome::AlreadyExists { rev } => answers::WriteOutcome::Exists { rev },
        WriteOutcome::Retry { at, code, reason } => {
            answers::WriteOutcome::Later { at: at.map(|at| wall_time(now, at)), code, reason }
        }
        WriteOutcome::KeyRefused { reason } => answers::WriteOutcome::KeyRefused { reason },
        WriteOutcome::Outdated => answers::WriteOutcome::PreconditionFailed,
        WriteOutcome::SendAlone => answers::WriteOutcome::SendAlone,
        WriteOutcome::Rejected { reason, problem } => answers::WriteOutcome::Rejected { reason, problem },
        WriteOutcome::Conflict { reason, problem, is_deleted } => {
            answers::WriteOutcome::Conflict { reason, problem, deleted: is_deleted }
        }
    }
}

/// A time of the steady clock on the wall clock.
pub(super) fn wall_time(now: Moment, at: Millis) -> Timestamp {
    now.wall.plus_millis(at - now.steady)
}

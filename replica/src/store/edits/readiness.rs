//! The decision whether an edit may be sent now. Pure: must not read the database.

use crate::model::{EditState, Method, Precondition};

/// How an unsettled edit holds the edits that depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holds {
    /// Until the edit has ended.
    UntilSettled,
    /// Until a person has decided about the edit.
    UntilPersonActs,
}

/// The request of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestState {
    /// The edit has no request yet.
    None,
    /// The request is written down and may have been sent.
    Frozen,
    /// The request is not sent again: the server rejected the request, or the request was given up for another reason.
    /// The edit keeps the key, by which the feed may still confirm the edit.
    GivenUp,
}

/// What the tables say of an edit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub method: Method,
    pub state: EditState,
    pub request: RequestState,
    /// The precondition of the last request.
    pub precondition: Precondition,
    /// True while the bytes of the file that the edit names are not on the server.
    pub waits_for_file: bool,
}

/// Which edits the pass still takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Capacity {
    /// Any edit.
    Free,
    /// Frozen requests only: enough new requests of this kind are ready.
    FrozenOnly,
    /// No edit, except those that join a ready one.
    None,
}

/// What an edit depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dependencies {
    /// The strictest hold and the edit that causes it.
    pub held_by: Option<(Holds, i64)>,
    /// True when only edits of the same record hold the edit.
    pub only_by_own_record: bool,
    /// True when the rows reflect every event up to the head.
    pub in_step: bool,
    pub capacity: Capacity,
}

/// Whether an edit may be sent, and what an edit that may not be sent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    /// A person must decide about the edit.
    NeedsPerson,
    /// A person must decide about the edit of this number first.
    BlockedBy(i64),
    /// The frozen request may be sent, perhaps again.
    Resend,
    /// The frozen request must wait, with all the edits of the request.
    HoldRequest,
    /// The edit may be sent in a new request.
    Send,
    /// The edit may be coalesced with an earlier edit of its record.
    Join,
    /// The edit waits for an earlier edit or for the feed. An accepted edit waits too, until the feed shows it or a reconcile ends.
    Wait,
}

impl Readiness {
    /// How the edit holds the edits that depend on it.
    pub(super) const fn holds(self) -> Holds {
        match self {
            Readiness::NeedsPerson | Readiness::BlockedBy(_) => Holds::UntilPersonActs,
            _ => Holds::UntilSettled,
        }
    }
}

/// Decides whether an edit may be sent. `server`: what the server holds, with all accepted edits. It is called only when the decision
/// depends on it, because it costs a query.
pub(super) fn readiness<E>(
    edit: &Facts,
    dependencies: &Dependencies,
    server: impl FnOnce() -> Result<Precondition, E>,
) -> Result<Readiness, E> {
    match (edit.state, dependencies.held_by) {
        (EditState::Rejected | EditState::Conflict, _) => return Ok(Readiness::NeedsPerson),
        // Whether the server still has the edit shows at the end of the reconcile.
        (EditState::Sent, _) => return Ok(Readiness::Wait),
        (_, Some((Holds::UntilPersonActs, cause))) => return Ok(Readiness::BlockedBy(cause)),
        _ if edit.waits_for_file && edit.request != RequestState::Frozen => return Ok(Readiness::Wait),
        _ => {}
    }
    Ok(match (dependencies.held_by, edit.request) {
        (None, _) if dependencies.capacity == Capacity::None => Readiness::Wait,
        // The first update of a profile has no revision to insist on. Only the feed shows whether it was applied.
        (None, RequestState::Frozen)
            if edit.precondition == Precondition::None && edit.method == Method::Update && !dependencies.in_step =>
        {
            Readiness::HoldRequest
        }
        (None, RequestState::Frozen) => Readiness::Resend,
        (Some(_), RequestState::Frozen) => Readiness::HoldRequest,
        (None, _) if dependencies.capacity == Capacity::FrozenOnly => Readiness::Wait,
        (None, _) if waits_for_feed(edit, dependencies.in_step, server)? => Readiness::Wait,
        (None, _) => Readiness::Send,
        (Some(_), RequestState::None) if dependencies.only_by_own_record && edit.state == EditState::Waiting => {
            Readiness::Join
        }
        _ => Readiness::Wait,
    })
}

/// True when the feed must show more of the record before a new request is made.
fn waits_for_feed<E>(edit: &Facts, in_step: bool, server: impl FnOnce() -> Result<Precondition, E>) -> Result<bool, E> {
    let is_given_up = edit.request == RequestState::GivenUp;
    let refused_precondition = if is_given_up { edit.precondition } else { Precondition::None };
    // The feed may still show the event of the edit, by the key that a new request would replace.
    if is_given_up && refused_precondition == Precondition::None && !in_step {
        return Ok(true);
    }
    // Others may have changed a record that is not known here. Without a revision to insist on, the request would be
    // rejected, or its effect would be unknown if the response is lost.
    let needs_rev = !in_step && edit.method != Method::Create;
    if !needs_rev && refused_precondition == Precondition::None {
        return Ok(false);
    }
    let present = server()?;
    let is_as_refused = refused_precondition != Precondition::None && present == refused_precondition;
    Ok(is_as_refused || needs_rev && !matches!(present, Precondition::Rev(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITING: Facts = Facts {
        method: Method::Update,
        state: EditState::Waiting,
        request: RequestState::None,
        precondition: Precondition::None,
        waits_for_file: false,
    };
    const FREE: Dependencies =
        Dependencies { held_by: None, only_by_own_record: true, in_step: true, capacity: Capacity::Free };

    /// The decision. `server`: None when the decision must not ask for the revision.
    fn decide(edit: &Facts, dependencies: &Dependencies, server: Option<Precondition>) -> Readiness {
        readiness::<()>(edit, dependencies, || Ok(server.expect("the revision is not asked for"))).unwrap()
    }

    #[test]
    fn readiness_of_state_and_holds() {
        let settled = Some((Holds::UntilSettled, 1));
        let person = Some((Holds::UntilPersonActs, 1));
        for (state, held_by, expected) in [
            (EditState::Rejected, None, Readiness::NeedsPerson),
            (EditState::Conflict, person, Readiness::NeedsPerson),
            (EditState::Sent, person, Readiness::Wait),
            (EditState::Waiting, person, Readiness::BlockedBy(1)),
            (EditState::Blocked, person, Readiness::BlockedBy(1)),
            (EditState::Blocked, None, Readiness::Send),
            (EditState::Waiting, None, Readiness::Send),
            (EditState::Waiting, settled, Readiness::Join),
            (EditState::Blocked, settled, Readiness::Wait),
        ] {
            let edit = Facts { state, ..WAITING };
            let dependencies = Dependencies { held_by, ..FREE };
            assert_eq!(decide(&edit, &dependencies, None), expected, "{state} {held_by:?}");
        }
        for (request, expected) in [
            (RequestState::None, Readiness::Wait),
            (RequestState::GivenUp, Readiness::Wait),
            (RequestState::Frozen, Readiness::Resend),
        ] {
            let edit = Facts { request, waits_for_file: true, precondition: Precondition::Rev(1), ..WAITING };
            assert_eq!(decide(&edit, &FREE, None), expected, "{request:?} before its file");
        }
        let elsewhere = Dependencies { held_by: settled, only_by_own_record: false, ..FREE };
        assert_eq!(decide(&WAITING, &elsewhere, None), Readiness::Wait);
    }

    #[test]
    fn readiness_of_requests() {
        let rev = |rev| Precondition::Rev(rev);
        for (method, request, precondition, in_step, server, expected) in [
            (Method::Update, RequestState::Frozen, rev(5), false, None, Readiness::Resend),
            (Method::Update, RequestState::Frozen, Precondition::None, true, None, Readiness::Resend),
            (Method::Update, RequestState::Frozen, Precondition::None, false, None, Readiness::HoldRequest),
            (Method::Create, RequestState::Frozen, Precondition::None, false, None, Readiness::Resend),
            (
                Method::Update,
                RequestState::None,
                Precondition::None,
                false,
                Some(Precondition::Absent),
                Readiness::Wait,
            ),
            (Method::Update, RequestState::None, Precondition::None, false, Some(Precondition::None), Readiness::Wait),
            (
                Method::Update,
                RequestState::None,
                Precondition::None,
                false,
                Some(Precondition::Rev(5)),
                Readiness::Send,
            ),
            (Method::Create, RequestState::None, Precondition::None, false, None, Readiness::Send),
            (Method::Update, RequestState::GivenUp, rev(5), true, Some(Precondition::Rev(5)), Readiness::Wait),
            (Method::Update, RequestState::GivenUp, rev(5), true, Some(Precondition::Rev(6)), Readiness::Send),
            (
                Method::Create,
                RequestState::GivenUp,
                Precondition::Absent,
                true,
                Some(Precondition::Absent),
                Readiness::Wait,
            ),
            (
                Method::Create,
                RequestState::GivenUp,
                Precondition::Absent,
                true,
                Some(Precondition::Rev(6)),
                Readiness::Send,
            ),
            (Method::Create, RequestState::GivenUp, Precondition::None, false, None, Readiness::Wait),
            (Method::Create, RequestState::GivenUp, Precondition::None, true, None, Readiness::Send),
        ] {
            let edit = Facts { method, request, precondition, ..WAITING };
            let found = decide(&edit, &Dependencies { in_step, ..FREE }, server);
            assert_eq!(found, expected, "{edit:?} {in_step} {server:?}");
        }
    }

    #[test]
    fn readiness_without_capacity() {
        let frozen = Facts { request: RequestState::Frozen, precondition: Precondition::Rev(5), ..WAITING };
        let held = Some((Holds::UntilSettled, 1));
        for (edit, capacity, held_by, expected) in [
            (frozen, Capacity::FrozenOnly, None, Readiness::Resend),
            (frozen, Capacity::None, None, Readiness::Wait),
            (frozen, Capacity::None, held, Readiness::HoldRequest),
            (WAITING, Capacity::FrozenOnly, None, Readiness::Wait),
            (WAITING, Capacity::None, held, Readiness::Join),
        ] {
            let dependencies = Dependencies { held_by, capacity, ..FREE };
            assert_eq!(decide(&edit, &dependencies, None), expected, "{edit:?} {capacity:?} {held_by:?}");
        }
    }
}

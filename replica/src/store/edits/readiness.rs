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
    /// True while the bytes of the file that the edit names are not on the server, and for the create of a next task, which is
    /// never sent.
    pub is_held_back: bool,
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
    /// The edit waits for another edit, for a file or for the feed. An accepted edit waits too, until the feed shows it or a
    /// reconcile ends.
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
        // The feed or a reconcile shows whether the server has the edit.
        (EditState::Sent, _) => return Ok(Readiness::Wait),
        (_, Some((Holds::UntilPersonActs, cause))) => return Ok(Readiness::BlockedBy(cause)),
        _ if edit.is_held_back && edit.request != RequestState::Frozen => return Ok(Readiness::Wait),
        _ => {}
    }
    Ok(match (dependencies.held_by, edit.request) {
        // The first update of a profile has no revision to insist on. Only the feed shows whether it was applied.
        (None, RequestState::Frozen)
            if edit.precondition == Precondition::None && edit.method == Method::Update && !dependencies.in_step =>
        {
            Readiness::HoldRequest
        }
        (None, RequestState::Frozen) => Readiness::Resend,
        (Some(_), RequestState::Frozen) => Readiness::HoldRequest,
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
        is_held_back: false,
    };
    const FREE: Dependencies = Dependencies { held_by: None, only_by_own_record: true, in_step: true };

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
            let edit = Facts { request, is_held_back: true, precondition: Precondition::Rev(1), ..WAITING };
            assert_eq!(decide(&edit, &FREE, None), expected, "{request:?} before its file");
        }
        let elsewhere = Dependencies { held_by: settled, only_by_own_record: false, ..FREE };
        assert_eq!(decide(&WAITING, &elsewhere, None), Readiness::Wait);
    }

    #[test]
    fn readiness_of_requests() {
        let [none, absent, five, six] =
            [Precondition::None, Precondition::Absent, Precondition::Rev(5), Precondition::Rev(6)];
        for (method, request, precondition, in_step, server, expected) in [
            (Method::Update, RequestState::Frozen, five, false, None, Readiness::Resend),
            (Method::Update, RequestState::Frozen, none, true, None, Readiness::Resend),
            (Method::Update, RequestState::Frozen, none, false, None, Readiness::HoldRequest),
            (Method::Create, RequestState::Frozen, none, false, None, Readiness::Resend),
            (Method::Update, RequestState::None, none, false, Some(absent), Readiness::Wait),
            (Method::Update, RequestState::None, none, false, Some(none), Readiness::Wait),
            (Method::Update, RequestState::None, none, false, Some(five), Readiness::Send),
            (Method::Create, RequestState::None, none, false, None, Readiness::Send),
            (Method::Update, RequestState::GivenUp, five, true, Some(five), Readiness::Wait),
            (Method::Update, RequestState::GivenUp, five, true, Some(six), Readiness::Send),
            (Method::Create, RequestState::GivenUp, absent, true, Some(absent), Readiness::Wait),
            (Method::Create, RequestState::GivenUp, absent, true, Some(six), Readiness::Send),
            (Method::Create, RequestState::GivenUp, none, false, None, Readiness::Wait),
            (Method::Create, RequestState::GivenUp, none, true, None, Readiness::Send),
        ] {
            let edit = Facts { method, request, precondition, ..WAITING };
            let found = decide(&edit, &Dependencies { in_step, ..FREE }, server);
            assert_eq!(found, expected, "{edit:?} {in_step} {server:?}");
        }
    }
}

//! A reconcile beside the link: what begins it, what it shows, and when a sync ends.

use super::*;
use crate::model::{ReconcileCause, ReconcileResponse, ReconcileScope, ReconcileStep, SweepOutcome};

/// The last collection.
const LAST: Kind = Kind::COLLECTIONS[Kind::COLLECTIONS.len() - 1];

/// A reconcile at its last step but one.
fn sweep() -> Reconcile {
    Reconcile {
        scope: ReconcileScope::Everything { since: None },
        tail_position: None,
        step: ReconcileStep::Sweep { kind: LAST, as_of: 4 },
        accepted: false,
        question: None,
    }
}

/// A sync in contact at head 9, with this reconcile. Returns the actions of the greeting too.
fn comparing(until: Until, reconcile: Reconcile) -> (Core, Vec<Action>) {
    let mut core = Core::new(until, 7);
    core.take(0, on_disk(Some(reconcile)));
    let mut actions = greet(&mut core, 0);
    actions.extend(core.take(0, stream(StreamEvent::Opened)));
    actions.extend(core.take(0, planned(&[], false)));
    (core, actions)
}

/// An answer in the first epoch.
fn answered(answer: ReconcileAnswer) -> ReconcileInput {
    ReconcileInput::Answered { epoch: 1, answer }
}

/// A reconcile begins.
fn begun() -> ReconcileInput {
    ReconcileInput::Begun(Some(Reconcile { step: ReconcileStep::Property, ..sweep() }))
}

#[test]
fn end_of_a_reconcile_proves_the_present() {
    let (mut core, actions) = comparing(Until::Current, sweep());
    assert_eq!(phases(&actions), [Phase::Reconciling]);
    let actions = core.take(1, ready(9));
    assert!(
        matches!(&actions[..], [Action::ApplyBatch { phase: Phase::Reconciling, is_current: false, .. }]),
        "{actions:?}"
    );
    core.take(1, batch_applied());
    let actions = core.take(1, ReconcileInput::Swept(SweepOutcome::Done));
    assert!(matches!(&actions[..], [Action::Request(Request::CheckCursor { .. })]), "{actions:?}");
    let known = answered(ReconcileAnswer::Cursor(Ok(())));
    let actions = core.take(2, known);
    let expected = [Action::FinishReconcile, Action::TouchContact { is_current: true }, Action::PlanEdits];
    assert_eq!(&actions[..3], expected);
    assert_eq!(phases(&actions), [Phase::Live]);
    assert!(actions.contains(&Action::Finish(EndReason::Done)), "{actions:?}");
}

#[test]
fn expired_cursor_starts_a_reconcile() {
    let gone = || {
        let expired = Expired { restored: false, resume: "c40".into(), fork: None };
        Refusal { expired: Some(expired), ..refusal(410, "cursor_expired") }
    };
    let cause = ReconcileCause::Gap { resume: "c40".into() };
    let starts = || [Action::CloseStream, Action::StartReconcile(cause.clone())].into_iter();
    // By a stream that was requested after a greeting: that greeting still holds.
    let again = Action::OpenStream { cursor: Some("c40".into()) };
    let mut core = started(Until::Stopped);
    let actions = core.take(1, stream(StreamEvent::Ended(Failure::Refused(gone()))));
    assert_eq!(actions, starts().chain([again]).collect::<Vec<_>>());
    core.take(1, begun());
    let actions = core.take(1, stream(StreamEvent::Opened));
    assert!(actions.iter().any(|action| matches!(action, Action::Request(Request::Reconcile { .. }))), "{actions:?}");
    assert_eq!(phases(&actions), [Phase::Reconciling]);
    // At the end of a reconcile: the server was restored under an open stream.
    let (mut core, _) = comparing(Until::Stopped, Reconcile { step: ReconcileStep::Done, ..sweep() });
    let refused = answered(ReconcileAnswer::Cursor(Err(Failure::Refused(gone()))));
    let greets = [Action::Request(Request::Identity), Action::Request(Request::FeedHead)];
    assert_eq!(core.take(1, refused), starts().chain(greets).collect::<Vec<_>>());
}

#[test]
fn question_ends_a_single_run_after_changes_and_edits() {
    let question = "60 of 80 items are gone".to_owned();
    let asks = Reconcile { question: Some(question.clone()), ..sweep() };
    let ends = |actions: &[Action]| {
        actions.contains(&Action::Finish(EndReason::Blocked(BlockCause::Deletions, question.clone())))
    };
    let (mut core, actions) = comparing(Until::Current, asks.clone());
    assert!(!ends(&actions), "the feed is not read: {actions:?}");
    core.take(0, ready(9));
    assert!(ends(&core.take(0, batch_applied())));

    let (mut core, _) = comparing(Until::Pushed, asks);
    assert_eq!(sent(&core.take(0, planned(&[1], true))), [1]);
    core.take(0, ready(9));
    assert!(!ends(&core.take(0, batch_applied())), "the edit has no answer");
    assert!(!ends(&core.take(1, accepted(1, 10))), "more edits may be ready");
    assert!(ends(&core.take(1, planned(&[], true))), "the event of the edit may wait for the reconcile");
}

#[test]
fn refused_sweep_shows_what_it_waits_for() {
    for (scopes, phase) in [(&[&*format!("{}:read", LAST.collection())][..], Phase::Blocked), (&[], Phase::NeedsKey)] {
        let (mut core, _) = comparing(Until::Stopped, sweep());
        core.take(0, ReconcileInput::Swept(SweepOutcome::TooMany { gone: 60, of: 80 }));
        let known = answered(ReconcileAnswer::Scopes(Ok(identity("home", scopes))));
        assert_eq!(phases(&core.take(1, known)), [phase]);
    }
}

#[test]
fn answer_ahead_of_the_feed_is_polled_for() {
    let mut core = started(Until::Stopped);
    polling(&mut core);
    core.take(1, begun());
    let found = ReconcileResponse { as_of: 12, ..ReconcileResponse::default() };
    let answer = ReconcileAnswer::Query(Ok(found));
    core.take(1, ReconcileInput::Answered { epoch: 2, answer });
    assert_eq!(core.wake_at(), Some(1), "the next poll is due at once");
    core.take(1, LinkInput::Timer);
    assert_eq!(
        phases(&core.take(2, nothing_new())),
        [Phase::Offline],
        "the server has lost the position of the answer"
    );
}

//! Keys that the server refuses, for all edits or for one collection.

use super::*;
use crate::sync::core::tests::streams::applied_to;

#[test]
fn refused_key_keeps_edits_and_retries() {
    let mut core = sending(&[1, 2, 3]);
    let actions = core.handle(1, key_refused(1, "plan_required"));
    assert_eq!(outcomes(&actions), [(1, WriteOutcome::KeyRefused { reason: "plan_required".into() })]);
    assert_eq!(phases(&actions), [Phase::NeedsKey]);
    assert!(sent(&actions).is_empty(), "the key is refused for all edits");
    core.handle(1, key_refused(2, "plan_required"));
    let at = next_due(&mut core);
    assert_eq!(sent(&core.handle(at, Event::Timer)), [3]);
    let actions = core.handle(at, accepted(3, 3));
    assert_eq!(phases(&actions), [Phase::CatchingUp]);
    assert!(actions.contains(&Action::PlanEdits), "the key works again");
}

#[test]
fn missing_scope_affects_one_collection() {
    let mut core = sending(&[1, 2, 3]);
    core.handle(1, ready(9));
    let actions = core.handle(1, key_refused(1, "insufficient_scope"));
    assert_eq!((phases(&actions), sent(&actions)), (vec![Phase::NeedsKey], vec![3]));
    let actions = core.handle(1, accepted(2, 10));
    assert!(phases(&actions).is_empty(), "another collection proves nothing");
    core.handle(1, accepted(3, 11));
    let actions = core.handle(1, ready(11));
    let [Action::ApplyBatch { phase: Phase::NeedsKey, reason: Some(reason), .. }, ..] = &actions[..] else {
        panic!("the feed proves nothing: {actions:?}")
    };
    assert_eq!((reason.as_str(), phases(&actions).len()), ("insufficient_scope", 0));
    // Another edit of the collection waits too.
    assert!(sent(&core.handle(2, planned(&[1, 4], true))).is_empty());
    let at = next_due(&mut core);
    assert_eq!(sent(&core.handle(at, Event::Timer)), [1, 4]);
    assert!(phases(&core.handle(at, key_refused(1, "insufficient_scope"))).is_empty());
    assert_eq!(phases(&core.handle(at, accepted(4, 12))), [Phase::Live], "the scope is back");
}

#[test]
fn missing_scope_ends_a_single_run_last() {
    let mut core = opened(Until::Pushed);
    core.handle(0, Event::EditsChanged);
    core.handle(0, planned(&[1, 2], true));
    let ended = |actions: &[Action]| actions.iter().any(|e| matches!(e, Action::Finish(EndReason::NeedsKey(_))));
    assert!(!ended(&core.handle(1, key_refused(1, "insufficient_scope"))));
    assert!(!ended(&core.handle(1, accepted(2, 10))));
    core.handle(1, planned(&[1], true));
    assert!(!ended(&core.handle(1, planned(&[1], true))), "the present is not reached");
    core.handle(2, ready(10));
    assert!(ended(&core.handle(2, applied_to(10))));
}

#[test]
fn missing_scope_does_not_stop_until_current() {
    let mut core = opened(Until::Current);
    core.handle(0, Event::EditsChanged);
    core.handle(0, planned(&[1], true));
    core.handle(1, key_refused(1, "insufficient_scope"));
    core.handle(1, planned(&[1], true));
    core.handle(2, ready(10));
    let actions = core.handle(2, applied_to(10));
    assert!(actions.contains(&Action::Finish(EndReason::Done)), "{actions:?}");
}

#[test]
fn missing_scope_is_forgotten_with_its_edit() {
    let mut core = sending(&[1, 2]);
    core.handle(1, key_refused(1, "insufficient_scope"));
    core.handle(2, Event::EditsChanged);
    assert_eq!(phases(&core.handle(2, planned(&[3], true))), [Phase::CatchingUp], "with other edits in flight");
}

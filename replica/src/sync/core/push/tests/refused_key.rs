//! Keys that the server refuses, for all edits or for one collection.

use super::*;

#[test]
fn refused_key_keeps_edits_and_retries() {
    let mut scene = sending(&[1, 2, 3]);
    let actions = scene.handle(1, key_refused(1, "plan_required"));
    assert_eq!(outcomes(&actions), [(1, WriteOutcome::KeyRefused { reason: "plan_required".into() })]);
    assert_eq!(scene.push.key_refusal.as_deref(), Some("plan_required"));
    assert!(sent(&actions).is_empty(), "the key is refused for all edits");
    scene.handle(1, key_refused(2, "plan_required"));
    let at = scene.wake_at();
    assert_eq!((at, sent(&scene.timer(at))), (60_001, vec![3]));
    assert!(scene.handle(at, accepted(3)).contains(&Action::PlanEdits), "the key works again");
    assert_eq!(scene.push.key_refusal, None);
}

#[test]
fn missing_scope_affects_one_collection() {
    let mut scene = sending(&[1, 2, 3]);
    assert_eq!(sent(&scene.handle(1, key_refused(1, "insufficient_scope"))), [3]);
    scene.handle(1, accepted(2));
    scene.handle(1, accepted(3));
    assert!(scene.push.key_refusal.is_some(), "another collection proves nothing");
    // Another edit of the collection waits too.
    assert!(sent(&scene.handle(2, planned(&[1, 4]))).is_empty());
    let at = scene.wake_at();
    assert_eq!(sent(&scene.timer(at)), [1, 4]);
    scene.handle(at, key_refused(1, "insufficient_scope"));
    scene.handle(at, accepted(4));
    assert_eq!(scene.push.key_refusal, None, "the scope is back");
}

#[test]
fn missing_scope_is_forgotten_with_its_edit() {
    let mut scene = sending(&[1, 2]);
    scene.handle(1, key_refused(1, "insufficient_scope"));
    scene.handle(2, planned(&[3]));
    assert_eq!(scene.push.key_refusal, None, "with other edits in flight");
}

//! Failed edits: the pauses before the next attempt, and that other edits do not wait for them.

use super::super::super::backoff::BACKOFF_FIRST;
use super::*;

#[test]
fn repeatedly_unanswered_edit_waits_alone() {
    let mut scene = sending(&[1]);
    let mut now = 1;
    scene.handle(now, no_answer(&[1]));
    for others in 0..6 {
        scene.handle(now, planned(&[1]));
        let mut again = Vec::new();
        while again.is_empty() {
            now = scene.wake_at();
            again = sent(&scene.timer(now));
        }
        assert_eq!(again, [1]);
        // In between, another edit is sent and answered.
        let other = 2 + others;
        scene.handle(now, Input::EditsChanged);
        assert_eq!(sent(&scene.handle(now, planned(&[1, other]))), [other]);
        scene.handle(now, no_answer(&[1]));
        scene.handle(now, accepted(other));
    }
    scene.handle(now, planned(&[1]));
    scene.handle(now, Input::EditsChanged);
    assert_eq!(sent(&scene.handle(now, planned(&[1, 10]))), [10], "another edit is sent at once");
    scene.handle(now, accepted(10));
    scene.handle(now, planned(&[1]));
    assert!(scene.wake_at() > now + BACKOFF_FIRST, "the pauses grow");
}

/// Moves the time forward until edits are sent. Returns the edits.
fn next_sent(scene: &mut Scene, now: &mut Millis) -> Vec<i64> {
    loop {
        *now = scene.wake_at();
        let edits = sent(&scene.timer(*now));
        if !edits.is_empty() {
            return edits;
        }
    }
}

#[test]
fn many_unanswered_edits_do_not_stop_others() {
    let (mut scene, mut now) = (sending(&[1, 2, 3, 4]), 1);
    for edits in [[1, 2], [3, 4]] {
        scene.handle(now, no_answer(&edits[..1]));
        scene.handle(now, no_answer(&edits[1..]));
        if edits[0] == 1 {
            assert_eq!(next_sent(&mut scene, &mut now), [3, 4], "edits without a failure go first");
        }
    }
    for good in 10..30 {
        scene.handle(now, Input::EditsChanged);
        let mut under_way = sent(&scene.handle(now, planned(&[1, 2, 3, 4, good])));
        while !under_way.contains(&good) {
            assert_eq!(under_way, [] as [i64; 0], "a new edit goes first");
            under_way = next_sent(&mut scene, &mut now);
        }
        under_way.extend(sent(&scene.handle(now, accepted(good))));
        under_way.retain(|edit| *edit != good);
        assert!(under_way.len() <= 1, "one failed edit at a time: {under_way:?}");
        let mut waiting = vec![1, 2, 3, 4];
        while let [bad] = under_way[..] {
            scene.handle(now, no_answer(&[bad]));
            under_way = sent(&scene.handle(now, planned(&waiting)));
            waiting.rotate_left(1);
        }
        assert_eq!(under_way, [] as [i64; 0]);
    }
}

#[test]
fn retry_after_outlives_contact_and_retry_now() {
    let mut scene = sending(&[1, 2]);
    let busy = |retry_after| Refusal { retry_after, ..refusal(503, "unavailable") };
    scene.handle(1, refused(1, busy(Some(30_000))));
    scene.handle(2, refused(2, busy(None)));
    scene.handle(3, Input::RetryNow);
    scene.contact(6, None);
    assert!(sent(&scene.handle(6, planned(&[1, 2]))).is_empty());
    assert_eq!(sent(&scene.timer(30_001)), [1, 2]);
}

#[test]
fn repeatedly_outdated_edit_is_sent_less_often() {
    let mut scene = sending(&[1]);
    let (mut now, mut times) = (1, 0);
    while now < 8_000 {
        times += 1;
        assert!(times < 30, "an endless loop");
        let actions = scene.handle(now, refused(1, refusal(412, "precondition_failed")));
        assert_eq!(outcomes(&actions), [(1, WriteOutcome::PreconditionFailed)], "merged again each time");
        // A create has no precondition, so the plan offers the create again at once.
        if sent(&scene.handle(now, planned(&[1]))).is_empty() {
            now = scene.wake_at();
            assert_eq!(sent(&scene.timer(now)), [1]);
        }
    }
    assert!(times < 15, "{times}");
    // Another edit does not wait, and an accepted edit has no failures.
    scene.handle(now, Input::EditsChanged);
    assert_eq!(sent(&scene.handle(now, planned(&[1, 2]))), [2]);
    scene.handle(now, accepted(1));
    assert_eq!(sent(&scene.handle(now, planned(&[1]))), [1]);
}

#[test]
fn many_outdated_edits_are_sent_less_often() {
    let mut scene = sending(&[]);
    let mut under_way = calls(&scene.handle(1, alike(1..9)));
    let (mut now, mut times) = (1, 0);
    while now < 8_000 {
        let Some(edits) = under_way.pop() else {
            now = scene.wake_at();
            under_way = calls(&scene.timer(now));
            continue;
        };
        times += 1;
        assert!(times < 100, "an endless loop");
        let moved_on = refusal(412, "precondition_failed");
        let input = match edits[..] {
            [edit] => refused(edit, moved_on),
            _ => completed(&edits, Err(Failure::Refused(moved_on))),
        };
        under_way.extend(calls(&scene.handle(now, input)));
        under_way.extend(calls(&scene.handle(now, alike(1..9))));
    }
    assert!(times < 40, "{times}");
}

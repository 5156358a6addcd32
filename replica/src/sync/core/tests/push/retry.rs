//! Failed edits: the pauses before the next attempt, and that other edits do not wait for them.

use super::*;

#[test]
fn edit_with_500_does_not_stop_others() {
    let mut core = sending(&[1, 2, 3]);
    let actions = core.handle(1, refused(1, refusal(500, "internal_error")));
    assert_eq!(sent(&actions), [3]);
    core.handle(1, accepted(2, 3));
    core.handle(1, planned(&[1, 3], true));
    let actions = core.handle(1, accepted(3, 4));
    assert!(actions.contains(&Action::PlanEdits), "edits behind these may be sent");
    core.handle(1, planned(&[1], true));
    let at = core.wake_at().unwrap();
    assert!(at > 1);
    assert_eq!(sent(&core.handle(at, Event::Timer)), [1]);
}

#[test]
fn edit_without_answer_does_not_stop_others() {
    let mut core = sending(&[1, 2, 3]);
    core.handle(1, no_answer(&[1]));
    core.handle(1, no_answer(&[2]));
    let at = core.wake_at().unwrap();
    assert_eq!(sent(&core.handle(at, Event::Timer)), [3, 1]);
}

#[test]
fn repeatedly_unanswered_edit_waits_alone() {
    let mut core = sending(&[1]);
    let mut now = 1;
    core.handle(now, no_answer(&[1]));
    for others in 0..6 {
        core.handle(now, planned(&[1], true));
        core.handle(now, Event::StreamActive);
        let mut again = Vec::new();
        while again.is_empty() {
            now = core.wake_at().unwrap();
            again = sent(&core.handle(now, Event::Timer));
        }
        assert_eq!(again, [1]);
        // In between, another edit is sent and answered.
        let other = 2 + others;
        core.handle(now, Event::EditsChanged);
        assert_eq!(sent(&core.handle(now, planned(&[1, other], true))), [other]);
        core.handle(now, no_answer(&[1]));
        core.handle(now, accepted(other, 5));
    }
    core.handle(now, planned(&[1], true));
    core.handle(now, Event::EditsChanged);
    assert_eq!(sent(&core.handle(now, planned(&[1, 10], true))), [10], "another edit is sent at once");
    core.handle(now, accepted(10, 6));
    core.handle(now, planned(&[1], true));
    assert!(core.wake_at().unwrap() > now + BACKOFF_FIRST, "the pauses grow");
}

/// Moves the time forward until edits are sent. Returns the edits.
fn next_sent(core: &mut Core, now: &mut Millis) -> Vec<i64> {
    loop {
        core.handle(*now, Event::StreamActive);
        *now = core.wake_at().unwrap();
        let edits = sent(&core.handle(*now, Event::Timer));
        if !edits.is_empty() {
            return edits;
        }
    }
}

#[test]
fn many_unanswered_edits_do_not_stop_others() {
    let (mut core, mut now) = (sending(&[1, 2, 3, 4]), 1);
    for edits in [[1, 2], [3, 4]] {
        core.handle(now, no_answer(&edits[..1]));
        core.handle(now, no_answer(&edits[1..]));
        if edits[0] == 1 {
            assert_eq!(next_sent(&mut core, &mut now), [3, 4], "edits without a failure go first");
        }
    }
    for good in 10..30 {
        core.handle(now, Event::EditsChanged);
        let mut under_way = sent(&core.handle(now, planned(&[1, 2, 3, 4, good], true)));
        while !under_way.contains(&good) {
            assert_eq!(under_way, [] as [i64; 0], "a new edit goes first");
            under_way = next_sent(&mut core, &mut now);
        }
        under_way.extend(sent(&core.handle(now, accepted(good, good))));
        under_way.retain(|edit| *edit != good);
        assert!(under_way.len() <= 1, "one failed edit at a time: {under_way:?}");
        let mut waiting = vec![1, 2, 3, 4];
        while let [bad] = under_way[..] {
            core.handle(now, no_answer(&[bad]));
            under_way = sent(&core.handle(now, planned(&waiting, true)));
            waiting.rotate_left(1);
        }
        assert_eq!(under_way, [] as [i64; 0]);
    }
}

#[test]
fn retry_after_outlives_contact_and_retry_now() {
    let mut core = sending(&[1, 2]);
    core.handle(0, ready(9));
    let busy = |retry_after| Refusal { retry_after, ..refusal(503, "unavailable") };
    core.handle(1, refused(1, busy(Some(30_000))));
    core.handle(2, refused(2, busy(None)));
    core.handle(3, Event::ControlChanged { is_paused: false, reconcile: None, retry_now: true });
    core.handle(6, Event::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    core.handle(at, Event::Timer);
    greet(&mut core, at);
    core.handle(at, Event::StreamOpened);
    assert!(sent(&core.handle(at, planned(&[1, 2], true))).is_empty());
    assert_eq!(sent(&core.handle(30_001, Event::Timer)), [1, 2]);
}

#[test]
fn retry_now_ends_the_replicas_own_pause() {
    let mut core = sending(&[1]);
    for now in 1..20 {
        core.handle(now, refused(1, refusal(503, "unavailable")));
        core.handle(now, planned(&[1], true));
        let retry_now = Event::ControlChanged { is_paused: false, reconcile: None, retry_now: true };
        assert_eq!(sent(&core.handle(now, retry_now)), [1]);
    }
}

#[test]
fn repeatedly_outdated_edit_is_sent_less_often() {
    let mut core = sending(&[1]);
    let (mut now, mut times) = (1, 0);
    while now < 8_000 {
        times += 1;
        assert!(times < 30, "an endless loop");
        let actions = core.handle(now, refused(1, refusal(412, "precondition_failed")));
        assert_eq!(outcomes(&actions), [(1, WriteOutcome::PreconditionFailed)], "merged again each time");
        // A create has no precondition, so the plan offers the create again at once.
        if sent(&core.handle(now, planned(&[1], true))).is_empty() {
            now = next_due(&mut core);
            assert_eq!(sent(&core.handle(now, Event::Timer)), [1]);
        }
    }
    assert!(times < 15, "{times}");
    // Another edit does not wait, and an accepted edit has no failures.
    core.handle(now, Event::EditsChanged);
    assert_eq!(sent(&core.handle(now, planned(&[1, 2], true))), [2]);
    core.handle(now, accepted(1, 9));
    assert_eq!(sent(&core.handle(now, planned(&[1], true))), [1]);
}

#[test]
fn many_outdated_edits_are_sent_less_often() {
    let mut core = sending(&[]);
    let mut under_way = calls(&core.handle(1, alike(1..9)));
    let (mut now, mut times) = (1, 0);
    while now < 8_000 {
        let Some(edits) = under_way.pop() else {
            core.handle(now, Event::StreamActive);
            now = core.wake_at().unwrap();
            under_way = calls(&core.handle(now, Event::Timer));
            continue;
        };
        times += 1;
        assert!(times < 100, "an endless loop");
        let moved_on = refusal(412, "precondition_failed");
        let input = match edits[..] {
            [edit] => refused(edit, moved_on),
            _ => Event::SendCompleted { sent: edits.clone(), carried: edits, outcome: SendOutcome::Refused(moved_on) },
        };
        under_way.extend(calls(&core.handle(now, input)));
        under_way.extend(calls(&core.handle(now, alike(1..9))));
    }
    assert!(times < 40, "{times}");
}

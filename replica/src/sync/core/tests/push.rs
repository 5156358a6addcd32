//! The push: which edits are sent together and when, and what responses mean.

use super::*;
use crate::model::WriteOutcome;

/// Edits of one kind.
fn alike(edits: std::ops::Range<i64>) -> Event {
    let one = |edit| ReadyEdits { edits: vec![edit], kind: Kind::Task, is_frozen: false, bytes: 100 };
    Event::EditsPlanned { ready: edits.map(one).collect(), has_open_edits: true }
}

fn refused(edit: i64, refusal: Refusal) -> Event {
    edit_answered(edit, EditResponse::Refused(refusal))
}

/// The server refuses the key for an edit.
fn key_refused(edit: i64, kind: &str) -> Event {
    Event::SendCompleted { sent: vec![edit], carried: vec![edit], outcome: SendOutcome::Refused(refusal(403, kind)) }
}

fn no_answer(edits: &[i64]) -> Event {
    let outcome = SendOutcome::NoAnswer { reason: "cut".into() };
    Event::SendCompleted { sent: edits.to_vec(), carried: edits.to_vec(), outcome }
}

/// The outcomes saved.
fn outcomes(actions: &[Action]) -> Vec<(i64, WriteOutcome)> {
    let outcomes = |e: &Action| if let Action::SaveOutcomes { outcomes } = e { outcomes.clone() } else { Vec::new() };
    actions.iter().flat_map(outcomes).collect()
}

/// An open core with these edits in flight, as far as allowed.
fn sending(edits: &[i64]) -> Core {
    let mut core = opened(Until::Stopped);
    core.handle(0, Event::EditsChanged);
    core.handle(0, planned(edits, true));
    core
}

#[test]
fn push_waits_for_an_accepted_cursor() {
    let mut core = started(Until::Stopped);
    let actions = core.handle(0, planned(&[1, 2, 3], true));
    assert!(sent(&actions).is_empty());
    let actions = core.handle(1, Event::StreamOpened);
    assert_eq!(sent(&actions), [1, 2]);
    assert!(sent(&core.handle(1, planned(&[1, 2, 3], true))).is_empty(), "two at a time, and no edit twice");
    assert_eq!(sent(&core.handle(2, accepted(2, 5))), [3]);
}

#[test]
fn lost_answer_is_retried_on_contact() {
    let mut core = sending(&[1]);
    core.handle(1, ready(9));
    let actions = core.handle(5, no_answer(&[1]));
    assert!(matches!(outcomes(&actions)[..], [(1, WriteOutcome::Later { .. })]), "{actions:?}");
    let frozen = ReadyEdits { edits: vec![1], kind: Kind::Task, is_frozen: true, bytes: 100 };
    assert!(sent(&core.handle(5, Event::EditsPlanned { ready: vec![frozen], has_open_edits: true })).is_empty());
    core.handle(6, Event::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    assert!(sent(&core.handle(at, Event::Timer)).is_empty());
    greet(&mut core, at);
    let actions = core.handle(at, Event::StreamOpened);
    assert!(sent(&actions).is_empty(), "the plan decides whether to repeat");
    assert!(actions.contains(&Action::PlanEdits));
    assert_eq!(sent(&core.handle(at, planned(&[1], true))), [1], "the pause has ended");
}

#[test]
fn rejected_edit_does_not_stop_others() {
    let mut core = sending(&[1, 2, 3]);
    let actions = core.handle(1, refused(1, refusal(422, "validation_failed")));
    assert!(matches!(outcomes(&actions)[..], [(1, WriteOutcome::Rejected { .. })]));
    assert_eq!(sent(&actions), [3]);
}

#[test]
fn only_not_found_is_a_deleted_record() {
    let ends = |kind: &str| outcomes(&sending(&[1]).handle(1, refused(1, refusal(404, kind)))).remove(0).1;
    assert!(matches!(ends("not_found"), WriteOutcome::Conflict { deleted: true, .. }));
    for of_the_path in ["route_not_found", "not_here", ""] {
        assert!(matches!(ends(of_the_path), WriteOutcome::Rejected { .. }), "{of_the_path}");
    }
}

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
fn stale_answer_causes_no_pause() {
    let mut core = sending(&[1, 2, 3]);
    let outcome = SendOutcome::Stale { reason: "late".into() };
    core.handle(5, Event::SendCompleted { sent: vec![1], carried: vec![1], outcome });
    assert_eq!(sent(&core.handle(5, planned(&[1, 2, 3], true))), [] as [i64; 0], "two at a time: 2 and 3");
    assert_eq!(sent(&core.handle(5, accepted(2, 5))), [1]);
}

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
fn edits_forbidden_by_a_proxy_are_split() {
    let mut core = sending(&[1, 2, 3]);
    core.handle(0, ready(9));
    let page = || Refusal { message: "something between".into(), ..refusal(403, "") };
    let forbidden = |edits: &[i64]| Event::SendCompleted {
        sent: edits.to_vec(),
        carried: edits.to_vec(),
        outcome: SendOutcome::Refused(page()),
    };
    let actions = core.handle(1, forbidden(&[1]));
    let [(1, WriteOutcome::Later { pause: Some(pause), reason, .. })] = &outcomes(&actions)[..] else {
        panic!("{actions:?}")
    };
    assert_eq!((reason.as_str(), sent(&actions)), ("something between", vec![3]));
    assert!(phases(&actions).is_empty(), "the key is not refused: {actions:?}");
    core.handle(1, accepted(2, 10));
    core.handle(1, accepted(3, 11));
    core.handle(1, planned(&[1], true));
    assert_eq!(sent(&core.handle(1 + pause, Event::Timer)), [1], "the next attempt");

    // A refused bulk call is repeated with the same bytes, then split. Missing answers do not count as refusals.
    let unanswered = |edits: &[i64]| Event::SendCompleted {
        sent: edits.to_vec(),
        carried: edits.to_vec(),
        outcome: SendOutcome::NoAnswer { reason: "none".into() },
    };
    let mut core = sending(&[]);
    core.handle(0, ready(9));
    let all: Vec<i64> = (1..11).collect();
    let mut now = 1;
    let mut actions = core.handle(now, alike(1..11));
    for input in [unanswered(&all), forbidden(&all), unanswered(&all), forbidden(&all), forbidden(&all)] {
        assert_eq!(calls(&actions), std::slice::from_ref(&all));
        actions = core.handle(now, input);
        assert!(
            outcomes(&actions).iter().all(|(_, outcome)| matches!(outcome, WriteOutcome::Later { .. })),
            "{actions:?}"
        );
        let frozen = ReadyEdits { edits: all.clone(), kind: Kind::Task, is_frozen: true, bytes: 1000 };
        core.handle(now, Event::EditsPlanned { ready: vec![frozen], has_open_edits: true });
        now = core.wake_at().unwrap();
        actions = core.handle(now, Event::Timer);
    }
    let actions = core.handle(now, forbidden(&all));
    assert!(outcomes(&actions).iter().all(|(_, outcome)| *outcome == WriteOutcome::SendAlone), "{actions:?}");
    assert_eq!(calls(&core.handle(now, alike(1..11))), [[1], [2]]);
}

#[test]
fn refusals_count_when_the_first_edit_is_settled() {
    let mut core = sending(&[]);
    core.handle(0, ready(9));
    let mut actions = core.handle(1, alike(1..11));
    // Each time, the feed has confirmed the first edit of the request before the request leaves.
    for first in 1..4 {
        let (sent, carried): (Vec<i64>, Vec<i64>) = ((first..11).collect(), (first + 1..11).collect());
        assert_eq!(calls(&actions), std::slice::from_ref(&sent));
        let page = Refusal { message: "something between".into(), ..refusal(403, "") };
        let outcome = SendOutcome::Refused(page);
        actions = core.handle(1, Event::SendCompleted { sent, carried: carried.clone(), outcome });
        let is_split = outcomes(&actions).iter().all(|(_, outcome)| *outcome == WriteOutcome::SendAlone);
        assert_eq!(is_split, first == 3, "{first}: {actions:?}");
        let frozen = ReadyEdits { edits: carried, kind: Kind::Task, is_frozen: true, bytes: 1000 };
        core.handle(1, Event::EditsPlanned { ready: vec![frozen], has_open_edits: true });
        actions = core.handle(1, retry_now());
    }
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
    let applied = Event::BatchApplied {
        cursor: None,
        position: 10,
        has_id_gap: false,
        affects_edits: false,
        confirms_edits: false,
    };
    assert!(ended(&core.handle(2, applied)));
}

#[test]
fn missing_scope_does_not_stop_until_current() {
    let mut core = opened(Until::Current);
    core.handle(0, Event::EditsChanged);
    core.handle(0, planned(&[1], true));
    core.handle(1, key_refused(1, "insufficient_scope"));
    core.handle(1, planned(&[1], true));
    core.handle(2, ready(10));
    let applied = Event::BatchApplied {
        cursor: None,
        position: 10,
        has_id_gap: false,
        affects_edits: false,
        confirms_edits: false,
    };
    let actions = core.handle(2, applied);
    assert!(actions.contains(&Action::Finish(EndReason::Done)), "{actions:?}");
}

#[test]
fn missing_scope_is_forgotten_with_its_edit() {
    let mut core = sending(&[1, 2]);
    core.handle(1, key_refused(1, "insufficient_scope"));
    core.handle(2, Event::EditsChanged);
    assert_eq!(phases(&core.handle(2, planned(&[3], true))), [Phase::CatchingUp], "with other edits in flight");
}

#[test]
fn id_collision_fetches_the_record() {
    let mut core = sending(&[1, 2]);
    let taken = || refusal(409, "already_exists");
    let actions = core.handle(1, refused(1, taken()));
    assert!(actions.contains(&Action::Request(Request::FetchRecord { edit: 1 })), "{actions:?}");
    assert!(sent(&core.handle(1, planned(&[1, 2], true))).is_empty(), "the record is being fetched");
    let actions = core.handle(1, Event::RecordFetched { edit: 1, existing: ExistingRecord::SameValues { rev: 4 } });
    assert_eq!(outcomes(&actions), [(1, WriteOutcome::Exists { rev: 4 })]);
    core.handle(1, refused(2, taken()));
    let actions = core.handle(1, Event::RecordFetched { edit: 2, existing: ExistingRecord::Different });
    assert!(matches!(outcomes(&actions)[..], [(2, WriteOutcome::Conflict { .. })]), "{actions:?}");
}

#[test]
fn id_collision_is_forgotten_on_contact() {
    let mut core = sending(&[1, 2]);
    for edit in [1, 2] {
        core.handle(1, refused(edit, refusal(409, "already_exists")));
    }
    core.handle(1, ready(9));
    core.handle(2, Event::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    core.handle(at, Event::Timer);
    greet(&mut core, at);
    core.handle(at, Event::StreamOpened);
    assert_eq!(sent(&core.handle(at, planned(&[1, 2], true))), [2], "the create is repeated");
    let nothing = ExistingRecord::Unknown(Failure::NoAnswer("too late".into()));
    let actions = core.handle(at, Event::RecordFetched { edit: 1, existing: nothing });
    assert!(!actions.contains(&Action::Request(Request::FetchRecord { edit: 2 })), "{actions:?}");
}

#[test]
fn outdated_edit_waits_for_the_feed() {
    let mut core = sending(&[1]);
    let actions = core.handle(1, refused(1, refusal(412, "precondition_failed")));
    assert_eq!(outcomes(&actions), [(1, WriteOutcome::PreconditionFailed)]);
    core.handle(1, planned(&[], true));
    assert_eq!(core.wake_at(), core.transport_due_at(), "only the stream needs a timer");
    let actions = core.handle(
        2,
        Event::BatchApplied {
            cursor: None,
            position: 0,
            has_id_gap: false,
            affects_edits: true,
            confirms_edits: false,
        },
    );
    assert!(actions.contains(&Action::PlanEdits));
    assert_eq!(sent(&core.handle(2, planned(&[1], true))), [1]);
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

#[test]
fn confirmed_edit_is_planned_after_its_answer() {
    let mut core = sending(&[1]);
    let found = || Event::BatchApplied {
        cursor: None,
        position: 0,
        has_id_gap: false,
        affects_edits: false,
        confirms_edits: true,
    };
    let actions = core.handle(1, found());
    assert!(!actions.contains(&Action::PlanEdits), "{actions:?}");
    let actions = core.handle(2, accepted(1, 9));
    assert!(actions.contains(&Action::PlanEdits), "edits behind the edit may be sent");
    core.handle(2, planned(&[], true));
    // With no answer awaited, the plan follows at once.
    assert!(core.handle(3, found()).contains(&Action::PlanEdits));
}

#[test]
fn many_edits_form_bulk_calls() {
    let mut core = sending(&[]);
    let actions = core.handle(1, alike(1..121));
    assert_eq!(calls(&actions).iter().map(Vec::len).collect::<Vec<_>>(), [50, 50, 20]);
    let first: Vec<i64> = (1..51).collect();
    let responses = first.iter().map(|edit| match edit {
        7 => (7, EditResponse::Refused(refusal(422, "validation_failed"))),
        9 => (9, EditResponse::Refused(refusal(412, "precondition_failed"))),
        edit => (*edit, EditResponse::Accepted { rev: Some(100 + edit) }),
    });
    let outcome = SendOutcome::Answered(responses.collect());
    let actions = core.handle(2, Event::SendCompleted { sent: first.clone(), carried: first, outcome });
    let ends = outcomes(&actions);
    assert_eq!(ends[0], (1, WriteOutcome::Sent { rev: Some(101) }));
    assert!(matches!(ends[6], (7, WriteOutcome::Rejected { .. })));
    assert_eq!(ends[8], (9, WriteOutcome::PreconditionFailed));
}

#[test]
fn bulk_calls_are_refilled_at_half() {
    let mut core = sending(&[]);
    let first = calls(&core.handle(1, alike(1..961)));
    assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), [50; 16]);
    for (number, call) in first.iter().take(8).enumerate() {
        let responses = call.iter().map(|edit| (*edit, EditResponse::Accepted { rev: Some(*edit) })).collect();
        let outcome = SendOutcome::Answered(responses);
        let actions = core.handle(2, Event::SendCompleted { sent: call.clone(), carried: call.clone(), outcome });
        assert!(!actions.contains(&Action::PlanEdits), "enough edits are ready");
        let more: Vec<usize> = calls(&actions).iter().map(Vec::len).collect();
        assert_eq!(more, if number < 7 { vec![] } else { vec![50, 50, 50, 10] }, "refilled at half");
    }
}

#[test]
fn large_edits_fit_a_slow_line() {
    let mut core = sending(&[]);
    let long = |edit| ReadyEdits { edits: vec![edit], kind: Kind::Room, is_frozen: false, bytes: 9_100 };
    let planned = Event::EditsPlanned { ready: (1..43).map(long).collect(), has_open_edits: true };
    let first = calls(&core.handle(1, planned));
    // At 10 kB/s these calls take 38 s, and the server waits 30 s.
    assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), [7; 6]);
    // The calls are repeated with the same bytes, but one at a time.
    for call in &first {
        core.handle(2, no_answer(call));
    }
    let at = core.wake_at().unwrap();
    assert_eq!(calls(&core.handle(at, Event::Timer)).iter().map(Vec::len).collect::<Vec<_>>(), [7]);
    // New edits do not add to the load.
    let more = (50..100).map(long).collect();
    let more = calls(&core.handle(at, Event::EditsPlanned { ready: more, has_open_edits: true }));
    assert_eq!(more.iter().map(Vec::len).collect::<Vec<_>>(), [7]);
    // A request above the limit is sent alone.
    let mut core = sending(&[]);
    let huge = |edit| ReadyEdits { edits: vec![edit], kind: Kind::Room, is_frozen: false, bytes: 200_000 };
    let planned = Event::EditsPlanned { ready: (1..9).map(huge).collect(), has_open_edits: true };
    assert_eq!(calls(&core.handle(1, planned)), [[1]]);
    assert_eq!(calls(&core.handle(2, accepted(1, 9))), [[2]]);
}

#[test]
fn few_edits_are_sent_singly() {
    let mut core = sending(&[]);
    assert_eq!(calls(&core.handle(1, alike(1..5))), [[1], [2]]);
}

#[test]
fn refused_bulk_call_is_split() {
    let mut core = sending(&[]);
    core.handle(1, alike(1..11));
    let all: Vec<i64> = (1..11).collect();
    let outcome = SendOutcome::Refused(refusal(422, "validation_failed"));
    let actions = core.handle(2, Event::SendCompleted { sent: all.clone(), carried: all.clone(), outcome });
    assert!(outcomes(&actions).iter().all(|(_, outcome)| *outcome == WriteOutcome::SendAlone));
    assert!(actions.contains(&Action::PlanEdits));
    assert_eq!(calls(&core.handle(2, alike(1..11))), [[1], [2]]);
    assert_eq!(calls(&core.handle(3, accepted(1, 9))), [[3]]);
}

#[test]
fn unanswered_bulk_call_keeps_its_edits() {
    let mut core = sending(&[]);
    core.handle(1, alike(1..11));
    let all: Vec<i64> = (1..11).collect();
    core.handle(2, no_answer(&all));
    let at = core.wake_at().unwrap();
    let actions = core.handle(at, Event::Timer);
    assert_eq!(calls(&actions), std::slice::from_ref(&all));
    // 429 delays bulk calls only; single edits continue.
    let limited = Refusal { retry_after: Some(30_000), ..refusal(429, "rate_limited") };
    core.handle(
        at,
        Event::SendCompleted { sent: all.clone(), carried: all.clone(), outcome: SendOutcome::Refused(limited) },
    );
    let wake = next_due(&mut core);
    assert!(wake >= at + 30_000, "{wake}");
    core.handle(at, Event::EditsChanged);
    let mut ready: Vec<ReadyEdits> =
        vec![ReadyEdits { edits: all.clone(), kind: Kind::Task, is_frozen: true, bytes: 1000 }];
    ready.push(ReadyEdits { edits: vec![11], kind: Kind::Task, is_frozen: false, bytes: 100 });
    assert_eq!(calls(&core.handle(at, Event::EditsPlanned { ready, has_open_edits: true })), [[11]]);
    core.handle(at, accepted(11, 5));
    assert_eq!(calls(&core.handle(wake, Event::Timer)), [all]);
}

#[test]
fn backlog_respects_bulk_limit() {
    let mut core = Core::new(Until::Stopped, 7);
    core.handle(0, begun(false));
    let limits = Some(Limits { reads: 300, writes: 60, bulk: 2 });
    let identity = Identity {
        home_id: "home".into(),
        home_name: "Home".into(),
        environment: "live".into(),
        scopes: vec![],
        limits,
    };
    core.handle(0, Event::IdentityReceived(Ok(identity)));
    core.handle(0, Event::FeedHeadReceived(Ok(FeedHead::default())));
    core.handle(0, Event::StreamOpened);
    assert_eq!(calls(&core.handle(1, alike(1..201))).len(), 2);
    for first in [1, 51] {
        let edits: Vec<i64> = (first..first + 50).collect();
        let responses = edits.iter().map(|edit| (*edit, EditResponse::Accepted { rev: Some(*edit) })).collect();
        let actions = core.handle(
            2,
            Event::SendCompleted { sent: edits.clone(), carried: edits, outcome: SendOutcome::Answered(responses) },
        );
        assert!(calls(&actions).is_empty(), "single writes stay free");
    }
    let at = next_due(&mut core);
    assert!((60_000..62_000).contains(&at), "{at}");
    assert_eq!(calls(&core.handle(at, Event::Timer)).len(), 2);
}

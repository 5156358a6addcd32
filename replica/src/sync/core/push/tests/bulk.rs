//! Bulk calls: which edits share a call, the size and number of calls, and calls that are refused as a whole.

use super::*;

fn is_split(actions: &[Action]) -> bool {
    outcomes(actions).iter().all(|(_, outcome)| *outcome == WriteOutcome::SendAlone)
}

#[test]
fn edits_forbidden_by_a_proxy_are_split() {
    let mut scene = sending(&[1, 2, 3]);
    let actions = scene.handle(1, completed(&[1], page()));
    let [(1, WriteOutcome::Later { pause: Some(pause), reason, .. })] = &outcomes(&actions)[..] else {
        panic!("{actions:?}")
    };
    assert_eq!((reason.as_str(), sent(&actions)), ("something between", vec![3]));
    assert_eq!(scene.push.key_refusal, None);
    scene.handle(1, accepted(2));
    scene.handle(1, accepted(3));
    scene.handle(1, planned(&[1]));
    assert_eq!(sent(&scene.timer(1 + pause)), [1], "the next attempt");

    // A refused bulk call is repeated with the same bytes, then split. Missing answers do not count as refusals.
    let mut scene = sending(&[]);
    let all: Vec<i64> = (1..11).collect();
    let mut now = 1;
    let mut actions = scene.handle(now, alike(1..11));
    let forbidden = || completed(&all, page());
    for input in [no_answer(&all), forbidden(), no_answer(&all), forbidden(), forbidden()] {
        assert_eq!(calls(&actions), std::slice::from_ref(&all));
        assert!(!is_split(&scene.handle(now, input)));
        scene.handle(now, plan_of(vec![frozen(&all)]));
        now = scene.wake_at();
        actions = scene.timer(now);
    }
    assert!(is_split(&scene.handle(now, forbidden())));
    assert_eq!(calls(&scene.handle(now, alike(1..11))), [[1], [2]]);
}

#[test]
fn refusals_count_when_the_first_edit_is_settled() {
    let mut scene = sending(&[]);
    let mut actions = scene.handle(1, alike(1..11));
    // Each time, the feed has confirmed the first edit of the request before the request leaves.
    for first in 1..4 {
        let (sent, carried): (Vec<i64>, Vec<i64>) = ((first..11).collect(), (first + 1..11).collect());
        assert_eq!(calls(&actions), std::slice::from_ref(&sent));
        actions = scene.handle(1, Input::Completed { sent, carried: carried.clone(), answer: page(), is_stale: false });
        assert_eq!(is_split(&actions), first == 3, "{first}: {actions:?}");
        scene.handle(1, plan_of(vec![frozen(&carried)]));
        actions = scene.handle(1, Input::RetryNow);
    }
}

#[test]
fn many_edits_form_bulk_calls() {
    assert_eq!(calls(&sending(&[]).handle(1, alike(1..5))), [[1], [2]], "few edits arrive sooner one by one");
    let mut scene = sending(&[]);
    let actions = scene.handle(1, alike(1..121));
    assert_eq!(calls(&actions).iter().map(Vec::len).collect::<Vec<_>>(), [50, 50, 20]);
    let first: Vec<i64> = (1..51).collect();
    let responses = first.iter().map(|edit| match edit {
        7 => (7, Err(refusal(422, "validation_failed"))),
        9 => (9, Err(refusal(412, "precondition_failed"))),
        edit => (*edit, Ok(Some(100 + edit))),
    });
    let actions = scene.handle(2, completed(&first, Ok(responses.collect())));
    let ends = outcomes(&actions);
    assert_eq!(ends[0], (1, WriteOutcome::Sent { rev: Some(101) }));
    assert!(matches!(ends[6], (7, WriteOutcome::Rejected { .. })));
    assert_eq!(ends[8], (9, WriteOutcome::PreconditionFailed));
}

#[test]
fn bulk_calls_are_refilled_at_half() {
    let mut scene = sending(&[]);
    let first = calls(&scene.handle(1, alike(1..961)));
    assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), [50; 16]);
    for (number, call) in first.iter().take(8).enumerate() {
        let actions = scene.handle(2, all_accepted(call));
        assert!(!actions.contains(&Action::PlanEdits), "enough edits are ready");
        let more: Vec<usize> = calls(&actions).iter().map(Vec::len).collect();
        assert_eq!(more, if number < 7 { vec![] } else { vec![50, 50, 50, 10] }, "refilled at half");
    }
}

#[test]
fn large_edits_fit_a_slow_line() {
    let mut scene = sending(&[]);
    let long = |edit| ReadyEdits { kind: Kind::Room, bytes: 9_100, ..one(edit) };
    let planned = plan_of((1..43).map(long).collect());
    let first = calls(&scene.handle(1, planned));
    // At 10 kB/s these calls take 38 s, and the server waits 30 s.
    assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), [7; 6]);
    // The calls are repeated with the same bytes, but one at a time.
    for call in &first {
        scene.handle(2, no_answer(call));
    }
    let at = scene.wake_at();
    assert_eq!(calls(&scene.timer(at)).iter().map(Vec::len).collect::<Vec<_>>(), [7]);
    // New edits do not add to the load.
    let more = (50..100).map(long).collect();
    let more = calls(&scene.handle(at, plan_of(more)));
    assert_eq!(more.iter().map(Vec::len).collect::<Vec<_>>(), [7]);
    // A request above the limit is sent alone.
    let mut scene = sending(&[]);
    let huge = |edit| ReadyEdits { kind: Kind::Room, bytes: 200_000, ..one(edit) };
    let planned = plan_of((1..9).map(huge).collect());
    assert_eq!(calls(&scene.handle(1, planned)), [[1]]);
    assert_eq!(calls(&scene.handle(2, accepted(1))), [[2]]);
}

#[test]
fn refused_bulk_call_is_split() {
    let mut scene = sending(&[]);
    scene.handle(1, alike(1..11));
    let all: Vec<i64> = (1..11).collect();
    let actions = scene.handle(2, completed(&all, Err(Failure::Refused(refusal(422, "validation_failed")))));
    assert!(is_split(&actions) && actions.contains(&Action::PlanEdits));
    assert_eq!(calls(&scene.handle(2, alike(1..11))), [[1], [2]]);
    assert_eq!(calls(&scene.handle(3, accepted(1))), [[3]]);
}

#[test]
fn unanswered_bulk_call_keeps_its_edits() {
    let mut scene = sending(&[]);
    scene.handle(1, alike(1..11));
    let all: Vec<i64> = (1..11).collect();
    scene.handle(2, no_answer(&all));
    let at = scene.wake_at();
    assert_eq!(calls(&scene.timer(at)), std::slice::from_ref(&all));
    // 429 delays bulk calls only; single edits continue.
    let limited = Refusal { retry_after: Some(30_000), ..refusal(429, "rate_limited") };
    scene.handle(at, completed(&all, Err(Failure::Refused(limited))));
    let wake = scene.wake_at();
    assert!(wake >= at + 30_000, "{wake}");
    scene.handle(at, Input::EditsChanged);
    let single = ReadyEdits { kind: Kind::Task, ..one(11) };
    assert_eq!(calls(&scene.handle(at, plan_of(vec![frozen(&all), single]))), [[11]]);
    scene.handle(at, accepted(11));
    assert_eq!(calls(&scene.timer(wake)), [all]);
}

#[test]
fn backlog_respects_bulk_limit() {
    let mut scene = sending(&[]);
    scene.contact(0, Some(Limits { reads: 300, writes: 60, bulk: 2 }));
    assert_eq!(calls(&scene.handle(1, alike(1..201))).len(), 2);
    assert!(scene.push.wait.is_some_and(|wait| wait.is_limited));
    for first in [1, 51] {
        let edits: Vec<i64> = (first..first + 50).collect();
        assert!(calls(&scene.handle(2, all_accepted(&edits))).is_empty(), "single writes stay free");
    }
    let at = scene.wake_at();
    assert!((60_000..62_000).contains(&at), "{at}");
    assert_eq!(calls(&scene.timer(at)).len(), 2);
    // The backlog is on its way; nothing is held back.
    scene.handle(at, plan_of(vec![]));
    assert!(scene.push.wait.is_none());
}

//! Bulk calls: which edits share a call, the size and number of calls, and calls that are refused as a whole.

use super::*;
use crate::sync::core::status::RATE_LIMITED;

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
    let actions = core.handle(1, alike(1..201));
    assert_eq!(calls(&actions).len(), 2);
    assert_eq!(core.reason().as_deref(), Some(RATE_LIMITED), "{actions:?}");
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
    // The backlog is on its way; nothing is held back.
    core.handle(at, Event::EditsPlanned { ready: vec![], has_open_edits: true });
    assert_eq!(core.reason(), None);
}

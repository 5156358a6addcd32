//! Commands of a person: pause, resume, retry now, a new key, and the goal of a single run.

use super::*;

#[test]
fn pause_closes_the_stream_and_resume_greets() {
    let mut core = opened(Until::Stopped);
    let actions = core.handle(1, pause(true));
    assert_eq!((&actions[0], phases(&actions)), (&Action::CloseStream, vec![Phase::Paused]));
    assert_eq!(core.handle(2, pause(true)), []);
    assert_eq!(core.wake_at(), None);
    core.handle(3, Event::EditsChanged);
    assert!(sent(&core.handle(3, planned(&[1], true))).is_empty());
    let actions = core.handle(4, pause(false));
    assert_eq!(actions, [Action::Request(Request::Identity), Action::Request(Request::FeedHead)]);
    greet(&mut core, 5);
    assert_eq!(sent(&core.handle(5, Event::StreamOpened)), [1]);
}

#[test]
fn pause_survives_a_restart() {
    let began = |until| {
        let mut core = Core::new(until, 7);
        let mut actions = core.handle(0, first_start(true));
        actions.extend(core.handle(0, Event::ControlChanged { is_paused: true, reconcile: None, retry_now: false }));
        actions
    };
    assert_eq!(phases(&began(Until::Stopped)), [Phase::Paused]);
    assert!(began(Until::Pushed).contains(&Action::Finish(EndReason::Paused)));
}

#[test]
fn retry_now_waits_only_for_retry_after() {
    let again = [Action::Request(Request::Identity), Action::Request(Request::FeedHead)];
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    core.handle(10, Event::StreamEnded { reason: "gone".into() });
    assert!(core.handle(12, pause(false)).is_empty(), "no retry-now request");
    assert_eq!(core.handle(12, retry_now()), again);
    assert!(core.handle(13, retry_now()).is_empty(), "the greeting is under way");

    let mut core = started(Until::Stopped);
    let busy = Refusal { retry_after: Some(30_000), ..refusal(503, "busy") };
    core.handle(0, Event::StreamRefused(busy.clone()));
    core.handle(0, Event::Polled(Err(Failure::Refused(busy))));
    assert!(core.handle(29_999, retry_now()).is_empty(), "Retry-After");
    assert_eq!(core.handle(30_000, retry_now()), again);

    let mut core = started(Until::Stopped);
    core.handle(0, Event::StreamRefused(refusal(401, "invalid_api_key")));
    assert!(core.wake_at().is_some_and(|at| at >= 60_000));
    assert_eq!(core.handle(1, retry_now()), again, "the key may work again");
}

#[test]
fn new_key_greets_before_it_sends() {
    let mut core = opened(Until::Stopped);
    let refused = Event::StreamRefused(refusal(401, "invalid_api_key"));
    core.handle(1, Event::StreamEnded { reason: "cut".into() });
    core.handle(2, refused);
    assert!(core.wake_at().unwrap() > 50_000);
    let actions = core.handle(3, Event::KeyChanged);
    assert_eq!(actions, [Action::CloseStream, Action::Request(Request::Identity), Action::Request(Request::FeedHead)]);
    assert!(sent(&core.handle(3, planned(&[1], true))).is_empty());
    greet(&mut core, 4);
    assert_eq!(sent(&core.handle(4, Event::StreamOpened)), [1]);

    // The same while in contact: the key may belong to another home.
    let actions = core.handle(5, Event::KeyChanged);
    assert_eq!(actions, [Action::CloseStream, Action::Request(Request::Identity), Action::Request(Request::FeedHead)]);
    core.handle(6, pause(true));
    assert_eq!(core.handle(7, Event::KeyChanged), [], "the pause continues");
}

#[test]
fn single_run_ends_when_edits_are_confirmed() {
    let done = |actions: &[Action]| actions.contains(&Action::Finish(EndReason::Done));
    let mut core = opened(Until::Pushed);
    core.handle(0, Event::EditsChanged);
    core.handle(0, planned(&[1], true));
    core.handle(1, ready(9));
    assert!(!done(&core.handle(1, applied(0))));
    let actions = core.handle(2, accepted(1, 10));
    assert!(!done(&actions) && actions.contains(&Action::PlanEdits));
    assert!(!done(&core.handle(2, planned(&[], true))), "accepted, but not confirmed by the feed");
    core.handle(3, Event::StreamBatch(FeedBatch { cursor: Some("c10".into()), ..FeedBatch::default() }));
    let actions = core.handle(
        3,
        Event::BatchApplied {
            cursor: None,
            position: 0,
            has_id_gap: false,
            affects_edits: true,
            confirms_edits: false,
        },
    );
    assert_eq!(actions, [Action::PlanEdits]);
    assert!(done(&core.handle(3, planned(&[], false))));

    let mut core = opened(Until::Current);
    core.handle(0, ready(9));
    assert!(done(&core.handle(0, applied(0))));
}

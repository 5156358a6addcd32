//! Streams that are refused or cut: how soon the next stream follows, and when polls fill the pause.

use super::*;

/// A poll that finds nothing after the cursor.
pub(super) fn nothing_new() -> Event {
    Event::Polled(Ok(FeedBatch { end: present(9), cursor: Some("c9".into()), ..FeedBatch::default() }))
}

/// The database has applied a batch up to position 9.
pub(super) fn applied() -> Event {
    applied_to(9)
}

/// The database has applied a batch up to a position.
pub(super) fn applied_to(position: i64) -> Event {
    Event::BatchApplied { cursor: None, position, has_id_gap: false, affects_edits: false, confirms_edits: false }
}

/// The reason, if a batch of a poll is applied as the present.
pub(super) fn polling(actions: &[Action]) -> Option<String> {
    actions.iter().find_map(|action| match action {
        Action::ApplyBatch { phase: Phase::Polling, transport: Transport::Poll, is_current: true, reason, .. } => {
            reason.clone()
        }
        _ => None,
    })
}

/// A response of a proxy.
fn page(status: u16) -> Refusal {
    Refusal { message: format!("the server answered {status}"), ..refusal(status, "") }
}

fn too_many(retry_after: Millis) -> Event {
    Event::StreamRefused(Refusal { retry_after: Some(retry_after), ..refusal(429, "too_many_streams") })
}

fn cut() -> Event {
    Event::StreamEnded { reason: "cut".into() }
}

pub(super) fn greets(actions: &[Action]) -> bool {
    actions.contains(&Action::Request(Request::Identity))
}

pub(super) fn opens(actions: &[Action]) -> bool {
    actions.iter().any(|action| matches!(action, Action::OpenStream { .. }))
}

/// Answers greetings and polls until a stream is requested. Returns the time, and how many polls were sent.
fn until_next_stream(core: &mut Core, mut now: Millis, mut actions: Vec<Action>) -> (Millis, usize) {
    let mut sent = 0;
    while !opens(&actions) {
        if greets(&actions) {
            actions = greet(core, now);
        } else if polls(&actions) > 0 {
            sent += polls(&actions);
            core.handle(now, nothing_new());
            actions = core.handle(now, applied());
        } else {
            now = core.wake_at().unwrap();
            actions = core.handle(now, Event::Timer);
        }
    }
    (now, sent)
}

#[test]
fn cut_stream_is_opened_again_within_a_second() {
    for head_came in [true, false] {
        let mut core = opened(Until::Stopped);
        if head_came {
            core.handle(0, ready(9));
        }
        let actions = core.handle(60_000, cut());
        assert_eq!((polls(&actions), phases(&actions)), (0, vec![Phase::Offline]));
        let (again, polls) = until_next_stream(&mut core, 60_000, actions);
        assert!(again < 60_000 + BACKOFF_FIRST && polls == 0, "{again}, {polls} polls");
    }
}

#[test]
fn stream_refused_once_is_opened_again() {
    let inputs = [page(504), page(404), page(403), refusal(429, "rate_limited"), refusal(503, "unavailable")];
    for input in inputs.map(Event::StreamRefused).into_iter().chain([cut()]) {
        let mut core = started(Until::Stopped);
        let actions = core.handle(0, input);
        let (again, polls) = until_next_stream(&mut core, 0, actions);
        assert!(again < BACKOFF_FIRST && polls == 0, "{again}, {polls} polls");
    }
    let mut core = started(Until::Stopped);
    let actions = core.handle(0, too_many(3_000));
    assert_eq!(until_next_stream(&mut core, 0, actions), (3_000, 0), "Retry-After is the least");
}

#[test]
fn three_cuts_do_not_lead_to_polls() {
    let mut core = opened(Until::Stopped);
    let mut now = 0;
    for _ in 0..3 {
        core.handle(now, ready(9));
        let actions = core.handle(now, cut());
        let polls;
        (now, polls) = until_next_stream(&mut core, now, actions);
        assert_eq!(polls, 0);
        core.handle(now, Event::StreamOpened);
    }
    assert!(now < 3_500, "{now}");
    assert!(matches!(core.handle(now, ready(9))[..], [Action::ApplyBatch { phase: Phase::Live, .. }]));
}

#[test]
fn stream_cut_each_time_is_opened_less_often() {
    let mut core = opened(Until::Stopped);
    let (mut now, mut streams, mut polled) = (0, 0, 0);
    while now < 600_000 {
        core.handle(now, ready(9));
        let actions = core.handle(now + 50, cut());
        let sent;
        (now, sent) = until_next_stream(&mut core, now + 50, actions);
        core.handle(now, Event::StreamOpened);
        (streams, polled) = (streams + 1, polled + sent);
    }
    assert!((10..60).contains(&streams), "{streams} streams");
    assert!(polled > 60, "polls fill the long pauses: {polled}");
    // A stable stream is opened again at once.
    core.handle(now, ready(9));
    let actions = core.handle(now + 5_000, cut());
    let (again, _) = until_next_stream(&mut core, now + 5_000, actions);
    assert!(again < now + 5_000 + BACKOFF_FIRST);
}

#[test]
fn refused_streams_are_polled_after_ten_seconds() {
    let mut core = started(Until::Stopped);
    let mut actions = core.handle(0, Event::StreamRefused(page(502)));
    let mut now = 0;
    let first_poll = loop {
        if polls(&actions) > 0 {
            break now;
        }
        now = core.wake_at().unwrap();
        actions = core.handle(now, Event::Timer);
        if greets(&actions) {
            greet(&mut core, now);
            actions = core.handle(now, Event::StreamRefused(page(502)));
        }
    };
    assert!(first_poll <= 10_000, "{first_poll}");
    let actions = core.handle(now, nothing_new());
    assert!(matches!(actions[0], Action::CloseStream | Action::SaveContact { .. }), "{actions:?}");
    assert!(polling(&actions).is_some_and(|why| why.contains("502")), "{actions:?}");
    assert_eq!(sent(&core.handle(now, planned(&[1], true))), [1], "the cursor was accepted");
    core.handle(now, accepted(1, 9));
    core.handle(now, planned(&[], false));
    // From now on polls go on through each refused stream, and no contact is lost.
    for _ in 0..5 {
        let (asked, _) = until_next_stream(&mut core, now, Vec::new());
        assert!(asked - now <= 60_000, "{asked}");
        now = asked;
        let actions = core.handle(now, Event::StreamRefused(page(502)));
        assert_eq!((polls(&actions), phases(&actions)), (1, vec![]), "{actions:?}");
        core.handle(now, nothing_new());
        core.handle(now, applied());
        assert!(core.wake_at().unwrap() <= now + 5_000, "a change is seen within 5 s");
    }
    // A stream that works again replaces the polls at once, without a new greeting.
    let (now, _) = until_next_stream(&mut core, now, Vec::new());
    core.handle(now, Event::StreamOpened);
    let actions = core.handle(now, ready(9));
    let live = |e: &Action| {
        matches!(e, Action::ApplyBatch { phase: Phase::Live, transport: Transport::Stream, reason: None, .. })
    };
    assert!(actions.iter().any(live), "{actions:?}");
}

#[test]
fn long_retry_after_is_filled_with_polls() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    core.handle(20_000, cut());
    core.handle(core.wake_at().unwrap(), Event::Timer);
    greet(&mut core, 21_000);
    let actions = core.handle(21_000, too_many(180_000));
    assert_eq!(polls(&actions), 1, "{actions:?}");
    let actions = core.handle(21_000, nothing_new());
    assert!(polling(&actions).is_some_and(|why| why.contains("too_many_streams")), "{actions:?}");
    let mut last = 21_000;
    for _ in 0..30 {
        let at = core.wake_at().unwrap();
        assert_eq!((at - last, polls(&core.handle(at, Event::Timer))), (5_000, 1));
        core.handle(at, nothing_new());
        last = at;
    }
    // Polls that fail do not bring the stream forward, and neither does a person.
    core.handle(last + 5_000, Event::Timer);
    core.handle(last + 5_000, Event::Polled(Err(Failure::NoAnswer("cut".into()))));
    assert!(greets(&core.handle(last + 5_000, retry_now())));
    let actions = greet(&mut core, last + 5_000);
    assert_eq!((opens(&actions), polls(&actions)), (false, 1), "{actions:?}");
    let actions = core.handle(last + 5_000, nothing_new());
    assert!(matches!(actions[0], Action::SaveContact { .. }), "polls are contact: {actions:?}");
    assert_eq!(until_next_stream(&mut core, last + 5_000, Vec::new()).0, 201_000);
    // The pause does not apply to another key.
    let mut core = started(Until::Stopped);
    core.handle(0, too_many(180_000));
    core.handle(1, Event::KeyChanged);
    assert!(opens(&greet(&mut core, 2)));
}

#[test]
fn single_run_polls_while_the_stream_waits() {
    for input in [too_many(1_000), Event::StreamRefused(page(403)), cut()] {
        let mut core = started(Until::Current);
        assert_eq!(polls(&core.handle(1, input)), 1);
        assert!(polling(&core.handle(2, nothing_new())).is_some());
        assert!(core.handle(2, applied()).contains(&Action::Finish(EndReason::Done)));
    }
    // Between the batches of a cut backfill, too: the rest comes by polls until the next stream.
    let mut core = opened(Until::Current);
    core.handle(1, Event::StreamBatch(FeedBatch { events: vec![event(2)], ..FeedBatch::default() }));
    let actions = core.handle(2, cut());
    assert!(greets(&actions), "{actions:?}");
    assert_eq!(polls(&greet(&mut core, 2)), 1);
}

#[test]
fn poll_waits_for_edits_in_flight() {
    let mut core = started(Until::Stopped);
    core.handle(0, too_many(600_000));
    core.handle(0, nothing_new());
    core.handle(0, applied());
    assert_eq!(sent(&core.handle(1, planned(&[1], true))), [1]);
    assert_eq!(core.wake_at(), Some(20_000), "a poll would make the answer stale");
    core.handle(2_000, accepted(1, 10));
    core.handle(2_000, planned(&[], true));
    assert_eq!(
        (core.wake_at(), polls(&core.handle(2_000, Event::Timer))),
        (Some(2_000), 1),
        "the edit's event is there"
    );
}

#[test]
fn refused_key_or_cursor_is_not_polled() {
    let ends = |kind: &str, status| {
        let mut core = started(Until::Stopped);
        let actions = core.handle(1, Event::StreamRefused(refusal(status, kind)));
        assert_eq!(polls(&actions), 0, "{actions:?}");
        phases(&actions)
    };
    assert_eq!(ends("invalid_api_key", 401), [Phase::NeedsKey]);
    assert_eq!(ends("insufficient_scope", 403), [Phase::NeedsKey]);
    assert_eq!(ends("invalid_cursor", 400), [Phase::Blocked]);
}

#[test]
fn unreachable_server_is_asked_less_often() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    core.handle(0, cut());
    let (mut now, mut longest) = (0, 0);
    for _ in 0..40 {
        let at = core.wake_at().unwrap();
        assert!(at - now < BACKOFF_MAX);
        longest = longest.max(at - now);
        now = at;
        assert!(greets(&core.handle(now, Event::Timer)));
        core.handle(now, Event::IdentityReceived(Err(Failure::NoAnswer("refused".into()))));
    }
    assert!(longest > 10_000, "{longest}");
    let floor = Refusal { retry_after: Some(70_000), ..refusal(429, "rate_limited") };
    now = core.wake_at().unwrap();
    core.handle(now, Event::Timer);
    core.handle(now, Event::IdentityReceived(Err(Failure::Refused(floor))));
    assert!(core.wake_at().unwrap() >= now + 70_000);
}

#[test]
fn foreign_403_is_offline() {
    let mut core = Core::new(Until::Stopped, 7);
    core.handle(0, begun(false));
    let actions = core.handle(1, Event::IdentityReceived(Err(Failure::Refused(page(403)))));
    assert_eq!(phases(&actions), [Phase::Offline]);
    assert!(core.wake_at().unwrap() < BACKOFF_FIRST + 1, "the network's own pauses");
}

#[test]
fn poll_that_ends_before_an_accepted_edit_greets_again() {
    let finds = |head| Event::Polled(Ok(FeedBatch { end: present(head), ..FeedBatch::default() }));
    let polling = || {
        let mut core = started(Until::Stopped);
        core.handle(0, too_many(600_000));
        core.handle(11_000, Event::Timer);
        core.handle(11_000, nothing_new());
        core.handle(11_000, applied());
        core.handle(11_000, planned(&[1], false));
        core
    };
    // The server was restored between two polls, and has lost the edit.
    let mut core = polling();
    core.handle(11_100, accepted(1, 12));
    assert_eq!(polls(&core.handle(11_100, Event::Timer)), 1);
    assert!(phases(&core.handle(11_200, finds(11))).contains(&Phase::Offline));
    // The edit was accepted after the poll was sent.
    let mut core = polling();
    assert_eq!(polls(&core.handle(40_000, Event::Timer)), 1);
    core.handle(40_100, accepted(1, 12));
    assert!(!phases(&core.handle(40_200, finds(11))).contains(&Phase::Offline));
}

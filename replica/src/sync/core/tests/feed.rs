//! Streams that are refused, cut, delayed or filled with comments, and what polls prove.

use super::*;

fn nothing_new() -> Event {
    Event::Polled(Ok(FeedBatch { end: present(9), cursor: Some("c9".into()), ..FeedBatch::default() }))
}

/// The reason, if a batch of a poll is applied as the present.
fn polling(actions: &[Action]) -> Option<String> {
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

fn asks_for_a_stream(actions: &[Action]) -> bool {
    actions.contains(&Action::Request(Request::Identity))
}

#[test]
fn refused_stream_is_replaced_by_polls() {
    let refused = |refusal| Event::StreamRefused(refusal);
    let ended = || Event::StreamEnded { reason: "the connection broke".into() };
    let too_many = Refusal { retry_after: Some(5_000), ..refusal(429, "too_many_streams") };
    for input in [refused(page(504)), refused(page(404)), refused(page(403)), refused(too_many), ended()] {
        let mut core = started(Until::Stopped);
        let actions = core.handle(20_000, input);
        assert_eq!((actions[0] == Action::CloseStream, polls(&actions)), (true, 1), "{actions:?}");
        let actions = core.handle(20_001, nothing_new());
        assert!(matches!(actions[0], Action::SaveContact { .. }), "{actions:?}");
        assert!(polling(&actions).is_some(), "an empty poll: {actions:?}");
        assert_eq!(sent(&core.handle(20_002, planned(&[1], true))), [1], "the cursor was accepted");
    }
    // A stream that opens and ends without a batch is polled too.
    let mut core = opened(Until::Current);
    assert_eq!(polls(&core.handle(1, ended())), 1);
    assert!(polling(&core.handle(2, nothing_new())).is_some());
    assert!(core.handle(2, applied(9)).contains(&Action::Finish(EndReason::Done)));
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
fn refused_stream_is_retried_less_often() {
    let mut core = started(Until::Stopped);
    let mut refused_at = 0;
    let mut pauses = Vec::new();
    for round in 0..8 {
        let retry_after = (round == 7).then_some(900_000);
        core.handle(refused_at, Event::StreamRefused(Refusal { retry_after, ..refusal(429, "too_many_streams") }));
        core.handle(refused_at, nothing_new());
        core.handle(refused_at, applied(9));
        let mut polled = 0;
        let again = loop {
            let at = core.wake_at().unwrap();
            let actions = core.handle(at, Event::Timer);
            if asks_for_a_stream(&actions) {
                break at;
            }
            polled += polls(&actions);
            core.handle(at, nothing_new());
            core.handle(at, applied(9));
        };
        assert!(polled > 0, "polls continue in between");
        pauses.push(again - refused_at);
        greet(&mut core, again);
        refused_at = again;
    }
    assert!((30_000..60_000).contains(&pauses[0]), "{pauses:?}");
    assert!((600_000..630_000).contains(&pauses[6]), "{pauses:?}");
    assert!((900_000..930_000).contains(&pauses[7]), "{pauses:?}");
    // After a stable stream the first pause applies again.
    core.handle(refused_at, Event::StreamOpened);
    core.handle(refused_at, ready(9));
    let at = cut(&mut core, refused_at + STABLE_AFTER);
    greet(&mut core, at);
    core.handle(at, Event::StreamRefused(page(502)));
    core.handle(at, nothing_new());
    while !asks_for_a_stream(&core.handle(core.wake_at().unwrap(), Event::Timer)) {
        assert!(core.wake_at().is_none(), "a poll is pending");
        core.handle(at + 20_000, nothing_new());
    }
}

#[test]
fn retry_after_of_streams_outlives_failed_polls() {
    let refused = || {
        let mut core = started(Until::Stopped);
        let too_many = Refusal { retry_after: Some(600_000), ..refusal(429, "too_many_streams") };
        core.handle(0, Event::StreamRefused(too_many));
        core
    };
    let mut core = refused();
    let mut now = 0;
    for _ in 0..8 {
        core.handle(now, Event::Polled(Err(Failure::NoAnswer("cut".into()))));
        // A retry-now request does not request a stream earlier.
        assert!(asks_for_a_stream(&core.handle(now, retry_now())));
        let actions = greet(&mut core, now);
        let opens = actions.iter().any(|action| matches!(action, Action::OpenStream { .. }));
        assert_eq!((opens, polls(&actions)), (false, 1), "{actions:?}");
        now += 10_000;
    }
    let actions = core.handle(now, nothing_new());
    assert!(matches!(actions[0], Action::SaveContact { .. }), "polls are contact: {actions:?}");
    assert!(polling(&actions).is_some_and(|why| why.contains("too_many_streams")), "{actions:?}");
    while !asks_for_a_stream(&core.handle(core.wake_at().unwrap(), Event::Timer)) {
        now += 20_000;
        core.handle(now, nothing_new());
    }
    assert!(now >= 560_000, "{now}");
    assert!(matches!(greet(&mut core, 600_000)[..], [Action::OpenStream { .. }]));
    // The limit does not apply to another key.
    let mut core = refused();
    core.handle(1, Event::KeyChanged);
    assert!(matches!(greet(&mut core, 2)[..], [Action::OpenStream { .. }]));
}

#[test]
fn streams_cut_early_are_replaced_by_polls() {
    let ended = || Event::StreamEnded { reason: "cut".into() };
    let some = |id| Event::StreamBatch(FeedBatch { events: vec![event(id)], ..FeedBatch::default() });
    let mut core = opened(Until::Stopped);
    let mut now = 0;
    for id in 1..3 {
        core.handle(now, some(id));
        assert_eq!(polls(&core.handle(now, ended())), 0, "a line may break by chance");
        now = core.wake_at().unwrap();
        assert!(asks_for_a_stream(&core.handle(now, Event::Timer)) && now < 1_500, "{now}");
        greet(&mut core, now);
        core.handle(now, Event::StreamOpened);
    }
    let mut pauses = Vec::new();
    for id in 3..11 {
        core.handle(now, some(id));
        let actions = core.handle(now, ended());
        assert_eq!((&actions[0], polls(&actions)), (&Action::CloseStream, 1), "{actions:?}");
        let actions = core.handle(now, nothing_new());
        assert!(polling(&actions).is_some_and(|why| why.contains("cut")), "{actions:?}");
        core.handle(now, Event::EditsChanged);
        assert_eq!(sent(&core.handle(now, planned(&[id], true))), [id], "contact stays");
        core.handle(now, accepted(id, id));
        core.handle(now, planned(&[], false));
        let began = now;
        loop {
            now = core.wake_at().unwrap();
            if asks_for_a_stream(&core.handle(now, Event::Timer)) {
                break;
            }
            core.handle(now, nothing_new());
        }
        pauses.push(now - began);
        greet(&mut core, now);
        core.handle(now, Event::StreamOpened);
    }
    assert!((30_000..60_000).contains(&pauses[0]) && pauses[0] < pauses[2], "{pauses:?}");
    assert!((600_000..630_000).contains(&pauses[7]), "{pauses:?}");
    // A stable stream resets the count.
    core.handle(now, ready(10));
    for _ in 0..2 {
        assert_eq!(polls(&core.handle(now + STABLE_AFTER, ended())), 0);
        now = core.wake_at().unwrap();
        core.handle(now, Event::Timer);
        greet(&mut core, now);
        core.handle(now, Event::StreamOpened);
        core.handle(now, ready(10));
        now -= STABLE_AFTER;
    }
}

#[test]
fn single_run_polls_after_ten_seconds() {
    let mut core = started(Until::Current);
    assert_eq!(core.wake_at(), Some(10_000));
    core.handle(3_000, Event::StreamOpened);
    core.handle(8_000, Event::StreamActive);
    assert_eq!(core.wake_at(), Some(10_000), "from the request, despite comments");
    assert_eq!(polls(&core.handle(10_000, Event::Timer)), 1);
    assert!(polling(&core.handle(10_001, nothing_new())).is_some());
    assert!(core.handle(10_001, applied(9)).contains(&Action::Finish(EndReason::Done)));
    // A stream with a batch has the usual limit.
    let mut core = opened(Until::Pushed);
    core.handle(1, Event::StreamBatch(FeedBatch { events: vec![event(2)], ..FeedBatch::default() }));
    assert_eq!(core.wake_at(), Some(45_001));
}

#[test]
fn comments_delay_silence_but_prove_nothing() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    let mut now = 0;
    while core.wake_at().unwrap() > now + 5_000 {
        now += 5_000;
        let actions = core.handle(now, Event::StreamActive);
        assert!(!actions.contains(&Action::TouchContact { is_current: true }), "{actions:?}");
    }
    let at = core.wake_at().unwrap();
    assert_eq!(at, 150_000, "two heartbeats are missing");
    assert_eq!(polls(&core.handle(at, Event::Timer)), 1);
    assert!(polling(&core.handle(at, nothing_new())).is_some(), "the stream is not retried at once");
    // The server's heartbeats keep the stream.
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    for beat in 1..20 {
        let heartbeat = FeedBatch { cursor: Some("c9".into()), ..FeedBatch::default() };
        for quarter in 1..4 {
            core.handle(beat * 60_000 - 60_000 + quarter * 15_000, Event::StreamActive);
        }
        let actions = core.handle(beat * 60_000, Event::StreamBatch(heartbeat));
        assert!(matches!(actions[..], [Action::ApplyBatch { is_current: true, .. }]), "{actions:?}");
        core.handle(beat * 60_000, applied(9));
        assert_eq!(core.wake_at(), Some(beat * 60_000 + 45_000));
    }
}

#[test]
fn stream_of_comments_only_is_polled() {
    let mut core = opened(Until::Stopped);
    for second in 1..9 {
        core.handle(second * 5_000, Event::StreamActive);
    }
    assert_eq!(core.wake_at(), Some(45_000));
    assert_eq!(polls(&core.handle(45_000, Event::Timer)), 1);
    assert!(polling(&core.handle(45_001, nothing_new())).is_some());
}

#[test]
fn foreign_403_is_offline() {
    let mut core = Core::new(Until::Stopped, 7);
    let cursor = Some("c1".into());
    core.handle(0, Event::Started { cursor, is_filled: true, home_id: None, reconcile: None, is_paused: false });
    let actions = core.handle(1, Event::IdentityReceived(Err(Failure::Refused(page(403)))));
    assert_eq!(phases(&actions), [Phase::Offline]);
    assert!(core.wake_at().unwrap() < BACKOFF_FIRST + 1, "the network's own pauses");
}

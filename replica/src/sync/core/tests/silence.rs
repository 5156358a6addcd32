//! Silent streams: checked by a poll, closed after three missing keepalives, and replaced by polls only after proof.

use super::streams::{applied, greets, nothing_new, opens, polling};
use super::*;

/// A poll that finds the event `id`.
fn found(id: i64) -> Event {
    Event::Polled(Ok(FeedBatch { events: vec![event(id)], end: present(id), cursor: Some(format!("c{id}")) }))
}

fn live() -> Core {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    core.handle(0, applied());
    core
}

/// Whether the actions save the finding that streams are held back, or its end. None: neither.
fn finding(actions: &[Action]) -> Option<bool> {
    actions.iter().find_map(|action| match action {
        Action::SaveFinding { holds_streams_back } => Some(*holds_streams_back),
        _ => None,
    })
}

/// Fires timers and answers polls with nothing new until the next stream is requested. Returns the time.
fn until_trial(core: &mut Core) -> Millis {
    loop {
        let now = core.wake_at().unwrap();
        let actions = core.handle(now, Event::Timer);
        if opens(&actions) {
            return now;
        }
        if polls(&actions) > 0 {
            core.handle(now, nothing_new());
            core.handle(now, applied());
        }
    }
}

/// A core that has found that streams are held back, at 22,000.
fn held_back() -> Core {
    let mut core = live();
    core.handle(20_000, Event::Timer);
    core.handle(20_000, found(10));
    core.handle(22_000, Event::Timer);
    core.handle(22_000, applied());
    core
}

#[test]
fn keepalives_prevent_checks() {
    let mut core = live();
    for beat in 0..4 {
        assert_eq!(core.wake_at(), Some(beat * 15_000 + 20_000));
        core.handle(beat * 15_000 + 15_000, Event::StreamActive);
    }
}

#[test]
fn silent_stream_is_checked_and_kept() {
    let mut core = live();
    assert_eq!(core.wake_at(), Some(20_000));
    let actions = core.handle(20_000, Event::Timer);
    assert_eq!((polls(&actions), actions.contains(&Action::CloseStream)), (1, false), "{actions:?}");
    let actions = core.handle(20_100, nothing_new());
    assert_eq!(actions, [Action::TouchContact { is_current: true }], "the tables are at the head");
    assert_eq!(core.wake_at(), Some(40_100));
    core.handle(40_100, Event::Timer);
    core.handle(40_200, nothing_new());
    // Nothing is proven: the connection is dead, and the next stream follows at once.
    assert_eq!(core.wake_at(), Some(45_000));
    let actions = core.handle(45_000, Event::Timer);
    assert_eq!((actions[0] == Action::CloseStream, greets(&actions), finding(&actions)), (true, true, None));
    assert!(opens(&greet(&mut core, 45_010)));
    core.handle(45_020, Event::StreamOpened);
    let actions = core.handle(45_030, ready(9));
    assert!(matches!(actions[..], [Action::ApplyBatch { phase: Phase::Live, .. }]), "{actions:?}");
}

#[test]
fn held_back_events_are_seen_within_25_seconds() {
    let mut core = live();
    core.handle(20_000, Event::Timer);
    assert_eq!(core.handle(20_100, found(10)), [], "the stream has two seconds");
    assert_eq!(core.wake_at(), Some(22_100));
    let actions = core.handle(22_100, Event::Timer);
    assert_eq!((&actions[0], finding(&actions)), (&Action::CloseStream, Some(true)), "{actions:?}");
    assert!(polling(&actions).is_some_and(|why| why.contains("proxies")), "{actions:?}");
    core.handle(22_100, applied());
    // From now on a change is seen within 5 s, and a stream is tried now and then.
    let mut trials = vec![22_100];
    for _ in 0..6 {
        assert_eq!(core.wake_at(), Some(trials.last().unwrap() + 5_000));
        let at = until_trial(&mut core);
        trials.push(at);
        // The stream is as silent as before. Polls go on beside the stream.
        core.handle(at, Event::StreamOpened);
        let check = core.wake_at().unwrap();
        assert!(check <= at + 5_000);
        assert_eq!(polls(&core.handle(check, Event::Timer)), 1);
        core.handle(check, found(10));
        let decided = core.wake_at().unwrap();
        assert!(decided <= at + 7_000);
        assert_eq!(finding(&core.handle(decided, Event::Timer)), Some(true));
        core.handle(decided, applied());
        *trials.last_mut().unwrap() = decided;
    }
    let pauses: Vec<Millis> = trials.windows(2).map(|pair| (pair[1] - pair[0]) / 10_000 * 10).collect();
    assert_eq!(pauses, [30, 60, 120, 300, 600, 600], "{trials:?}");
}

#[test]
fn slow_stream_is_not_held_back() {
    let some = |id| Event::StreamBatch(FeedBatch { events: vec![event(id)], ..FeedBatch::default() });
    // The stream brings the event before the poll's answer, or within two seconds after.
    for stream_first in [true, false] {
        let mut core = live();
        core.handle(20_000, Event::Timer);
        if stream_first {
            core.handle(20_050, some(10));
            assert_eq!(core.handle(20_100, found(10)), []);
        } else {
            core.handle(20_100, found(10));
            core.handle(22_000, some(10));
        }
        let at = core.wake_at().unwrap();
        assert!(at > 40_000, "{at}");
        assert_eq!(polls(&core.handle(at, Event::Timer)), 1, "the next check");
    }
    // A stream whose first batch takes six seconds.
    let mut core = opened(Until::Stopped);
    assert_eq!(core.wake_at(), Some(5_000));
    core.handle(5_000, Event::Timer);
    core.handle(5_010, found(10));
    assert_eq!(finding(&core.handle(6_000, some(10))), None);
    core.handle(6_000, applied());
    assert_eq!(core.wake_at(), Some(26_000));
    // A stream that is cut while the poll's events are held leads to the next stream.
    let mut core = live();
    core.handle(20_000, Event::Timer);
    core.handle(20_100, found(10));
    let actions = core.handle(20_200, Event::StreamEnded { reason: "cut".into() });
    assert_eq!((polls(&actions), finding(&actions)), (0, None), "{actions:?}");
}

#[test]
fn stream_without_head_is_checked_after_5_seconds() {
    let mut core = started(Until::Stopped);
    assert_eq!(core.wake_at(), Some(5_000), "from the request: a proxy may hold the head of the response too");
    assert_eq!(polls(&core.handle(5_000, Event::Timer)), 1);
    let actions = core.handle(5_010, nothing_new());
    assert!(matches!(actions[0], Action::SaveContact { .. }), "the cursor was accepted: {actions:?}");
    assert!(polling(&actions).is_some() && finding(&actions).is_none(), "{actions:?}");
    assert!(!actions.contains(&Action::CloseStream));
    core.handle(5_010, applied());
    // Nothing was missing, so nothing is proven; checks go on every five seconds.
    assert_eq!(core.wake_at(), Some(10_010));
    core.handle(10_010, Event::Timer);
    core.handle(10_020, found(10));
    assert_eq!(finding(&core.handle(12_020, Event::Timer)), Some(true));
}

#[test]
fn comments_prove_no_delivery() {
    let mut core = live();
    let mut now = 0;
    while core.wake_at().unwrap() > now + 15_000 {
        now += 15_000;
        let actions = core.handle(now, Event::StreamActive);
        assert!(!actions.contains(&Action::TouchContact { is_current: true }), "{actions:?}");
    }
    assert_eq!(core.wake_at(), Some(75_000), "a heartbeat is missing");
    core.handle(75_000, Event::Timer);
    core.handle(75_100, found(10));
    assert_eq!(finding(&core.handle(77_100, Event::Timer)), Some(true));
    // The server's heartbeats keep the stream.
    let mut core = live();
    for beat in 1..20 {
        for quarter in 1..4 {
            core.handle(beat * 60_000 - 60_000 + quarter * 15_000, Event::StreamActive);
        }
        let heartbeat = FeedBatch { cursor: Some("c9".into()), ..FeedBatch::default() };
        let actions = core.handle(beat * 60_000, Event::StreamBatch(heartbeat));
        assert!(matches!(actions[..], [Action::ApplyBatch { is_current: true, .. }]), "{actions:?}");
        core.handle(beat * 60_000, applied());
        assert_eq!(core.wake_at(), Some(beat * 60_000 + 20_000));
    }
}

#[test]
fn keepalive_or_event_ends_the_finding() {
    let heartbeat = || FeedBatch { cursor: Some("c10".into()), ..FeedBatch::default() };
    let live_event = || FeedBatch { events: vec![event(11)], ..FeedBatch::default() };
    for carried in [Event::StreamActive, Event::StreamBatch(heartbeat()), Event::StreamBatch(live_event())] {
        let mut core = held_back();
        let at = until_trial(&mut core);
        core.handle(at, Event::StreamOpened);
        assert_eq!(finding(&core.handle(at + 10, ready(10))), None, "a proxy may pass the beginning");
        core.handle(at + 10, applied());
        assert_eq!(core.wake_at(), Some(at + 5_010), "checked as often as polls");
        core.handle(at + 5_010, Event::Timer);
        core.handle(at + 5_020, nothing_new());
        assert_eq!(finding(&core.handle(at + 9_000, carried)), Some(false));
        assert!(core.wake_at().unwrap() >= at + 25_000);
    }
}

#[test]
fn silent_trial_without_proof_keeps_polls() {
    let mut core = held_back();
    let at = until_trial(&mut core);
    core.handle(at, Event::StreamOpened);
    core.handle(at, ready(10));
    loop {
        let now = core.wake_at().unwrap();
        let actions = core.handle(now, Event::Timer);
        if actions.contains(&Action::CloseStream) {
            assert_eq!((now - at, greets(&actions), phases(&actions)), (45_000, false, vec![Phase::Polling]));
            break;
        }
        core.handle(now, nothing_new());
        core.handle(now, applied());
    }
    assert!(core.wake_at().unwrap() <= at + 50_000);
    assert_eq!(until_trial(&mut core), at + 45_000 + 60_000);
}

#[test]
fn remembered_finding_starts_with_polls() {
    for until in [Until::Stopped, Until::Current] {
        let mut core = Core::new(until, 7);
        let Event::Started { cursor, is_filled, home_id, reconcile, is_paused, .. } = on_disk() else { panic!() };
        core.handle(0, Event::Started { cursor, is_filled, home_id, holds_streams_back: true, reconcile, is_paused });
        let actions = greet(&mut core, 10);
        assert_eq!((opens(&actions), polls(&actions)), (false, 1), "{actions:?}");
        let actions = core.handle(20, nothing_new());
        assert!(polling(&actions).is_some_and(|why| why.contains("proxies")), "{actions:?}");
        let ended = core.handle(20, applied()).contains(&Action::Finish(EndReason::Done));
        assert_eq!(ended, until == Until::Current);
        if until == Until::Stopped {
            assert_eq!(until_trial(&mut core), 30_000);
        }
    }
}

#[test]
fn single_run_ends_behind_a_holding_proxy() {
    // In step already: the check is the proof.
    let mut core = opened(Until::Current);
    core.handle(5_000, Event::Timer);
    let actions = core.handle(5_010, nothing_new());
    assert!(actions.contains(&Action::CloseStream) && polling(&actions).is_some(), "{actions:?}");
    assert!(core.handle(5_010, applied()).contains(&Action::Finish(EndReason::Done)));
    // The first sync: the rest comes by polls, without a second stream.
    let mut core = Core::new(Until::Current, 7);
    core.handle(0, begun(false));
    greet(&mut core, 0);
    core.handle(5_000, Event::Timer);
    let page = |id| FeedBatch { events: vec![event(id)], end: BatchEnd::More, cursor: Some(format!("c{id}")) };
    core.handle(5_100, Event::Polled(Ok(page(1))));
    let actions = core.handle(core.wake_at().unwrap(), Event::Timer);
    assert_eq!(finding(&actions), Some(true), "{actions:?}");
    core.handle(7_100, applied());
    assert_eq!(core.wake_at(), Some(7_100), "the next page at once");
    assert_eq!(polls(&core.handle(7_100, Event::Timer)), 1);
    core.handle(7_200, found(9));
    assert!(core.handle(7_200, applied()).contains(&Action::Finish(EndReason::Done)));
}

#[test]
fn unanswered_check_is_a_lost_contact() {
    let mut core = live();
    core.handle(20_000, Event::Timer);
    let actions = core.handle(40_000, Event::Polled(Err(Failure::NoAnswer("it does not answer".into()))));
    assert_eq!((&actions[0], phases(&actions)), (&Action::CloseStream, vec![Phase::Offline]));
    // A refused check says nothing about the stream.
    let mut core = live();
    core.handle(20_000, Event::Timer);
    let busy = Refusal { retry_after: Some(10_000), ..refusal(429, "rate_limited") };
    assert_eq!(core.handle(20_010, Event::Polled(Err(Failure::Refused(busy)))), []);
    assert_eq!(core.wake_at(), Some(40_010));
    core.handle(21_000, Event::StreamActive);
    assert_eq!(core.wake_at(), Some(41_000));
}

#[test]
fn suspended_process_begins_with_a_new_stream() {
    let mut core = live();
    let actions = core.handle(3_600_000, Event::Timer);
    assert_eq!((greets(&actions), polls(&actions)), (true, 0), "{actions:?}");
}

//! Silent streams: checked by a poll, closed after three missing keepalives, and replaced by polls only after proof.

use super::*;

/// Whether the actions save the finding that streams are held back, or its end. None: neither.
fn finding(actions: &[Action]) -> Option<bool> {
    actions.iter().find_map(|action| match action {
        Action::SaveFinding { holds_streams_back } => Some(*holds_streams_back),
        _ => None,
    })
}

/// Fires timers and answers polls with nothing new until the next stream is requested. Returns the time.
fn until_trial(scene: &mut Scene) -> Millis {
    loop {
        let now = scene.wake_at();
        let actions = scene.timer(now);
        if opens(&actions) {
            return now;
        }
        if polls(&actions) > 0 {
            scene.handle(now, nothing_new());
            scene.handle(now, applied());
        }
    }
}

/// A scene that has found that streams are held back, at 22,000.
fn held_back() -> Scene {
    let mut scene = live();
    scene.timer(20_000);
    scene.handle(20_000, found(10));
    scene.timer(22_000);
    scene.handle(22_000, applied());
    scene
}

#[test]
fn silent_stream_is_checked_and_kept() {
    let mut scene = live();
    assert_eq!(scene.wake_at(), 20_000);
    let actions = scene.timer(20_000);
    assert_eq!((polls(&actions), actions.contains(&Action::CloseStream)), (1, false), "{actions:?}");
    let actions = scene.handle(20_100, nothing_new());
    assert_eq!(actions, [Action::TouchContact { is_current: true }], "the tables are at the head");
    assert_eq!(scene.wake_at(), 40_100);
    scene.timer(40_100);
    scene.handle(40_200, nothing_new());
    // Nothing is proven: the connection is dead, and the next stream follows at once.
    assert_eq!(scene.wake_at(), 45_000);
    let actions = scene.timer(45_000);
    assert_eq!((actions[0] == Action::CloseStream, greets(&actions), finding(&actions)), (true, true, None));
    assert!(opens(&scene.greet(45_010)));
    scene.handle(45_020, stream(StreamEvent::Opened));
    scene.handle(45_030, ready(9));
    assert!(scene.brought() == Some(Transport::Stream) && scene.link.is_current());
}

#[test]
fn held_back_events_are_seen_within_25_seconds() {
    let mut scene = live();
    scene.timer(20_000);
    assert_eq!(scene.handle(20_100, found(10)), [], "the stream has two seconds");
    assert_eq!(scene.wake_at(), 22_100);
    let actions = scene.timer(22_100);
    assert_eq!((&actions[0], finding(&actions)), (&Action::CloseStream, Some(true)), "{actions:?}");
    assert!(scene.polling().contains("proxies"), "{}", scene.polling());
    scene.handle(22_100, applied());
    // From now on a change is seen within 5 s, and a stream is tried now and then.
    let mut trials = vec![22_100];
    for _ in 0..6 {
        assert_eq!(scene.wake_at(), trials.last().unwrap() + 5_000);
        let at = until_trial(&mut scene);
        trials.push(at);
        // The stream is as silent as before. Polls go on beside the stream.
        scene.handle(at, stream(StreamEvent::Opened));
        let check = scene.wake_at();
        assert!(check <= at + 5_000);
        assert_eq!(polls(&scene.timer(check)), 1);
        scene.handle(check, found(10));
        let decided = scene.wake_at();
        assert!(decided <= at + 7_000);
        assert_eq!(finding(&scene.timer(decided)), Some(true));
        scene.handle(decided, applied());
        *trials.last_mut().unwrap() = decided;
    }
    let pauses: Vec<Millis> = trials.windows(2).map(|pair| (pair[1] - pair[0]) / 10_000 * 10).collect();
    assert_eq!(pauses, [30, 60, 120, 300, 600, 600], "{trials:?}");
}

#[test]
fn slow_stream_is_not_held_back() {
    let some = |id| stream(StreamEvent::Batch(FeedBatch { events: vec![event(id)], ..FeedBatch::default() }));
    // The stream brings the event before the poll's answer, or within two seconds after.
    for stream_first in [true, false] {
        let mut scene = live();
        scene.timer(20_000);
        if stream_first {
            scene.handle(20_050, some(10));
            assert_eq!(scene.handle(20_100, found(10)), []);
        } else {
            scene.handle(20_100, found(10));
            scene.handle(22_000, some(10));
        }
        let at = scene.wake_at();
        assert!(at > 40_000, "{at}");
        assert_eq!(polls(&scene.timer(at)), 1, "the next check");
    }
    // A stream whose first batch takes six seconds.
    let mut scene = opened(Until::Stopped);
    assert_eq!(scene.wake_at(), 5_000);
    scene.timer(5_000);
    scene.handle(5_010, found(10));
    assert_eq!(finding(&scene.handle(6_000, some(10))), None);
    scene.handle(6_000, applied());
    assert_eq!(scene.wake_at(), 26_000);
    // A stream that is cut while the poll's events are held leads to the next stream.
    let mut scene = live();
    scene.timer(20_000);
    scene.handle(20_100, found(10));
    let actions = scene.handle(20_200, cut());
    assert_eq!((polls(&actions), finding(&actions)), (0, None), "{actions:?}");
}

#[test]
fn stream_without_head_is_checked_after_5_seconds() {
    let mut scene = started(Until::Stopped);
    assert_eq!(scene.wake_at(), 5_000, "from the request: a proxy may hold the head of the response too");
    assert_eq!(polls(&scene.timer(5_000)), 1);
    let actions = scene.handle(5_010, nothing_new());
    assert!(matches!(actions[0], Action::SaveContact { .. }), "the cursor was accepted: {actions:?}");
    assert!(!scene.polling().is_empty() && finding(&actions).is_none(), "{actions:?}");
    assert!(!actions.contains(&Action::CloseStream));
    scene.handle(5_010, applied());
    // Nothing was missing, so nothing is proven; checks go on every five seconds.
    assert_eq!(scene.wake_at(), 10_010);
    scene.timer(10_010);
    scene.handle(10_020, found(10));
    assert_eq!(finding(&scene.timer(12_020)), Some(true));
}

#[test]
fn comments_prove_no_delivery() {
    let mut scene = live();
    let mut now = 0;
    while scene.wake_at() > now + 15_000 {
        now += 15_000;
        let actions = scene.handle(now, stream(StreamEvent::Active));
        assert!(!actions.contains(&Action::TouchContact { is_current: true }), "{actions:?}");
    }
    assert_eq!(scene.wake_at(), 75_000, "a heartbeat is missing");
    scene.timer(75_000);
    scene.handle(75_100, found(10));
    assert_eq!(finding(&scene.timer(77_100)), Some(true));
    // The server's heartbeats keep the stream.
    let mut scene = live();
    for beat in 1..20 {
        for quarter in 1..4 {
            scene.handle(beat * 60_000 - 60_000 + quarter * 15_000, stream(StreamEvent::Active));
        }
        let heartbeat = FeedBatch { cursor: Some("c9".into()), ..FeedBatch::default() };
        scene.handle(beat * 60_000, stream(StreamEvent::Batch(heartbeat)));
        assert!(scene.link.is_current());
        scene.handle(beat * 60_000, applied());
        assert_eq!(scene.wake_at(), beat * 60_000 + 20_000);
    }
}

#[test]
fn keepalive_or_event_ends_the_finding() {
    let heartbeat = || FeedBatch { cursor: Some("c10".into()), ..FeedBatch::default() };
    let live_event = || FeedBatch { events: vec![event(11)], ..FeedBatch::default() };
    for carried in
        [stream(StreamEvent::Active), stream(StreamEvent::Batch(heartbeat())), stream(StreamEvent::Batch(live_event()))]
    {
        let mut scene = held_back();
        let at = until_trial(&mut scene);
        scene.handle(at, stream(StreamEvent::Opened));
        assert_eq!(finding(&scene.handle(at + 10, ready(10))), None, "a proxy may pass the beginning");
        scene.handle(at + 10, applied());
        assert_eq!(scene.wake_at(), (at + 5_010), "checked as often as polls");
        scene.timer(at + 5_010);
        scene.handle(at + 5_020, nothing_new());
        assert_eq!(finding(&scene.handle(at + 9_000, carried)), Some(false));
        assert!(scene.wake_at() >= at + 25_000);
    }
}

#[test]
fn silent_trial_without_proof_keeps_polls() {
    let mut scene = held_back();
    let at = until_trial(&mut scene);
    scene.handle(at, stream(StreamEvent::Opened));
    scene.handle(at, ready(10));
    loop {
        let now = scene.wake_at();
        let actions = scene.timer(now);
        if actions.contains(&Action::CloseStream) {
            assert_eq!((now - at, greets(&actions), scene.link.in_contact()), (45_000, false, true));
            break;
        }
        scene.handle(now, nothing_new());
        scene.handle(now, applied());
    }
    assert!(scene.wake_at() <= at + 50_000);
    assert_eq!(until_trial(&mut scene), at + 45_000 + 60_000);
}

#[test]
fn remembered_finding_starts_with_polls() {
    for until in [Until::Stopped, Until::Current] {
        let mut scene = Scene::new(until);
        scene.handle(0, on_disk(true, false));
        let actions = scene.greet(10);
        assert_eq!((opens(&actions), polls(&actions)), (false, 1), "{actions:?}");
        scene.handle(20, nothing_new());
        assert!(scene.polling().contains("proxies"), "{}", scene.polling());
        scene.handle(20, applied());
        if until == Until::Stopped {
            // Without contact a person may shorten the pauses, and cannot end the finding.
            let at = scene.wake_at();
            scene.timer(at);
            scene.handle(at, poll_failed(silence()));
            assert!(greets(&scene.handle(at, Input::Control(Control::RetryNow))));
            scene.greet(at);
            scene.handle(at, nothing_new());
            scene.handle(at, applied());
            assert_eq!(until_trial(&mut scene), 30_000);
            scene.handle(30_000, cut());
            assert!(scene.link.in_contact(), "polls go on after a failed trial");
            assert_eq!(until_trial(&mut scene), 90_000);
        }
    }
}

#[test]
fn single_run_ends_behind_a_holding_proxy() {
    // In step already: the check is the proof.
    let mut scene = opened(Until::Current);
    scene.timer(5_000);
    let actions = scene.handle(5_010, nothing_new());
    assert!(actions.contains(&Action::CloseStream) && !scene.polling().is_empty(), "{actions:?}");
    scene.handle(5_010, applied());
    assert!(scene.link.is_applied());
    // The first sync: the rest comes by polls, without a second stream.
    let mut scene = started(Until::Current);
    scene.timer(5_000);
    let page = |id| FeedBatch { events: vec![event(id)], end: BatchEnd::More, cursor: Some(format!("c{id}")) };
    scene.handle(5_100, Input::Polled(Ok(page(1))));
    let actions = scene.timer(scene.wake_at());
    assert_eq!(finding(&actions), Some(true), "{actions:?}");
    scene.handle(7_100, applied());
    assert_eq!(scene.wake_at(), 7_100, "the next page at once");
    assert_eq!(polls(&scene.timer(7_100)), 1);
    scene.handle(7_200, found(9));
    scene.handle(7_200, applied());
    assert!(scene.link.is_applied());
}

#[test]
fn refused_check_says_nothing_about_the_stream() {
    let mut scene = live();
    scene.timer(20_000);
    let busy = Refusal { retry_after: Some(10_000), ..refusal(429, "rate_limited") };
    assert_eq!(scene.handle(20_010, poll_failed(Failure::Refused(busy))), []);
    assert_eq!(scene.wake_at(), 40_010);
    scene.handle(21_000, stream(StreamEvent::Active));
    assert_eq!(scene.wake_at(), 41_000);
}

//! Streams that are refused or cut: how soon the next stream follows, and when polls fill the pause.

use super::*;

impl Scene {
    /// The server has accepted an edit at this position.
    fn accepted(&mut self, now: Millis, rev: i64) {
        let fact = Fact::FeedWanted { position: Some(rev) };
        self.link.hear(&mut Turn::new(now, self.backoff.clone()), &fact, self.others);
    }
}

/// Answers greetings and polls until a stream is requested. Returns the time, and how many polls were sent.
fn until_next_stream(scene: &mut Scene, mut now: Millis, mut actions: Vec<Action>) -> (Millis, usize) {
    let mut sent = 0;
    while !opens(&actions) {
        if greets(&actions) {
            actions = scene.greet(now);
        } else if polls(&actions) > 0 {
            sent += polls(&actions);
            scene.handle(now, nothing_new());
            actions = scene.handle(now, applied());
        } else {
            now = scene.wake_at();
            actions = scene.timer(now);
        }
    }
    (now, sent)
}

#[test]
fn failed_stream_is_opened_again_within_a_second() {
    let refusals = [page(504), page(404), page(403), refusal(429, "rate_limited"), refusal(503, "unavailable")];
    for input in refusals.map(stream_refused).into_iter().chain([cut()]) {
        let mut scene = started(Until::Stopped);
        let actions = scene.handle(0, input);
        assert!(scene.is_down());
        let (again, polls) = until_next_stream(&mut scene, 0, actions);
        assert!(again < BACKOFF_FIRST && polls == 0, "{again}, {polls} polls");
    }
    let mut scene = started(Until::Stopped);
    let actions = scene.handle(0, too_many(3_000));
    assert_eq!(until_next_stream(&mut scene, 0, actions), (3_000, 0), "Retry-After is the least");
    // Three cuts in a row do not lead to polls, also when the first is long ago.
    let (mut scene, mut now, mut polls) = (live(), 0, 0);
    for _ in 0..3 {
        now += 4_900;
        let actions = scene.handle(now, cut());
        (now, polls) = until_next_stream(&mut scene, now, actions);
        scene.handle(now, stream(StreamEvent::Opened));
        scene.handle(now, ready(9));
    }
    assert!(now < 3 * 4_900 + 3_500 && polls == 0, "{now}, {polls} polls");
    assert!(scene.brought() == Some(Transport::Stream) && scene.link.is_current());
}

#[test]
fn stream_cut_each_time_is_opened_less_often() {
    let mut scene = opened(Until::Stopped);
    let (mut now, mut streams, mut polled) = (0, 0, 0);
    while now < 600_000 {
        scene.handle(now, ready(9));
        let actions = scene.handle(now + 50, cut());
        let sent;
        (now, sent) = until_next_stream(&mut scene, now + 50, actions);
        scene.handle(now, stream(StreamEvent::Opened));
        (streams, polled) = (streams + 1, polled + sent);
    }
    assert!((10..60).contains(&streams), "{streams} streams");
    assert!(polled > 60, "polls fill the long pauses: {polled}");
    // A stable stream is opened again at once.
    scene.handle(now, ready(9));
    let actions = scene.handle(now + 5_000, cut());
    let (again, _) = until_next_stream(&mut scene, now + 5_000, actions);
    assert!(again < now + 5_000 + BACKOFF_FIRST);
}

#[test]
fn refused_streams_are_polled_after_ten_seconds() {
    let mut scene = started(Until::Stopped);
    let mut actions = scene.handle(0, stream_refused(page(502)));
    let mut now = 0;
    let first_poll = loop {
        if polls(&actions) > 0 {
            break now;
        }
        now = scene.wake_at();
        actions = scene.timer(now);
        if greets(&actions) {
            scene.greet(now);
            actions = scene.handle(now, stream_refused(page(502)));
        }
    };
    assert!(first_poll <= 10_000, "{first_poll}");
    let actions = scene.handle(now, nothing_new());
    assert!(matches!(actions[..], [Action::SaveContact { .. }]), "{actions:?}");
    assert!(scene.polling().contains("502"), "{}", scene.polling());
    assert!(scene.link.in_contact(), "the cursor was accepted");
    // From now on polls go on through each refused stream, and no contact is lost.
    for _ in 0..5 {
        let (asked, _) = until_next_stream(&mut scene, now, Vec::new());
        assert!(asked - now <= 60_000, "{asked}");
        now = asked;
        let actions = scene.handle(now, stream_refused(page(502)));
        assert_eq!((polls(&actions), scene.link.in_contact()), (1, true), "{actions:?}");
        scene.handle(now, nothing_new());
        scene.handle(now, applied());
        assert!(scene.wake_at() <= now + 5_000, "a change is seen within 5 s");
    }
    // A stream that works again replaces the polls at once, without a new greeting.
    let (now, _) = until_next_stream(&mut scene, now, Vec::new());
    scene.handle(now, stream(StreamEvent::Opened));
    scene.handle(now, ready(9));
    assert_eq!((scene.brought(), scene.link.reason.as_ref()), (Some(Transport::Stream), None));
}

#[test]
fn long_retry_after_is_filled_with_polls() {
    let mut scene = live();
    scene.handle(20_000, cut());
    scene.timer(scene.wake_at());
    scene.greet(21_000);
    let actions = scene.handle(21_000, too_many(180_000));
    assert_eq!(polls(&actions), 1, "{actions:?}");
    scene.handle(21_000, nothing_new());
    assert!(scene.polling().contains("too_many_streams"), "{}", scene.polling());
    let mut last = 21_000;
    for _ in 0..30 {
        let at = scene.wake_at();
        assert_eq!((at - last, polls(&scene.timer(at))), (5_000, 1));
        scene.handle(at, nothing_new());
        last = at;
    }
    // Polls that fail do not bring the stream forward, and neither does a person.
    scene.timer(last + 5_000);
    scene.handle(last + 5_000, poll_failed(silence()));
    assert!(greets(&scene.handle(last + 5_000, Input::Control(Control::RetryNow))));
    let actions = scene.greet(last + 5_000);
    assert_eq!((opens(&actions), polls(&actions)), (false, 1), "{actions:?}");
    let actions = scene.handle(last + 5_000, nothing_new());
    assert!(matches!(actions[0], Action::SaveContact { .. }), "polls are contact: {actions:?}");
    assert_eq!(until_next_stream(&mut scene, last + 5_000, Vec::new()).0, 201_000);
    // The pause does not apply to another key.
    let mut scene = started(Until::Stopped);
    scene.handle(0, too_many(180_000));
    scene.handle(1, Input::Control(Control::KeyChanged));
    assert!(opens(&scene.greet(2)));
}

#[test]
fn single_run_polls_while_the_stream_waits() {
    for input in [too_many(1_000), stream_refused(page(403)), cut()] {
        let mut scene = started(Until::Current);
        assert_eq!(polls(&scene.handle(1, input)), 1);
        scene.handle(2, nothing_new());
        assert_ne!(scene.polling(), "");
        scene.handle(2, applied());
        assert!(scene.link.is_applied());
    }
    // Between the batches of a cut backfill, too: the rest comes by polls until the next stream.
    let mut scene = opened(Until::Current);
    scene.handle(1, stream(StreamEvent::Batch(FeedBatch { events: vec![event(2)], ..FeedBatch::default() })));
    let actions = scene.handle(2, cut());
    assert!(greets(&actions), "{actions:?}");
    assert_eq!(polls(&scene.greet(2)), 1);
}

/// A link that polls until 600 s, when the next stream is requested.
fn polling() -> Scene {
    let mut scene = started(Until::Stopped);
    scene.handle(0, too_many(600_000));
    scene.timer(11_000);
    scene.handle(11_000, nothing_new());
    scene.handle(11_000, applied());
    scene
}

#[test]
fn poll_that_ends_before_an_accepted_edit_greets_again() {
    let finds = |head| Input::Polled(Ok(FeedBatch { end: present(head), ..FeedBatch::default() }));
    // The server was restored between two polls, and has lost the edit.
    let mut scene = polling();
    scene.accepted(11_100, 12);
    assert_eq!(polls(&scene.timer(11_100)), 1);
    scene.handle(11_200, finds(11));
    assert!(scene.is_down());
    // The edit was accepted after the poll was sent.
    let mut scene = polling();
    assert_eq!(polls(&scene.timer(40_000)), 1);
    scene.accepted(40_100, 12);
    scene.handle(40_200, finds(11));
    assert!(!scene.is_down());
}

#[test]
fn stream_that_ends_before_an_accepted_edit_greets_again() {
    // The server was restored before the stream was requested, and has lost the edit.
    let mut scene = polling();
    scene.accepted(600_000, 12);
    assert!(opens(&scene.timer(600_000)));
    scene.handle(600_100, stream(StreamEvent::Opened));
    scene.handle(600_100, ready(11));
    assert!(scene.is_down());
    // The edit was accepted after the stream was requested.
    let mut scene = polling();
    assert!(opens(&scene.timer(600_000)));
    scene.accepted(600_000, 12);
    scene.handle(600_100, stream(StreamEvent::Opened));
    scene.handle(600_100, ready(11));
    assert!(!scene.is_down());
}

//! Streams without a byte or without a first batch: when the link opens a new stream, and when polls replace streams.

use super::*;

/// Lets a stream with a batch go silent, and opens the next stream. Returns the time of the opening.
fn silence(core: &mut Core, at: Millis) -> Millis {
    let actions = core.handle(at, Event::Timer);
    assert_eq!((actions[0] == Action::CloseStream, polls(&actions)), (true, 0), "{actions:?}");
    let at = core.wake_at().unwrap();
    assert!(core.handle(at, Event::Timer).contains(&Action::Request(Request::Identity)));
    greet(core, at);
    core.handle(at, Event::StreamOpened);
    at
}

#[test]
fn silent_stream_is_reopened_before_polling() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    assert_eq!(core.wake_at(), Some(45_000));
    core.handle(30_000, Event::StreamActive);
    assert_eq!(polls(&core.handle(45_000, Event::Timer)), 0, "a comment proves a live stream");
    // The connection had died; the next stream works for a while.
    let at = silence(&mut core, 75_000);
    assert!(at < 75_500, "{at}");
    core.handle(at, ready(12));
    core.handle(at + 15_000, Event::StreamActive);
    let at = silence(&mut core, at + 60_000);
    // The new stream brings no batch, so the connection is not the cause.
    let actions = core.handle(at + 45_000, Event::Timer);
    assert_eq!((actions[0] == Action::CloseStream, polls(&actions)), (true, 1));
}

#[test]
fn empty_poll_after_silence_reopens_the_stream() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    let at = silence(&mut core, 45_000);
    // Some proxies pass only the beginning of a stream.
    core.handle(at, ready(9));
    let at = at + 45_000;
    let actions = core.handle(at, Event::Timer);
    assert_eq!((actions[0] == Action::CloseStream, polls(&actions)), (true, 1));
    let nothing = FeedBatch { end: present(9), ..FeedBatch::default() };
    core.handle(at + 1, Event::Polled(Ok(nothing)));
    let at = core.wake_at().unwrap();
    assert!(core.handle(at, Event::Timer).contains(&Action::Request(Request::Identity)));
}

#[test]
fn poll_with_missed_events_replaces_the_stream() {
    let mut core = started(Until::Stopped);
    let actions = core.handle(45_000, Event::Timer);
    assert_eq!(polls(&actions), 1, "a stream that never opens is silent");
    let found = |id| FeedBatch { events: vec![event(id)], end: present(id), cursor: Some(format!("c{id}")) };
    let actions = core.handle(45_100, Event::Polled(Ok(found(10))));
    assert!(matches!(actions[0], Action::SaveContact { .. }), "{actions:?}");
    let polling =
        |e: &Action| matches!(e, Action::ApplyBatch { phase: Phase::Polling, transport: Transport::Poll, .. });
    assert!(actions.iter().any(polling), "{actions:?}");
    core.handle(
        45_100,
        Event::BatchApplied {
            cursor: Some("c10".into()),
            position: 10,
            has_id_gap: false,
            affects_edits: false,
            confirms_edits: false,
        },
    );
    assert_eq!(core.wake_at(), Some(65_100));
    let actions = core.handle(65_100, Event::Timer);
    assert!(actions.contains(&Action::Request(Request::Poll { cursor: Some("c10".into()), is_catching_up: false })));
    core.handle(65_200, planned(&[1], true));
    core.handle(65_200, Event::Polled(Ok(FeedBatch { end: present(10), ..FeedBatch::default() })));

    // The stream is tried again later, with a short limit for the first batch.
    let at = core.wake_at().unwrap().max(645_000);
    assert!(core.handle(at, Event::Timer).contains(&Action::Request(Request::Identity)));
    assert!(matches!(greet(&mut core, at)[..], [Action::OpenStream { .. }]));
    core.handle(at, Event::StreamOpened);
    assert_eq!(core.wake_at(), Some(at + 10_000));
    let actions = core.handle(at + 1, ready(10));
    assert!(
        matches!(&actions[..], [Action::ApplyBatch { phase: Phase::Live, transport: Transport::Stream, .. }]),
        "{actions:?}"
    );
    assert_eq!(core.wake_at(), Some(at + 1 + 45_000));
}

#[test]
fn stream_without_a_first_batch_is_mute() {
    let nothing = || Event::Polled(Ok(FeedBatch { end: present(9), ..FeedBatch::default() }));
    let mut core = started(Until::Stopped);
    core.handle(20_000, Event::StreamOpened);
    core.handle(20_000, planned(&[], false));
    core.handle(65_000, Event::Timer);
    let actions = core.handle(65_001, nothing());
    let polling =
        |e: &Action| matches!(e, Action::ApplyBatch { phase: Phase::Polling, transport: Transport::Poll, .. });
    assert!(actions.iter().any(polling), "{actions:?}");

    // Edits are sent while polling. After an accepted edit the next poll follows at once.
    core.handle(65_002, applied(9));
    core.handle(65_003, Event::EditsChanged);
    assert_eq!(sent(&core.handle(65_003, planned(&[1], true))), [1]);
    assert_eq!(polls(&core.handle(65_004, accepted(1, 10))), 0);
    assert_eq!(core.wake_at(), Some(65_004));
    assert_eq!(polls(&core.handle(65_004, Event::Timer)), 1);
    core.handle(65_005, nothing());

    // The next stream has ten seconds for the first batch; then polling continues.
    let at = core.wake_at().unwrap().max(665_000);
    core.handle(at, Event::Timer);
    greet(&mut core, at);
    core.handle(at, Event::StreamOpened);
    assert_eq!(polls(&core.handle(at + 10_000, Event::Timer)), 1);
    assert!(core.handle(at + 10_001, nothing()).iter().any(polling));
    assert_eq!(core.wake_at(), Some(at + 30_001));
}

#[test]
fn stream_ended_without_a_batch_is_polled() {
    let mut core = opened(Until::Stopped);
    assert_eq!(polls(&core.handle(5, Event::StreamEnded { reason: "cut".into() })), 1);
    let mut core = opened(Until::Stopped);
    core.handle(5, ready(9));
    assert_eq!(polls(&core.handle(6, Event::StreamEnded { reason: "cut".into() })), 0);
}

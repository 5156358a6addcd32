//! Moments of the feed's way here: streams that are refused, cut, kept back or filled by others, and what polls prove.

use super::*;
use crate::model::Phase;

fn nothing_new() -> Input {
    Input::Polled(Ok(Stretch { ready: Some(9), cursor: Some("c9".into()), ..Stretch::default() }))
}

fn applied() -> Input {
    Input::Applied { cursor: None, tail: 9, leapt: false, touched_edits: false, found_edits: false }
}

/// Whether it says to be in step by polls, and why.
fn polling(effects: &[Effect]) -> Option<String> {
    effects.iter().find_map(|effect| match effect {
        Effect::Apply { phase: Phase::Polling, polled: true, current: true, reason, .. } => reason.clone(),
        _ => None,
    })
}

/// An answer of somebody who is no Hearth server.
fn page(status: u16) -> Refusal {
    Refusal { message: format!("the server answered {status}"), ..refusal(status, "") }
}

fn asks_for_a_stream(effects: &[Effect]) -> bool {
    effects.contains(&Effect::Ask(Errand::Me))
}

#[test]
fn a_stream_that_is_refused_or_cut_is_made_up_for_by_polls() {
    let refused = |refusal| Input::StreamRefused(refusal);
    let ended = || Input::StreamEnded { reason: "the connection broke".into() };
    let too_many = Refusal { retry_after: Some(5_000), ..refusal(429, "too_many_streams") };
    for input in [refused(page(504)), refused(page(404)), refused(page(403)), refused(too_many), ended()] {
        let mut core = started(Until::Stopped);
        let effects = core.handle(20_000, input);
        assert_eq!((effects[0] == Effect::CloseStream, polls(&effects)), (true, 1), "{effects:?}");
        let effects = core.handle(20_001, nothing_new());
        assert!(matches!(effects[0], Effect::Greet { .. }), "{effects:?}");
        assert!(polling(&effects).is_some(), "though nothing had happened: {effects:?}");
        assert_eq!(sent(&core.handle(20_002, planned(&[1], true))), [1], "the cursor was accepted");
    }
    // One that opens and ends without a word owes as much.
    let mut core = opened(Until::Current);
    assert_eq!(polls(&core.handle(1, ended())), 1);
    assert!(polling(&core.handle(2, nothing_new())).is_some());
    assert!(core.handle(2, applied()).contains(&Effect::Finish(Verdict::Done)));
}

#[test]
fn what_the_server_says_of_the_replica_itself_is_no_matter_for_polls() {
    let ends = |kind: &str, status| {
        let mut core = started(Until::Stopped);
        let effects = core.handle(1, Input::StreamRefused(refusal(status, kind)));
        assert_eq!(polls(&effects), 0, "{effects:?}");
        phases(&effects)
    };
    assert_eq!(ends("invalid_api_key", 401), [Phase::NeedsKey]);
    assert_eq!(ends("insufficient_scope", 403), [Phase::NeedsKey]);
    assert_eq!(ends("invalid_cursor", 400), [Phase::Blocked]);
}

#[test]
fn a_stream_that_is_refused_is_asked_for_less_and_less_often_and_not_before_the_server_says() {
    let mut core = started(Until::Stopped);
    let mut refused_at = 0;
    let mut pauses = Vec::new();
    for round in 0..8 {
        let retry_after = (round == 7).then_some(900_000);
        core.handle(refused_at, Input::StreamRefused(Refusal { retry_after, ..refusal(429, "too_many_streams") }));
        core.handle(refused_at, nothing_new());
        core.handle(refused_at, applied());
        let mut polled = 0;
        let again = loop {
            let at = core.wake_at().unwrap();
            let effects = core.handle(at, Input::Timer);
            if asks_for_a_stream(&effects) {
                break at;
            }
            polled += polls(&effects);
            core.handle(at, nothing_new());
            core.handle(at, applied());
        };
        assert!(polled > 0, "it is polled meanwhile, whatever is said of the stream");
        pauses.push(again - refused_at);
        greet(&mut core, again);
        refused_at = again;
    }
    assert!((30_000..60_000).contains(&pauses[0]), "{pauses:?}");
    assert!((600_000..630_000).contains(&pauses[6]), "{pauses:?}");
    assert!((900_000..930_000).contains(&pauses[7]), "{pauses:?}");
    // One that comes through is worth the first pause again.
    core.handle(refused_at, Input::StreamOpened);
    core.handle(refused_at, ready(9));
    let at = cut(&mut core, refused_at + HELD);
    greet(&mut core, at);
    core.handle(at, Input::StreamRefused(page(502)));
    core.handle(at, nothing_new());
    while !asks_for_a_stream(&core.handle(core.wake_at().unwrap(), Input::Timer)) {
        assert!(core.wake_at().is_none(), "a poll is asked");
        core.handle(at + 20_000, nothing_new());
    }
}

#[test]
fn how_long_no_stream_is_wanted_does_not_depend_on_the_polls() {
    let refused = || {
        let mut core = started(Until::Stopped);
        let too_many = Refusal { retry_after: Some(600_000), ..refusal(429, "too_many_streams") };
        core.handle(0, Input::StreamRefused(too_many));
        core
    };
    let mut core = refused();
    let mut now = 0;
    for _ in 0..8 {
        core.handle(now, Input::Polled(Err(Failure::NoAnswer("cut".into()))));
        // Whoever is in a hurry does not have it asked for earlier either.
        assert!(asks_for_a_stream(&core.handle(now, hurry())));
        let effects = greet(&mut core, now);
        let opens = effects.iter().any(|effect| matches!(effect, Effect::OpenStream { .. }));
        assert_eq!((opens, polls(&effects)), (false, 1), "{effects:?}");
        now += 10_000;
    }
    let effects = core.handle(now, nothing_new());
    assert!(matches!(effects[0], Effect::Greet { .. }), "the polls are contact: {effects:?}");
    assert!(polling(&effects).is_some_and(|why| why.contains("too_many_streams")), "{effects:?}");
    while !asks_for_a_stream(&core.handle(core.wake_at().unwrap(), Input::Timer)) {
        now += 20_000;
        core.handle(now, nothing_new());
    }
    assert!(now >= 560_000, "{now}");
    assert!(matches!(greet(&mut core, 600_000)[..], [Effect::OpenStream { .. }]));
    // Another key has streams of its own.
    let mut core = refused();
    core.handle(1, Input::KeyChanged);
    assert!(matches!(greet(&mut core, 2)[..], [Effect::OpenStream { .. }]));
}

#[test]
fn streams_that_are_cut_each_time_are_made_up_for_by_polls() {
    let ended = || Input::StreamEnded { reason: "cut".into() };
    let some = |id| Input::Frames(Stretch { events: vec![event(id)], ..Stretch::default() });
    let mut core = opened(Until::Stopped);
    let mut now = 0;
    for id in 1..3 {
        core.handle(now, some(id));
        assert_eq!(polls(&core.handle(now, ended())), 0, "a line may break");
        now = core.wake_at().unwrap();
        assert!(asks_for_a_stream(&core.handle(now, Input::Timer)) && now < 1_500, "{now}");
        greet(&mut core, now);
        core.handle(now, Input::StreamOpened);
    }
    let mut pauses = Vec::new();
    for id in 3..11 {
        core.handle(now, some(id));
        let effects = core.handle(now, ended());
        assert_eq!((&effects[0], polls(&effects)), (&Effect::CloseStream, 1), "{effects:?}");
        let effects = core.handle(now, nothing_new());
        assert!(polling(&effects).is_some_and(|why| why.contains("cut")), "{effects:?}");
        core.handle(now, Input::EditsChanged);
        assert_eq!(sent(&core.handle(now, planned(&[id], true))), [id], "contact stays");
        core.handle(now, accepted(id, id));
        core.handle(now, planned(&[], false));
        let began = now;
        loop {
            now = core.wake_at().unwrap();
            if asks_for_a_stream(&core.handle(now, Input::Timer)) {
                break;
            }
            core.handle(now, nothing_new());
        }
        pauses.push(now - began);
        greet(&mut core, now);
        core.handle(now, Input::StreamOpened);
    }
    assert!((30_000..60_000).contains(&pauses[0]) && pauses[0] < pauses[2], "{pauses:?}");
    assert!((600_000..630_000).contains(&pauses[7]), "{pauses:?}");
    // One that has held is no such stream any more.
    core.handle(now, ready(10));
    for _ in 0..2 {
        assert_eq!(polls(&core.handle(now + HELD, ended())), 0);
        now = core.wake_at().unwrap();
        core.handle(now, Input::Timer);
        greet(&mut core, now);
        core.handle(now, Input::StreamOpened);
        core.handle(now, ready(10));
        now -= HELD;
    }
}

#[test]
fn what_is_to_end_soon_does_not_wait_for_a_stream_that_is_kept_back() {
    let mut core = started(Until::Current);
    assert_eq!(core.wake_at(), Some(10_000));
    core.handle(3_000, Input::StreamOpened);
    core.handle(8_000, Input::Contact);
    assert_eq!(core.wake_at(), Some(10_000), "from the start, whatever comments come");
    assert_eq!(polls(&core.handle(10_000, Input::Timer)), 1);
    assert!(polling(&core.handle(10_001, nothing_new())).is_some());
    assert!(core.handle(10_001, applied()).contains(&Effect::Finish(Verdict::Done)));
    // What has said something has the usual time.
    let mut core = opened(Until::Pushed);
    core.handle(1, Input::Frames(Stretch { events: vec![event(2)], ..Stretch::default() }));
    assert_eq!(core.wake_at(), Some(45_001));
}

#[test]
fn comments_put_the_silence_off_but_prove_nothing() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    let mut now = 0;
    while core.wake_at().unwrap() > now + 5_000 {
        now += 5_000;
        let effects = core.handle(now, Input::Contact);
        assert!(!effects.contains(&Effect::Touch { current: true }), "{effects:?}");
    }
    let at = core.wake_at().unwrap();
    assert_eq!(at, 150_000, "the server would have said where it is twice");
    assert_eq!(polls(&core.handle(at, Input::Timer)), 1);
    assert!(polling(&core.handle(at, nothing_new())).is_some(), "what comments cover for is not tried again at once");
    // From the server's own heartbeats it never comes to that.
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    for beat in 1..20 {
        let heartbeat = Stretch { cursor: Some("c9".into()), ..Stretch::default() };
        for quarter in 1..4 {
            core.handle(beat * 60_000 - 60_000 + quarter * 15_000, Input::Contact);
        }
        let effects = core.handle(beat * 60_000, Input::Frames(heartbeat));
        assert!(matches!(effects[..], [Effect::Apply { current: true, .. }]), "{effects:?}");
        core.handle(beat * 60_000, applied());
        assert_eq!(core.wake_at(), Some(beat * 60_000 + 45_000));
    }
}

#[test]
fn comments_from_the_first_byte_on_are_no_stream() {
    let mut core = opened(Until::Stopped);
    for second in 1..9 {
        core.handle(second * 5_000, Input::Contact);
    }
    assert_eq!(core.wake_at(), Some(45_000));
    assert_eq!(polls(&core.handle(45_000, Input::Timer)), 1);
    assert!(polling(&core.handle(45_001, nothing_new())).is_some());
}

#[test]
fn a_stranger_who_forbids_it_has_refused_no_key() {
    let mut core = Core::new(Until::Stopped, 7);
    let cursor = Some("c1".into());
    core.handle(0, Input::Started { cursor, backfilled: true, home: None, recovery: None, paused: false });
    let effects = core.handle(1, Input::Met(Err(Failure::Refused(page(403)))));
    assert_eq!(phases(&effects), [Phase::Offline]);
    assert!(core.wake_at().unwrap() < BACKOFF_FIRST + 1, "the network's own pauses");
}

//! The link: contact, live, reconnects after cuts, and homes and cursors that the server refuses.

use super::*;

#[test]
fn ready_batch_proves_live() {
    let mut core = started(Until::Stopped);
    let actions = core.handle(0, Event::StreamOpened);
    assert_eq!(phases(&actions), [Phase::CatchingUp]);
    let actions = core.handle(1, ready(9));
    assert!(matches!(&actions[..], [Action::ApplyBatch { phase: Phase::Live, .. }]), "{actions:?}");
}

#[test]
fn backfill_allows_push() {
    let mut core = Core::new(Until::Stopped, 7);
    core.handle(0, first_start(false));
    greet(&mut core, 0);
    let actions = core.handle(0, Event::StreamOpened);
    assert_eq!(phases(&actions), [Phase::Backfilling]);
    let actions = core.handle(0, planned(&[1], true));
    assert_eq!(sent(&actions), [1]);
}

#[test]
fn retries_are_random_and_respect_retry_after() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    let mut longest = 0;
    let mut now = 0;
    for _ in 0..40 {
        core.handle(now, Event::StreamEnded { reason: "cut".into() });
        let at = core.wake_at().unwrap();
        assert!(at - now < BACKOFF_MAX);
        longest = longest.max(at - now);
        now = at;
        core.handle(now, Event::Timer);
    }
    assert!(longest > 10_000, "{longest}");

    let floor = Refusal { retry_after: Some(70_000), ..refusal(429, "rate_limited") };
    core.handle(now, Event::StreamRefused(floor));
    assert!(core.wake_at().unwrap() >= now + 70_000);
}

#[test]
fn stream_cut_early_is_opened_less_often() {
    let mut core = opened(Until::Stopped);
    let mut now = 0;
    let mut opened = 0;
    while now < 120_000 {
        core.handle(now, ready(9));
        now = cut(&mut core, now + 50);
        greet(&mut core, now);
        core.handle(now, Event::StreamOpened);
        opened += 1;
    }
    assert!(opened < 30, "{opened}");
    // A stable stream is opened again at once.
    core.handle(now, ready(9));
    let again = cut(&mut core, now + STABLE_AFTER);
    assert!(again - now - STABLE_AFTER < BACKOFF_FIRST, "{}", again - now);
}

#[test]
fn cursor_expired_twice_waits() {
    let mut core = started(Until::Stopped);
    let expired = || {
        let expired = Expired { restored: false, resume: "c2".into(), fork: None };
        Event::StreamRefused(Refusal { expired: Some(expired), ..refusal(410, "cursor_expired") })
    };
    let actions = core.handle(0, expired());
    assert!(actions.contains(&Action::Request(Request::Identity)), "at once: {actions:?}");
    let mut now = 0;
    for _ in 0..12 {
        greet(&mut core, now);
        let actions = core.handle(now, expired());
        assert!(!actions.contains(&Action::Request(Request::Identity)), "{actions:?}");
        now = core.wake_at().unwrap();
        core.handle(now, Event::Timer);
    }
    assert!(now > 60_000, "{now}");
    greet(&mut core, now);
    core.handle(now, Event::StreamOpened);
    core.handle(now, ready(9));
    core.handle(now, Event::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    core.handle(at, Event::Timer);
    greet(&mut core, at);
    assert!(core.handle(at, expired()).contains(&Action::Request(Request::Identity)), "a batch has arrived in between");
}

#[test]
fn other_home_blocks_the_sync() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    let at = cut(&mut core, 0);
    core.handle(at, Event::FeedHeadReceived(Ok(FeedHead::default())));
    let actions = core.handle(at, identity_received("other"));
    assert!(actions.iter().any(|e| matches!(e, Action::Finish(EndReason::Blocked(..)))), "{actions:?}");
    assert_eq!(phases(&actions), [Phase::Blocked]);
    assert!(core.handle(1, ready(9)).is_empty(), "no batch is applied");
}

#[test]
fn feed_behind_the_known_head_reconnects() {
    let mut core = opened(Until::Stopped);
    // The greeting told head 9; then the server was restored.
    let actions = core.handle(100, ready(6));
    assert!(actions.contains(&Action::CloseStream), "{actions:?}");
    assert!(!actions.iter().any(|action| matches!(action, Action::ApplyBatch { .. })), "{actions:?}");
    let at = core.wake_at().unwrap();
    assert!(core.handle(at, Event::Timer).contains(&Action::Request(Request::FeedHead)));

    // The same by polls: by the first poll, and by a later poll.
    for polls in [1, 2] {
        let mut core = started(Until::Stopped);
        core.handle(45_000, Event::Timer);
        let mut last = Vec::new();
        for head in [9, 6].into_iter().skip(2 - polls) {
            let polled = FeedBatch { events: vec![event(head)], end: present(head), cursor: Some(format!("c{head}")) };
            last = core.handle(45_100, Event::Polled(Ok(polled)));
        }
        let applies = last.iter().any(|action| matches!(action, Action::ApplyBatch { .. }));
        assert!(last.contains(&Action::CloseStream) && !applies, "{last:?}");
    }
}

#[test]
fn contact_is_saved_every_ten_seconds() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    assert_eq!(core.handle(5_000, Event::StreamActive), []);
    assert_eq!(core.handle(10_000, Event::StreamActive), [Action::TouchContact { is_current: false }]);
    assert_eq!(core.handle(15_000, Event::StreamActive), []);
}

//! Moments of a sync, each as inputs and the effects they must have. No runtime, no clock, no waiting.

mod feed;
mod push;

use hearth_contract::schema::Kind;
use serde_json::json;

use super::*;
use crate::model::{BlockCause, Phase};

fn started(until: Until) -> Core {
    let mut core = Core::new(until, 7);
    let effects = core.handle(
        0,
        Input::Started {
            cursor: Some("c1".into()),
            backfilled: true,
            home: Some("home".into()),
            recovery: None,
            paused: false,
        },
    );
    assert_eq!(effects, [Effect::Ask(Errand::Me), Effect::Ask(Errand::Feed)]);
    assert_eq!(greet(&mut core, 0), [Effect::OpenStream { cursor: Some("c1".into()) }]);
    core
}

/// What is found on disk once there is room again.
fn on_disk() -> Input {
    Input::Started {
        cursor: Some("c0".into()),
        backfilled: true,
        home: Some("home".into()),
        recovery: None,
        paused: false,
    }
}

fn met(home: &str) -> Input {
    Input::Met(Ok(Identity {
        home_id: home.into(),
        home_name: "Home".into(),
        environment: "live".into(),
        scopes: vec![],
        limits: None,
    }))
}

fn greet(core: &mut Core, now: Millis) -> Vec<Effect> {
    let mut effects = core.handle(now, met("home"));
    effects.extend(core.handle(now, Input::FeedStands(Ok(Standing { head: Some(9), retention_seconds: None }))));
    effects
}

fn opened(until: Until) -> Core {
    let mut core = started(until);
    core.handle(0, Input::StreamOpened);
    core.handle(0, planned(&[], false));
    core
}

fn refusal(status: u16, kind: &str) -> Refusal {
    Refusal { status, kind: kind.into(), message: kind.into(), expired: None, problem: json!({}), retry_after: None }
}

fn ready(head: i64) -> Input {
    Input::Frames(Stretch { ready: Some(head), cursor: Some(format!("c{head}")), ..Stretch::default() })
}

fn hurry() -> Input {
    Input::Wished { paused: false, reconcile: None, hurry: true }
}

fn wish(paused: bool) -> Input {
    Input::Wished { paused, reconcile: None, hurry: false }
}

fn phases(effects: &[Effect]) -> Vec<Phase> {
    effects.iter().filter_map(|e| if let Effect::Show { phase, .. } = e { Some(*phase) } else { None }).collect()
}

/// Edits of different kinds, so that none of them go together.
fn planned(edits: &[i64], open: bool) -> Input {
    let kinds = [Kind::Room, Kind::Task, Kind::Vehicle];
    let one = |edit: &i64| Ready { edits: vec![*edit], kind: kinds[*edit as usize % 3], frozen: false, bytes: 100 };
    Input::Planned { ready: edits.iter().map(one).collect(), open }
}

fn told(edit: i64, word: Word) -> Input {
    Input::Answered { sent: vec![edit], carried: vec![edit], outcome: Outcome::Told(vec![(edit, word)]) }
}

fn accepted(edit: i64, rev: i64) -> Input {
    told(edit, Word::Accepted { rev: Some(rev) })
}

/// What is sent, flattened.
fn sent(effects: &[Effect]) -> Vec<i64> {
    calls(effects).concat()
}

/// What is sent, by request.
fn calls(effects: &[Effect]) -> Vec<Vec<i64>> {
    let parcels =
        |e: &Effect| if let Effect::Ask(Errand::Send { parcels }) = e { Some(parcels.concat()) } else { None };
    effects.iter().filter_map(parcels).collect()
}

#[test]
fn live_is_claimed_with_what_proves_it() {
    let mut core = started(Until::Stopped);
    let effects = core.handle(0, Input::StreamOpened);
    assert_eq!(phases(&effects), [Phase::CatchingUp]);
    let effects = core.handle(1, ready(9));
    assert!(matches!(&effects[..], [Effect::Apply { phase: Phase::Live, .. }]), "{effects:?}");
}

#[test]
fn a_first_sync_pushes_beside_the_backfill() {
    let mut core = Core::new(Until::Stopped, 7);
    core.handle(0, Input::Started { cursor: None, backfilled: false, home: None, recovery: None, paused: false });
    greet(&mut core, 0);
    let effects = core.handle(0, Input::StreamOpened);
    assert_eq!(phases(&effects), [Phase::Backfilling]);
    let effects = core.handle(0, planned(&[1], true));
    assert_eq!(sent(&effects), [1]);
}

#[test]
fn retries_spread_out_and_keep_the_servers_floor() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    let mut longest = 0;
    let mut now = 0;
    for _ in 0..40 {
        core.handle(now, Input::StreamEnded { reason: "cut".into() });
        let at = core.wake_at().unwrap();
        assert!(at - now < BACKOFF_MAX);
        longest = longest.max(at - now);
        now = at;
        core.handle(now, Input::Timer);
    }
    assert!(longest > 10_000, "{longest}");

    let floor = Refusal { retry_after: Some(70_000), ..refusal(429, "rate_limited") };
    core.handle(now, Input::StreamRefused(floor));
    assert!(core.wake_at().unwrap() >= now + 70_000);
}

/// Tells that the stream is cut, until it is to be opened again, and answers the polls till then; gives when.
fn cut(core: &mut Core, now: Millis) -> Millis {
    let mut at = now;
    let mut effects = core.handle(at, Input::StreamEnded { reason: "cut".into() });
    while !effects.contains(&Effect::Ask(Errand::Me)) {
        if polls(&effects) > 0 {
            let stretch = Stretch { ready: Some(9), ..Stretch::default() };
            core.handle(at, Input::Polled(Ok(stretch)));
        }
        at = core.wake_at().unwrap();
        effects = core.handle(at, Input::Timer);
    }
    at
}

#[test]
fn a_stream_that_is_cut_each_time_is_opened_less_and_less_often() {
    let mut core = opened(Until::Stopped);
    let mut now = 0;
    let mut opened = 0;
    while now < 120_000 {
        core.handle(now, ready(9));
        now = cut(&mut core, now + 50);
        greet(&mut core, now);
        core.handle(now, Input::StreamOpened);
        opened += 1;
    }
    assert!(opened < 30, "{opened}");
    // One that has held is missed at once.
    core.handle(now, ready(9));
    let again = cut(&mut core, now + HELD);
    assert!(again - now - HELD < BACKOFF_FIRST, "{}", again - now);
}

#[test]
fn a_cursor_that_is_forgotten_again_at_once_is_not_asked_with_without_end() {
    let mut core = started(Until::Stopped);
    let expired = || {
        let expired = Expired { restored: false, resume: "c2".into(), fork: None };
        Input::StreamRefused(Refusal { expired: Some(expired), ..refusal(410, "cursor_expired") })
    };
    let effects = core.handle(0, expired());
    assert!(effects.contains(&Effect::Ask(Errand::Me)), "at once: {effects:?}");
    let mut now = 0;
    for _ in 0..12 {
        greet(&mut core, now);
        let effects = core.handle(now, expired());
        assert!(!effects.contains(&Effect::Ask(Errand::Me)), "{effects:?}");
        now = core.wake_at().unwrap();
        core.handle(now, Input::Timer);
    }
    assert!(now > 60_000, "{now}");
    greet(&mut core, now);
    core.handle(now, Input::StreamOpened);
    core.handle(now, ready(9));
    core.handle(now, Input::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    core.handle(at, Input::Timer);
    greet(&mut core, at);
    assert!(core.handle(at, expired()).contains(&Effect::Ask(Errand::Me)), "something has come meanwhile");
}

#[test]
fn another_home_behind_the_address_is_refused() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    let at = cut(&mut core, 0);
    core.handle(at, Input::FeedStands(Ok(Standing::default())));
    let effects = core.handle(at, met("other"));
    assert!(effects.iter().any(|e| matches!(e, Effect::Finish(Verdict::Blocked(..)))), "{effects:?}");
    assert_eq!(phases(&effects), [Phase::Blocked]);
    assert!(core.handle(1, ready(9)).is_empty(), "nothing of it is applied");
}

#[test]
fn a_single_run_ends_when_everything_is_confirmed() {
    let done = |effects: &[Effect]| effects.contains(&Effect::Finish(Verdict::Done));
    let mut core = opened(Until::Pushed);
    core.handle(0, Input::EditsChanged);
    core.handle(0, planned(&[1], true));
    core.handle(1, ready(9));
    assert!(!done(
        &core.handle(
            1,
            Input::Applied { cursor: None, tail: 0, leapt: false, touched_edits: false, found_edits: false }
        )
    ));
    let effects = core.handle(2, accepted(1, 10));
    assert!(!done(&effects) && effects.contains(&Effect::Plan));
    assert!(!done(&core.handle(2, planned(&[], true))), "sent, but not yet passed");
    core.handle(3, Input::Frames(Stretch { cursor: Some("c10".into()), ..Stretch::default() }));
    let effects =
        core.handle(3, Input::Applied { cursor: None, tail: 0, leapt: false, touched_edits: true, found_edits: false });
    assert_eq!(effects, [Effect::Plan]);
    assert!(done(&core.handle(3, planned(&[], false))));

    let mut core = opened(Until::Current);
    core.handle(0, ready(9));
    assert!(done(
        &core.handle(
            0,
            Input::Applied { cursor: None, tail: 0, leapt: false, touched_edits: false, found_edits: false }
        )
    ));
}

#[test]
fn contact_is_written_down_now_and_then() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    assert_eq!(core.handle(5_000, Input::Contact), []);
    assert_eq!(core.handle(10_000, Input::Contact), [Effect::Touch { current: false }]);
    assert_eq!(core.handle(15_000, Input::Contact), []);
}

#[test]
fn a_pause_lets_go_and_a_resume_goes_on_at_once() {
    let mut core = opened(Until::Stopped);
    let effects = core.handle(1, wish(true));
    assert_eq!((&effects[0], phases(&effects)), (&Effect::CloseStream, vec![Phase::Paused]));
    assert_eq!(core.handle(2, wish(true)), []);
    assert_eq!(core.wake_at(), None);
    core.handle(3, Input::EditsChanged);
    assert!(sent(&core.handle(3, planned(&[1], true))).is_empty());
    let effects = core.handle(4, wish(false));
    assert_eq!(effects, [Effect::Ask(Errand::Me), Effect::Ask(Errand::Feed)]);
    greet(&mut core, 5);
    assert_eq!(sent(&core.handle(5, Input::StreamOpened)), [1]);
}

#[test]
fn a_pause_outlives_the_process() {
    let began = |until| {
        let mut core = Core::new(until, 7);
        let mut effects = core
            .handle(0, Input::Started { cursor: None, backfilled: false, home: None, recovery: None, paused: true });
        effects.extend(core.handle(0, Input::Wished { paused: true, reconcile: None, hurry: false }));
        effects
    };
    assert_eq!(phases(&began(Until::Stopped)), [Phase::Paused]);
    assert!(began(Until::Pushed).contains(&Effect::Finish(Verdict::Paused)));
}

fn polls(effects: &[Effect]) -> usize {
    effects.iter().filter(|effect| matches!(effect, Effect::Ask(Errand::Poll { .. }))).count()
}

fn event(id: i64) -> hearth_contract::event::Event {
    serde_json::from_value(json!({
        "id": id, "type": "deleted", "resource_type": "room", "resource_id": "00000000-0000-0000-0000-000000000007",
        "payload": null, "created_at": "2026-06-01T00:00:00.000Z",
    }))
    .unwrap()
}

/// Lets a stream that has told something fall silent, and has the next one opened; gives when that is.
fn silence(core: &mut Core, at: Millis) -> Millis {
    let effects = core.handle(at, Input::Timer);
    assert_eq!((effects[0] == Effect::CloseStream, polls(&effects)), (true, 0), "{effects:?}");
    let at = core.wake_at().unwrap();
    assert!(core.handle(at, Input::Timer).contains(&Effect::Ask(Errand::Me)));
    greet(core, at);
    core.handle(at, Input::StreamOpened);
    at
}

#[test]
fn a_stream_that_falls_silent_is_opened_again_first() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    assert_eq!(core.wake_at(), Some(45_000));
    core.handle(30_000, Input::Contact);
    assert_eq!(polls(&core.handle(45_000, Input::Timer)), 0, "a comment is a sign of life");
    // The path had died, and the next one is good for as long as this one was.
    let at = silence(&mut core, 75_000);
    assert!(at < 75_500, "{at}");
    core.handle(at, ready(12));
    core.handle(at + 15_000, Input::Contact);
    let at = silence(&mut core, at + 60_000);
    // This one brings nothing at all, so it is not the path.
    let effects = core.handle(at + 45_000, Input::Timer);
    assert_eq!((effects[0] == Effect::CloseStream, polls(&effects)), (true, 1));
}

#[test]
fn a_silent_stream_is_doubted_and_without_evidence_opened_again() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    let at = silence(&mut core, 45_000);
    // As a proxy does that lets the beginning through.
    core.handle(at, ready(9));
    let at = at + 45_000;
    let effects = core.handle(at, Input::Timer);
    assert_eq!((effects[0] == Effect::CloseStream, polls(&effects)), (true, 1));
    let nothing = Stretch { ready: Some(9), ..Stretch::default() };
    core.handle(at + 1, Input::Polled(Ok(nothing)));
    let at = core.wake_at().unwrap();
    assert!(core.handle(at, Input::Timer).contains(&Effect::Ask(Errand::Me)));
}

#[test]
fn a_head_of_a_history_that_is_gone_by_now_is_asked_for_again() {
    let mut core = opened(Until::Stopped);
    // The server had told 9 as its head, and was put back before it was asked for the stream.
    let effects = core.handle(100, ready(6));
    assert!(effects.contains(&Effect::CloseStream), "{effects:?}");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Apply { .. })), "{effects:?}");
    let at = core.wake_at().unwrap();
    assert!(core.handle(at, Input::Timer).contains(&Effect::Ask(Errand::Feed)));

    // A poll tells the same, at first and while polling goes on.
    for polls in [1, 2] {
        let mut core = started(Until::Stopped);
        core.handle(45_000, Input::Timer);
        let mut last = Vec::new();
        for head in [9, 6].into_iter().skip(2 - polls) {
            let polled = Stretch { events: vec![event(head)], ready: Some(head), cursor: Some(format!("c{head}")) };
            last = core.handle(45_100, Input::Polled(Ok(polled)));
        }
        let applies = last.iter().any(|effect| matches!(effect, Effect::Apply { .. }));
        assert!(last.contains(&Effect::CloseStream) && !applies, "{last:?}");
    }
}

#[test]
fn events_that_a_stream_kept_back_turn_it_to_polling_for_a_while() {
    let mut core = started(Until::Stopped);
    let effects = core.handle(45_000, Input::Timer);
    assert_eq!(polls(&effects), 1, "a stream that never opens is silent too");
    let found = |id| Stretch { events: vec![event(id)], ready: Some(id), cursor: Some(format!("c{id}")) };
    let effects = core.handle(45_100, Input::Polled(Ok(found(10))));
    assert!(matches!(effects[0], Effect::Greet { .. }), "{effects:?}");
    let polling = |e: &Effect| matches!(e, Effect::Apply { phase: Phase::Polling, polled: true, .. });
    assert!(effects.iter().any(polling), "{effects:?}");
    core.handle(
        45_100,
        Input::Applied { cursor: Some("c10".into()), tail: 10, leapt: false, touched_edits: false, found_edits: false },
    );
    assert_eq!(core.wake_at(), Some(65_100));
    let effects = core.handle(65_100, Input::Timer);
    assert!(effects.contains(&Effect::Ask(Errand::Poll { cursor: Some("c10".into()), goes_on: false })));
    core.handle(65_200, planned(&[1], true));
    core.handle(65_200, Input::Polled(Ok(Stretch { ready: Some(10), ..Stretch::default() })));

    // Later the stream is tried again; it proves itself soon, or polling goes on.
    let at = core.wake_at().unwrap().max(645_000);
    assert!(core.handle(at, Input::Timer).contains(&Effect::Ask(Errand::Me)));
    assert!(matches!(greet(&mut core, at)[..], [Effect::OpenStream { .. }]));
    core.handle(at, Input::StreamOpened);
    assert_eq!(core.wake_at(), Some(at + 10_000));
    let effects = core.handle(at + 1, ready(10));
    assert!(matches!(&effects[..], [Effect::Apply { phase: Phase::Live, polled: false, .. }]), "{effects:?}");
    assert_eq!(core.wake_at(), Some(at + 1 + 45_000));
}

#[test]
fn a_stream_that_never_brought_a_word_is_mute_although_nothing_happens() {
    let nothing = || Input::Polled(Ok(Stretch { ready: Some(9), ..Stretch::default() }));
    let mut core = started(Until::Stopped);
    core.handle(20_000, Input::StreamOpened);
    core.handle(20_000, planned(&[], false));
    core.handle(65_000, Input::Timer);
    let effects = core.handle(65_001, nothing());
    let polling = |e: &Effect| matches!(e, Effect::Apply { phase: Phase::Polling, polled: true, .. });
    assert!(effects.iter().any(polling), "{effects:?}");

    // Edits go up meanwhile, and what they do comes with the poll that follows at once.
    core.handle(
        65_002,
        Input::Applied { cursor: None, tail: 9, leapt: false, touched_edits: false, found_edits: false },
    );
    core.handle(65_003, Input::EditsChanged);
    assert_eq!(sent(&core.handle(65_003, planned(&[1], true))), [1]);
    assert_eq!(polls(&core.handle(65_004, accepted(1, 10))), 0);
    assert_eq!(core.wake_at(), Some(65_004));
    assert_eq!(polls(&core.handle(65_004, Input::Timer)), 1);
    core.handle(65_005, nothing());

    // Each time the stream is tried again it has ten seconds, and polling goes on if it is as mute as before.
    let at = core.wake_at().unwrap().max(665_000);
    core.handle(at, Input::Timer);
    greet(&mut core, at);
    core.handle(at, Input::StreamOpened);
    assert_eq!(polls(&core.handle(at + 10_000, Input::Timer)), 1);
    assert!(core.handle(at + 10_001, nothing()).iter().any(polling));
    assert_eq!(core.wake_at(), Some(at + 30_001));
}

#[test]
fn a_stream_that_ends_without_a_word_is_doubted() {
    let mut core = opened(Until::Stopped);
    assert_eq!(polls(&core.handle(5, Input::StreamEnded { reason: "cut".into() })), 1);
    let mut core = opened(Until::Stopped);
    core.handle(5, ready(9));
    assert_eq!(polls(&core.handle(6, Input::StreamEnded { reason: "cut".into() })), 0);
}

#[test]
fn a_full_disk_stops_the_feed_and_heals_from_what_is_on_disk() {
    let mut core = opened(Until::Stopped);
    core.handle(0, Input::EditsChanged);
    core.handle(0, planned(&[1], true));
    let effects = core.handle(1, Input::DiskFull { reason: "full".into(), cause: BlockCause::DiskFull });
    assert_eq!((&effects[0], phases(&effects)), (&Effect::CloseStream, vec![Phase::Blocked]));
    let at = core.wake_at().unwrap();
    assert_eq!(core.handle(at, Input::Timer), [Effect::Reload]);
    core.handle(at, on_disk());
    assert_eq!(greet(&mut core, at), [Effect::OpenStream { cursor: Some("c0".into()) }]);
    let effects = core.handle(at, Input::StreamOpened);
    assert!(effects.contains(&Effect::Plan), "{effects:?}");
    let effects = core.handle(at, planned(&[1], true));
    assert_eq!(sent(&effects), [1], "the same edit, with the same bytes");
}

#[test]
fn a_single_sync_ends_after_a_full_disk_has_healed() {
    let mut core = opened(Until::Current);
    let effects = core.handle(1, ready(9));
    assert!(matches!(effects[..], [Effect::Apply { .. }]), "{effects:?}");
    core.handle(1, Input::DiskFull { reason: "full".into(), cause: BlockCause::DiskFull });
    let at = core.wake_at().unwrap();
    core.handle(at, Input::Timer);
    core.handle(at, on_disk());
    greet(&mut core, at);
    core.handle(at, Input::StreamOpened);
    core.handle(at, ready(9));
    let effects = core
        .handle(at, Input::Applied { cursor: None, tail: 9, leapt: false, touched_edits: false, found_edits: false });
    assert!(effects.contains(&Effect::Finish(Verdict::Done)), "{effects:?}");
}

#[test]
fn a_disk_that_is_full_at_the_very_end_is_not_the_end() {
    let mut core = opened(Until::Stopped);
    core.handle(1, Input::StopRequested);
    // What stood before the end found no room, so the end was not heard of.
    core.handle(1, Input::DiskFull { reason: "full".into(), cause: BlockCause::DiskFull });
    let effects = core.handle(2, Input::StopRequested);
    assert!(effects.contains(&Effect::Finish(Verdict::Done)), "{effects:?}");
}

#[test]
fn another_key_is_tried_at_once_and_nothing_is_sent_before_its_home_is_known() {
    let mut core = opened(Until::Stopped);
    let refused = Input::StreamRefused(refusal(401, "invalid_api_key"));
    core.handle(1, Input::StreamEnded { reason: "cut".into() });
    core.handle(2, refused);
    assert!(core.wake_at().unwrap() > 50_000);
    let effects = core.handle(3, Input::KeyChanged);
    assert_eq!(effects, [Effect::CloseStream, Effect::Ask(Errand::Me), Effect::Ask(Errand::Feed)]);
    assert!(sent(&core.handle(3, planned(&[1], true))).is_empty());
    greet(&mut core, 4);
    assert_eq!(sent(&core.handle(4, Input::StreamOpened)), [1]);

    // In contact too: the key may be another home's.
    let effects = core.handle(5, Input::KeyChanged);
    assert_eq!(effects, [Effect::CloseStream, Effect::Ask(Errand::Me), Effect::Ask(Errand::Feed)]);
    core.handle(6, wish(true));
    assert_eq!(core.handle(7, Input::KeyChanged), [], "a pause stays one");
}

#[test]
fn a_pause_on_a_full_disk_ends_with_what_is_on_disk() {
    let mut core = opened(Until::Stopped);
    core.handle(1, Input::DiskFull { reason: "full".into(), cause: BlockCause::DiskFull });
    core.handle(2, wish(true));
    let effects = core.handle(3, wish(false));
    assert!(effects.contains(&Effect::Reload), "{effects:?}");
    core.handle(3, on_disk());
    greet(&mut core, 3);
    core.handle(3, Input::StreamOpened);
    let effects = core.handle(4, ready(9));
    assert!(matches!(&effects[0], Effect::Apply { phase: Phase::Live, .. }), "{effects:?}");
}

#[test]
fn who_is_in_a_hurry_waits_for_the_server_but_not_for_our_own_pause() {
    let again = [Effect::Ask(Errand::Me), Effect::Ask(Errand::Feed)];
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    core.handle(10, Input::StreamEnded { reason: "gone".into() });
    assert!(core.handle(12, wish(false)).is_empty(), "nobody asked for it");
    assert_eq!(core.handle(12, hurry()), again);
    assert!(core.handle(13, hurry()).is_empty(), "it is being tried");

    let mut core = started(Until::Stopped);
    let busy = Refusal { retry_after: Some(30_000), ..refusal(503, "busy") };
    core.handle(0, Input::StreamRefused(busy.clone()));
    core.handle(0, Input::Polled(Err(Failure::Refused(busy))));
    assert!(core.handle(29_999, hurry()).is_empty(), "the server said when");
    assert_eq!(core.handle(30_000, hurry()), again);

    let mut core = started(Until::Stopped);
    core.handle(0, Input::StreamRefused(refusal(401, "invalid_api_key")));
    assert!(core.wake_at().is_some_and(|at| at >= 60_000));
    assert_eq!(core.handle(1, hurry()), again, "the key may have been given back");
}

//! Link, status and end of a sync: events and the actions they cause. No runtime, no clock, no waiting.

mod reconcile;
mod silence;
mod streams;

use hearth_contract::schema::Kind;
use serde_json::json;

use super::backoff::{BACKOFF_FIRST, BACKOFF_MAX};
use super::*;
use crate::model::{BlockCause, Phase, ReadyEdits, Transport};

/// The end of a batch that reaches the present.
pub(super) fn present(head: i64) -> BatchEnd {
    BatchEnd::Present { head: Some(head) }
}

fn started(until: Until) -> Core {
    let mut core = Core::new(until, 7);
    let actions = core.handle(0, filled_to("c1"));
    assert_eq!(actions, [Action::Request(Request::Identity), Action::Request(Request::FeedHead)]);
    assert_eq!(greet(&mut core, 0), [Action::OpenStream { cursor: Some("c1".into()) }]);
    core
}

/// The first start of a replica.
fn begun(is_paused: bool) -> Event {
    let holds_streams_back = false;
    Event::Started { cursor: None, is_filled: false, home_id: None, holds_streams_back, reconcile: None, is_paused }
}

/// The state on disk after a refused write.
fn on_disk() -> Event {
    filled_to("c0")
}

/// The start of a replica that has been filled, and that goes on at this cursor.
fn filled_to(cursor: &str) -> Event {
    Event::Started {
        cursor: Some(cursor.into()),
        is_filled: true,
        home_id: Some("home".into()),
        holds_streams_back: false,
        reconcile: None,
        is_paused: false,
    }
}

/// The owner of a key with these scopes.
pub(super) fn identity(home: &str, scopes: &[&str]) -> Identity {
    Identity {
        home_id: home.into(),
        home_name: "Home".into(),
        environment: "live".into(),
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        limits: None,
    }
}

fn identity_received(home: &str) -> Event {
    Event::IdentityReceived(Ok(identity(home, &[])))
}

fn greet(core: &mut Core, now: Millis) -> Vec<Action> {
    let mut actions = core.handle(now, identity_received("home"));
    actions.extend(core.handle(now, Event::FeedHeadReceived(Ok(FeedHead { head: Some(9), retention_seconds: None }))));
    actions
}

fn opened(until: Until) -> Core {
    let mut core = started(until);
    core.handle(0, Event::StreamOpened);
    core.handle(0, planned(&[], false));
    core
}

pub(super) fn refusal(status: u16, kind: &str) -> Refusal {
    Refusal {
        status,
        error_type: ErrorType::parse(kind),
        message: kind.into(),
        expired: None,
        problem: json!({}),
        retry_after: None,
    }
}

/// The database has applied a batch without a new position.
fn batch_applied(affects_edits: bool, confirms_edits: bool) -> Event {
    Event::BatchApplied { cursor: None, position: 0, has_id_gap: false, affects_edits, confirms_edits }
}

fn ready(head: i64) -> Event {
    Event::StreamBatch(FeedBatch { end: present(head), cursor: Some(format!("c{head}")), ..FeedBatch::default() })
}

fn retry_now() -> Event {
    Event::ControlChanged { is_paused: false, reconcile: None, retry_now: true }
}

fn pause(is_paused: bool) -> Event {
    Event::ControlChanged { is_paused, reconcile: None, retry_now: false }
}

fn phases(actions: &[Action]) -> Vec<Phase> {
    actions.iter().filter_map(|e| if let Action::ShowPhase { phase, .. } = e { Some(*phase) } else { None }).collect()
}

/// Edits of different kinds, so each needs a request of its own.
fn planned(edits: &[i64], has_open_edits: bool) -> Event {
    let kinds = [Kind::Room, Kind::Task, Kind::Vehicle];
    let one =
        |edit: &i64| ReadyEdits { edits: vec![*edit], kind: kinds[*edit as usize % 3], is_frozen: false, bytes: 100 };
    Event::Push(PushInput::Planned { ready: edits.iter().map(one).collect(), has_open_edits })
}

fn edit_answered(edit: i64, response: EditResponse) -> Event {
    Event::Push(PushInput::Completed {
        sent: vec![edit],
        carried: vec![edit],
        outcome: SendOutcome::Answered(vec![(edit, response)]),
    })
}

fn accepted(edit: i64, rev: i64) -> Event {
    edit_answered(edit, EditResponse::Accepted { rev: Some(rev) })
}

/// The edits sent.
fn sent(actions: &[Action]) -> Vec<i64> {
    calls(actions).concat()
}

/// The edits sent, by request.
fn calls(actions: &[Action]) -> Vec<Vec<i64>> {
    let groups =
        |e: &Action| if let Action::Request(Request::SendEdits { groups }) = e { Some(groups.concat()) } else { None };
    actions.iter().filter_map(groups).collect()
}

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
    core.handle(0, begun(false));
    greet(&mut core, 0);
    let actions = core.handle(0, Event::StreamOpened);
    assert_eq!(phases(&actions), [Phase::Backfilling]);
    let actions = core.handle(0, planned(&[1], true));
    assert_eq!(sent(&actions), [1]);
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
    core.handle(0, Event::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    core.handle(at, Event::Timer);
    core.handle(at, Event::FeedHeadReceived(Ok(FeedHead::default())));
    let actions = core.handle(at, identity_received("other"));
    assert!(actions.iter().any(|e| matches!(e, Action::Finish(EndReason::Blocked(..)))), "{actions:?}");
    assert_eq!(phases(&actions), [Phase::Blocked]);
    assert!(core.handle(1, ready(9)).is_empty(), "no batch is applied");
}

#[test]
fn single_run_ends_when_edits_are_confirmed() {
    let done = |actions: &[Action]| actions.contains(&Action::Finish(EndReason::Done));
    let mut core = opened(Until::Pushed);
    core.handle(0, Event::Push(PushInput::EditsChanged));
    core.handle(0, planned(&[1], true));
    core.handle(1, ready(9));
    assert!(!done(&core.handle(1, batch_applied(false, false))));
    let actions = core.handle(2, accepted(1, 10));
    assert!(!done(&actions) && actions.contains(&Action::PlanEdits));
    assert!(!done(&core.handle(2, planned(&[], true))), "accepted, but not confirmed by the feed");
    core.handle(3, Event::StreamBatch(FeedBatch { cursor: Some("c10".into()), ..FeedBatch::default() }));
    let actions = core.handle(3, batch_applied(true, false));
    assert_eq!(actions, [Action::PlanEdits]);
    assert!(done(&core.handle(3, planned(&[], false))));

    let mut core = opened(Until::Current);
    core.handle(0, ready(9));
    assert!(done(&core.handle(0, batch_applied(false, false))));
}

#[test]
fn contact_is_saved_with_each_keepalive() {
    let mut core = opened(Until::Stopped);
    core.handle(0, ready(9));
    assert_eq!(core.handle(1_000, Event::StreamActive), []);
    assert_eq!(core.handle(15_000, Event::StreamActive), [Action::TouchContact { is_current: false }]);
    assert_eq!(core.handle(16_000, Event::StreamActive), []);
}

#[test]
fn pause_closes_the_stream_and_resume_greets() {
    let mut core = opened(Until::Stopped);
    let actions = core.handle(1, pause(true));
    assert_eq!((&actions[0], phases(&actions)), (&Action::CloseStream, vec![Phase::Paused]));
    assert_eq!(core.handle(2, pause(true)), []);
    assert_eq!(core.wake_at(), None);
    core.handle(3, Event::Push(PushInput::EditsChanged));
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
        let mut actions = core.handle(0, begun(true));
        actions.extend(core.handle(0, Event::ControlChanged { is_paused: true, reconcile: None, retry_now: false }));
        actions
    };
    assert_eq!(phases(&began(Until::Stopped)), [Phase::Paused]);
    assert!(began(Until::Pushed).contains(&Action::Finish(EndReason::Paused)));
}

fn polls(actions: &[Action]) -> usize {
    actions.iter().filter(|action| matches!(action, Action::Request(Request::Poll { .. }))).count()
}

fn event(id: i64) -> hearth_contract::event::Event {
    serde_json::from_value(json!({
        "id": id, "type": "deleted", "resource_type": "room", "resource_id": "00000000-0000-0000-0000-000000000007",
        "payload": null, "created_at": "2026-06-01T00:00:00.000Z",
    }))
    .unwrap()
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
        core.handle(0, Event::StreamRefused(Refusal { retry_after: Some(60_000), ..refusal(429, "rate_limited") }));
        let mut last = Vec::new();
        for head in [9, 6].into_iter().skip(2 - polls) {
            let polled = FeedBatch { events: vec![event(head)], end: present(head), cursor: Some(format!("c{head}")) };
            last = core.handle(100, Event::Polled(Ok(polled)));
            core.handle(5_100, Event::Timer);
        }
        let applies = last.iter().any(|action| matches!(action, Action::ApplyBatch { .. }));
        assert!(last.contains(&Action::CloseStream) && !applies, "{last:?}");
    }
}

#[test]
fn refused_write_reloads_the_state_on_disk() {
    let mut core = opened(Until::Stopped);
    core.handle(0, Event::Push(PushInput::EditsChanged));
    core.handle(0, planned(&[1], true));
    let actions = core.handle(1, Event::WriteFailed { reason: "full".into(), cause: BlockCause::DiskFull });
    assert_eq!((&actions[0], phases(&actions)), (&Action::CloseStream, vec![Phase::Blocked]));
    let at = core.wake_at().unwrap();
    assert_eq!(core.handle(at, Event::Timer), [Action::ReloadState]);
    core.handle(at, on_disk());
    assert_eq!(greet(&mut core, at), [Action::OpenStream { cursor: Some("c0".into()) }]);
    let actions = core.handle(at, Event::StreamOpened);
    assert!(actions.contains(&Action::PlanEdits), "{actions:?}");
    let actions = core.handle(at, planned(&[1], true));
    assert_eq!(sent(&actions), [1], "the same edit again");
}

#[test]
fn single_run_ends_after_a_refused_write() {
    let mut core = opened(Until::Current);
    let actions = core.handle(1, ready(9));
    assert!(matches!(actions[..], [Action::ApplyBatch { .. }]), "{actions:?}");
    core.handle(1, Event::WriteFailed { reason: "full".into(), cause: BlockCause::DiskFull });
    let at = core.wake_at().unwrap();
    core.handle(at, Event::Timer);
    core.handle(at, on_disk());
    greet(&mut core, at);
    core.handle(at, Event::StreamOpened);
    core.handle(at, ready(9));
    let actions = core.handle(
        at,
        Event::BatchApplied {
            cursor: None,
            position: 9,
            has_id_gap: false,
            affects_edits: false,
            confirms_edits: false,
        },
    );
    assert!(actions.contains(&Action::Finish(EndReason::Done)), "{actions:?}");
}

#[test]
fn refused_write_revives_an_ended_sync() {
    let mut core = opened(Until::Stopped);
    core.handle(1, Event::StopRequested);
    // The actions before the end were not saved, so the end was not reported.
    core.handle(1, Event::WriteFailed { reason: "full".into(), cause: BlockCause::DiskFull });
    let actions = core.handle(2, Event::StopRequested);
    assert!(actions.contains(&Action::Finish(EndReason::Done)), "{actions:?}");
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
fn resume_after_a_refused_write_reloads() {
    let mut core = opened(Until::Stopped);
    core.handle(1, Event::WriteFailed { reason: "full".into(), cause: BlockCause::DiskFull });
    core.handle(2, pause(true));
    let actions = core.handle(3, pause(false));
    assert!(actions.contains(&Action::ReloadState), "{actions:?}");
    core.handle(3, on_disk());
    greet(&mut core, 3);
    core.handle(3, Event::StreamOpened);
    let actions = core.handle(4, ready(9));
    assert!(matches!(&actions[0], Action::ApplyBatch { phase: Phase::Live, .. }), "{actions:?}");
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
    let busy = Refusal { retry_after: Some(8_000), ..refusal(503, "busy") };
    core.handle(0, Event::StreamRefused(busy));
    assert!(core.handle(7_999, retry_now()).is_empty(), "Retry-After");
    assert_eq!(core.handle(8_000, retry_now()), again);

    let mut core = started(Until::Stopped);
    core.handle(0, Event::StreamRefused(refusal(401, "invalid_api_key")));
    assert!(core.wake_at().is_some_and(|at| at >= 60_000));
    assert_eq!(core.handle(1, retry_now()), again, "the key may work again");
}

/// The server refuses the key for an edit.
fn key_refused(edit: i64) -> Event {
    let outcome = SendOutcome::Refused(refusal(403, "insufficient_scope"));
    Event::Push(PushInput::Completed { sent: vec![edit], carried: vec![edit], outcome })
}

#[test]
fn missing_scope_ends_a_single_run_last() {
    let mut core = opened(Until::Pushed);
    core.handle(0, planned(&[1, 2], true));
    let ended = |actions: &[Action]| actions.iter().any(|e| matches!(e, Action::Finish(EndReason::NeedsKey(_))));
    let actions = core.handle(1, key_refused(1));
    assert_eq!((ended(&actions), phases(&actions)), (false, vec![Phase::NeedsKey]));
    assert!(!ended(&core.handle(1, accepted(2, 10))));
    core.handle(1, planned(&[1], true));
    assert!(!ended(&core.handle(1, planned(&[1], true))), "the present is not reached");
    let actions = core.handle(2, ready(10));
    let [Action::ApplyBatch { phase: Phase::NeedsKey, reason: Some(reason), .. }] = &actions[..] else {
        panic!("the feed proves nothing: {actions:?}")
    };
    assert_eq!(reason, "insufficient_scope");
    assert!(ended(&core.handle(2, batch_applied(false, false))));
    // The feed alone does not need the scope.
    let mut core = opened(Until::Current);
    core.handle(0, planned(&[1], true));
    core.handle(1, key_refused(1));
    core.handle(1, planned(&[1], true));
    core.handle(2, ready(10));
    assert!(core.handle(2, batch_applied(false, false)).contains(&Action::Finish(EndReason::Done)));
}

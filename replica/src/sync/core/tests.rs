//! The core as events and the actions they cause. No runtime, no clock, no waiting. Here: how a core reaches a state.

mod commands;
mod feed;
mod link;
mod push;
mod refused_write;
mod silence;

use hearth_contract::schema::Kind;
use serde_json::json;

use super::backoff::{BACKOFF_FIRST, BACKOFF_MAX};
use super::stream_health::STABLE_AFTER;
use super::*;
use crate::model::{BlockCause, Phase, ReadyEdits, Transport, WriteOutcome};

/// The end of a batch that reaches the present.
pub(super) fn present(head: i64) -> BatchEnd {
    BatchEnd::Present { head: Some(head) }
}

fn started(until: Until) -> Core {
    let mut core = Core::new(until, 7);
    let actions = core.handle(
        0,
        Event::Started {
            cursor: Some("c1".into()),
            is_filled: true,
            home_id: Some("home".into()),
            reconcile: None,
            is_paused: false,
        },
    );
    assert_eq!(actions, [Action::Request(Request::Identity), Action::Request(Request::FeedHead)]);
    assert_eq!(greet(&mut core, 0), [Action::OpenStream { cursor: Some("c1".into()) }]);
    core
}

/// The state on disk after a refused write.
fn on_disk() -> Event {
    Event::Started {
        cursor: Some("c0".into()),
        is_filled: true,
        home_id: Some("home".into()),
        reconcile: None,
        is_paused: false,
    }
}

/// The identity in a greeting: a home, and what the key may do.
pub(super) fn identity(home: &str, scopes: &[&str], limits: Option<Limits>) -> Identity {
    Identity {
        home_id: home.into(),
        home_name: "Home".into(),
        environment: "live".into(),
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        limits,
    }
}

fn identity_received(home: &str) -> Event {
    Event::IdentityReceived(Ok(identity(home, &[], None)))
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
    Event::EditsPlanned { ready: edits.iter().map(one).collect(), has_open_edits }
}

fn edit_answered(edit: i64, response: EditResponse) -> Event {
    Event::SendCompleted {
        sent: vec![edit],
        carried: vec![edit],
        outcome: SendOutcome::Answered(vec![(edit, response)]),
    }
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

/// Cuts the stream and answers polls until the next contact begins. Returns the time of the contact.
fn cut(core: &mut Core, now: Millis) -> Millis {
    let mut at = now;
    let mut actions = core.handle(at, Event::StreamEnded { reason: "cut".into() });
    while !actions.contains(&Action::Request(Request::Identity)) {
        if polls(&actions) > 0 {
            let batch = FeedBatch { end: present(9), ..FeedBatch::default() };
            core.handle(at, Event::Polled(Ok(batch)));
        }
        at = core.wake_at().unwrap();
        actions = core.handle(at, Event::Timer);
    }
    at
}

/// The start of a sync whose database has no records yet.
fn first_start(is_paused: bool) -> Event {
    Event::Started { cursor: None, is_filled: false, home_id: None, reconcile: None, is_paused }
}

/// A batch is stored that has no id gap and changes nothing about edits.
fn applied(position: i64) -> Event {
    Event::BatchApplied { cursor: None, position, has_id_gap: false, affects_edits: false, confirms_edits: false }
}

//! The link alone: the table of states, the pauses between attempts, and what a person may shorten.

mod silence;
mod streams;

use hearth_contract::event::Event as FeedEvent;
use serde_json::json;

use super::super::action::{Action, Request};
use super::super::backoff::{BACKOFF_FIRST, BACKOFF_MAX, Backoff};
use super::super::clock::Millis;
use super::super::goal::Until;
use super::super::outcome::{Expired, Refusal};
use super::super::tests::{
    arrows, cut, disk_full, filled, head, identity, nothing_new, present, ready, refusal, stream, too_many,
};
use super::state::{Following, PollState, State, StreamState};
use super::*;
use crate::model::{BatchEnd, Transport};

/// A link with its last facts.
struct Scene {
    link: Link,
    backoff: Backoff,
    others: Others,
    facts: Vec<Fact>,
}

impl Scene {
    fn new(until: Until) -> Scene {
        Scene { link: Link::new(until), backoff: Backoff::new(7), others: Others::default(), facts: Vec::new() }
    }

    /// Gives an input. Returns the actions.
    fn handle(&mut self, now: Millis, input: Input) -> Vec<Action> {
        let mut turn = Turn::new(now, self.backoff.clone());
        self.link.handle(&mut turn, input, self.others);
        (self.backoff, self.facts) = (turn.backoff, turn.facts.into());
        turn.actions
    }

    fn timer(&mut self, now: Millis) -> Vec<Action> {
        self.handle(now, Input::Timer)
    }

    fn wake_at(&self) -> Millis {
        self.link.wake_at(self.others).expect("a timer")
    }

    fn greet(&mut self, now: Millis) -> Vec<Action> {
        let mut actions = self.handle(now, Input::Greeted(Ok(Greeting::Identity(identity("home", &[])))));
        actions.extend(self.handle(now, head()));
        actions
    }

    fn is_down(&self) -> bool {
        matches!(self.link.state, State::Down { .. })
    }

    /// How the last batch came. None: no batch has come.
    fn brought(&self) -> Option<Transport> {
        let transport =
            |fact: &Fact| if let Fact::BatchArrived { transport, .. } = fact { Some(*transport) } else { None };
        self.facts.iter().find_map(transport)
    }

    /// Why a poll has brought the present. Empty: no poll has.
    fn polling(&self) -> &str {
        let is_polling = self.brought() == Some(Transport::Poll) && self.link.is_current();
        self.link.reason.as_ref().filter(|_| is_polling).map_or("", String::as_str)
    }
}

/// The start of a replica that has been filled.
fn on_disk(holds_streams_back: bool, is_paused: bool) -> Input {
    Input::Started(filled(holds_streams_back, is_paused))
}

/// A link whose stream is requested at 0.
fn started(until: Until) -> Scene {
    let mut scene = Scene::new(until);
    assert!(greets(&scene.handle(0, on_disk(false, false))));
    assert_eq!(scene.greet(0), [Action::OpenStream { cursor: Some("c1".into()) }]);
    scene
}

/// The same, and the server accepts the stream.
fn opened(until: Until) -> Scene {
    let mut scene = started(until);
    scene.handle(0, stream(StreamEvent::Opened));
    scene
}

/// The same, and the stream reaches the present.
fn live() -> Scene {
    let mut scene = opened(Until::Stopped);
    scene.handle(0, ready(9));
    scene.handle(0, applied());
    scene
}

fn stream_refused(refusal: Refusal) -> Input {
    stream(StreamEvent::Ended(Failure::Refused(refusal)))
}

/// A response of a proxy.
fn page(status: u16) -> Refusal {
    Refusal { message: format!("the server answered {status}"), ..refusal(status, "") }
}

fn expired() -> Refusal {
    let expired = Expired { restored: false, resume: "c2".into(), fork: None };
    Refusal { expired: Some(expired), ..refusal(410, "cursor_expired") }
}

fn event(id: i64) -> FeedEvent {
    serde_json::from_value(json!({
        "id": id, "type": "deleted", "resource_type": "room", "resource_id": "00000000-0000-0000-0000-000000000007",
        "payload": null, "created_at": "2026-06-01T00:00:00.000Z",
    }))
    .unwrap()
}

/// A poll that finds the event `id`.
fn found(id: i64) -> Input {
    Input::Polled(Ok(FeedBatch { events: vec![event(id)], end: present(id), cursor: Some(format!("c{id}")) }))
}

fn poll_failed(failure: Failure) -> Input {
    Input::Polled(Err(failure))
}

fn silence() -> Failure {
    Failure::NoAnswer("no answer".into())
}

/// The database has applied a batch.
fn applied() -> Input {
    Input::Applied { cursor: None, position: 9, has_id_gap: false }
}

fn polls(actions: &[Action]) -> usize {
    actions.iter().filter(|action| matches!(action, Action::Request(Request::Poll { .. }))).count()
}

fn greets(actions: &[Action]) -> bool {
    actions.contains(&Action::Request(Request::Identity))
}

fn opens(actions: &[Action]) -> bool {
    actions.iter().any(|action| matches!(action, Action::OpenStream { .. }))
}

/// The name of the link's state in the table.
fn state_of(link: &Link, now: Millis) -> &'static str {
    let Following { stream, poll, .. } = match &link.state {
        State::Down { .. } if link.disk.is_some() => return "disk failed",
        State::Down { .. } if link.key_refusal.is_some() => return "no key",
        State::Down { .. } => return "down",
        State::Greeting { identity: None, feed_head: None } => return "greeting",
        State::Greeting { .. } => return "half greeted",
        State::Paused => return "paused",
        State::Ended => return "ended",
        State::Following(following) => following,
    };
    match (stream, poll) {
        (StreamState::Waiting, PollState::Asked { .. }) if !link.in_contact() => "first poll",
        (StreamState::Waiting, PollState::Asked { .. }) => "polled",
        (StreamState::Waiting, PollState::Idle { .. }) if link.stream.has_finding() => "held back",
        (StreamState::Waiting, PollState::Idle { next_at }) if *next_at > now => "polling",
        (StreamState::Waiting, _) => "poll due",
        (StreamState::Requested, PollState::Asked { .. }) => "first check",
        (StreamState::Requested, _) => "requested",
        (StreamState::Open, _) if !link.stream.has_batch => "open",
        (StreamState::Open, PollState::Asked { .. }) => "checking",
        (StreamState::Open, PollState::Held { .. }) => "held",
        (StreamState::Open, PollState::Idle { .. }) => "live",
    }
}

/// A link that no row of the table leads to.
fn base(state: &str) -> Option<Link> {
    match state {
        "ended" => Some(Link::new(Until::Stopped)),
        "live" => Some(live().link),
        "checking" => {
            // The stream was silent for 20 s, and a comment has come since.
            let mut scene = live();
            scene.link.stream.last_bytes_at = -20_000;
            scene.timer(0);
            scene.handle(0, stream(StreamEvent::Active));
            Some(scene.link)
        }
        _ => None,
    }
}

fn give(link: &mut Link, turn: &mut Turn, input: &str) {
    let refused = |refusal| Failure::Refused(refusal);
    let older = || FeedBatch { end: present(6), cursor: Some("c6".into()), ..FeedBatch::default() };
    let input = match input {
        "6 s pass" | "46 s pass" => {
            turn.now += if input == "6 s pass" { 6_000 } else { 46_000 };
            Input::Timer
        }
        "started" => on_disk(false, false),
        "started paused" => on_disk(false, true),
        "pause" => Input::Control(Control::Pause(true)),
        "resume" => Input::Control(Control::Pause(false)),
        "retry now" => Input::Control(Control::RetryNow),
        "new key" => Input::Control(Control::KeyChanged),
        "end" => Input::Control(Control::End(EndReason::Done)),
        "write failed" => disk_full(),
        "id gap applied" => Input::Applied { cursor: None, position: 9, has_id_gap: true },
        "reconcile ended" => return link.hear(turn, &Fact::Compared, Others::default()),
        "feed wanted" => return link.hear(turn, &Fact::FeedWanted { position: None }, Others::default()),
        "identity" => Input::Greeted(Ok(Greeting::Identity(identity("home", &[])))),
        "other home" => Input::Greeted(Ok(Greeting::Identity(identity("other", &[])))),
        "head" => head(),
        "greeting refused" => Input::Greeted(Err(refused(refusal(401, "invalid_api_key")))),
        "no greeting" => Input::Greeted(Err(silence())),
        "stream opened" => stream(StreamEvent::Opened),
        "stream cut" => cut(),
        "stream refused" => stream_refused(page(502)),
        "no stream for 5 min" => too_many(300_000),
        "key refused" => stream_refused(refusal(403, "insufficient_scope")),
        "cursor expired" => stream_refused(expired()),
        "cursor unknown" => stream_refused(refusal(400, "invalid_cursor")),
        "batch" => ready(9),
        "older batch" => stream(StreamEvent::Batch(older())),
        "nothing new" => nothing_new(),
        "events found" => found(10),
        "older feed" => Input::Polled(Ok(older())),
        "no answer" => poll_failed(silence()),
        "poll refused" => poll_failed(refused(refusal(429, "rate_limited"))),
        "poll: key refused" => poll_failed(refused(refusal(401, "invalid_api_key"))),
        "poll: cursor expired" => poll_failed(refused(expired())),
        input => panic!("{input}"),
    };
    link.handle(turn, input, Others::default());
}

#[test]
fn link_follows_the_table() {
    arrows::walk(include_str!("../link.rs"), base, give, state_of);
}

/// The last question of a reconcile finds the cursor expired, again and again. Each reconcile begins anew, after longer pauses.
#[test]
fn cursor_expired_after_each_reconcile_waits() {
    let mut scene = live();
    let mut now = 0;
    for round in 0..12 {
        let mut turn = Turn::new(now, scene.backoff.clone());
        scene.link.hear(&mut turn, &Fact::CursorRefused(expired()), scene.others);
        scene.backoff = turn.backoff;
        scene.others.is_reconciling = true;
        if round > 0 {
            now = scene.wake_at();
            scene.timer(now);
        }
        scene.greet(now);
        scene.handle(now, stream(StreamEvent::Opened));
        scene.handle(now, ready(9));
        scene.handle(now, applied());
    }
    assert!(now > 60_000, "{now}");
}

#[test]
fn cursor_expired_twice_waits() {
    let mut scene = started(Until::Stopped);
    let again = Action::OpenStream { cursor: Some("c2".into()) };
    let actions = scene.handle(0, stream_refused(expired()));
    assert!(
        actions.contains(&again) && !greets(&actions),
        "at once, because the greeting is a moment old: {actions:?}"
    );
    let mut now = 0;
    for _ in 0..12 {
        let actions = scene.handle(now, stream_refused(expired()));
        assert!(!greets(&actions) && !opens(&actions), "{actions:?}");
        now = scene.wake_at();
        scene.timer(now);
        scene.greet(now);
    }
    assert!(now > 60_000, "{now}");
    scene.handle(now, stream(StreamEvent::Opened));
    scene.handle(now, ready(9));
    scene.handle(now, cut());
    let at = scene.wake_at();
    scene.timer(at);
    scene.greet(at);
    assert!(opens(&scene.handle(at, stream_refused(expired()))), "a batch has arrived in between");
}

#[test]
fn contact_is_saved_with_each_keepalive() {
    let mut scene = live();
    assert_eq!(scene.handle(1_000, stream(StreamEvent::Active)), []);
    let touch = Action::TouchContact { is_current: false };
    assert_eq!(scene.handle(15_000, stream(StreamEvent::Active)), [touch]);
    assert_eq!(scene.handle(16_000, stream(StreamEvent::Active)), []);
}

#[test]
fn resume_after_a_refused_write_reloads() {
    let mut scene = live();
    scene.handle(1, disk_full());
    assert!(scene.wake_at() < 1 + BACKOFF_FIRST);
    scene.handle(2, Input::Control(Control::Pause(true)));
    assert_eq!(scene.handle(3, Input::Control(Control::Pause(false))), [Action::ReloadState]);
    scene.handle(3, on_disk(false, false));
    assert!(opens(&scene.greet(3)));
}

#[test]
fn retry_now_waits_only_for_retry_after() {
    let retry_now = || Input::Control(Control::RetryNow);
    let mut scene = started(Until::Stopped);
    scene.handle(0, stream_refused(Refusal { retry_after: Some(8_000), ..refusal(503, "busy") }));
    assert!(scene.handle(7_999, retry_now()).is_empty(), "Retry-After");
    assert!(greets(&scene.handle(8_000, retry_now())));
    assert!(scene.handle(8_001, retry_now()).is_empty(), "the greeting is under way");

    let mut scene = started(Until::Stopped);
    scene.handle(0, stream_refused(refusal(401, "invalid_api_key")));
    assert!(scene.wake_at() >= 60_000);
    assert!(scene.link.key_refusal.is_some());
    assert!(greets(&scene.handle(1, retry_now())), "the key may work again");
}

#[test]
fn unreachable_server_is_asked_less_often() {
    let mut scene = live();
    scene.handle(0, cut());
    let (mut now, mut longest) = (0, 0);
    for _ in 0..40 {
        let at = scene.wake_at();
        assert!(at - now < BACKOFF_MAX);
        longest = longest.max(at - now);
        now = at;
        assert!(greets(&scene.timer(now)));
        scene.handle(now, Input::Greeted(Err(silence())));
    }
    assert!(longest > 10_000, "{longest}");
    let floor = Refusal { retry_after: Some(70_000), ..refusal(429, "rate_limited") };
    now = scene.wake_at();
    scene.timer(now);
    scene.handle(now, Input::Greeted(Err(Failure::Refused(floor))));
    assert!(scene.wake_at() >= now + 70_000);
}

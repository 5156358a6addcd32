//! The three machines together: what one tells the others, the phase, and the end of a sync. No runtime, no clock, no waiting.

pub(super) mod arrows;
mod reconcile;

use hearth_contract::schema::Kind;
use serde_json::json;

use super::status::RATE_LIMITED;
use super::*;
use crate::model::{BlockCause, Phase, ReadyEdits, Reconcile, Transport};

/// The end of a batch that reaches the present.
pub(super) fn present(head: i64) -> BatchEnd {
    BatchEnd::Present { head: Some(head) }
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

/// The owner of a key with these scopes.
pub(super) fn identity(home: &str, scopes: &[&str]) -> Identity {
    Identity {
        home_id: home.into(),
        home_name: "Home".into(),
        environment: "live".into(),
        refilled_from: None,
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        limits: None,
    }
}

impl From<LinkInput> for Event {
    fn from(input: LinkInput) -> Event {
        Event::Link(input)
    }
}

impl From<PushInput> for Event {
    fn from(input: PushInput) -> Event {
        Event::Push(input)
    }
}

impl From<ReconcileInput> for Event {
    fn from(input: ReconcileInput) -> Event {
        Event::Reconcile(input)
    }
}

impl Core {
    /// Gives an input of a machine. Returns the actions.
    fn take(&mut self, now: Millis, input: impl Into<Event>) -> Vec<Action> {
        self.handle(now, input.into())
    }
}

/// What the link finds on disk when the replica has been filled.
pub(super) fn filled(holds_streams_back: bool, is_paused: bool) -> Start {
    let (cursor, home_id) = (Some("c1".into()), Some("home".into()));
    Start { cursor, is_filled: true, home_id, holds_streams_back, is_paused }
}

/// The server tells its head.
pub(super) fn head() -> LinkInput {
    LinkInput::Greeted(Ok(Greeting::FeedHead(FeedHead { head: Some(9), retention_seconds: None })))
}

/// The first start of a replica.
fn begun(is_paused: bool) -> Event {
    let link = Start { cursor: None, is_filled: false, home_id: None, holds_streams_back: false, is_paused };
    Event::Started { link, reconcile: None }
}

/// The start of a replica that has been filled.
fn on_disk(reconcile: Option<Reconcile>) -> Event {
    Event::Started { link: filled(false, false), reconcile }
}

fn greet(core: &mut Core, now: Millis) -> Vec<Action> {
    let answers = [LinkInput::Greeted(Ok(Greeting::Identity(identity("home", &[])))), head()];
    answers.into_iter().flat_map(|answer| core.take(now, answer)).collect()
}

/// A sync whose stream is requested.
fn started(until: Until) -> Core {
    let mut core = Core::new(until, 7);
    core.take(0, on_disk(None));
    assert_eq!(greet(&mut core, 0), [Action::OpenStream { cursor: Some("c1".into()) }]);
    core
}

/// A sync in contact.
fn opened(until: Until) -> Core {
    let mut core = started(until);
    core.take(0, stream(StreamEvent::Opened));
    core.take(0, planned(&[], false));
    core
}

pub(super) fn stream(event: StreamEvent) -> LinkInput {
    LinkInput::Stream(event)
}

/// The stream reaches the present.
pub(super) fn ready(head: i64) -> LinkInput {
    let cursor = Some(format!("c{head}"));
    stream(StreamEvent::Batch(FeedBatch { end: present(head), cursor, ..FeedBatch::default() }))
}

pub(super) fn cut() -> LinkInput {
    stream(StreamEvent::Ended(Failure::NoAnswer("cut".into())))
}

fn key_changed() -> LinkInput {
    LinkInput::Control(Control::KeyChanged)
}

pub(super) fn disk_full() -> LinkInput {
    LinkInput::WriteFailed { reason: "full".into(), cause: BlockCause::DiskFull }
}

fn stop() -> LinkInput {
    LinkInput::Control(Control::End(EndReason::Done))
}

/// The server wants no stream for this time.
pub(super) fn too_many(retry_after: Millis) -> LinkInput {
    let later = Refusal { retry_after: Some(retry_after), ..refusal(429, "too_many_streams") };
    stream(StreamEvent::Ended(Failure::Refused(later)))
}

/// A poll that finds nothing after the cursor.
pub(super) fn nothing_new() -> LinkInput {
    LinkInput::Polled(Ok(FeedBatch { end: present(9), cursor: Some("c9".into()), ..FeedBatch::default() }))
}

fn pause(is_paused: bool) -> Event {
    Event::ControlChanged { is_paused, reconcile: None, retry_now: false }
}

/// The server wants no stream for a minute, and a poll finds nothing new.
fn polling(core: &mut Core) {
    core.take(0, too_many(60_000));
    core.take(0, nothing_new());
    core.take(0, batch_applied());
}

/// The database has applied a batch without a new position.
fn batch_applied() -> Event {
    let (affects_edits, confirms_edits) = (false, false);
    Event::BatchApplied { cursor: None, position: 9, has_id_gap: false, affects_edits, confirms_edits }
}

fn phases(actions: &[Action]) -> Vec<Phase> {
    actions.iter().filter_map(|e| if let Action::ShowPhase { phase, .. } = e { Some(*phase) } else { None }).collect()
}

/// An edit. Edits with numbers that follow each other are of different kinds, so each needs a request of its own.
pub(super) fn one(edit: i64) -> ReadyEdits {
    let kinds = [Kind::Room, Kind::Task, Kind::Vehicle];
    ReadyEdits { edits: vec![edit], kind: kinds[edit as usize % 3], is_frozen: false, bytes: 100 }
}

fn planned(edits: &[i64], has_open_edits: bool) -> PushInput {
    PushInput::Planned { ready: edits.iter().copied().map(one).collect(), has_open_edits }
}

/// A request with edits has ended.
pub(super) fn completed(edits: &[i64], answer: Result<EditAnswers, Failure>) -> PushInput {
    PushInput::Completed { sent: edits.to_vec(), carried: edits.to_vec(), answer, is_stale: false }
}

fn accepted(edit: i64, rev: i64) -> PushInput {
    completed(&[edit], Ok(vec![(edit, Ok(Some(rev)))]))
}

/// The server refuses the key for an edit.
pub(super) fn key_refused(edit: i64, error_type: &str) -> PushInput {
    completed(&[edit], Err(Failure::Refused(refusal(403, error_type))))
}

/// The edits sent, by request.
pub(super) fn calls(actions: &[Action]) -> Vec<Vec<i64>> {
    let calls = |action: &Action| match action {
        Action::SendEdits { requests } => requests.iter().map(|groups| groups.concat()).collect(),
        _ => Vec::new(),
    };
    actions.iter().flat_map(calls).collect()
}

/// The edits sent.
pub(super) fn sent(actions: &[Action]) -> Vec<i64> {
    calls(actions).concat()
}

fn is_done(actions: &[Action]) -> bool {
    actions.contains(&Action::Finish(EndReason::Done))
}

#[test]
fn poll_without_news_proves_the_present() {
    let mut core = started(Until::Stopped);
    core.take(0, too_many(60_000));
    let actions = core.take(0, nothing_new());
    let [Action::SaveContact(_), Action::PlanEdits, Action::ApplyBatch { phase, transport, is_current, .. }] =
        &actions[..]
    else {
        panic!("{actions:?}")
    };
    assert_eq!((*phase, *transport, *is_current), (Phase::Polling, Transport::Poll, true));
}

#[test]
fn backfill_allows_push() {
    let mut core = Core::new(Until::Stopped, 7);
    core.take(0, begun(false));
    greet(&mut core, 0);
    assert!(sent(&core.take(0, planned(&[1], true))).is_empty(), "not before the cursor is accepted");
    let actions = core.take(0, stream(StreamEvent::Opened));
    assert_eq!((phases(&actions), sent(&actions)), (vec![Phase::Backfilling], vec![1]));
}

#[test]
fn answer_without_contact_causes_no_pause() {
    let mut core = opened(Until::Stopped);
    core.take(0, planned(&[1], true));
    core.take(1, cut());
    core.take(2, completed(&[1], Err(Failure::NoAnswer("cut".into()))));
    assert!(core.wake_at().is_some_and(|at| at < 1_000), "only the link's pause");
}

#[test]
fn other_home_blocks_the_sync() {
    let mut core = Core::new(Until::Current, 7);
    core.take(0, on_disk(None));
    core.take(0, LinkInput::Greeted(Ok(Greeting::FeedHead(FeedHead::default()))));
    let other = Greeting::Identity(identity("other", &[]));
    let actions = core.take(0, LinkInput::Greeted(Ok(other)));
    let ends = actions.iter().filter(|action| matches!(action, Action::Finish(EndReason::Blocked(..)))).count();
    assert_eq!((ends, phases(&actions)), (1, vec![Phase::Blocked]));
    assert!(core.take(1, ready(9)).is_empty(), "no batch is applied");
}

#[test]
fn single_run_ends_when_edits_are_confirmed() {
    let mut core = opened(Until::Pushed);
    core.take(0, planned(&[1], true));
    core.take(1, ready(9));
    assert!(!is_done(&core.take(1, batch_applied())));
    let actions = core.take(2, accepted(1, 10));
    assert!(!is_done(&actions) && actions.contains(&Action::PlanEdits));
    assert!(!is_done(&core.take(2, planned(&[], true))), "accepted, but not confirmed by the feed");
    core.take(3, stream(StreamEvent::Batch(FeedBatch { cursor: Some("c10".into()), ..FeedBatch::default() })));
    assert_eq!(core.take(3, batch_applied()), [Action::PlanEdits]);
    assert!(is_done(&core.take(3, planned(&[], false))));

    let mut core = opened(Until::Current);
    core.take(0, ready(9));
    assert!(is_done(&core.take(0, batch_applied())));
}

#[test]
fn accepted_edit_is_polled_for() {
    let mut core = started(Until::Stopped);
    polling(&mut core);
    core.take(1, planned(&[1], true));
    assert_eq!(core.wake_at(), Some(20_000), "a poll would make the answer stale");
    core.take(2_000, accepted(1, 10));
    assert_eq!(core.wake_at(), Some(2_000), "the edit's event is there");
}

#[test]
fn pause_survives_a_restart() {
    let began = |until| {
        let mut core = Core::new(until, 7);
        let mut actions = core.take(0, begun(true));
        actions.extend(core.take(0, pause(true)));
        assert_eq!(core.wake_at(), None);
        actions
    };
    assert_eq!(phases(&began(Until::Stopped)), [Phase::Paused]);
    assert!(began(Until::Pushed).contains(&Action::Finish(EndReason::Paused)));
}

#[test]
fn refused_write_reloads_the_state_on_disk() {
    let mut core = opened(Until::Current);
    core.take(0, planned(&[1], true));
    core.take(1, ready(9));
    let actions = core.take(1, disk_full());
    assert_eq!((&actions[0], phases(&actions)), (&Action::CloseStream, vec![Phase::Blocked]));
    assert!(!core.may_carry_files());
    let at = core.wake_at().unwrap();
    assert_eq!(core.take(at, LinkInput::Timer), [Action::ReloadState]);
    core.take(at, on_disk(None));
    greet(&mut core, at);
    let actions = core.take(at, stream(StreamEvent::Opened));
    assert!(actions.contains(&Action::PlanEdits), "{actions:?}");
    assert_eq!(sent(&core.take(at, planned(&[1], true))), [1], "the same edit again");
    core.take(at, ready(9));
    assert!(is_done(&core.take(at, batch_applied())), "the batch before the failure does not count");
}

#[test]
fn refused_write_revives_an_ended_sync() {
    let mut core = opened(Until::Stopped);
    assert!(is_done(&core.take(1, stop())));
    assert_eq!(core.take(1, ready(9)), []);
    // The actions before the end were not saved, so the end was not reported.
    core.take(1, disk_full());
    assert!(is_done(&core.take(2, stop())));
}

#[test]
fn refused_key_of_an_edit_is_forgotten_with_the_key() {
    for forget in [key_changed().into(), pause(true)] {
        let mut core = opened(Until::Stopped);
        core.take(0, planned(&[1], true));
        assert_eq!(phases(&core.take(1, key_refused(1, "insufficient_scope"))), [Phase::NeedsKey]);
        assert_eq!(core.reason().as_deref(), Some("insufficient_scope"));
        core.take(2, forget);
        assert_eq!(core.reason(), None);
    }
}

#[test]
fn missing_scope_ends_a_single_run_last() {
    let mut core = opened(Until::Pushed);
    core.take(0, planned(&[1, 2], true));
    let ended = |actions: &[Action]| actions.iter().any(|e| matches!(e, Action::Finish(EndReason::NeedsKey(_))));
    let actions = core.take(1, key_refused(1, "insufficient_scope"));
    assert_eq!((ended(&actions), phases(&actions)), (false, vec![Phase::NeedsKey]));
    assert!(!ended(&core.take(1, accepted(2, 10))));
    core.take(1, planned(&[1], true));
    assert!(!ended(&core.take(1, planned(&[1], true))), "the present is not reached");
    let actions = core.take(2, ready(10));
    let [Action::ApplyBatch { phase: Phase::NeedsKey, reason: Some(reason), .. }] = &actions[..] else {
        panic!("the feed proves nothing: {actions:?}")
    };
    assert_eq!(reason, "insufficient_scope");
    assert!(ended(&core.take(2, batch_applied())));
    // The feed alone does not need the scope.
    let mut core = opened(Until::Current);
    core.take(0, planned(&[1], true));
    core.take(1, key_refused(1, "insufficient_scope"));
    core.take(1, planned(&[1], true));
    core.take(2, ready(10));
    assert!(is_done(&core.take(2, batch_applied())));
}

#[test]
fn rate_limit_is_named_as_the_reason() {
    let mut core = Core::new(Until::Stopped, 7);
    core.take(0, on_disk(None));
    let limits = Some(Limits { reads: 300, writes: 1, bulk: 20 });
    let identity = Greeting::Identity(Identity { limits, ..identity("home", &[]) });
    for answer in [identity, Greeting::FeedHead(FeedHead::default())] {
        core.take(0, LinkInput::Greeted(Ok(answer)));
    }
    core.take(0, stream(StreamEvent::Opened));
    assert_eq!(sent(&core.take(1, planned(&[1, 2], true))), [1]);
    assert_eq!(core.reason().as_deref(), Some(RATE_LIMITED));
}

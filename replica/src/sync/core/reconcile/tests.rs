//! Reconciles as events and actions: the order of steps, interruptions, and what stops a reconcile. A small model of
//! server and disk answers, so each point of interruption can be tried.

mod answers;

use serde_json::json;

use super::super::{Action, Core, Event, Expired, Failure, FeedBatch, FeedHead, Millis, PushInput, Refusal, Request};
use super::*;
use crate::model::Phase;
use crate::sync::core::tests::{next_due, present, refusal};
use crate::sync::{EndReason, Identity, Limits, Until};

fn identity(scopes: &[&str]) -> Identity {
    Identity {
        home_id: "home".into(),
        home_name: "Home".into(),
        environment: "live".into(),
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        limits: Some(Limits { reads: 300, writes: 60, bulk: 20 }),
    }
}

fn new_reconcile(since: Option<&str>) -> Reconcile {
    let since = since.map(str::to_owned);
    let scope = ReconcileScope::Everything;
    Reconcile { scope, since, tail_position: None, step: ReconcileStep::Property, accepted: false, question: None }
}

/// A reconcile of what changed after revision 4.
fn changed_since_4() -> Reconcile {
    Reconcile { scope: ReconcileScope::Changed { since_rev: 4 }, ..new_reconcile(Some("2026-06-01T00:00:00.000Z")) }
}

/// A model of disk and server, enough to answer a core.
struct World {
    core: Core,
    saved: Option<Reconcile>,
    /// Ids in the server's list, two per page.
    rooms: Vec<&'static str>,
    missing: Vec<String>,
    too_many: bool,
    not_walked: bool,
    /// The next batch has an id gap.
    has_id_gap: bool,
    queries: Vec<ReconcileQuery>,
    shown: Vec<Phase>,
    finished: Option<EndReason>,
    deleted: usize,
    /// Whether the disk was last marked as the present.
    is_current: bool,
    head: i64,
}

impl World {
    fn new(saved: Option<Reconcile>) -> World {
        World {
            core: Core::new(Until::Stopped, 7),
            saved,
            rooms: vec!["a", "b", "c"],
            missing: Vec::new(),
            too_many: false,
            not_walked: false,
            has_id_gap: false,
            queries: Vec::new(),
            shown: Vec::new(),
            finished: None,
            deleted: 0,
            is_current: false,
            head: 9,
        }
    }

    /// Starts a process from the saved state; the server accepts the cursor. Returns the requests of the reconcile.
    fn start(&mut self) -> Vec<Request> {
        let reconcile = self.saved.clone();
        let mut waiting = Vec::new();
        let cursor = Some("c1".to_owned());
        let started = Event::Started {
            cursor,
            is_filled: true,
            home_id: Some("home".into()),
            holds_streams_back: false,
            reconcile,
            is_paused: false,
        };
        for event in [
            started,
            Event::IdentityReceived(Ok(identity(&[]))),
            Event::FeedHeadReceived(Ok(FeedHead::default())),
            Event::StreamOpened,
            Event::StreamBatch(FeedBatch { end: present(self.head), ..FeedBatch::default() }),
        ] {
            waiting.extend(self.handle(0, event));
        }
        waiting.retain(|request| {
            matches!(request, Request::Reconcile { .. } | Request::CheckCursor { .. } | Request::CheckScopes { .. })
        });
        waiting
    }

    /// Passes an event to the core and carries the actions out. Returns the requests to the server.
    fn handle(&mut self, now: Millis, event: Event) -> Vec<Request> {
        let mut events = vec![event];
        let mut requests = Vec::new();
        while !events.is_empty() {
            for action in self.core.handle(now, events.remove(0)) {
                match action {
                    Action::Request(request) => requests.push(request),
                    Action::StartReconcile(_) => {
                        let since = self.saved.take().and_then(|before| before.since);
                        self.saved = Some(new_reconcile(since.as_deref()));
                        events.push(Event::ReconcileStarted(self.saved.clone()));
                    }
                    Action::SaveResponse { query, next_step, .. } => {
                        if let ReconcileQuery::Record { id, .. } = &query {
                            self.missing.retain(|missing| missing != id);
                        }
                        if let Some(saved) = &mut self.saved {
                            saved.step = next_step;
                        }
                    }
                    Action::SaveStep(step) => self.save(|saved| saved.step = step),
                    Action::CompareEverything { next_step } => {
                        self.save(|saved| (saved.scope, saved.step) = (ReconcileScope::Everything, next_step));
                    }
                    Action::ListMissing { kind } => events.push(Event::MissingListed(match kind {
                        Kind::Room => self.missing.clone(),
                        _ => Vec::new(),
                    })),
                    Action::Sweep { kind, next_step, .. } => {
                        let accepted = self.saved.as_ref().is_some_and(|saved| saved.accepted);
                        let swept = if std::mem::take(&mut self.not_walked) {
                            SweepOutcome::NotListed
                        } else if self.too_many && kind == Kind::Room && !accepted {
                            SweepOutcome::TooMany { gone: 60, of: 80 }
                        } else {
                            self.deleted += 1;
                            self.save(|saved| saved.step = next_step);
                            SweepOutcome::Done
                        };
                        events.push(Event::Swept { kind, swept });
                    }
                    Action::AskPerson(question) => self.save(|saved| saved.question = Some(question)),
                    Action::ClearReconcileRequest { accepted } => self.save(|saved| {
                        if accepted {
                            (saved.accepted, saved.question) = (true, None);
                        }
                    }),
                    Action::FinishReconcile => self.saved = None,
                    Action::TouchContact { is_current } => self.is_current = is_current,
                    Action::ShowPhase { phase, .. } => self.shown.push(phase),
                    Action::Finish(reason) => self.finished = Some(reason),
                    Action::PlanEdits => {
                        events.push(Event::Push(PushInput::Planned { ready: vec![], has_open_edits: false }))
                    }
                    Action::ApplyBatch { batch, phase, is_current, .. } => {
                        self.shown.push(phase);
                        self.is_current = is_current;
                        let position = batch.head().unwrap_or(self.head);
                        events.push(Event::BatchApplied {
                            cursor: batch.cursor,
                            position,
                            has_id_gap: self.has_id_gap,
                            affects_edits: false,
                            confirms_edits: false,
                        });
                    }
                    _ => {}
                }
            }
        }
        requests
    }

    fn save(&mut self, change: impl FnOnce(&mut Reconcile)) {
        if let Some(saved) = &mut self.saved {
            change(saved);
        }
    }

    fn answer(&self, query: &ReconcileQuery) -> ReconcileResponse {
        let record = |id: &str| json!({ "id": id, "rev": 5 }).as_object().cloned().unwrap();
        let (records, next_cursor) = match query {
            ReconcileQuery::Ids { kind: Kind::Room, cursor } => {
                let from = cursor.as_ref().map_or(0, |cursor| cursor.parse().unwrap());
                // The core ignores the ids of a page and uses only the cursor.
                (Vec::new(), (from + 2 < self.rooms.len()).then(|| (from + 2).to_string()))
            }
            ReconcileQuery::Deletions { cursor: None, .. } => (Vec::new(), Some("2".to_owned())),
            ReconcileQuery::Record { id, .. } => (vec![record(id)], None),
            _ => (Vec::new(), None),
        };
        ReconcileResponse { records, next_cursor, as_of: 9, ..ReconcileResponse::default() }
    }

    /// Answers at most `limit` requests and the requests that follow. Returns the requests left.
    fn answer_requests(&mut self, mut requests: Vec<Request>, limit: usize) -> Vec<Request> {
        let mut answered = 0;
        while !requests.is_empty() && answered < limit {
            answered += 1;
            requests = match requests.remove(0) {
                Request::Reconcile { epoch, query } => {
                    self.queries.push(query.clone());
                    let found = self.answer(&query);
                    self.handle(1, Event::ReconcileAnswered { epoch, answer: Ok(found) })
                }
                Request::CheckCursor { epoch, .. } => self.handle(1, Event::CursorChecked { epoch, answer: Ok(()) }),
                _ => Vec::new(),
            };
        }
        requests
    }
}

#[test]
fn reconcile_handles_every_collection() {
    let mut world = World::new(Some(new_reconcile(Some("2026-06-01T00:00:00.000Z"))));
    world.missing = vec!["b".into()];
    let requests = world.start();
    world.answer_requests(requests, usize::MAX);
    assert_eq!((world.saved.as_ref(), world.deleted), (None, 5));
    assert_eq!((world.shown.last(), world.is_current), (Some(&Phase::Live), true), "the end proves the present");
    assert!(!world.shown.contains(&Phase::CatchingUp), "{:?}", world.shown);
    assert_eq!(world.queries[0], ReconcileQuery::Property);
    let of_rooms: Vec<&ReconcileQuery> = world
        .queries
        .iter()
        .filter(|query| match query {
            ReconcileQuery::Changes { kind, .. }
            | ReconcileQuery::Ids { kind, .. }
            | ReconcileQuery::Record { kind, .. } => *kind == Kind::Room,
            _ => false,
        })
        .collect();
    let since = Some("2026-06-01T00:00:00.000Z".to_owned());
    assert_eq!(
        of_rooms,
        [
            &ReconcileQuery::Changes { kind: Kind::Room, since, cursor: None },
            &ReconcileQuery::Ids { kind: Kind::Room, cursor: None },
            &ReconcileQuery::Ids { kind: Kind::Room, cursor: Some("2".into()) },
            &ReconcileQuery::Record { kind: Kind::Room, id: "b".into() },
        ]
    );
}

#[test]
fn gap_lists_changes_then_deletions() {
    let mut world = World::new(Some(changed_since_4()));
    let requests = world.start();
    world.answer_requests(requests, usize::MAX);
    assert_eq!((world.saved.as_ref(), world.deleted), (None, 5), "every collection is swept");
    let since = Some("2026-06-01T00:00:00.000Z".to_owned());
    let changes = Kind::COLLECTIONS.map(|kind| ReconcileQuery::Changes { kind, since: since.clone(), cursor: None });
    let deletions = [None, Some("2".to_owned())].map(|cursor| ReconcileQuery::Deletions { since_rev: 4, cursor });
    let expected: Vec<_> = [ReconcileQuery::Property].into_iter().chain(changes).chain(deletions).collect();
    assert_eq!(world.queries, expected);
}

#[test]
fn server_without_deletions_is_compared_whole() {
    for status in [404, 400] {
        let mut world = World::new(Some(changed_since_4()));
        let requests = world.start();
        let requests = world.answer_requests(requests, 1 + Kind::COLLECTIONS.len());
        let [Request::Reconcile { epoch, query: ReconcileQuery::Deletions { .. } }] = requests[..] else {
            panic!("{requests:?}")
        };
        let answer = Err(Failure::Refused(refusal(status, "invalid_request")));
        let requests = world.handle(1, Event::ReconcileAnswered { epoch, answer });
        assert_eq!(world.saved.as_ref().map(|saved| saved.scope), Some(ReconcileScope::Everything));
        let requests = if requests.is_empty() { world.handle(1, Event::Timer) } else { requests };
        world.answer_requests(requests, usize::MAX);
        assert_eq!((world.saved.as_ref(), world.deleted), (None, 5), "{status}");
        let ids = world.queries.iter().filter(|query| matches!(query, ReconcileQuery::Ids { .. })).count();
        assert!(ids >= Kind::COLLECTIONS.len(), "{:?}", world.queries);
    }
}

#[test]
fn persons_request_widens_a_reconcile_of_changes() {
    let mut world = World::new(Some(changed_since_4()));
    world.start();
    let asked = Event::ControlChanged { is_paused: false, reconcile: Some(false), retry_now: false };
    world.handle(1, asked);
    assert_eq!(world.saved.map(|saved| saved.scope), Some(ReconcileScope::Everything));
}

#[test]
fn missing_record_waits_for_its_delete_event() {
    let mut world = World::new(Some(new_reconcile(None)));
    world.missing = vec!["b".into(), "c".into()];
    let mut requests = world.start();
    let mut asked = Vec::new();
    let mut now = 1;
    while world.saved.is_some() {
        let (epoch, query) = match requests.pop() {
            Some(Request::Reconcile { epoch, query }) => (epoch, query),
            Some(Request::CheckCursor { epoch, .. }) => {
                requests = world.handle(now, Event::CursorChecked { epoch, answer: Ok(()) });
                continue;
            }
            _ => {
                now = world.core.wake_at().expect("a timer");
                requests = world.handle(now, Event::Timer);
                continue;
            }
        };
        let mut found = world.answer(&query);
        if let ReconcileQuery::Record { id, .. } = &query {
            asked.push(id.clone());
            assert!(asked.len() < 10, "{asked:?}");
            if id == "b" {
                found = ReconcileResponse::default();
                if asked.len() == 3 {
                    // The feed has brought the delete.
                    world.missing.clear();
                }
            }
        }
        requests = world.handle(now, Event::ReconcileAnswered { epoch, answer: Ok(found) });
    }
    assert_eq!(asked, ["c", "b", "b"], "other records do not wait");
}

#[test]
fn interrupted_reconcile_continues() {
    for reconcile in [new_reconcile(None), changed_since_4()] {
        let begin = || {
            let mut world = World::new(Some(reconcile.clone()));
            world.missing = vec!["b".into()];
            let requests = world.start();
            (world, requests)
        };
        let whole = {
            let (mut world, requests) = begin();
            world.answer_requests(requests, usize::MAX);
            world.queries
        };
        for cut in 0..=whole.len() {
            let (mut world, requests) = begin();
            world.answer_requests(requests, cut);
            // The process dies, and another process continues from the disk.
            world.core = Core::new(Until::Stopped, 8);
            let requests = world.start();
            world.answer_requests(requests, usize::MAX);
            assert_eq!(world.queries, whole, "cut after {cut} answers");
            assert_eq!((world.saved, world.deleted), (None, 5), "cut after {cut} answers");
        }
    }
}

#[test]
fn restore_during_reconcile_is_noticed() {
    let mut world = World::new(Some(new_reconcile(None)));
    let requests = world.start();
    let queries = 1 + 2 * Kind::COLLECTIONS.len() + 1;
    let requests = world.answer_requests(requests, queries);
    let [Request::CheckCursor { epoch, cursor }] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!((cursor.as_deref(), world.deleted), (Some("c1"), 5));
    assert!(world.saved.is_some(), "the reconcile continues");
    assert_eq!(world.core.wake_at().filter(|at| *at <= 1), None, "no timer before the answer");

    let failed = Event::CursorChecked { epoch: *epoch, answer: Err(Failure::NoAnswer("cut".into())) };
    assert!(world.handle(1, failed).is_empty());
    let at = world.core.wake_at().unwrap();
    let requests = world.handle(at, Event::Timer);
    let [Request::CheckCursor { epoch, .. }] = requests[..] else { panic!("requested again: {requests:?}") };
    let expired = Expired { restored: true, resume: "d4".into(), fork: None };
    let gone = Refusal { expired: Some(expired), ..refusal(410, "cursor_expired") };
    world.handle(at, Event::CursorChecked { epoch, answer: Err(Failure::Refused(gone)) });
    assert_eq!(world.saved, Some(new_reconcile(None)), "started again");
    world.handle(at, Event::IdentityReceived(Ok(identity(&[]))));
    let actions = world.core.handle(at, Event::FeedHeadReceived(Ok(FeedHead::default())));
    assert_eq!(actions, [Action::OpenStream { cursor: Some("d4".into()) }]);
}

#[test]
fn expired_cursor_starts_a_reconcile() {
    let mut world = World::new(None);
    world.start();
    world.handle(1, Event::StreamEnded { reason: "cut".into() });
    let at = world.core.wake_at().unwrap();
    world.handle(at, Event::Timer);
    world.handle(at, Event::IdentityReceived(Ok(identity(&[]))));
    world.handle(at, Event::FeedHeadReceived(Ok(FeedHead::default())));
    let expired = Expired { restored: false, resume: "c40".into(), fork: None };
    let gone = Refusal { expired: Some(expired), ..refusal(410, "cursor_expired") };
    world.handle(at, Event::StreamRefused(gone));
    assert!(world.saved.is_some());
    world.handle(at, Event::IdentityReceived(Ok(identity(&[]))));
    let actions = world.core.handle(at, Event::FeedHeadReceived(Ok(FeedHead::default())));
    assert_eq!(actions, [Action::OpenStream { cursor: Some("c40".into()) }]);
    let requests = world.handle(at, Event::StreamOpened);
    assert!(requests.iter().any(|request| matches!(request, Request::Reconcile { .. })), "{requests:?}");
    assert_eq!(world.shown.last(), Some(&Phase::Reconciling));
}

#[test]
fn mass_delete_waits_for_a_person() {
    let mut world = World::new(Some(new_reconcile(None)));
    world.too_many = true;
    let requests = world.start();
    let scopes = world.answer_requests(requests, usize::MAX);
    assert!(scopes.is_empty());
    let epoch = 1;
    world.handle(2, Event::ScopesChecked { epoch, answer: Ok(identity(&["rooms:read"])) });
    let question = world.saved.as_ref().and_then(|saved| saved.question.clone()).unwrap();
    assert!(question.contains("60 of 80 rooms"), "{question}");
    assert_eq!(world.shown.last(), Some(&Phase::Blocked));

    world.core = Core::new(Until::Stopped, 8);
    assert!(world.start().is_empty());
    assert_eq!(world.shown.last(), Some(&Phase::Blocked));
    let proof = world.handle(3, Event::ControlChanged { is_paused: false, reconcile: Some(true), retry_now: false });
    world.answer_requests(proof, usize::MAX);
    assert_eq!((world.saved.as_ref(), world.shown.last()), (None, Some(&Phase::Live)));

    let mut once = World::new(Some(Reconcile { question: Some(question.clone()), ..new_reconcile(None) }));
    once.core = Core::new(Until::Current, 8);
    once.start();
    assert_eq!(once.finished, Some(EndReason::Asks(question)));
}

#[test]
fn confirmation_before_start_is_used() {
    let asked = Reconcile { question: Some("60 of 80".into()), ..new_reconcile(None) };
    let mut world = World::new(Some(asked));
    world.core = Core::new(Until::Current, 8);
    let reconcile = world.saved.clone();
    let home_id = Some("home".into());
    world.handle(
        0,
        Event::Started {
            cursor: Some("c1".into()),
            is_filled: true,
            home_id,
            holds_streams_back: false,
            reconcile,
            is_paused: false,
        },
    );
    world.handle(0, Event::ControlChanged { is_paused: false, reconcile: Some(true), retry_now: false });
    assert_eq!(world.finished, None);
    assert!(world.saved.is_some_and(|saved| saved.accepted && saved.question.is_none()));
}

#[test]
fn unreadable_records_are_not_deleted() {
    let mut world = World::new(Some(new_reconcile(None)));
    world.too_many = true;
    let requests = world.start();
    world.answer_requests(requests, usize::MAX);
    world.handle(2, Event::ScopesChecked { epoch: 1, answer: Ok(identity(&["tasks:read"])) });
    assert_eq!(world.shown.last(), Some(&Phase::NeedsKey));
    assert_eq!(world.saved.as_ref().map(|saved| saved.question.is_none()), Some(true));
    world.too_many = false;
    let at = next_due(&mut world.core);
    let requests = world.handle(at, Event::Timer);
    world.answer_requests(requests, usize::MAX);
    assert_eq!((world.saved.as_ref(), world.shown.last()), (None, Some(&Phase::Live)));
}

#[test]
fn sweep_without_id_list_lists_ids_first() {
    let kind = Kind::Room;
    let mut world =
        World::new(Some(Reconcile { step: ReconcileStep::Sweep { kind, as_of: 4 }, ..new_reconcile(None) }));
    world.not_walked = true;
    let requests = world.start();
    let query = ReconcileQuery::Ids { kind, cursor: None };
    assert!(matches!(&requests[..], [Request::Reconcile { query: asked, .. }] if *asked == query), "{requests:?}");
    world.answer_requests(requests, usize::MAX);
    assert_eq!(world.saved, None);
}

#[test]
fn reconcile_leaves_reads_to_others() {
    let mut world = World::new(Some(new_reconcile(None)));
    let many: Vec<&'static str> = (0..2000).map(|n| &*Box::leak(n.to_string().into_boxed_str())).collect();
    world.rooms = many;
    let requests = world.start();
    world.answer_requests(requests, usize::MAX);
    assert_eq!(world.queries.len(), 240);
    let at = next_due(&mut world.core);
    assert!(at >= 60_000, "{at}");
}

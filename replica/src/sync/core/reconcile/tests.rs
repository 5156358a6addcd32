//! The reconcile alone: the table of states, the order of the steps, interruptions, and pauses. A small model of server and
//! disk answers, so each point of interruption can be tried.

use hearth_contract::schema::Kind;
use serde_json::json;

use super::super::backoff::Backoff;
use super::super::outcome::Refusal;
use super::super::tests::{arrows, identity, refusal};
use super::*;
use crate::model::ReconcileQuery;

const SINCE: &str = "2026-06-01T00:00:00.000Z";

fn everything() -> ReconcileScope {
    ReconcileScope::Everything { since: Some(SINCE.to_owned()) }
}

fn new_reconcile() -> Reconcile {
    Reconcile {
        scope: everything(),
        tail_position: None,
        step: ReconcileStep::Property,
        accepted: false,
        question: None,
    }
}

fn at_step(step: ReconcileStep) -> Reconcile {
    Reconcile { step, ..new_reconcile() }
}

/// A reconcile of what changed after revision 4.
fn changed_since_4() -> Reconcile {
    Reconcile { scope: ReconcileScope::Changed { since: SINCE.to_owned(), since_rev: 4 }, ..new_reconcile() }
}

const FEED: Feed<'static> = Feed { in_contact: true, position: 9, cursor: None };

/// A reconcile, and a model of disk and server that answers the reconcile.
struct World {
    reconciler: Reconciler,
    backoff: Backoff,
    /// The progress on disk. None: no reconcile.
    saved: Option<Reconcile>,
    /// Pages of two ids in the server's list of rooms.
    pages: usize,
    /// Rooms of which the server has newer versions.
    missing: Vec<String>,
    queries: Vec<ReconcileQuery>,
    swept: usize,
}

impl World {
    /// A process that goes on from this progress, and the requests that it sends in contact.
    fn start(saved: Reconcile) -> (World, Vec<Request>) {
        let mut world = World {
            reconciler: Reconciler::default(),
            backoff: Backoff::new(7),
            saved: Some(saved),
            pages: 2,
            missing: Vec::new(),
            queries: Vec::new(),
            swept: 0,
        };
        let requests = world.restart();
        (world, requests)
    }

    /// Another process goes on from the disk.
    fn restart(&mut self) -> Vec<Request> {
        self.reconciler = Reconciler::default();
        self.handle(0, Some(Input::Begun(self.saved.clone())))
    }

    /// Gives an input, and carries the actions out. Returns the requests to the server.
    fn handle(&mut self, now: Millis, input: Option<Input>) -> Vec<Request> {
        let mut inputs: Vec<Input> = input.into_iter().collect();
        let mut requests = Vec::new();
        loop {
            let mut turn = Turn::new(now, self.backoff.clone());
            if !inputs.is_empty() {
                self.reconciler.handle(&mut turn, inputs.remove(0), FEED);
            }
            self.reconciler.proceed(&mut turn, FEED);
            self.backoff = turn.backoff;
            for action in turn.actions {
                match action {
                    Action::Request(request) => requests.push(request),
                    action => inputs.extend(self.carry_out(action)),
                }
            }
            if inputs.is_empty() {
                return requests;
            }
        }
    }

    fn carry_out(&mut self, action: Action) -> Option<Input> {
        match action {
            Action::SaveResponse { query, next_step, .. } => {
                if let ReconcileQuery::Record { id, .. } = &query {
                    self.missing.retain(|missing| missing != id);
                }
                self.save(|saved| saved.step = next_step);
            }
            Action::SaveStep(step) => self.save(|saved| saved.step = step),
            Action::CompareEverything { next_step } => {
                self.save(|saved| (saved.scope, saved.step) = (everything(), next_step));
            }
            Action::ListMissing { kind: Kind::Room } => return Some(Input::MissingListed(self.missing.clone())),
            Action::ListMissing { .. } => return Some(Input::MissingListed(Vec::new())),
            Action::Sweep { next_step, .. } => {
                self.swept += 1;
                self.save(|saved| saved.step = next_step);
                return Some(Input::Swept(SweepOutcome::Done));
            }
            Action::FinishReconcile => self.saved = None,
            action => panic!("{action:?}"),
        }
        None
    }

    fn save(&mut self, change: impl FnOnce(&mut Reconcile)) {
        self.saved.as_mut().map(change);
    }

    fn answer(&self, query: &ReconcileQuery) -> ReconcileResponse {
        let record = |id: &str| json!({ "id": id, "rev": 5 }).as_object().cloned().unwrap();
        let (records, next_cursor) = match query {
            ReconcileQuery::Ids { kind: Kind::Room, cursor } => {
                let page = cursor.as_ref().map_or(1, |cursor| cursor.parse().unwrap());
                (Vec::new(), (page < self.pages).then(|| (page + 1).to_string()))
            }
            ReconcileQuery::Deletions { cursor: None, .. } => (Vec::new(), Some("2".to_owned())),
            ReconcileQuery::Record { id, .. } => (vec![record(id)], None),
            _ => (Vec::new(), None),
        };
        ReconcileResponse { records, next_cursor, as_of: 9, ..ReconcileResponse::default() }
    }

    /// Answers a request, with `refused` in place of the model's answer. Returns the requests that follow.
    fn respond(&mut self, now: Millis, request: Request, refused: Option<Refusal>) -> Vec<Request> {
        let (epoch, answer) = match request {
            Request::Reconcile { epoch, query } => {
                self.queries.push(query.clone());
                let answer = self.answer(&query);
                (epoch, Answer::Query(refused.map_or(Ok(answer), |refusal| Err(Failure::Refused(refusal)))))
            }
            Request::CheckCursor { epoch, .. } => (epoch, Answer::Cursor(Ok(()))),
            request => panic!("{request:?}"),
        };
        self.handle(now, Some(Input::Answered { epoch, answer }))
    }

    /// Answers at most `limit` requests, one after the other. Returns the requests left.
    fn answer_requests(&mut self, mut requests: Vec<Request>, limit: usize) -> Vec<Request> {
        for _ in 0..limit {
            if requests.is_empty() {
                break;
            }
            let request = requests.remove(0);
            requests.extend(self.respond(1, request, None));
        }
        requests
    }

    fn wake_at(&self) -> Millis {
        self.reconciler.wake_at().expect("a timer")
    }
}

fn ids_of_rooms(cursor: Option<&str>) -> ReconcileQuery {
    ReconcileQuery::Ids { kind: Kind::Room, cursor: cursor.map(str::to_owned) }
}

/// The name of the reconciler's state in the table.
fn state_of(reconciler: &Reconciler, now: Millis) -> &'static str {
    let Some(running) = &reconciler.running else { return "idle" };
    match (&running.wait, &running.progress.step) {
        _ if running.progress.question.is_some() => "question",
        (Wait::Until(at), ReconcileStep::Sweep { .. }) if *at > now => "sweep pausing",
        (Wait::Until(at), ReconcileStep::Done) if *at > now => "check pausing",
        (Wait::Until(at), _) if *at > now => "pausing",
        (Wait::Until(_), ReconcileStep::Records { .. }) if running.missing.is_empty() => "list due",
        (Wait::Until(_), ReconcileStep::Sweep { .. }) => "sweep due",
        (Wait::Until(_), ReconcileStep::Done) => "check due",
        (Wait::Until(_), _) => "query due",
        (Wait::Query(_), _) => "asked",
        (Wait::Scopes { .. }, _) => "checking scopes",
        (Wait::Cursor, _) => "checking cursor",
        (Wait::Feed(..), _) => "ahead of feed",
        (Wait::Database, ReconcileStep::Records { .. }) => "listing",
        (Wait::Database, ReconcileStep::Sweep { .. }) => "sweeping",
        (Wait::Database, _) => "beginning",
    }
}

/// A reconciler that goes on from the disk.
fn base(state: &str) -> Option<Reconciler> {
    let progress = match state {
        "idle" => None,
        "list due" => Some(at_step(ReconcileStep::Records { kind: Kind::Inventory, as_of: 4 })),
        "sweep due" => Some(at_step(ReconcileStep::Sweep { kind: Kind::Inventory, as_of: 4 })),
        "check due" => Some(at_step(ReconcileStep::Done)),
        _ => return None,
    };
    let mut reconciler = Reconciler::default();
    reconciler.begin(progress);
    Some(reconciler)
}

fn give(reconciler: &mut Reconciler, turn: &mut Turn, input: &str) {
    let epoch = reconciler.epoch;
    let answered = |answer| Input::Answered { epoch, answer };
    let read_at = |as_of| answered(Answer::Query(Ok(ReconcileResponse { as_of, ..ReconcileResponse::default() })));
    let refused = |status, error_type| Failure::Refused(refusal(status, error_type));
    let silence = || Failure::NoAnswer("cut".into());
    let input = match input {
        "proceed" => return reconciler.proceed(turn, FEED),
        "contact lost" => return reconciler.proceed(turn, Feed { in_contact: false, ..FEED }),
        "feed caught up" => return reconciler.proceed(turn, Feed { position: 12, ..FEED }),
        "begun" => Input::Begun(Some(new_reconcile())),
        "ended" => Input::Begun(None),
        "requested" => Input::Requested { accepted: false },
        "accepted" => Input::Requested { accepted: true },
        "answer" => read_at(9),
        "answer ahead" => read_at(12),
        "no answer" => answered(Answer::Query(Err(silence()))),
        "key refused" => answered(Answer::Query(Err(refused(403, "insufficient_scope")))),
        "list forgotten" => answered(Answer::Query(Err(refused(400, "invalid_cursor")))),
        "records listed" => Input::MissingListed(vec!["b".into()]),
        "none listed" => Input::MissingListed(Vec::new()),
        "swept" => Input::Swept(SweepOutcome::Done),
        "ids not listed" => Input::Swept(SweepOutcome::NotListed),
        "too many" => Input::Swept(SweepOutcome::TooMany { gone: 60, of: 80 }),
        "scope held" => answered(Answer::Scopes(Ok(identity("home", &["inventory:read"])))),
        "scope missing" => answered(Answer::Scopes(Ok(identity("home", &["tasks:read"])))),
        "scopes unknown" => answered(Answer::Scopes(Err(silence()))),
        "cursor known" => answered(Answer::Cursor(Ok(()))),
        "cursor refused" => answered(Answer::Cursor(Err(refused(410, "cursor_expired")))),
        "cursor unchecked" => answered(Answer::Cursor(Err(silence()))),
        "ids skipped" => return reconciler.hear(&Fact::IdsSkipped),
        "new key" => return reconciler.hear(&Fact::KeyChanged),
        input => panic!("{input}"),
    };
    reconciler.handle(turn, input, FEED);
}

#[test]
fn reconcile_follows_the_table() {
    arrows::walk(include_str!("../reconcile.rs"), base, give, state_of);
}

/// A reconciler after these inputs, and what followed.
fn after(state: &str, inputs: &[&str]) -> (Reconciler, Turn) {
    let (mut reconciler, mut turn) = (base(state).unwrap(), Turn::new(1, Backoff::new(7)));
    inputs.iter().for_each(|input| give(&mut reconciler, &mut turn, input));
    (reconciler, turn)
}

#[test]
fn sweep_without_list_lists_again() {
    let kind = Kind::Room;
    let lists = [
        (changed_since_4(), ReconcileStep::Deletions { cursor: None }),
        (new_reconcile(), ReconcileStep::Ids { kind, cursor: None, as_of: None }),
    ];
    for (progress, list) in lists {
        let (mut reconciler, mut turn) = (Reconciler::default(), Turn::new(1, Backoff::new(7)));
        reconciler.begin(Some(Reconcile { step: ReconcileStep::Sweep { kind, as_of: 9 }, ..progress }));
        reconciler.proceed(&mut turn, FEED);
        reconciler.handle(&mut turn, Input::Swept(SweepOutcome::NotListed), FEED);
        assert!(turn.actions.contains(&Action::SaveStep(list.clone())), "{list:?}: {:?}", turn.actions);
    }
}

#[test]
fn answer_of_earlier_epoch_is_discarded() {
    for input in ["contact lost", "ids skipped", "new key", "begun"] {
        let (mut reconciler, mut turn) = after("idle", &["begun", "proceed", input, "proceed"]);
        let late = Input::Answered { epoch: 2, answer: Answer::Query(Ok(ReconcileResponse::default())) };
        reconciler.handle(&mut turn, late, FEED);
        assert_eq!((state_of(&reconciler, 1), turn.actions.len()), ("asked", 2), "{input}");
    }
}

#[test]
fn question_names_the_records() {
    let (reconciler, _) = after("sweep due", &["proceed", "too many", "scope held"]);
    let question = reconciler.question().unwrap();
    assert!(question.starts_with("60 of 80 inventory"), "{question}");
}

#[test]
fn all_steps_of_every_collection() {
    let (mut world, requests) = World::start(new_reconcile());
    world.missing = vec!["b".into()];
    world.answer_requests(requests, usize::MAX);
    assert_eq!((&world.saved, world.swept), (&None, 5));
    assert_eq!(world.queries[0], ReconcileQuery::Property);
    let expected = [
        ReconcileQuery::List { kind: Kind::Room, since: Some(SINCE.to_owned()), cursor: None },
        ids_of_rooms(None),
        ids_of_rooms(Some("2")),
        ReconcileQuery::Record { kind: Kind::Room, id: "b".into() },
    ];
    let rooms = world.queries.iter().position(|query| *query == expected[0]).unwrap();
    assert_eq!(world.queries[rooms..rooms + 4], expected);
    assert_eq!(world.queries.len(), 1 + 2 * Kind::COLLECTIONS.len() + 2);
}

/// Without a moment, the list of all records is enough. After a gap, the deletions follow the changes.
#[test]
fn every_collection_is_listed_once() {
    let deletions = [None, Some("2".to_owned())].map(|cursor| ReconcileQuery::Deletions { since_rev: 4, cursor });
    let unknown = Reconcile { scope: ReconcileScope::Everything { since: None }, ..new_reconcile() };
    for (reconcile, since, last) in [(unknown, None, vec![]), (changed_since_4(), Some(SINCE), deletions.into())] {
        let (mut world, requests) = World::start(reconcile);
        world.answer_requests(requests, usize::MAX);
        assert_eq!((&world.saved, world.swept), (&None, 5), "every collection is swept: {since:?}");
        let since = since.map(str::to_owned);
        let lists = Kind::COLLECTIONS.map(|kind| ReconcileQuery::List { kind, since: since.clone(), cursor: None });
        let expected: Vec<_> = [ReconcileQuery::Property].into_iter().chain(lists).chain(last).collect();
        assert_eq!(world.queries, expected);
    }
}

#[test]
fn server_without_deletions_is_compared_whole() {
    for status in [404, 400] {
        let (mut world, requests) = World::start(changed_since_4());
        let mut requests = world.answer_requests(requests, 1 + Kind::COLLECTIONS.len());
        let request = requests.remove(0);
        assert!(matches!(request, Request::Reconcile { query: ReconcileQuery::Deletions { .. }, .. }), "{request:?}");
        let requests = world.respond(1, request, Some(refusal(status, "invalid_request")));
        assert_eq!(world.saved.as_ref().map(|saved| &saved.scope), Some(&everything()));
        world.answer_requests(requests, usize::MAX);
        assert_eq!((&world.saved, world.swept), (&None, 5), "{status}");
        let ids = world.queries.iter().filter(|query| matches!(query, ReconcileQuery::Ids { .. })).count();
        assert!(ids >= Kind::COLLECTIONS.len(), "{:?}", world.queries);
    }
}

#[test]
fn persons_request_widens_a_reconcile_of_changes() {
    let mut reconciler = Reconciler::default();
    let mut turn = Turn::new(0, Backoff::new(7));
    let sweep = ReconcileStep::Sweep { kind: Kind::Task, as_of: 4 };
    reconciler.handle(&mut turn, Input::Begun(Some(Reconcile { step: sweep, ..changed_since_4() })), FEED);
    reconciler.handle(&mut turn, Input::Requested { accepted: false }, FEED);
    reconciler.proceed(&mut turn, FEED);
    let begins = [Action::StartReconcile(ReconcileCause::Asked { accepted: false })];
    assert_eq!(turn.actions, begins, "no step of the narrow reconcile follows");
}

#[test]
fn missing_record_waits_for_its_delete_event() {
    let (mut world, mut requests) = World::start(new_reconcile());
    world.missing = vec!["b".into(), "c".into()];
    let (mut asked, mut now) = (Vec::new(), 1);
    while world.saved.is_some() {
        requests = match requests.pop() {
            Some(Request::Reconcile { epoch, query: ReconcileQuery::Record { id, .. } }) if id == "b" => {
                asked.push(id);
                if asked.len() == 3 {
                    // The feed has brought the delete.
                    world.missing.clear();
                }
                let answer = Answer::Query(Ok(ReconcileResponse::default()));
                world.handle(now, Some(Input::Answered { epoch, answer }))
            }
            Some(request) => {
                if let Request::Reconcile { query: ReconcileQuery::Record { id, .. }, .. } = &request {
                    asked.push(id.clone());
                }
                world.respond(now, request, None)
            }
            None => {
                now = world.wake_at();
                world.handle(now, None)
            }
        };
        assert!(asked.len() < 10, "{asked:?}");
    }
    assert_eq!(asked, ["c", "b", "b"], "other records do not wait");
}

#[test]
fn interrupted_reconcile_continues() {
    for reconcile in [new_reconcile(), changed_since_4()] {
        let begin = || {
            let (mut world, requests) = World::start(reconcile.clone());
            world.missing = vec!["b".into()];
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
            let requests = world.restart();
            world.answer_requests(requests, usize::MAX);
            assert_eq!(world.queries, whole, "cut after {cut} answers");
            assert_eq!((&world.saved, world.swept), (&None, 5), "cut after {cut} answers");
        }
    }
}

#[test]
fn reconcile_leaves_reads_to_others() {
    let (mut world, requests) = World::start(new_reconcile());
    let limits = Some(Limits { reads: 300, writes: 60, bulk: 20 });
    world.reconciler.hear(&Fact::ContactBegan(limits));
    world.pages = 2000;
    world.answer_requests(requests, usize::MAX);
    assert_eq!(world.queries.len(), 240);
    assert!(world.wake_at() >= 60_000);
}

#[test]
fn refused_list_respects_retry_after() {
    let (mut world, mut requests) = World::start(new_reconcile());
    let limited = Refusal { retry_after: Some(30_000), ..refusal(429, "rate_limited") };
    assert!(world.respond(1, requests[0].clone(), Some(limited)).is_empty());
    let at = world.wake_at();
    assert!((30_001..40_000).contains(&at), "{at}");
    let again = world.handle(at, None);
    assert_eq!(again, requests);
    world.respond(at, requests.remove(0), Some(refusal(403, "insufficient_scope")));
    assert!(world.reconciler.key_refusal().is_some());
    assert_eq!(world.wake_at(), at + 60_000);
}

#[test]
fn failing_list_is_shown_until_it_answers() {
    let (mut world, requests) = World::start(new_reconcile());
    world.respond(0, requests[0].clone(), Some(refusal(500, "the list is broken")));
    let text = world.reconciler.failure_text().unwrap();
    assert!(text.ends_with("does not come on: the list is broken"), "{text}");
    let again = world.handle(world.wake_at(), None);
    assert!(world.reconciler.failure_text().is_some());
    world.answer_requests(again, 1);
    assert_eq!(world.reconciler.failure_text(), None);
}

#[test]
fn restarting_list_slows_down() {
    let (mut world, mut requests) = World::start(new_reconcile());
    let (mut now, mut begun) = (0, 0);
    while now < 120_000 {
        while let Some(request) = requests.pop() {
            let Request::Reconcile { query, .. } = &request else { panic!("{request:?}") };
            begun += u32::from(*query == ids_of_rooms(None));
            let is_second = *query == ids_of_rooms(Some("2"));
            let refused = is_second.then(|| refusal(400, "invalid_cursor"));
            requests = world.respond(now, request, refused);
        }
        now = world.wake_at();
        requests = world.handle(now, None);
    }
    assert!((3..30).contains(&begun), "{begun}");
}

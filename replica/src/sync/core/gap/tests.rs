//! Recoveries as inputs and effects: their order, where a cut one goes on, and what stops them. A little server in
//! values answers, so that every cut point can be tried.

use serde_json::json;

use super::super::{Core, Effect, Errand, Expired, Failure, Input, Millis, Phase, Refusal, Standing, Stretch};
use super::*;
use crate::sync::{Identity, Limits, Until, Verdict};

fn identity(scopes: &[&str]) -> Identity {
    Identity {
        home_id: "home".into(),
        home_name: "Home".into(),
        environment: "live".into(),
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        limits: Some(Limits { reads: 300, writes: 60, bulk: 20 }),
    }
}

fn refusal(status: u16, kind: &str) -> Refusal {
    Refusal { status, kind: kind.into(), message: kind.into(), expired: None, problem: json!({}), retry_after: None }
}

fn fresh(since: Option<&str>) -> Recovery {
    let since = since.map(str::to_owned);
    Recovery { since, tail: 0, step: Step::Property, accepted: false, question: None }
}

/// What would be on disk and on the server: enough of both to answer a core.
struct World {
    core: Core,
    saved: Option<Recovery>,
    /// Ids that a list shows, two to a page.
    rooms: Vec<&'static str>,
    missing: Vec<String>,
    too_many: bool,
    not_walked: bool,
    /// The feed leaves numbers out.
    leaps: bool,
    asked: Vec<Question>,
    shown: Vec<Phase>,
    finished: Option<Verdict>,
    deleted: usize,
    /// Whether what is on disk was last said to be the present.
    current: bool,
    head: i64,
}

impl World {
    fn new(saved: Option<Recovery>) -> World {
        World {
            core: Core::new(Until::Stopped, 7),
            saved,
            rooms: vec!["a", "b", "c"],
            missing: Vec::new(),
            too_many: false,
            not_walked: false,
            leaps: false,
            asked: Vec::new(),
            shown: Vec::new(),
            finished: None,
            deleted: 0,
            current: false,
            head: 9,
        }
    }

    /// A process starts on what is saved, and the server accepts its cursor.
    fn start(&mut self) -> Vec<Errand> {
        let recovery = self.saved.clone();
        let mut waiting = Vec::new();
        let cursor = Some("c1".to_owned());
        let started = Input::Started { cursor, backfilled: true, home: Some("home".into()), recovery, paused: false };
        for input in [
            started,
            Input::Met(Ok(identity(&[]))),
            Input::FeedStands(Ok(Standing::default())),
            Input::StreamOpened,
            Input::Frames(Stretch { ready: Some(self.head), ..Stretch::default() }),
        ] {
            waiting.extend(self.tell(0, input));
        }
        waiting
            .retain(|errand| matches!(errand, Errand::Recover { .. } | Errand::Prove { .. } | Errand::Scopes { .. }));
        waiting
    }

    /// Hands an input in and does on "disk" what comes of it; gives what the server is asked.
    fn tell(&mut self, now: Millis, input: Input) -> Vec<Errand> {
        let mut inputs = vec![input];
        let mut errands = Vec::new();
        while !inputs.is_empty() {
            for effect in self.core.handle(now, inputs.remove(0)) {
                match effect {
                    Effect::Ask(errand) => errands.push(errand),
                    Effect::Recover(_) => {
                        let since = self.saved.take().and_then(|before| before.since);
                        self.saved = Some(fresh(since.as_deref()));
                        inputs.push(Input::Recovering(self.saved.clone()));
                    }
                    Effect::Keep { question, then, .. } => {
                        if let Question::Record { id, .. } = &question {
                            self.missing.retain(|missing| missing != id);
                        }
                        if let Some(saved) = &mut self.saved {
                            saved.step = then;
                        }
                    }
                    Effect::SetStep(step) => self.save(|saved| saved.step = step),
                    Effect::LookForMissing { kind } => inputs.push(Input::Missing(match kind {
                        Kind::Room => self.missing.clone(),
                        _ => Vec::new(),
                    })),
                    Effect::Sweep { kind, then, .. } => {
                        let accepted = self.saved.as_ref().is_some_and(|saved| saved.accepted);
                        let swept = if std::mem::take(&mut self.not_walked) {
                            Swept::NotWalked
                        } else if self.too_many && kind == Kind::Room && !accepted {
                            Swept::TooMany { gone: 60, of: 80 }
                        } else {
                            self.deleted += 1;
                            self.save(|saved| saved.step = then);
                            Swept::Done
                        };
                        inputs.push(Input::Swept { kind, swept });
                    }
                    Effect::AskPerson(question) => self.save(|saved| saved.question = Some(question)),
                    Effect::Heed { accepted } => self.save(|saved| {
                        if accepted {
                            (saved.accepted, saved.question) = (true, None);
                        }
                    }),
                    Effect::EndRecovery => self.saved = None,
                    Effect::Touch { current } => self.current = current,
                    Effect::Show { phase, .. } => self.shown.push(phase),
                    Effect::Finish(verdict) => self.finished = Some(verdict),
                    Effect::Plan => inputs.push(Input::Planned { ready: vec![], open: false }),
                    Effect::Apply { stretch, phase, current, .. } => {
                        self.shown.push(phase);
                        self.current = current;
                        let tail = stretch.ready.unwrap_or(self.head);
                        inputs.push(Input::Applied {
                            cursor: stretch.cursor,
                            tail,
                            leapt: self.leaps,
                            touched_edits: false,
                            found_edits: false,
                        });
                    }
                    _ => {}
                }
            }
        }
        errands
    }

    fn save(&mut self, change: impl FnOnce(&mut Recovery)) {
        if let Some(saved) = &mut self.saved {
            change(saved);
        }
    }

    fn answer(&self, question: &Question) -> Found {
        let record = |id: &str| json!({ "id": id, "rev": 5 }).as_object().cloned().unwrap();
        let (records, next_cursor) = match question {
            Question::Ids { kind: Kind::Room, cursor } => {
                let from = cursor.as_ref().map_or(0, |cursor| cursor.parse().unwrap());
                // What a page lists is the store's; here counts where it leads.
                (Vec::new(), (from + 2 < self.rooms.len()).then(|| (from + 2).to_string()))
            }
            Question::Record { id, .. } => (vec![record(id)], None),
            _ => (Vec::new(), None),
        };
        Found { records, ids: Vec::new(), next_cursor, as_of: 9 }
    }

    /// Answers every question until none is left, or as many as are allowed.
    fn go_on(&mut self, mut errands: Vec<Errand>, limit: usize) -> Vec<Errand> {
        let mut answered = 0;
        while !errands.is_empty() && answered < limit {
            answered += 1;
            errands = match errands.remove(0) {
                Errand::Recover { round, question } => {
                    self.asked.push(question.clone());
                    let found = self.answer(&question);
                    self.tell(1, Input::Found { round, answer: Ok(found) })
                }
                Errand::Prove { round, .. } => self.tell(1, Input::Proven { round, answer: Ok(()) }),
                _ => Vec::new(),
            };
        }
        errands
    }
}

#[test]
fn every_collection_is_listed_walked_completed_and_swept() {
    let mut world = World::new(Some(fresh(Some("2026-06-01T00:00:00.000Z"))));
    world.missing = vec!["b".into()];
    let errands = world.start();
    world.go_on(errands, usize::MAX);
    assert_eq!((world.saved.as_ref(), world.deleted), (None, 5));
    assert_eq!((world.shown.last(), world.current), (Some(&Phase::Live), true), "the end is proof of the present");
    assert!(!world.shown.contains(&Phase::CatchingUp), "{:?}", world.shown);
    assert_eq!(world.asked[0], Question::Property);
    let of_rooms: Vec<&Question> = world
        .asked
        .iter()
        .filter(|question| match question {
            Question::Changes { kind, .. } | Question::Ids { kind, .. } | Question::Record { kind, .. } => {
                *kind == Kind::Room
            }
            _ => false,
        })
        .collect();
    let since = Some("2026-06-01T00:00:00.000Z".to_owned());
    assert_eq!(
        of_rooms,
        [
            &Question::Changes { kind: Kind::Room, since, cursor: None },
            &Question::Ids { kind: Kind::Room, cursor: None },
            &Question::Ids { kind: Kind::Room, cursor: Some("2".into()) },
            &Question::Record { kind: Kind::Room, id: "b".into() },
        ]
    );
}

#[test]
fn the_end_of_a_record_that_was_listed_is_waited_for() {
    let mut world = World::new(Some(fresh(None)));
    world.missing = vec!["b".into(), "c".into()];
    let mut errands = world.start();
    let mut asked = Vec::new();
    let mut now = 1;
    while world.saved.is_some() {
        let (round, question) = match errands.pop() {
            Some(Errand::Recover { round, question }) => (round, question),
            Some(Errand::Prove { round, .. }) => {
                errands = world.tell(now, Input::Proven { round, answer: Ok(()) });
                continue;
            }
            _ => {
                now = world.core.wake_at().expect("it goes on by itself");
                errands = world.tell(now, Input::Timer);
                continue;
            }
        };
        let mut found = world.answer(&question);
        if let Question::Record { id, .. } = &question {
            asked.push(id.clone());
            assert!(asked.len() < 10, "{asked:?}");
            if id == "b" {
                found = Found::default();
                if asked.len() == 3 {
                    // The feed has told its end.
                    world.missing.clear();
                }
            }
        }
        errands = world.tell(now, Input::Found { round, answer: Ok(found) });
    }
    assert_eq!(asked, ["c", "b", "b"], "the others do not wait for it");
}

#[test]
fn cut_anywhere_it_goes_on_where_it_was() {
    let whole = {
        let mut world = World::new(Some(fresh(None)));
        world.missing = vec!["b".into()];
        let errands = world.start();
        world.go_on(errands, usize::MAX);
        world.asked
    };
    for cut in 0..=whole.len() {
        let mut world = World::new(Some(fresh(None)));
        world.missing = vec!["b".into()];
        let errands = world.start();
        world.go_on(errands, cut);
        // The process dies; another takes up what is on disk.
        world.core = Core::new(Until::Stopped, 8);
        let errands = world.start();
        world.go_on(errands, usize::MAX);
        assert_eq!(world.asked, whole, "cut after {cut} answers");
        assert_eq!((world.saved, world.deleted), (None, 5), "cut after {cut} answers");
    }
}

#[test]
fn a_server_that_was_put_back_beneath_a_silent_stream_is_seen_before_the_end() {
    let mut world = World::new(Some(fresh(None)));
    let errands = world.start();
    let questions = 1 + 2 * Kind::COLLECTIONS.len() + 1;
    let errands = world.go_on(errands, questions);
    let [Errand::Prove { round, cursor }] = &errands[..] else { panic!("{errands:?}") };
    assert_eq!((cursor.as_deref(), world.deleted), (Some("c1"), 5));
    assert!(world.saved.is_some(), "it has not ended");
    assert_eq!(world.core.wake_at().filter(|at| *at <= 1), None, "and waits for the answer");

    let failed = Input::Proven { round: *round, answer: Err(Failure::NoAnswer("cut".into())) };
    assert!(world.tell(1, failed).is_empty());
    let at = world.core.wake_at().unwrap();
    let errands = world.tell(at, Input::Timer);
    let [Errand::Prove { round, .. }] = errands[..] else { panic!("asked again: {errands:?}") };
    let expired = Expired { restored: true, resume: "d4".into(), fork: None };
    let gone = Refusal { expired: Some(expired), ..refusal(410, "cursor_expired") };
    world.tell(at, Input::Proven { round, answer: Err(Failure::Refused(gone)) });
    assert_eq!(world.saved, Some(fresh(None)), "begun anew");
    world.tell(at, Input::Met(Ok(identity(&[]))));
    let effects = world.core.handle(at, Input::FeedStands(Ok(Standing::default())));
    assert_eq!(effects, [Effect::OpenStream { cursor: Some("d4".into()) }]);
}

#[test]
fn an_expired_cursor_begins_one_and_the_tail_runs_beside_it() {
    let mut world = World::new(None);
    world.start();
    world.tell(1, Input::StreamEnded { reason: "cut".into() });
    let at = world.core.wake_at().unwrap();
    world.tell(at, Input::Timer);
    world.tell(at, Input::Met(Ok(identity(&[]))));
    world.tell(at, Input::FeedStands(Ok(Standing::default())));
    let expired = Expired { restored: false, resume: "c40".into(), fork: None };
    let gone = Refusal { expired: Some(expired), ..refusal(410, "cursor_expired") };
    world.tell(at, Input::StreamRefused(gone));
    assert!(world.saved.is_some());
    world.tell(at, Input::Met(Ok(identity(&[]))));
    let effects = world.core.handle(at, Input::FeedStands(Ok(Standing::default())));
    assert_eq!(effects, [Effect::OpenStream { cursor: Some("c40".into()) }]);
    let errands = world.tell(at, Input::StreamOpened);
    assert!(errands.iter().any(|errand| matches!(errand, Errand::Recover { .. })), "{errands:?}");
    assert_eq!(world.shown.last(), Some(&Phase::Reconciling));
}

#[test]
fn answers_of_one_that_was_begun_anew_count_no_more() {
    let mut world = World::new(Some(fresh(None)));
    let errands = world.start();
    let Some(Errand::Recover { round, .. }) = errands.first().cloned() else { panic!("{errands:?}") };
    world.tell(1, Input::Recovering(Some(fresh(None))));
    let found = Found { as_of: 3, ..Found::default() };
    assert!(world.tell(1, Input::Found { round, answer: Ok(found) }).is_empty());
    assert_eq!(world.saved, Some(fresh(None)));
}

#[test]
fn too_many_deletions_wait_for_a_person_across_restarts() {
    let mut world = World::new(Some(fresh(None)));
    world.too_many = true;
    let errands = world.start();
    let scopes = world.go_on(errands, usize::MAX);
    assert!(scopes.is_empty());
    let round = 1;
    world.tell(2, Input::Scopes { round, answer: Ok(identity(&["rooms:read"])) });
    let question = world.saved.as_ref().and_then(|saved| saved.question.clone()).unwrap();
    assert!(question.contains("60 of 80 rooms"), "{question}");
    assert_eq!(world.shown.last(), Some(&Phase::Blocked));

    world.core = Core::new(Until::Stopped, 8);
    assert!(world.start().is_empty());
    assert_eq!(world.shown.last(), Some(&Phase::Blocked));
    let proof = world.tell(3, Input::Wished { paused: false, reconcile: Some(true), hurry: false });
    world.go_on(proof, usize::MAX);
    assert_eq!((world.saved.as_ref(), world.shown.last()), (None, Some(&Phase::Live)));

    let mut once = World::new(Some(Recovery { question: Some(question.clone()), ..fresh(None) }));
    once.core = Core::new(Until::Current, 8);
    once.start();
    assert_eq!(once.finished, Some(Verdict::Asks(question)));
}

#[test]
fn an_answer_that_was_given_before_a_start_is_heard_before_it_ends() {
    let asked = Recovery { question: Some("60 of 80".into()), ..fresh(None) };
    let mut world = World::new(Some(asked));
    world.core = Core::new(Until::Current, 8);
    let recovery = world.saved.clone();
    let home = Some("home".into());
    world.tell(0, Input::Started { cursor: Some("c1".into()), backfilled: true, home, recovery, paused: false });
    world.tell(0, Input::Wished { paused: false, reconcile: Some(true), hurry: false });
    assert_eq!(world.finished, None);
    assert!(world.saved.is_some_and(|saved| saved.accepted && saved.question.is_none()));
}

#[test]
fn what_the_key_may_not_read_is_not_gone() {
    let mut world = World::new(Some(fresh(None)));
    world.too_many = true;
    let errands = world.start();
    world.go_on(errands, usize::MAX);
    world.tell(2, Input::Scopes { round: 1, answer: Ok(identity(&["tasks:read"])) });
    assert_eq!(world.shown.last(), Some(&Phase::NeedsKey));
    assert_eq!(world.saved.as_ref().map(|saved| saved.question.is_none()), Some(true));
    world.too_many = false;
    world.tell(30_000, Input::Contact);
    let at = world.core.wake_at().unwrap();
    let errands = world.tell(at, Input::Timer);
    world.go_on(errands, usize::MAX);
    assert_eq!((world.saved.as_ref(), world.shown.last()), (None, Some(&Phase::Live)));
}

#[test]
fn a_refused_list_waits_and_a_refusal_says_how_long() {
    let mut world = World::new(Some(fresh(None)));
    let errands = world.start();
    let Some(Errand::Recover { round, question }) = errands.first().cloned() else { panic!("{errands:?}") };
    let limited = Refusal { retry_after: Some(30_000), ..refusal(429, "rate_limited") };
    assert!(world.tell(1, Input::Found { round, answer: Err(Failure::Refused(limited)) }).is_empty());
    assert!(world.core.wake_at().unwrap() >= 30_001);
    let again = world.tell(40_000, Input::Timer);
    assert_eq!(again, [Errand::Recover { round, question }]);
    let narrowed = refusal(403, "insufficient_scope");
    world.tell(40_001, Input::Found { round, answer: Err(Failure::Refused(narrowed)) });
    assert_eq!((world.shown.last(), world.deleted), (Some(&Phase::NeedsKey), 0));
    world.tell(80_000, Input::Contact);
    assert!(world.core.wake_at().unwrap() >= 100_000);
}

#[test]
fn a_list_that_is_refused_time_after_time_is_the_reason_that_is_given() {
    let mut world = World::new(Some(fresh(None)));
    let asked = world.start();
    let [Errand::Recover { round, .. }] = asked[..] else { panic!("{asked:?}") };
    let reasons = |effects: Vec<Effect>| -> Vec<Option<String>> {
        let reason = |effect| match effect {
            Effect::Show { phase: Phase::Reconciling, reason, .. } | Effect::Apply { reason, .. } => Some(reason),
            _ => None,
        };
        effects.into_iter().filter_map(reason).collect()
    };
    let broken = Failure::Refused(refusal(500, "the list is broken"));
    let shown = reasons(world.core.handle(0, Input::Found { round, answer: Err(broken) }));
    let [Some(reason)] = &shown[..] else { panic!("{shown:?}") };
    assert!(reason.contains("the list is broken"), "{reason}");
    // The feed that comes meanwhile does not take it back.
    let heartbeat = Input::Frames(Stretch { cursor: Some("c9".into()), ..Stretch::default() });
    assert_eq!(reasons(world.core.handle(1, heartbeat)), shown);
    let at = world.core.wake_at().unwrap();
    let again = world.tell(at, Input::Timer);
    let [Errand::Recover { round, .. }] = again[..] else { panic!("{again:?}") };
    let lost = Failure::NoAnswer("cut".into());
    let shown = reasons(world.core.handle(at, Input::Found { round, answer: Err(lost) }));
    assert!(matches!(&shown[..], [Some(reason)] if reason.contains("cut")), "{shown:?}");
    let at = world.core.wake_at().unwrap();
    let again = world.tell(at, Input::Timer);
    let [Errand::Recover { round, ref question }] = again[..] else { panic!("{again:?}") };
    let found = world.answer(question);
    assert_eq!(reasons(world.core.handle(at, Input::Found { round, answer: Ok(found) })), [None]);
}

#[test]
fn a_list_whose_cursor_is_unknown_begins_again() {
    let step = Step::Ids { kind: Kind::Room, cursor: Some("2".into()), as_of: 4 };
    let mut world = World::new(Some(Recovery { step, ..fresh(None) }));
    let errands = world.start();
    let Some(Errand::Recover { round, .. }) = errands.first().cloned() else { panic!("{errands:?}") };
    let unknown = Failure::Refused(refusal(400, "invalid_cursor"));
    world.tell(1, Input::Found { round, answer: Err(unknown) });
    let at = world.core.wake_at().unwrap();
    let errands = world.tell(at, Input::Timer);
    let question = Question::Ids { kind: Kind::Room, cursor: None };
    assert_eq!(errands, [Errand::Recover { round, question }]);
}

#[test]
fn a_list_that_never_gets_beyond_its_first_page_is_begun_less_and_less_often() {
    let mut world = World::new(Some(fresh(None)));
    let mut errands = world.start();
    let (mut now, mut begun) = (0, 0);
    while now < 120_000 {
        while let [Errand::Recover { round, question }] = &errands[..] {
            let (round, question) = (*round, question.clone());
            begun += u32::from(question == Question::Ids { kind: Kind::Room, cursor: None });
            let answer = match &question {
                Question::Ids { cursor: Some(_), .. } => Err(Failure::Refused(refusal(400, "invalid_cursor"))),
                question => Ok(world.answer(question)),
            };
            errands = world.tell(now, Input::Found { round, answer });
        }
        world.tell(now, Input::Contact);
        now = world.core.wake_at().unwrap();
        errands = world.tell(now, Input::Timer);
        errands.retain(|errand| matches!(errand, Errand::Recover { .. }));
    }
    assert!((3..30).contains(&begun), "{begun}");
}

#[test]
fn a_collection_that_was_never_walked_is_walked_before_it_is_swept() {
    let kind = Kind::Room;
    let mut world = World::new(Some(Recovery { step: Step::Sweep { kind, as_of: 4 }, ..fresh(None) }));
    world.not_walked = true;
    let errands = world.start();
    let question = Question::Ids { kind, cursor: None };
    assert!(matches!(&errands[..], [Errand::Recover { question: asked, .. }] if *asked == question), "{errands:?}");
    world.go_on(errands, usize::MAX);
    assert_eq!(world.saved, None);
}

#[test]
fn others_who_ask_with_the_same_key_are_left_reads() {
    let mut world = World::new(Some(fresh(None)));
    let many: Vec<&'static str> = (0..2000).map(|n| &*Box::leak(n.to_string().into_boxed_str())).collect();
    world.rooms = many;
    let errands = world.start();
    world.go_on(errands, usize::MAX);
    assert_eq!(world.asked.len(), 240);
    world.tell(30_000, Input::Contact);
    let at = world.core.wake_at().unwrap();
    assert!(at >= 60_000, "{at}");
}

/// A recovery that has asked for the profile, with the feed at 9; the profile is answered as it was at 12.
fn ahead() -> (World, u64, Found) {
    let mut world = World::new(Some(fresh(None)));
    let errands = world.start();
    let [Errand::Recover { round, question: Question::Property }] = errands[..] else { panic!("{errands:?}") };
    let found = Found { as_of: 12, ..Found::default() };
    let asked = world.tell(1, Input::Found { round, answer: Ok(found.clone()) });
    assert!(asked.is_empty(), "{asked:?}");
    assert_eq!(world.saved, Some(fresh(None)), "nothing is written");
    (world, round, found)
}

#[test]
fn what_was_read_beyond_the_feed_waits_for_it() {
    let (mut world, ..) = ahead();
    let up_to = |head| Input::Frames(Stretch { ready: Some(head), ..Stretch::default() });
    assert!(world.tell(2, up_to(11)).is_empty());
    let asked = world.tell(3, up_to(12));
    assert!(matches!(asked[..], [Errand::Recover { question: Question::Changes { .. }, .. }]), "{asked:?}");
    assert_ne!(world.saved, Some(fresh(None)));
}

#[test]
fn what_was_read_beyond_the_feed_is_read_again_where_the_feed_leaps() {
    let (mut world, ..) = ahead();
    world.leaps = true;
    let asked = world.tell(2, Input::Frames(Stretch { ready: Some(1_000_012), ..Stretch::default() }));
    assert!(matches!(asked[..], [Errand::Recover { question: Question::Property, .. }]), "{asked:?}");
    assert_eq!(world.saved, Some(fresh(None)));
}

#[test]
fn what_was_read_beyond_the_feed_is_read_again_in_the_next_contact() {
    let (mut world, round, found) = ahead();
    world.tell(2, Input::StreamEnded { reason: "cut".into() });
    let at = world.core.wake_at().unwrap();
    let mut asked = world.tell(at, Input::Timer);
    // Meanwhile the server may have been put back, and have numbered as far again.
    for input in [
        Input::Met(Ok(identity(&[]))),
        Input::FeedStands(Ok(Standing::default())),
        Input::StreamOpened,
        Input::Frames(Stretch { ready: Some(14), ..Stretch::default() }),
    ] {
        asked.extend(world.tell(at, input));
    }
    let recovers = |errand: &&Errand| matches!(errand, Errand::Recover { .. });
    let again: Vec<_> = asked.iter().filter(recovers).collect();
    assert!(matches!(again[..], [Errand::Recover { question: Question::Property, .. }]), "{asked:?}");
    assert!(world.tell(at, Input::Found { round, answer: Ok(found) }).is_empty(), "its answer of before says nothing");
    assert_eq!(world.saved, Some(fresh(None)));
}

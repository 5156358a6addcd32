//! The push alone: the table of states, and which requests may be in flight.

mod bulk;
mod retry;

use hearth_contract::schema::Kind;
use serde_json::json;

use super::super::backoff::Backoff;
use super::super::clock::Millis;
use super::super::outcome::{EditAnswers, Failure, Refusal};
use super::super::tests::{arrows, calls, completed, key_refused, one, refusal, sent};
use super::*;
use crate::model::WriteOutcome;

/// A push in contact.
struct Scene {
    push: Push,
    backoff: Backoff,
}

impl Scene {
    /// Gives an input, and sends what is due. Returns the actions.
    fn handle(&mut self, now: Millis, input: Input) -> Vec<Action> {
        let mut turn = Turn::new(now, self.backoff.clone());
        self.push.handle(&mut turn, input, true);
        self.push.send_due(&mut turn, true);
        self.backoff = turn.backoff;
        turn.actions
    }

    /// A contact begins, with these limits.
    fn contact(&mut self, now: Millis, limits: Option<Limits>) {
        heard(&mut self.push, &mut Turn::new(now, self.backoff.clone()), Fact::ContactBegan(limits));
    }

    /// Sends what is due.
    fn timer(&mut self, now: Millis) -> Vec<Action> {
        let mut turn = Turn::new(now, self.backoff.clone());
        self.push.send_due(&mut turn, true);
        turn.actions
    }

    fn wake_at(&self) -> Millis {
        self.push.wait.expect("a timer").until
    }
}

/// A push with these edits in flight, as far as allowed.
fn sending(edits: &[i64]) -> Scene {
    let mut scene = Scene { push: Push::default(), backoff: Backoff::new(7) };
    scene.contact(0, None);
    scene.handle(0, planned(edits));
    scene
}

/// A bulk call that was sent before.
fn frozen(edits: &[i64]) -> ReadyEdits {
    ReadyEdits { edits: edits.to_vec(), kind: Kind::Task, is_frozen: true, bytes: 1000 }
}

fn plan_of(ready: Vec<ReadyEdits>) -> Input {
    Input::Planned { ready, has_open_edits: true }
}

fn planned(edits: &[i64]) -> Input {
    plan_of(edits.iter().copied().map(one).collect())
}

/// Edits of one kind.
fn alike(edits: std::ops::Range<i64>) -> Input {
    plan_of(edits.map(|edit| ReadyEdits { kind: Kind::Task, ..one(edit) }).collect())
}

/// The answer may be of a discarded history.
fn stale(edit: i64) -> Input {
    let answer = Err(Failure::NoAnswer("late".into()));
    Input::Completed { sent: vec![edit], carried: vec![edit], answer, is_stale: true }
}

fn accepted(edit: i64) -> Input {
    completed(&[edit], Ok(vec![(edit, Ok(Some(edit)))]))
}

/// The server accepts all edits of a bulk call.
fn all_accepted(edits: &[i64]) -> Input {
    completed(edits, Ok(edits.iter().map(|edit| (*edit, Ok(Some(*edit)))).collect()))
}

/// The server refuses one edit.
fn refused(edit: i64, refusal: Refusal) -> Input {
    completed(&[edit], Ok(vec![(edit, Err(refusal))]))
}

fn no_answer(edits: &[i64]) -> Input {
    completed(edits, Err(Failure::NoAnswer("cut".into())))
}

/// A refusal by a proxy.
fn page() -> Result<EditAnswers, Failure> {
    Err(Failure::Refused(Refusal { message: "something between".into(), ..refusal(403, "") }))
}

/// The outcomes saved.
fn outcomes(actions: &[Action]) -> Vec<(i64, WriteOutcome)> {
    let saved = |action: &Action| match action {
        Action::SaveOutcomes { outcomes } => outcomes.clone(),
        _ => Vec::new(),
    };
    actions.iter().flat_map(saved).collect()
}

/// Where edit 1 is.
fn state_of(push: &Push, now: Millis) -> &'static str {
    let has = |ready: &ReadyEdits| ready.edits.contains(&1);
    if push.in_flight.iter().any(has) {
        "in flight"
    } else if push.is_fetching {
        "fetching"
    } else if !push.id_collisions.is_empty() {
        "collided"
    } else if !push.ready.iter().any(has) {
        "unknown"
    } else if push.choose(now).is_ok() {
        "ready"
    } else {
        "delayed"
    }
}

fn give(push: &mut Push, turn: &mut Turn, input: &str) {
    let fetched = |existing| Input::Fetched { edit: 1, existing };
    let applied = |affects_edits, confirms_edits| Input::FeedApplied { affects_edits, confirms_edits };
    let input = match input {
        "send" => return push.send_due(turn, true),
        "send later" => {
            turn.now += 120_000;
            return push.send_due(turn, true);
        }
        "started" => Input::Started,
        "contact" => return heard(push, turn, Fact::ContactBegan(None)),
        "retry now" => Input::RetryNow,
        "edits changed" => Input::EditsChanged,
        "edits affected" => applied(true, false),
        "edits confirmed" => applied(false, true),
        "feed applied" => applied(false, false),
        "planned" => planned(&[1]),
        "settled" => planned(&[]),
        "accepted" => accepted(1),
        "rejected" => refused(1, refusal(422, "validation_failed")),
        "path refused" => refused(1, refusal(404, "route_not_found")),
        "value taken" => {
            let problem = json!({ "details": { "field": "import_ref" } });
            refused(1, Refusal { problem, ..refusal(409, "already_exists") })
        }
        "record deleted" => refused(1, refusal(404, "not_found")),
        "outdated" => refused(1, refusal(412, "precondition_failed")),
        "id taken" => refused(1, refusal(409, "already_exists")),
        "not sent" => completed(&[1], Ok(Vec::new())),
        "stale" => stale(1),
        "no answer" => no_answer(&[1]),
        "server error" => refused(1, refusal(500, "internal_error")),
        "refused by proxy" => completed(&[1], page()),
        "rate limited" => refused(1, refusal(429, "rate_limited")),
        "unavailable" => refused(1, refusal(503, "unavailable")),
        "key refused" => key_refused(1, "plan_required"),
        "scope missing" => key_refused(1, "insufficient_scope"),
        "same values" => fetched(Ok(Some(4))),
        "other values" => fetched(Ok(None)),
        "not fetched" => fetched(Err(Failure::NoAnswer("cut".into()))),
        input => panic!("{input}"),
    };
    push.handle(turn, input, true);
    push.is_planning = false;
}

/// Tells the push a fact. A plan that is under way would hide the next one, so it is over at once.
fn heard(push: &mut Push, turn: &mut Turn, fact: Fact) {
    push.hear(turn, &fact);
    push.is_planning = false;
}

#[test]
fn edits_follow_the_table() {
    let unknown = |state: &str| (state == "unknown").then(|| sending(&[]).push);
    arrows::walk(include_str!("../push.rs"), unknown, give, state_of);
}

#[test]
fn records_are_fetched_one_at_a_time() {
    let mut scene = sending(&[1, 2]);
    let fetched = |actions: &[Action]| {
        actions.iter().any(|action| matches!(action, Action::Request(Request::FetchRecord { .. })))
    };
    assert!(fetched(&scene.handle(1, refused(1, refusal(409, "already_exists")))));
    assert!(!fetched(&scene.handle(1, refused(2, refusal(409, "already_exists")))));
    assert!(sent(&scene.handle(1, planned(&[1, 2]))).is_empty(), "the records are not known yet");
    assert!(fetched(&scene.handle(2, Input::Fetched { edit: 1, existing: Ok(None) })));
}

#[test]
fn taken_value_is_rejected_with_the_servers_sentence() {
    let problem =
        json!({ "type": "already_exists", "details": { "id": "a", "deleted": false, "field": "import_ref" } });
    let message = "The room a has the import_ref r1.".to_owned();
    let taken = Refusal { message: message.clone(), problem: problem.clone(), ..refusal(409, "already_exists") };
    let actions = sending(&[1]).handle(1, refused(1, taken));
    assert_eq!(outcomes(&actions), [(1, WriteOutcome::Rejected { reason: message, problem })]);
}

#[test]
fn missing_scope_affects_one_collection() {
    let mut scene = sending(&[1, 2, 3]);
    assert_eq!(sent(&scene.handle(1, key_refused(1, "insufficient_scope"))), [3]);
    scene.handle(1, accepted(2));
    scene.handle(1, accepted(3));
    assert!(scene.push.key_refusal.is_some(), "another collection proves nothing");
    // Another edit of the collection waits too.
    assert!(sent(&scene.handle(2, planned(&[1, 4]))).is_empty());
    let at = scene.wake_at();
    assert_eq!(sent(&scene.timer(at)), [1, 4]);
    scene.handle(at, key_refused(1, "insufficient_scope"));
    scene.handle(at, accepted(4));
    assert_eq!(scene.push.key_refusal, None, "the scope is back");
    scene.handle(at, key_refused(1, "insufficient_scope"));
    scene.handle(at, planned(&[3]));
    assert_eq!(scene.push.key_refusal, None, "no edit needs the scope");
}

#[test]
fn refused_key_holds_all_edits() {
    let mut scene = sending(&[1, 2, 3]);
    assert!(sent(&scene.handle(1, key_refused(1, "plan_required"))).is_empty());
    assert_eq!((scene.wake_at(), scene.push.key_refusal.as_deref()), (60_001, Some("plan_required")));
    assert_eq!(sent(&scene.timer(60_001)), [3]);
}

//! The push: which edits are sent together and when, and what responses mean.

mod bulk;
mod refused_key;
mod retry;

use super::*;
use crate::model::WriteOutcome;

/// Edits of one kind.
fn alike(edits: std::ops::Range<i64>) -> Event {
    let one = |edit| ReadyEdits { edits: vec![edit], kind: Kind::Task, is_frozen: false, bytes: 100 };
    Event::EditsPlanned { ready: edits.map(one).collect(), has_open_edits: true }
}

fn refused(edit: i64, refusal: Refusal) -> Event {
    edit_answered(edit, EditResponse::Refused(refusal))
}

/// The server refuses the key for an edit.
fn key_refused(edit: i64, kind: &str) -> Event {
    Event::SendCompleted { sent: vec![edit], carried: vec![edit], outcome: SendOutcome::Refused(refusal(403, kind)) }
}

fn no_answer(edits: &[i64]) -> Event {
    let outcome = SendOutcome::NoAnswer { reason: "cut".into() };
    Event::SendCompleted { sent: edits.to_vec(), carried: edits.to_vec(), outcome }
}

/// The outcomes saved.
fn outcomes(actions: &[Action]) -> Vec<(i64, WriteOutcome)> {
    let outcomes = |e: &Action| if let Action::SaveOutcomes { outcomes } = e { outcomes.clone() } else { Vec::new() };
    actions.iter().flat_map(outcomes).collect()
}

/// An open core with these edits in flight, as far as allowed.
fn sending(edits: &[i64]) -> Core {
    let mut core = opened(Until::Stopped);
    core.handle(0, Event::EditsChanged);
    core.handle(0, planned(edits, true));
    core
}

#[test]
fn push_waits_for_an_accepted_cursor() {
    let mut core = started(Until::Stopped);
    let actions = core.handle(0, planned(&[1, 2, 3], true));
    assert!(sent(&actions).is_empty());
    let actions = core.handle(1, Event::StreamOpened);
    assert_eq!(sent(&actions), [1, 2]);
    assert!(sent(&core.handle(1, planned(&[1, 2, 3], true))).is_empty(), "two at a time, and no edit twice");
    assert_eq!(sent(&core.handle(2, accepted(2, 5))), [3]);
}

#[test]
fn lost_answer_is_retried_on_contact() {
    let mut core = sending(&[1]);
    core.handle(1, ready(9));
    let actions = core.handle(5, no_answer(&[1]));
    assert!(matches!(outcomes(&actions)[..], [(1, WriteOutcome::Later { .. })]), "{actions:?}");
    let frozen = ReadyEdits { edits: vec![1], kind: Kind::Task, is_frozen: true, bytes: 100 };
    assert!(sent(&core.handle(5, Event::EditsPlanned { ready: vec![frozen], has_open_edits: true })).is_empty());
    core.handle(6, Event::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    assert!(sent(&core.handle(at, Event::Timer)).is_empty());
    greet(&mut core, at);
    let actions = core.handle(at, Event::StreamOpened);
    assert!(sent(&actions).is_empty(), "the plan decides whether to repeat");
    assert!(actions.contains(&Action::PlanEdits));
    assert_eq!(sent(&core.handle(at, planned(&[1], true))), [1], "the pause has ended");
}

#[test]
fn rejected_edit_does_not_stop_others() {
    let mut core = sending(&[1, 2, 3]);
    let actions = core.handle(1, refused(1, refusal(422, "validation_failed")));
    assert!(matches!(outcomes(&actions)[..], [(1, WriteOutcome::Rejected { .. })]));
    assert_eq!(sent(&actions), [3]);
}

#[test]
fn only_not_found_is_a_deleted_record() {
    let ends = |kind: &str| outcomes(&sending(&[1]).handle(1, refused(1, refusal(404, kind)))).remove(0).1;
    assert!(matches!(ends("not_found"), WriteOutcome::Conflict { deleted: true, .. }));
    for of_the_path in ["route_not_found", "not_here", ""] {
        assert!(matches!(ends(of_the_path), WriteOutcome::Rejected { .. }), "{of_the_path}");
    }
}

#[test]
fn stale_answer_causes_no_pause() {
    let mut core = sending(&[1, 2, 3]);
    let outcome = SendOutcome::Stale { reason: "late".into() };
    core.handle(5, Event::SendCompleted { sent: vec![1], carried: vec![1], outcome });
    assert_eq!(sent(&core.handle(5, planned(&[1, 2, 3], true))), [] as [i64; 0], "two at a time: 2 and 3");
    assert_eq!(sent(&core.handle(5, accepted(2, 5))), [1]);
}

#[test]
fn id_collision_fetches_the_record() {
    let mut core = sending(&[1, 2]);
    let taken = || refusal(409, "already_exists");
    let actions = core.handle(1, refused(1, taken()));
    assert!(actions.contains(&Action::Request(Request::FetchRecord { edit: 1 })), "{actions:?}");
    assert!(sent(&core.handle(1, planned(&[1, 2], true))).is_empty(), "the record is being fetched");
    let actions = core.handle(1, Event::RecordFetched { edit: 1, existing: ExistingRecord::SameValues { rev: 4 } });
    assert_eq!(outcomes(&actions), [(1, WriteOutcome::Exists { rev: 4 })]);
    core.handle(1, refused(2, taken()));
    let actions = core.handle(1, Event::RecordFetched { edit: 2, existing: ExistingRecord::Different });
    assert!(matches!(outcomes(&actions)[..], [(2, WriteOutcome::Conflict { .. })]), "{actions:?}");
}

#[test]
fn taken_value_is_rejected_with_the_servers_sentence() {
    let mut core = sending(&[1]);
    let details = json!({ "id": "a", "deleted": false, "field": "import_ref" });
    let problem = json!({ "type": "already_exists", "details": details });
    let taken = Refusal {
        message: "The room a has the import_ref r1.".into(),
        problem: problem.clone(),
        ..refusal(409, "already_exists")
    };
    let actions = core.handle(1, refused(1, taken));
    let reason = "The room a has the import_ref r1.".to_owned();
    assert_eq!(outcomes(&actions), [(1, WriteOutcome::Rejected { reason, problem })]);
    assert!(!actions.iter().any(|action| matches!(action, Action::Request(_))), "no record is fetched: {actions:?}");
}

#[test]
fn id_collision_is_forgotten_on_contact() {
    let mut core = sending(&[1, 2]);
    for edit in [1, 2] {
        core.handle(1, refused(edit, refusal(409, "already_exists")));
    }
    core.handle(1, ready(9));
    core.handle(2, Event::StreamEnded { reason: "cut".into() });
    let at = core.wake_at().unwrap();
    core.handle(at, Event::Timer);
    greet(&mut core, at);
    core.handle(at, Event::StreamOpened);
    assert_eq!(sent(&core.handle(at, planned(&[1, 2], true))), [2], "the create is repeated");
    let nothing = ExistingRecord::Unknown(Failure::NoAnswer("too late".into()));
    let actions = core.handle(at, Event::RecordFetched { edit: 1, existing: nothing });
    assert!(!actions.contains(&Action::Request(Request::FetchRecord { edit: 2 })), "{actions:?}");
}

#[test]
fn outdated_edit_waits_for_the_feed() {
    let mut core = sending(&[1]);
    let actions = core.handle(1, refused(1, refusal(412, "precondition_failed")));
    assert_eq!(outcomes(&actions), [(1, WriteOutcome::PreconditionFailed)]);
    core.handle(1, planned(&[], true));
    assert_eq!(core.wake_at(), core.transport_due_at(), "only the stream needs a timer");
    let actions = core.handle(2, batch_applied(true, false));
    assert!(actions.contains(&Action::PlanEdits));
    assert_eq!(sent(&core.handle(2, planned(&[1], true))), [1]);
}

#[test]
fn confirmed_edit_is_planned_after_its_answer() {
    let mut core = sending(&[1]);
    let found = || batch_applied(false, true);
    let actions = core.handle(1, found());
    assert!(!actions.contains(&Action::PlanEdits), "{actions:?}");
    let actions = core.handle(2, accepted(1, 9));
    assert!(actions.contains(&Action::PlanEdits), "edits behind the edit may be sent");
    core.handle(2, planned(&[], true));
    // With no answer awaited, the plan follows at once.
    assert!(core.handle(3, found()).contains(&Action::PlanEdits));
}

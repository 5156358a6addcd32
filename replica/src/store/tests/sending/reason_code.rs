//! The word that stands beside the sentence of a delayed or parked edit (`edits.reason_code`).

use super::*;
use crate::model::ReasonCode;

const UPDATE: &str = "UPDATE tasks SET title = 'Mine'";
const DELETE: &str = "DELETE FROM tasks";

/// The state of the first edit and its code.
fn state_and_code(scene: &Scene) -> (EditState, Option<ReasonCode>) {
    scene.tuples("SELECT state, reason_code FROM edits ORDER BY id").remove(0)
}

fn answered(outcome: WriteOutcome) -> (EditState, Option<ReasonCode>) {
    let mut scene = Scene::edited(UPDATE);
    scene.attempt(1, outcome);
    assert_eq!(scene.one("SELECT reason IS NULL FROM edits"), "0");
    state_and_code(&scene)
}

#[test]
fn reason_code_follows_the_response() {
    let later = |code| WriteOutcome::Later { pause: None, code, reason: "later".to_owned() };
    let rejected = |problem| WriteOutcome::Rejected { reason: "no".to_owned(), problem };
    let conflict = |gone| WriteOutcome::Conflict {
        reason: "no".to_owned(),
        problem: json!({ "type": "already_exists" }),
        deleted: gone,
    };
    let faults = |codes: &[&str]| {
        let fields: Vec<Value> = codes.iter().map(|code| json!({ "field": "room_id", "code": code })).collect();
        json!({ "type": "validation_failed", "details": { "fields": fields } })
    };
    for (outcome, state, code) in [
        (later(Some(ReasonCode::Unreachable)), EditState::Waiting, Some(ReasonCode::Unreachable)),
        (later(Some(ReasonCode::RateLimited)), EditState::Waiting, Some(ReasonCode::RateLimited)),
        (later(Some(ReasonCode::ServerError)), EditState::Waiting, Some(ReasonCode::ServerError)),
        (later(None), EditState::Waiting, None),
        (WriteOutcome::KeyRefused { reason: "no".to_owned() }, EditState::Waiting, None),
        (WriteOutcome::PreconditionFailed, EditState::Waiting, None),
        (WriteOutcome::Exists { rev: 9 }, EditState::Sent, None),
        (rejected(faults(&["too_long"])), EditState::Rejected, Some(ReasonCode::InvalidValue)),
        (rejected(faults(&["not_found", "too_long"])), EditState::Rejected, Some(ReasonCode::InvalidValue)),
        (rejected(faults(&["not_found"])), EditState::Rejected, Some(ReasonCode::MissingReference)),
        (rejected(json!({ "type": "payload_too_large" })), EditState::Rejected, Some(ReasonCode::TooLarge)),
        (rejected(json!({ "type": "method_not_allowed" })), EditState::Rejected, Some(ReasonCode::Refused)),
        (conflict(true), EditState::Conflict, Some(ReasonCode::DeletedThere)),
        (conflict(false), EditState::Conflict, Some(ReasonCode::ExistsThere)),
    ] {
        assert_eq!(answered(outcome.clone()), (state, code), "{outcome:?}");
    }
}

#[test]
fn reason_code_follows_the_feed() {
    let theirs = task(7, "Theirs", "low");
    for (sql, event, code) in [
        (UPDATE, theirs.clone(), ReasonCode::ChangedOnBothSides),
        (DELETE, theirs, ReasonCode::ChangedThere),
        (UPDATE, deleted(7), ReasonCode::DeletedThere),
    ] {
        let mut scene = Scene::edited(sql);
        scene.hear(vec![event]);
        scene.freeze(&[vec![1]], ConflictPolicy::Ask);
        assert_eq!(state_and_code(&scene), (EditState::Conflict, Some(code)), "{sql}");
    }
}

#[test]
fn reason_code_of_a_used_id_is_exists_there() {
    let mut scene = Scene::new();
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
    scene.hear(vec![task(5, "Paint", "low")]);
    assert!(scene.freeze(&[vec![1]], ConflictPolicy::Ask).is_none());
    assert_eq!(state_and_code(&scene), (EditState::Conflict, Some(ReasonCode::ExistsThere)));
}

#[test]
fn reason_code_of_blocked_edit_is_dependency() {
    let mut scene = Scene::edited(UPDATE);
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.attempt(1, rejected());
    scene.plan();
    let blocked =
        "SELECT state, reason_code, blocked_by FROM edits JOIN _outbox ON edit_id = id WHERE blocked_by IS NOT NULL";
    assert_eq!(scene.row(blocked), json!(["blocked", "depends_on_another", 1]));
    crate::store::edits::decide::retry(&mut scene.db, 1).unwrap();
    assert_eq!(
        scene.one("SELECT count(reason_code) + count(reason) + (SELECT count(blocked_by) FROM _outbox) FROM edits"),
        "0"
    );
}

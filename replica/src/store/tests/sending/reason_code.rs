//! The word that stands beside the sentence of a delayed or parked edit (`edits.reason_code`).

use super::*;
use crate::model::{Method, ReasonCode};

/// The task at revision 5, with one local edit.
fn edited(sql: &str) -> Scene {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does(sql);
    scene
}

const UPDATE: &str = "UPDATE tasks SET title = 'Mine'";
const DELETE: &str = "DELETE FROM tasks";

/// The state of the first edit with its code, as a script reads them.
fn state_and_code(scene: &Scene) -> (String, String) {
    (scene.one("SELECT state FROM edits"), scene.one("SELECT reason_code FROM edits"))
}

fn answered(outcome: WriteOutcome) -> (String, String) {
    let mut scene = edited(UPDATE);
    scene.send(1);
    scene.answer(1, outcome);
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
        (later(Some(ReasonCode::Unreachable)), "waiting", "unreachable"),
        (later(Some(ReasonCode::RateLimited)), "waiting", "rate_limited"),
        (later(Some(ReasonCode::ServerError)), "waiting", "server_error"),
        (later(None), "waiting", "null"),
        (WriteOutcome::KeyRefused { reason: "no".to_owned() }, "waiting", "null"),
        (WriteOutcome::PreconditionFailed, "waiting", "null"),
        (WriteOutcome::Exists { rev: 9 }, "sent", "null"),
        (rejected(faults(&["too_long"])), "rejected", "invalid_value"),
        (rejected(faults(&["not_found", "too_long"])), "rejected", "invalid_value"),
        (rejected(faults(&["not_found"])), "rejected", "missing_reference"),
        (rejected(json!({ "type": "payload_too_large" })), "rejected", "too_large"),
        (rejected(json!({ "type": "method_not_allowed" })), "rejected", "refused"),
        (conflict(true), "conflict", "deleted_there"),
        (conflict(false), "conflict", "exists_there"),
    ] {
        assert_eq!(answered(outcome.clone()), (state.to_owned(), code.to_owned()), "{outcome:?}");
    }
}

#[test]
fn reason_code_follows_the_feed() {
    let theirs = task(7, "Theirs", "low");
    for (sql, event, code) in [
        (UPDATE, theirs.clone(), "changed_on_both_sides"),
        (DELETE, theirs, "changed_there"),
        (UPDATE, deleted(7), "deleted_there"),
    ] {
        let mut scene = edited(sql);
        scene.hear(vec![event]);
        scene.freeze(&[vec![1]], ConflictPolicy::Ask);
        assert_eq!(state_and_code(&scene), ("conflict".to_owned(), code.to_owned()), "{sql}");
    }
}

#[test]
fn reason_code_of_a_used_id_is_exists_there() {
    let mut scene = Scene::new();
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
    scene.hear(vec![task(5, "Paint", "low")]);
    assert!(scene.freeze(&[vec![1]], ConflictPolicy::Ask).is_none());
    assert_eq!(state_and_code(&scene), ("conflict".to_owned(), "exists_there".to_owned()));
}

#[test]
fn reason_code_of_a_blocked_edit_names_the_dependency() {
    let mut scene = edited(UPDATE);
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.send(1);
    scene
        .answer(1, WriteOutcome::Rejected { reason: "no".to_owned(), problem: json!({ "type": "validation_failed" }) });
    scene.plan();
    let blocked = "SELECT state || ' ' || reason_code || ' ' || by_edit FROM edits JOIN _blocked ON edit_id = id";
    assert_eq!(scene.one(blocked), "blocked depends_on_another 1");
    crate::store::edits::decide::retry(&mut scene.db, 1).unwrap();
    assert_eq!(
        scene.one("SELECT count(reason_code) + count(reason) + (SELECT count(*) FROM _blocked) FROM edits"),
        "0"
    );
}

#[test]
fn reason_code_of_a_method_is_its_conflict() {
    use crate::store::edits::reason::{field_conflict, is_field_conflict};
    for method in Method::ALL {
        assert!(is_field_conflict(field_conflict(*method, &["title"]).code()), "{method}");
    }
    let others = ReasonCode::ALL.iter().filter(|code| !is_field_conflict(Some(**code)));
    assert_eq!(others.count(), ReasonCode::ALL.len() - 2);
}

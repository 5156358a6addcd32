//! The word that stands beside the sentence of a delayed or parked edit (`edits.reason_code`).

use super::*;

const UPDATE: &str = "UPDATE tasks SET title = 'Mine'";

/// The state of the first edit and its code.
fn state_and_code(scene: &Scene) -> Value {
    scene.row("SELECT state, reason_code FROM edits WHERE id = 1")
}

fn answered(outcome: WriteOutcome) -> Value {
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
        (later(Some(ReasonCode::Unreachable)), "waiting", json!("unreachable")),
        (later(Some(ReasonCode::RateLimited)), "waiting", json!("rate_limited")),
        (later(Some(ReasonCode::ServerError)), "waiting", json!("server_error")),
        (later(None), "waiting", Value::Null),
        (WriteOutcome::KeyRefused { reason: "no".to_owned() }, "waiting", Value::Null),
        (WriteOutcome::PreconditionFailed, "waiting", Value::Null),
        (WriteOutcome::Exists { rev: 9 }, "sent", Value::Null),
        (rejected(faults(&["too_long"])), "rejected", json!("invalid_value")),
        (rejected(faults(&["not_found", "too_long"])), "rejected", json!("invalid_value")),
        (rejected(faults(&["not_found"])), "rejected", json!("missing_reference")),
        (rejected(json!({ "type": "payload_too_large" })), "rejected", json!("too_large")),
        (rejected(json!({ "type": "method_not_allowed" })), "rejected", json!("refused")),
        (conflict(true), "conflict", json!("deleted_there")),
        (conflict(false), "conflict", json!("exists_there")),
    ] {
        assert_eq!(answered(outcome.clone()), json!([state, code]), "{outcome:?}");
    }
}

#[test]
fn reason_code_of_a_used_id_is_exists_there() {
    let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
    scene.hear(task(5, "Paint", "low")).sends_nothing(1);
    assert_eq!(state_and_code(&scene), json!(["conflict", "exists_there"]));
}

#[test]
fn reason_code_of_blocked_edit_is_dependency() {
    let mut scene = Scene::edited(UPDATE);
    scene.does("UPDATE tasks SET priority = 'high'").reject(1);
    scene.plan();
    let blocked =
        "SELECT state, reason_code, blocked_by FROM edits JOIN _outbox ON edit_id = id WHERE blocked_by IS NOT NULL";
    scene.shows(blocked, json!(["blocked", "depends_on_another", 1]));
    scene.retry(1).unwrap();
    assert_eq!(
        scene.one("SELECT count(reason_code) + count(reason) + (SELECT count(blocked_by) FROM _outbox) FROM edits"),
        "0"
    );
}

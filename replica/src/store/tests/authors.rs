//! `updated_by`: who changed a record last on the server.

use super::*;
use crate::store::read::why::explain_record;

const SHOWN: &str = "SELECT title, updated_by, rev, extra FROM tasks";

#[test]
fn author_is_unknown_until_server_confirms() {
    let mut scene = Scene::written("INSERT INTO tasks (title) VALUES ('Paint')");
    scene.shows(SHOWN, json!(["Paint", null, null, null]));
    let id = scene.one("SELECT id FROM tasks");
    scene.send(1);
    let made = json!({ "title": "Paint", "priority": "medium", "status": "open" });
    scene.hear(with_key(event(5, "created", "task", &id, made), &scene.one("SELECT idempotency_key FROM edits")));
    scene.shows(SHOWN, json!(["Paint", "device 5", 5, null]));
}

#[test]
fn author_follows_server_under_local_edit() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
    assert_eq!(scene.row(SHOWN), json!(["Mine", "device 5", 5, null]), "the edit is not on the server");
    scene.hear(task(6, "Paint", "high")).shows(SHOWN, json!(["Mine", "device 6", 6, null]));
    let why = explain_record(&scene.db, Kind::Task, TASK).unwrap().unwrap();
    assert_eq!((why.rev, why.updated_by.as_deref()), (Some(6), Some("device 6")));
    // Equal values of another author are no edit and no conflict.
    scene.hear(task(7, "Paint", "high")).shows(SHOWN, json!(["Mine", "device 7", 7, null]));
    assert_eq!(scene.states(), "waiting");
}

#[test]
fn record_of_older_server_has_no_author() {
    let mut scene = Scene::new();
    let mut event = task(5, "Paint", "low");
    event.payload.as_mut().unwrap().remove("updated_by");
    scene.hear(event).shows(SHOWN, json!(["Paint", null, 5, null]));
}

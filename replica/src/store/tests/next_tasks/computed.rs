//! The columns of a task that follow from others.

use super::*;

#[test]
fn computed_columns_follow_every_statement() {
    let mut scene = Scene::new();
    let row = "SELECT status, completed_at, recurrence_anchor FROM tasks";
    for (text, expected) in [
        (
            "INSERT INTO tasks (title, status, completed_at) VALUES ('a', 'done', '2026-01-05')",
            json!(["done", "2026-01-05", null]),
        ),
        ("UPDATE tasks SET notes = 'x'", json!(["done", "2026-01-05", null])),
        ("UPDATE tasks SET status = 'open', due_on = '2026-01-31'", json!(["open", null, null])),
        ("UPDATE tasks SET recurrence = 'monthly'", json!(["open", null, "2026-01-31"])),
        ("UPDATE tasks SET due_on = '2026-03-01', title = 'b'", json!(["open", null, "2026-03-01"])),
        ("UPDATE tasks SET title = 'c'", json!(["open", null, "2026-03-01"])),
        ("UPDATE tasks SET due_on = NULL", json!(["open", null, null])),
        (
            "UPDATE tasks SET due_on = '2026-03-05', status = 'done', completed_at = '2026-01-06T10:00:00Z'",
            json!(["done", "2026-01-06T10:00:00Z", "2026-03-05"]),
        ),
        ("UPDATE tasks SET recurrence = NULL", json!(["done", "2026-01-06T10:00:00Z", null])),
    ] {
        scene.does(text);
        assert_eq!(scene.row(row), expected, "{text}");
    }
    // The edits hold what the row shows.
    let anchors =
        "SELECT patch ->> 'recurrence_anchor' FROM edits WHERE patch ->> 'recurrence_anchor' <> '' ORDER BY id";
    assert_eq!(scene.column(anchors), json!(["2026-01-31", "2026-03-01", "2026-03-05"]));
    scene.does("UPDATE tasks SET status = 'open'; UPDATE tasks SET status = 'done'");
    assert_eq!(scene.one("SELECT completed_at = updated_at OR completed_at > '2026-06-01' FROM tasks"), "1", "now");
}

#[test]
fn clamped_due_date_keeps_anchor_of_server() {
    let mut scene = Scene::with(of_series(5, TASK, "open", "2026-02-28"));
    scene.does("UPDATE tasks SET title = 'x', due_on = '2026-02-28'");
    assert_eq!(scene.one("SELECT recurrence_anchor FROM tasks"), "2026-01-31");
    scene.complete(TASK);
    assert_eq!(scene.next_task(), json!(["x", "open", "2026-03-31", "2026-01-31", null]));
}

#[test]
fn field_taken_from_server_takes_its_computed_field_along() {
    let mut scene = Scene::with(monthly(5, "open"));
    scene.does("UPDATE tasks SET due_on = '2026-04-01', title = 'Mine'");
    scene.hear(of_series(6, TASK, "open", "2026-05-01"));
    let groups = scene.ready_groups();
    assert!(scene.freeze_groups(&groups, Theirs).is_some());
    assert_eq!(scene.one("SELECT patch FROM edits"), r#"{"title":"Mine"}"#);
    scene.shows("SELECT title, due_on, recurrence_anchor FROM tasks", json!(["Mine", "2026-05-01", "2026-01-31"]));
}

#[test]
fn refused_completion_time_is_left_to_server() {
    let mut scene = Scene::completed();
    scene.does(&format!("UPDATE tasks SET notes = 'x' WHERE id = '{TASK}'")).send(1);
    let problem = json!({ "type": "validation_failed", "details": { "fields": [
        { "field": "completed_at", "code": "out_of_range", "message": "completed_at must not be in the future." },
    ] } });
    scene.answer(1, WriteOutcome::Rejected { reason: "completed_at …".to_owned(), problem });
    assert_eq!(scene.states(), "waiting waiting waiting");
    assert_eq!(scene.ready_groups(), [[1]]);
    assert_eq!(body(&scene.freeze_as("key-again", 1, Ask).unwrap()), json!({ "status": "done" }));
    assert_eq!(scene.next_task(), json!(["Filter", "open", "2026-02-28", "2026-01-31", null]), "the next task stays");
}

#[test]
fn edit_changed_to_done_shows_the_next_task() {
    let mut scene = Scene::with(monthly(5, "open"));
    scene.does("UPDATE tasks SET title = 'Mine'");
    let done = json!({ "status": "done" }).as_object().cloned().unwrap();
    decide::change(&mut scene.db, 1, &done, at(0)).unwrap();
    assert_eq!(scene.one("SELECT patch ->> 'completed_at' FROM edits WHERE id = 1"), at(0).to_string());
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "2");
    let refused = decide::change(&mut scene.db, 2, &done, at(0)).unwrap_err().to_string();
    assert!(refused.contains("change the task itself"), "{refused}");
}

//! Another program removes the triggers that check values alone: the trigger that queues edits has seen its changes, and the
//! rules check them when the triggers are restored.

use super::*;
use crate::store::health;
use crate::store::outside::Restored;

/// The triggers that check values were missing, alone or with the one that queues edits.
#[test]
fn refused_value_waits_for_person_and_the_others_go() {
    for (dropped, edits, says) in [
        ("DROP TRIGGER _tasks_before_update", 0, "no rule has checked: priority must be one of"),
        ("DROP TRIGGER _tasks_before_update; DROP TRIGGER _tasks_queue_update", 1, "priority must be one of"),
    ] {
        let mut scene = Scene::with_task_at_present();
        scene.outsider(&format!("{dropped}; UPDATE tasks SET priority = 'hihg', title = 'Sand'"));
        let restored = scene.reopened();
        assert_eq!((restored.edits, restored.refused), (edits, 1), "{dropped}");
        assert_eq!(
            scene.rows("SELECT patch, base, state, reason_code FROM edits ORDER BY id"),
            json!([
                [r#"{"title":"Sand"}"#, r#"{"title":"Paint"}"#, "waiting", null],
                [r#"{"priority":"hihg"}"#, r#"{"priority":"low"}"#, "rejected", "invalid_value"]
            ])
        );
        let reason = scene.one("SELECT reason FROM edits WHERE state = 'rejected'");
        assert!(reason.contains(says), "{reason}");
        scene.shows("SELECT title, priority FROM tasks", json!(["Sand", "hihg"]));
        assert_eq!(scene.ready_groups(), [[1]], "the refused value is not sent");
        assert_eq!(scene.reopened(), Restored::default());
    }
}

#[test]
fn unchecked_create_waits_with_its_later_edits() {
    let mut scene = Scene::with_task_at_present();
    scene.outsider(
        "DROP TRIGGER _tasks_before_insert;
         INSERT INTO tasks (id, title, due_on, subject_type) VALUES ('0190a3b0-0000-7000-8000-0000000000aa', 'a', 'soon', 'room');
         UPDATE tasks SET title = 'b' WHERE title = 'a'; INSERT INTO tasks (title) VALUES ('sound')",
    );
    assert_eq!(scene.reopened().refused, 1);
    let states = scene.rows("SELECT method, state, reason_code FROM edits ORDER BY id");
    assert_eq!(
        states,
        json!([
            ["create", "rejected", "invalid_value"],
            ["update", "blocked", "depends_on_another"],
            ["create", "waiting", null]
        ])
    );
    let reason = scene.one("SELECT reason FROM edits WHERE state = 'rejected'");
    assert!(reason.contains("due_on must be") && reason.contains("subject_id is required"), "{reason}");
    assert_eq!(scene.one("SELECT title FROM tasks WHERE due_on = 'soon'"), "b");
}

#[test]
fn unchecked_null_is_not_kept_in_row() {
    for weakened in ["", "CREATE TRIGGER _tasks_before_update BEFORE UPDATE ON tasks BEGIN SELECT 1; END;"] {
        let mut scene = Scene::with_task_at_present();
        scene.outsider(&format!("DROP TRIGGER _tasks_before_update; {weakened} UPDATE tasks SET title = NULL"));
        assert_eq!(scene.reopened().refused, 1, "{weakened}");
        scene.shows("SELECT (SELECT title FROM tasks), patch, state FROM edits", json!(["Paint", "{}", "rejected"]));
    }
}

#[test]
fn unchecked_value_stays_before_later_edit() {
    let mut scene = Scene::with_task_at_present();
    scene.outsider(
        "DROP TRIGGER _tasks_before_update; UPDATE tasks SET priority = 'hihg', title = 'Sand';
         UPDATE tasks SET priority = 'high'",
    );
    assert_eq!(scene.reopened().refused, 1);
    assert_eq!(scene.column("SELECT state FROM edits ORDER BY id"), json!(["rejected", "blocked"]));
    assert_eq!(scene.one("SELECT priority FROM tasks"), "high");
}

#[test]
fn unchecked_id_is_replaced_by_uuid() {
    let mut scene = Scene::with_task_at_present();
    scene.outsider(
        "DROP TRIGGER _tasks_before_insert; INSERT INTO tasks (id, title) VALUES ('xx', 'Sweep'), ('', 'Mop');
         ALTER TABLE tasks ADD COLUMN my_stars INTEGER; UPDATE tasks SET priority = 'high', my_stars = 4 WHERE id = 'xx'",
    );
    assert_eq!(scene.reopened().refused, 0);
    assert_eq!(health::examine(&scene.db_path()).unwrap().broken, [""; 0]);
    let tasks = "SELECT title, priority, length(id), rev FROM tasks WHERE title <> 'Paint' ORDER BY title";
    assert_eq!(scene.rows(tasks), json!([["Mop", "medium", 36, null], ["Sweep", "high", 36, null]]));
    assert_eq!(scene.one("SELECT title FROM tasks WHERE my_stars = 4"), "Sweep");
    let edits = "SELECT e.method, e.state FROM edits e JOIN tasks t ON t.id = e.record_id ORDER BY e.id";
    assert_eq!(scene.rows(edits), json!([["create", "waiting"], ["create", "waiting"], ["update", "waiting"]]));
    let found = "SELECT record_id = (SELECT id FROM tasks WHERE title = 'Sweep') FROM search('sweep')";
    assert_eq!(scene.one(found), "1");
    assert_eq!(scene.one("SELECT count(*) FROM sync_log WHERE text LIKE '%a task the id xx, which is no UUID%'"), "1");
}

/// Edits before the loss that keep every rule stay as they are.
#[test]
fn checked_edits_stay_as_they_are() {
    let mut scene = Scene::edited_at_present("UPDATE tasks SET title = 'Sand', status = 'done'");
    scene.does("INSERT INTO documents (title, subject_type) VALUES ('Deed', 'home')");
    scene.does("INSERT INTO property (address) VALUES ('1 Lane')");
    let all = "SELECT id, record_id, method, patch, base, state, reason FROM edits ORDER BY id";
    let before = scene.rows(all);
    for table in ["tasks", "documents", "property"] {
        scene.outsider(&format!("DROP TRIGGER _{table}_before_insert"));
    }
    assert_eq!(scene.reopened().refused, 0);
    assert_eq!(scene.rows(all), before);
}

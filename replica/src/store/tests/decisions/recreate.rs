//! Records that are made anew after their delete or their create was undone.

use super::*;

#[test]
fn recreate_waits_for_delete() {
    for is_in in [true, false] {
        let mut scene = Scene::edited_at_present("DELETE FROM tasks");
        scene.attempt(1, no_answer());
        scene.discard(1).unwrap();
        assert_eq!(scene.rows("SELECT id, method FROM edits"), json!([[1, "delete"], [2, "create"]]));
        assert_eq!(scene.plan(), [1], "it may be there after all");
        if is_in {
            scene.accept(1, 6);
            assert_eq!(scene.plan(), [2]);
            continue;
        }
        scene.attempt(1, WriteOutcome::PreconditionFailed);
        scene.hear(event(7, "updated", "task", TASK, json!({ "title": "Theirs", "priority": "low" })));
        assert_eq!(scene.freeze_as("again", 1, Ask), None);
        assert_eq!(scene.plan(), [0; 0]);
        assert_eq!(scene.states(), "conflict blocked");
        scene.discard(1).unwrap();
        assert_eq!(scene.one("SELECT count(*) FROM edits"), "0");
        assert_eq!(scene.column("SELECT title FROM tasks"), json!(["Theirs"]));
        assert_eq!(scene.outcomes(), "1 discarded, 2 superseded");
    }
}

#[test]
fn undo_create_and_delete() {
    let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT (SELECT count(*) FROM tasks) + (SELECT count(*) FROM edits)"), "0");
    scene.undo(Some(1)).unwrap();
    assert_eq!(scene.row("SELECT id, title FROM tasks"), json!([TASK, "Paint"]), "never sent, so the id is free");
    scene.confirm(2, task(6, "Paint", "medium"));
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT method FROM edits"), "delete");
    scene.confirm(3, deleted(7));

    scene.hear(event(8, "created", "room", ROOM, json!({ "name": "Shed", "floor": "1" })));
    scene.does("DELETE FROM rooms").confirm(4, gone(9, "room", ROOM));
    let decided = scene.undo(None).unwrap();
    assert!(decided.sentence.contains("made anew"), "{}", decided.sentence);
    scene.shows("SELECT name, floor FROM rooms", json!(["Shed", "1"]));
    assert_ne!(scene.one("SELECT id FROM rooms"), ROOM);
}

#[test]
fn record_with_import_ref_is_made_anew() {
    let fields = json!({ "title": "Filter", "import_ref": "shop 1" });
    let mut scene = Scene::with(event(5, "created", "task", TASK, fields));
    scene.does("UPDATE tasks SET notes = 'Mine'").hear(deleted(6));
    assert_eq!(scene.states(), "conflict");
    scene.resolve(1, &Resolution::mine()).unwrap();
    scene.shows("SELECT import_ref, notes FROM tasks", json!(["shop 1", "Mine"]));
    assert_ne!(scene.one("SELECT id FROM tasks"), TASK);
}

#[test]
fn undo_of_discarded_create_works_once() {
    let mut scene = Scene::written("INSERT INTO rooms (name) VALUES ('Twice')");
    scene.discard(1).unwrap();
    assert_eq!(scene.undo(Some(1)).unwrap().edit, Some(2));
    assert_eq!(scene.undo(Some(1)).unwrap_err(), "this change is made again already, by edit 2; undo 2 takes it back");
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "1");
    // The new record can be changed as any other.
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "0");
    assert_eq!(scene.undo(Some(1)).unwrap().edit, Some(3), "it is none again");

    // The change that became another record is there already.
    let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
    scene.attempt(1, exists());
    scene.resolve(1, &Resolution::mine()).unwrap();
    assert!(scene.undo(Some(1)).unwrap_err().contains("made again already, by edit 2"));
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "0");
}

#[test]
fn recreated_done_task_has_no_recurrence() {
    let chore = |id: i64, status: &str| {
        let fields = json!({ "title": "Filter", "priority": "low", "status": status, "recurrence": "monthly" });
        event(id, "updated", "task", TASK, fields)
    };
    // Without the next task of a task that is done.
    let recurrence = "SELECT status, recurrence FROM tasks ORDER BY status LIMIT 1";
    let mut scene = Scene::with(chore(5, "done"));
    scene.does("DELETE FROM tasks").confirm(1, deleted(6));
    let sentence = scene.undo(None).unwrap().sentence;
    assert!(sentence.ends_with("without recurrence, because a task that is done has had its next one"), "{sentence}");
    scene.shows(recurrence, json!(["done", null]));

    // The task was done on the server first, or the server has never heard of it.
    for (there, then, kept) in [
        ("done", "UPDATE tasks SET notes = 'N'", json!(["done", null])),
        ("open", "UPDATE tasks SET status = 'done'", json!(["done", "monthly"])),
        ("open", "UPDATE tasks SET notes = 'N'", json!(["open", "monthly"])),
    ] {
        let mut scene = Scene::with(chore(5, there));
        scene.does(then).hear(deleted(6));
        scene.resolve(1, &Resolution::mine()).unwrap();
        assert_eq!(scene.row(recurrence), kept);
    }
    let mut scene =
        Scene::written("INSERT INTO tasks (title, status, recurrence) VALUES ('Filter', 'done', 'monthly')");
    scene.discard(1).unwrap();
    scene.undo(Some(1)).unwrap();
    assert_eq!(scene.row(recurrence), json!(["done", "monthly"]), "it has had no next one");
}

//! Edits that a later local edit overwrote: they cannot be lost, unless the later edit is lost itself.

use super::*;

/// A task whose title becomes B and then C, and a room that is created and deleted.
const OVERWRITING: [&str; 4] = [
    "UPDATE tasks SET title = 'B', notes = 'n'",
    "INSERT INTO rooms (id, name) VALUES ('0190a3b0-0000-7000-8000-000000000001', 'Shed')",
    "UPDATE tasks SET title = 'C'",
    "DELETE FROM rooms",
];

/// A task whose title became B and then C, and a room that was created and deleted: all confirmed, the task last at 8.
fn overwritten_here() -> Scene {
    let mut scene = Scene::present(task(5, "A", "low"));
    let noted = |id, title| event(id, "updated", "task", TASK, noted(title));
    let heard = [noted(6, "B"), room(7, "Shed"), noted(8, "C"), gone(9, "room", ROOM)];
    for (edit, (text, event)) in (1..).zip(OVERWRITING.into_iter().zip(heard)) {
        scene.does(text).confirm(edit, event);
    }
    assert_eq!(scene.outcomes(), "1 confirmed, 2 confirmed, 3 confirmed, 4 confirmed");
    scene
}

/// Ends a reconcile whose lists show the task like this, and the room if `there`.
fn ends_with_task(scene: &mut Scene, rev: i64, fields: Value, there: bool) {
    let rooms = there.then(|| listed_room(7, "Shed")).into_iter().collect();
    scene.finds(20, [(Kind::Task, vec![record(TASK, rev, fields)]), (Kind::Room, rooms)]);
}

/// The task with the notes that were written here.
fn noted(title: &str) -> Value {
    json!({ "title": title, "notes": "n", "priority": "low" })
}

/// The task as it was before, or as somebody else has made it.
fn plain(title: &str) -> Value {
    json!({ "title": title, "priority": "low" })
}

#[test]
fn overwritten_edit_is_not_lost() {
    let unknown = || restored(None);
    let mut scene = overwritten_here();
    scene.recovers(&unknown());
    ends_with_task(&mut scene, 8, noted("C"), false);
    assert_eq!(scene.states(), "");
    scene.shows("SELECT title, (SELECT count(*) FROM rooms) FROM tasks", json!(["C", 0]));
    // Restored again, now with a known fork; the positions of these edits stay unknown.
    scene.recovers(&restored(Some(8)));
    ends_with_task(&mut scene, 8, noted("C"), false);
    assert_eq!(scene.states(), "");

    // Restored to before the second title and the room's delete: both are lost, and the state before them is there.
    let mut scene = overwritten_here();
    scene.recovers(&unknown());
    ends_with_task(&mut scene, 6, noted("B"), true);
    let lost = "SELECT id, method, patch ->> 'title', base ->> 'title' FROM edits ORDER BY id";
    assert_eq!(scene.rows(lost), json!([[3, "update", "C", "B"], [4, "delete", null, null]]));
    scene.shows("SELECT title, (SELECT count(*) FROM rooms) FROM tasks", json!(["C", 0]));
}

#[test]
fn overwritten_edit_stays_after_discard() {
    let mut scene = overwritten_here();
    scene.does("UPDATE tasks SET title = 'D'").confirm(5, event(10, "updated", "task", TASK, noted("D")));
    for is_discarded in [false, true] {
        scene.recovers(&restored(None));
        ends_with_task(&mut scene, 5, plain("A"), false);
        let states = if is_discarded { "conflict" } else { "conflict conflict" };
        assert_eq!(scene.states(), states, "the notes, and the last title until it is given up");
        if !is_discarded {
            assert_eq!(scene.one("SELECT title FROM tasks"), "D");
            scene.discard(5).unwrap();
        }
    }
    assert_eq!(scene.one("SELECT title FROM tasks"), "A");
}

#[test]
fn several_lost_edits_of_record_resend() {
    let mut scene = overwritten_here();
    scene.recovers(&restored(None));
    ends_with_task(&mut scene, 5, plain("A"), false);
    let lost = "SELECT id, patch, base FROM edits ORDER BY id";
    assert_eq!(
        scene.rows(lost),
        json!([[1, r#"{"notes":"n"}"#, r#"{"notes":null}"#], [3, r#"{"title":"C"}"#, r#"{"title":"A"}"#]])
    );
    scene.shows("SELECT title, notes FROM tasks", json!(["C", "n"]));
    scene.retry_each(&[1, 3]);
    assert_eq!(scene.states(), "waiting waiting");
}

#[test]
fn edit_overwritten_before_event_is_not_lost() {
    for cause in [gap(), restored(Some(5)), restored(None)] {
        let mut scene = Scene::present(task(5, "A", "low"));
        for (edit, text) in (1..).zip(OVERWRITING) {
            scene.does(text).accept(edit, 5 + edit);
        }
        scene.recovers(&cause);
        ends_with_task(&mut scene, 8, noted("C"), false);
        assert_eq!(scene.outcomes(), "1 confirmed, 2 confirmed, 3 confirmed, 4 confirmed", "{cause:?}");
        assert_eq!(scene.row("SELECT title, (SELECT count(*) FROM rooms) FROM tasks"), json!(["C", 0]), "{cause:?}");
    }
}

#[test]
fn edit_overwritten_in_reconcile_is_not_lost() {
    let mut scene = overwritten_here();
    scene.recovers(&restored(None)).is_listed(Kind::Task, vec![record(TASK, 8, noted("C"))], 20).is_at_present(20);
    scene.does("UPDATE tasks SET title = 'D'").accept(5, 21);
    scene.hear(with_key(event(21, "updated", "task", TASK, noted("D")), "key-5"));
    ends_with_task(&mut scene, 21, noted("D"), false);
    assert_eq!((scene.states().as_str(), scene.one("SELECT title FROM tasks").as_str()), ("", "D"));
}

#[test]
fn reshown_edit_is_lost_by_next_restore() {
    for next in [Some(5), None] {
        let mut scene = overwritten_here();
        scene.recovers(&restored(None));
        ends_with_task(&mut scene, 6, noted("B"), true);
        scene.discard(3).unwrap();
        scene.discard(4).unwrap();
        scene.shows("SELECT title, (SELECT count(*) FROM rooms) FROM tasks", json!(["B", 1]));
        scene.recovers(&restored(next));
        ends_with_task(&mut scene, 5, plain("A"), false);
        assert_eq!(scene.edit_states(), "1 conflict, 2 conflict");
    }
}

#[test]
fn reshown_edit_after_foreign_loss_is_lost_next() {
    let mut scene = Scene::present(task(5, "A", "low"));
    scene.does("UPDATE tasks SET title = 'B'").accept(1, 8).hear([task(8, "B", "low"), task(12, "Theirs", "low")]);
    scene.recovers(&restored(None));
    ends_with_task(&mut scene, 12, plain("Theirs"), false);
    assert_eq!(scene.edits(), "1 confirmed; ");
    scene.recovers(&restored(Some(10)));
    ends_with_task(&mut scene, 8, plain("B"), false);
    assert_eq!(scene.edits(), "1 confirmed; ");
    scene.recovers(&restored(Some(6)));
    ends_with_task(&mut scene, 5, plain("A"), false);
    assert_eq!((scene.states().as_str(), scene.one("SELECT title FROM tasks").as_str()), ("conflict", "B"));
}

/// A task whose subject became the room, then the car; the second edit changed one half of the subject.
fn half_changed_subject() -> Scene {
    let mut scene = Scene::present(task(5, "A", "low"));
    let edits = [
        (ROOM, format!("UPDATE tasks SET subject_type = 'room', subject_id = '{ROOM}'")),
        (CAR, format!("UPDATE tasks SET subject_id = '{CAR}'")),
    ];
    for (edit, (id, text)) in (1..).zip(edits) {
        scene.does(&text).confirm(edit, event(5 + edit, "updated", "task", TASK, subject(id)));
    }
    assert_eq!(scene.outcomes(), "1 confirmed, 2 confirmed");
    scene
}

fn subject(id: &str) -> Value {
    json!({ "title": "A", "priority": "low", "subject_type": "room", "subject_id": id })
}

#[test]
fn half_changed_subject_is_not_lost() {
    let mut scene = half_changed_subject();
    scene.recovers(&restored(None));
    ends_with_task(&mut scene, 7, subject(CAR), false);
    assert_eq!((scene.states().as_str(), scene.one("SELECT subject_id FROM tasks").as_str()), ("", CAR));
}

#[test]
fn lost_edits_of_subject_are_sent_in_order() {
    let mut scene = half_changed_subject();
    scene.recovers(&restored(Some(5)));
    ends_with_task(&mut scene, 5, plain("A"), false);
    assert_eq!(scene.retry(2).unwrap_err(), "“A”: edit 1 comes before this one; retry or discard that first");
    scene.retry_each(&[1, 2]);
    assert_eq!(scene.states(), "waiting waiting");
}

/// The restored server has the first title: the lost edit changes that one, and can be sent again.
#[test]
fn lost_edit_follows_an_edit_before_the_fork() {
    for fork in [Some(6), None] {
        let mut scene = overwritten_here();
        scene.recovers(&restored(fork));
        ends_with_task(&mut scene, 6, noted("B"), true);
        let lost = "SELECT id, base ->> 'title' FROM edits WHERE method = 'update'";
        assert_eq!(scene.rows(lost), json!([[3, "B"]]), "{fork:?}");
        scene.retry(3).unwrap();
    }
}

#[test]
fn recreated_record_is_not_deleted() {
    let mut scene = Scene::new();
    scene.is_at_present(5).does(&format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car')"));
    scene.confirm(1, car(6)).recovers(&restored(None)).sweeps(Kind::Vehicle, &[], 20).finishes_at(20);
    scene.shows("SELECT name, (SELECT count(*) FROM _base WHERE deleted) FROM vehicles", json!(["Car", 0]));
}

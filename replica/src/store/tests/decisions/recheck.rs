//! Conflicts that end because both sides agree now.

use super::*;

/// Two updates and a delete in conflict, and a later update that waits for the first.
fn both_changed() -> (Scene, [&'static str; 3]) {
    let tasks = [TASK, "0190a3b0-0000-7000-8000-000000000012", "0190a3b0-0000-7000-8000-000000000013"];
    let mut scene = Scene::with(tasks.iter().zip(2..).map(|(id, rev)| titled(rev, id, "Old")).collect::<Vec<_>>());
    scene.is_at_present(4).does(&format!("UPDATE tasks SET title = 'A' WHERE id <> '{}'", tasks[2]));
    scene.does(&format!("DELETE FROM tasks WHERE id = '{}'", tasks[2]));
    scene.hear(tasks.iter().zip(5..).map(|(id, rev)| titled(rev, id, "B")).collect::<Vec<_>>());
    for edit in 1..=3 {
        scene.sends_nothing(edit);
    }
    scene.does(&format!("UPDATE tasks SET notes = 'later' WHERE id = '{TASK}'"));
    assert_eq!((scene.plan(), scene.states().as_str()), (vec![], "conflict conflict conflict blocked"));
    (scene, tasks)
}

fn titled(rev: i64, id: &str, title: &str) -> hearth_contract::event::Event {
    event(rev, "updated", "task", id, json!({ "title": title, "priority": "low", "status": "open" }))
}

#[test]
fn conflict_ends_when_server_agrees() {
    let (mut scene, tasks) = both_changed();
    scene.hear([titled(8, tasks[0], "A"), titled(9, tasks[1], "Old"), titled(10, tasks[2], "Old")]);
    assert_eq!(scene.outcomes(), "1 merged");
    assert_eq!(scene.states(), "waiting waiting waiting");
    assert_eq!(scene.one("SELECT count(reason) FROM edits"), "0");
    assert_eq!(scene.plan(), [2, 3, 4]);
    assert_eq!((scene.send(2).if_match, scene.send(3).if_match, scene.send(4).if_match), (Some(9), Some(10), Some(8)));
}

#[test]
fn conflict_names_remaining_fields() {
    let (mut scene, tasks) = both_changed();
    scene.hear([titled(8, tasks[0], "C"), titled(9, tasks[1], "C"), titled(10, tasks[2], "C")]);
    assert_eq!(scene.states(), "conflict conflict conflict blocked");
    assert_eq!(scene.outcomes(), "");

    let mut scene = in_conflict();
    assert_eq!(scene.one("SELECT reason FROM edits"), "title changed on the server too");
    scene.hear(task(7, "Paint", "urgent"));
    assert_eq!(scene.states(), "conflict");
    assert_eq!(scene.one("SELECT reason FROM edits"), "priority changed on the server too");
    assert_eq!(scene.column("SELECT field FROM conflicts"), json!(["priority"]));
}

#[test]
fn recheck_after_412_sends_new_request() {
    let mut scene = Scene::edited_at_present("UPDATE tasks SET title = 'Mine'");
    scene.attempt(1, WriteOutcome::PreconditionFailed).hear(task(6, "Theirs", "low"));
    assert_eq!(scene.freeze_as("again", 1, Ask), None);
    assert_eq!(scene.states(), "conflict");
    scene.hear(task(7, "Paint", "low"));
    assert_eq!((scene.states().as_str(), scene.plan()), ("waiting", vec![1]));
    assert_eq!(scene.freeze_as("anew", 1, Ask).unwrap().if_match, Some(7));
}

#[test]
fn maybe_applied_waits_unless_values_match() {
    for (title, states) in [("Paint", "conflict"), ("Other", "conflict"), ("Mine", "")] {
        let mut scene = Scene::edited_at_present("UPDATE tasks SET title = 'Mine'");
        scene.accept(1, 6);
        // The server was restored to 5 and has new events since.
        scene.hear(room(6, "Shed"));
        assert_eq!(scene.states(), "conflict");
        let reason = scene.one("SELECT reason FROM edits");
        scene.hear(task(7, title, "low"));
        assert_eq!(scene.states(), states, "{title}");
        if !states.is_empty() {
            assert_eq!(scene.one("SELECT reason FROM edits"), reason, "{title}");
        }
    }
}

#[test]
fn rejected_edit_is_not_rechecked() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
    scene.reject(1).hear(task(6, "Mine", "low"));
    assert_eq!(scene.states(), "rejected");
}

#[test]
fn recheck_keeps_order_of_edits() {
    let mut scene = Scene::edited_at_present("UPDATE tasks SET title = 'One'");
    scene.send(1);
    scene.answer(1, accepted(6)).hear(with_key(task(6, "One", "low"), "key-1"));
    scene.does("UPDATE tasks SET title = 'Two', priority = 'high'").accept(2, 7);
    scene.does("UPDATE tasks SET title = 'Three'").accept(3, 8);
    // Both edits are lost. Another client then writes the value of the later edit, and the earlier edit must not
    // overwrite it.
    scene.hear(room(8, "Shed"));
    assert_eq!(scene.states(), "conflict conflict");
    scene.hear(task(9, "Three", "low"));
    assert_eq!(scene.states(), "conflict conflict");
}

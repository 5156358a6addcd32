//! Conflicts that end because both sides agree now.

use super::*;
use crate::store::tests::with_key;

/// Two updates and a delete in conflict, and a later update that waits for the first.
fn both_changed() -> (Scene, [&'static str; 3]) {
    let tasks = [TASK, "0190a3b0-0000-7000-8000-000000000012", "0190a3b0-0000-7000-8000-000000000013"];
    let mut scene = Scene::with(tasks.iter().zip(2..).map(|(id, rev)| titled(rev, id, "Old")).collect());
    scene.is_at_present(4);
    scene.does(&format!("UPDATE tasks SET title = 'A' WHERE id <> '{}'", tasks[2]));
    scene.does(&format!("DELETE FROM tasks WHERE id = '{}'", tasks[2]));
    scene.hear(tasks.iter().zip(5..).map(|(id, rev)| titled(rev, id, "B")).collect());
    for edit in 1..=3 {
        assert_eq!(scene.freeze(&[vec![edit]], ConflictPolicy::Ask), None);
    }
    scene.does(&format!("UPDATE tasks SET notes = 'later' WHERE id = '{TASK}'"));
    assert_eq!(
        (scene.plan(), scene.states()),
        (vec![], vec![EditState::Conflict, EditState::Conflict, EditState::Conflict, EditState::Blocked])
    );
    (scene, tasks)
}

fn titled(rev: i64, id: &str, title: &str) -> hearth_contract::event::Event {
    event(rev, "updated", "task", id, json!({ "title": title, "priority": "low", "status": "open" }))
}

#[test]
fn conflict_ends_when_server_agrees() {
    let (mut scene, tasks) = both_changed();
    scene.hear(vec![titled(8, tasks[0], "A"), titled(9, tasks[1], "Old"), titled(10, tasks[2], "Old")]);
    assert_eq!(scene.outcomes(), [(1, EditOutcome::Merged)]);
    assert_eq!(scene.states(), [EditState::Waiting, EditState::Waiting, EditState::Waiting]);
    assert_eq!(scene.one("SELECT count(reason) FROM edits"), "0");
    assert_eq!(scene.plan(), [2, 3, 4]);
    assert_eq!((scene.send(2).if_match, scene.send(3).if_match, scene.send(4).if_match), (Some(9), Some(10), Some(8)));
}

#[test]
fn conflict_names_remaining_fields() {
    let (mut scene, tasks) = both_changed();
    scene.hear(vec![titled(8, tasks[0], "C"), titled(9, tasks[1], "C"), titled(10, tasks[2], "C")]);
    assert_eq!(scene.states(), [EditState::Conflict, EditState::Conflict, EditState::Conflict, EditState::Blocked]);
    assert_eq!(scene.outcomes(), []);

    let mut scene = in_conflict();
    assert_eq!(scene.one("SELECT reason FROM edits"), "title changed on the server too");
    scene.hear(vec![task(7, "Paint", "urgent")]);
    assert_eq!(scene.states(), [EditState::Conflict]);
    assert_eq!(scene.one("SELECT reason FROM edits"), "priority changed on the server too");
    assert_eq!(scene.column("SELECT field FROM conflicts"), json!(["priority"]));
}

#[test]
fn recheck_after_412_sends_new_request() {
    let mut scene = Scene::with_task_at_present();
    scene.does("UPDATE tasks SET title = 'Mine'");
    scene.attempt(1, WriteOutcome::PreconditionFailed);
    scene.hear(vec![task(6, "Theirs", "low")]);
    assert_eq!(scene.freeze_as("again", &[vec![1]], ConflictPolicy::Ask), None);
    assert_eq!(scene.states(), [EditState::Conflict]);
    scene.hear(vec![task(7, "Paint", "low")]);
    assert_eq!((scene.states(), scene.plan()), (vec![EditState::Waiting], vec![1]));
    assert_eq!(scene.freeze_as("anew", &[vec![1]], ConflictPolicy::Ask).unwrap().if_match, Some(7));
}

#[test]
fn maybe_applied_waits_unless_values_match() {
    for (title, states) in
        [("Paint", vec![EditState::Conflict]), ("Other", vec![EditState::Conflict]), ("Mine", vec![])]
    {
        let mut scene = Scene::with_task_at_present();
        scene.does("UPDATE tasks SET title = 'Mine'");
        scene.attempt(1, WriteOutcome::Sent { rev: Some(6) });
        // The server was restored to 5 and has new events since.
        scene.hear(vec![event(6, "created", "room", ROOM, json!({ "name": "Shed" }))]);
        assert_eq!(scene.states(), [EditState::Conflict]);
        let reason = scene.one("SELECT reason FROM edits");
        scene.hear(vec![task(7, title, "low")]);
        assert_eq!(scene.states(), states, "{title}");
        if !states.is_empty() {
            assert_eq!(scene.one("SELECT reason FROM edits"), reason, "{title}");
        }
    }
}

#[test]
fn rejected_edit_is_not_rechecked() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
    scene.reject(1);
    scene.hear(vec![task(6, "Mine", "low")]);
    assert_eq!(scene.states(), [EditState::Rejected]);
}

#[test]
fn recheck_keeps_order_of_edits() {
    let mut scene = Scene::with_task_at_present();
    scene.does("UPDATE tasks SET title = 'One'");
    let key = scene.send(1).key;
    scene.answer(1, WriteOutcome::Sent { rev: Some(6) });
    scene.hear(vec![with_key(task(6, "One", "low"), &key)]);
    scene.does("UPDATE tasks SET title = 'Two', priority = 'high'");
    scene.attempt(2, WriteOutcome::Sent { rev: Some(7) });
    scene.does("UPDATE tasks SET title = 'Three'");
    scene.attempt(3, WriteOutcome::Sent { rev: Some(8) });
    // Both edits are lost. Another client then writes the value of the later edit, and the earlier edit must not
    // overwrite it.
    scene.hear(vec![event(8, "created", "room", ROOM, json!({ "name": "Shed" }))]);
    assert_eq!(scene.states(), [EditState::Conflict, EditState::Conflict]);
    scene.hear(vec![task(9, "Three", "low")]);
    assert_eq!(scene.states(), [EditState::Conflict, EditState::Conflict]);
}

//! Undo of an edit whose values the server already had: the values belong to somebody else, and undo leaves them.

use super::*;

/// The sentence of undo about a change that the server already had.
const NOTHING_LEFT: &str =
    "somebody else had changed “Paint” in the same way, and that stands; nothing is left to undo";

#[test]
fn undo_leaves_already_applied_fields() {
    let chore = |id: i64, title: &str, notes: Option<&str>| {
        let fields = json!({ "title": title, "priority": "high", "notes": notes, "status": "open" });
        event(id, "updated", "task", TASK, fields)
    };
    // All fields: somebody else was first.
    let mut scene = Scene::in_conflict("UPDATE tasks SET priority = 'high'", task(6, "Paint", "high"));
    assert_eq!(scene.outcomes(), "1 merged");
    assert_eq!(scene.undo(None).unwrap_err(), NOTHING_LEFT);
    assert_eq!(scene.one("SELECT priority FROM tasks"), "high");

    // One field, before and after the confirmation.
    let mut scene = Scene::edited("UPDATE tasks SET priority = 'high', notes = 'N'");
    scene.hear(task(6, "Paint", "high")).attempt(1, no_answer());
    assert_eq!(scene.undo(None).unwrap().sentence, "“Paint”: notes as before");
    scene.undo(Some(2)).unwrap();
    scene.confirm(1, chore(7, "Paint", Some("N")));
    assert_eq!(scene.undo(None).unwrap().sentence, "“Paint”: notes as before");
    scene.shows("SELECT priority, notes FROM tasks", json!(["high", null]));

    // Two coalesced edits, one by one.
    let mut scene = Scene::edited("UPDATE tasks SET priority = 'urgent'");
    scene.does("UPDATE tasks SET priority = 'high', notes = 'N'").hear(task(6, "Paint", "high"));
    scene.confirm([1, 2], chore(7, "Paint", Some("N")));
    assert_eq!(scene.undo(Some(2)).unwrap().sentence, "“Paint”: notes as before");

    // Beside a field that a person has resolved.
    let mut scene = Scene::in_conflict("UPDATE tasks SET title = 'Mine', priority = 'high'", task(6, "Theirs", "high"));
    scene.resolve(1, &Resolution::mine()).unwrap();
    scene.confirm(1, chore(7, "Mine", None));
    assert_eq!(scene.undo(Some(1)).unwrap().sentence, "“Mine”: title as before");
    scene.shows("SELECT title, priority FROM tasks", json!(["Theirs", "high"]));
}

#[test]
fn undo_leaves_fields_set_during_conflict() {
    let mut scene = Scene::in_conflict("UPDATE tasks SET priority = 'high'", task(6, "Paint", "urgent"));
    scene.hear(task(7, "Paint", "high"));
    assert_eq!(scene.outcomes(), "1 merged");
    assert_eq!(scene.undo(None).unwrap_err(), NOTHING_LEFT);
}

#[test]
fn undo_after_412_restores_fields() {
    let mut scene = Scene::edited("UPDATE tasks SET priority = 'high', title = 'Mine'");
    scene.hear(task(6, "Paint", "high")).attempt(1, WriteOutcome::PreconditionFailed);
    // The values were equal before, differ now, and a person resolves the conflict.
    scene.hear(task(7, "Paint", "urgent")).sends_nothing(1);
    scene.resolve(1, &Resolution::mine()).unwrap();
    scene.confirm(1, task(8, "Mine", "high"));
    scene.undo(Some(1)).unwrap();
    scene.shows("SELECT title, priority FROM tasks", json!(["Paint", "urgent"]));
}

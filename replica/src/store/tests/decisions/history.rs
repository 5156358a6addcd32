//! What the history says of ended edits, and for how long.

use super::*;

const YEAR_MILLIS: i64 = 365 * 24 * 3600 * 1000;

/// A change of the task by somebody else, at the server's time. The local clock is a year ahead.
fn changed_there(scene: &mut Scene, id: i64, title: &str, millis: i64) {
    let event = hearth_contract::event::Event { created_at: at(millis), ..task(id, title, "low") };
    scene.hear_at(event, at(YEAR_MILLIS));
}

#[test]
fn history_names_undoing_edits() {
    const REASONS: &str = "SELECT id, reason FROM edit_history ORDER BY id";
    let mut scene = Scene::edited("UPDATE tasks SET title = 'One'");
    scene.confirm(1, task(6, "One", "low"));
    scene.undo(None).unwrap();
    assert_eq!(scene.rows(REASONS), json!([[1, null]]), "it is not undone there yet");
    scene.reject(2);
    scene.discard(2).unwrap();
    assert_eq!(scene.rows(REASONS), json!([[1, null], [2, "no"]]), "nor did this undo come to anything");
    scene.undo(Some(1)).unwrap();
    scene.confirm(3, task(7, "Paint", "low"));
    assert_eq!(scene.rows(REASONS), json!([[1, "undone by edit 3"], [2, "no"], [3, "undoes edit 1"]]));
    scene.undo(Some(3)).unwrap();
    scene.confirm(4, task(8, "One", "low"));
    assert_eq!(
        scene.rows(REASONS),
        json!([[1, "undone by edit 3"], [2, "no"], [3, "undoes edit 1; undone by edit 4"], [4, "undoes edit 3"]])
    );

    // A coalesced edit names its undo too, and a discarded edit is made again.
    let mut scene = Scene::edited("UPDATE tasks SET title = 'One'");
    scene.confirm(1, task(6, "One", "low")).does("UPDATE tasks SET notes = 'N'");
    scene.undo(Some(1)).unwrap();
    scene.confirm(
        [2, 3],
        event(7, "updated", "task", TASK, json!({ "title": "Paint", "notes": "N", "priority": "low" })),
    );
    assert_eq!(scene.rows(REASONS), json!([[1, "undone by edit 3"], [2, null], [3, "undoes edit 1"]]));

    let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    scene.undo(Some(1)).unwrap();
    scene.undo(Some(1)).unwrap();
    scene.confirm(2, task(6, "Paint", "low"));
    assert_eq!(scene.rows(REASONS), json!([[1, "made again by edit 2"], [2, "makes edit 1 again"]]));
}

#[test]
fn clock_ahead_keeps_history() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'One'");
    scene.confirm(1, task(6, "One", "low")).does("UPDATE tasks SET title = 'Two'");
    changed_there(&mut scene, 7, "Theirs", 7);
    assert_eq!(scene.outcomes(), "1 confirmed", "the server's clock says that it was now");
    changed_there(&mut scene, 8, "Theirs", YEAR_MILLIS);
    assert_eq!(scene.outcomes(), "", "a year has passed there too");
}

#[test]
fn old_history_is_deleted_without_edits() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'One'");
    scene.confirm(1, task(6, "One", "low"));
    // As many as one batch deletes.
    scene.forces(
        "WITH RECURSIVE more (id) AS (SELECT 2 UNION ALL SELECT id + 1 FROM more WHERE id < 151)
         INSERT INTO edit_history SELECT more.id, kind, record_id, method, patch, base, outcome, rev, reason, attempts,
             idempotency_key, origin, created_at, settled_at FROM more, edit_history",
    );
    let many = "SELECT count(*) FROM edit_history";
    assert_eq!((scene.states().as_str(), scene.one(many).as_str()), ("", "151"));
    for (id, left) in [(7, "51"), (8, "0")] {
        changed_there(&mut scene, id, "Theirs", YEAR_MILLIS);
        assert_eq!(scene.one(many), left);
    }
}

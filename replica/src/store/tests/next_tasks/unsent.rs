//! Series that a server sees late: of a home begun without a server, or of a replica that was long away.

use super::*;

#[test]
fn home_without_server_sends_each_completion_once() {
    let mut scene = Scene::written(&format!(
        "INSERT INTO tasks (id, title, recurrence, due_on) VALUES ('{TASK}', 'Filter', 'monthly', '2026-01-31')"
    ));
    scene.complete(TASK).does(&format!("UPDATE tasks SET title = 'Mine' WHERE id = '{}'", next()));
    scene.complete(&next()).does(&format!("DELETE FROM tasks WHERE id = '{TASK}'"));
    assert_eq!(scene.column("SELECT due_on FROM tasks ORDER BY due_on"), json!(["2026-02-28", "2026-03-31"]));
    // The create goes with the completion. The delete waits, so that the server makes the next task.
    assert_eq!(scene.ready_groups(), [[1, 2]]);
    let request = scene.send([1, 2]);
    let created = body(&request);
    assert_eq!((&created["status"], &created["completed_at"]), (&json!("done"), &json!("2026-01-05T18:00:00.000Z")));
    scene.answer(1, accepted(1)).hear([monthly(1, "done"), of_series(2, &next(), "open", "2026-02-28")]);
    assert_eq!(scene.ready_groups(), [vec![4, 5], vec![7]]);
    assert_eq!(body(&scene.send([4, 5]))["title"], "Mine");
    scene.answer(4, accepted(3));
    let made = json!({ "title": "Mine", "status": "open", "due_on": "2026-03-31" });
    scene.hear([of_series(3, &next(), "done", "2026-02-28"), event(4, "created", "task", &after(&next()), made)]);
    assert_eq!(scene.ready_groups(), [[7]]);
    assert_eq!(scene.column("SELECT method FROM edits"), json!(["delete"]));
}

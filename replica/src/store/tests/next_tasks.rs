//! The tasks that follow completed recurring tasks, as the replica shows them before the server does.

use hearth_contract::recurrence::next_id;
use uuid::Uuid;

use super::*;
use crate::store::edits::next_tasks;
use crate::store::reconcile;

mod computed;
mod ends;
mod order;
mod unsent;

/// The id of the task that follows [`TASK`].
fn next() -> String {
    after(TASK)
}

/// The id of the task that follows a task.
fn after(id: &str) -> String {
    next_id(Uuid::try_parse(id).unwrap()).to_string()
}

/// A monthly task of the server, due on 31 January.
fn monthly(id: i64, status: &str) -> Event {
    of_series(id, TASK, status, "2026-01-31")
}

fn of_series(id: i64, record: &str, status: &str, due: &str) -> Event {
    let completed_at = (status == "done").then_some("2026-01-05T18:00:00.000Z");
    let fields = json!({
        "title": "Filter", "priority": "medium", "status": status, "due_on": due, "recurrence": "monthly",
        "recurrence_every": 1, "recurrence_anchor": "2026-01-31", "completed_at": completed_at,
    });
    event(id, "updated", "task", record, fields)
}

impl Scene {
    /// A scene with the task of [`monthly`], which a person has completed in the terminal UI: edits 1 and 2.
    fn completed() -> Scene {
        let mut scene = Scene::with(monthly(5, "open"));
        scene.complete(TASK);
        scene
    }

    /// A person completes a task in the terminal UI, on 5 January.
    fn complete(&mut self, id: &str) -> &mut Self {
        let done = object(json!({ "status": "done", "completed_at": "2026-01-05T18:00:00.000Z" }));
        edits::update(&mut self.db, Origin::Tui, Kind::Task, id, &done).unwrap();
        self
    }

    /// Title, status, due date, anchor and rev of the next task; null without a row.
    fn next_task(&self) -> Value {
        let text = "SELECT title, status, due_on, recurrence_anchor, rev FROM tasks WHERE id = ";
        self.rows(&format!("{text}'{}'", next()))[0].clone()
    }

    /// The server accepts the completion and shows it.
    fn confirm_completion(&mut self) -> &mut Self {
        let groups = self.ready_groups();
        self.freeze_groups(&groups[..1], Ask).expect("a request");
        self.answer(groups[0][0], accepted(6));
        self.hear(monthly(6, "done"))
    }
}

#[test]
fn completed_task_shows_next_at_once() {
    let mut scene = Scene::completed();
    assert_eq!(scene.next_task(), json!(["Filter", "open", "2026-02-28", "2026-01-31", null]));
    assert_eq!(scene.one("SELECT completed_at FROM tasks WHERE status = 'done'"), "2026-01-05T18:00:00.000Z");
    assert_eq!(scene.rows("SELECT method, origin FROM edits"), json!([["update", "tui"], ["create", "tui"]]));
    let why = "the next task of a series, completed by edit 1; the server creates it";
    scene.shows("SELECT state, reason FROM edits WHERE id = 2", json!(["waiting", why]));
    assert_eq!(scene.one("SELECT count(*) FROM search WHERE search MATCH 'filter'"), "2");
    // Only the completion is sent. The server computes the anchor.
    assert_eq!(scene.ready_groups(), [[1]]);
    assert_eq!(body(&scene.send(1)), json!({ "status": "done", "completed_at": "2026-01-05T18:00:00.000Z" }));
    scene.answer(1, accepted(6));
    assert_eq!(scene.ready_groups(), [[0; 0]; 0], "the next task is never sent");
    assert_eq!(gate::last_edit_ids(&scene.db).unwrap(), [1], "one step to undo");
}

#[test]
fn script_completion_gets_next_from_next_program() {
    let mut scene = Scene::with(monthly(5, "open"));
    scene.does("UPDATE tasks SET status = 'done', completed_at = '2026-01-05'");
    assert_eq!(scene.next_task(), Value::Null);
    assert!(next_tasks::make::is_due(&scene.db).unwrap());
    // The rows at the time of the completion count.
    scene.does("UPDATE tasks SET title = 'Later'");
    next_tasks::make::make_due(&mut scene.db).unwrap();
    assert_eq!(scene.next_task(), json!(["Filter", "open", "2026-02-28", "2026-01-31", null]));
    assert_eq!(scene.one("SELECT origin FROM edits WHERE method = 'create'"), "sql");
    assert!(!next_tasks::make::is_due(&scene.db).unwrap());
}

#[test]
fn day_of_completion_is_in_home_time_zone() {
    let mut scene = Scene::new();
    let daily = json!({ "title": "Cat", "status": "open", "recurrence": "daily", "due_on": null });
    scene.hear([
        event(4, "created", "property", HOME, json!({ "time_zone": "Europe/Berlin" })),
        event(5, "created", "task", TASK, daily),
    ]);
    scene.does("UPDATE tasks SET status = 'done', completed_at = '2026-01-31T23:30:00Z'");
    next_tasks::make::make_due(&mut scene.db).unwrap();
    assert_eq!(scene.next_task(), json!(["Cat", "open", "2026-02-02", "2026-02-01", null]));
}

#[test]
fn used_id_makes_no_next() {
    for known in [
        event(4, "updated", "task", &next(), json!({ "title": "Next", "status": "done" })),
        event(4, "created", "room", &next(), json!({ "name": "Hall" })),
        gone(4, "task", &next()),
    ] {
        let mut scene = Scene::with([known, monthly(5, "open")]);
        scene.complete(TASK);
        assert_eq!(
            scene
                .row("SELECT (SELECT count(*) FROM edits), (SELECT count(*) FROM _outbox WHERE completes IS NOT NULL)"),
            json!([1, 0])
        );
    }
}

#[test]
fn reopened_task_makes_no_second_next() {
    let mut scene = Scene::completed();
    scene.does(&format!("UPDATE tasks SET status = 'open' WHERE id = '{TASK}'")).complete(TASK);
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "2");
    // The server must see the first completion: later edits are not coalesced with it.
    assert_eq!(scene.ready_groups(), [[1]]);
    scene.confirm_completion().hear(of_series(7, &next(), "open", "2026-02-28"));
    assert_eq!(scene.ready_groups(), [[3, 4]]);
}

#[test]
fn second_completion_keeps_its_moment() {
    // The reopening and the second completion go as one request: the status is the same, the moment is not.
    let mut scene = Scene::completed();
    scene.does(&format!("UPDATE tasks SET status = 'open' WHERE id = '{TASK}'"));
    let again = "2026-01-25T09:00:00.000Z";
    scene.does(&format!("UPDATE tasks SET status = 'done', completed_at = '{again}' WHERE id = '{TASK}'"));
    next_tasks::make::make_due(&mut scene.db).unwrap();
    let done = |id, moment: &str| {
        let mut event = monthly(id, "done");
        event.payload.as_mut().unwrap().insert("completed_at".to_owned(), moment.into());
        event
    };
    scene.accept(1, 6).hear([done(6, "2026-01-05T18:00:00.000Z"), of_series(7, &next(), "open", "2026-02-28")]);
    assert_eq!(body(&scene.send([3, 4])), json!({ "status": "done", "completed_at": again }));
    scene.answer(3, accepted(8)).hear(done(8, again));
    let moment = format!("SELECT completed_at FROM tasks WHERE id = '{TASK}'");
    assert_eq!((scene.one(&moment), scene.states().as_str()), (again.to_owned(), ""));
    // The status was already done on the server by the first completion made here, not by somebody else.
    scene.undo(Some(4)).unwrap();
    assert_eq!(scene.one(&format!("SELECT status FROM tasks WHERE id = '{TASK}'")), "open");
}

#[test]
fn next_task_of_own_completion_is_own_change() {
    let is_own = |scene: &Scene| {
        scene.one(&format!(
        "SELECT EXISTS (SELECT 1 FROM edit_history h JOIN tasks t ON t.id = h.record_id AND t.rev = h.rev WHERE t.id = '{}')",
        next()
    ))
    };
    let mut scene = Scene::completed();
    scene.confirm_completion().hear(of_series(7, &next(), "open", "2026-02-28"));
    assert_eq!(is_own(&scene), "1");
    scene.hear(of_series(9, &next(), "open", "2026-03-01"));
    assert_eq!(is_own(&scene), "0", "somebody changed the task since");
    // Somebody else completed the task.
    let mut scene = Scene::completed();
    scene.hear([monthly(6, "done"), of_series(7, &next(), "open", "2026-02-28")]);
    assert_eq!(is_own(&scene), "0");
}

#[test]
fn next_task_counts_only_after_its_completion() {
    let waiting = |scene: &Scene| scene.row("SELECT waiting, needs_you FROM sync_status");
    let mut scene = Scene::completed();
    scene.complete(&next());
    assert_eq!(waiting(&scene), json!([2, 0]), "two completions are to be sent");
    scene.confirm_completion();
    assert_eq!(waiting(&scene), json!([2, 0]), "the server must still show the next task");
    scene.hear(of_series(7, &next(), "open", "2026-02-28"));
    assert_eq!(waiting(&scene), json!([1, 0]));
    // The completion goes as one request with the create of its task.
    let mut scene = Scene::written(&format!(
        "INSERT INTO tasks (id, title, recurrence, due_on) VALUES ('{TASK}', 'Filter', 'monthly', '2026-01-31')"
    ));
    scene.complete(TASK).send([1, 2]);
    assert_eq!(waiting(&scene), json!([1, 0]));
}

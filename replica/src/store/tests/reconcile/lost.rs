//! Edits that a restored server has lost, or only seems to have lost: offered again, confirmed, or waiting.

use super::*;

mod accepted;
mod conflict_rows;
mod overwritten;
mod second_reconcile;

/// A room and a task that both histories share. In the discarded history: an update of the task, a new car, and a
/// document of somebody else.
fn lost_history() -> Scene {
    let mut scene = Scene::with([room(4, "Shed"), task(5, "Paint", "low")]);
    scene.does(&format!("UPDATE tasks SET priority = 'high'; INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car')"));
    scene.does("UPDATE rooms SET floor = '2'").accept_each(&[(1, 6), (2, 7), (3, 9)]);
    scene.hear([task(6, "Paint", "high"), car(7), paper(8, "Theirs")]);
    scene.shows("SELECT count(*), (SELECT count(*) FROM edits) FROM edit_history", json!([2, 1]));
    scene
}

/// A task whose update the server has accepted at 6. The replica is at 5.
fn accepted_at_6() -> Scene {
    let mut scene = Scene::edited_at_present("UPDATE tasks SET priority = 'high'");
    scene.accept(1, 6);
    scene
}

/// During a reconcile, the server accepted the create of a car at 8 and an update of a task at 9. Neither event has
/// come.
fn accepted_in_a_recovery(cause: &ReconcileCause, present: Option<i64>) -> Scene {
    let mut scene = Scene::with_task_at_present();
    scene.recovers(cause);
    if let Some(head) = present {
        scene.is_at_present(head);
    }
    scene.does(&format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car'); UPDATE tasks SET priority = 'high'"));
    scene.accept_each(&[(1, 8), (2, 9)]);
    scene
}

#[test]
fn lost_edits_are_offered() {
    let mut scene = lost_history();
    let reconcile = scene.begins(&restored(Some(5)));
    assert_eq!(reconcile.scope.since(), Some(&at(4).to_string()), "the newest of what both histories share");
    assert_eq!(scene.one("SELECT position FROM _sync"), "5");
    assert_eq!(
        scene.rows("SELECT id, method, state FROM edits ORDER BY id"),
        json!([[1, "update", "conflict"], [2, "create", "conflict"], [3, "update", "sent"]]),
        "whether what the feed has not confirmed is lost shows at the end"
    );
    assert_eq!(scene.one("SELECT count(*) FROM edit_history"), "0");
    let fetched = ReconcileResponse { records: vec![listed_task(5, "Paint", "low")], ..ReconcileResponse::default() };
    scene.saves(ReconcileQuery::Record { kind: Kind::Task, id: TASK.into() }, fetched, ReconcileStep::Done);
    scene.finds(6, [(Kind::Document, vec![]), (Kind::Room, vec![listed_room(6, "Barn")]), (Kind::Vehicle, vec![])]);
    scene.shows("SELECT priority, rev FROM tasks", json!(["high", 5]));
    scene.shows("SELECT name, floor, rev FROM rooms", json!(["Barn", "2", 6]));
    scene.shows("SELECT name, (rev IS NULL), (SELECT count(*) FROM documents) FROM vehicles", json!(["Car", 1, 0]));
    scene.shows("SELECT needs_you, position FROM sync_status", json!([3, 6]));
    assert_eq!(scene.one("SELECT count(*) FROM edits WHERE idempotency_key IS NOT NULL"), "0", "sent again it is new");
    scene.retry_each(&[1, 2, 3]);
    assert_eq!(scene.column("SELECT DISTINCT state FROM edits"), json!(["waiting"]));
}

/// Ends a reconcile whose lists show this task, this room and nothing else.
fn ends_with(scene: &mut Scene, task: Fields, room: Fields, as_of: i64) {
    let none = [(Kind::Document, vec![]), (Kind::Vehicle, vec![])];
    scene.finds(as_of, none.into_iter().chain([(Kind::Task, vec![task]), (Kind::Room, vec![room])]));
}

/// The room as the server lists it, with the floor that was written here.
fn shed_on_floor_2() -> Fields {
    record(ROOM, 4, json!({ "name": "Shed", "floor": "2" }))
}

#[test]
fn second_restore_rechecks_found_edits() {
    let mut scene = lost_history();
    let reconcile = scene.begins(&restored(None));
    assert_eq!((reconcile.scope.since(), scene.one("SELECT position FROM _sync")), (None, "0".to_owned()));
    ends_with(&mut scene, listed_task(6, "Paint", "high"), shed_on_floor_2(), 9);
    assert_eq!(scene.edit_states(), "2 conflict", "the others are there");
    scene.recovers(&restored(Some(5)));
    ends_with(&mut scene, listed_task(5, "Paint", "low"), shed_on_floor_2(), 9);
    assert_eq!(scene.edit_states(), "1 conflict, 2 conflict");
}

#[test]
fn unknown_fork_ignores_overwritten_edits() {
    let mut scene = lost_history();
    scene.catch_up([task(9, "Paint", "low"), gone(10, "vehicle", CAR)]).recovers(&restored(None));
    // The copy had everything but the room's floor.
    ends_with(&mut scene, listed_task(9, "Paint", "low"), listed_room(4, "Shed"), 10);
    assert_eq!(scene.edit_states(), "3 conflict");
    scene.shows("SELECT priority, (SELECT count(*) FROM vehicles) FROM tasks", json!(["low", 0]));
    assert_eq!(scene.column("SELECT outcome FROM edit_history"), json!(["confirmed", "confirmed"]));
}

#[test]
fn unknown_fork_stays_unknown() {
    let mut scene = lost_history();
    scene.recovers(&restored(None));
    // The server is restored again before the first reconcile has found what is lost.
    scene.recovers(&restored(Some(100)));
    ends_with(&mut scene, listed_task(5, "Paint", "low"), shed_on_floor_2(), 102);
    assert_eq!(scene.edit_states(), "1 conflict, 2 conflict");
}

/// A task at 6 and a room at 4, both changed here by requests without a response; the server is then restored.
fn unanswered_before(cause: &ReconcileCause) -> Scene {
    let mut scene = Scene::present([room(4, "Shed"), task(6, "Paint", "low")]);
    scene.does("UPDATE tasks SET priority = 'high'").attempt(1, no_answer()).does("UPDATE rooms SET floor = '2'");
    scene.attempt(2, no_answer()).recovers(cause);
    scene
}

#[test]
fn request_with_lost_revision_is_dropped() {
    let mut scene = unanswered_before(&restored(Some(5)));
    // Position 6 is now a change by somebody else.
    ends_with(&mut scene, listed_task(6, "Paint", "urgent"), listed_room(4, "Shed"), 6);
    assert_eq!(scene.plan(), [1, 2]);
    assert_eq!(scene.freeze_as("again", 1, Ask), None);
    assert_eq!(scene.one("SELECT state FROM edits WHERE id = 1"), "conflict");
    let room = scene.freeze_as("again", 2, Ask).unwrap();
    assert_eq!((room.key.as_str(), room.if_match), ("key-2", Some(4)), "what both histories share, it may insist on");
    // When nobody changed the same field, the edit is sent in a new request.
    let mut scene = unanswered_before(&restored(Some(5)));
    ends_with(&mut scene, listed_task(6, "Theirs", "low"), listed_room(4, "Shed"), 6);
    let request = scene.freeze_as("again", 1, Ask).unwrap();
    assert_eq!((request.key.as_str(), request.if_match), ("again", Some(6)));
}

#[test]
fn unknown_fork_holds_requests_with_if_match() {
    let mut scene = unanswered_before(&restored(None));
    scene.greets(6, &[]);
    assert_eq!(scene.plan(), [0; 0], "what is there now is not known yet");
    ends_with(&mut scene, listed_task(6, "Theirs", "low"), shed_on_floor_2(), 6);
    assert_eq!(scene.plan(), [1, 2]);
    assert_eq!([1, 2].map(|edit| scene.freeze_as("again", edit, Mine)), [None, None]);
    // The update of the task may have been applied before the fork and reversed since.
    scene.shows("SELECT state, (reason LIKE 'it may have been%') FROM edits", json!(["conflict", 1]));
    assert_eq!(scene.outcomes(), "2 merged");
}

#[test]
fn bulk_with_lost_revision_is_dropped_whole() {
    let mut scene = Scene::new();
    let other = "0190a3b0-0000-7000-8000-000000000004";
    scene.catch_up([event(4, "created", "task", other, json!({ "title": "Sweep" })), task(6, "Paint", "low")]);
    scene.does("UPDATE tasks SET priority = 'high'");
    assert!(scene.freeze_groups_as("call", &[vec![1], vec![2]], Ask).unwrap().bulk);
    scene.answer(1, no_answer()).answer(2, no_answer()).recovers(&restored(Some(5)));
    scene.shows("SELECT count(*), (SELECT count(if_match) FROM _outbox) FROM _requests", json!([0, 0]));
    assert_eq!(scene.one("SELECT count(*) FROM edits WHERE idempotency_key IS NULL"), "2");
}

#[test]
fn merged_edit_is_offered_when_lost() {
    let mut scene = Scene::with([room(4, "Shed"), task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET priority = 'high'").hear(task(6, "Paint", "high")).sends_nothing(1);
    scene.shows("SELECT outcome, rev FROM edit_history", json!(["merged", 6]));
    scene.is_at_present(6).recovers(&restored(Some(5)));
    assert_eq!(scene.states(), "conflict");
}

#[test]
fn accepted_create_that_lists_lack_is_offered() {
    let mut scene = Scene::new();
    scene.is_at_present(5).does(&format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car')")).accept(1, 6);
    scene.does("UPDATE vehicles SET color = 'red'").recovers_at(&gap(), 90).sweeps(Kind::Vehicle, &[], 90).finishes();
    assert_eq!(scene.plan(), [0; 0]);
    assert_eq!(scene.states(), "conflict blocked");
    // Somebody deleted the car, or the server was restored to before it; this replica cannot know.
    assert!(scene.one("SELECT reason FROM edits WHERE id = 1").contains("deleted on the server since, or lost"));
    scene.shows("SELECT name, color FROM vehicles", json!(["Car", "red"]));
}

#[test]
fn edit_acked_in_gap_is_compared_by_lists() {
    for (shown, edits) in [("high", "1 confirmed; "), ("low", "; conflict")] {
        let mut scene = Scene::edited_at_present("UPDATE tasks SET priority = 'high'");
        scene.accept(1, 8).recovers_at(&gap(), 90);
        assert_eq!(scene.states(), "sent");
        scene.finds(90, [(Kind::Task, vec![listed_task(70, "Paint it", shown)])]);
        assert_eq!(scene.edits(), edits, "{shown}");
    }
}

#[test]
fn edit_acked_by_new_history_is_not_lost() {
    let mut scene = lost_history();
    scene.does("UPDATE rooms SET paint_color = 'red'").send(4);
    // The server was restored to 5, unnoticed.
    scene.answer(4, accepted(7)).recovers(&restored(Some(5))).does("UPDATE rooms SET notes = 'later'");
    assert_eq!(scene.plan(), [0; 0], "it waits until it is known what is there");
    let room = record(ROOM, 7, json!({ "name": "Shed", "paint_color": "red" }));
    ends_with(&mut scene, listed_task(5, "Paint", "low"), room, 8);
    assert_eq!(scene.outcomes(), "4 confirmed");
    assert_eq!(scene.edit_states(), "1 conflict, 2 conflict, 3 conflict, 5 waiting");
}

#[test]
fn skipped_edit_is_compared_by_lists() {
    // After a gap, the feed resumes at 90 and shows neither record.
    let mut scene = accepted_in_a_recovery(&gap(), None);
    reconcile::begin(&mut scene.db, &asked()).unwrap();
    scene.catch_up(paper(91, "Deed"));
    assert_eq!(scene.states(), "sent sent");
    scene.is_listed(Kind::Task, vec![listed_task(9, "Paint", "high")], 91);
    scene.is_listed(Kind::Vehicle, vec![record(CAR, 8, json!({ "name": "Car" }))], 91).finishes();
    assert_eq!(scene.outcomes(), "1 confirmed, 2 confirmed");
}

#[test]
fn delete_of_missing_record_is_confirmed() {
    let mut scene = Scene::with_task_at_present();
    scene.recovers_at(&gap(), 90).does("DELETE FROM tasks").send(1);
    // Somebody deleted the record in the gap, and the edit's own event never comes.
    scene.answer(1, accepted(91)).hear(paper(92, "Deed"));
    assert_eq!(scene.states(), "sent");
    scene.sweeps(Kind::Task, &[], 92).finishes();
    assert_eq!(scene.outcomes(), "1 confirmed");
}

#[test]
fn delete_lost_in_reconcile_is_offered() {
    let mut scene = Scene::with_task_at_present();
    scene.recovers(&asked()).does("DELETE FROM tasks").accept(1, 6);
    scene.hear(paper(7, "Theirs")).sweeps(Kind::Task, &[(TASK, 5)], 7).finishes().is_at_present(7);
    assert_eq!(scene.states(), "conflict");
}

#[test]
fn head_below_acked_edit_means_restore() {
    let mut scene = accepted_at_6();
    scene.greets(5, &[]);
    assert_eq!(scene.one("SELECT state FROM edits"), "sent", "the server accepted the edit after the greeting");
    scene.greets(6, &[1]);
    assert_eq!(scene.one("SELECT state FROM edits"), "sent");
    scene.greets(5, &[1]);
    scene.shows("SELECT state, (SELECT priority FROM tasks) FROM edits", json!(["conflict", "high"]));
}

#[test]
fn delete_of_discarded_history_is_offered() {
    let mut scene = Scene::edited("DELETE FROM tasks");
    // Somebody else deleted the record first, and both sides agree.
    scene.hear(deleted(6));
    assert_eq!(scene.outcomes(), "1 confirmed");
    scene.recovers(&restored(Some(5))).shows("SELECT method, state FROM edits", json!(["delete", "conflict"]));
}

#[test]
fn lost_edit_of_deleted_record_is_offered() {
    let mut scene = lost_history();
    scene.recovers(&restored(Some(3)));
    scene.finds(6, [(Kind::Document, vec![]), (Kind::Room, vec![]), (Kind::Vehicle, vec![])]);
    assert_eq!(scene.one("SELECT state FROM edits WHERE id = 3"), "conflict");
    scene.shows("SELECT name, floor FROM rooms", json!(["Shed", "2"]));
}

#[test]
fn update_waits_for_lost_create() {
    let mut scene = Scene::new();
    let create = format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car')");
    scene.is_at_present(5).does(&create).confirm(1, car(6));
    scene.does("UPDATE vehicles SET color = 'red'").recovers(&restored(Some(5)));
    scene.sweeps(Kind::Vehicle, &[], 20);
    assert_eq!(scene.edit_states(), "1 conflict, 2 waiting", "the create is offered, and nothing is deleted");
    scene.shows("SELECT name, color FROM vehicles", json!(["Car", "red"]));
    scene.finishes_at(20);
    assert_eq!(scene.plan(), [0; 0]);
    assert_eq!(scene.edit_states(), "1 conflict, 2 blocked");
    scene.retry(1).unwrap();
    assert_eq!(scene.plan(), [1]);
}

#[test]
fn retry_sends_lost_delete_after_lost_update() {
    for fork in [Some(5), None] {
        let mut scene = Scene::present(task(5, "Paint", "low"));
        scene.does("UPDATE tasks SET priority = 'high'").confirm(1, task(6, "Paint", "high"));
        scene.does("DELETE FROM tasks").confirm(2, deleted(7)).recovers(&restored(fork));
        scene.finds(20, [(Kind::Task, vec![listed_task(5, "Paint", "low")])]);
        assert_eq!(scene.edit_states(), "2 conflict", "a person decides about the delete alone");
        scene.retry(2).unwrap();
        assert_eq!(scene.plan(), [2], "{fork:?}");
    }
}

#[test]
fn position_of_discarded_history_is_forgotten_while_a_delete_waits() {
    let mut scene = Scene::new();
    scene.is_at_present(5).hear(event(6, "created", "vehicle", CAR, json!({ "name": "Car" })));
    scene.does("UPDATE vehicles SET color = 'red'").accept(1, 7);
    scene.hear(event(7, "updated", "vehicle", CAR, json!({ "name": "Car", "color": "red" })));
    scene.does("DELETE FROM vehicles").recovers(&restored(Some(6)));
    assert_eq!(scene.states(), "waiting", "only the delete is left to send");
    scene.shows("SELECT outcome, rev FROM edit_history", json!(["confirmed", null]));
}

#[test]
fn lost_update_can_recreate_lost_record() {
    for (fork, is_retried) in [(Some(5), true), (None, true), (None, false)] {
        let mut scene = Scene::new();
        scene.is_at_present(5).hear(event(6, "created", "vehicle", CAR, json!({ "name": "Car", "make": "Volvo" })));
        scene.does("UPDATE vehicles SET color = 'red'").accept(1, 7);
        scene.hear(event(7, "updated", "vehicle", CAR, json!({ "name": "Car", "make": "Volvo", "color": "red" })));
        assert_eq!(scene.outcomes(), "1 confirmed");
        scene.recovers(&restored(fork)).sweeps(Kind::Vehicle, &[], 20).finishes_at(20);
        assert_eq!(scene.row("SELECT state, method FROM edits"), json!(["conflict", "update"]), "{fork:?}");
        assert_eq!(scene.row("SELECT name, make, color FROM vehicles"), json!(["Car", "Volvo", "red"]), "{fork:?}");
        assert!(scene.one("SELECT reason FROM edits").contains("older copy"));
        // The present history has not used the id, so the record keeps it.
        if is_retried { scene.retry(1) } else { scene.resolve(1, &Resolution::mine()) }.unwrap();
        let sent = "SELECT method, record_id, patch ->> 'name', patch ->> 'color' FROM edits WHERE state = 'waiting'";
        assert_eq!(scene.row(sent), json!(["create", CAR, "Car", "red"]), "{fork:?}");
        assert_eq!(scene.plan(), [1], "{fork:?}");
    }
}

#[test]
fn created_and_deleted_here_is_not_lost() {
    let mut scene = Scene::with(room(4, "Shed"));
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')")).send(1);
    scene.does("DELETE FROM tasks");
    // The first response was lost, somebody else deleted the record, and the feed left out both events.
    scene.is_at_present(9).answer(1, accepted(5)).send(2);
    scene.hear(event(10, "updated", "room", ROOM, json!({ "name": "Barn" })));
    assert_eq!(scene.edits(), "1 confirmed; sending");
    scene.answer(2, accepted(11)).hear(event(11, "updated", "room", ROOM, json!({ "name": "Hut" })));
    assert_eq!(scene.edits(), "1 confirmed, 2 confirmed; ");
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "0");
}

//! What a server that was put back has lost, and what only looks so: offered again, confirmed, or waited for.

use super::*;
use crate::model::Origin;
use crate::store::edits::resolve::{self, Resolution};

mod accepted;
mod again;
mod overwritten;
mod shown;

/// A room and a task that both histories share; afterwards, in the lost one: our update of the task, our car, and a
/// document of somebody else.
fn lost_history() -> Scene {
    let mut scene = Scene::new();
    scene.hear(vec![event(4, "created", "room", ROOM, json!({ "name": "Shed" })), task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.does(&format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car')"));
    scene.does("UPDATE rooms SET floor = '2'");
    for (edit, rev) in [(1, 6), (2, 7), (3, 9)] {
        scene.send(edit);
        scene.answer(edit, Verdict::Sent { rev: Some(rev) });
    }
    scene.hear(vec![
        task(6, "Paint", "high"),
        event(7, "created", "vehicle", CAR, json!({ "name": "Car" })),
        event(8, "created", "document", HOME, json!({ "title": "Theirs" })),
    ]);
    assert_eq!(scene.one("SELECT count(*) || (SELECT count(*) FROM edits) FROM edit_history"), "21");
    scene
}

/// A task whose update the server has accepted at 6; the replica is at 5.
fn accepted_at_6() -> Scene {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.is_at_present(5);
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.send(1);
    scene.answer(1, Verdict::Sent { rev: Some(6) });
    scene
}

/// A car whose create the server took at 8 while a recovery was under way, and a task whose update it took at 9; neither
/// event has come.
fn accepted_in_a_recovery(cause: &Cause, present: Option<i64>) -> Scene {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.is_at_present(5);
    scene.recovers(cause);
    if let Some(head) = present {
        scene.is_at_present(head);
    }
    scene.does(&format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car')"));
    scene.does("UPDATE tasks SET priority = 'high'");
    for (edit, rev) in [(1, 8), (2, 9)] {
        scene.send(edit);
        scene.answer(edit, Verdict::Sent { rev: Some(rev) });
    }
    scene
}

#[test]
fn of_lost_changes_of_one_field_the_first_goes_again_first() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    for (edit, rev, title) in [(1, 6, "One"), (2, 7, "Two")] {
        scene.does(&format!("UPDATE tasks SET title = '{title}'"));
        scene.send(edit);
        scene.answer(edit, Verdict::Sent { rev: Some(rev) });
        scene.hear(vec![task(rev, title, "low")]);
    }
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: Some(5) });
    scene.is_listed(Kind::Task, vec![record(TASK, 5, json!({ "title": "Paint", "priority": "low" }))], 5);
    scene.is_walked(Kind::Task, &[(TASK, 5)], 5);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    let refused = decide::retry(&mut scene.db, 2).unwrap_err().to_string();
    assert_eq!(refused, "“Two”: edit 1 comes before this one; retry or discard that first");
    for edit in [1, 2] {
        decide::retry(&mut scene.db, edit).unwrap();
    }
    assert_eq!(scene.one("SELECT group_concat(state) FROM edits"), "waiting,waiting");
}

#[test]
fn what_the_server_lost_is_offered_again() {
    let mut scene = lost_history();
    let recovery = scene.recovers(&Cause::Restored { resume: "r".into(), fork: Some(5) });
    assert_eq!(recovery.since, Some(at(4).to_string()), "the newest of what both histories share");
    assert_eq!(scene.one("SELECT position FROM _sync"), "5");
    assert_eq!(
        scene.one("SELECT group_concat(id || method || state) FROM (SELECT * FROM edits ORDER BY id)"),
        "1updateconflict,2createconflict,3updatesent",
        "whether what the feed has not confirmed is lost shows at the end"
    );
    assert_eq!(scene.one("SELECT count(*) FROM edit_history"), "0");
    scene.is_listed(Kind::Room, vec![record(ROOM, 6, json!({ "name": "Barn" }))], 6);
    for (kind, ids) in [(Kind::Document, vec![]), (Kind::Room, vec![(ROOM, 6)]), (Kind::Vehicle, vec![])] {
        scene.is_walked(kind, &ids, 6);
    }
    let walked =
        Found { records: vec![record(TASK, 5, json!({ "title": "Paint", "priority": "low" }))], ..Found::default() };
    let question = Question::Record { kind: Kind::Task, id: TASK.into() };
    recovery::keep(&mut scene.db, &question, &walked, &Step::Done).unwrap();
    scene.is_at_present(6);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!(scene.one("SELECT priority || rev FROM tasks"), "high5");
    assert_eq!(scene.one("SELECT name || floor || rev FROM rooms"), "Barn26");
    assert_eq!(scene.one("SELECT name || (rev IS NULL) FROM vehicles"), "Car1");
    assert_eq!(scene.one("SELECT count(*) FROM documents"), "0");
    assert_eq!(scene.one("SELECT needs_you || position FROM sync_status"), "36");
    assert_eq!(scene.one("SELECT count(*) FROM edits WHERE idempotency_key IS NOT NULL"), "0", "sent again it is new");
    for edit in 1..=3 {
        decide::retry(&mut scene.db, edit).unwrap();
    }
    assert_eq!(scene.one("SELECT group_concat(DISTINCT state) FROM edits"), "waiting");
}

#[test]
fn without_a_known_fork_only_what_is_not_there_is_offered_again() {
    let mut scene = lost_history();
    let recovery = scene.recovers(&Cause::Restored { resume: "r".into(), fork: None });
    assert_eq!((recovery.since, scene.one("SELECT position FROM _sync")), (None, "0".to_owned()));
    assert_eq!(scene.one("SELECT group_concat(state) FROM edits"), "sent");
    scene.is_listed(Kind::Task, vec![record(TASK, 6, json!({ "title": "Paint", "priority": "high" }))], 9);
    scene.is_listed(Kind::Room, vec![record(ROOM, 4, json!({ "name": "Shed" }))], 9);
    for (kind, ids) in [
        (Kind::Document, vec![]),
        (Kind::Task, vec![(TASK, 6)]),
        (Kind::Room, vec![(ROOM, 4)]),
        (Kind::Vehicle, vec![]),
    ] {
        scene.is_walked(kind, &ids, 9);
    }
    scene.is_at_present(9);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!(
        scene.one("SELECT group_concat(id || state) FROM (SELECT * FROM edits ORDER BY id)"),
        "2conflict,3conflict"
    );
    assert_eq!(scene.one("SELECT name || (rev IS NULL) FROM vehicles"), "Car1");
    assert_eq!(scene.one("SELECT floor || rev FROM rooms"), "24");
}

/// Ends a recovery whose lists show this task, this room and nothing else.
fn ends_with(scene: &mut Scene, task: Fields, room: Fields, as_of: i64) {
    let revs = [&task, &room].map(|it| it["rev"].as_i64().unwrap());
    scene.is_listed(Kind::Task, vec![task], as_of);
    scene.is_listed(Kind::Room, vec![room], as_of);
    let here = [(Kind::Task, vec![(TASK, revs[0])]), (Kind::Room, vec![(ROOM, revs[1])])];
    for (kind, ids) in [(Kind::Document, vec![]), (Kind::Vehicle, vec![])].into_iter().chain(here) {
        scene.is_walked(kind, &ids, as_of);
    }
    scene.is_at_present(as_of);
    recovery::finish(&mut scene.db, at(0)).unwrap();
}

#[test]
fn what_was_found_in_place_is_looked_for_again_when_the_server_is_put_back_again() {
    let mut scene = lost_history();
    let room = record(ROOM, 4, json!({ "name": "Shed", "floor": "2" }));
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: None });
    ends_with(&mut scene, record(TASK, 6, json!({ "title": "Paint", "priority": "high" })), room.clone(), 9);
    assert_eq!(scene.one("SELECT group_concat(id || state) FROM edits"), "2conflict", "the others are there");
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: Some(5) });
    ends_with(&mut scene, record(TASK, 5, json!({ "title": "Paint", "priority": "low" })), room, 9);
    assert_eq!(
        scene.one("SELECT group_concat(id || state) FROM (SELECT * FROM edits ORDER BY id)"),
        "1conflict,2conflict"
    );
}

#[test]
fn without_a_known_fork_what_somebody_had_written_over_is_not_called_lost() {
    let mut scene = lost_history();
    scene.hear(vec![task(9, "Paint", "low"), event(10, "deleted", "vehicle", CAR, Value::Null)]);
    scene.is_at_present(10);
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: None });
    // The copy had all of it but the room's floor.
    let room = record(ROOM, 4, json!({ "name": "Shed" }));
    ends_with(&mut scene, record(TASK, 9, json!({ "title": "Paint", "priority": "low" })), room, 10);
    assert_eq!(scene.one("SELECT group_concat(id || state) FROM edits"), "3conflict");
    assert_eq!(scene.one("SELECT priority || (SELECT count(*) FROM vehicles) FROM tasks"), "low0");
    assert_eq!(scene.one("SELECT group_concat(outcome) FROM edit_history"), "confirmed,confirmed");
}

#[test]
fn a_fork_that_was_not_known_is_not_known_by_the_next_one() {
    let mut scene = lost_history();
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: None });
    // It is put back again before the first recovery has told what is lost.
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: Some(100) });
    let room = record(ROOM, 4, json!({ "name": "Shed", "floor": "2" }));
    ends_with(&mut scene, record(TASK, 5, json!({ "title": "Paint", "priority": "low" })), room, 102);
    assert_eq!(
        scene.one("SELECT group_concat(id || state) FROM (SELECT * FROM edits ORDER BY id)"),
        "1conflict,2conflict"
    );
}

/// A task at 6 and a room at 4, both changed here by requests that got no answer; then the server is put back.
fn unanswered_before(cause: &Cause) -> Scene {
    let mut scene = Scene::new();
    scene.hear(vec![event(4, "created", "room", ROOM, json!({ "name": "Shed" })), task(6, "Paint", "low")]);
    scene.is_at_present(6);
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.send(1);
    scene.answer(1, Verdict::Later { at: None, reason: "no answer".into() });
    scene.does("UPDATE rooms SET floor = '2'");
    scene.send(2);
    scene.answer(2, Verdict::Later { at: None, reason: "no answer".into() });
    scene.recovers(cause);
    scene
}

#[test]
fn a_request_that_insists_on_a_lost_revision_does_not_go_again() {
    let mut scene = unanswered_before(&Cause::Restored { resume: "r".into(), fork: Some(5) });
    // 6 is another's change now.
    let theirs = record(TASK, 6, json!({ "title": "Paint", "priority": "urgent" }));
    ends_with(&mut scene, theirs, record(ROOM, 4, json!({ "name": "Shed" })), 6);
    assert_eq!(scene.plan(), [1, 2]);
    assert_eq!(scene.freeze_as("again", &[vec![1]], ConflictPolicy::Ask), None);
    assert_eq!(scene.one("SELECT state FROM edits WHERE id = 1"), "conflict");
    let room = scene.freeze_as("again", &[vec![2]], ConflictPolicy::Ask).unwrap();
    assert_eq!((room.key.as_str(), room.guard), ("key-2", Some(4)), "what both histories share, it may insist on");
    // And if nobody has changed what it changes, it goes by itself, as a new request.
    let mut scene = unanswered_before(&Cause::Restored { resume: "r".into(), fork: Some(5) });
    let theirs = record(TASK, 6, json!({ "title": "Theirs", "priority": "low" }));
    ends_with(&mut scene, theirs, record(ROOM, 4, json!({ "name": "Shed" })), 6);
    let request = scene.freeze_as("again", &[vec![1]], ConflictPolicy::Ask).unwrap();
    assert_eq!((request.key.as_str(), request.guard), ("again", Some(6)));
}

#[test]
fn without_a_known_fork_no_request_that_insists_on_a_revision_goes_again_by_itself() {
    let mut scene = unanswered_before(&Cause::Restored { resume: "r".into(), fork: None });
    sync_state::record_greeting(&mut scene.db, &greeting(6, &[]), at(0)).unwrap();
    assert_eq!(scene.plan(), [0; 0], "what is there now is not known yet");
    let theirs = record(TASK, 6, json!({ "title": "Theirs", "priority": "low" }));
    let room = record(ROOM, 4, json!({ "name": "Shed", "floor": "2" }));
    ends_with(&mut scene, theirs, room, 6);
    assert_eq!(scene.plan(), [1, 2]);
    for edit in [1, 2] {
        assert_eq!(scene.freeze_as("again", &[vec![edit]], ConflictPolicy::Mine), None);
    }
    // Perhaps the change of the task was in before the fork and was changed back since.
    assert_eq!(scene.one("SELECT state || (reason LIKE 'it may have been%') FROM edits"), "conflict1");
    assert_eq!(scene.outcomes(), "2 merged");
}

#[test]
fn a_call_goes_as_a_whole_when_one_of_its_edits_insists_on_a_lost_revision() {
    let mut scene = Scene::new();
    let other = "0190a3b0-0000-7000-8000-000000000004";
    scene.hear(vec![event(4, "created", "task", other, json!({ "title": "Sweep" })), task(6, "Paint", "low")]);
    scene.is_at_present(6);
    scene.does("UPDATE tasks SET priority = 'high'");
    let call = scene.freeze_as("call", &[vec![1], vec![2]], ConflictPolicy::Ask).unwrap();
    assert!(call.bulk);
    for edit in [1, 2] {
        scene.answer(edit, Verdict::Later { at: None, reason: "no answer".into() });
    }
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: Some(5) });
    assert_eq!(scene.one("SELECT count(*) FROM _requests"), "0");
    assert_eq!(scene.one("SELECT count(*) FROM _outbox"), "0");
    assert_eq!(scene.one("SELECT count(*) FROM edits WHERE idempotency_key IS NULL"), "2");
}

#[test]
fn what_others_had_done_already_is_offered_when_the_server_loses_it() {
    let mut scene = Scene::new();
    scene.hear(vec![event(4, "created", "room", ROOM, json!({ "name": "Shed" })), task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.hear(vec![task(6, "Paint", "high")]);
    assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Ask), None);
    assert_eq!(scene.one("SELECT outcome || rev FROM edit_history"), "merged6");
    scene.is_at_present(6);
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: Some(5) });
    assert_eq!(scene.states(), "conflict");
}

#[test]
fn an_accepted_edit_that_the_feed_passes_without_bringing_it_is_offered_again() {
    let mut scene = Scene::new();
    scene.hear(vec![event(4, "created", "room", ROOM, json!({ "name": "Shed" })), task(5, "Paint", "low")]);
    scene.is_at_present(5);
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.does("UPDATE rooms SET floor = '2'");
    for (edit, rev) in [(1, 6), (2, 7)] {
        scene.send(edit);
        scene.answer(edit, Verdict::Sent { rev: Some(rev) });
    }
    // The server was put back to 5 and has gone on: 6 is another change now.
    scene.hear(vec![event(6, "created", "vehicle", CAR, json!({ "name": "Car" }))]);
    assert_eq!(scene.one("SELECT group_concat(id || state) FROM edits"), "1conflict,2sent");
    assert_eq!(scene.one("SELECT priority FROM tasks"), "high", "what a person did stays visible");
    scene.hear(vec![event(7, "updated", "room", ROOM, json!({ "name": "Shed", "floor": "2" }))]);
    assert_eq!(scene.one("SELECT group_concat(id || state) FROM edits"), "1conflict");
}

/// A car that the server took and that never came back here, with an edit that it refused because the car was gone.
fn taken_and_gone(backfilled: bool) -> Scene {
    let mut scene = Scene::new();
    if backfilled {
        scene.is_at_present(5);
    }
    scene.does(&format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car')"));
    scene.send(1);
    scene.answer(1, Verdict::Sent { rev: Some(6) });
    scene.does("UPDATE vehicles SET color = 'red'");
    scene
}

#[test]
fn what_came_and_went_in_a_gap_is_offered_again_with_its_values() {
    let mut scene = taken_and_gone(true);
    scene.recovers(&gap());
    scene.is_at_present(90);
    assert_eq!(scene.is_walked(Kind::Vehicle, &[], 90), Swept::Done);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!(scene.plan(), [0; 0]);
    assert_eq!(scene.states(), "conflict blocked");
    // Others deleted it, or the server was put back to before it; nobody here can know.
    assert!(scene.one("SELECT reason FROM edits WHERE id = 1").contains("deleted there since, or lost"));
    assert_eq!(scene.one("SELECT name || color FROM vehicles"), "Carred");
}

#[test]
fn what_was_accepted_before_a_recovery_was_told_anything_is_judged_by_what_the_lists_show() {
    let mut scene = accepted_in_a_recovery(&gap(), None);
    // The server was put back to 7, unmarked, before it told anything after the cursor to go on from.
    scene.hear(vec![
        event(8, "created", "document", HOME, json!({ "title": "Theirs" })),
        with_key(task(9, "Paint", "high"), "key-2"),
        task(10, "Paint", "urgent"),
    ]);
    for (kind, ids) in [(Kind::Document, vec![(HOME, 8)]), (Kind::Task, vec![(TASK, 10)]), (Kind::Vehicle, vec![])] {
        assert_eq!(scene.is_walked(kind, &ids, 10), Swept::Done);
    }
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!((scene.states().as_str(), scene.outcomes().as_str()), ("conflict", "2 confirmed"));
    assert_eq!(scene.one("SELECT name || (rev IS NULL) FROM vehicles"), "Car1");
}

#[test]
fn what_was_accepted_in_a_gap_is_judged_by_what_the_lists_show() {
    for (shown, states, outcomes) in [("high", "", "1 confirmed"), ("low", "conflict", "")] {
        let mut scene = Scene::new();
        scene.hear(vec![task(5, "Paint", "low")]);
        scene.is_at_present(5);
        scene.does("UPDATE tasks SET priority = 'high'");
        scene.send(1);
        scene.answer(1, Verdict::Sent { rev: Some(8) });
        scene.recovers(&gap());
        scene.is_at_present(90);
        let task = record(TASK, 70, json!({ "title": "Paint it", "priority": shown }));
        scene.is_listed(Kind::Task, vec![task], 90);
        assert_eq!(scene.is_walked(Kind::Task, &[(TASK, 70)], 90), Swept::Done);
        recovery::finish(&mut scene.db, at(0)).unwrap();
        assert_eq!((scene.states().as_str(), scene.outcomes().as_str()), (states, outcomes), "{shown}");
    }
}

#[test]
fn a_record_whose_end_alone_is_told_keeps_its_values_for_its_edits() {
    // A first replay leaves out what was there between (contract 9.2).
    let mut scene = taken_and_gone(false);
    scene.hear(vec![event(9, "deleted", "vehicle", CAR, Value::Null)]);
    assert_eq!(scene.one("SELECT group_concat(id || state) FROM edits"), "2conflict");
    assert_eq!(scene.one("SELECT name || color FROM vehicles"), "Carred");
}

#[test]
fn what_the_new_history_has_accepted_already_is_not_lost() {
    let mut scene = lost_history();
    scene.does("UPDATE rooms SET paint_color = 'red'");
    scene.send(4);
    // The server has been put back to 5, and nobody here knows.
    scene.answer(4, Verdict::Sent { rev: Some(7) });
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: Some(5) });
    scene.does("UPDATE rooms SET notes = 'later'");
    assert_eq!(scene.plan(), [0; 0], "it waits until it is known what is there");
    let listed = json!({ "name": "Shed", "paint_color": "red" });
    scene.is_listed(Kind::Room, vec![record(ROOM, 7, listed)], 8);
    for (kind, ids) in [
        (Kind::Document, vec![]),
        (Kind::Task, vec![(TASK, 5)]),
        (Kind::Room, vec![(ROOM, 7)]),
        (Kind::Vehicle, vec![]),
    ] {
        scene.is_walked(kind, &ids, 8);
    }
    scene.is_at_present(8);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!(scene.one("SELECT group_concat(id || outcome) FROM edit_history"), "4confirmed");
    assert_eq!(
        scene.one("SELECT group_concat(id || state) FROM (SELECT * FROM edits ORDER BY id)"),
        "1conflict,2conflict,3conflict,5waiting"
    );
}

#[test]
fn what_the_tail_of_a_recovery_brings_is_not_lost() {
    for (cause, present) in [(Cause::Asked { accepted: false }, None), (gap(), Some(7))] {
        let mut scene = accepted_in_a_recovery(&cause, present);
        scene.hear(vec![with_key(event(8, "created", "vehicle", CAR, json!({ "name": "Car" })), "key-1")]);
        scene.hear(vec![with_key(task(9, "Paint", "high"), "key-2"), task(10, "Paint", "low")]);
        assert_eq!(scene.states(), "sent sent", "{cause:?}");
        recovery::finish(&mut scene.db, at(0)).unwrap();
        assert_eq!(scene.outcomes(), "1 confirmed,2 confirmed", "{cause:?}");
    }
}

#[test]
fn what_a_recovery_leaps_over_is_for_its_lists_to_tell() {
    // After a gap the feed goes on at 90, so it tells of neither.
    let mut scene = accepted_in_a_recovery(&gap(), None);
    recovery::begin(&mut scene.db, &Cause::Asked { accepted: false }).unwrap();
    scene.hear(vec![event(91, "created", "document", HOME, json!({ "title": "Deed" }))]);
    scene.is_at_present(91);
    assert_eq!(scene.states(), "sent sent");
    scene.is_listed(Kind::Task, vec![record(TASK, 9, json!({ "title": "Paint", "priority": "high" }))], 91);
    scene.is_listed(Kind::Vehicle, vec![record(CAR, 8, json!({ "name": "Car" }))], 91);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!(scene.outcomes(), "1 confirmed,2 confirmed");
}

#[test]
fn a_delete_whose_record_was_gone_before_a_recovery_is_done_at_its_end() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.is_at_present(5);
    scene.recovers(&gap());
    scene.is_at_present(90);
    scene.does("DELETE FROM tasks");
    scene.send(1);
    // Others deleted it in the gap, so no event of ours comes.
    scene.answer(1, Verdict::Sent { rev: Some(91) });
    scene.hear(vec![event(92, "created", "document", HOME, json!({ "title": "Deed" }))]);
    assert_eq!(scene.states(), "sent");
    assert_eq!(scene.is_walked(Kind::Task, &[], 92), Swept::Done);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!(scene.outcomes(), "1 confirmed");
}

#[test]
fn a_delete_that_was_lost_in_a_recovery_is_offered_again_after_it() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.is_at_present(5);
    scene.recovers(&Cause::Asked { accepted: false });
    scene.does("DELETE FROM tasks");
    scene.send(1);
    scene.answer(1, Verdict::Sent { rev: Some(6) });
    scene.hear(vec![event(7, "created", "document", HOME, json!({ "title": "Theirs" }))]);
    assert_eq!(scene.is_walked(Kind::Task, &[(TASK, 5)], 7), Swept::Done);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    scene.is_at_present(7);
    assert_eq!(scene.states(), "conflict");
}

#[test]
fn a_head_below_an_accepted_edit_tells_that_the_server_was_put_back() {
    let mut scene = accepted_at_6();
    let greet = |scene: &mut Scene, head, accepted: &[i64]| {
        sync_state::record_greeting(&mut scene.db, &greeting(head, accepted), at(0)).unwrap();
    };
    greet(&mut scene, 5, &[]);
    assert_eq!(scene.one("SELECT state FROM edits"), "sent", "it was accepted after the server said so");
    greet(&mut scene, 6, &[1]);
    assert_eq!(scene.one("SELECT state FROM edits"), "sent");
    greet(&mut scene, 5, &[1]);
    assert_eq!(scene.one("SELECT state FROM edits"), "conflict");
    assert_eq!(scene.one("SELECT priority FROM tasks"), "high");
}

#[test]
fn a_delete_that_only_the_lost_history_had_is_offered_again() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("DELETE FROM tasks");
    // Somebody else has deleted it first, so both wanted the same.
    scene.hear(vec![deleted(6)]);
    assert_eq!(scene.outcomes(), "1 confirmed");
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: Some(5) });
    assert_eq!(scene.one("SELECT method || state FROM edits"), "deleteconflict");
}

#[test]
fn a_lost_edit_of_a_record_that_is_gone_is_offered_again() {
    let mut scene = lost_history();
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: Some(3) });
    for (kind, ids) in
        [(Kind::Document, vec![]), (Kind::Task, vec![(TASK, 5)]), (Kind::Room, vec![]), (Kind::Vehicle, vec![])]
    {
        scene.is_walked(kind, &ids, 6);
    }
    scene.is_at_present(6);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!(scene.one("SELECT state FROM edits WHERE id = 3"), "conflict");
    assert_eq!(scene.one("SELECT name || floor FROM rooms"), "Shed2");
}

#[test]
fn a_lost_change_of_a_record_that_was_lost_with_it_can_make_it_anew() {
    for fork in [Some(5), None] {
        let mut scene = Scene::new();
        scene.is_at_present(5);
        scene.hear(vec![event(6, "created", "vehicle", CAR, json!({ "name": "Car", "make": "Volvo" }))]);
        scene.does("UPDATE vehicles SET color = 'red'");
        scene.send(1);
        scene.answer(1, Verdict::Sent { rev: Some(7) });
        let red = json!({ "name": "Car", "make": "Volvo", "color": "red" });
        scene.hear(vec![event(7, "updated", "vehicle", CAR, red)]);
        assert_eq!(scene.outcomes(), "1 confirmed");
        scene.recovers(&Cause::Restored { resume: "r".into(), fork });
        assert_eq!(scene.is_walked(Kind::Vehicle, &[], 20), Swept::Done);
        scene.is_at_present(20);
        recovery::finish(&mut scene.db, at(0)).unwrap();
        assert_eq!(scene.one("SELECT state || method FROM edits"), "conflictupdate", "{fork:?}");
        assert_eq!(scene.one("SELECT name || make || color FROM vehicles"), "CarVolvored", "{fork:?}");
        let refused = decide::retry(&mut scene.db, 1).unwrap_err().to_string();
        assert!(refused.contains("made anew"), "{refused}");
        resolve::resolve(&mut scene.db, Origin::Cli, 1, &Resolution::mine(), at(0)).unwrap();
        let sent = "SELECT method || (patch ->> 'name') || (patch ->> 'color') FROM edits WHERE state = 'waiting'";
        assert_eq!(scene.one(sent), "createCarred", "{fork:?}");
    }
}

#[test]
fn what_was_made_and_deleted_here_and_is_not_there_is_no_loss() {
    let mut scene = Scene::new();
    scene.hear(vec![event(4, "created", "room", ROOM, json!({ "name": "Shed" }))]);
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    scene.send(1);
    scene.does("DELETE FROM tasks");
    // Its first answer was lost; somebody else deleted it, and the feed left out what came and went.
    scene.is_at_present(9);
    scene.answer(1, Verdict::Sent { rev: Some(5) });
    scene.send(2);
    scene.hear(vec![event(10, "updated", "room", ROOM, json!({ "name": "Barn" }))]);
    assert_eq!((scene.states(), scene.outcomes()), ("sending".to_owned(), "1 confirmed".to_owned()));
    scene.answer(2, Verdict::Sent { rev: Some(11) });
    scene.hear(vec![event(11, "updated", "room", ROOM, json!({ "name": "Hut" }))]);
    assert_eq!((scene.states(), scene.outcomes()), (String::new(), "1 confirmed,2 confirmed".to_owned()));
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "0");
}

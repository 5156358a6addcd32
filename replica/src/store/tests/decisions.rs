//! Decisions of a person: retry, change, discard, resolve, undo.

use std::collections::BTreeMap;

use super::*;
use crate::store::edits::resolve::Choice;

mod already_applied;
mod history;
mod recheck;
mod recreate;
mod undoing;

/// A task whose title both sides changed, and whose priority only this replica changed.
fn in_conflict() -> Scene {
    Scene::in_conflict("UPDATE tasks SET title = 'Mine', priority = 'high'", task(6, "Theirs", "low"))
}

#[test]
fn resolve_one_half_decides_whole_subject() {
    let [first, second] = ["00000000-0000-4000-8000-0000000000e1", "00000000-0000-4000-8000-0000000000e2"];
    let about = |id, item: &str| {
        let fields = json!({ "title": "Oil", "status": "open", "subject_type": "inventory", "subject_id": item });
        event(id, "updated", "task", TASK, fields)
    };
    for (field, choice, then) in [
        ("subject_id", Choice::Mine, ("room", ROOM)),
        ("subject_type", Choice::Theirs, ("inventory", second)),
        ("subject_id", Choice::Value(json!(HOME)), ("room", HOME)),
    ] {
        let mut scene = Scene::with(about(5, first));
        scene.does(&format!("UPDATE tasks SET subject_type = 'room', subject_id = '{ROOM}'"));
        scene.hear(about(6, second)).sends_nothing(1);
        scene.resolve(1, &Resolution { fields: BTreeMap::from([(field.to_owned(), choice)]), rest: None }).unwrap();
        scene.shows("SELECT subject_type, subject_id FROM tasks", json!(then));
    }
}

#[test]
fn resolve_mine_keeps_subject_whole() {
    let [first, second, car] = [ROOM, HOME, "00000000-0000-4000-8000-0000000000e3"];
    let about = |id, subject: &Value| {
        let fields = json!({ "title": "Manual", "subject_type": subject[0], "subject_id": subject[1] });
        event(id, "updated", "document", TASK, fields)
    };
    let theirs = json!(["vehicle", car]);
    for (before, change, mine) in [
        (json!(["inventory", first]), format!("subject_id = '{second}'"), json!(["inventory", second])),
        (json!([null, null]), "subject_type = 'home'".to_owned(), json!(["home", null])),
    ] {
        let mut scene = Scene::with([
            event(2, "created", "inventory", first, json!({ "name": "Saw" })),
            event(3, "created", "inventory", second, json!({ "name": "Drill" })),
            event(4, "created", "vehicle", car, json!({ "name": "Car" })),
            about(5, &before),
        ]);
        scene.does(&format!("UPDATE documents SET {change}")).hear(about(6, &theirs)).sends_nothing(1);
        let shown = "SELECT subject_type, subject_id FROM documents";
        assert_eq!(scene.row(shown), mine);
        assert_eq!(scene.one("SELECT count(*) FROM conflicts"), "2");
        scene.resolve(1, &Resolution::mine()).unwrap();
        let body: Value = serde_json::from_str(&scene.send(1).body.unwrap()).unwrap();
        assert_eq!(body, json!({ "subject_type": mine[0], "subject_id": mine[1] }));

        // The same when the policy decides.
        for (policy, then) in [(Mine, &mine), (Theirs, &theirs)] {
            let mut scene =
                Scene::with([event(3, "created", "inventory", second, json!({ "name": "Drill" })), about(5, &before)]);
            scene.does(&format!("UPDATE documents SET {change}")).hear(about(6, &theirs));
            scene.freeze(1, policy);
            assert_eq!(scene.row(shown), *then);
        }
    }

    // A subject of the same kind changes only its id.
    let mut scene = Scene::with([
        event(3, "created", "inventory", second, json!({ "name": "Drill" })),
        about(5, &json!(["inventory", first])),
    ]);
    scene.does(&format!("UPDATE documents SET subject_id = '{second}'"));
    assert_eq!(scene.send(1).body.unwrap(), format!(r#"{{"subject_id":"{second}"}}"#));
}

#[test]
fn edit_after_a_dropped_value_has_its_base() {
    let mut scene = in_conflict();
    scene.does("UPDATE tasks SET title = 'Mine again'");
    let resolution = Resolution { fields: BTreeMap::from([("title".to_owned(), Choice::Theirs)]), rest: None };
    scene.resolve(1, &resolution).unwrap();
    // The later edit stands alone now: its base is what stood before the dropped one.
    assert_eq!(scene.one("SELECT json_extract(base, '$.title') FROM edits WHERE id = 2"), "Paint");
}

#[test]
fn edit_of_deleted_record_keeps_title() {
    let mut scene = Scene::with_task();
    scene.does("UPDATE tasks SET priority = 'high'; DELETE FROM tasks");
    let titles: Vec<String> =
        crate::store::edits::list(&scene.db).unwrap().into_iter().map(|edit| edit.title).collect();
    assert_eq!(titles, ["Paint", "Paint"]);
}

#[test]
fn discard_updates_blocked_reason() {
    let item = "00000000-0000-4000-8000-0000000000e1";
    let mut scene = Scene::with([
        room(1, "Shed"),
        event(2, "created", "room", HOME, json!({ "name": "Attic" })),
        event(3, "created", "inventory", item, json!({ "name": "Rake", "room_id": ROOM, "quantity": 1 })),
    ]);
    scene.does(&format!("UPDATE rooms SET floor = '1' WHERE id = '{ROOM}'"));
    scene.does(&format!("UPDATE rooms SET floor = '2' WHERE id = '{HOME}'; UPDATE inventory SET room_id = '{HOME}'"));
    scene.reject(1).reject(2);
    scene.plan();
    let reason = "SELECT reason FROM edits WHERE id = 3";
    assert_eq!(scene.one(reason), "waits for edit 2, which needs you");
    scene.discard(2).unwrap();
    assert_eq!(scene.one(reason), "waits for edit 1, which needs you");
    scene.discard(1).unwrap();
    assert_eq!(scene.states(), "waiting");
}

#[test]
fn change_of_rejected_create_unblocks_others() {
    let mut scene = Scene::written(&format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed')"));
    scene.does(&format!("INSERT INTO inventory (name, room_id) VALUES ('Rake', '{ROOM}')"));
    scene.does("INSERT INTO tasks (title) VALUES ('Other')");
    assert_eq!(scene.plan(), [1, 3], "the item waits for its room");
    scene.reject(1);
    assert_eq!((scene.plan(), scene.states().as_str()), (vec![3], "rejected blocked waiting"));
    let status = status::load_status(&scene.db).unwrap();
    assert_eq!((status.waiting, status.needs_you), (1, 2));
    assert!(scene.retry(2).unwrap_err().contains("needs you first"));
    let refused = scene.change(1, json!({ "room_type": "cave" })).unwrap_err();
    assert!(refused.contains("room_type must be one of"), "{refused}");
    scene.change(1, json!({ "name": "Garden shed" })).unwrap();
    assert_eq!(scene.states(), "waiting waiting waiting", "at once");
    scene.shows("SELECT name, (SELECT count(*) FROM _requests) FROM rooms", json!(["Garden shed", 0]));
    assert!(scene.send(1).body.unwrap().contains("Garden shed"));
}

#[test]
fn discard_create_ends_later_edits() {
    let mut scene = Scene::written(&format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed')"));
    scene.does("UPDATE rooms SET floor = '1'");
    scene.does(&format!("INSERT INTO inventory (name, room_id) VALUES ('Rake', '{ROOM}')")).reject(1);
    let decided = scene.discard(1).unwrap();
    assert!(decided.sentence.contains("another change names this room"), "{}", decided.sentence);
    assert_eq!(scene.edits(), "1 discarded, 2 discarded; waiting");
    scene.shows("SELECT (SELECT count(*) FROM rooms), (SELECT count(*) FROM inventory)", json!([0, 1]));
    scene.change(3, json!({ "room_id": null })).unwrap();
    assert_eq!(scene.one("SELECT count(room_id) FROM inventory"), "0");
    assert!(scene.discard(1).unwrap_err().contains("no edit 1"));
}

#[test]
fn discard_of_what_may_be_applied_queues_inverse() {
    for is_key_forgotten in [false, true] {
        let mut scene = Scene::edited_at_present("UPDATE tasks SET title = 'Mine'");
        scene.attempt(1, no_answer());
        if is_key_forgotten {
            scene.attempt(1, WriteOutcome::PreconditionFailed);
        }
        assert!(scene.change(1, json!({ "title": "x" })).unwrap_err().contains("on its way"));
        assert_eq!(scene.discard(1).unwrap().edit, Some(2), "undone there");
        assert_eq!(
            (scene.states().as_str(), scene.one("SELECT title FROM tasks").as_str()),
            ("waiting waiting", "Paint")
        );
        // The first goes on with the same request, the second after it; without the key, only the feed can tell.
        assert_eq!(scene.plan().first(), (!is_key_forgotten).then_some(&1));
        scene.hear(with_key(task(6, "Mine", "low"), "key-1"));
        assert_eq!((scene.outcomes().as_str(), scene.plan()), ("1 confirmed", vec![2]));
        assert_eq!(scene.one("SELECT title FROM tasks"), "Paint");
    }
}

#[test]
fn discard_maybe_applied_twice_is_refused() {
    let deleted = || {
        let mut scene = Scene::edited_at_present("UPDATE tasks SET title = 'Mine'; DELETE FROM tasks");
        scene.attempt([1, 2], no_answer());
        scene
    };
    for undo in [Scene::discard as fn(&mut Scene, i64) -> _, |scene, _| scene.undo(Some(2))] {
        let mut scene = deleted();
        let by = undo(&mut scene, 1).unwrap().edit.unwrap();
        let refused = scene.discard(1).unwrap_err();
        assert_eq!(refused, format!("this change is undone already, by edit {by}; undo {by} does it again"));
        assert_eq!(scene.one("SELECT count(*) FROM tasks"), "1");
    }
}

#[test]
fn key_refused_releases_unsent_request() {
    let mut scene = Scene::new();
    for name in ["Hall", "Attic"] {
        scene.does(&format!("INSERT INTO rooms (name) VALUES ('{name}')"));
    }
    let away = || WriteOutcome::KeyRefused { reason: "the key may not write rooms".to_owned() };
    scene.freeze_groups(&[vec![1], vec![2]], Ask).unwrap();
    answers::record_outcomes(&mut scene.db, &[(1, away()), (2, away())], at(0)).unwrap();
    scene.shows("SELECT count(*), min(reason) FROM edits", json!([2, "the key may not write rooms"]));
    assert_eq!(scene.one("SELECT count(*) FROM _requests"), "0");
    scene.change(1, json!({ "name": "Corridor" })).unwrap();
    assert_eq!(scene.discard(2).unwrap().edit, None, "given up, not undone there");
    assert_eq!(scene.edits(), "2 discarded; waiting");

    scene.attempt(1, no_answer());
    for _ in 0..3 {
        scene.attempt(1, away());
    }
    assert_eq!(scene.one("SELECT count(*) FROM _requests"), "1", "the first may be in");
    assert!(scene.discard(1).unwrap().edit.is_some());
}

#[test]
fn revert_keeps_later_edits_in_order() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'First', priority = 'high'");
    scene.does("UPDATE tasks SET title = 'Second'");
    scene.undo(Some(1)).unwrap();
    scene.shows("SELECT title, priority FROM tasks", json!(["Second", "low"]));
    let request = scene.send(2);
    assert_eq!(
        (request.if_match, request.body.as_deref()),
        (Some(5), Some(r#"{"title":"Second"}"#)),
        "no false conflict"
    );
    assert_eq!(scene.outcomes(), "1 undone");
}

#[test]
fn resolve_mine_theirs_and_single_fields() {
    let mut scene = in_conflict();
    assert!(scene.retry(1).unwrap_err().contains("“Mine”: both sides still differ"));
    let refused = scene.change(1, json!({ "title": "Both" })).unwrap_err();
    assert!(refused.contains("both sides still differ"), "other values do not say which side stands: {refused}");
    assert_eq!(scene.one("SELECT patch FROM edits"), r#"{"title":"Mine","priority":"high"}"#);
    scene.resolve(1, &Resolution::mine()).unwrap();
    let request = scene.send(1);
    assert_eq!((request.if_match, request.body.as_deref()), (Some(6), Some(r#"{"title":"Mine","priority":"high"}"#)));
    assert_eq!(scene.one("SELECT patch FROM edit_history"), r#"{"title":"Theirs"}"#);

    let mut scene = in_conflict();
    scene.resolve(1, &Resolution::theirs()).unwrap();
    assert_eq!(
        scene.row("SELECT title, priority FROM tasks"),
        json!(["Theirs", "high"]),
        "what only we changed still goes"
    );
    assert_eq!(scene.send(1).body.as_deref(), Some(r#"{"priority":"high"}"#));

    let mut scene = in_conflict();
    let typed = |name: &str, value: Value| Resolution {
        fields: BTreeMap::from([(name.to_owned(), Choice::Value(value))]),
        rest: None,
    };
    assert!(scene.resolve(1, &typed("notes", json!("x"))).unwrap_err().contains("in conflict: title"));
    assert!(scene.resolve(1, &typed("title", json!(" "))).is_err());
    scene.resolve(1, &typed("title", json!("Both"))).unwrap();
    assert_eq!(scene.send(1).body.as_deref(), Some(r#"{"title":"Both","priority":"high"}"#));
    assert_eq!(scene.one("SELECT title FROM tasks"), "Both");
    assert_eq!(scene.column("SELECT patch FROM edit_history"), json!([r#"{"title":"Theirs"}"#, r#"{"title":"Mine"}"#]));
}

#[test]
fn resolve_deleted_there_creates_or_discards() {
    let gone = || {
        let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
        scene.hear(deleted(6));
        let shown = "SELECT state, reason, title FROM edits JOIN tasks";
        scene.shows(shown, json!(["conflict", "deleted on the server", "Mine"]));
        scene
    };
    let mut scene = gone();
    assert!(
        scene.retry(1).unwrap_err().contains("resolve it as mine to create a new task"),
        "it can only be made anew"
    );
    let decided = scene.resolve(1, &Resolution::mine()).unwrap();
    assert!(decided.sentence.contains("made anew"), "{}", decided.sentence);
    let anew = format!("SELECT count(*), min(title), min(priority), min(id) = '{TASK}' FROM tasks");
    scene.shows(&anew, json!([1, "Mine", "low", 0]));
    assert_eq!(scene.edits(), "1 superseded; waiting");

    let mut scene = gone();
    scene.resolve(1, &Resolution::theirs()).unwrap();
    assert_eq!(scene.one("SELECT (SELECT count(*) FROM tasks) + (SELECT count(*) FROM edits)"), "0");
}

#[test]
fn update_of_deleted_create_stays_visible() {
    // The server's answer to the create comes after the delete event, or before.
    for is_answered_late in [true, false] {
        let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
        scene.send(1);
        scene.does("UPDATE tasks SET notes = 'And more'");
        if is_answered_late {
            scene.hear(deleted(6));
            assert_eq!(scene.states(), "conflict conflict");
            scene.answer(1, accepted(4));
        } else {
            scene.answer(1, accepted(4)).hear(deleted(6));
        }
        assert_eq!(scene.edits(), "1 confirmed; conflict");
        scene.shows("SELECT title, notes, priority FROM tasks", json!(["Mine", "And more", "medium"]));
        scene.resolve(2, &Resolution::mine()).unwrap();
        let anew = "SELECT method, patch ->> 'title', patch ->> 'notes' FROM edits";
        scene.shows(anew, json!(["create", "Mine", "And more"]));
    }
}

/// A server restored to before the delete has no delete event to send.
#[test]
fn response_404_keeps_row_until_delete_event() {
    for resolution in [Resolution::mine(), Resolution::theirs()] {
        let mut scene = Scene::deleted_by_an_answer();
        assert!(scene.retry(1).unwrap_err().contains("was deleted on the server"), "it counts for the edit");
        scene.resolve(1, &resolution).unwrap();
        let of_the_server = format!("SELECT title, rev FROM tasks WHERE id = '{TASK}'");
        assert_eq!(scene.rows(&of_the_server), json!([["Paint", 5]]));
        scene.hear(deleted(6));
        assert_eq!(scene.rows(&of_the_server), json!([]));
    }
}

#[test]
fn response_404_is_forgotten_on_contact() {
    let mut scene = Scene::deleted_by_an_answer();
    // The server is restored to before the delete, but not before the position of this replica: only another response
    // shows the record.
    scene.greets(5, &[]).does("DELETE FROM tasks");
    scene.discard(1).unwrap();
    assert_eq!(scene.plan(), [2]);
    assert_eq!(scene.send(2).verb, "DELETE");
}

#[test]
fn resolve_conflicting_delete() {
    let conflict = || Scene::in_conflict("DELETE FROM tasks", task(6, "Paint", "urgent"));
    let mut scene = conflict();
    scene.resolve(1, &Resolution::mine()).unwrap();
    assert_eq!(scene.send(1).if_match, Some(6));
    let mut scene = conflict();
    scene.resolve(1, &Resolution::theirs()).unwrap();
    scene.shows("SELECT priority, rev FROM tasks", json!(["urgent", 6]));
}

#[test]
fn resolve_used_id() {
    let taken = |there: bool| {
        let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
        scene.attempt(1, exists());
        if there {
            scene.hear(task(6, "Theirs", "low"));
        }
        scene
    };
    let mut scene = taken(true);
    scene.shows("SELECT mine, theirs FROM conflicts WHERE field = 'title'", json!(["Mine", "Theirs"]));
    assert!(scene.retry(1).unwrap_err().contains("resolve it as mine to write “Mine” over it"));
    scene.resolve(1, &Resolution::mine()).unwrap();
    let request = scene.send(1);
    assert_eq!((request.verb.as_str(), request.if_match), ("PATCH", Some(6)));
    let mut scene = taken(true);
    scene.resolve(1, &Resolution::theirs()).unwrap();
    scene.shows("SELECT title, rev FROM tasks", json!(["Theirs", 6]));
    let mut scene = taken(false);
    assert_eq!(scene.one("SELECT count(*) FROM conflicts WHERE theirs IS NULL AND field = 'title'"), "1");
    scene.resolve(1, &Resolution::mine()).unwrap();
    scene.shows("SELECT count(*), min(title) FROM tasks", json!([1, "Mine"]));
    assert_ne!(scene.one("SELECT id FROM tasks"), TASK);
}

#[test]
fn resolve_id_of_other_kind_makes_new_id() {
    let mut scene = Scene::present(room(4, "Shed"));
    scene.does("INSERT INTO tasks (id, title) SELECT id, 'Mine' FROM rooms").sends_nothing(1);
    scene.shows("SELECT state, reason FROM edits", json!(["conflict", "its id belongs to another kind, room"]));
    assert_eq!(scene.one("SELECT count(*) FROM conflicts"), "0", "no value of the server stands against one of it");
    let refused = scene.retry(1).unwrap_err();
    assert!(refused.contains("resolve it as mine to create a task with another id"), "{refused}");
    scene.resolve(1, &Resolution::mine()).unwrap();
    scene.shows(&format!("SELECT count(*), title, (id <> '{ROOM}') FROM tasks"), json!([1, "Mine", 1]));
    assert_eq!(scene.one("SELECT name FROM rooms"), "Shed");
    // Both records exist only here, and neither server nor feed has them.
    let mut scene = Scene::written(&format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed')"));
    scene.does("INSERT INTO tasks (id, title) SELECT id, 'x' FROM rooms").send(1);
}

#[test]
fn create_deleted_there_is_not_resent() {
    let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
    scene.send(1);
    scene.hear(deleted(6));
    assert_eq!(scene.states(), "conflict");
    let refused = scene.retry(1).unwrap_err();
    assert!(refused.contains("a deleted id is never used again"), "{refused}");
    scene.resolve(1, &Resolution::mine()).unwrap();
    scene.shows(&format!("SELECT count(*), title, (id <> '{TASK}') FROM tasks"), json!([1, "Mine", 1]));
}

#[test]
fn fix_of_rejected_create_is_coalesced() {
    let mut scene = Scene::written(&format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed')"));
    scene.reject(1).does(&format!("INSERT INTO inventory (name, room_id) VALUES ('Rake', '{ROOM}')"));
    scene.does("UPDATE rooms SET floor = '1'");
    assert_eq!(scene.ready_groups(), [[0; 0]; 0]);
    assert_eq!(scene.states(), "rejected blocked blocked");
    scene.retry(1).unwrap();
    assert_eq!(scene.ready_groups(), [[1, 3]], "the item names the room, and does not mind its floor");
}

//! Requests: preconditions, the three-way merge, and which edits are coalesced.

use super::*;

mod reason_code;
mod unanswered;

#[test]
fn update_sends_if_match() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
    let request = scene.send(1);
    assert_eq!(request.if_match, Some(5));
    assert_eq!(scene.send(1), request, "a retry sends the same");
    scene.answer(1, accepted(8));
    // The feed is behind, and the next change builds on the response.
    scene.does("UPDATE tasks SET title = 'Mine too'");
    assert_eq!(scene.plan(), [2]);
    assert_eq!(scene.send(2).if_match, Some(8));
}

#[test]
fn create_is_sent_before_references() {
    let mut scene = Scene::written(&format!(
        "INSERT INTO tasks (title, subject_type, subject_id) VALUES ('Paint', 'room', '{ROOM}')"
    ));
    scene.does(&format!("UPDATE tasks SET notes = 'twice'; INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed')"));
    scene.does("UPDATE rooms SET floor = '1'");
    assert_eq!(scene.ready_groups(), [[3, 4]], "what a record is made of comes before all that refers to it");
    scene.send([3, 4]);
    assert_eq!(scene.ready_groups(), [[3]], "it is on its way");
    scene.answer(3, accepted(5));
    assert_eq!(scene.ready_groups(), [[1, 2]]);
    // An edit that needs a person holds the edits that refer to its record.
    let mut scene = Scene::written(&format!(
        "INSERT INTO tasks (title, subject_type, subject_id) VALUES ('Paint', 'room', '{ROOM}')"
    ));
    scene.does(&format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed')"));
    scene.attempt(2, WriteOutcome::Rejected { reason: "no".to_owned(), problem: json!({}) });
    assert_eq!((scene.plan(), scene.states().as_str()), (vec![], "blocked rejected"));
}

#[test]
fn plan_knows_request_bytes() {
    let mut scene = Scene::written("INSERT INTO rooms (name, notes) VALUES ('Shed', printf('%.9000c', 'x'))");
    scene.does("INSERT INTO rooms (name, notes) VALUES ('Loft', printf('%.9000c', 'x'))");
    scene.does("UPDATE rooms SET floor = '1' WHERE name = 'Loft'");
    let about = |scene: &mut Scene| -> Vec<usize> {
        plan::plan(&mut scene.db, 64, &[]).unwrap().ready.iter().map(|ready| ready.bytes / 1000).collect()
    };
    assert_eq!(about(&mut scene), [9, 9]);
    assert_eq!(scene.freeze_groups(&[vec![1], vec![2, 3]], Ask).unwrap().body.unwrap().len() / 1000, 18);
    assert_eq!(about(&mut scene), [18], "fixed");
}

#[test]
fn position_of_other_history_confirms_nothing() {
    let mut scene = Scene::with([task(5, "Paint", "low"), room(37, "Shed")]);
    scene.does("INSERT INTO vehicles (name) VALUES ('Car')").send(1);
    // The server was restored, and the stream has not shown the restore yet.
    scene.answer(1, accepted(23));
    assert_eq!(scene.edits(), "; sent");
    scene.does("DELETE FROM tasks").accept(2, 24);
    scene.shows("SELECT (SELECT count(*) FROM tasks), (SELECT count(*) FROM edits)", json!([0, 2]));
    scene.hear(deleted(38));
    assert_eq!(scene.outcomes(), "2 confirmed");
}

#[test]
fn field_changed_on_both_sides_conflicts() {
    let scene = Scene::in_conflict("UPDATE tasks SET title = 'Mine', priority = 'high'", task(6, "Theirs", "low"));
    scene.shows("SELECT state, reason FROM edits", json!(["conflict", "title changed on the server too"]));
    let view = "SELECT edit_id, kind, record_id, field, base, mine, theirs, theirs_at, theirs_by FROM conflicts";
    let theirs = json!([1, "task", TASK, "title", "Paint", "Mine", "Theirs", at(6).to_string(), "device 6"]);
    assert_eq!(scene.row(view), theirs);
    scene.shows("SELECT title, priority FROM tasks", json!(["Mine", "high"]));
}

#[test]
fn policy_decides_and_keeps_loser() {
    let conflict = || {
        let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine', priority = 'high'");
        scene.hear(task(6, "Theirs", "low"));
        scene
    };
    let mut scene = conflict();
    let request = scene.freeze(1, Mine).unwrap();
    assert_eq!((request.if_match, body(&request)), (Some(6), json!({ "title": "Mine", "priority": "high" })));
    scene.shows("SELECT patch, outcome FROM edit_history", json!([r#"{"title":"Theirs"}"#, "superseded"]));

    let mut scene = conflict();
    assert_eq!(body(&scene.freeze(1, Theirs).unwrap()), json!({ "priority": "high" }));
    scene.shows("SELECT patch, outcome FROM edit_history", json!([r#"{"title":"Mine"}"#, "superseded"]));
    scene.shows("SELECT title, priority FROM tasks", json!(["Theirs", "high"]));

    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
    scene.hear(task(6, "Theirs", "low"));
    assert_eq!(scene.freeze(1, Theirs), None);
    assert_eq!(scene.outcomes(), "1 superseded");
    assert_eq!(scene.one("SELECT title FROM tasks"), "Theirs");
}

#[test]
fn value_changed_back_is_not_sent() {
    for policy in [Ask, Mine] {
        let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'; UPDATE tasks SET title = 'Paint'");
        scene.hear(task(6, "Theirs", "low"));
        assert_eq!(scene.freeze([1, 2], policy), None);
        assert_eq!(scene.outcomes(), "1 merged, 2 merged");
        scene.shows("SELECT title, rev FROM tasks", json!(["Theirs", 6]));
        // Only the other change is sent.
        scene.does("UPDATE tasks SET title = 'Mine'; UPDATE tasks SET title = 'Theirs', priority = 'high'");
        scene.hear(task(7, "Theirs too", "low"));
        assert_eq!(body(&scene.freeze([3, 4], policy).unwrap()), json!({ "priority": "high" }));
    }
}

#[test]
fn profile_without_values_is_not_sent() {
    let mut scene = Scene::written("INSERT INTO property DEFAULT VALUES; UPDATE property SET city = 'Ghent'");
    scene.sends_nothing(1);
    assert_eq!(scene.outcomes(), "1 merged");
    assert_eq!(body(&scene.send(2)), json!({ "city": "Ghent" }));
}

#[test]
fn cleared_new_profile_is_not_sent() {
    let mut scene = Scene::new();
    scene.is_at_present(2).does("INSERT INTO property (city) VALUES ('Ghent'); UPDATE property SET city = NULL");
    assert_eq!(scene.ready_groups(), [[1, 2]]);
    scene.sends_nothing([1, 2]);
    assert_eq!(scene.outcomes(), "1 merged, 2 merged");
    assert_eq!(scene.column("SELECT DISTINCT reason FROM edit_history"), json!(["it changes nothing"]));
    assert_eq!(scene.one("SELECT count(*) FROM property"), "0");
}

#[test]
fn delete_of_changed_record_asks() {
    for policy in [Ask, Mine, Theirs] {
        let mut scene = Scene::edited("DELETE FROM tasks");
        scene.hear(task(6, "Paint", "urgent"));
        assert_eq!(scene.freeze(1, policy), None);
        assert_eq!(scene.states(), "conflict");
        scene.shows("SELECT field, base, mine, theirs FROM conflicts", json!(["priority", "low", null, "urgent"]));
    }
    // Only the revision has changed.
    let mut scene = Scene::edited("DELETE FROM tasks");
    scene.hear(task(6, "Paint", "low"));
    let request = scene.send(1);
    assert_eq!((request.verb.as_str(), request.if_match), ("DELETE", Some(6)));
}

/// A lamp in a shed, and an attic. The shed is deleted here, and the lamp is edited afterwards. The server has accepted
/// the delete, and the feed has shown that the lamp lost its room.
fn deleted_with_a_lamp_in_it(then: &str) -> Scene {
    let mut scene = Scene::with([
        room(1, "Shed"),
        event(2, "created", "room", CAR, json!({ "name": "Attic" })),
        event(3, "created", "inventory", TASK, json!({ "name": "Lamp", "room_id": ROOM, "quantity": 1 })),
    ]);
    scene.does("DELETE FROM rooms WHERE name = 'Shed'").does(then);
    assert_eq!(scene.plan(), [1]);
    scene.accept(1, 6);
    scene.hear(event(4, "updated", "inventory", TASK, json!({ "name": "Lamp", "room_id": null, "quantity": 1 })));
    scene
}

#[test]
fn reference_cleared_by_delete_is_no_change() {
    let shed_is_gone = || gone(6, "room", ROOM);
    let elsewhere = format!("UPDATE inventory SET room_id = '{CAR}'");
    for policy in [Ask, Mine, Theirs] {
        let mut scene = deleted_with_a_lamp_in_it(&elsewhere);
        let request = scene.freeze(2, policy).unwrap();
        assert_eq!((request.if_match, body(&request)), (Some(4), json!({ "room_id": CAR })), "the delete was answered");
        let mut scene = deleted_with_a_lamp_in_it(&elsewhere);
        scene.hear(shed_is_gone());
        assert!(scene.freeze(2, policy).is_some(), "the feed has shown the delete");
        scene.shows("SELECT room_id, (SELECT count(*) FROM edit_history) FROM inventory", json!([CAR, 1]));
    }
    let mut scene = deleted_with_a_lamp_in_it("DELETE FROM inventory");
    assert_eq!(scene.send(2).if_match, Some(4));

    // Other changes on the server still conflict, in the same field or another.
    let moved = |name: &str| json!({ "name": name, "room_id": HOME, "quantity": 1 });
    let mut scene = deleted_with_a_lamp_in_it(&elsewhere);
    scene.hear([event(5, "updated", "inventory", TASK, moved("Lamp")), shed_is_gone()]).sends_nothing(2);
    assert_eq!(scene.one("SELECT reason FROM edits"), "room_id changed on the server too");
    let mut scene = deleted_with_a_lamp_in_it("DELETE FROM inventory");
    let lamp = json!({ "name": "Old lamp", "room_id": null, "quantity": 1 });
    scene.hear([event(5, "updated", "inventory", TASK, lamp), shed_is_gone()]).sends_nothing(2);
    assert_eq!(scene.column("SELECT field FROM conflicts"), json!(["name"]), "and the room is none");
    scene.hear(event(7, "updated", "inventory", TASK, json!({ "name": "Lamp", "room_id": null, "quantity": 1 })));
    assert!(scene.retry(2).is_ok(), "the name is as it was");
}

#[test]
fn subject_cleared_by_delete_is_no_change() {
    // The manual of a car that is deleted here. The feed shows both.
    let scene = |then: &str, there: Value| {
        let mut scene = Scene::new();
        let manual = json!({ "title": "Manual", "subject_type": "vehicle", "subject_id": ROOM });
        scene.hear([
            event(1, "created", "vehicle", ROOM, json!({ "name": "Car" })),
            event(2, "created", "vehicle", CAR, json!({ "name": "Bus" })),
            event(3, "created", "document", TASK, manual),
        ]);
        scene.does("DELETE FROM vehicles WHERE name = 'Car'").does(then).accept(1, 5);
        scene.hear([event(4, "updated", "document", TASK, there), gone(5, "vehicle", ROOM)]);
        scene
    };
    let cleared = || json!({ "title": "Manual", "subject_type": null, "subject_id": null });
    assert_eq!(scene("DELETE FROM documents", cleared()).send(2).if_match, Some(4));
    let home = "UPDATE documents SET subject_type = 'home', subject_id = NULL";
    assert_eq!(body(&scene(home, cleared()).send(2))["subject_type"], "home");
    // An edit that names another vehicle sends the kind as well: the server has cleared the kind.
    let of_the_bus = format!("UPDATE documents SET subject_id = '{CAR}'");
    let mut moved = scene(&of_the_bus, cleared());
    assert_eq!(body(&moved.send(2)), json!({ "subject_id": CAR, "subject_type": "vehicle" }));
    moved.shows("SELECT subject_type, subject_id FROM documents", json!(["vehicle", CAR]));
    // Another client has made the home the subject.
    let of_the_home = json!({ "title": "Manual", "subject_type": "home", "subject_id": null });
    assert_eq!(scene(&of_the_bus, of_the_home).freeze(2, Ask), None);
}

#[test]
fn rejected_create_shows_normalized_values() {
    let mut scene =
        Scene::written(&format!("INSERT INTO vehicles (id, name, purchase_price) VALUES ('{TASK}', 'Mine', '7.5')"));
    scene.attempt(1, exists());
    scene.hear(event(6, "created", "vehicle", TASK, json!({ "name": "Theirs", "purchase_price": "7.50" })));
    assert_eq!(scene.column("SELECT field FROM conflicts"), json!(["name"]), "the price is the same");
    assert_eq!(scene.one("SELECT purchase_price FROM vehicles"), "7.50", "the row shows what the edit says");
}

#[test]
fn conflict_shows_normalized_values() {
    let price = "SELECT base, mine FROM conflicts WHERE field = 'purchase_price'";
    let mut scene =
        Scene::with(event(5, "created", "vehicle", TASK, json!({ "name": "Car", "purchase_price": "7.00" })));
    scene.does("UPDATE vehicles SET purchase_price = '7.5'").hear(gone(6, "vehicle", TASK));
    scene.shows(price, json!(["7.00", "7.50"]));
}

#[test]
fn deleted_record_shows_null_theirs() {
    let mut scene = Scene::deleted_by_an_answer();
    scene.shows("SELECT field, mine, theirs, theirs_at FROM conflicts", json!(["title", "Mine", null, null]));
    scene.hear(deleted(6));
    scene.shows("SELECT field, mine, theirs, theirs_at FROM conflicts", json!(["title", "Mine", null, null]));
}

#[test]
fn unsent_edits_of_record_are_coalesced() {
    let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    scene.does("UPDATE tasks SET title = 'Paint all', notes = 'Twice'; UPDATE tasks SET notes = NULL");
    assert_eq!(scene.ready_groups(), [[1, 2, 3]]);
    let request = scene.send([1, 2, 3]);
    assert_eq!(request.verb, "POST");
    assert_eq!((&body(&request)["title"], &body(&request)["notes"]), (&json!("Paint all"), &Value::Null));
    assert_eq!(scene.states(), "sending");
    scene.answer(1, accepted(9)).hear(task(9, "Paint all", "medium"));
    assert_eq!(scene.outcomes(), "1 confirmed, 2 confirmed, 3 confirmed", "each as it was made");
    assert_eq!(scene.one("SELECT patch FROM edit_history WHERE id = 2"), r#"{"title":"Paint all","notes":"Twice"}"#);
    assert_eq!(scene.one("SELECT count(*) FROM _outbox"), "0");
}

#[test]
fn created_and_deleted_record_is_not_sent() {
    let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    scene.does("UPDATE tasks SET title = 'Paint all'; DELETE FROM tasks").sends_nothing([1, 2, 3]);
    assert_eq!(scene.outcomes(), "1 superseded, 2 superseded, 3 merged");
    assert_eq!(scene.one("SELECT (SELECT count(*) FROM edits) + (SELECT count(part_of) FROM _outbox)"), "0");
}

#[test]
fn update_and_delete_coalesce_to_delete() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'; DELETE FROM tasks");
    assert_eq!(scene.ready_groups(), [[1, 2]]);
    let request = scene.send([1, 2]);
    assert_eq!((request.verb.as_str(), request.if_match), ("DELETE", Some(5)));
    scene.answer(1, accepted(9)).hear(deleted(9));
    assert_eq!(scene.outcomes(), "1 superseded, 2 confirmed");
}

#[test]
fn edit_with_other_dependency_is_not_coalesced() {
    let mut scene = Scene::with(event(1, "created", "inventory", TASK, json!({ "name": "Rake", "quantity": 1 })));
    scene.does("UPDATE inventory SET name = 'Old rake'");
    scene.does(&format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed')"));
    scene.does(&format!("UPDATE inventory SET room_id = '{ROOM}'"));
    assert_eq!(scene.ready_groups(), [[1], [2]], "the third must not reach the server before the room");
    scene.send(1);
    scene.does("UPDATE rooms SET floor = '1'");
    assert_eq!(scene.ready_groups(), [vec![1], vec![2, 4]], "the reference waits for the room as a whole");
    scene.does("DELETE FROM rooms");
    assert_eq!(
        scene.ready_groups(),
        [vec![1], vec![2, 4]],
        "a room that is referred to is not deleted before the reference"
    );
    scene.accept(2, 4);
    assert_eq!(scene.ready_groups(), [[1]], "nor is it changed before it, once it is made");
}

#[test]
fn mutual_references_do_not_deadlock() {
    let mut scene = Scene::new();
    let of_room = json!({ "title": "Paint", "subject_type": "room", "subject_id": ROOM });
    scene.catch_up([room(1, "Shed"), event(2, "created", "task", TASK, of_room)]);
    // Children first, in the order of a script: the task moves from the room to an item that the script creates in the
    // room later.
    scene.does(&format!("UPDATE tasks SET subject_type = 'inventory', subject_id = '{HOME}'"));
    scene.does("UPDATE rooms SET name = 'Hall'");
    scene.does(&format!("INSERT INTO inventory (id, name, room_id) VALUES ('{HOME}', 'Rake', '{ROOM}')"));
    assert_eq!(scene.ready_groups(), [[3]]);
    scene.accept(3, 3);
    assert_eq!(scene.ready_groups(), [[1]]);

    // Two circles at once: each of two tasks moves from a room to an item in the other task's room.
    let [attic, saw, second] = [9, 8, 7].map(|n| format!("0190a3b0-0000-7000-8000-{n:012}"));
    let mut scene = Scene::new();
    let of = |room: &str| json!({ "title": "Paint", "subject_type": "room", "subject_id": room });
    scene.catch_up([
        room(1, "Shed"),
        event(2, "created", "room", &attic, json!({ "name": "Attic" })),
        event(3, "created", "task", TASK, of(&attic)),
        event(4, "created", "task", &second, of(ROOM)),
    ]);
    for (task, item) in [(TASK, HOME), (&second, &saw)] {
        scene.does(&format!("UPDATE tasks SET subject_type = 'inventory', subject_id = '{item}' WHERE id = '{task}'"));
    }
    scene.does("UPDATE rooms SET floor = '1'");
    for (item, room) in [(HOME, ROOM), (&saw, &attic)] {
        scene.does(&format!("INSERT INTO inventory (id, name, room_id) VALUES ('{item}', 'Tool', '{room}')"));
    }
    let mut sent = 0;
    while let Some(edit) = scene.plan().first().copied() {
        scene.send(edit);
        sent += 1;
        scene.answer(edit, accepted(4 + sent));
    }
    assert_eq!(sent, 6, "{:?}", scene.states());
}

#[test]
fn bulk_operations_have_own_if_match() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{ROOM}', 'New')"));
    let request = scene.freeze_groups(&[vec![1], vec![2]], Ask).unwrap();
    assert_eq!((request.path.as_str(), request.bulk, request.if_match), ("/v1/tasks/bulk", true, None));
    let operations = &body(&request)["operations"];
    assert_eq!(operations[0], json!({ "method": "update", "id": TASK, "if_match": 5, "data": { "title": "Mine" } }));
    assert_eq!((&operations[1]["method"], &operations[1]["id"]), (&json!("create"), &json!(ROOM)));
    assert_eq!(scene.ready_groups(), [[1, 2]], "from now on they are one");
    assert_eq!(scene.freeze([1, 2], Ask), Some(request.clone()));
    // The feed confirms one edit, and the others keep their request.
    scene.hear(with_key(task(8, "Mine", "low"), &request.key));
    assert_eq!(scene.outcomes(), "1 confirmed");
    let again = scene.send(2);
    assert_eq!((again.body, again.bulk, again.edits), (request.body, true, vec![(2, ROOM.to_owned())]));
    // Rejected as a whole, the edits are sent one by one with new keys.
    scene.answer(2, WriteOutcome::SendAlone);
    let single = scene.send(2);
    assert_eq!((single.path.as_str(), single.key.as_str()), ("/v1/tasks", "key-2"));
}

#[test]
fn half_of_a_cleared_subject_is_sent_and_shown_whole() {
    let mut scene = Scene::new();
    let [car, bus] = [(1, ROOM), (2, HOME)];
    for (rev, id) in [car, bus] {
        scene.hear(event(rev, "created", "vehicle", id, json!({ "name": "Vehicle" })));
    }
    let manual = |title: &str, of: Value| json!({ "title": title, "subject_type": if of.is_null() { of.clone() } else { json!("vehicle") }, "subject_id": of });
    scene.hear(event(3, "created", "document", TASK, manual("Manual", json!(ROOM))));
    scene.does("UPDATE documents SET title = 'X'");
    scene.does(&format!("UPDATE documents SET title = 'Manual', subject_id = '{HOME}'"));
    scene.hear([event(4, "updated", "document", TASK, manual("Theirs", Value::Null)), gone(5, "vehicle", ROOM)]);
    // The title is unchanged and is not sent; the kind of the subject must be sent.
    assert_eq!(body(&scene.send([1, 2])), json!({ "subject_id": HOME, "subject_type": "vehicle" }));
    scene.shows("SELECT title, subject_type, subject_id FROM documents", json!(["Theirs", "vehicle", HOME]));
}

#[test]
fn unknown_record_waits_for_feed() {
    let mut scene = Scene::written("INSERT INTO property (city) VALUES ('Ghent')");
    assert_eq!(scene.plan(), [0; 0], "a first read has shown nothing yet");
    scene.catch_up(profile(2, "Liege"));
    assert_eq!(scene.plan(), [1]);
    scene.sends_nothing(1);
    scene.shows("SELECT state, reason FROM edits", json!(["conflict", "city changed on the server too"]));

    let mut scene = Scene::written("INSERT INTO property (city) VALUES ('Ghent')");
    scene.is_at_present(2);
    assert_eq!(scene.plan(), [1], "there is none");
}

#[test]
fn distant_edits_are_coalesced() {
    let mut scene = Scene::written(
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 9)
         INSERT INTO tasks (title) SELECT 'Task ' || i FROM n",
    );
    scene.does(&format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed')"));
    scene.does(&format!("INSERT INTO inventory (name, room_id) VALUES ('Rake', '{ROOM}'); DELETE FROM tasks"));
    scene.does("DELETE FROM rooms");
    let mut ready = |limit| plan::plan(&mut scene.db, limit, &[]).unwrap().ready;
    let groups = |ready: Vec<crate::model::ReadyEdits>| ready.into_iter().map(|it| it.edits).collect::<Vec<_>>();
    assert_eq!(groups(ready(2)), [vec![1, 12], vec![2, 13]]);
    // The room's delete waits for the item, and is not coalesced with the room's create.
    assert_eq!(groups(ready(10)).pop().unwrap(), [10]);
    assert_eq!(groups(ready(64)), groups(ready(10)), "the limit changes nothing but how many there are");
}

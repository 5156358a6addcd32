//! Reverted edits and undo.

use hearth_contract::recurrence::next_id;

use super::*;

#[test]
fn undo_confirmed_leaves_later_changes() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine', priority = 'high'");
    scene.confirm(1, task(6, "Mine", "high")).hear(task(7, "Theirs", "high"));
    let decided = scene.undo(None).unwrap();
    assert!(decided.sentence.contains("left: title"), "{}", decided.sentence);
    scene.shows("SELECT title, priority FROM tasks", json!(["Theirs", "low"]));
    assert!(scene.undo(Some(1)).unwrap_err().contains("undone already, by edit 2"));

    // Undo of an undo is a redo, sent or not; the first change then stands again.
    scene.confirm(2, task(8, "Theirs", "low"));
    scene.undo(Some(2)).unwrap();
    assert_eq!(scene.one("SELECT priority FROM tasks"), "high");
    scene.undo(Some(3)).unwrap();
    assert_eq!(scene.one("SELECT priority FROM tasks"), "low");
    scene.hear(task(9, "Theirs", "urgent"));
    assert!(scene.undo(None).unwrap_err().contains("no change to undo"), "what was undone stays so");
}

#[test]
fn undo_of_done_task_names_next_task() {
    for recurs in [json!("monthly"), Value::Null] {
        let with = |id, status: &str| {
            event(id, "updated", "task", TASK, json!({ "title": "Filter", "status": status, "recurrence": recurs }))
        };
        let mut scene = Scene::with(with(5, "open"));
        scene.does("UPDATE tasks SET status = 'done'").confirm(1, with(6, "done"));
        let next = next_id(uuid::Uuid::try_parse(TASK).unwrap()).to_string();
        let of_next = json!({ "title": "Filter", "status": "open", "recurrence": "monthly" });
        if !recurs.is_null() {
            scene.hear(event(7, "created", "task", &next, of_next));
        }
        let sentence = scene.undo(None).unwrap().sentence;
        let left = "; its next one is left, and done again, it makes no other";
        assert_eq!(sentence, format!("“Filter”: status as before{}", if recurs.is_null() { "" } else { left }));
        scene.confirm(2, with(8, "open"));
        assert_eq!(scene.undo(Some(2)).unwrap().sentence, "“Filter”: status as before");
        let tasks = if recurs.is_null() { "1" } else { "2" };
        assert_eq!(scene.one("SELECT count(*) FROM tasks"), tasks);
    }
}

/// Two changes of a task, made before the first was sent, in one request.
fn on_the_way_as_one() -> Scene {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'One'; UPDATE tasks SET title = 'Two', priority = 'high'");
    scene.send([1, 2]);
    scene
}

#[test]
fn undo_of_delete_with_refused_key_keeps_the_earlier_update() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'; DELETE FROM tasks");
    scene.attempt([1, 2], WriteOutcome::KeyRefused { reason: "the key may not write tasks".to_owned() });
    assert_eq!(
        scene.rows("SELECT id, method, state FROM edits"),
        json!([[1, "update", "waiting"], [2, "delete", "waiting"]])
    );
    scene.undo(None).unwrap();
    scene.shows("SELECT id, title FROM tasks", json!([TASK, "Mine"]));
    assert_eq!(scene.send(1).body.as_deref(), Some(r#"{"title":"Mine"}"#));
}

#[test]
fn undo_part_of_sending_edit() {
    let mut scene = on_the_way_as_one();
    scene.undo(Some(2)).unwrap();
    scene.shows("SELECT title, priority FROM tasks", json!(["One", "low"]));
    scene.undo(Some(1)).unwrap();
    scene.shows("SELECT title, priority FROM tasks", json!(["Paint", "low"]));
    assert!(scene.undo(Some(1)).unwrap_err().contains("undone already"));

    // Undo of the first change leaves the values of the second.
    let mut scene = on_the_way_as_one();
    let refused = scene.undo(Some(1)).unwrap_err();
    assert!(refused.contains("“Two”: title has been changed since"), "{refused}");
    scene.shows("SELECT title, priority FROM tasks", json!(["Two", "high"]));
}

#[test]
fn undo_of_rejected_sum_reverts_all_parts() {
    let mut scene = on_the_way_as_one();
    scene.answer(1, rejected());
    assert!(scene.undo(Some(2)).unwrap_err().contains("refused as one"));
    scene.undo(Some(1)).unwrap();
    scene.shows("SELECT title, priority FROM tasks", json!(["Paint", "low"]));
}

#[test]
fn undo_part_of_key_refused_edit() {
    let turned_away = || {
        let mut scene = on_the_way_as_one();
        scene.answer(1, WriteOutcome::KeyRefused { reason: "the key may not write tasks".to_owned() });
        assert_eq!(scene.states(), "waiting waiting");
        scene
    };
    for edits in [[Some(2), Some(1)], [None, None]] {
        let mut scene = turned_away();
        scene.undo(edits[0]).unwrap();
        scene.shows("SELECT title, priority FROM tasks", json!(["One", "low"]));
        scene.undo(edits[1]).unwrap();
        scene.shows("SELECT title, priority, (SELECT count(*) FROM edits) FROM tasks", json!(["Paint", "low", 0]));
    }

    // The remaining change ends, and both are coalesced again where nothing was undone.
    let mut scene = turned_away();
    assert_eq!(scene.ready_groups(), [[1, 2]]);
    scene.undo(Some(2)).unwrap();
    assert_eq!(scene.ready_groups(), [[1]]);
    assert_eq!(scene.send(1).body.as_deref(), Some(r#"{"title":"One"}"#));
}

#[test]
fn discarded_undo_keeps_change() {
    let undone = || {
        let mut scene = Scene::edited("UPDATE tasks SET title = 'One'");
        scene.confirm(1, task(6, "One", "low"));
        scene
    };
    // The change was coalesced with another one, and both were discarded.
    let mut scene = undone();
    scene.does("UPDATE tasks SET notes = 'N'");
    scene.undo(Some(1)).unwrap();
    scene.reject([2, 3]);
    scene.discard(2).unwrap();
    assert_eq!(scene.one("SELECT title FROM tasks"), "One");
    assert_eq!(scene.undo(None).unwrap().sentence, "“One”: title as before");

    // The policy took the server's values.
    let mut scene = undone();
    scene.undo(Some(1)).unwrap();
    scene.hear(task(7, "Theirs", "low"));
    assert_eq!(scene.freeze(2, Theirs), None);
    let refused = scene.undo(Some(1)).unwrap_err();
    assert!(refused.contains("title has been changed since"), "{refused}");
}

#[test]
fn superseded_undo_keeps_change() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'One'");
    scene.confirm(1, task(6, "One", "low"));
    scene.undo(Some(1)).unwrap();
    scene.does("DELETE FROM tasks").accept([2, 3], 7).hear(deleted(7));
    assert_eq!(scene.outcomes(), "1 confirmed, 2 superseded, 3 confirmed");
    assert_eq!(scene.one("SELECT count(undone_by) FROM _outbox"), "0");
    let refused = scene.undo(Some(1)).unwrap_err();
    assert!(!refused.contains("undone already"), "{refused}");
}

#[test]
fn undo_keeps_subject_whole() {
    let [car, first, second] = [ROOM, HOME, "0190a3b0-0000-7000-8000-00000000000e"];
    let manual = |id, title: &str, kind: &str, of: &str| {
        event(id, "updated", "document", TASK, json!({ "title": title, "subject_type": kind, "subject_id": of }))
    };
    let mut scene = Scene::with([
        event(2, "created", "vehicle", car, json!({ "name": "Car" })),
        event(3, "created", "inventory", first, json!({ "name": "Saw" })),
        event(4, "created", "inventory", second, json!({ "name": "Drill" })),
        manual(5, "Car", "vehicle", car),
    ]);
    let of_the_saw = format!("UPDATE documents SET title = 'Saw', subject_type = 'inventory', subject_id = '{first}'");
    scene.does(&of_the_saw).confirm(1, manual(6, "Saw", "inventory", first));
    scene.does(&format!("UPDATE documents SET subject_id = '{second}'"));
    scene.confirm(2, manual(7, "Saw", "inventory", second));
    let decided = scene.undo(Some(1)).unwrap();
    assert!(decided.sentence.starts_with("“Saw”: title as before; changed since, and left: "), "{}", decided.sentence);
    scene.shows("SELECT title, subject_type, subject_id FROM documents", json!(["Car", "inventory", second]));
}

#[test]
fn undo_keeps_subject_of_two_edits_whole() {
    let [car, saw] = [ROOM, HOME];
    let manual = |id, kind: &str, of: &str| {
        event(id, "updated", "document", TASK, json!({ "title": "Manual", "subject_type": kind, "subject_id": of }))
    };
    let written = || {
        let mut scene = Scene::with([
            event(2, "created", "vehicle", car, json!({ "name": "Car" })),
            event(3, "created", "inventory", saw, json!({ "name": "Saw" })),
            manual(5, "inventory", saw),
        ]);
        scene.does("UPDATE documents SET subject_type = 'vehicle'");
        scene.does(&format!("UPDATE documents SET subject_id = '{car}'"));
        scene.confirm([1, 2], manual(6, "vehicle", car));
        scene
    };
    let subject = "SELECT subject_type, subject_id FROM documents";
    let mut scene = written();
    scene.undo(None).unwrap();
    scene.shows(subject, json!(["inventory", saw]));
    scene.undo(None).unwrap_err();
    scene.shows(subject, json!(["inventory", saw]));
    // The half that was written first cannot be undone alone.
    let mut scene = written();
    let refused = scene.undo(Some(1)).unwrap_err();
    assert!(refused.contains("subject_type has been changed since"), "{refused}");
    scene.shows(subject, json!(["vehicle", car]));
}

#[test]
fn undo_steps_through_coalesced_edits() {
    let mut scene = on_the_way_as_one();
    scene.undo(None).unwrap();
    scene.shows("SELECT title, priority FROM tasks", json!(["One", "low"]));
    scene.undo(None).unwrap();
    scene.shows("SELECT title, priority FROM tasks", json!(["Paint", "low"]));
    assert!(scene.undo(None).unwrap_err().contains("no change to undo"));

    let mut scene = Scene::written("INSERT INTO rooms (name, floor) VALUES ('Nook', '1')");
    scene.does("UPDATE rooms SET floor = '2'").send([1, 2]);
    assert_eq!(scene.undo(None).unwrap().sentence, "“Nook”: floor as before");
    assert_eq!(scene.one("SELECT floor FROM rooms"), "1");
    assert_eq!(scene.undo(None).unwrap().sentence, "“Nook” is deleted again");

    // A rejected coalesced edit is as new as its last part.
    let mut scene = Scene::with([
        task(5, "Paint", "low"),
        event(6, "created", "room", ROOM, json!({ "name": "Shed", "floor": "1" })),
    ]);
    scene.does("UPDATE tasks SET title = 'One'; UPDATE rooms SET floor = '2'; UPDATE tasks SET priority = 'high'");
    scene.reject([1, 3]);
    scene.undo(None).unwrap();
    scene.shows("SELECT title, priority FROM tasks", json!(["Paint", "low"]));
    assert_eq!(scene.undo(None).unwrap().sentence, "“Shed”: the change is taken back; it was never sent");
}

#[test]
fn undo_of_equal_value_is_refused() {
    let car = |id: i64, make: Option<&str>| {
        event(id, "updated", "vehicle", TASK, json!({ "name": "Car", "purchase_price": "7.50", "make": make }))
    };
    let mut scene = Scene::with(car(5, None));
    scene.does("UPDATE vehicles SET purchase_price = '7.5'").sends_nothing(1);
    assert_eq!(scene.outcomes(), "1 merged");
    scene.does("UPDATE vehicles SET make = 'Acme'");
    assert_eq!(
        scene.undo(Some(1)).unwrap_err(),
        "“Car” is as it was before this change already, so there is nothing left to undo"
    );
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT count(make) FROM vehicles"), "0", "the next is not passed over");

    scene.does("UPDATE vehicles SET purchase_price = '07.5', make = 'Bolt'").confirm(3, car(6, Some("Bolt")));
    assert_eq!(scene.undo(Some(3)).unwrap().sentence, "“Car”: make as before");
}

#[test]
fn decision_sentences_name_record() {
    let mut scene = in_conflict();
    assert!(scene.one("SELECT text FROM sync_log ORDER BY id DESC").starts_with("“Mine” needs you"));
    assert_eq!(
        scene.resolve(1, &Resolution::mine()).unwrap().sentence,
        "“Mine”: settled; the change goes to the server"
    );
    assert_eq!(scene.undo(Some(1)).unwrap().sentence, "“Mine”: the change is taken back; it was never sent");
    assert_eq!(scene.undo(Some(1)).unwrap().sentence, "“Theirs”: title, priority as it was written");
}

#[test]
fn undo_steps_through_history() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'One'");
    scene.confirm(1, task(6, "One", "low")).does("UPDATE tasks SET title = 'Two'");
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT title FROM tasks"), "One");
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT title FROM tasks"), "Paint");
    scene.undo(Some(2)).unwrap();
    assert_eq!(scene.one("SELECT title FROM tasks"), "Two", "what was taken back is done again");
}

#[test]
fn undo_leaves_out_dead_references() {
    let item = |id: i64, name: &str, room: &str| {
        event(id, "updated", "inventory", TASK, json!({ "name": name, "room_id": room, "quantity": 1 }))
    };
    let mut scene = Scene::with([
        room(1, "Shed"),
        event(2, "created", "room", HOME, json!({ "name": "Attic" })),
        item(3, "Lamp", ROOM),
    ]);
    scene.does(&format!("UPDATE inventory SET room_id = '{HOME}'")).confirm(1, item(4, "Lamp", HOME));
    scene.does(&format!("UPDATE inventory SET name = 'Old lamp', room_id = '{ROOM}'"));
    scene.confirm(2, item(5, "Old lamp", ROOM)).hear(gone(6, "room", HOME));
    let sentence = scene.undo(Some(2)).unwrap().sentence;
    assert_eq!(sentence, "“Old lamp”: name as before; left, because what it named is gone: room_id");
    scene.shows("SELECT name, room_id FROM inventory", json!(["Lamp", ROOM]));
    scene.undo(Some(3)).unwrap();
    scene.does("DELETE FROM rooms; UPDATE inventory SET room_id = NULL");
    let lost: i64 = scene.one("SELECT max(id) FROM edits").parse().unwrap();
    scene.confirm(lost, event(8, "updated", "inventory", TASK, json!({ "name": "Old lamp", "quantity": 1 })));
    assert_eq!(
        scene.undo(Some(lost)).unwrap_err(),
        "“Old lamp”: what room_id named is gone, so there is nothing left to undo"
    );

    // Losing values are not restored to a deleted record either.
    let mut scene = Scene::with([room(1, "Shed"), item(2, "Lamp", HOME)]);
    scene.does(&format!("UPDATE inventory SET name = 'Old lamp', room_id = '{ROOM}'"));
    scene.undo(Some(1)).unwrap();
    scene.hear(gone(3, "room", ROOM));
    let sentence = scene.undo(Some(1)).unwrap().sentence;
    assert_eq!(sentence, "“Lamp”: name as it was written; left, because what it named is gone: room_id");

    let mut scene = Scene::with([room(1, "Shed"), item(2, "Lamp", HOME)]);
    scene.does(&format!("UPDATE inventory SET room_id = '{ROOM}'"));
    scene.undo(Some(1)).unwrap();
    scene.hear(gone(3, "room", ROOM));
    assert_eq!(scene.undo(Some(1)).unwrap_err(), "“Lamp”: what room_id named is gone, so it stays as it is");

    // A subject is one value in two fields.
    let manual = |id: i64, kind: &str, of: Option<&str>| {
        event(id, "updated", "document", ROOM, json!({ "title": "Manual", "subject_type": kind, "subject_id": of }))
    };
    let mut scene =
        Scene::with([event(1, "created", "vehicle", TASK, json!({ "name": "Car" })), manual(2, "vehicle", Some(TASK))]);
    scene.does("UPDATE documents SET subject_type = 'home', subject_id = NULL").confirm(1, manual(3, "home", None));
    scene.hear(gone(4, "vehicle", TASK));
    let refused = scene.undo(Some(1)).unwrap_err();
    assert!(refused.contains("what subject_id named is gone"), "{refused}");
}

#[test]
fn undo_sentence_says_how_far_edit_was() {
    for (outcome, then) in
        [(rejected(), "the server had refused it"), (WriteOutcome::PreconditionFailed, "the server does not have it")]
    {
        let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
        let said = scene.attempt(1, outcome).undo(Some(1)).unwrap().sentence;
        assert_eq!(said, format!("“Mine”: the change is taken back; {then}"));
    }
    let said = in_conflict().undo(Some(1)).unwrap().sentence;
    assert_eq!(said, "“Mine”: the change is taken back; it was never sent");
}

#[test]
fn undo_first_profile_update() {
    let mut scene = Scene::written("INSERT INTO property (city) VALUES ('Ghent')");
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT count(*) FROM property"), "0");
    scene.undo(Some(1)).unwrap();
    scene.confirm(2, profile(3, "Ghent"));
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT count(city) FROM property"), "0");
}

#[test]
fn discard_updates_base_of_later_part() {
    let mut scene = Scene::edited_at_present("UPDATE tasks SET title = 'Lost'");
    scene.accept(1, 9).does("UPDATE tasks SET title = 'Mine'; UPDATE tasks SET priority = 'high'");
    scene.attempt([2, 3], WriteOutcome::KeyRefused { reason: "the key may not write tasks".to_owned() });
    // The feed passes the position without the first edit: the server was restored to before it.
    scene.hear(room(10, "Shed"));
    scene.discard(1).unwrap();
    scene.send(2);
    scene.undo(Some(2)).unwrap();
    scene.shows("SELECT title, priority FROM tasks", json!(["Paint", "high"]));
}

/// The parts of an edit in the history, in their order.
const PARTS: &str = "SELECT id, outcome, patch FROM edit_history ORDER BY id";

#[test]
fn history_of_parts_has_their_outcomes() {
    for policy in [Ask, Theirs] {
        let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'; UPDATE tasks SET priority = 'high'");
        scene.hear(task(6, "Theirs", "low"));
        assert_eq!(scene.freeze([1, 2], policy).is_some(), policy == Theirs);
        if policy == Ask {
            scene.resolve(1, &Resolution::theirs()).unwrap();
            scene.send(1);
        }
        scene.answer(1, accepted(7)).hear(task(7, "Theirs", "high"));
        assert_eq!(
            scene.rows(PARTS),
            json!([
                [1, "superseded", "{}"],
                [2, "confirmed", r#"{"priority":"high"}"#],
                [3, "superseded", r#"{"title":"Mine"}"#]
            ]),
            "{policy:?}"
        );
    }
}

#[test]
fn history_of_changed_parts_has_new_values() {
    let mut scene = on_the_way_as_one();
    scene.answer(1, rejected());
    scene.change(1, json!({ "title": "Three", "notes": "N" })).unwrap();
    scene.confirm(1, event(6, "updated", "task", TASK, json!({ "title": "Three", "priority": "high", "notes": "N" })));
    assert_eq!(
        scene.rows(PARTS),
        json!([
            [1, "confirmed", r#"{"title":"One","notes":"N"}"#],
            [2, "confirmed", r#"{"title":"Three","priority":"high"}"#]
        ])
    );
    scene.undo(Some(2)).unwrap();
    scene.shows("SELECT title, priority FROM tasks", json!(["One", "low"]));
}

#[test]
fn change_updates_base_of_next_edit() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'A', notes = 'N'");
    scene.reject(1).does("UPDATE tasks SET title = 'B'");
    scene.change(1, json!({ "title": "Paint" })).unwrap();
    assert_eq!(scene.one("SELECT patch FROM edits WHERE id = 1"), r#"{"notes":"N"}"#);
    assert_eq!(scene.one("SELECT base FROM edits WHERE id = 2"), r#"{"title":"Paint"}"#);
}

#[test]
fn undo_newest_skips_impossible_changes() {
    let mut scene = Scene::with([
        event(4, "created", "room", ROOM, json!({ "name": "Shed", "floor": "1" })),
        task(5, "Paint", "low"),
    ]);
    scene.does("UPDATE rooms SET floor = '2'");
    scene.confirm(1, event(6, "updated", "room", ROOM, json!({ "name": "Shed", "floor": "2" })));
    scene.does("UPDATE tasks SET title = 'Paint all'").confirm(2, task(7, "Paint all", "low"));
    scene.does("UPDATE tasks SET notes = 'N'");
    scene.confirm(3, event(8, "updated", "task", TASK, json!({ "title": "Paint all", "notes": "N" })));
    scene.hear(deleted(9));
    let decided = scene.undo(None).unwrap();
    assert_eq!(
        decided.sentence,
        "“Shed”: floor as before (passed over: “Paint all” is deleted by now; “Paint all” is deleted by now)"
    );
    assert_eq!(scene.one("SELECT floor FROM rooms"), "1");
    assert_eq!(scene.undo(None).unwrap_err(), "“Paint all” is deleted by now");
}

#[test]
fn undone_edit_without_effect_can_be_redone() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
    scene.send(1);
    assert_eq!(scene.undo(Some(1)).unwrap().edit, Some(2));
    scene.answer(1, WriteOutcome::PreconditionFailed).hear(task(6, "Theirs", "low")).sends_nothing(1);
    scene.resolve(1, &Resolution::theirs()).unwrap();
    assert_eq!(scene.freeze(2, Ask), None, "nothing is left to be undone");
    assert_eq!(
        scene.rows("SELECT id, outcome, reason FROM edit_history ORDER BY id"),
        json!([[1, "superseded", "you took the value on the server"], [2, "merged", "it changes nothing"]])
    );
    scene.undo(Some(1)).unwrap();
    assert_eq!(scene.one("SELECT title FROM tasks"), "Mine");
}

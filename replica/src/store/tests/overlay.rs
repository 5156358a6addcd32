//! How the server's records and local edits are laid over each other.

use super::*;

#[test]
fn update_queues_changes_over_base() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Paint', priority = 'high'");
    scene.does("UPDATE tasks SET title = title");
    assert_eq!(scene.one("SELECT count(*) FROM edits"), "1");
    scene.shows(
        "SELECT patch, base, origin FROM edits",
        json!([r#"{"priority":"high"}"#, r#"{"priority":"low"}"#, "sql"]),
    );
    scene.shows("SELECT rev, fields ->> 'priority' FROM _base", json!([5, "low"]));

    // A change of another field shows under the local edit. The edited field keeps the local value until the feed
    // passes the edit.
    scene.hear(task(6, "Paint the shed", "urgent"));
    scene.shows("SELECT title, priority, rev FROM tasks", json!(["Paint the shed", "high", 6]));
    scene.hear(task(7, "Paint all", "low"));
    let request = scene.send(1);
    assert_eq!((request.verb.as_str(), request.body.as_deref()), ("PATCH", Some(r#"{"priority":"high"}"#)));
    scene.answer(1, accepted(9)).hear(room(8, "Shed"));
    assert_eq!(scene.row("SELECT title, priority FROM tasks"), json!(["Paint all", "high"]), "no flicker back");
    scene.hear(task(9, "Paint all", "high")).shows("SELECT priority, rev FROM tasks", json!(["high", 9]));
    scene.shows("SELECT outcome, rev FROM edit_history", json!(["confirmed", 9]));
    scene.shows(
        "SELECT rev, fields ->> 'priority', (SELECT count(*) FROM edits) FROM _base WHERE kind = 'task'",
        json!([9, "high", 0]),
    );
    assert_eq!(scene.one("SELECT (SELECT count(*) FROM _outbox) + (SELECT count(*) FROM _requests)"), "0");
}

#[test]
fn repeated_or_old_events_change_nothing() {
    let mut scene = Scene::with([task(5, "Paint", "low"), task(7, "Paint all", "high")]);
    scene.hear(task(5, "Paint", "low")).shows("SELECT title, rev FROM tasks", json!(["Paint all", 7]));
    scene.hear(deleted(8)).hear(task(7, "Paint all", "high"));
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "0", "a deleted record does not come back");
    assert_eq!(scene.one("SELECT position FROM _sync"), "8");
    assert!(
        scene
            .sql(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'x')"))
            .unwrap_err()
            .contains("used before")
    );
}

#[test]
fn event_with_key_confirms_edit() {
    let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    assert_eq!(scene.plan(), [1]);
    let first = scene.send(1);
    assert_eq!(scene.send(1), first, "a retry sends the same bytes");
    scene.does("UPDATE tasks SET priority = 'high'");
    assert_eq!(scene.plan(), [1], "a later edit of the record waits");
    scene.hear(with_key(task(4, "Paint", "medium"), &first.key));
    assert_eq!(scene.outcomes(), "1 confirmed");
    assert_eq!(scene.row("SELECT priority, rev FROM tasks"), json!(["high", 4]), "the second edit is still laid over");
    assert_eq!(scene.plan(), [2]);
    scene.answer(1, no_answer());
    assert_eq!(scene.one("SELECT count(*) FROM edits"), "1", "what is settled stays settled");
}

#[test]
fn delete_waits_for_referring_edits() {
    let mut scene = Scene::with(room(1, "Shed"));
    scene.does(&format!("INSERT INTO inventory (name, room_id) VALUES ('Rake', '{ROOM}'); DELETE FROM rooms"));
    assert_eq!(scene.plan(), [1]);
    scene.accept(1, 2);
    assert_eq!(scene.plan(), [2]);
    let request = scene.send(2);
    assert_eq!((request.verb.as_str(), request.body), ("DELETE", None));
    scene.answer(2, WriteOutcome::Sent { rev: None });
    let rake = scene.one("SELECT id FROM inventory");
    scene.hear([
        event(2, "created", "inventory", &rake, json!({ "name": "Rake", "room_id": ROOM })),
        event(3, "updated", "inventory", &rake, json!({ "name": "Rake", "room_id": null })),
        gone(4, "room", ROOM),
    ]);
    assert_eq!(scene.column("SELECT outcome FROM edit_history"), json!(["confirmed", "confirmed"]));
}

#[test]
fn delete_after_an_edit_agrees_with_a_delete_there() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'; DELETE FROM tasks");
    scene.hear(deleted(6));
    assert_eq!(scene.column("SELECT outcome FROM edit_history ORDER BY id"), json!(["superseded", "confirmed"]));
    scene.shows("SELECT (SELECT count(*) FROM tasks), rev, deleted, fields FROM _base", json!([0, 6, 1, "{}"]));
}

#[test]
fn delete_after_confirmation_in_one_batch() {
    let mut scene = Scene::with_task();
    scene.is_at_present(5).does("UPDATE tasks SET title = 'Mine'").send(1);
    scene.hear([with_key(task(6, "Mine", "low"), "key-1"), deleted(7)]);
    assert_eq!(scene.outcomes(), "1 confirmed");
    scene.shows("SELECT (SELECT count(*) FROM tasks), rev, deleted, fields FROM _base", json!([0, 7, 1, "{}"]));
}

#[test]
fn first_update_creates_profile() {
    let mut scene = Scene::new();
    let fields = object(json!({ "city": "Ghent", "bedrooms": 3 }));
    edits::update(&mut scene.db, Origin::Tui, Kind::Property, "", &fields).unwrap();
    assert_eq!(scene.one("SELECT id FROM property"), HOME);
    scene.shows("SELECT record_id, method, origin FROM edits", json!([HOME, "update", "tui"]));
    let request = scene.send(1);
    assert_eq!(
        (request.path.as_str(), request.body.as_deref()),
        ("/v1/property", Some(r#"{"city":"Ghent","bedrooms":3}"#))
    );
    scene.answer(1, accepted(3));
    scene.hear(event(3, "created", "property", HOME, json!({ "city": "Ghent", "bedrooms": 3 })));
    scene.shows("SELECT city, bedrooms, rev FROM property", json!(["Ghent", 3, 3]));
    assert!(
        scene.sql("INSERT INTO property (city) VALUES ('Bruges')").unwrap_err().starts_with("there is one property")
    );
}

#[test]
fn unknown_members_are_kept() {
    let mut scene = Scene::new();
    let newer = json!({ "title": "Paint", "priority": "asap", "status": 7, "mood": { "is": "good" } });
    scene.hear([
        event(1, "created", "pet", ROOM, json!({})),
        event(2, "moved", "task", TASK, json!({})),
        event(3, "created", "task", TASK, newer),
    ]);
    scene.shows("SELECT priority, extra FROM tasks", json!(["asap", r#"{"status":7,"mood":{"is":"good"}}"#]));
    assert_eq!(scene.one("SELECT count(*) FROM sync_log WHERE level = 'warning'"), "2");
    scene.does("UPDATE tasks SET title = 'Paint all'");
    assert_eq!(scene.one("SELECT patch FROM edits"), r#"{"title":"Paint all"}"#);
    scene.hear(task(4, "x", "low")).shows("SELECT title, rev FROM tasks", json!(["Paint all", 4]));
}

#[test]
fn unknown_event_type_applies_payload() {
    let mut scene = Scene::with_task();
    let again = |id, word: &str, title: &str| event(id, word, "task", TASK, json!({ "title": title }));
    scene.hear(again(6, "restored", "Paint all")).shows("SELECT title, rev FROM tasks", json!(["Paint all", 6]));
    scene.hear(again(5, "restored", "late")).shows("SELECT title, rev FROM tasks", json!(["Paint all", 6]));
    // The event changes the base image as every other event.
    scene.does("UPDATE tasks SET notes = 'Mine'").hear(again(8, "restored", "Paint none"));
    scene.shows("SELECT title, rev, notes FROM tasks", json!(["Paint none", 8, "Mine"]));
    // An event without a record shows nothing.
    scene.hear(event(9, "archived", "task", TASK, Value::Null));
    scene.shows("SELECT title, rev, notes FROM tasks", json!(["Paint none", 8, "Mine"]));
    assert_eq!(scene.one("SELECT position FROM _sync"), "9");
}

#[test]
fn unknown_event_is_logged_once() {
    let mut scene = Scene::new();
    let long = "x".repeat(100_000);
    for id in (1..200).step_by(4) {
        scene.hear([
            event(id, "created", "pet", ROOM, json!({})),
            event(id + 1, "updated", "pet", ROOM, json!({})),
            event(id + 2, "created", "plant", ROOM, json!({})),
            event(id + 3, "created", &long, ROOM, json!({})),
        ]);
    }
    let sentence = "SELECT text FROM sync_log WHERE level = 'warning' AND text NOT LIKE '%xx%'";
    assert_eq!(
        scene.column(sentence),
        json!([
            "Skipped: records of the kind pet, which this version does not know.",
            "Skipped: records of the kind plant, which this version does not know."
        ])
    );
    scene.shows("SELECT count(*), (max(length(text)) < 200) FROM sync_log WHERE level = 'warning'", json!([3, 1]));
}

#[test]
fn lost_head_is_not_claimed() {
    let mut scene = Scene::new();
    // The server reported its head, was restored to an older copy, and then sent its feed from the beginning.
    scene.greets(17, &[]).is_at_present(6).shows("SELECT position, head FROM sync_status", json!([6, 6]));
}

#[test]
fn greeting_head_is_not_position() {
    let mut scene = Scene::new();
    scene.is_at_present(6);
    assert_eq!(scene.one("SELECT phase FROM _sync"), "live");
    // The disk had no room for the offline phase, and the process ends before the next phase is written.
    scene.greets(7, &[]);
    assert_eq!(scene.one("SELECT phase FROM _sync"), "catching_up");
    scene.is_at_present(7).greets(7, &[]);
    assert_eq!(scene.one("SELECT phase FROM _sync"), "live");
}

#[test]
fn daemon_pid_is_written_on_first_contact() {
    let mut scene = Scene::new();
    let greeting = sync_state::Greeting { process: Some(7), ..greeting(6, &[]) };
    sync_state::record_greeting(&mut scene.db, &greeting, at(0)).unwrap();
    scene.is_at_present(6);
    assert_eq!(scene.one("SELECT daemon_pid FROM sync_status"), "7");
}

#[test]
fn update_seen_refuses_changed_value() {
    let mut scene = Scene::new();
    let seen = object(json!({ "title": "Paint" }));
    let update = |scene: &mut Scene, title: &str, seen: &Fields| {
        edits::update_seen(&mut scene.db, Origin::Tui, Kind::Task, TASK, &object(json!({ "title": title })), seen)
            .unwrap()
    };
    scene.hear(task(5, "Paint", "low")).hear(task(6, "Paint the fence", "low"));
    assert!(!update(&mut scene, "Mine", &seen));
    scene.shows("SELECT title, (SELECT count(*) FROM edits) FROM tasks", json!(["Paint the fence", 0]));
    // The person has seen the new value; the change is based on that value.
    assert!(update(&mut scene, "Mine", &object(json!({ "title": "Paint the fence" }))));
    assert_eq!(scene.one("SELECT base FROM edits"), r#"{"title":"Paint the fence"}"#);
    assert!(update(&mut scene, "Mine", &seen), "what is so already is nobody's loss");
    assert_eq!(scene.send(1).if_match, Some(6));
}

#[test]
fn write_knows_its_edit_numbers() {
    let mut scene = Scene::new();
    let room = |name: &str| object(json!({ "name": name }));
    let kind = Kind::Room;
    assert!(gate::last_edit_ids(&scene.db).unwrap().is_empty());
    scene.does("INSERT INTO rooms (name) VALUES ('Script')");
    let id = edits::create(&mut scene.db, Origin::Tui, kind, &room("Hall")).unwrap();
    let mut other = open::read_write(&scene.db_path()).unwrap();
    edits::create(&mut other, Origin::Cli, kind, &room("Shed")).unwrap();
    assert_eq!((gate::last_edit_ids(&scene.db).unwrap(), gate::last_edit_ids(&other).unwrap()), (vec![2], vec![3]));
    edits::update(&mut scene.db, Origin::Tui, kind, &id, &room("Hall")).unwrap();
    assert!(gate::last_edit_ids(&scene.db).unwrap().is_empty(), "what changed nothing made nothing");
}

/// Another program has put an older copy into the database between two batches. The second one must change nothing.
#[test]
fn batch_after_another_checkpoint_is_not_applied() {
    let mut scene = Scene::with_task_at_present();
    let after = feed::checkpoint(&scene.db).unwrap();
    scene.hear(task(6, "Sweep", "low"));
    let batch = FeedBatch { events: vec![task(9, "Mop", "low")], ..FeedBatch::default() };
    let applied = feed::apply(&mut scene.db, &batch, Some(after), &live(at(0)));
    assert!(matches!(applied, Err(StoreError::ContentReplaced)), "{applied:?}");
    scene.shows("SELECT title, (SELECT position FROM _sync) FROM tasks", json!(["Sweep", 6]));
}

//! How the sync goes on after a rebuild: from its place in the feed, with its reconcile and its lost edits. The rows of a sound
//! database stay until they are read again.

use super::*;
use crate::store::tests::reconcile::{record, restored};

const ALL_RECORDS: ReconcileScope = ReconcileScope::Everything { since: None };

/// The wreck after both edits are confirmed, at the head.
fn with_confirmed_edits() -> Wreck {
    let mut wreck = Wreck::new();
    wreck.send(1);
    wreck.send(2);
    let keys = [1, 2].map(|edit| wreck.one(&format!("SELECT idempotency_key FROM edits WHERE id = {edit}")));
    let floor = event(6, "updated", "room", ROOM, json!({ "name": "Kitchen", "floor": "2" }));
    let made = event(7, "created", "task", TASK, json!({ "title": "Sweep" }));
    wreck.hear([with_key(floor, &keys[0]), with_key(made, &keys[1])]).is_at_present(7);
    assert_eq!(wreck.outcomes(), "1 confirmed, 2 confirmed");
    wreck
}

#[test]
fn sound_database_keeps_rows() {
    let wreck = Wreck::new();
    let report = wreck.rebuilt();
    assert_eq!((report.kept_as, report.edits), (None, 2));
    let mut scene = wreck.scene;
    scene.shows("SELECT name, floor, rev FROM rooms", json!(["Kitchen", "2", null]));
    scene.hear(event(5, "created", "room", ROOM, json!({ "name": "Galley", "floor": "1" })));
    scene.shows("SELECT name, floor, rev FROM rooms", json!(["Galley", "2", 5]));
}

#[test]
fn rebuild_shows_restored_server_records() {
    for damaged in [false, true] {
        let mut wreck = Wreck::new();
        let shed = "0190a3b0-0000-7000-8000-000000000009";
        let room = |id, event_type: &str, payload| event(id, event_type, "room", shed, payload);
        wreck.hear([
            room(6, "created", json!({ "name": "Shed" })),
            event(8, "updated", "room", ROOM, json!({ "name": "Scullery", "floor": "1" })),
            room(9, "deleted", json!(null)),
        ]);
        if damaged {
            wreck.overwrite(0, &[0xff; 100]);
        }
        assert_eq!(wreck.rebuilt().kept_as.is_some(), damaged);
        // The server was restored to an older copy.
        let mut scene = wreck.scene;
        scene.catch_up([
            event(5, "created", "room", ROOM, json!({ "name": "Kitchen", "floor": "1" })),
            room(6, "created", json!({ "name": "Shed" })),
        ]);
        let rooms = "SELECT name, floor FROM rooms ORDER BY name";
        assert_eq!(scene.rows(rooms), json!([["Kitchen", "2"], ["Shed", null]]), "damaged: {damaged}");
    }
}

#[test]
fn rebuild_keeps_pending_restore() {
    let mut wreck = Wreck::new();
    let scene = &mut wreck.scene;
    scene.send(2);
    scene.hear(with_key(event(6, "created", "task", TASK, json!({ "title": "Sweep" })), "key-2"));
    assert_eq!(scene.outcomes(), "2 confirmed");
    scene.recovers(&restored(None));
    reconcile::ask_person(&mut scene.db, "1 of 1 tasks are gone").unwrap();
    assert_eq!(wreck.rebuilt().kept_as, None);
    let scene = &mut wreck.scene;
    let begun = reconcile::load(&scene.db).unwrap().unwrap();
    assert_eq!((begun.step, begun.scope, begun.question), (ReconcileStep::Property, ALL_RECORDS, None));
    assert_eq!(scene.one("SELECT cursor FROM _sync"), "r");
    // The older copy has neither record.
    scene.sweeps(Kind::Task, &[], 3).sweeps(Kind::Room, &[], 3).finishes();
    scene.shows("SELECT method, state FROM edits WHERE id = 2", json!(["create", "conflict"]));
    assert_eq!(scene.one("SELECT title FROM tasks"), "Sweep", "a record that is offered again stays visible");
}

/// The rebuild of a database whose `_reconcile` is damaged loses the cursor, which a restored server would refuse.
#[test]
fn rebuild_without_a_cursor_detects_restored_server() {
    for (room, head) in [(3, 4), (3, 90)] {
        let mut wreck = with_confirmed_edits();
        wreck.does("DROP TABLE _reconcile");
        assert!(wreck.rebuilt().kept_as.is_some());
        let scene = &mut wreck.scene;
        // An event from before the copy, and a new event of the restored server.
        scene.hear(event(room, "created", "room", ROOM, json!({ "name": "Kitchen", "floor": "1" })));
        scene.hear(event(head, "created", "room", HOME, json!({ "name": "Attic" }))).is_at_present(head);
        let begun = reconcile::load(&scene.db).unwrap().expect("a reconcile");
        assert_eq!((begun.step, begun.scope), (ReconcileStep::Property, ALL_RECORDS), "{head}");
        let begun = "SELECT cause, _sync.cursor FROM _reconcile JOIN _sync";
        scene.shows(begun, json!(["restored", format!("c{head}")]));
        for (kind, ids) in [(Kind::Task, &[][..]), (Kind::Room, &[(ROOM, room), (HOME, head)])] {
            scene.sweeps(kind, ids, head);
        }
        scene.finishes().shows("SELECT position, head FROM _sync", json!([head, head]));
        let offered = "SELECT id, method, state FROM edits ORDER BY id";
        assert_eq!(scene.rows(offered), json!([[1, "update", "conflict"], [2, "create", "conflict"]]), "{head}");
        scene.shows("SELECT floor, title FROM rooms JOIN tasks WHERE rooms.name = 'Kitchen'", json!(["2", "Sweep"]));
    }
}

#[test]
fn rebuild_lists_every_record_and_goes_on_from_its_cursor() {
    let mut wreck = Wreck::new();
    wreck.is_at_present(5);
    // A program that knows how to switch the guards off has changed the row and its base image.
    wreck.forces("UPDATE _base SET fields = '{\"name\":\"Attic\"}'");
    wreck.rebuilt();
    let scene = &mut wreck.scene;
    let begun = reconcile::load(&scene.db).unwrap().unwrap();
    // A rebuild does not accept many deletions by itself: a person must.
    assert_eq!((begun.scope, begun.tail_position, begun.accepted), (ALL_RECORDS, Some(5), false));
    scene.shows("SELECT cursor, position, phase FROM _sync", json!(["c5", 5, "reconciling"]));
    scene.is_listed(Kind::Room, vec![record(ROOM, 5, json!({ "name": "Kitchen", "floor": "1" }))], 5);
    scene
        .sweeps(Kind::Room, &[(ROOM, 5)], 5)
        .finishes()
        .shows("SELECT name, floor, rev FROM rooms", json!(["Kitchen", "2", 5]));
    assert_eq!(scene.plan(), [1, 2]);
}

#[test]
fn damaged_database_in_step_goes_on_from_its_cursor() {
    let mut wreck = Wreck::new();
    wreck.is_at_present(5);
    wreck.rebuilt_without("rooms");
    let begun = reconcile::load(&wreck.scene.db).unwrap().unwrap();
    assert_eq!((begun.scope, begun.tail_position), (ALL_RECORDS, Some(5)));
    wreck.shows("SELECT cursor, position, phase, backfilled FROM _sync", json!(["c5", 5, "reconciling", 1]));
    wreck.shows("SELECT name, floor, rev FROM rooms", json!(["Kitchen", "2", null]));
    wreck.is_listed(Kind::Room, vec![record(ROOM, 5, json!({ "name": "Kitchen", "floor": "1" }))], 5);
    wreck.sweeps(Kind::Room, &[(ROOM, 5)], 5).finishes();
    wreck.shows("SELECT name, floor, rev FROM rooms", json!(["Kitchen", "2", 5]));
    assert_eq!(wreck.plan(), [1, 2]);
}

/// A record whose base image cannot be read does not show what its edits were, so they do not count as overwritten.
#[test]
fn damage_of_base_images_hides_no_lost_edit() {
    let mut wreck = with_confirmed_edits();
    wreck.does("UPDATE rooms SET name = 'Hall'; UPDATE tasks SET notes = 'Mine'");
    wreck.rebuilt_without("_base");
    wreck.recovers(&restored(None));
    wreck.is_listed(Kind::Room, vec![record(ROOM, 3, json!({ "name": "Kitchen", "floor": "1" }))], 3);
    wreck.sweeps(Kind::Room, &[(ROOM, 3)], 3).sweeps(Kind::Task, &[], 3).finishes();
    let lost = "SELECT id FROM edits WHERE state = 'conflict' AND reason_code = 'lost_by_server' ORDER BY id";
    assert_eq!(wreck.column(lost), json!([1, 2]));
}

/// A restored server has lost a record, and an edit of it waits: it can be made again.
#[test]
fn rebuild_keeps_the_reason_of_an_edit_whose_record_was_lost() {
    let mut wreck = Wreck::new();
    wreck.is_at_present(5).recovers(&restored(None)).sweeps(Kind::Room, &[], 3).finishes();
    let reason = "SELECT state, reason_code FROM edits WHERE id = 1";
    wreck.shows(reason, json!(["conflict", "lost_by_server"]));
    wreck.rebuilt();
    wreck.sweeps(Kind::Room, &[], 3).finishes().shows(reason, json!(["conflict", "lost_by_server"]));
}

#[test]
fn rebuild_before_end_of_backfill_compares_at_its_end() {
    let mut wreck = Wreck::new();
    wreck.rebuilt();
    let scene = &mut wreck.scene;
    scene.shows("SELECT cursor, EXISTS (SELECT 1 FROM _reconcile) FROM _sync", json!(["c5", 0]));
    scene.catch_up(event(6, "created", "room", HOME, json!({ "name": "Attic" })));
    let begun = reconcile::load(&scene.db).unwrap().expect("the feed has not shown the kitchen again");
    assert!(matches!(begun.scope, ReconcileScope::Everything { .. }));
    assert_eq!(begun.tail_position, Some(6));
}

#[test]
fn rebuild_drops_cursor_that_the_server_does_not_know() {
    let mut wreck = Wreck::new();
    wreck.is_at_present(5).forces("UPDATE _sync SET phase = 'blocked', blocked_by = 'unknown_cursor'");
    wreck.rebuilt();
    let stands = "SELECT _sync.cursor, blocked_by, cause, tail_position FROM _sync JOIN _reconcile";
    wreck.shows(stands, json!([null, null, "restored", null]));
}

#[test]
fn user_column_is_no_damage() {
    let mut wreck = Wreck::new();
    for name in ["kind", "method", "patch", "base", "fields", "record_id"] {
        wreck.does(&format!("ALTER TABLE rooms ADD COLUMN {name} TEXT; UPDATE rooms SET {name} = 'antique'"));
    }
    wreck.does("ALTER TABLE rooms ADD COLUMN my_note TEXT; UPDATE rooms SET my_note = CAST(x'636166e9' AS TEXT)");
    assert_eq!(health::examine(&wreck.db).unwrap().broken, [] as [String; 0]);
    assert_eq!(wreck.rebuilt().kept_as, None);
    wreck.shows("SELECT kind, method, hex(my_note) FROM rooms", json!(["antique", "antique", "636166E9"]));
}

#[test]
fn search_written_by_script_is_repaired() {
    let found = |wreck: &Wreck| (health::examine(&wreck.db).unwrap().search_complete, wreck.column(FOUND));
    let mut wreck = Wreck::new();
    assert_eq!(found(&wreck), (true, json!(["Kitchen", "Sweep"])));
    // With the rowids of later entries.
    wreck.does("INSERT INTO search (kind, record_id, title) VALUES ('room', 'a', 'X'), ('room', 'b', 'X')");
    wreck.does("INSERT OR IGNORE INTO rooms (name) VALUES ('Hall')");
    wreck.hear(event(6, "created", "room", HOME, json!({ "name": "Attic" })));
    assert_eq!(found(&wreck), (true, json!(["Attic", "Hall", "Kitchen", "Sweep"])));
    wreck.does("INSERT INTO search (kind, record_id, title) VALUES ('room', 'a', 'X')");
    wreck.does("DELETE FROM search WHERE title IN ('Kitchen', 'Attic', 'Hall')");
    // A changed record is found again.
    wreck.does("UPDATE rooms SET name = 'Galley' WHERE name = 'Kitchen'");
    wreck.hear(event(7, "updated", "room", HOME, json!({ "name": "Loft" })));
    assert_eq!(found(&wreck), (false, json!(["Galley", "Loft", "Sweep", "X"])));
    assert_eq!(wreck.rebuilt().kept_as, None);
    assert_eq!(found(&wreck), (true, json!(["Galley", "Hall", "Loft", "Sweep"])));
    wreck.does("DELETE FROM search");
    wreck.rebuilt();
    assert_eq!(found(&wreck), (true, json!(["Galley", "Hall", "Loft", "Sweep"])));
}

#[test]
fn wrong_search_index_is_no_damage() {
    let mut wreck = Wreck::new();
    let of_kitchen = "(SELECT rowid FROM search WHERE title = 'Kitchen')";
    wreck.does(&format!("UPDATE search_content SET c2 = 'Galley' WHERE id = {of_kitchen}"));
    assert_eq!(wreck.one("SELECT title FROM search WHERE search MATCH 'kitchen'"), "Galley");
    let health = health::examine(&wreck.db).unwrap();
    assert_eq!((health.broken, health.search_complete), (Vec::new(), false));
    assert_eq!(wreck.rebuilt().kept_as, None);
    assert!(health::examine(&wreck.db).unwrap().search_complete);
    assert_eq!(wreck.one("SELECT title FROM search WHERE search MATCH 'kitchen'"), "Kitchen");
}

const FOUND: &str = "SELECT title FROM search ORDER BY title";

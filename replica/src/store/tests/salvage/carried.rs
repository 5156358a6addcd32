//! What is carried over from a damaged database: edits, their ids and requests, and objects that people have added.

use super::*;
use crate::store::outside;

/// The sentence about a damaged list of tables.
const UNLISTED: &str = "A part of the list of tables cannot be read; tables, indexes, views and triggers of your own \
     may be missing, and columns that you have added.";

/// The sentence about a column of a person.
const WITHOUT_STARS: &str =
    "The column stars of rooms is carried over without its values; the file that is kept has them.";

#[test]
fn edit_ids_continue_without_edits() {
    let mut scene = Scene::written("INSERT INTO rooms (name) VALUES ('Hall')");
    let id = scene.one("SELECT id FROM rooms");
    scene.send(1);
    scene.hear(with_key(event(5, "created", "room", &id, json!({ "name": "Hall" })), "key-1"));
    assert_eq!(scene.outcomes(), "1 confirmed");
    let mut wreck = Wreck::of(scene);
    wreck.rebuilt_without("rooms");
    wreck.does("INSERT INTO rooms (name) VALUES ('Attic')");
    assert_eq!(wreck.one("SELECT max(id) FROM edits"), "2");
}

#[test]
fn ids_of_coalesced_edits_are_not_reused() {
    for broken in ["rooms", "sqlite_sequence"] {
        let mut scene = Scene::written("INSERT INTO rooms (name) VALUES ('Hall'); UPDATE rooms SET floor = '1'");
        scene.does("UPDATE rooms SET floor = '2'");
        let id = scene.one("SELECT id FROM rooms");
        scene.send([1, 2, 3]);
        let wreck = Wreck::of(scene);
        wreck.rebuilt_without(broken);
        let mut scene = wreck.scene;
        scene.does("INSERT INTO rooms (name) VALUES ('Attic')");
        assert_eq!(scene.one("SELECT max(id) FROM edits"), "4", "{broken}");
        let attic = scene.one("SELECT id FROM rooms WHERE name = 'Attic'");
        let made = event(5, "created", "room", &id, json!({ "name": "Hall", "floor": "2" }));
        scene.hear(with_key(made, "key-1")).is_at_present(5).send(4);
        scene.hear(with_key(event(6, "created", "room", &attic, json!({ "name": "Attic" })), "key-4"));
        assert_eq!(scene.outcomes(), "1 confirmed, 2 confirmed, 3 confirmed, 4 confirmed", "{broken}");
    }
}

#[test]
fn ids_of_lost_edits_are_not_reused() {
    let mut wreck = Wreck::new();
    wreck.forces("UPDATE edits SET method = 'x' WHERE id = 2");
    let report = wreck.rebuilt_without("sqlite_sequence");
    assert!(report.lost.iter().any(|sentence| sentence.starts_with("Edit 2 ")), "{:?}", report.lost);
    wreck.does("INSERT INTO rooms (name) VALUES ('Attic')");
    assert_eq!(wreck.one("SELECT max(id) FROM edits"), "3");
}

#[test]
fn rows_of_lost_edits_are_deleted() {
    let mut scene = Scene::written("INSERT INTO rooms (name) VALUES ('Hall'); UPDATE rooms SET floor = '1'");
    scene.send([1, 2]);
    let mut wreck = Wreck::of(scene);
    wreck.rebuilt_without("edits");
    let left = "SELECT count(*) FROM _outbox WHERE part_of IS NOT NULL OR if_match IS NOT NULL";
    assert_eq!(wreck.one(left), "0");
    wreck.does("INSERT INTO rooms (name) VALUES ('Attic')");
    assert_eq!(
        wreck.rows("SELECT id, method, state FROM edits"),
        json!([[3, "create", "rejected"], [4, "create", "waiting"]]),
        "the inferred edit has a new id"
    );
}

#[test]
fn request_without_precondition_is_remade() {
    let floor_is = |id, floor| event(id, "updated", "room", ROOM, json!({ "name": "Galley", "floor": floor }));
    for (floor, guard, states) in [("1", Some(8), "sending waiting"), ("9", None, "conflict waiting")] {
        let mut wreck = Wreck::new();
        assert_eq!(wreck.send(1).if_match, Some(5));
        wreck.rebuilt_without("_outbox");
        let mut scene = wreck.scene;
        scene.catch_up(floor_is(8, floor));
        let request = scene.freeze_as("anew", 1, Ask);
        assert_eq!(request.and_then(|request| request.if_match), guard, "{floor}");
        assert_eq!(scene.states(), states, "{floor}");
    }
}

#[test]
fn bulk_request_keeps_bytes_for_other_edits() {
    let mut wreck = Wreck::new();
    wreck.does("INSERT INTO rooms (name) VALUES ('Hall')");
    let before = wreck.freeze_groups_as("bulk", &[vec![1], vec![3]], Ask).unwrap();
    wreck.forces("DELETE FROM _outbox WHERE edit_id = 1");
    wreck.rebuilt_without("sync_log");
    let mut scene = wreck.scene;
    scene.catch_up(event(8, "updated", "room", ROOM, json!({ "name": "Kitchen", "floor": "9" })));
    let again = scene.send(3);
    assert_eq!((again.key, again.body), (before.key, before.body));
    assert_eq!(again.edits.into_iter().map(|(edit, _)| edit).collect::<Vec<_>>(), [3]);
    assert_eq!(scene.freeze(1, Ask), None, "another person has changed the same field");
}

#[test]
fn edits_of_unknown_home_are_parked() {
    let wreck = Wreck::new();
    let report = wreck.rebuilt_without("_sync");
    assert_eq!((report.edits, report.parked), (2, 2));

    let mut scene = Scene::new();
    scene.hear(event(5, "created", "room", ROOM, json!({ "name": "Kitchen" })));
    let wreck = Wreck::of(scene);
    assert_eq!(wreck.rebuilt_without("_sync").records, 1);
    wreck.shows("SELECT name, rev, phase, home_id FROM rooms, _sync", json!(["Kitchen", null, "new", null]));
}

#[test]
fn each_table_is_carried_over_or_filled_again() {
    let told_again = [
        "_sync",
        "_search_rows",
        "_listed",
        // Documents name the files again, and bytes beside the database are found again.
        "files",
        "file_texts",
    ];
    for table in schema::protected::TABLES {
        assert_ne!(CARRIED_TABLES.contains(&table), told_again.contains(&table), "{table}: is it carried over?");
    }
}

#[test]
fn records_that_can_be_read_stay() {
    let mut scene = Scene::new();
    scene.hear(event(5, "created", "room", ROOM, json!({ "name": "Kitchen", "floor": "1" })));
    scene.hear(event(6, "created", "task", TASK, json!({ "title": "Sweep" })));
    scene.hear(event(7, "created", "vehicle", CAR, json!({ "name": "Van" })));
    scene.hear(gone(8, "vehicle", CAR));
    let mut wreck = Wreck::of(scene);
    assert_eq!(wreck.rebuilt_without("rooms").records, 2);
    wreck.shows("SELECT name, floor FROM rooms", json!(["Kitchen", "1"]));
    assert_eq!(wreck.column("SELECT title FROM search ORDER BY title"), json!(["Kitchen", "Sweep"]));
    assert_eq!(wreck.one("SELECT count(*) FROM edits"), "0");
    assert_eq!(wreck.one("SELECT count(rev) || ' ' || backfilled || ' ' || position FROM _base, _sync"), "0 0 0");
    // The first download had not ended. A record that the feed does not show is compared at its end.
    wreck.hear(event(2, "created", "room", ROOM, json!({ "name": "Hall" })));
    wreck.shows("SELECT name, floor, rev FROM rooms", json!(["Hall", null, 2]));
}

#[test]
fn rows_stand_for_base_images_that_cannot_be_read() {
    let mut scene = Scene::new();
    scene.hear(event(5, "created", "room", ROOM, json!({ "name": "Kitchen", "floor": "1" })));
    scene.hear(event(6, "created", "vehicle", CAR, json!({ "name": "Van", "year": 2001, "seats": 5 })));
    scene.does("UPDATE vehicles SET color = 'red'; INSERT INTO tasks (title) VALUES ('Sweep')");
    let mut wreck = Wreck::of(scene);
    let report = wreck.rebuilt_without("_base");
    assert_eq!((report.records, report.edits), (1, 2));
    wreck.shows("SELECT r.name, floor, title FROM rooms r, tasks", json!(["Kitchen", "1", "Sweep"]));
    assert_eq!(wreck.column("SELECT title FROM search ORDER BY title"), json!(["Kitchen", "Sweep"]));
    // The revisions are unknown by now.
    assert_eq!(wreck.rebuilt_without("_base").records, 1);
    wreck.shows("SELECT name, floor, rev FROM rooms", json!(["Kitchen", "1", null]));
    wreck.hear(event(7, "updated", "vehicle", CAR, json!({ "name": "Van", "year": 2001 })));
    wreck.shows("SELECT name, color, year FROM vehicles", json!(["Van", "red", 2001]));
}

#[test]
fn row_stands_for_base_image_that_is_not_valid() {
    let mut scene = Scene::new();
    scene.hear(event(5, "created", "room", ROOM, json!({ "name": "Kitchen" })));
    scene.hear(event(6, "created", "task", TASK, json!({ "title": "Sweep" })));
    let mut wreck = Wreck::of(scene);
    wreck.forces("UPDATE _base SET fields = '{' WHERE kind = 'room'");
    assert_eq!(wreck.rebuilt().records, 2);
    wreck.shows("SELECT name, title FROM rooms, tasks", json!(["Kitchen", "Sweep"]));
}

#[test]
fn base_image_that_makes_no_row_is_dropped() {
    let mut scene = Scene::new();
    scene.hear(event(5, "created", "vehicle", CAR, json!({ "name": "Van", "year": 2001 })));
    scene.hear(event(6, "created", "task", TASK, json!({ "title": "Sweep" })));
    let mut wreck = Wreck::of(scene);
    wreck.forces("UPDATE _base SET fields = json_set(fields, '$.year', 'z001') WHERE kind = 'vehicle'");
    wreck.rebuilt_without("rooms");
    assert_eq!(wreck.one("SELECT (SELECT count(*) FROM vehicles) || (SELECT group_concat(kind) FROM _base)"), "0task");
}

#[test]
fn user_objects_are_carried_over() {
    let mut wreck = Wreck::new();
    wreck.does("CREATE TABLE \"my notes\" (id INTEGER PRIMARY KEY, \"of task\" TEXT, text TEXT)");
    wreck.does("INSERT INTO \"my notes\" (\"of task\", text) VALUES ('a', 'one'), ('b', 'two')");
    wreck.does("CREATE INDEX my_index ON \"my notes\" (text); CREATE VIEW my_view AS SELECT text FROM \"my notes\"");
    wreck.does("CREATE VIRTUAL TABLE my_words USING fts5 (text)");
    wreck.does(
        "CREATE TRIGGER my_trigger AFTER INSERT ON rooms WHEN (SELECT open FROM _gate) = 0
         BEGIN INSERT INTO \"my notes\" (text) VALUES (NEW.name); END",
    );
    assert_eq!(wreck.rebuilt_without("rooms").lost, ["The virtual table my_words is not carried over; make it again."]);
    wreck.does("INSERT INTO rooms (name) VALUES ('Attic')");
    assert_eq!(wreck.column("SELECT text FROM my_view ORDER BY text"), json!(["Attic", "one", "two"]));
    assert!(wreck.one("SELECT sql FROM sqlite_schema WHERE name = 'my_index'").contains("my notes"));
}

#[test]
fn user_objects_survive_damaged_table_list() {
    let own = || {
        let mut wreck = Wreck::new();
        wreck.does("CREATE TABLE mine (a TEXT); INSERT INTO mine VALUES ('one'), ('two')");
        wreck.does("CREATE VIEW best AS SELECT a FROM mine; ALTER TABLE rooms ADD COLUMN stars INTEGER");
        wreck
    };
    // A damaged text of the replica's own.
    let wreck = own();
    wreck.garble("CREATE TABLE edits", b"CREATE (");
    let report = wreck.rebuilt();
    assert_eq!((report.edits, report.lost.as_slice()), (2, [].as_slice()));
    assert_eq!(wreck.column("SELECT a FROM best"), json!(["one", "two"]));
    wreck.shows("SELECT name, stars FROM rooms", json!(["Kitchen", null]));

    // A damaged text of the person's table.
    let wreck = own();
    wreck.garble("CREATE TABLE mine", b"CREATE TABLE \xff");
    let lost = wreck.rebuilt().lost;
    assert!(lost[0].starts_with("The table mine could not be carried over"), "{lost:?}");
    assert!(lost[1].starts_with("The view best does not work"), "{lost:?}");

    // The page of the list with the person's objects.
    let wreck = own();
    wreck.break_page_with("CREATE TABLE mine");
    let lost = wreck.rebuilt().lost;
    assert_eq!(lost, [UNLISTED]);
}

#[test]
fn user_columns_continue_without_values() {
    let mut wreck = Wreck::new();
    wreck.does("ALTER TABLE rooms ADD COLUMN stars INTEGER NOT NULL DEFAULT 1");
    wreck.does("ALTER TABLE rooms ADD COLUMN \"my, own\" TEXT COLLATE NOCASE");
    wreck.does("ALTER TABLE tasks ADD COLUMN unused TEXT");
    wreck.does("ALTER TABLE tasks ADD COLUMN twice TEXT AS (title || title); UPDATE rooms SET stars = 5");
    wreck.does("CREATE INDEX by_stars ON rooms (stars)");
    wreck.does("CREATE VIEW best AS SELECT name, \"my, own\" FROM rooms WHERE stars = 1");
    assert_eq!(wreck.rebuilt_without("sync_log").lost, [WITHOUT_STARS]);
    wreck.does("INSERT INTO rooms (name, \"my, own\") VALUES ('Hall', 'Blue')");
    assert_eq!(wreck.one("SELECT name FROM best WHERE \"my, own\" = 'blue'"), "Hall", "the whole of its definition");
    assert_eq!(wreck.one("SELECT twice FROM tasks"), "SweepSweep");
    // The replica's own objects are complete.
    outside::restore(&mut wreck.scene.db).unwrap();
    assert_eq!(schema::state(&wreck.scene.db).unwrap(), schema::SchemaState::Current);
}

#[test]
fn user_columns_of_damaged_table_continue() {
    let mut wreck = Wreck::new();
    wreck.does("ALTER TABLE rooms ADD COLUMN stars INTEGER");
    assert_eq!(wreck.rebuilt_without("rooms").lost, [WITHOUT_STARS]);
    open::read_write(&wreck.db).unwrap().execute("INSERT INTO rooms (name, stars) VALUES ('Hall', 5)", []).unwrap();
}

#[test]
fn broken_user_view_is_named() {
    let mut wreck = Wreck::new();
    wreck.does("CREATE TABLE mine (a TEXT); CREATE VIEW rests_on_it AS SELECT a FROM broken");
    wreck.does("CREATE VIEW broken AS SELECT a FROM mine; CREATE VIEW whole AS SELECT name FROM rooms");
    wreck.does("DROP TABLE mine");
    let lost = wreck.rebuilt_without("sync_log").lost;
    assert_eq!(lost.len(), 2, "{lost:?}");
    for (sentence, view) in lost.iter().zip(["rests_on_it", "broken"]) {
        assert_eq!(*sentence, format!("The view {view} does not work: no such table: main.mine."));
    }
}

#[test]
fn unreadable_user_table_stops_nothing() {
    let mut wreck = Wreck::new();
    wreck.does("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)");
    wreck.break_page_with("CREATE VIEW sync_status");
    let report = wreck.rebuilt();
    assert_eq!(report.edits, 2);
    assert!(report.lost.iter().any(|lost| lost == UNLISTED), "{:?}", report.lost);
    wreck.assert_carried_over();
}

#[test]
fn rebuild_keeps_next_tasks_unsent() {
    let mut wreck = Wreck::new();
    wreck.does("UPDATE tasks SET recurrence = 'daily', status = 'done'");
    crate::store::edits::next_tasks::make::make_due(&mut wreck.scene.db).unwrap();
    assert_eq!(wreck.rebuilt_without("rooms").edits, 4);
    let next = "SELECT e.method, e.state, t.status FROM _outbox n JOIN edits e ON e.id = n.next_edit
                JOIN tasks t ON t.id = e.record_id";
    wreck.shows(next, json!(["create", "waiting", "open"]));
}

//! Other programs remove or alter triggers, views and tables, and change rows meanwhile. The objects are restored, and the
//! changes become edits, or wait for a person.

mod unchecked;

use rusqlite::Connection;

use super::*;
use crate::store::outside::{Restored, held};

impl Scene {
    /// What another program with plain SQL does, by a connection of its own.
    fn outsider(&mut self, sql: &str) -> &mut Self {
        Connection::open(self.db_path()).unwrap().execute_batch(sql).unwrap();
        self
    }

    /// Opens the database as the next program of the replica does.
    fn reopened(&mut self) -> Restored {
        let (db, restored) = open::read_write_and_report(&self.db_path()).unwrap();
        self.db = db;
        assert_eq!(schema::state(&self.db).unwrap(), schema::SchemaState::Current);
        restored.unwrap_or_default()
    }

    /// A replica with this many rooms of the server.
    fn with_rooms(count: i64) -> Scene {
        let mut scene = Scene::new();
        let rooms = (1..=count).map(|n| {
            let id = format!("0190a3b0-0000-7000-8000-{n:012}");
            event(n, "created", "room", &id, json!({ "name": format!("Room {n}"), "floor": "1" }))
        });
        scene.hear(rooms.collect::<Vec<_>>()).is_at_present(count);
        scene
    }
}

/// The statements of a program that makes `rooms` anew without keys, types and triggers, as a data frame is written back.
fn made_anew(rows: &str) -> String {
    format!(
        "CREATE TABLE frame AS {rows}; DROP TABLE rooms; CREATE TABLE rooms AS SELECT * FROM frame; DROP TABLE frame;"
    )
}

#[test]
fn change_without_trigger_becomes_edit() {
    for dropped in ["_tasks_queue_update", "_tasks_before_update", "_tasks_search_update"] {
        let mut scene = Scene::with_task_at_present();
        scene.outsider(&format!("DROP TRIGGER {dropped}; UPDATE tasks SET title = 'Sand', priority = 'high'"));
        assert_eq!(scene.reopened().objects, [format!("the trigger {dropped}")]);
        let edits = scene.rows("SELECT method, patch, base, state, origin FROM edits");
        let patch = r#"{"title":"Sand","priority":"high"}"#;
        let base = r#"{"title":"Paint","priority":"low"}"#;
        assert_eq!(edits, json!([["update", patch, base, "waiting", "sql"]]), "{dropped}");
        scene.shows("SELECT title, rev FROM tasks", json!(["Sand", 5]));
        assert_eq!(scene.one("SELECT title FROM search('sand')"), "Sand");
        assert_eq!(scene.reopened(), Restored::default(), "nothing is left to restore");
    }
}

#[test]
fn delete_and_insert_without_triggers_become_edits() {
    let mut scene = Scene::with_rooms(3);
    scene.outsider(
        "DROP TRIGGER _rooms_after_delete; DROP TRIGGER _rooms_after_insert; DROP TRIGGER _rooms_before_insert;
         DELETE FROM rooms WHERE name = 'Room 2'; INSERT INTO rooms (name) VALUES ('Shed')",
    );
    let restored = scene.reopened();
    assert_eq!((restored.edits, restored.held), (2, 0));
    assert_eq!(scene.rows("SELECT method FROM edits ORDER BY method"), json!([["create"], ["delete"]]));
    assert_eq!(scene.rows("SELECT name FROM rooms ORDER BY name"), json!([["Room 1"], ["Room 3"], ["Shed"]]));
    assert_eq!(scene.one("SELECT count(*) FROM search"), "3");
}

#[test]
fn earlier_edit_stays_single() {
    let mut scene = Scene::edited_at_present("UPDATE tasks SET title = 'Sand'");
    scene.outsider("DROP TRIGGER _tasks_queue_update; UPDATE tasks SET priority = 'high'; DROP VIEW sync_status");
    assert_eq!(scene.reopened().edits, 1);
    let patches = scene.rows("SELECT patch FROM edits ORDER BY id");
    assert_eq!(patches, json!([[r#"{"title":"Sand"}"#], [r#"{"priority":"high"}"#]]));
    // The server confirms nothing yet, and a second look finds nothing.
    scene.outsider("DROP TRIGGER _tasks_queue_update");
    assert_eq!(scene.reopened().edits, 0);
}

#[test]
fn values_of_server_are_set_back() {
    let mut scene = Scene::with_task_at_present();
    let before = scene.row("SELECT created_at, updated_at, updated_by, rev, extra FROM tasks");
    for change in ["rev = 99, created_at = 'x', extra = '{}'", "updated_by = 'me'"] {
        scene.outsider(&format!("DROP TRIGGER _tasks_before_update; UPDATE tasks SET {change}"));
        let restored = scene.reopened();
        assert_eq!((restored.edits, restored.set_back), (0, 1));
    }
    assert_eq!(scene.row("SELECT created_at, updated_at, updated_by, rev, extra FROM tasks"), before);
}

#[test]
fn renamed_column_gets_its_name_back() {
    let mut scene = Scene::with_rooms(3);
    scene.does("ALTER TABLE rooms ADD COLUMN stars INTEGER");
    scene.outsider("ALTER TABLE rooms RENAME COLUMN floor TO storey; UPDATE rooms SET storey = '2', stars = 5 WHERE name = 'Room 2'");
    let restored = scene.reopened();
    assert!(restored.objects.contains(&"the table rooms".to_owned()), "{restored:?}");
    assert_eq!(scene.rows("SELECT floor, stars FROM rooms ORDER BY name"), json!([["1", null], ["2", 5], ["1", null]]));
    assert_eq!(scene.one("SELECT patch FROM edits"), r#"{"floor":"2"}"#);
}

#[test]
fn dropped_column_returns_with_its_values() {
    for dropped in ["floor", "rev"] {
        let mut scene = Scene::with_rooms(3);
        let all = "SELECT name, floor, rev FROM rooms ORDER BY name";
        let before = scene.rows(all);
        let triggers: Vec<String> = serde_json::from_value::<Vec<[String; 1]>>(
            scene.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'rooms'"),
        )
        .unwrap()
        .into_iter()
        .map(|[name]| format!("DROP TRIGGER {name};"))
        .collect();
        scene.outsider(&format!(
            "{} DROP INDEX IF EXISTS _rooms_by_updated_at; ALTER TABLE rooms DROP COLUMN {dropped}",
            triggers.concat()
        ));
        assert_eq!(scene.reopened().edits, 0);
        assert_eq!(scene.rows(all), before, "{dropped}");
    }
}

#[test]
fn table_made_anew_keeps_edits_and_asks_about_missing_rows() {
    let mut scene = Scene::with_rooms(5);
    scene.outsider(&made_anew(
        "SELECT rowid AS \"index\", id, CASE name WHEN 'Room 1' THEN 'Hall' ELSE name END AS name, floor, rev FROM rooms WHERE name < 'Room 5'",
    ));
    let restored = scene.reopened();
    assert_eq!((restored.edits, restored.held), (1, 1));
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "5", "missing rows are shown until a person has answered");
    assert_eq!(scene.one("SELECT patch FROM edits"), r#"{"name":"Hall"}"#);
    assert_eq!(scene.one("SELECT group_concat(\"index\") FROM rooms"), "1,2,3,4", "the column is a person's");
    let text = scene.one("SELECT sql FROM sqlite_schema WHERE name = 'rooms'");
    assert!(text.contains("UUID; leave it out"), "{text}");

    let now = status::load_status(&scene.db).unwrap();
    assert_eq!((now.needs_you, now.edits_to_decide()), (1, 0));
    assert_eq!(now.reason, None, "no attempt failed");
    assert!(scene.one("SELECT reason FROM sync_status").contains("reconcile --accept-local"));
    assert_eq!(held::accept(&mut scene.db).unwrap(), (1, 0));
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "4");
    assert_eq!(status::load_status(&scene.db).unwrap().held_changes, None);
}

/// sqlite-utils keeps comments, column names and rows, and loses triggers.
#[test]
fn transformed_table_becomes_own_again() {
    let mut scene = Scene::with_rooms(20);
    let own = scene.one("SELECT sql FROM sqlite_schema WHERE name = 'rooms'");
    let theirs =
        own.replace("TABLE rooms", "TABLE new").replace("    id TEXT", "   \"id\" TEXT").replace(") STRICT", ")");
    scene.outsider(&format!(
        "PRAGMA legacy_alter_table = ON; {theirs}; INSERT INTO new SELECT * FROM rooms; DROP TABLE rooms;
         ALTER TABLE new RENAME TO rooms; DELETE FROM rooms WHERE name IN ('Room 1', 'Room 2', 'Room 3')"
    ));
    assert_eq!(scene.reopened().held, 3, "more than a tenth is missing");
    scene.shows("SELECT sql, (SELECT count(*) FROM rooms) FROM sqlite_schema WHERE name = 'rooms'", json!([own, 20]));
}

#[test]
fn objects_of_people_stay_on_replaced_table() {
    let mut scene = Scene::with_rooms(10);
    let theirs = made_anew("SELECT id, name, floor FROM rooms");
    scene.outsider(&format!(
        "{theirs} CREATE INDEX by_floor ON rooms (floor); CREATE TABLE fired (id TEXT);
         CREATE TRIGGER fires AFTER UPDATE ON rooms WHEN (SELECT open FROM _gate) = 0 BEGIN INSERT INTO fired VALUES (NEW.id); END"
    ));
    assert_eq!((scene.reopened().edits, scene.one("SELECT count(*) FROM fired")), (0, "0".to_owned()));
    scene.does("UPDATE rooms SET floor = '3' WHERE name = 'Room 3'");
    assert_eq!(scene.one("SELECT count(*) FROM fired"), "1");
    assert_eq!(scene.one("SELECT count(*) FROM sqlite_schema WHERE name = 'by_floor'"), "1");
    assert_eq!(scene.one("SELECT count(*) FROM edits"), "1");
}

#[test]
fn dropped_table_returns_whole() {
    let mut scene = Scene::with_rooms(3);
    scene.does("UPDATE rooms SET name = 'Hall' WHERE name = 'Room 1'").outsider("DROP TABLE rooms");
    let restored = scene.reopened();
    assert_eq!((restored.edits, restored.held), (0, 3));
    assert_eq!(scene.rows("SELECT name FROM rooms ORDER BY name"), json!([["Hall"], ["Room 2"], ["Room 3"]]));
    assert_eq!(held::discard(&mut scene.db).unwrap(), 3);
    assert_eq!(scene.one("SELECT count(*) FROM edits"), "1");
    // The feed goes on.
    scene.hear(event(4, "updated", "room", ROOM, json!({ "name": "Room 1", "floor": "2" })));
    assert_eq!(scene.one("SELECT floor FROM rooms WHERE name = 'Hall'"), "2");
}

#[test]
fn new_rows_with_numbers_as_ids_become_records() {
    let mut scene = Scene::with_rooms(2);
    scene.outsider(&made_anew(
        "SELECT id, name, floor FROM rooms UNION ALL SELECT 7, 'Shed', NULL UNION ALL SELECT NULL, 'Barn', NULL",
    ));
    assert_eq!(scene.reopened().edits, 2);
    assert_eq!(scene.rows("SELECT method, length(record_id) FROM edits"), json!([["create", 36], ["create", 36]]));
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "4");
}

#[test]
fn null_names_of_another_program_never_reach_the_rows() {
    let mut scene = Scene::with_rooms(20);
    let renamed = "SELECT id, nullif(name, 'Room 3') AS name, floor FROM rooms";
    scene.outsider(&made_anew(&format!("{renamed} UNION ALL SELECT NULL, NULL, NULL")));
    let restored = scene.reopened();
    assert_eq!((restored.edits, restored.held, restored.refused), (0, 0, 1));
    scene.shows("SELECT count(*), count(name) FROM rooms", json!([20, 20]));
    assert!(scene.one("SELECT reason FROM edits").contains("name cannot be null"));
}

#[test]
fn column_of_person_in_new_table_is_no_renamed_column() {
    let mut scene = Scene::with_rooms(20);
    // The sixth column of the replica's table is paint_color, which no room has.
    scene.outsider(&made_anew("SELECT id, name, room_type, floor, area_sq_ft, 4.5 AS my_rating FROM rooms"));
    assert_eq!(scene.reopened().edits, 0);
    scene.shows("SELECT count(paint_color), count(my_rating) FROM rooms", json!([0, 20]));
}

#[test]
fn new_rows_found_again_are_held_once() {
    let mut scene = Scene::with_rooms(2);
    for _ in 0..2 {
        let many = "WITH RECURSIVE n(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 60)
                    SELECT NULL AS id, 'Cell ' || n AS name, NULL AS floor FROM n";
        scene.outsider(&made_anew(&format!("SELECT id, name, floor FROM rooms UNION ALL SELECT * FROM ({many})")));
        assert_eq!(scene.reopened().held, 60);
    }
    assert_eq!(held::accept(&mut scene.db).unwrap(), (60, 0));
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "62");
}

#[test]
fn refused_value_needs_a_person_without_a_server() {
    let mut scene = Scene::written("INSERT INTO rooms (name) VALUES ('Hall')");
    scene.forces("UPDATE _sync SET phase = 'local'");
    scene.outsider(
        "DROP TRIGGER _rooms_before_update; DROP TRIGGER _rooms_queue_update; UPDATE rooms SET room_type = 'palace'",
    );
    assert_eq!(scene.reopened().refused, 1);
    scene.shows("SELECT phase, waiting, needs_you FROM sync_status", json!(["local", 0, 1]));
}

#[test]
fn missing_view_changes_no_row() {
    let mut scene = Scene::with_rooms(20);
    scene.outsider("DROP VIEW home_value").hear(task(21, "Paint", "low"));
    assert_eq!(scene.reopened().objects, ["the view home_value"]);
    assert_eq!(scene.one("SELECT count(*) FROM edits"), "0");
}

/// Another program changes many rows, and the server changes some of the rows before a person accepts.
#[test]
fn accepted_changes_merge_with_newer_server_values() {
    let mut scene = Scene::with_rooms(60);
    scene.outsider(
        "DROP TRIGGER _rooms_queue_update; DROP TRIGGER _rooms_after_delete;
         UPDATE rooms SET floor = '9' WHERE name < 'Room 6'; DELETE FROM rooms WHERE name >= 'Room 6'",
    );
    assert_eq!(scene.reopened().held, 60);
    let changed = |id, n: i64, floor: &str| {
        let room = format!("0190a3b0-0000-7000-8000-{n:012}");
        event(id, "updated", "room", &room, json!({ "name": format!("Room {n}"), "floor": floor }))
    };
    scene.catch_up([changed(61, 1, "2"), changed(62, 2, "9"), changed(63, 7, "3")]);
    assert_eq!(held::accept(&mut scene.db).unwrap(), (59, 0), "the server has the value of one room already");
    let edit =
        |n: i64| scene.row(&format!("SELECT method, base ->> '$.floor' FROM edits WHERE record_id LIKE '%{n:012}'"));
    assert_eq!((edit(1), edit(7)), (json!(["update", "1"]), json!(["delete", "1"])));
    assert_eq!(scene.one("SELECT count(*) FROM edits WHERE record_id LIKE '%000000000002'"), "0");
    for group in scene.ready_groups() {
        scene.freeze_groups(&[group], Ask);
    }
    assert_eq!(
        scene.rows("SELECT method, reason_code FROM edits WHERE state = 'conflict' ORDER BY record_id"),
        json!([["update", "changed_on_both_sides"], ["delete", "changed_there"]])
    );
}

#[test]
fn new_rows_keep_values_of_added_columns() {
    let new_table = made_anew("SELECT id, name, floor, stars FROM rooms UNION ALL SELECT NULL, 'Shed', NULL, 4");
    let many = "WITH RECURSIVE n(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 60) SELECT NULL, 'Cell ' || n, NULL, n FROM n";
    let many = made_anew(&format!("SELECT id, name, floor, stars FROM rooms UNION ALL SELECT * FROM ({many})"));
    let plain = "DROP TRIGGER _rooms_after_insert; DROP TRIGGER _rooms_before_insert; INSERT INTO rooms (name, stars) VALUES ('Shed', 4)";
    for (sql, named, stars) in [(new_table.as_str(), "Shed", "4"), (&many, "Cell 60", "60"), (plain, "Shed", "4")] {
        let mut scene = Scene::with_rooms(2);
        scene.does("ALTER TABLE rooms ADD COLUMN stars INTEGER; UPDATE rooms SET stars = 1").outsider(sql);
        if scene.reopened().held > 0 {
            held::accept(&mut scene.db).unwrap();
        }
        assert_eq!(scene.one(&format!("SELECT stars FROM rooms WHERE name = '{named}'")), stars, "{sql}");
        assert_eq!(scene.one("SELECT count(*) FROM rooms WHERE stars = 1"), if named == "Shed" { "2" } else { "3" });
        assert_eq!(scene.one("SELECT count(*) FROM edits WHERE method <> 'create'"), "0");
    }
}

#[test]
fn times_of_unsent_records_survive_a_lost_table() {
    for sql in ["DROP TABLE rooms".to_owned(), made_anew("SELECT id, name FROM rooms")] {
        let mut scene = Scene::written("INSERT INTO rooms (name) VALUES ('Hall'); UPDATE rooms SET name = 'Attic'");
        let times = "SELECT created_at, updated_at FROM rooms";
        let before = scene.row(times);
        scene.outsider(&sql);
        scene.reopened();
        assert_eq!(scene.row(times), before, "{sql}");
    }
}

#[test]
fn refused_new_row_has_its_defaults() {
    let mut scene = Scene::new();
    scene.outsider("DROP TRIGGER _tasks_after_insert; DROP TRIGGER _tasks_before_insert; INSERT INTO tasks (priority, status) VALUES ('soon', 'open')");
    assert_eq!(scene.reopened().refused, 1);
    scene.shows("SELECT title, priority, status, recurrence_every FROM tasks", json!(["", "soon", "open", 1]));
    scene.shows("SELECT state, method FROM edits", json!(["rejected", "create"]));
}

#[test]
fn second_profile_row_changes_the_first() {
    let mut scene = Scene::with(profile(1, "Rome"));
    let table =
        "CREATE TABLE frame AS SELECT * FROM property; UPDATE frame SET id = 'x', city = 'Oslo'; DROP TABLE property;
                 CREATE TABLE property AS SELECT * FROM frame; DROP TABLE frame";
    scene.outsider(table);
    assert_eq!(scene.reopened().edits, 1);
    scene.shows("SELECT id, city FROM property", json!([HOME, "Oslo"]));
    scene.shows("SELECT method, record_id, patch FROM edits", json!(["update", HOME, r#"{"city":"Oslo"}"#]));
}

#[test]
fn altered_reference_index_is_restored() {
    let mut scene = Scene::with_task_at_present();
    let text = "SELECT sql FROM sqlite_schema WHERE name = '_inventory_room_id'";
    let own = scene.one(text);
    scene.outsider("DROP INDEX _inventory_room_id; CREATE UNIQUE INDEX _inventory_room_id ON inventory (name)");
    assert_eq!(scene.reopened().objects, ["the index _inventory_room_id"]);
    assert_eq!(scene.one(text), own);
    assert_eq!(scene.reopened(), Restored::default());
}

/// The server deletes a record while its found change waits for the answer of a person. The change must not be lost.
#[test]
fn accepted_change_of_deleted_record_waits_for_a_person() {
    let mut scene = Scene::with_rooms(60);
    scene.outsider("DROP TRIGGER _rooms_queue_update; UPDATE rooms SET notes = 'for ' || name");
    let restored = scene.reopened();
    assert_eq!((restored.edits, restored.held), (0, 60));
    assert_eq!(scene.one("SELECT count(notes) FROM rooms"), "0", "no row shows a change that nobody has accepted");
    let id = scene.one("SELECT id FROM rooms WHERE name = 'Room 7'");
    scene.catch_up(gone(90, "room", &id));
    held::accept(&mut scene.db).unwrap();
    assert_eq!(scene.one("SELECT notes FROM rooms WHERE name = 'Room 8'"), "for Room 8");
    let edit = "SELECT id FROM edits WHERE patch ->> 'notes' = 'for Room 7'";
    let edit: i64 = scene.one(edit).parse().unwrap();
    scene.sends_nothing(edit);
    let state = format!("SELECT state, reason_code, patch ->> 'notes' FROM edits WHERE id = {edit}");
    scene.shows(&state, json!(["conflict", "deleted_there", "for Room 7"]));
}

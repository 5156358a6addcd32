//! A home without a server: the replica itself does what the server does in other homes.

use super::*;

const ROOM: &str = "0190a3b0-0000-7000-8000-0000000000a1";
const ITEM: &str = "0190a3b0-0000-7000-8000-0000000000a2";

/// A home without a server: an item in a room, a task about the room, a document about the item.
fn local_home() -> Scene {
    let mut scene = Scene::unconnected();
    for text in [
        format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Hall')"),
        format!("INSERT INTO inventory (id, name, room_id) VALUES ('{ITEM}', 'Chair', '{ROOM}')"),
        format!("INSERT INTO tasks (title, subject_type, subject_id) VALUES ('Sweep', 'room', '{ROOM}')"),
        format!("INSERT INTO documents (title, subject_type, subject_id) VALUES ('Bill', 'inventory', '{ITEM}')"),
    ] {
        scene.does(&text);
    }
    scene
}

#[test]
fn local_delete_clears_references() {
    let mut scene = local_home();
    scene.does("DELETE FROM rooms");
    assert_eq!(scene.one("SELECT room_id FROM inventory"), "null");
    scene.shows("SELECT subject_type, subject_id FROM tasks", json!([null, null]));
    assert_eq!(scene.one("SELECT subject_id FROM documents"), ITEM, "another record's reference stays");
    let edits = scene.rows("SELECT kind, method, state FROM edits WHERE id > 4 ORDER BY id");
    assert_eq!(
        edits,
        json!([["inventory", "update", "waiting"], ["task", "update", "waiting"], ["room", "delete", "waiting"]])
    );
    scene.does("DELETE FROM inventory");
    scene.shows("SELECT subject_type, subject_id FROM documents", json!([null, null]));
}

#[test]
fn undo_of_local_delete_brings_references_back() {
    for named in [false, true] {
        let mut scene = local_home();
        scene.does("UPDATE inventory SET name = 'Stool'; DELETE FROM rooms");
        let delete = scene.one("SELECT max(id) FROM edits").parse().unwrap();
        scene.undo(named.then_some(delete)).unwrap();
        scene.shows("SELECT name, room_id FROM inventory", json!(["Stool", ROOM]));
        scene.shows("SELECT subject_type, subject_id FROM tasks", json!(["room", ROOM]));
        scene.shows("SELECT name, (SELECT count(*) FROM edits) FROM rooms", json!(["Hall", 5]));
    }
}

/// The server clears the references, in the same transaction as the delete.
#[test]
fn delete_in_home_with_server_leaves_references() {
    let mut scene = local_home();
    assert!(sync_state::adopt_home(&mut scene.db, &home()).unwrap());
    scene.does("DELETE FROM rooms");
    assert_eq!(scene.one("SELECT room_id FROM inventory"), ROOM);
}

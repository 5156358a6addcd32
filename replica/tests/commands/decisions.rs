//! Several edits decided in one command. Each is decided on its own, and a refusal does not stop the others.

use serde_json::{Value, json};

use super::{as_keeper, command, empty_replica, json, replica, sqlite3, text, unaddressed};

/// A replica with the edits that an SQL script has made.
fn after(sql: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let (dir, db) = empty_replica();
    assert!(sqlite3(&db, sql).status.success());
    (dir, db)
}

/// Three rooms that the server has refused.
fn refused() -> (tempfile::TempDir, std::path::PathBuf) {
    let (dir, db) = after("INSERT INTO rooms (name) VALUES ('Hall'), ('Attic'), ('Porch')");
    as_keeper(&db, "UPDATE edits SET state = 'rejected'");
    (dir, db)
}

fn states(db: &std::path::Path) -> String {
    text(&sqlite3(db, "SELECT group_concat(id || state) FROM (SELECT id, state FROM edits ORDER BY id)").stdout)
}

#[test]
fn retry_of_several_continues_after_refusal() {
    let (_dir, db) = refused();
    let output = replica(&db, &["edits", "retry", "3", "77", "1"]);
    let (printed, refused) = (text(&output.stdout), unaddressed(&db, &text(&output.stderr)));
    assert_eq!(
        printed,
        "3: “Porch”: the change goes to the server again\n1: “Hall”: the change goes to the server again"
    );
    assert_eq!(output.status.code(), Some(3), "{refused}");
    let lines: Vec<&str> = refused.lines().collect();
    assert!(lines[0].starts_with("hearth-replica: 77: there is no edit 77 that waits"), "{refused}");
    assert_eq!(lines[1..], ["hearth-replica: 1 of 3 edits was not decided", "next: hearth-replica edits"]);
    assert_eq!(states(&db), "1waiting,2rejected,3waiting");
}

#[test]
fn json_of_several_decisions_is_an_array() {
    let (_dir, db) = refused();
    let one = json(&db, &["edits", "retry", "2"]);
    assert_eq!(one, json!({ "said": "“Attic”: the change goes to the server again", "edit": null }));
    assert_eq!(json(&db, &["edits", "discard", "2", "2"])["edit"], Value::Null, "the same twice is one");
    let output = replica(&db, &["edits", "discard", "1", "2", "3", "--json"]);
    assert_eq!(output.status.code(), Some(3));
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let seen = all.as_array().unwrap().iter().map(|one| json!([one["id"], one["done"], one["edit"]]));
    assert_eq!(seen.collect::<Value>(), json!([[1, true, null], [2, false, null], [3, true, null]]));
    assert_eq!(all[0]["said"], "“Hall”: the change is given up");
    assert!(all[1]["said"].as_str().unwrap().starts_with("there is no edit 2 that waits"), "{all}");
    assert_eq!(states(&db), "");
}

/// The reader closes stdout early, as `head -1` does.
#[test]
fn decisions_continue_when_stdout_closes() {
    let rooms: Vec<String> = (0..150).map(|n| format!("('Room {n}')")).collect();
    let (_dir, db) = after(&format!("INSERT INTO rooms (name) VALUES {}", rooms.join(",")));
    let mut command = command(&db, &["edits", "discard"]);
    command.args((1..=150).map(|n| n.to_string()));
    let mut child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(states(&db), "");
}

#[test]
fn mixed_refusals_exit_1_equal_ones_keep_code() {
    let (_dir, db) = after("INSERT INTO rooms (name) VALUES ('Hall'), ('Attic')");
    as_keeper(&db, "UPDATE edits SET state = 'blocked', reason = 'waits for edit 0, which needs you'");
    let code = |edits: &[&str]| replica(&db, &[&["edits", "retry"], edits].concat()).status.code();
    assert_eq!(code(&["1", "2"]), Some(5));
    assert_eq!(code(&["1", "77"]), Some(1));
    assert_eq!(code(&["78", "77"]), Some(3));
}

#[test]
fn retry_of_dependent_edit_stays_blocked() {
    let (_dir, db) = after(
        "INSERT INTO rooms (name) VALUES ('Hall'); INSERT INTO inventory (name, room_id) SELECT 'Kettle', id FROM rooms",
    );
    as_keeper(&db, "UPDATE edits SET state = 'rejected'");
    let printed = json(&db, &["edits", "retry", "2"])["said"].clone();
    assert_eq!(printed, "“Kettle” waits for another change that needs you first: see its reason");
    assert_eq!(states(&db), "1rejected,2blocked");
    let printed = json(&db, &["edits", "retry", "1"])["said"].clone();
    assert_eq!(printed, "“Hall”: the change goes to the server again");
    assert_eq!(states(&db), "1waiting,2waiting");
}

#[test]
fn retry_of_dependency_later_in_command_works() {
    let (_dir, db) = after(
        "INSERT INTO rooms (name) VALUES ('Hall'); INSERT INTO inventory (name, room_id) SELECT 'Kettle', id FROM rooms",
    );
    as_keeper(&db, "UPDATE edits SET state = 'rejected'");
    let all = json(&db, &["edits", "retry", "2", "1"]);
    assert_eq!(all[0]["said"], "“Kettle”: the change goes to the server again");
    assert_eq!(states(&db), "1waiting,2waiting");
    as_keeper(&db, "UPDATE edits SET state = 'rejected' WHERE id = 1");
    as_keeper(&db, "UPDATE edits SET state = 'blocked', reason = 'waits for edit 1, which needs you' WHERE id = 2");
    let all = json(&db, &["edits", "retry", "1", "2"]);
    assert_eq!(all[1]["said"], "“Kettle”: the change is on its way already");
    assert_eq!(states(&db), "1waiting,2waiting");
}

#[test]
fn discard_counts_edits_already_discarded() {
    let (_dir, db) = after("INSERT INTO rooms (name) VALUES ('Hall'); UPDATE rooms SET floor = '2'");
    assert_eq!(states(&db), "1waiting,2waiting");
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Attic')").status.success());
    assert!(sqlite3(&db, "UPDATE rooms SET floor = '3' WHERE name = 'Attic'").status.success());
    assert!(sqlite3(&db, "UPDATE rooms SET floor = '4' WHERE name = 'Attic'").status.success());
    let printed = json(&db, &["edits", "discard", "3"])["said"].clone();
    assert_eq!(printed, "“Attic”: the change is given up, with 2 later changes of it, which are nothing without it");
    let all = json(&db, &["edits", "discard", "1", "2"]);
    assert_eq!((&all[1]["id"], &all[1]["done"]), (&2.into(), &true.into()), "{all}");
    assert_eq!(states(&db), "");
}

#[test]
fn undo_of_several_runs_newest_first() {
    let (_dir, db) =
        after("INSERT INTO rooms (name) VALUES ('Hall'); UPDATE rooms SET floor = '2'; UPDATE rooms SET floor = '3'");
    let all = json(&db, &["undo", "2", "3"]);
    assert_eq!([&all[0]["id"], &all[1]["id"]], [3, 2], "{all}");
    assert_eq!(text(&sqlite3(&db, "SELECT name || coalesce(floor, '') FROM rooms").stdout), "Hall");
    assert_eq!(states(&db), "1waiting");
}

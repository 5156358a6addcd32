//! What a command says and leaves behind when it does not reach its goal: the exit code of the table in
//! docs/replica-database.md, a sentence, and what to type next.

use serde_json::Value;

use super::{new_replica, refusal, replica, sqlite3, text, write_profile};

/// A replica whose server is nobody.
fn alone() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    new_replica(&db);
    write_profile(&db, "http://127.0.0.1:9", "svc_test_x");
    (dir, db)
}

#[test]
fn sync_as_json_says_where_it_stands_when_it_does_not_get_there() {
    let (_dir, db) = alone();
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    let output = replica(&db, &["sync", "--json", "--timeout", "300ms"]);
    assert_eq!(output.status.code(), Some(6), "{}", text(&output.stderr));
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&status["phase"], &status["waiting"]), (&"new".into(), &1.into()), "{status}");
}

#[test]
fn a_mistyped_profile_leaves_no_database_behind() {
    let dir = tempfile::tempdir().unwrap();
    let typo = dir.path().join("typo.db");
    for command in [&["sync"][..], &["rebuild"]] {
        let (_, said) = refusal(&typo, command);
        assert!(said.contains("has no server"), "{said}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    assert_eq!(refusal(&typo, &["add", "room", "name=Hall"]).0, 3);
}

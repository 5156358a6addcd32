//! A database of an older version: opening it brings its tables up to date and loses nothing.
//!
//! `fixtures/replica/v1.db` was made by the first schema, whose tasks had no `estimated_cost` yet, while the server
//! already spoke of it; three edits wait in it, one of them for a person.

use std::path::{Path, PathBuf};

use super::{json, replica, sqlite3, text};

fn old() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("fixtures/replica/v1.db");
    std::fs::copy(fixture, &db).unwrap();
    (dir, db)
}

fn says(db: &Path, sql: &str) -> String {
    let output = sqlite3(db, sql);
    assert!(output.status.success(), "{sql}: {}", text(&output.stderr));
    text(&output.stdout)
}

const EDITS: &str = "SELECT id, kind, record_id, method, patch, base, state, reason, origin, created_at FROM edits";

#[test]
fn a_newer_schema_keeps_rows_values_that_had_no_column_and_edits() {
    let (_dir, db) = old();
    let before = says(&db, EDITS);
    assert_eq!(before.lines().count(), 3, "{before}");
    assert!(!says(&db, "SELECT name FROM pragma_table_info('tasks')").contains("estimated_cost"));

    assert_eq!(json(&db, &["status"])["waiting"], 2);

    assert_eq!(says(&db, EDITS), before);
    let tasks = "SELECT title, priority, estimated_cost, ifnull(extra, 'nothing'), rev FROM tasks ORDER BY id";
    assert_eq!(says(&db, tasks), "Fix the tap|high|40.00|nothing|2\nPaint the wall|medium|85.50|nothing|3");
    assert_eq!(says(&db, "SELECT name, floor FROM rooms ORDER BY id"), "Kitchen|2\nHall|");
    assert_eq!(says(&db, "SELECT name FROM inventory"), "Kettle");
    assert_eq!(says(&db, "SELECT outcome FROM edit_history"), "confirmed");
    let image = "SELECT json_extract(fields, '$.estimated_cost'), extra IS NULL FROM _base WHERE kind = 'task'";
    assert_eq!(says(&db, image), "40.00|1", "the server's form of an edited record gains the column too");
}

#[test]
fn what_is_upgraded_works_as_if_it_were_new() {
    let (_dir, db) = old();
    assert!(replica(&db, &["status"]).status.success());
    assert!(says(&db, ".schema tasks").contains("What it will cost"));
    assert!(says(&db, ".schema search").contains("Words match from their start"));
    assert_eq!(says(&db, "SELECT title FROM search WHERE search MATCH 'pai*'"), "Paint the wall");
    says(&db, "UPDATE tasks SET estimated_cost = '41' WHERE title = 'Paint the wall'");
    assert_eq!(json(&db, &["edits"])[3]["base"]["estimated_cost"], "85.50");
    let refused = sqlite3(&db, "UPDATE tasks SET estimated_cost = 'much'");
    assert!(text(&refused.stderr).contains("estimated_cost must be a decimal string"), "{}", text(&refused.stderr));
    let found = json(&db, &["list", "tasks", "estimated_cost=40"]);
    assert_eq!(found[0]["title"], "Fix the tap");
    let doctor: serde_json::Value = serde_json::from_slice(&replica(&db, &["doctor", "--json"]).stdout).unwrap();
    let findings = doctor.as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["matter"] == "database" && finding["grade"] == "ok"), "{doctor}");
}

#[test]
fn what_stands_in_the_way_of_a_newer_schema_is_no_fault_of_the_disk() {
    let (_dir, db) = old();
    says(&db, "CREATE TABLE _already_applied (mine)");
    let look = format!("next: sqlite3 {} .schema, and rename ", db.display());
    let said = text(&replica(&db, &["status"]).stderr);
    assert!(said.contains("_already_applied already exists") && said.contains(&look), "{said}");
    let doctor = replica(&db, &["doctor"]);
    let said = text(&doctor.stdout);
    assert!(said.contains("fault    setup     ") && said.contains(&look), "{said}");
    assert!(!said.contains("make room") && doctor.status.code() == Some(1), "{said}");
    says(&db, "DROP TABLE _already_applied");
    assert!(replica(&db, &["status"]).status.success());
}

#[test]
fn what_a_newer_program_has_changed_is_left_alone_and_told() {
    let (_dir, db) = old();
    json(&db, &["status"]);
    says(
        &db,
        "INSERT INTO refinery_schema_history SELECT version + 1, 'later', applied_on, checksum FROM refinery_schema_history ORDER BY version DESC LIMIT 1",
    );
    // So that it is looked at: the stamp is of another program, too.
    says(
        &db,
        "UPDATE _gate SET open = 1, turn = turn + 1; UPDATE _schema SET stamp = 0; UPDATE _gate SET open = 0, turn = turn + 1",
    );
    let before = says(&db, ".dump");
    let refused = replica(&db, &["status"]);
    let said = text(&refused.stderr);
    assert!(!refused.status.success() && said.contains("made by a newer version of this program"), "{said}");
    assert!(said.contains("__later") && said.contains("update it"), "{said}");
    assert_eq!(says(&db, ".dump"), before);
}

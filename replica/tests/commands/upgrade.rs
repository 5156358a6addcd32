//! Databases that another version made: before the first release, with an older contract, or by a newer program.
//!
//! `fixtures/replica/before-release.db` has the first schema of the development time. Three unsent edits are in it, and one
//! of them waits for a person.

use std::path::{Path, PathBuf};

use super::{as_keeper, empty_replica, json, refuses, replica, sql, sqlite3, text, write_profile};

fn before_release() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("fixtures/replica/before-release.db");
    std::fs::copy(fixture, &db).unwrap();
    (dir, db)
}

const EDITS: &str = "SELECT id, kind, record_id, method, patch, base, state, reason, origin, created_at FROM edits";

#[test]
fn database_before_release_is_refused() {
    let (_dir, db) = before_release();
    let before = sql(&db, ".dump");
    for arguments in [&["status"][..], &["edits"], &["list", "rooms"]] {
        let words = ["was made before the first release of Hearth", "next: hearth-replica rebuild"];
        refuses(&db, arguments, 8, &words);
    }
    assert_eq!(sql(&db, ".dump"), before, "nothing was changed");
}

#[test]
fn rebuild_before_release_keeps_edits_and_profile() {
    let (dir, db) = before_release();
    write_profile(&db, "http://127.0.0.1:9", "svc_test_x");
    let profile = std::fs::read(dir.path().join("replica.db.toml")).unwrap();
    let edits = sql(&db, EDITS);
    assert_eq!(edits.lines().count(), 3, "{edits}");
    let home = sql(&db, "SELECT home_id FROM _sync");

    refuses(&db, &["rebuild", "--timeout", "1s"], 6, &["3 edits carried over"]);

    assert_eq!(sql(&db, EDITS), edits);
    assert_eq!(sql(&db, "SELECT home_id FROM _sync"), home);
    assert_eq!(sql(&db, "SELECT outcome FROM edit_history"), "confirmed");
    assert_eq!(std::fs::read(dir.path().join("replica.db.toml")).unwrap(), profile);
    assert_eq!(json(&db, &["edits"]).as_array().unwrap().len(), 3);
    let kept = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let is_copy = |path: &PathBuf| {
        path.to_string_lossy().contains("replica.db.damaged-") && path.to_string_lossy().ends_with('Z')
    };
    let kept: Vec<PathBuf> = kept.filter(is_copy).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(sql(&kept[0], EDITS), edits, "the old file is kept");
}

/// A replica whose `tasks` table lacks `estimated_cost`, as an older contract made it. Values that a newer server sent are in
/// `extra`: of a task, and of the base image of a task that has an edit.
fn older_contract() -> (tempfile::TempDir, PathBuf) {
    let (dir, db) = empty_replica();
    let ids = ["0190a3b0-0000-7000-8000-000000000001", "0190a3b0-0000-7000-8000-000000000002"];
    let insert = |id: &str, title: &str, cost: &str, rev: i64| {
        format!(
            "INSERT INTO tasks (id, title, priority, status, rev, extra)
             VALUES ('{id}', '{title}', 'medium', 'open', {rev}, '{{\"estimated_cost\":\"{cost}\"}}');"
        )
    };
    let column =
        "SELECT 'DROP TRIGGER ' || name || ';' FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'tasks'";
    as_keeper(&db, &(insert(ids[0], "Fix the tap", "40.00", 2) + &insert(ids[1], "Paint the wall", "85.50", 3)));
    let fields = "json_object('title', title, 'priority', priority, 'status', status)";
    let columns = "kind, record_id, rev, created_at, updated_at, extra, fields";
    let base = format!("SELECT 'task', id, rev, created_at, updated_at, extra, {fields} FROM tasks");
    as_keeper(&db, &format!("INSERT INTO _base ({columns}) {base}"));
    sql(&db, "UPDATE tasks SET priority = 'high' WHERE title = 'Fix the tap'");
    sql(&db, &sql(&db, column));
    sql(&db, "ALTER TABLE tasks DROP COLUMN estimated_cost");
    as_keeper(&db, "UPDATE _sync SET schema_stamp = 'older', phase = 'new'");
    (dir, db)
}

#[test]
fn added_column_takes_values_from_extra() {
    let (_dir, db) = older_contract();
    let edits = sql(&db, EDITS);
    assert_eq!(edits.lines().count(), 1, "{edits}");
    assert!(!sql(&db, "SELECT name FROM pragma_table_info('tasks')").contains("estimated_cost"));

    assert_eq!(json(&db, &["status"])["waiting"], 1);

    assert_eq!(sql(&db, EDITS), edits);
    let tasks = "SELECT title, priority, estimated_cost, ifnull(extra, 'nothing'), rev FROM tasks ORDER BY id";
    assert_eq!(sql(&db, tasks), "Fix the tap|high|40.00|nothing|2\nPaint the wall|medium|85.50|nothing|3");
    let base = "SELECT json_extract(fields, '$.estimated_cost'), extra IS NULL FROM _base WHERE kind = 'task'";
    assert_eq!(sql(&db, base), "40.00|1\n85.50|1", "the base image gains the column too");
}

#[test]
fn upgraded_database_works_like_new() {
    let (_dir, db) = older_contract();
    assert!(replica(&db, &["status"]).status.success());
    assert!(sql(&db, "SELECT sql FROM sqlite_schema WHERE name = 'tasks'").contains("What it will cost"));
    assert!(sql(&db, ".schema search").contains("Words match from their start"));
    assert_eq!(sql(&db, "SELECT title FROM search WHERE search MATCH 'pai*'"), "Paint the wall");
    sql(&db, "UPDATE tasks SET estimated_cost = '41' WHERE title = 'Paint the wall'");
    assert_eq!(json(&db, &["edits"])[1]["base"]["estimated_cost"], "85.50");
    let refused = sqlite3(&db, "UPDATE tasks SET estimated_cost = 'much'");
    assert!(text(&refused.stderr).contains("estimated_cost must be a decimal string"), "{}", text(&refused.stderr));
    let matches = json(&db, &["list", "tasks", "estimated_cost=40"]);
    assert_eq!(matches[0]["title"], "Fix the tap");
    let doctor: serde_json::Value = serde_json::from_slice(&replica(&db, &["doctor", "--json"]).stdout).unwrap();
    let findings = doctor.as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["matter"] == "database" && finding["grade"] == "ok"), "{doctor}");
}

/// A table or view of a person's can have a name that an upgrade needs.
#[test]
fn name_taken_by_user_is_no_disk_fault() {
    let (_dir, db) = older_contract();
    as_keeper(
        &db,
        "UPDATE _sync SET schema_stamp = NULL; DROP TRIGGER _guard__migrations_delete; DELETE FROM _migrations",
    );
    let look = format!("next: sqlite3 {} .schema, and rename ", db.display());
    let printed = text(&replica(&db, &["status"]).stderr);
    assert!(printed.contains("_gate already exists") && printed.contains(&look), "{printed}");
    let doctor = replica(&db, &["doctor"]);
    let printed = text(&doctor.stdout);
    assert!(printed.contains("fault    setup     ") && printed.contains(&look), "{printed}");
    assert!(!printed.contains("make room") && doctor.status.code() == Some(1), "{printed}");
}

#[test]
fn database_of_newer_program_is_left_alone() {
    let (_dir, db) = empty_replica();
    sql(
        &db,
        "INSERT INTO _migrations SELECT version + 1, 'later', applied_on, checksum FROM _migrations
         ORDER BY version DESC LIMIT 1",
    );
    // The stamp differs too, or the migrations would not be looked at.
    as_keeper(&db, "UPDATE _sync SET schema_stamp = 0");
    let before = sql(&db, ".dump");
    let refused = replica(&db, &["status"]);
    let printed = text(&refused.stderr);
    assert!(!refused.status.success() && printed.contains("made by a newer version of this program"), "{printed}");
    assert!(printed.contains("__later") && printed.contains("update it"), "{printed}");
    assert_eq!(sql(&db, ".dump"), before);
}

//! The command line and the stock `sqlite3` shell on one database, with no server in sight.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod daemon;
mod decisions;
mod doctor;
mod documented;
mod drills;
mod queries;
mod records;
mod refusals;
mod storm;
mod upgrade;
mod waiting;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn replica(db: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-replica"));
    command.arg("--db").arg(db).args(arguments).env("HOME", db.parent().unwrap()).env_remove("HEARTH_API_KEY");
    command.output().unwrap()
}

/// Stock SQLite, as a script has it.
fn sqlite3(db: &Path, sql: &str) -> Output {
    Command::new("sqlite3").arg(db).arg(sql).output().expect("the sqlite3 shell is installed")
}

/// A replica that has never met a server.
fn new_replica(db: &Path) {
    hearth_replica::Replica::open(db, hearth_replica::Origin::Cli).unwrap();
}

/// A profile beside the database, as `init` leaves it.
fn write_profile(db: &Path, server: &str, key: &str) {
    std::fs::write(format!("{}.toml", db.display()), format!("server = \"{server}\"\n")).unwrap();
    let file = format!("{}.key", db.display());
    std::fs::write(&file, format!("{key}\n")).unwrap();
    std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

/// What only the replica's keeper may write, for a test that wants to find it so.
fn as_keeper(db: &Path, sql: &str) {
    let gate = |open| format!("UPDATE _gate SET open = {open}, change_count = change_count + 1;");
    let output = sqlite3(db, &format!("BEGIN; {} {sql}; {} COMMIT;", gate(1), gate(0)));
    assert!(output.status.success(), "{sql}: {}", text(&output.stderr));
}

/// The program as somebody for whom the modes of files count, in a directory that is theirs.
fn as_anybody(db: &Path, arguments: &[&str]) -> Output {
    as_anybody_in(db.parent().unwrap(), db, arguments)
}

/// The same, called in that directory.
fn as_anybody_in(directory: &Path, db: &Path, arguments: &[&str]) -> Output {
    use std::os::unix::fs::{MetadataExt, chown};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-replica"));
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        for path in files.chain([directory.to_owned()]) {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    command.arg("--db").arg(db).args(arguments).env("HOME", directory).env_remove("HEARTH_API_KEY");
    command.current_dir(directory).output().unwrap()
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

/// The program on a disk that is full to the last byte, with a copy of a database and its profile. Not every machine lets
/// a test mount a disk.
fn on_full_disk(dir: &Path, db: &Path, arguments: &[&str]) -> Option<Output> {
    Some(command_on_full_disk(dir, db, arguments)?.output().unwrap())
}

/// The same, yet to be run.
fn command_on_full_disk(dir: &Path, db: &Path, arguments: &[&str]) -> Option<Command> {
    let disk = dir.join("disk");
    std::fs::create_dir_all(&disk).unwrap();
    let script = r#"mount -t tmpfs -o size=4m none "$1" || exit 99; cp "$2" "$2".toml "$2".key "$1"/
        cp "$2".reserve "$1"/ 2>/dev/null; chmod 600 "$1"/*
        cat /dev/zero > "$1"/ballast 2>/dev/null; program=$3; shift 3; exec "$program" "$@""#;
    let disk_of = |program: &str, arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
        command.args([&disk, db]).arg(program).args(arguments);
        command
    };
    if !disk_of("true", &[]).output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let there = disk.join("replica.db");
    let arguments = [&["--db", there.to_str().unwrap()], arguments].concat();
    Some(disk_of(env!("CARGO_BIN_EXE_hearth-replica"), &arguments))
}

/// What a command that must succeed writes as JSON.
fn json(db: &Path, arguments: &[&str]) -> Value {
    let output = replica(db, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

/// What a command that must fail says, and its exit code.
fn refusal(db: &Path, arguments: &[&str]) -> (i32, String) {
    let output = replica(db, arguments);
    assert_eq!(text(&output.stdout), "", "{arguments:?} writes no data when it fails");
    (output.status.code().unwrap(), unaddressed(db, &text(&output.stderr)))
}

/// What is said, without the flag that says which database is meant: every command that is told to be typed has it.
fn unaddressed(db: &Path, said: &str) -> String {
    said.replace(&format!(" --db {}", db.display()), "")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[test]
fn a_script_writes_and_the_command_line_shows_what_waits() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    assert_eq!(text(&replica(&db, &["path"]).stdout), db.to_str().unwrap());
    let none = replica(&db, &["status"]);
    assert_eq!(none.status.code(), Some(3), "asking does not make a database");
    let next = format!("next: hearth-replica --db {} init", db.display());
    assert!(text(&none.stderr).contains(&next), "{}", text(&none.stderr));
    new_replica(&db);
    let made =
        sqlite3(&db, "INSERT INTO tasks (title, due_on) VALUES ('Sweep the chimney', '2026-12-01') RETURNING id");
    let id = text(&made.stdout);
    assert_eq!(id.len(), 36, "{}", text(&made.stderr));
    assert!(sqlite3(&db, "UPDATE tasks SET priority = 'high'").status.success());

    let edits: Value = serde_json::from_slice(&replica(&db, &["edits", "--json"]).stdout).unwrap();
    let methods: Vec<&str> = edits.as_array().unwrap().iter().map(|edit| edit["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["create", "update"]);
    assert_eq!((&edits[1]["origin"], &edits[1]["patch"]["priority"]), (&"sql".into(), &"high".into()));

    let query = replica(&db, &["query", "SELECT title, priority FROM tasks", "--json"]);
    let rows: Value = serde_json::from_slice(&query.stdout).unwrap();
    assert_eq!((&rows[0]["title"], &rows[0]["priority"]), (&"Sweep the chimney".into(), &"high".into()));
    let written = replica(&db, &["query", "DELETE FROM tasks"]);
    assert_ne!(written.status.code(), Some(0), "a query does not write");
}

#[test]
fn what_a_script_may_not_write_aborts_with_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    new_replica(&db);
    assert!(sqlite3(&db, "INSERT INTO tasks (title) VALUES ('Sweep')").status.success());
    for (sql, sentence) in [
        ("UPDATE tasks SET priority = 'hihg'", "priority must be one of low, medium, high, urgent"),
        ("UPDATE tasks SET due_on = '2026-02-30'", "due_on must be a calendar date"),
        ("INSERT INTO tasks (title) VALUES ('  ')", "title must not be blank"),
        ("INSERT INTO tasks (priority) VALUES ('low')", "title is required"),
        ("UPDATE tasks SET rev = 7", "rev is set by the server"),
        ("REPLACE INTO tasks (id, title) SELECT id, 'x' FROM tasks", "REPLACE is not supported"),
        ("DELETE FROM edits", "edits is kept by the replica itself"),
        ("INSERT INTO vehicles (name, vin) VALUES ('Van', 'SHORT')", "vin must be"),
    ] {
        let output = sqlite3(&db, sql);
        assert!(!output.status.success(), "{sql}");
        assert!(text(&output.stderr).contains(sentence), "{sql}: {}", text(&output.stderr));
    }
    assert_eq!(text(&sqlite3(&db, "SELECT count(*) FROM edits").stdout), "1");
}

#[test]
fn without_a_server_the_status_is_calm_and_syncing_says_what_to_type() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    new_replica(&db);
    let status: Value = serde_json::from_slice(&replica(&db, &["status", "--json"]).stdout).unwrap();
    assert_eq!(status["phase"], "new");
    let (code, said) = refusal(&db, &["sync"]);
    assert_ne!(code, 0);
    assert!(said.contains("hearth-replica init"), "{said}");
}

#[test]
fn nobody_is_compared_with_a_server_that_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    new_replica(&db);
    write_profile(&db, "http://127.0.0.1:9", "svc_test_x");
    for command in ["verify", "reconcile"] {
        let (code, said) = refusal(&db, &[command, "--timeout", "24h"]);
        assert_eq!(code, 6, "{command}: {said}");
        assert!(
            said.contains("http://127.0.0.1:9 cannot be reached") && said.contains("hearth-replica doctor"),
            "{said}"
        );
    }
}

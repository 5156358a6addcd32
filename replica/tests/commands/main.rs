//! The command line and the stock `sqlite3` shell on one database, without a server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod captures;
mod daemon;
mod decisions;
mod doctor;
mod documented;
mod drills;
mod files;
mod local;
mod queries;
mod records;
mod refusals;
mod storm;
mod upgrade;
mod waiting;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

/// An address at which no server listens.
const UNREACHABLE: &str = "http://127.0.0.1:9";

/// The program on a database, not started yet: its home is the database's directory, and no key is in its environment.
fn command(db: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-replica"));
    command.arg("--db").arg(db).args(arguments).env("HOME", db.parent().unwrap()).env_remove("HEARTH_API_KEY");
    command
}

/// Runs the program on a database.
fn replica(db: &Path, arguments: &[&str]) -> Output {
    command(db, arguments).output().unwrap()
}

/// Runs SQL with the stock shell, as a script does.
fn sqlite3(db: &Path, sql: &str) -> Output {
    Command::new("sqlite3").arg(db).arg(sql).output().expect("the sqlite3 shell is installed")
}

/// The output of the sqlite3 shell for a statement that must succeed.
fn sql(db: &Path, statement: &str) -> String {
    let output = sqlite3(db, statement);
    assert!(output.status.success(), "{statement}: {}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

/// Creates a replica without a profile.
fn new_replica(db: &Path) {
    hearth_replica::Replica::open(db, hearth_replica::Origin::Cli).unwrap();
}

/// A new replica without a profile, in a directory that is deleted with the first value.
fn empty_replica() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    new_replica(&db);
    (dir, db)
}

/// A new replica of a server at this address, with a key.
fn replica_of(server: &str, key: &str) -> (tempfile::TempDir, PathBuf) {
    let (dir, db) = empty_replica();
    write_profile(&db, server, key);
    (dir, db)
}

/// A new replica with an unreachable server.
fn unreachable_replica() -> (tempfile::TempDir, PathBuf) {
    replica_of(UNREACHABLE, "svc_test_x")
}

/// A new replica with an unreachable server, and with an edit that waits: a new room.
fn replica_with_hall() -> (tempfile::TempDir, PathBuf) {
    let (dir, db) = unreachable_replica();
    sql(&db, "INSERT INTO rooms (name) VALUES ('Hall')");
    (dir, db)
}

/// A response of a [`fake_server`]: status, further header lines, and body.
type FakeResponse = (&'static str, &'static str, Value);

/// A server that answers each path with a response, or never. It runs until the test ends. Returns its address and the paths of
/// the requests.
fn fake_server(respond: impl Fn(&str) -> Option<FakeResponse> + Send + 'static) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        let mut unanswered = Vec::new();
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let mut request = [0; 4096];
            let length = socket.read(&mut request).unwrap_or_default();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            match respond(&path) {
                Some((status, headers, body)) => {
                    let (body, kind) = (body.to_string(), "Content-Type: application/json");
                    let head = format!("HTTP/1.1 {status}\r\n{kind}\r\n{headers}Connection: close\r\n");
                    let _ = socket.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
                }
                None => unanswered.push(socket),
            }
            let _ = sender.send(path);
        }
    });
    (url, requests)
}

/// Writes a profile and a key file beside the database, as `init` does.
fn write_profile(db: &Path, server: &str, key: &str) {
    std::fs::write(format!("{}.toml", db.display()), format!("server = \"{server}\"\n")).unwrap();
    let file = format!("{}.key", db.display());
    std::fs::write(&file, format!("{key}\n")).unwrap();
    std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

/// Runs SQL with the gate open, as the sync does.
fn as_keeper(db: &Path, sql: &str) {
    let gate = |open| format!("UPDATE _gate SET open = {open}, change_count = change_count + 1;");
    let output = sqlite3(db, &format!("BEGIN; {} {sql}; {} COMMIT;", gate(1), gate(0)));
    assert!(output.status.success(), "{sql}: {}", text(&output.stderr));
}

/// Runs the program as a user for whom file modes count (not root), in the directory of the database.
fn as_anybody(db: &Path, arguments: &[&str]) -> Output {
    as_anybody_in(db.parent().unwrap(), db, arguments)
}

/// Runs the program as a user for whom file modes count (not root), with `directory` as the current directory.
fn as_anybody_in(directory: &Path, db: &Path, arguments: &[&str]) -> Output {
    use std::os::unix::fs::{MetadataExt, chown};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let mut command = command(db, arguments);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        for path in files.chain([directory.to_owned()]) {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        command.uid(NOBODY).gid(NOBODY);
    }
    command.env("HOME", directory).current_dir(directory).output().unwrap()
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

/// Runs the program on a full disk, with a copy of the database and its profile. None when the machine does not let a test mount
/// a disk.
fn on_full_disk(dir: &Path, db: &Path, arguments: &[&str]) -> Option<Output> {
    Some(command_on_full_disk(dir, db, arguments)?.output().unwrap())
}

/// The command of [`on_full_disk`], not started yet.
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

/// The JSON output of a command that must succeed.
fn json(db: &Path, arguments: &[&str]) -> Value {
    let output = replica(db, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

/// The exit code and the message of a command that must fail.
fn refusal(db: &Path, arguments: &[&str]) -> (i32, String) {
    let output = replica(db, arguments);
    assert_eq!(text(&output.stdout), "", "{arguments:?} writes no data when it fails");
    (output.status.code().unwrap(), unaddressed(db, &text(&output.stderr)))
}

/// Runs a command that must fail with this exit code and say all these words. Returns the message.
#[track_caller]
fn refuses(db: &Path, arguments: &[&str], code: i32, words: &[&str]) -> String {
    let (exit, printed) = refusal(db, arguments);
    assert_eq!(exit, code, "{arguments:?}: {printed}");
    for word in words {
        assert!(printed.contains(word), "{arguments:?}: {word:?} is not in {printed}");
    }
    printed
}

/// A message without the `--db` option, which every suggested command contains.
fn unaddressed(db: &Path, printed: &str) -> String {
    printed.replace(&format!(" --db {}", db.display()), "")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[test]
fn script_write_shows_in_commands() {
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
fn verify_with_unreachable_server_exits_6() {
    let (_dir, db) = unreachable_replica();
    for command in ["verify", "reconcile"] {
        let words = ["http://127.0.0.1:9 cannot be reached", "hearth-replica doctor"];
        refuses(&db, &[command, "--timeout", "24h"], 6, &words);
    }
}

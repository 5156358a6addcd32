//! Commands that fail: the exit code of the table in docs/replica-database.md, a sentence, the next command, and no left-over
//! files.

use std::io::BufRead;
use std::path::Path;
use std::process::Command;

use hearth_contract::key::{Environment, key_text};
use hearth_replica::{Origin, Replica};
use serde_json::Value;

use super::doctor::{good_server, keyed_replica};
use super::{
    as_anybody, as_anybody_in, as_keeper, command_on_full_disk, empty_replica, json, new_replica, on_full_disk,
    refusal, replica, set_mode, sqlite3, text, unreachable_replica, write_profile,
};

#[test]
fn failed_sync_prints_status_as_json() {
    let (_dir, db) = unreachable_replica();
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    let output = replica(&db, &["sync", "--json", "--timeout", "300ms"]);
    assert_eq!(output.status.code(), Some(6), "{}", text(&output.stderr));
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&status["phase"], &status["waiting"]), (&"new".into(), &1.into()), "{status}");
}

#[test]
fn mistyped_profile_creates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let typo = dir.path().join("typo.db");
    for command in [&["sync"][..], &["rebuild"]] {
        let (exit, printed) = refusal(&typo, command);
        assert!(exit == 3 && printed.contains("has no server"), "{exit}: {printed}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    assert_eq!(refusal(&typo, &["add", "room", "name=Hall"]).0, 3);
    // A replica without a server exists now.
    new_replica(&typo);
    // The systemd unit does not restart after this code.
    for command in ["sync", "run", "verify", "reconcile"] {
        let (exit, printed) = refusal(&typo, &[command]);
        assert!(exit == 3 && printed.contains("the profile home has no server"), "{exit}: {printed}");
    }
}

#[test]
fn reading_empty_file_creates_no_replica() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("fresh.db");
    std::fs::write(&db, "").unwrap();
    set_mode(&db, 0o644);
    for command in
        [&["status"][..], &["list", "rooms"], &["query", "SELECT 1"], &["edits"], &["add", "room", "name=Hall"]]
    {
        let (exit, printed) = refusal(&db, command);
        assert!(exit == 3 && printed.contains("there is no replica at"), "{command:?}: {exit}: {printed}");
    }
    assert_eq!(replica(&db, &["doctor"]).status.code(), Some(3));
    assert_eq!(std::fs::metadata(&db).unwrap().len(), 0);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no file beside it either");
    // A companion file shows that the database was in use: an empty file is then damage.
    std::fs::write(beside(&db, ".changed"), "").unwrap();
    assert_eq!(refusal(&db, &["status"]).0, 8);
}

#[test]
fn unreachable_file_is_not_called_missing() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("round.db");
    // A symbolic link to itself cannot be resolved, like a path in another user's directory.
    std::os::unix::fs::symlink(&db, &db).unwrap();
    for command in [&["status"][..], &["list", "rooms"], &["query", "SELECT 1"], &["add", "room", "name=Hall"]] {
        let (exit, printed) = refusal(&db, command);
        assert!(exit == 1 && !printed.contains("there is no replica"), "{command:?}: {exit}: {printed}");
    }
}

#[test]
fn next_command_names_the_profile() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("fresh.db");
    let next = |arguments: &[&str]| refusal(&db, arguments).1.lines().last().unwrap().to_owned();
    assert_eq!(next(&["status"]), "next: hearth-replica init --server URL");
    assert_eq!(
        next(&["--profile", "other", "status"]),
        "next: hearth-replica --profile other init --server URL",
        "the key of the profile home is of another home"
    );
    // A profile beside the database goes before a named profile.
    write_profile(&db, "http://127.0.0.1:9", "svc_test_x");
    assert_eq!(next(&["--profile", "other", "status"]), "next: hearth-replica sync");
    // HEARTH_PROFILE names another profile, so the suggested command must contain the option.
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-replica"));
    command.args(["--profile", "home", "status"]).env("HOME", dir.path()).env("HEARTH_PROFILE", "other");
    let printed = text(&command.env_remove("HEARTH_API_KEY").output().unwrap().stderr);
    assert!(printed.ends_with("next: hearth-replica --profile home init --server URL"), "{printed}");
}

const QUESTION: &str = "61 of 61 tasks are gone on the server; a person must say whether that is right";

/// SQL for a reconcile that asks a person this question.
const ASKS: &str = "UPDATE _sync SET backfilled = 1, cursor = 'c', phase = 'blocked';
    INSERT INTO _reconcile (one, cause, tail_position, step, kind, as_of, question) VALUES (1, 'restored', 3, 'sweep', 'task', 3,
    '61 of 61 tasks are gone on the server; a person must say whether that is right')";

/// A copied command must not agree to deletions in another home.
#[test]
fn deletion_question_names_database() {
    let (_dir, db) = keyed_replica(&good_server());
    as_keeper(&db, ASKS);
    let program = format!("hearth-replica --db {} ", db.display());
    // The server says who it is, and has no feed. A sync reads the feed before it ends with the question, so
    // these commands end at their time limit, and must name the question all the same.
    let short = ["--timeout", "1s"];
    let syncing =
        [&["sync"][..], &["verify"], &["verify", "--repair"], &["rebuild"]].map(|words| [words, &short].concat());
    for command in [&["status"][..], &["doctor"]].into_iter().chain(syncing.iter().map(Vec::as_slice)) {
        let output = replica(&db, command);
        let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(printed.contains(QUESTION), "{command:?}: {printed}");
        assert!(
            printed.contains(&format!("next: {program}reconcile --accept-deletions, or ")),
            "{command:?}: {printed}"
        );
        assert_eq!(
            printed.matches("hearth-replica ").count(),
            printed.matches(&program).count(),
            "{command:?}: {printed}"
        );
    }
    for command in ["pause", "status"] {
        let printed = text(&replica(&db, &[command]).stdout);
        assert!(printed.contains(&format!("`{program}resume`")), "{command}: {printed}");
    }
}

#[test]
fn rebuild_waits_for_open_question() {
    let begun = |db: &Path| {
        let printed = "SELECT count(*) FROM sync_log WHERE text LIKE 'Comparing all records%'";
        text(&sqlite3(db, printed).stdout)
    };
    let paused = "UPDATE _sync SET backfilled = 1, cursor = 'c', position = 5, paused = 1, phase = 'paused'";
    for (stands, code, words) in [(ASKS, 5, QUESTION), (paused, 1, "next: hearth-replica resume")] {
        let (_dir, db) = keyed_replica(&good_server());
        as_keeper(&db, stands);
        let (exit, printed) = refusal(&db, &["rebuild", "--timeout", "3s"]);
        assert_eq!(exit, code, "{printed}");
        assert!(printed.contains(words), "{printed}");
        assert_eq!(begun(&db).trim(), "0", "{printed}");
    }
}

#[test]
fn refusals_have_documented_codes() {
    let (dir, db) = unreachable_replica();
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    assert!(replica(&db, &["edits", "discard", "1"]).status.success());
    let missing = dir.path().join("no").join("where");
    std::fs::write(dir.path().join("no"), "").unwrap();
    let missing = missing.to_str().unwrap();
    for (arguments, code, words, next) in [
        // The first edit is settled, the second never existed.
        (&["edits", "discard", "1"][..], 3, "no edit 1 that waits", "next: hearth-replica edits"),
        (&["edits", "discard", "77"], 3, "no edit 77 that waits", "next: hearth-replica edits"),
        (&["undo", "77"], 3, "", "next: hearth-replica edits"),
        (&["--profile", "../x", "status"], 2, "is not a profile name", "next: hearth-replica --profile NAME"),
        (&["init", "--server", "http://127.0.0.1:9", "--key-file", missing], 4, missing, "next: ls -l "),
        (&["query", ""], 2, "no statement", "next: hearth-replica query 'SELECT"),
        (&["query", "UPDATE rooms SET floor = '2'"], 1, "a query only reads", "next: sqlite3 "),
        (&["query", "SELECT nobody"], 1, "no such column", "/replica.db .schema"),
        (&["man", "--dir", missing], 1, missing, "next: hearth-replica man --dir"),
    ] {
        let (exit, printed) = refusal(&db, arguments);
        assert_eq!(exit, code, "{arguments:?}: {printed}");
        assert!(printed.contains(words) && printed.contains(next), "{arguments:?}: {printed}");
    }
}

#[test]
fn missing_key_names_its_file() {
    let (_dir, db) = unreachable_replica();
    let key = format!("{}.key", db.display());
    std::fs::remove_file(&key).unwrap();
    let (exit, printed) = refusal(&db, &["run"]);
    assert_eq!(exit, 4, "{printed}");
    assert!(printed.contains(&format!("{}.toml has no key: there is no {key}", db.display())), "{printed}");
    let printed = text(&replica(&db, &["doctor"]).stdout);
    assert!(printed.contains(&format!("has no key: there is no {key}")), "{printed}");
}

#[test]
fn init_judges_each_address() {
    let (dir, db) = unreachable_replica();
    let key = dir.path().join("good");
    std::fs::write(&key, key_text(Environment::Test, [7; 32])).unwrap();
    for (server, code, next) in [
        ("nonsense", 2, "next: hearth-replica init --server http"),
        ("http://anna:secret@127.0.0.1:9", 2, "next: hearth-replica init --server http"),
        ("http://127.0.0.1:9", 6, "next: curl -i http"),
    ] {
        let (exit, printed) = refusal(&db, &["init", "--server", server, "--key-file", key.to_str().unwrap()]);
        assert_eq!(exit, code, "{printed}");
        assert!(printed.contains(next) && !printed.contains("secret"), "{printed}");
    }
}

#[test]
fn init_without_key_says_so() {
    let (_dir, db) = unreachable_replica();
    let (exit, printed) = refusal(&db, &["init", "--server", "http://127.0.0.1:9"]);
    assert_eq!(exit, 4, "{printed}");
    assert!(printed.contains("no key was given") && !printed.contains("mistyped"), "{printed}");
    for way in ["--key-file FILE", "HEARTH_API_KEY", "stdin"] {
        assert!(printed.lines().last().unwrap().contains(way), "{printed}");
    }
}

/// `init` cannot help while the environment names a key file.
#[test]
fn missing_key_file_of_environment_is_named() {
    let (dir, db) = unreachable_replica();
    let file = dir.path().join("none").display().to_string();
    for command in [&["sync"][..], &["doctor"], &["init", "--server", "http://127.0.0.1:9"]] {
        let output = super::command(&db, command).env("HEARTH_API_KEY_FILE", &file).output().unwrap();
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{command:?}: {printed}");
        assert!(
            printed.ends_with(&format!("next: ls -l {file}, or unset HEARTH_API_KEY_FILE")),
            "{command:?}: {printed}"
        );
    }
}

#[test]
fn init_warns_about_environment_key() {
    let (dir, db) = keyed_replica(&good_server());
    let server = good_server();
    let file = dir.path().join("key");
    let key = std::fs::read_to_string(beside(&db, ".key")).unwrap();
    std::fs::write(&file, &key).unwrap();
    let file = file.display().to_string();
    let init = ["init", "--server", &server, "--key-file", &file];
    let printed = |name: &str, value: &str| {
        let output = super::command(&db, &init).env(name, value).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    for (name, value) in [("HEARTH_API_KEY", "svc_test_x"), ("HEARTH_API_KEY_FILE", "/nowhere")] {
        let reported = printed(name, value);
        let lines = reported
            .lines()
            .filter(|line| line.starts_with(&format!("{name} is set and takes precedence over the saved key")));
        assert_eq!(lines.count(), 1, "{reported}");
    }
    assert!(!printed("HEARTH_API_KEY_FILE", &file).contains("takes precedence"), "the key is from there");
    assert!(!printed("HEARTH_API_KEY_FILE", "").contains("takes precedence"), "it is not set");
}

#[test]
fn init_saves_where_commands_read() {
    let server = good_server();
    let (dir, db) = keyed_replica(&server);
    let (file, key) = (dir.path().join("new.key"), key_text(Environment::Test, [9; 32]));
    std::fs::write(&file, &key).unwrap();
    let new = ["init", "--server", &server, "--key-file", file.to_str().unwrap()];
    // A profile beside the database goes before a named profile, for reading and for writing.
    let output = replica(&db, &[&["--profile", "cabin"][..], &new].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(beside(&db, ".key")).unwrap().trim(), key);
    // A named profile is used, also the default name.
    let other = dir.path().join("other.db");
    let output = replica(&other, &[&["--profile", "home"][..], &new].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!beside(&other, ".toml").exists(), "the profile is in the profiles' directory");
}

#[test]
fn locked_database_is_no_unreachable_server() {
    let (_dir, db) = unreachable_replica();
    let script = rusqlite::Connection::open(&db).unwrap();
    script.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Without and with another process that syncs.
    for beside in [false, true] {
        let daemon = beside.then(|| hearth_replica::sync::SyncLock::try_take(&db).unwrap().unwrap());
        let began = std::time::Instant::now();
        let (exit, printed) = refusal(&db, &["sync", "--timeout", "300ms"]);
        assert_eq!(exit, 1, "{printed}");
        assert!(
            printed.contains("another program holds a write transaction on") && printed.contains("next: lsof "),
            "{printed}"
        );
        assert!(began.elapsed() < std::time::Duration::from_secs(4), "{:?}", began.elapsed());
        drop(daemon);
    }
}

#[test]
fn resolve_of_other_field_is_usage_error() {
    let (_dir, db) = unreachable_replica();
    assert!(sqlite3(&db, "INSERT INTO rooms (name, floor) VALUES ('Hall', '1')").status.success());
    as_keeper(&db, "UPDATE edits SET state = 'conflict', problem = '{\"type\":\"already_exists\"}'");
    let (exit, printed) = refusal(&db, &["resolve", "1", "mine", "--field", "nonsense=mine"]);
    assert_eq!(exit, 2, "{printed}");
    assert!(printed.contains("nonsense is not in conflict; in conflict: ") && printed.contains("name"), "{printed}");
    // Edits that the server has lost have no problem.
    as_keeper(&db, "UPDATE edits SET problem = NULL");
    let (exit, printed) = refusal(&db, &["resolve", "1", "mine", "--field", "nonsense=mine"]);
    assert_eq!(exit, 2, "{printed}");
    assert!(
        printed.contains("nonsense is not in conflict") && printed.contains("hearth-replica resolve 1 mine"),
        "{printed}"
    );
}

#[test]
fn full_disk_is_named_by_each_command() {
    let (dir, db) = unreachable_replica();
    assert!(sqlite3(&db, "PRAGMA wal_checkpoint(TRUNCATE)").status.success());
    for command in ["status", "list", "sync"] {
        let arguments = if command == "list" { &["list", "rooms"][..] } else { &[command] };
        let Some(output) = on_full_disk(dir.path(), &db, arguments) else { return };
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command}: {printed}");
        assert!(printed.contains("is full") && printed.contains("next: df -h "), "{command}: {printed}");
    }
}

#[test]
fn reserve_lets_full_disk_open() {
    let (dir, db) = unreachable_replica();
    assert!(sqlite3(&db, "PRAGMA wal_checkpoint(TRUNCATE)").status.success());
    let reserve = dir.path().join("replica.db.reserve");
    std::fs::write(&reserve, [0; 128 << 10]).unwrap();
    let Some(output) = on_full_disk(dir.path(), &db, &["status"]) else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
    std::fs::remove_file(reserve).unwrap();
}

#[test]
fn daemon_waits_for_disk_space() {
    let (dir, db) = unreachable_replica();
    assert!(sqlite3(&db, "PRAGMA wal_checkpoint(TRUNCATE)").status.success());
    let Some(mut command) = command_on_full_disk(dir.path(), &db, &["run"]) else { return };
    let mut daemon = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut printed = std::io::BufReader::new(daemon.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(printed.any(|line| line.contains("is full; it goes on by itself once that is over")));
    assert!(Command::new("kill").arg(daemon.id().to_string()).status().unwrap().success());
    let rest: Vec<String> = printed.collect();
    assert!(daemon.wait().unwrap().success(), "{rest:?}");
}

#[test]
fn query_hint_quotes_path() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("ace's home.db");
    new_replica(&db);
    let quoted = format!("\"{}\"", db.display());
    for (sql, next) in [("SELECT nobody", " .schema"), ("UPDATE rooms SET floor = '2'", "")] {
        let printed = text(&replica(&db, &["query", sql]).stderr);
        assert!(printed.ends_with(&format!("next: sqlite3 {quoted}{next}")), "{printed}");
    }
}

#[test]
fn writing_query_creates_no_file() {
    let (dir, db) = unreachable_replica();
    let file = dir.path().join("copy.db");
    let (exit, printed) = refusal(&db, &["query", &format!("VACUUM INTO '{}'", file.display())]);
    assert!(exit == 1 && printed.contains("a query only reads"), "{printed}");
    assert!(!file.exists());
}

#[test]
fn export_leaves_other_files_alone() {
    let (dir, db) = unreachable_replica();
    let (file, part) = (dir.path().join("copy.db"), dir.path().join("copy.db.part"));
    std::fs::write(&part, "mine").unwrap();
    assert!(replica(&db, &["export", file.to_str().unwrap()]).status.success());
    assert_eq!(std::fs::read_to_string(&part).unwrap(), "mine");
    let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names.iter().filter(|name| name.to_string_lossy().contains(".part")).count(), 1, "{names:?}");
}

#[test]
fn read_only_file_is_no_full_disk() {
    let (dir, db) = unreachable_replica();
    set_mode(&db, 0o400);
    let output = as_anybody(&db, &["add", "room", "name=Hall"]);
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("cannot be written to here") && printed.contains("next: ls -la "), "{printed}");
    drop(dir);
}

fn beside(db: &Path, more: &str) -> std::path::PathBuf {
    format!("{}{more}", db.display()).into()
}

#[test]
fn read_only_directory_can_be_read() {
    let (dir, db) = unreachable_replica();
    let writable = tempfile::tempdir().unwrap();
    set_mode(writable.path(), 0o777);
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    // Without and with the log and shared memory of a program that has the database open.
    for copy in ["at rest", "open"] {
        let held = (copy == "open").then(|| Replica::open(&db, Origin::Cli).unwrap());
        if held.is_some() {
            assert!(sqlite3(&db, "UPDATE rooms SET name = 'Great Hall'").status.success());
        }
        assert_eq!(beside(&db, "-wal").exists(), held.is_some());
        for part in ["", "-wal", "-shm"].map(|part| beside(&db, part)).iter().filter(|part| part.exists()) {
            set_mode(part, 0o400);
        }
        set_mode(dir.path(), 0o500);
        let copy = writable.path().join(copy).with_extension("db");
        for arguments in [
            &["list", "rooms"][..],
            &["query", "SELECT name FROM rooms"],
            &["edits"],
            &["search", "hall"],
            &["status"],
            &["export", copy.to_str().unwrap()],
        ] {
            let output = as_anybody(&db, arguments);
            let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
            assert!(output.status.success() && !printed.is_empty(), "{arguments:?}: {printed}");
            let name = if held.is_some() { "Great Hall" } else { "Hall" };
            assert!(arguments[0] != "list" || printed.contains(name), "{printed}");
        }
        let output = as_anybody(&db, &["add", "room", "name=Attic"]);
        let printed = text(&output.stderr);
        assert!(!output.status.success() && printed.contains("cannot be written to here"), "{printed}");
        set_mode(dir.path(), 0o700);
        set_mode(&db, 0o600);
    }
}

#[test]
fn full_disk_is_not_called_a_decision() {
    let (_dir, db) = unreachable_replica();
    let reason = "the disk that holds the replica is full; make room, and it goes on by itself";
    as_keeper(&db, &format!("UPDATE _sync SET backfilled = 1, cursor = 'c', phase = 'blocked', reason = '{reason}'"));
    let status = text(&replica(&db, &["status"]).stdout);
    assert!(status.starts_with(&format!("Stopped: {reason}.")), "{status}");
}

#[test]
fn list_with_limit_0_says_total() {
    let (_dir, db) = unreachable_replica();
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    let printed = text(&replica(&db, &["list", "rooms", "--limit", "0"]).stderr);
    assert_eq!(printed, "0 of 1; --limit shows more");
    assert_eq!(text(&replica(&db, &["list", "rooms", "name=x"]).stderr), "no rooms match");
}

#[test]
fn reconcile_without_server_stays_requested() {
    let (_dir, db) = unreachable_replica();
    let (exit, printed) = refusal(&db, &["reconcile"]);
    assert_eq!(exit, 6, "{printed}");
    assert!(printed.contains("the request stays"), "{printed}");

    let (_dir, db) = keyed_replica(&good_server());
    assert!(replica(&db, &["pause"]).status.success());
    let (exit, printed) = refusal(&db, &["reconcile"]);
    assert_eq!(exit, 1, "{printed}");
    let words = "syncing is paused; the request stays, and the next sync makes the comparison";
    assert!(printed.contains(words) && printed.ends_with("next: hearth-replica resume"), "{printed}");
}

#[test]
fn integer_with_zero_fraction_is_accepted() {
    let (_dir, db) = unreachable_replica();
    let made = json(&db, &["add", "inventory", "name=Kettle", "quantity=3.0"]);
    assert_eq!(made["quantity"], 3);
    assert_eq!(json(&db, &["list", "inventory", "quantity=3.0"])[0]["id"], made["id"]);
    let (exit, printed) = refusal(&db, &["add", "inventory", "name=Kettle", "quantity=3.5"]);
    assert_eq!(exit, 2, "{printed}");
    assert!(printed.contains("quantity must be an integer"), "{printed}");
}

#[test]
fn foreign_files_beside_database_stay() {
    let dir = tempfile::tempdir().unwrap();
    let files = ["reserve", "lock", "changed", "setup", "log"].map(|name| dir.path().join(name));
    files.iter().for_each(|file| std::fs::write(file, "mine").unwrap());
    let db = dir.path().join("replica.db");
    new_replica(&db);
    write_profile(&db, "http://127.0.0.1:9", "svc_test_x");
    let (exit, printed) = refusal(&db, &["sync", "--timeout", "300ms"]);
    assert_eq!(exit, 6, "{printed}");
    for file in files {
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine", "{}", file.display());
    }
}

#[test]
fn non_utf8_path_works() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff.db"));
    new_replica(&db);
    let added = replica(&db, &["add", "room", "name=Hall"]);
    assert!(added.status.success(), "{}", text(&added.stderr));
    assert_eq!(json(&db, &["list", "rooms"])[0]["name"], "Hall");
}

#[test]
fn text_file_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let diary = dir.path().join("diary.txt");
    std::fs::write(&diary, "Dear diary, ".repeat(1000)).unwrap();
    write_profile(&diary, "http://127.0.0.1:9", "svc_test_x");
    // `run` twice: the first must not leave a file that makes the text look like a replica.
    for command in ["run", "rebuild", "sync", "status", "run"] {
        let (exit, printed) = refusal(&diary, &[command]);
        assert_eq!(exit, 1, "{command}: {printed}");
        assert!(
            printed.contains("diary.txt is of another program") && printed.contains("next: name another file"),
            "{printed}"
        );
    }
    let examined = text(&replica(&diary, &["doctor"]).stdout);
    assert!(examined.contains("fault    setup     ") && !examined.contains("rebuild"), "{examined}");
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

/// The server's database has a table of migrations with the same name.
#[test]
fn foreign_database_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("hearth.db");
    let made = "PRAGMA journal_mode = WAL; CREATE TABLE homes (id);
        CREATE TABLE _migrations (version INT4 PRIMARY KEY, name TEXT, applied_on TEXT, checksum TEXT);
        INSERT INTO _migrations VALUES (1, 'house', '2026-01-01T00:00:00Z', '7')";
    assert!(sqlite3(&db, made).status.success());
    write_profile(&db, "http://127.0.0.1:9", "svc_test_x");
    for command in ["run", "rebuild", "sync", "status", "run"] {
        let (exit, printed) = refusal(&db, &[command]);
        assert_eq!(exit, 1, "{command}: {printed}");
        assert!(printed.contains("hearth.db is a database of another program"), "{command}: {printed}");
        assert!(printed.ends_with("next: name another file with --db, or none"), "{command}: {printed}");
    }
    let doctor = replica(&db, &["doctor"]);
    let examined = text(&doctor.stdout);
    assert!(examined.contains("fault    setup     ") && !examined.contains("make room"), "{examined}");
    // This finding precedes all others: no home must be set up there.
    std::fs::remove_file(beside(&db, ".toml")).unwrap();
    let worst = text(&replica(&db, &["doctor"]).stderr);
    assert!(worst.contains("the worst: ") && worst.contains("is a database of another program"), "{worst}");
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn other_home_block_is_no_decision() {
    let (_dir, db) = unreachable_replica();
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    as_keeper(&db, "UPDATE edits SET state = 'rejected'");
    let reason = "this replica is of home a, but the server answers as home b";
    as_keeper(&db, &format!("UPDATE _sync SET backfilled = 1, cursor = 'c', phase = 'blocked', reason = '{reason}'"));
    let status = text(&replica(&db, &["status"]).stdout);
    assert!(status.starts_with(&format!("Stopped: {reason}; 1 edit for you to decide on.")), "{status}");
}

#[test]
fn unwritable_directory_is_named() {
    let dir = tempfile::tempdir().unwrap();
    write_profile(&dir.path().join("other.db"), "http://127.0.0.1:9", "svc_test_x");
    set_mode(dir.path(), 0o500);
    let output = as_anybody_in(dir.path(), Path::new("other.db"), &["run"]);
    let printed = text(&output.stderr);
    set_mode(dir.path(), 0o700);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(!printed.contains(": : ") && printed.contains("next: ls -la .;"), "{printed}");
}

#[test]
fn address_password_is_not_shown() {
    let (_dir, db) = empty_replica();
    write_profile(&db, "http://joe:hunter2@127.0.0.1:9", "svc_test_x");
    for command in ["run", "sync"] {
        let output = replica(&db, &[command]);
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert!(!output.status.success() && !printed.contains("hunter2") && !printed.contains("joe"), "{printed}");
    }
}

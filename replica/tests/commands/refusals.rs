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
    UNREACHABLE, as_anybody, as_anybody_in, as_keeper, command_on_full_disk, empty_replica, json, new_replica,
    on_full_disk, refusal, refuses, replica, replica_with_hall, set_mode, sql, sqlite3, text, unreachable_replica,
    write_profile,
};

#[test]
fn failed_command_prints_status_as_json() {
    for (cause, command, code, phase, words) in [
        ("no server", "sync", 6, "new", UNREACHABLE),
        ("no key", "sync", 4, "new", "has no key"),
        ("a pause", "reconcile", 6, "paused", "the request stays"),
    ] {
        let (_dir, db) = replica_with_hall();
        match cause {
            "no key" => std::fs::remove_file(beside(&db, ".key")).unwrap(),
            "a pause" => drop(json(&db, &["pause"])),
            _ => (),
        }
        let output = replica(&db, &[command, "--json", "--timeout", "300ms"]);
        let printed = text(&output.stderr);
        assert!(output.status.code() == Some(code) && printed.contains(words), "{cause}: {printed}");
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&status["phase"], &status["waiting"]), (&phase.into(), &1.into()), "{cause}: {status}");
    }
}

#[test]
fn mistyped_profile_creates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let typo = dir.path().join("typo.db");
    for command in [&["sync"][..], &["rebuild"]] {
        refuses(&typo, command, 3, &["has no server"]);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    assert_eq!(refusal(&typo, &["add", "room", "name=Hall"]).0, 3);
    // A replica without a server exists now.
    new_replica(&typo);
    // The systemd unit does not restart after this code.
    for command in ["sync", "run", "verify", "reconcile"] {
        refuses(&typo, &[command], 3, &["the profile home has no server"]);
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
        refuses(&db, command, 3, &["there is no replica at"]);
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
        assert!(!refuses(&db, command, 1, &[]).contains("there is no replica"), "{command:?}");
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
    write_profile(&db, UNREACHABLE, "svc_test_x");
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
fn refusals_have_documented_codes() {
    let (dir, db) = replica_with_hall();
    json(&db, &["edits", "discard", "1"]);
    let copy = dir.path().join("copy.db");
    let vacuum = format!("VACUUM INTO '{}'", copy.display());
    let missing = dir.path().join("no").join("where");
    std::fs::write(dir.path().join("no"), "").unwrap();
    let missing = missing.to_str().unwrap();
    for (arguments, code, words, next) in [
        // The first edit is settled, the second never existed.
        (&["edits", "discard", "1"][..], 3, "no edit 1 that waits", "next: hearth-replica edits"),
        (&["edits", "discard", "77"], 3, "no edit 77 that waits", "next: hearth-replica edits"),
        (&["undo", "77"], 3, "", "next: hearth-replica edits"),
        (&["--profile", "../x", "status"], 2, "is not a profile name", "next: hearth-replica --profile NAME"),
        (&["init", "--server", UNREACHABLE, "--key-file", missing], 4, missing, "next: ls -l "),
        (&["query", ""], 2, "there is no statement to run", "next: hearth-replica query 'SELECT"),
        (&["query", " ; "], 2, "there is no statement to run", "next: hearth-replica query 'SELECT"),
        (&["query", &vacuum], 1, "a query only reads", "next: sqlite3 "),
        (&["query", "UPDATE rooms SET floor = '2'"], 1, "a query only reads", "next: sqlite3 "),
        (&["query", "SELECT nobody"], 1, "no such column", "/replica.db .schema"),
        (&["man", "--dir", missing], 1, missing, "next: hearth-replica man --dir"),
    ] {
        refuses(&db, arguments, code, &[words, next]);
    }
    assert!(!copy.exists(), "a query creates no file");
}

#[test]
fn missing_key_names_its_file() {
    let (_dir, db) = unreachable_replica();
    let key = format!("{}.key", db.display());
    std::fs::remove_file(&key).unwrap();
    refuses(&db, &["run"], 4, &[&format!("{}.toml has no key: there is no {key}", db.display())]);
}

#[test]
fn init_judges_each_address() {
    let (dir, db) = unreachable_replica();
    let key = dir.path().join("good");
    std::fs::write(&key, key_text(Environment::Test, [7; 32])).unwrap();
    for (server, code, next) in [
        ("nonsense", 2, "next: hearth-replica init --server http"),
        ("http://anna:secret@127.0.0.1:9", 2, "next: hearth-replica init --server http"),
        (UNREACHABLE, 6, "next: curl -i http"),
    ] {
        let init = ["init", "--server", server, "--key-file", key.to_str().unwrap()];
        assert!(!refuses(&db, &init, code, &[next]).contains("secret"), "{server}");
    }
}

#[test]
fn init_without_key_says_so() {
    let (_dir, db) = unreachable_replica();
    let printed = refuses(&db, &["init", "--server", UNREACHABLE], 4, &["no key was given"]);
    assert!(!printed.contains("mistyped"), "{printed}");
    for way in ["--key-file FILE", "HEARTH_API_KEY", "stdin"] {
        assert!(printed.lines().last().unwrap().contains(way), "{printed}");
    }
}

/// `init` cannot help while the environment names a key file.
#[test]
fn missing_key_file_of_environment_is_named() {
    let (dir, db) = unreachable_replica();
    let file = dir.path().join("none").display().to_string();
    for command in [&["sync"][..], &["doctor"], &["init", "--server", UNREACHABLE]] {
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
        let words = ["another program holds a write transaction on", "next: lsof "];
        refuses(&db, &["sync", "--timeout", "300ms"], 1, &words);
        assert!(began.elapsed() < std::time::Duration::from_secs(4), "{:?}", began.elapsed());
        drop(daemon);
    }
}

#[test]
fn resolve_of_other_field_is_usage_error() {
    let (_dir, db) = replica_with_hall();
    for (problem, words) in [
        ("json_object('type', 'already_exists')", ["nonsense is not in conflict; in conflict: ", "name"]),
        // Edits that the server has lost have no problem.
        ("NULL", ["nonsense is not in conflict", "hearth-replica resolve 1 mine"]),
    ] {
        as_keeper(&db, &format!("UPDATE edits SET state = 'conflict', problem = {problem}"));
        refuses(&db, &["resolve", "1", "mine", "--field", "nonsense=mine"], 2, &words);
    }
}

#[test]
fn full_disk_is_named_by_each_command() {
    let (dir, db) = unreachable_replica();
    assert!(sqlite3(&db, "PRAGMA wal_checkpoint(TRUNCATE)").status.success());
    for arguments in [&["status"][..], &["list", "rooms"], &["sync"]] {
        let Some(output) = on_full_disk(dir.path(), &db, arguments) else { return };
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {printed}");
        assert!(printed.contains("is full") && printed.contains("next: df -h "), "{arguments:?}: {printed}");
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
fn export_leaves_other_files_alone() {
    let (dir, db) = unreachable_replica();
    let (file, part) = (dir.path().join("copy.db"), dir.path().join("copy.db.part"));
    std::fs::write(&part, "mine").unwrap();
    assert!(replica(&db, &["export", file.to_str().unwrap()]).status.success());
    assert_eq!(std::fs::read_to_string(&part).unwrap(), "mine");
    let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names.iter().filter(|name| name.to_string_lossy().contains(".part")).count(), 1, "{names:?}");
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
        assert_eq!(output.status.code(), Some(1), "{printed}");
        assert!(printed.contains("cannot be written to here") && printed.contains("next: ls -la "), "{printed}");
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
fn reconcile_without_server_stays_requested() {
    let (_dir, db) = unreachable_replica();
    refuses(&db, &["reconcile"], 6, &["the request stays"]);

    let (_dir, db) = keyed_replica(&good_server());
    json(&db, &["pause"]);
    let words = "syncing is paused; the request stays, and the next sync makes the comparison";
    let printed = refuses(&db, &["reconcile"], 1, &[words]);
    assert!(printed.ends_with("next: hearth-replica resume"), "{printed}");
}

#[test]
fn foreign_files_beside_database_stay() {
    let dir = tempfile::tempdir().unwrap();
    let files = ["reserve", "lock", "changed", "setup", "log"].map(|name| dir.path().join(name));
    files.iter().for_each(|file| std::fs::write(file, "mine").unwrap());
    let db = dir.path().join("replica.db");
    new_replica(&db);
    write_profile(&db, UNREACHABLE, "svc_test_x");
    refuses(&db, &["sync", "--timeout", "300ms"], 6, &[]);
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
fn other_home_block_is_no_decision() {
    let (_dir, db) = unreachable_replica();
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    as_keeper(&db, "UPDATE edits SET state = 'rejected'");
    let reason = "this replica is of home a, but the server answers as home b";
    as_keeper(&db, &format!("UPDATE _sync SET backfilled = 1, cursor = 'c', phase = 'blocked', reason = '{reason}'"));
    let status = text(&replica(&db, &["status"]).stdout);
    assert!(status.starts_with(&format!("Stopped: {reason}; 1 edit for you to decide on.")), "{status}");
}

/// A text, and a database of the server: it has a table of migrations with the same name.
#[test]
fn file_of_another_program_is_left_alone() {
    let made = "PRAGMA journal_mode = WAL; CREATE TABLE homes (id);
        CREATE TABLE _migrations (version INT4 PRIMARY KEY, name TEXT, applied_on TEXT, checksum TEXT);
        INSERT INTO _migrations VALUES (1, 'house', '2026-01-01T00:00:00Z', '7')";
    for (name, words) in [("diary.txt", "is of another program"), ("hearth.db", "is a database of another program")] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(name);
        if name == "hearth.db" {
            sql(&file, made);
        } else {
            std::fs::write(&file, "Dear diary, ".repeat(1000)).unwrap();
        }
        write_profile(&file, UNREACHABLE, "svc_test_x");
        // `run` twice: the first must not leave a file that makes the file look like a replica.
        for command in ["run", "rebuild", "sync", "status", "run"] {
            let printed = refuses(&file, &[command], 1, &[&format!("{name} {words}")]);
            assert!(printed.ends_with("next: name another file with --db, or none"), "{command}: {printed}");
        }
        let examined = text(&replica(&file, &["doctor"]).stdout);
        assert!(examined.contains("fault    setup     "), "{examined}");
        assert!(!examined.contains("rebuild") && !examined.contains("make room"), "{examined}");
        // This finding precedes all others: no home must be set up there.
        std::fs::remove_file(beside(&file, ".toml")).unwrap();
        let worst = text(&replica(&file, &["doctor"]).stderr);
        assert!(worst.contains("the worst: ") && worst.contains(words), "{worst}");
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }
}

#[test]
fn unwritable_directory_is_named() {
    let dir = tempfile::tempdir().unwrap();
    write_profile(&dir.path().join("other.db"), UNREACHABLE, "svc_test_x");
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

//! `doctor` against one fault after another. Each is found, with the next command and the exit code.

use std::path::{Path, PathBuf};
use std::process::Output;

use hearth_contract::key::{Environment, key_text};
use serde_json::{Value, json};

use super::{
    as_anybody, as_keeper, command, fake_server, json, new_replica, on_full_disk, replica, replica_of, set_mode,
    sqlite3, text, unaddressed, write_profile,
};

const ALL: &str = "inventory vehicles documents tasks rooms property";

/// A server that gives every request the same response. Returns its address.
fn server(status: &'static str, headers: &'static str, body: Value) -> String {
    fake_server(move |_| Some((status, headers, body.clone()))).0
}

/// The data of `GET /v1/me` for a key with these scopes.
pub(super) fn identity(scopes: &[String]) -> Value {
    json!({ "data": {
        "team": { "id": "t", "name": "My home", "plan": "paid" }, "environment": "test", "scopes": scopes,
        "home": { "id": "0190a3b0-0000-7000-8000-00000000000f", "environment": "test" },
    }, "meta": { "request_id": "req_1" } })
}

/// All scopes that a replica uses.
pub(super) fn every_scope() -> Vec<String> {
    let kinds = ALL.split(' ').flat_map(|kind| ["read", "write"].map(|action| format!("{kind}:{action}")));
    kinds.chain(["events:read".to_owned()]).collect()
}

/// A server that accepts every key with all scopes.
pub(super) fn good_server() -> String {
    server("200 OK", "", identity(&every_scope()))
}

/// A replica of a server, with a well-formed key.
pub(super) fn keyed_replica(server: &str) -> (tempfile::TempDir, PathBuf) {
    replica_of(server, &key_text(Environment::Test, [7; 32]))
}

/// The exit code of `doctor` and its findings that are not `ok`: grade, matter, text, next.
fn examined(db: &Path) -> (i32, Vec<[String; 4]>) {
    let (exit, findings) = found_in(&replica(db, &["doctor", "--json"]));
    (exit, findings.into_iter().map(|finding| finding.map(|text| unaddressed(db, &text))).collect())
}

fn found_in(output: &Output) -> (i32, Vec<[String; 4]>) {
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let word = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    let all = findings.as_array().unwrap().iter().filter(|finding| finding["grade"] != "ok");
    let bad = all.map(|finding| ["grade", "matter", "text", "next"].map(|name| word(finding, name))).collect();
    (output.status.code().unwrap(), bad)
}

#[track_caller]
fn assert_found(db: &Path, code: i32, grade: &str, matter: &str, words: &str, next: &str) {
    assert_among(examined(db), code, grade, matter, words, next);
}

#[track_caller]
fn assert_among(examined: (i32, Vec<[String; 4]>), code: i32, grade: &str, matter: &str, words: &str, next: &str) {
    let (exit, findings) = examined;
    let found = findings.iter().any(|[found_grade, found_matter, text, then]| {
        found_grade == grade && found_matter == matter && text.contains(words) && then.contains(next)
    });
    assert!(found, "no {grade} of {matter} says {words:?} and {next:?}: {findings:?}");
    assert_eq!(exit, code, "{findings:?}");
}

#[test]
fn sound_replica_has_no_findings() {
    let (_dir, db) = keyed_replica(&good_server());
    let (exit, findings) = examined(&db);
    assert_eq!(exit, 0, "{findings:?}");
    assert!(findings.iter().all(|[grade, ..]| grade == "note"), "{findings:?}");
    let reported = text(&replica(&db, &["doctor"]).stdout);
    assert!(reported.contains("accepted for My home (test)") && !reported.contains('\x1b'), "{reported}");
}

#[test]
fn server_and_key_faults_are_found() {
    let (_dir, db) = keyed_replica("http://127.0.0.1:9");
    assert_found(&db, 6, "fault", "server", "cannot be reached", "curl");

    let refusal = json!({ "error": { "type": "invalid_api_key", "message": "The key was revoked.", "fix": "", "doc_url": "", "details": {} },
        "meta": { "request_id": "req_1" } });
    let (_dir, db) = keyed_replica(&server("401 Unauthorized", "", refusal));
    assert_found(&db, 4, "fault", "key", "The key was revoked", "hearth-replica init");

    let (_dir, db) = keyed_replica(&good_server());
    write_profile(&db, &good_server(), "svc_test_cut");
    assert_found(&db, 4, "fault", "key", "mistyped", "hearth-replica init");
    // The key of the environment goes before the key of the profile.
    let doctor = command(&db, &["doctor"]).env("HEARTH_API_KEY", "svc_test_cut").output().unwrap();
    assert!(text(&doctor.stderr).contains("unset HEARTH_API_KEY"), "{}", text(&doctor.stderr));
    let key = format!("{}.key", db.display());
    std::fs::remove_file(&key).unwrap();
    assert_found(&db, 4, "fault", "key", &format!("has no key: there is no {key}"), "hearth-replica init");

    // Without a scope to read the replica stays incomplete. Without a scope to write, edits are refused.
    for (lacks, grade) in [("tasks:read", "fault"), ("tasks:write", "warning")] {
        let scopes: Vec<String> = every_scope().into_iter().filter(|scope| scope != lacks).collect();
        let (_dir, db) = keyed_replica(&server("200 OK", "", identity(&scopes)));
        assert_found(&db, 4, grade, "key", &format!("lacks {lacks}"), "key create");
    }

    let (_dir, db) = keyed_replica(&good_server());
    as_keeper(&db, "UPDATE _sync SET home_id = '0190a3b0-0000-7000-8000-0000000000aa'");
    assert_found(&db, 4, "fault", "key", "but the key belongs to home", "--profile");

    let (_dir, db) =
        keyed_replica(&server("200 OK", "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", identity(&every_scope())));
    assert_found(&db, 1, "warning", "clock", "ahead of the server's", "timedatectl");
}

/// `init` already knows the scopes of the key, so a person need not wait for the first sync.
#[test]
fn init_names_missing_scopes() {
    let reported = |lacks: &[&str], form: &[&str]| {
        let scopes: Vec<String> = every_scope().into_iter().filter(|scope| !lacks.contains(&&scope[..])).collect();
        let url = server("200 OK", "", identity(&scopes));
        let (_dir, db) = keyed_replica(&url);
        let key = format!("{}.key", db.display());
        let init = replica(&db, &[&["init", "--server", &url, "--key-file", &key], form].concat());
        assert!(init.status.success(), "{}", text(&init.stderr));
        unaddressed(&db, &text(&init.stderr))
    };
    let sync = "next: hearth-replica sync, or hearth-replica run";
    let another = "next: hearth-server key create with these scopes, then: hearth-replica init";
    for form in [&[][..], &["--json"]] {
        let printed = reported(&["events:read", "rooms:read"], form);
        assert!(
            printed
                .contains("the key lacks events:read, rooms:read; without these scopes the replica stays incomplete"),
            "{printed}"
        );
        assert!(printed.ends_with(another) && !printed.contains("sync"), "{printed}");
    }
    let printed = reported(&["tasks:write"], &[]);
    assert_eq!(printed, format!("the key lacks tasks:write; such changes will be refused\n{sync}"));
    assert_eq!(reported(&[], &[]), sync);
}

/// systemctl only helps where the unit is installed.
#[test]
fn installed_unit_is_named_as_next_step() {
    let home = tempfile::tempdir().unwrap();
    let db = home.path().join(".local/share/hearth/home/replica.db");
    new_replica(&db);
    as_keeper(&db, "UPDATE _sync SET phase = 'new'");
    let reported = || {
        let mut doctor = std::process::Command::new(env!("CARGO_BIN_EXE_hearth-replica"));
        doctor.arg("doctor").env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
        text(&doctor.output().unwrap().stdout)
    };
    let before = reported();
    assert!(before.contains("next: hearth-replica run") && !before.contains("systemctl"), "{before}");
    let units = home.path().join(".config/systemd/user");
    std::fs::create_dir_all(&units).unwrap();
    std::fs::write(units.join("hearth-replica@.service"), "").unwrap();
    let reported = reported();
    assert!(reported.contains("or systemctl --user start hearth-replica@home"), "{reported}");
}

#[test]
fn database_faults_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let none = dir.path().join("none.db");
    assert_found(&none, 3, "fault", "setup", "there is no replica", "hearth-replica init");
    write_profile(&none, "http://127.0.0.1:9", "svc_test_x");
    assert_found(&none, 3, "fault", "setup", "there is no replica", "hearth-replica sync");

    let (_dir, db) = keyed_replica(&good_server());
    as_keeper(&db, "UPDATE _sync SET phase = 'needs_key', reason = 'The key was revoked.'");
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    as_keeper(&db, "UPDATE edits SET state = 'rejected'");
    // Another program removes a trigger; the doctor restores the trigger and says so, once.
    assert!(sqlite3(&db, "DROP TRIGGER _tasks_queue_update").status.success());
    let altered = "Another program had removed or altered the trigger _tasks_queue_update; all of it is restored.";
    assert_found(&db, 5, "note", "database", altered, "hearth-replica edits");
    assert!(!examined(&db).1.iter().any(|[.., text, _]| text.contains("_tasks_queue_update")));
    // Other findings are reported too.
    assert_found(&db, 5, "fault", "edits", "1 edit waits for you", "hearth-replica edits");
    assert_found(&db, 5, "warning", "feed", "needs key: The key was revoked.", "hearth-replica sync");

    // `verify --repair` refills an incomplete search.
    let (_dir, db) = keyed_replica(&good_server());
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    assert!(sqlite3(&db, "DELETE FROM search").status.success());
    let stale = "the search index differs from the tables";
    assert_found(&db, 1, "warning", "database", stale, "hearth-replica verify --repair");
    as_keeper(&db, "UPDATE edits SET state = 'rejected'");
    assert_found(&db, 5, "warning", "database", stale, "hearth-replica verify --repair");
    assert_found(&db, 5, "fault", "edits", "1 edit waits for you", "hearth-replica edits");

    let (_dir, db) = keyed_replica(&good_server());
    let own = |name: &str, when: &str| {
        let does = "BEGIN UPDATE tasks SET assignee = 'me' WHERE id = NEW.id; END";
        assert!(sqlite3(&db, &format!("CREATE TRIGGER {name} AFTER INSERT ON Tasks {when} {does}")).status.success());
    };
    own("asks", "WHEN (SELECT open FROM _gate) = 0 AND NEW.assignee IS NULL");
    own("mine", "WHEN NEW.assignee IS NULL");
    assert_found(&db, 0, "note", "database", "the trigger mine on tasks is not the replica's own", "FROM _gate) = 0");
    assert!(examined(&db).1.iter().all(|finding| !finding[2].contains("trigger asks")));

    let (_dir, db) = keyed_replica(&good_server());
    let triggers = "CREATE TABLE reported (id, title);
        CREATE TRIGGER tells AFTER INSERT ON edits BEGIN INSERT INTO reported SELECT NEW.id, title FROM tasks; END;
        CREATE TRIGGER marks AFTER INSERT ON edits BEGIN UPDATE OR IGNORE \"tasks\" SET assignee = 'me'; END";
    assert!(sqlite3(&db, triggers).status.success());
    assert_found(&db, 0, "note", "database", "the trigger marks on edits is not the replica's own", "DROP TRIGGER");
    assert!(examined(&db).1.iter().all(|finding| !finding[2].contains("trigger tells")));

    // Triggers of other programs that stop each sync are found by a trial, and the trial leaves nothing behind.
    for (trigger, sentence) in [
        (
            "BEFORE INSERT ON rooms BEGIN SELECT RAISE(ABORT, 'no more rooms'); END",
            "on rooms, which is not the replica's own: no more rooms",
        ),
        (
            "AFTER UPDATE ON tasks WHEN NEW.rev > 1 BEGIN SELECT RAISE(ROLLBACK, 'never'); END",
            "on tasks, which is not the replica's own: never",
        ),
        (
            "BEFORE UPDATE ON _sync BEGIN SELECT RAISE(FAIL, 'stay'); END",
            "on _sync, which is not the replica's own: stay",
        ),
        ("BEFORE INSERT ON vehicles BEGIN SELECT RAISE(IGNORE); END", "does not get into its table"),
    ] {
        let (_dir, db) = keyed_replica(&good_server());
        let made = format!(
            "CREATE TABLE seen (id); CREATE TRIGGER \"a fine\" AFTER INSERT ON rooms BEGIN INSERT INTO seen VALUES (NEW.id); END; CREATE TRIGGER \"it stops\" {trigger}"
        );
        assert!(sqlite3(&db, &made).status.success());
        assert_found(&db, 1, "warning", "feed", sentence, "DROP TRIGGER \"it stops\"");
        assert!(
            examined(&db)
                .1
                .iter()
                .all(|finding| !finding[2].starts_with("each sync fails because of the trigger a fine"))
        );
        assert_eq!(text(&sqlite3(&db, "SELECT count(*) FROM seen; SELECT count(*) FROM rooms; SELECT count(*) FROM sync_log WHERE text = 'trial'; SELECT count(*) FROM sqlite_schema WHERE name = 'it stops'").stdout), "0\n0\n0\n1");
    }

    let (_dir, db) = keyed_replica(&good_server());
    let writes = "CREATE TRIGGER forgets AFTER UPDATE ON tasks BEGIN DELETE FROM edits; END";
    assert!(sqlite3(&db, writes).status.success());
    let words = "the trigger forgets on tasks is not the replica's own and writes to edits";
    assert_found(&db, 1, "warning", "database", words, "DROP TRIGGER \"forgets\"");

    let (_dir, db) = keyed_replica(&good_server());
    let indexes = "CREATE INDEX by_title ON tasks (title); CREATE UNIQUE INDEX \"one name\" ON Rooms (name)";
    assert!(sqlite3(&db, indexes).status.success());
    let words = "the UNIQUE index one name on rooms";
    assert_found(&db, 1, "warning", "feed", words, "DROP INDEX \"one name\"");
    assert!(examined(&db).1.iter().all(|finding| !finding[2].contains("by_title")));

    let (_dir, db) = keyed_replica(&good_server());
    let own = "CREATE INDEX nj ON tasks (json_extract(notes, '$.x'));
        CREATE TRIGGER tells AFTER INSERT ON rooms WHEN (SELECT open FROM _gate) = 0 BEGIN INSERT INTO lost VALUES (1); END";
    assert!(sqlite3(&db, own).status.success());
    assert_found(&db, 1, "note", "feed", "the index nj on tasks is not the replica's own", "DROP INDEX");
    assert_found(&db, 1, "warning", "feed", "the trigger tells on rooms: no such table: main.lost", "DROP TRIGGER");

    let (_dir, db) = keyed_replica(&good_server());
    as_keeper(&db, "UPDATE _sync SET schema_version = '9.0'");
    assert_found(&db, 1, "fault", "setup", "made by a newer version", "install");

    let (_dir, db) = keyed_replica(&good_server());
    assert!(sqlite3(&db, "PRAGMA wal_checkpoint(TRUNCATE)").status.success());
    let mut bytes = std::fs::read(&db).unwrap();
    bytes[4096 * 3..4096 * 20].fill(0xa5);
    std::fs::write(&db, bytes).unwrap();
    assert_found(&db, 8, "fault", "database", "", "hearth-replica rebuild");
}

/// A dump may be restored into a database with another encoding.
#[test]
fn utf16_database_is_rebuilt() {
    let (dir, db) = keyed_replica("http://127.0.0.1:9");
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    let copy = dir.path().join("copy.db");
    let restored = std::process::Command::new("sh")
        .args(["-c", "sqlite3 \"$1\" .dump | sqlite3 -cmd \"PRAGMA encoding = 'UTF-16le'\" \"$2\" && mv \"$2\" \"$1\""])
        .arg("sh")
        .args([&db, &copy])
        .output()
        .unwrap();
    assert!(restored.status.success(), "{}", text(&restored.stderr));
    assert_found(&db, 8, "fault", "database", "stores its texts as UTF-16le", "hearth-replica rebuild");
    replica(&db, &["rebuild", "--timeout", "100ms"]);
    assert_eq!(
        text(&replica(&db, &["query", "SELECT patch FROM edits", "--csv"]).stdout).lines().last(),
        Some("\"{\"\"name\"\":\"\"Hall\"\"}\"")
    );
    assert_eq!(text(&replica(&db, &["query", "PRAGMA encoding", "--csv"]).stdout).lines().last(), Some("UTF-8"));
}

/// Without room for a single page, SQLite's errors look like damage.
#[test]
fn full_disk_is_reported_as_disk_fault() {
    let (dir, db) = keyed_replica(&good_server());
    let Some(output) = on_full_disk(dir.path(), &db, &["doctor", "--json"]) else { return };
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let faults: Vec<_> = findings.as_array().unwrap().iter().filter(|finding| finding["grade"] == "fault").collect();
    assert!(faults.iter().all(|finding| finding["matter"] == "disk"), "{findings:#}");
    assert!(
        faults.iter().any(|finding| finding["text"].as_str().unwrap().contains("the disk is full")),
        "{findings:#}"
    );
    assert!(faults.iter().all(|finding| finding["next"].as_str().unwrap().starts_with("df -h")), "{findings:#}");
    assert_eq!(output.status.code(), Some(1), "{findings:#}");
}

#[test]
fn file_faults_are_found() {
    let (_dir, db) = keyed_replica(&good_server());
    let key = format!("{}.key", db.display());
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    assert_found(&db, 1, "fault", "files", "can be read by others (mode 644)", &format!("chmod 600 {key}"));

    let (_dir, db) = keyed_replica(&good_server());
    let log = std::fs::File::create(format!("{}-wal", db.display())).unwrap();
    log.set_len(65 << 20).unwrap();
    assert_found(&db, 1, "warning", "disk", "write-ahead log has grown", "wal_checkpoint");

    let (_dir, db) = keyed_replica(&good_server());
    std::fs::write(format!("{}.damaged-20260101T000000Z", db.display()), "x").unwrap();
    assert_found(&db, 0, "note", "files", "1 damaged copy", "rm ");
}

/// A read-only replica is sound but takes no edits, which is no fault of the disk.
#[test]
fn read_only_files_are_found() {
    let doctor = |db: &Path| found_in(&as_anybody(db, &["doctor", "--json"]));
    let (dir, db) = keyed_replica(&good_server());
    assert_eq!(doctor(&db).0, 0);
    let shared = PathBuf::from(format!("{}-shm", db.display()));
    std::fs::write(&shared, "").unwrap();
    set_mode(&shared, 0o400);
    let next = format!("chmod u+rw {}", shared.display());
    assert_among(doctor(&db), 1, "fault", "files", "replica.db-shm cannot be written to: Permission denied", &next);

    // The last process that closed the database may have deleted the file.
    let _ = std::fs::remove_file(&shared);
    set_mode(dir.path(), 0o500);
    let (exit, findings) = doctor(&db);
    assert!(findings.iter().all(|[_, matter, ..]| matter != "disk"), "{findings:?}");
    let next = format!("chmod u+rwx {}", dir.path().display());
    assert_among((exit, findings), 1, "fault", "files", "cannot be written to", &next);
    set_mode(dir.path(), 0o700);
}

#[test]
fn malformed_profile_is_found() {
    let (_dir, db) = keyed_replica(&good_server());
    let profile = format!("{}.toml", db.display());
    std::fs::write(&profile, "conflict_policy = \"bogus\"\n").unwrap();
    let words = "conflict_policy is \"bogus\"; it must be \"ask\", \"mine\" or \"theirs\"";
    assert_found(&db, 1, "fault", "setup", words, &format!("correct {profile}"));
    std::fs::write(&profile, "conflict_polcy = \"mine\"\n").unwrap();
    assert_found(&db, 1, "fault", "setup", "unknown field `conflict_polcy`", &format!("correct {profile}"));
    std::fs::write(&profile, "server = http://nowhere\n").unwrap();
    assert_found(&db, 1, "fault", "setup", &profile, &format!("correct {profile}"));
    let reported = text(&replica(&db, &["status"]).stderr);
    assert!(reported.contains("next: correct "), "{reported}");
    // A missing database is the lesser fault.
    std::fs::remove_file(&db).unwrap();
    let worst = text(&replica(&db, &["doctor"]).stderr);
    assert!(worst.contains("the worst: ") && worst.contains(&profile) && !worst.contains("init"), "{worst}");
}

#[test]
fn foreign_server_is_reported_once() {
    let (_dir, db) = keyed_replica(&server("200 OK", "", json!("no identity")));
    let (_, findings) = examined(&db);
    let reported: Vec<&str> = findings.iter().map(|[_, _, text, _]| text.as_str()).collect();
    assert_eq!(reported.join(" ").matches("not answer as a Hearth server").count(), 1, "{reported:?}");
}

/// A process that reconciles without contact keeps no replica in step.
#[test]
fn reconciling_without_contact_says_so() {
    let (dir, db) = keyed_replica("http://127.0.0.1:9");
    let _lock = hearth_replica::sync::SyncLock::try_take(&db).unwrap().unwrap();
    let gone = "daemon_pid = 1, phase = 'offline', reconcile_requested = 1, offline_since = '2026-01-01T00:00:00.000Z'";
    as_keeper(&db, &format!("UPDATE _sync SET backfilled = 1, cursor = 'c', {gone}"));
    let reported = text(&replica(&db, &["doctor"]).stdout);
    let words = "holds the sync lock; reconciling, without contact since 2026-01-01T00:00:00.000Z";
    assert!(reported.contains(words), "{reported}");
    drop(dir);
}

#[test]
fn process_feed_and_edit_faults_are_found() {
    let (_dir, db) = keyed_replica(&good_server());
    as_keeper(&db, "UPDATE _sync SET daemon_pid = 2147483647, phase = 'live'");
    assert_found(&db, 1, "warning", "process", "process 2147483647 synced and was killed", "hearth-replica run");

    let (_dir, db) = keyed_replica(&good_server());
    let ago = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-10 days')";
    as_keeper(&db, &format!("UPDATE _sync SET backfilled = 1, current_at = {ago}, retention_seconds = 864000 + 3600"));
    assert_found(
        &db,
        1,
        "warning",
        "feed",
        "the server trims the history after this replica's position",
        "--until-current",
    );
    as_keeper(&db, "UPDATE _sync SET retention_seconds = 3600");
    assert_found(&db, 1, "warning", "feed", "offline for longer than the server keeps history", "--until-current");

    // Without a process that syncs, a recent contact is no proof.
    let (_dir, db) = keyed_replica(&good_server());
    let soon = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+10 seconds')";
    as_keeper(&db, &format!("UPDATE _sync SET backfilled = 1, cursor = 'c', phase = 'offline', current_at = {soon}"));
    assert_found(&db, 0, "note", "feed", "last proven in step", "--until-current");

    let (_dir, db) = keyed_replica(&good_server());
    let blocked = "UPDATE _sync SET backfilled = 1, cursor = 'c', phase = 'blocked', reason =";
    let question = "'60 of 80 tasks are gone'";
    as_keeper(&db, &format!("{blocked} NULL"));
    let asks = "INSERT INTO _reconcile (one, cause, tail_position, step, kind, question) VALUES (1, 'gap', 0, 'sweep', 'task',";
    as_keeper(&db, &format!("{asks} {question})"));
    assert_found(&db, 5, "fault", "feed", "60 of 80 tasks are gone", "hearth-replica reconcile --accept-deletions, or");
    as_keeper(&db, "DELETE FROM _reconcile");
    as_keeper(&db, &format!("{blocked} 'the disk that holds the replica is full', blocked_by = 'disk_full'"));
    assert_found(&db, 1, "fault", "feed", "is full", "df -h");
    as_keeper(
        &db,
        &format!("{blocked} 'the server does not know where this replica stands', blocked_by = 'unknown_cursor'"),
    );
    assert_found(&db, 5, "fault", "feed", "does not know where", "hearth-replica rebuild");

    let (_dir, db) = keyed_replica(&good_server());
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    assert_found(&db, 0, "note", "edits", "1 edit is on the way", "--until-pushed");
    as_keeper(&db, &format!("UPDATE edits SET created_at = {ago}"));
    assert_found(&db, 7, "warning", "edits", "the oldest for 10 days", "--until-pushed");
    as_keeper(&db, "UPDATE edits SET state = 'rejected'");
    assert_found(&db, 5, "fault", "edits", "for you", "hearth-replica edits");
}

/// A refusal was for the key of that time. Another key is only advised while the current key is refused.
#[test]
fn old_refusal_is_judged_by_current_key() {
    let no_writes: Vec<String> = every_scope().into_iter().filter(|scope| !scope.ends_with("write")).collect();
    let (_dir, db) = keyed_replica(&server("200 OK", "", identity(&no_writes)));
    as_keeper(&db, "UPDATE _sync SET phase = 'needs_key', reason = 'The key may not write tasks.'");
    assert_found(&db, 4, "fault", "feed", "needs key: The key may not write tasks", "hearth-replica init");

    let (_dir, db) = keyed_replica(&good_server());
    let ours = "0190a3b0-0000-7000-8000-00000000000f";
    let why = format!("'this replica is of home {ours}, but the server answers as home b'");
    as_keeper(&db, &format!("UPDATE _sync SET home_id = '{ours}', phase = 'blocked', reason = {why}"));
    let words = "the server answers as home b; the present key is accepted";
    assert_found(&db, 1, "warning", "feed", words, "hearth-replica sync --until-current");
    as_keeper(&db, "UPDATE _sync SET home_id = 'another'");
    assert_found(&db, 4, "fault", "feed", "the server answers as home b", "hearth-replica init");
}

/// A question to a person and a pause are reported before a long absence.
#[test]
fn deletion_question_precedes_long_absence() {
    let (_dir, db) = keyed_replica(&good_server());
    let away = "backfilled = 1, cursor = 'c', current_at = '2020-01-01T00:00:00.000Z', retention_seconds = 60";
    as_keeper(&db, &format!("UPDATE _sync SET {away}, phase = 'reconciling'"));
    as_keeper(
        &db,
        "INSERT INTO _reconcile (one, cause, tail_position, step, kind) VALUES (1, 'gap', 0, 'sweep', 'task')",
    );
    assert_found(&db, 0, "note", "feed", "comparison with the server", "--until-current");
    as_keeper(&db, "UPDATE _reconcile SET question = '60 of 80 tasks are gone'");
    assert_found(&db, 5, "fault", "feed", "60 of 80 tasks are gone", "hearth-replica reconcile --accept-deletions, or");
    as_keeper(&db, "UPDATE _sync SET phase = 'needs_key', reason = 'The key was revoked.'; DELETE FROM _reconcile");
    assert_found(&db, 1, "warning", "feed", "needs key: The key was revoked", "hearth-replica sync");
    as_keeper(&db, "UPDATE _sync SET phase = 'paused', paused = 1");
    assert_found(&db, 0, "note", "feed", "paused by a person", "hearth-replica resume");
}

/// A process that has just started may have no contact yet: the server is slow, or the machine was asleep.
#[test]
fn new_process_without_contact_is_alive() {
    let (_dir, db) = keyed_replica(&good_server());
    let lock = hearth_replica::sync::SyncLock::try_take(&db).unwrap().unwrap();
    let silent = |ago: &str| {
        let at = format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '{ago}')");
        let process = std::process::id();
        let text = format!(
            "UPDATE _sync SET backfilled = 1, cursor = 'c', phase = 'live', daemon_pid = {process}, last_contact_at = {at}"
        );
        as_keeper(&db, &text);
    };
    let doubted = || examined(&db).1.into_iter().find(|[_, matter, ..]| matter == "process");
    silent("-10 days");
    assert_eq!(doubted(), None, "the process has just started");
    let file = std::fs::File::options().write(true).open(format!("{}.lock", db.display())).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(180)).unwrap();
    silent("-100 seconds");
    assert_eq!(doubted(), None, "the last contact is recent");
    silent("-180 seconds");
    let [grade, _, words, next] = doubted().unwrap();
    assert!(grade == "warning" && words.contains("does not respond"), "{words}");
    assert!(next.starts_with("hearth-replica doctor again") && next.contains("end process"), "{next}");
    drop(lock);
}

/// An unquoted path with a blank would make `rm` delete other files.
#[test]
fn next_command_quotes_path_with_blank() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("my home");
    std::fs::create_dir(&home).unwrap();
    let db = home.join("replica.db");
    new_replica(&db);
    write_profile(&db, "http://127.0.0.1:9", "svc_test_x");
    let key = format!("{}.key", db.display());
    set_mode(Path::new(&key), 0o644);
    std::fs::write(format!("{}.damaged-20260601T000000Z", db.display()), "x").unwrap();
    let nexts: Vec<String> = examined(&db).1.into_iter().map(|[_, _, _, next]| next).collect();
    let damaged = format!("rm '{}.damaged-'*, once you need nothing in them", db.display());
    for next in [format!("chmod 600 '{key}'"), damaged] {
        assert!(nexts.contains(&next), "{next}: {nexts:?}");
    }
}

/// In a container the process table does not show other processes, but the lock is held.
#[test]
fn held_lock_proves_unseen_process() {
    let (_dir, db) = keyed_replica(&good_server());
    let now = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+10 seconds')";
    let live = "backfilled = 1, cursor = 'c', phase = 'live', daemon_pid = 2147483647";
    as_keeper(&db, &format!("UPDATE _sync SET {live}, last_contact_at = {now}"));
    let phase = || json(&db, &["status"])["phase"].clone();
    let lock = hearth_replica::sync::SyncLock::try_take(&db).unwrap().unwrap();
    assert_eq!(phase(), "live");
    drop(lock);
    assert_eq!(phase(), "offline");
}

#[test]
fn long_writer_is_found() {
    let (_dir, db) = keyed_replica(&good_server());
    let other = rusqlite::Connection::open(&db).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let next = format!("lsof {}, end that program's transaction", db.display());
    assert_found(&db, 1, "fault", "process", "another program holds a write transaction on", &next);
}

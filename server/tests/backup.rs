//! Backups, restores and misspelt directories: no command loses data or creates files by mistake.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use hearth_server::store::Db;
use hearth_server::store::notifier::Notifier;
use rusqlite::Connection;
use serde_json::Value;

mod common;
use common::{command, refused, run, stderr, stdout, text};

/// A directory with a data directory `data`, which has one team with a filled sandbox.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { dir: tempfile::tempdir().unwrap() };
        stdout(&place.data(), &["team", "create", "Hill house"]);
        stdout(&place.data(), &["sandbox", "reset", "--team", "Hill house"]);
        place
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    /// Saves a backup under a name and returns its path.
    fn backup(&self, name: &str) -> String {
        let file = self.path(name);
        stdout(&self.data(), &["backup", &file]);
        file
    }
}

#[test]
fn misspelt_directory_is_refused_and_not_created() {
    let place = Place::new();
    let missing = place.dir.path().join("misspelt");
    let file = place.path("w.db");
    for arguments in [
        &["backup", &file][..],
        &["check"],
        &["key", "list"],
        &["key", "create", "--team", "Hill house", "--env", "test"],
        &["key", "revoke", "phone"],
        &["key", "rotate", "phone"],
        &["key", "unflag", "phone"],
        &["sandbox", "reset", "--team", "Hill house"],
        &["team", "list"],
        &["team", "plan", "Hill house", "free"],
        &["restore", &place.path("nothing.db")],
    ] {
        let error = refused(&missing, arguments);
        let reason = if arguments[0] == "restore" {
            "nothing.db"
        } else {
            "there is no database; name the right directory with --data"
        };
        assert!(error.contains(reason), "{arguments:?}: {error}");
        assert!(!missing.exists(), "{arguments:?}");
    }
    assert!(!Path::new(&file).exists());
    // `team create` and `restore` create a data directory.
    let (saved, new) = (place.backup("saved.db"), place.dir.path().join("new"));
    assert!(stderr(&new, &["restore", &saved]).contains("2 homes"));
    assert!(stdout(&new, &["check"]).starts_with("sound: 2 homes"));
    stdout(&missing, &["team", "create", "Lake"]);
}

#[test]
fn emptied_database_is_not_treated_as_new() {
    let place = Place::new();
    let (saved, file) = (place.backup("saved.db"), place.path("w.db"));
    let (database, log) = (place.data().join("hearth.db"), place.data().join("hearth.db-wal"));
    // An empty file, and a database of another program.
    let foreign = place.dir.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE notes (text TEXT)").unwrap();
    for content in [Vec::new(), std::fs::read(foreign).unwrap()] {
        std::fs::write(&database, &content).unwrap();
        std::fs::write(&log, "the rest of it").unwrap();
        for arguments in [
            &["serve", "--listen", "127.0.0.1:0"][..],
            &["check"],
            &["backup", &file],
            &["key", "list"],
            &["team", "list"],
            &["team", "create", "Lake"],
        ] {
            let error = refused(&place.data(), arguments);
            assert!(error.contains("hearth.db is empty") && error.contains("restore FILE"), "{arguments:?}: {error}");
            assert_eq!(std::fs::read(&database).unwrap(), content, "{arguments:?}");
        }
        if content.is_empty() {
            assert_eq!(std::fs::read(&log).unwrap(), b"the rest of it");
        }
        stderr(&place.data(), &["restore", &saved]);
        assert!(stdout(&place.data(), &["check"]).starts_with("sound: 2 homes"));
    }
}

#[test]
fn damaged_database_is_reported_with_next_step() {
    let place = Place::new();
    let (database, file) = (place.data().join("hearth.db"), place.path("w.db"));
    let sound = std::fs::read(&database).unwrap();
    let mut without_head = sound.clone();
    without_head[100..150].fill(0x5a);
    let tables: Vec<u32> = Connection::open(&database)
        .unwrap()
        .prepare("SELECT rootpage - 1 FROM sqlite_schema WHERE name IN ('_migrations', 'teams', 'keys')")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(tables.len(), 3);
    let mut without_pages = sound.clone();
    for table in tables {
        without_pages[table as usize * 4096..][..4096].fill(0x5a);
    }
    for damaged in [without_head, b"no database at all".to_vec(), without_pages] {
        std::fs::write(&database, damaged).unwrap();
        for arguments in [
            &["serve", "--listen", "127.0.0.1:0"][..],
            &["check"],
            &["backup", &file],
            &["key", "list"],
            &["team", "list"],
        ] {
            let error = refused(&place.data(), arguments);
            for words in ["is damaged", "restore FILE"] {
                assert_eq!(error.matches(words).count(), 1, "{arguments:?}: {error}");
            }
            let causes = ["malformed", "not a database"].map(|cause| error.matches(cause).count());
            assert_eq!(causes.iter().sum::<usize>(), 1, "{arguments:?}: {error}");
        }
        let output = run(&place.data(), &["--json", "check"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((output.status.code(), &report["ok"], &report["homes"]), (Some(1), &false.into(), &Value::Null));
        assert!(report["faults"][0].as_str().unwrap().contains("is damaged"), "{report}");
    }
}

#[test]
fn read_only_directory_is_reported() {
    const NOBODY: u32 = 65534;
    let place = Place::new();
    // root ignores file modes, so the test then runs the program as another user.
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if is_root {
        for path in [place.dir.path().to_owned(), place.data(), place.data().join("hearth.db")] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    let mode = |mode| std::fs::set_permissions(place.data(), Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    for arguments in [&["check"][..], &["backup", &place.path("w.db")], &["key", "list"], &["team", "list"]] {
        let mut command = command(&place.data(), arguments);
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().unwrap();
        let error = text(&output.stderr);
        let is_reported = error.contains("cannot be written to") && error.contains("Permission denied");
        assert!(output.status.code() == Some(1) && is_reported, "{arguments:?}: {error}");
    }
    mode(0o700);
}

#[test]
fn interrupted_first_start_starts_again() {
    let dir = tempfile::tempdir().unwrap();
    for end in ["", "-journal"] {
        std::fs::write(dir.path().join(format!("hearth.db.making{end}")), "partial").unwrap();
    }
    assert!(refused(dir.path(), &["check"]).contains("there is no database"));
    stdout(dir.path(), &["team", "create", "Hill house"]);
    let names = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<std::collections::BTreeSet<_>>(), ["hearth.db", "users"].map(Into::into).into());
    assert!(stdout(dir.path(), &["check"]).starts_with("sound: 2 homes"));
}

#[tokio::test]
async fn backup_without_homes_replaces_no_homes() {
    let place = Place::new();
    let empty = place.dir.path().join("empty");
    Db::open(&empty, Notifier::default(), 1).unwrap().close().await;
    let file = place.path("empty/hearth.db");
    let error = refused(&place.data(), &["restore", &file]);
    assert!(error.contains("holds no homes") && error.contains("has 2"), "{error}");
    assert!(stdout(&place.data(), &["check"]).starts_with("sound: 2 homes"));
    assert!(!place.data().join("hearth.db.before-restore").exists());
}

#[test]
fn restore_keeps_replaced_files_until_next() {
    let place = Place::new();
    let saved = place.backup("saved.db");
    let kept = place.data().join("hearth.db.before-restore");
    for name in ["Lake", "Shore"] {
        stdout(&place.data(), &["team", "create", name]);
        let error = stderr(&place.data(), &["restore", &saved]);
        assert!(error.contains("hearth.db.before-restore"), "{error}");
        assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
        let again = place.dir.path().join(name);
        stderr(&again, &["restore", kept.to_str().unwrap()]);
        let teams: Value = serde_json::from_str(&stdout(&again, &["team", "list", "--json"])).unwrap();
        let names: Vec<&Value> = teams.as_array().unwrap().iter().map(|team| &team["name"]).collect();
        assert_eq!(names, ["Hill house", name], "the next restore replaces it");
        assert!(!stdout(&place.data(), &["team", "list"]).contains(name));
    }
    let result: Value = serde_json::from_str(&stdout(&place.data(), &["restore", &saved, "--json"])).unwrap();
    assert_eq!((&result["homes"], &result["kept"]), (&2.into(), &kept.to_str().unwrap().into()));
}

#[test]
fn damaged_database_is_not_saved_as_backup() {
    let place = Place::new();
    let sound = place.backup("sound.db");
    let database = place.data().join("hearth.db");
    let mut bytes = std::fs::read(&database).unwrap();
    let from = bytes.len() * 3 / 4;
    bytes[from..].fill(0x5a);
    std::fs::write(&database, bytes).unwrap();
    let file = place.path("damaged.db");
    let error = refused(&place.data(), &["backup", &file]);
    assert!(
        error.contains("damaged") && error.contains("see `hearth-server --data ") && error.contains(" check`"),
        "{error}"
    );
    let older = std::fs::read(&sound).unwrap();
    assert!(refused(&place.data(), &["backup", &sound]).contains("exists"));
    assert_eq!(std::fs::read(&sound).unwrap(), older, "an older backup is never overwritten");
    let left: Vec<String> = std::fs::read_dir(place.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("damaged") || name.contains("saving"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn revoked_key_stays_revoked_after_restore() {
    let place = Place::new();
    let data = place.data();
    for name in ["lost phone", "laptop", "old tablet"] {
        stdout(&data, &["key", "create", "--team", "Hill house", "--env", "test", "--name", name, "--quiet"]);
    }
    stdout(&data, &["key", "revoke", "old tablet"]);
    let saved = place.backup("saved.db");
    stdout(&data, &["key", "revoke", "lost phone"]);
    let keys = || -> Value { serde_json::from_str(&stdout(&data, &["key", "list", "--json"])).unwrap() };
    let before = keys();
    let note = stderr(&data, &["restore", &saved]);
    assert!(note.contains("1 key stays revoked"), "{note}");
    assert_eq!(keys(), before);
    let result: Value = serde_json::from_str(&stdout(&data, &["restore", &saved, "--json"])).unwrap();
    assert_eq!(result["keys_kept_revoked"], 1);
    // A new machine has no keys that were revoked after the backup.
    let new = place.dir.path().join("new");
    assert!(!stderr(&new, &["restore", &saved]).contains("revoked"));
}

#[test]
fn restore_is_refused_while_database_is_open() {
    let place = Place::new();
    let saved = place.backup("saved.db");
    let other = Db::open(&place.data(), Notifier::default(), 1).unwrap();
    assert!(refused(&place.data(), &["restore", &saved]).contains("another command works on"));
    assert!(
        stdout(&place.data(), &["check"]).starts_with("sound"),
        "commands other than restore run beside an open database"
    );
    drop(other);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !run(&place.data(), &["restore", &saved]).status.success() {
        assert!(std::time::Instant::now() < deadline, "the threads of the database have not ended");
    }
}

#[test]
fn restore_creates_no_stray_files() {
    let place = Place::new();
    let unsound = place.path("notes.txt");
    std::fs::write(&unsound, "no database").unwrap();
    let missing = place.dir.path().join("misspelt");
    assert!(refused(&missing, &["restore", &unsound]).contains("notes.txt"));
    assert!(!missing.exists());
    // A database file copied from a data directory after a clean close, so its WAL is empty.
    let copies = place.dir.path().join("100% copies?");
    std::fs::create_dir(&copies).unwrap();
    let copy = copies.join("raw#1.db");
    std::fs::copy(place.data().join("hearth.db"), &copy).unwrap();
    stdout(&place.data(), &["restore", copy.to_str().unwrap()]);
    let names: Vec<_> = std::fs::read_dir(&copies).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["raw#1.db"]);
}

#[test]
fn interrupted_backup_leaves_no_file() {
    let place = Place::new();
    let bulky = Connection::open(place.data().join("hearth.db")).unwrap();
    // Large enough that the copy is still in progress when the signal arrives.
    for number in 0..64 {
        let receipt = "INSERT INTO receipts (home, key, fingerprint, at, status, headers, body)
                       VALUES (1, ?1, zeroblob(2000000), 0, 200, '{}', '')";
        bulky.execute(receipt, [number.to_string()]).unwrap();
    }
    drop(bulky);
    let copies = place.dir.path().join("copies");
    std::fs::create_dir(&copies).unwrap();
    let names = || std::fs::read_dir(&copies).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    let target = copies.join("saved.db");
    let mut backup = command(&place.data(), &["backup", target.to_str().unwrap()]);
    let mut backup = backup.stderr(std::process::Stdio::piped()).spawn().unwrap();
    while names().is_empty() && backup.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    std::process::Command::new("kill").args(["-INT", &backup.id().to_string()]).status().unwrap();
    let output = backup.wait_with_output().unwrap();
    // Whichever comes first, the copy or the signal: the directory has a whole copy or no file.
    match output.status.code() {
        Some(0) => assert_eq!(names(), ["saved.db"]),
        code => {
            assert_eq!((code, names()), (Some(1), Vec::new()), "{}", text(&output.stderr));
            assert!(text(&output.stderr).contains("its partial file was deleted"), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn restore_includes_wal() {
    let place = Place::new();
    let db = Db::open(&place.data(), Notifier::default(), 1).unwrap();
    stdout(&place.data(), &["team", "create", "Lake"]);
    let taken = place.dir.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    // The files after a crash: only the WAL has the second team.
    for name in ["hearth.db", "hearth.db-wal"] {
        std::fs::copy(place.data().join(name), taken.join(name)).unwrap();
    }
    drop(db);
    let file = taken.join("hearth.db");
    let new = place.dir.path().join("new");
    assert!(stderr(&new, &["restore", file.to_str().unwrap()]).contains("4 homes"));
}

#[test]
fn restore_accepts_only_regular_files() {
    let place = Place::new();
    let (saved, new) = (place.backup("saved.db"), place.dir.path().join("new"));
    let (link, pipe) = (place.path("latest.db"), place.path("pipe.db"));
    std::os::unix::fs::symlink(&saved, &link).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let directory = place.dir.path().to_str().unwrap().to_owned();
    for (file, reason) in [(link, "is a symbolic link"), (pipe, "is no regular file"), (directory, "is a directory")] {
        let error = refused(&new, &["restore", &file]);
        assert!(error.contains(reason), "{error}");
    }
    assert!(!new.exists());
}

#[test]
fn backup_with_foreign_objects_is_not_restored() {
    let place = Place::new();
    for statement in [
        "CREATE TRIGGER watch AFTER UPDATE ON homes BEGIN DELETE FROM keys; END",
        "CREATE VIEW notes AS SELECT 1",
        "CREATE TABLE notes (text TEXT)",
        "DROP INDEX receipts_by_age",
        "ALTER TABLE teams ADD COLUMN colour TEXT",
    ] {
        let saved = place.backup("saved.db");
        Connection::open(&saved).unwrap().execute_batch(statement).unwrap();
        let error = refused(&place.data(), &["restore", &saved]);
        assert!(error.contains("its tables are not those of Hearth"), "{statement}: {error}");
        assert!(stdout(&place.data(), &["check"]).starts_with("sound: 2 homes"));
        std::fs::remove_file(saved).unwrap();
    }
}

#[test]
fn foreign_objects_of_the_database_are_findings() {
    let place = Place::new();
    let conn = Connection::open(place.data().join("hearth.db")).unwrap();
    conn.execute_batch("CREATE TRIGGER watch AFTER UPDATE ON homes BEGIN DELETE FROM keys; END").unwrap();
    let found = run(&place.data(), &["--json", "check"]);
    let report: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!((found.status.code(), &report["homes"]), (Some(1), &2.into()), "{report}");
    assert!(report["faults"][0].as_str().unwrap().contains(r#"DROP TRIGGER "watch""#), "{report}");
    let (code, log) = common::Serving::start(&place.data(), &[]).stop();
    assert!(code == Some(0) && log.contains("watch"), "{log}");
    assert!(refused(&place.data(), &["backup", &place.path("saved.db")]).contains("watch"));
}

#[test]
fn file_names_of_a_backup_are_never_used() {
    let place = Place::new();
    let (saved, precious) = (place.backup("saved.db"), place.path("precious.txt"));
    std::fs::write(&precious, "mine").unwrap();
    let row = "INSERT INTO exports (id, home, format, kinds, version, status, created_at, expires_at, file, size_bytes, sha256)
               VALUES ('01900000-0000-7000-8000-000000000001', 1, 'json', 'room', '2026-06-01', 'succeeded', 0, 1,
                       '../../precious.txt', 4, '')";
    Connection::open(&saved).unwrap().execute(row, []).unwrap();
    stdout(&place.data(), &["restore", &saved]);
    let conn = Connection::open(place.data().join("hearth.db")).unwrap();
    let count = || conn.query_row("SELECT count(*) FROM exports", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 0, "jobs of a backup have no files");
    // A row that was written by hand.
    conn.execute(row, []).unwrap();
    let (code, log) = common::Serving::start(&place.data(), &[]).stop();
    assert_eq!((code, count()), (Some(0), 1), "{log}");
    assert_eq!(std::fs::read(&precious).unwrap(), b"mine");
}

#[test]
fn serve_leaves_foreign_files_alone() {
    let place = Place::new();
    let (exports, elsewhere) = (place.data().join("exports"), place.dir.path().join("elsewhere"));
    std::fs::create_dir_all(exports.join("0123456789abcdef0123456789abcdef")).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    let orphan = "fedcba9876543210fedcba9876543210";
    for (dir, name) in [(&exports, "thesis.txt"), (&exports, orphan), (&elsewhere, orphan)] {
        std::fs::write(dir.join(name), "text").unwrap();
    }
    let names = |dir: &Path| {
        let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        entries.collect::<std::collections::BTreeSet<_>>()
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    let server = common::Serving::start(&place.data(), &[]);
    while exports.join(orphan).exists() {
        assert!(std::time::Instant::now() < deadline, "an export file without a job is removed");
    }
    assert_eq!(server.stop().0, Some(0));
    assert_eq!(names(&exports), ["0123456789abcdef0123456789abcdef", "thesis.txt"].map(String::from).into());
    std::fs::rename(&exports, place.dir.path().join("aside")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &exports).unwrap();
    let (_, log) = common::Serving::start(&place.data(), &[]).stop();
    assert!(log.contains("no directory but a link"), "{log}");
    assert_eq!(names(&elsewhere), [orphan.to_owned()].into());
    // A directory of other files is no data directory.
    let error = refused(&place.dir.path().join("aside"), &["serve", "--listen", "127.0.0.1:0"]);
    assert!(error.contains("has no hearth.db") && error.contains("name the right directory"), "{error}");
}

#[test]
fn concurrent_backups_to_one_name_do_not_mix() {
    let place = Place::new();
    let file = place.path("saved.db");
    let start = || {
        let mut backup = command(&place.data(), &["backup", &file]);
        backup.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let both = [start(), start()].map(|backup| backup.wait_with_output().unwrap());
    assert!(both.iter().any(|output| output.status.success()));
    for output in both.iter().filter(|output| !output.status.success()) {
        assert!(text(&output.stderr).contains("exists"), "{}", text(&output.stderr));
    }
    let new = place.dir.path().join("new");
    assert!(stderr(&new, &["restore", &file]).contains("2 homes"));
    let names: Vec<_> = std::fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("saving")), "{names:?}");
}

//! Backups, restores and mistyped directories, as an operator meets them: nothing is lost, nothing is made by mistake.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use hearth_server::store::Db;
use hearth_server::store::notifier::Notifier;
use rusqlite::Connection;
use serde_json::Value;

mod common;
use common::{command, refused, run, said, text};

/// Stderr of a command that must succeed.
fn noted(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stderr)
}

/// A place with a data directory that has a team.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { dir: tempfile::tempdir().unwrap() };
        said(&place.data(), &["team", "create", "Hill house"]);
        place
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    /// Saves everything under a name.
    fn backup(&self, name: &str) -> String {
        let file = self.path(name);
        said(&self.data(), &["backup", &file]);
        file
    }
}

#[test]
fn a_mistyped_directory_is_refused_and_not_made() {
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
        let said = refused(&missing, arguments);
        let reason =
            if arguments[0] == "restore" { "nothing.db" } else { "there is no database; say where it is with --data" };
        assert!(said.contains(reason), "{arguments:?}: {said}");
        assert!(!missing.exists(), "{arguments:?}");
    }
    assert!(!Path::new(&file).exists());
    // A team is made where nothing was, and a backup is put back on a new machine.
    let (saved, new) = (place.backup("saved.db"), place.dir.path().join("new"));
    assert!(noted(&new, &["restore", &saved]).contains("2 homes"));
    assert!(said(&new, &["check"]).starts_with("sound: 2 homes"));
    said(&missing, &["team", "create", "Lake"]);
}

#[test]
fn a_database_that_something_emptied_is_not_taken_for_a_new_one() {
    let place = Place::new();
    let (saved, file) = (place.backup("saved.db"), place.path("w.db"));
    let (database, log) = (place.data().join("hearth.db"), place.data().join("hearth.db-wal"));
    // No bytes, and the tables of nobody.
    let foreign = place.dir.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE notes (text TEXT)").unwrap();
    for left in [Vec::new(), std::fs::read(foreign).unwrap()] {
        std::fs::write(&database, &left).unwrap();
        std::fs::write(&log, "the rest of it").unwrap();
        for arguments in [
            &["serve", "--listen", "127.0.0.1:0"][..],
            &["check"],
            &["backup", &file],
            &["key", "list"],
            &["team", "list"],
            &["team", "create", "Lake"],
        ] {
            let said = refused(&place.data(), arguments);
            assert!(said.contains("hearth.db is empty") && said.contains("restore FILE"), "{arguments:?}: {said}");
            assert_eq!(std::fs::read(&database).unwrap(), left, "{arguments:?}");
        }
        if left.is_empty() {
            assert_eq!(std::fs::read(&log).unwrap(), b"the rest of it");
        }
        noted(&place.data(), &["restore", &saved]);
        assert!(self::said(&place.data(), &["check"]).starts_with("sound: 2 homes"));
    }
}

#[test]
fn a_damaged_database_is_told_once_with_the_way_out() {
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
            let said = refused(&place.data(), arguments);
            for words in ["is damaged", "restore FILE"] {
                assert_eq!(said.matches(words).count(), 1, "{arguments:?}: {said}");
            }
            let why = ["malformed", "not a database"].map(|why| said.matches(why).count());
            assert_eq!(why.iter().sum::<usize>(), 1, "{arguments:?}: {said}");
        }
        let told = run(&place.data(), &["--json", "check"]);
        let report: Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!((told.status.code(), &report["ok"], &report["homes"]), (Some(1), &false.into(), &0.into()));
        assert!(report["faults"][0].as_str().unwrap().contains("is damaged"), "{report}");
    }
}

#[test]
fn a_directory_that_may_only_be_read_is_called_so() {
    const NOBODY: u32 = 65534;
    let place = Place::new();
    // Who may do everything is refused nothing.
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
        let said = text(&output.stderr);
        let is_told = said.contains("cannot be written to") && said.contains("Permission denied");
        assert!(output.status.code() == Some(1) && is_told, "{arguments:?}: {said}");
    }
    mode(0o700);
}

#[test]
fn a_first_start_that_was_cut_off_begins_again() {
    let dir = tempfile::tempdir().unwrap();
    for end in ["", "-journal"] {
        std::fs::write(dir.path().join(format!("hearth.db.making{end}")), "as far as it came").unwrap();
    }
    assert!(refused(dir.path(), &["check"]).contains("there is no database"));
    said(dir.path(), &["team", "create", "Hill house"]);
    let names = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<std::collections::BTreeSet<_>>(), ["hearth.db", "users"].map(Into::into).into());
    assert!(said(dir.path(), &["check"]).starts_with("sound: 2 homes"));
}

#[tokio::test]
async fn a_backup_without_homes_is_not_put_over_homes() {
    let place = Place::new();
    let empty = place.dir.path().join("empty");
    Db::open(&empty, Notifier::default(), 1).unwrap().close().await;
    let file = place.path("empty/hearth.db");
    let said = refused(&place.data(), &["restore", &file]);
    assert!(said.contains("holds no homes") && said.contains("has 2"), "{said}");
    assert!(self::said(&place.data(), &["check"]).starts_with("sound: 2 homes"));
    assert!(!place.data().join("hearth.db.before-restore").exists());
}

#[test]
fn what_a_restore_replaces_is_kept_beside_it_until_the_next() {
    let place = Place::new();
    let saved = place.backup("saved.db");
    let kept = place.data().join("hearth.db.before-restore");
    for name in ["Lake", "Shore"] {
        said(&place.data(), &["team", "create", name]);
        let said = noted(&place.data(), &["restore", &saved]);
        assert!(said.contains("hearth.db.before-restore"), "{said}");
        assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
        let again = place.dir.path().join(name);
        noted(&again, &["restore", kept.to_str().unwrap()]);
        let teams = self::said(&again, &["team", "list"]);
        assert!(teams.contains("Hill house") && teams.contains(name), "{teams}");
        assert_eq!(teams.lines().count(), 2, "the next restore replaces it: {teams}");
        assert!(!self::said(&place.data(), &["team", "list"]).contains(name));
    }
    let told: Value = serde_json::from_str(&said(&place.data(), &["restore", &saved, "--json"])).unwrap();
    assert_eq!((&told["homes"], &told["kept"]), (&2.into(), &kept.to_str().unwrap().into()));
}

#[test]
fn a_damaged_database_is_not_saved_as_a_backup() {
    let place = Place::new();
    let sound = place.backup("sound.db");
    let database = place.data().join("hearth.db");
    let mut bytes = std::fs::read(&database).unwrap();
    let from = bytes.len() * 3 / 4;
    bytes[from..].fill(0x5a);
    std::fs::write(&database, bytes).unwrap();
    let file = place.path("damaged.db");
    let said = refused(&place.data(), &["backup", &file]);
    assert!(
        said.contains("damaged") && said.contains("see `hearth-server --data ") && said.contains(" check`"),
        "{said}"
    );
    let older = std::fs::read(&sound).unwrap();
    assert!(refused(&place.data(), &["backup", &sound]).contains("exists"));
    assert_eq!(std::fs::read(&sound).unwrap(), older, "an older backup stays");
    let left: Vec<String> = std::fs::read_dir(place.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("damaged") || name.contains("saving"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_key_that_was_revoked_stays_so_when_an_older_copy_is_put_back() {
    let place = Place::new();
    let data = place.data();
    for name in ["lost phone", "laptop", "old tablet"] {
        said(&data, &["key", "create", "--team", "Hill house", "--env", "test", "--name", name, "--quiet"]);
    }
    said(&data, &["key", "revoke", "old tablet"]);
    let saved = place.backup("saved.db");
    said(&data, &["key", "revoke", "lost phone"]);
    let keys = || -> Value { serde_json::from_str(&said(&data, &["key", "list", "--json"])).unwrap() };
    let before = keys();
    let told = noted(&data, &["restore", &saved]);
    assert!(told.contains("1 key stays revoked"), "{told}");
    assert_eq!(keys(), before);
    let told: Value = serde_json::from_str(&said(&data, &["restore", &saved, "--json"])).unwrap();
    assert_eq!(told["keys_kept_revoked"], 1);
    // On a new machine nothing is known of what came after the backup.
    let new = place.dir.path().join("new");
    assert!(!noted(&new, &["restore", &saved]).contains("revoked"));
}

#[test]
fn restore_is_refused_while_any_command_has_the_database_open() {
    let place = Place::new();
    let saved = place.backup("saved.db");
    let other = Db::open(&place.data(), Notifier::default(), 1).unwrap();
    assert!(refused(&place.data(), &["restore", &saved]).contains("another command works on"));
    assert!(said(&place.data(), &["check"]).starts_with("sound"), "who only opens it waits for nobody");
    drop(other);
    let ended = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !run(&place.data(), &["restore", &saved]).status.success() {
        assert!(std::time::Instant::now() < ended, "its threads have not ended");
    }
}

#[test]
fn a_refused_restore_makes_no_directory_and_none_makes_files_beside_the_copy() {
    let place = Place::new();
    let unsound = place.path("notes.txt");
    std::fs::write(&unsound, "no database").unwrap();
    let missing = place.dir.path().join("misspelt");
    assert!(refused(&missing, &["restore", &unsound]).contains("notes.txt"));
    assert!(!missing.exists());
    // A database as it lies in a data directory, whose log was folded in when it was closed.
    let copies = place.dir.path().join("100% copies?");
    std::fs::create_dir(&copies).unwrap();
    let copy = copies.join("raw#1.db");
    std::fs::copy(place.data().join("hearth.db"), &copy).unwrap();
    said(&place.data(), &["restore", copy.to_str().unwrap()]);
    let names: Vec<_> = std::fs::read_dir(&copies).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["raw#1.db"]);
}

#[test]
fn an_interrupted_backup_leaves_nothing_behind() {
    let place = Place::new();
    let bulky = Connection::open(place.data().join("hearth.db")).unwrap();
    // Large enough that it is still being copied when it is noticed.
    bulky.execute_batch("CREATE TABLE bulky (bytes BLOB) STRICT").unwrap();
    for _ in 0..64 {
        bulky.execute("INSERT INTO bulky VALUES (zeroblob(2000000))", []).unwrap();
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
    // Whoever is quicker, there is a whole copy or none.
    match output.status.code() {
        Some(0) => assert_eq!(names(), ["saved.db"]),
        code => {
            assert_eq!((code, names()), (Some(1), Vec::new()), "{}", text(&output.stderr));
            assert!(text(&output.stderr).contains("nothing is left of it"), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn a_database_is_put_back_with_its_log_by_whatever_name() {
    let place = Place::new();
    let db = Db::open(&place.data(), Notifier::default(), 1).unwrap();
    said(&place.data(), &["team", "create", "Lake"]);
    let taken = place.dir.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    // As a crash leaves it: the second team is in the log alone.
    for name in ["hearth.db", "hearth.db-wal"] {
        std::fs::copy(place.data().join(name), taken.join(name)).unwrap();
    }
    drop(db);
    let link = place.dir.path().join("latest.db");
    std::os::unix::fs::symlink(taken.join("hearth.db"), &link).unwrap();
    for (into, file) in [("a", link), ("b", taken.join("hearth.db"))] {
        let new = place.dir.path().join(into);
        assert!(noted(&new, &["restore", file.to_str().unwrap()]).contains("4 homes"), "{}", file.display());
    }
}

#[test]
fn of_two_backups_under_one_name_at_once_none_disturbs_the_other() {
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
    assert!(noted(&new, &["restore", &file]).contains("2 homes"));
    let names: Vec<_> = std::fs::read_dir(place.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("saving")), "{names:?}");
}

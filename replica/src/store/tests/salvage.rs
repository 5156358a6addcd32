//! Damaged databases: what exists only here is carried over or named, and the damaged file is kept unchanged.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::store::salvage;
use crate::store::salvage::{CARRIED_TABLES, RebuildReport};
use crate::store::{connection, files, health, integrity, reconcile};

mod carried;
mod sound;

/// A replica with a room from the server, an edit of the room, and a task that exists only here.
struct Wreck {
    scene: Scene,
    db: PathBuf,
}

impl std::ops::Deref for Wreck {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.scene
    }
}

impl std::ops::DerefMut for Wreck {
    fn deref_mut(&mut self) -> &mut Scene {
        &mut self.scene
    }
}

impl Wreck {
    fn of(scene: Scene) -> Wreck {
        Wreck { db: scene.db_path(), scene }
    }

    fn new() -> Wreck {
        let mut scene = Scene::new();
        scene.hear(event(5, "created", "room", ROOM, json!({ "name": "Kitchen", "floor": "1" })));
        scene.does("UPDATE rooms SET floor = '2'");
        scene.does("INSERT INTO tasks (id, title) VALUES ('0190a3b0-0000-7000-8000-000000000002', 'Sweep')");
        Wreck::of(scene)
    }

    /// Checkpoints the log, so that the database file holds everything. After the first damage this may fail.
    fn checkpoint(&self) {
        let _ = self.scene.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    fn overwrite(&self, from: u64, bytes: &[u8]) {
        self.checkpoint();
        let mut file = fs::OpenOptions::new().write(true).open(&self.db).unwrap();
        file.seek(SeekFrom::Start(from)).unwrap();
        file.write_all(bytes).unwrap();
    }

    /// Overwrites the first occurrence of a text in the file.
    fn garble(&self, text: &str, bytes: &[u8]) {
        self.checkpoint();
        let file = fs::read(&self.db).unwrap();
        // Some occurrences may be left-overs from a smaller list of tables.
        let found: Vec<usize> = (0..file.len()).filter(|from| file[*from..].starts_with(text.as_bytes())).collect();
        assert!(!found.is_empty(), "{text}");
        found.into_iter().for_each(|from| self.overwrite(from as u64, bytes));
    }

    /// Overwrites the page with the last occurrence of a text. Earlier occurrences may be left-overs from a smaller list of tables.
    fn break_page_with(&self, text: &str) {
        self.checkpoint();
        let file = fs::read(&self.db).unwrap();
        let from = file.windows(text.len()).rposition(|window| window == text.as_bytes()).unwrap() as u64;
        self.overwrite(from / 4096 * 4096, &[0xa5; 4096]);
    }

    /// Overwrites the root page of a table or index.
    fn break_page_of(&self, name: &str) {
        let page = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        let page: u32 = self.scene.db.query_row(page, [name], |row| row.get(0)).unwrap();
        self.overwrite(u64::from(page - 1) * 4096, &[0xa5; 4096]);
    }

    /// Empties the file and deletes the log.
    fn empty(&self) {
        for part in ["-wal", "-shm"] {
            let _ = fs::remove_file(files::beside(&self.db, part));
        }
        fs::write(&self.db, "").unwrap();
    }

    /// The path of the kept copy, with a suffix.
    fn aside(&self, more: &str) -> PathBuf {
        let stamp: String = at(0).to_string().chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
        files::beside(&self.db, &format!(".damaged-{stamp}Z{more}"))
    }

    fn rebuilt(&self) -> RebuildReport {
        salvage::rebuild(&self.db, at(0)).unwrap()
    }

    /// Asserts that the first edit cannot be read to be sent.
    fn refuses_to_send(&self, what: &str) {
        let wanted = push::NewRequest { groups: vec![vec![1]], new_key: "key".to_owned() };
        let mut garbled = open::read_write(&self.db).unwrap();
        let refused = push::freeze(&mut garbled, &[wanted], Ask, at(0)).unwrap_err();
        assert!(refused.is_damaged(), "{what}: {refused}");
    }

    /// Rebuilds the database after the root page of a table or index was overwritten.
    fn rebuilt_without(&self, name: &str) -> RebuildReport {
        self.break_page_of(name);
        self.rebuilt()
    }

    /// Another file of this directory that holds the same log and no database. `is_empty`: the file exists.
    fn log_alone(self, is_empty: bool) -> Wreck {
        let elsewhere = self.scene.directory.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let db = elsewhere.join("replica.db");
        if is_empty {
            fs::write(&db, "").unwrap();
        }
        fs::copy(files::beside(&self.db, "-wal"), files::beside(&db, "-wal")).unwrap();
        Wreck { db, ..self }
    }

    /// Asserts that a new connection sees the edits and their rows.
    fn assert_carried_over(&self) {
        let db = open::read_write(&self.db).unwrap();
        let task = r#"{"title":"Sweep","priority":"medium","status":"open","recurrence_every":1}"#;
        assert_eq!(
            rows_of(&db, "SELECT id, method, patch, state FROM edits"),
            json!([[1, "update", r#"{"floor":"2"}"#, "waiting"], [2, "create", task, "waiting"]])
        );
        let room = row_of(&db, "SELECT name, floor FROM rooms");
        assert_eq!(room, json!(["Kitchen", "2"]), "the server's form is carried over too");
        assert_eq!(row_of(&db, "SELECT title FROM tasks"), json!(["Sweep"]));
        assert_eq!(row_of(&db, "SELECT home_id, position, backfilled FROM _sync"), json!([HOME, 0, 0]));
        db.execute("INSERT INTO rooms (name) VALUES ('Hall')", []).unwrap();
        assert_eq!(row_of(&db, "SELECT max(id) FROM edits"), json!([3]));
    }
}

/// Damage of what belongs to the replica. `refusal`: what the next program says, or nothing when it may notice nothing.
#[test]
fn damage_of_own_parts_loses_nothing() {
    type Damage = Box<dyn Fn(&mut Wreck)>;
    let garbled = |text: &'static str| -> Damage { Box::new(move |wreck| wreck.garble(text, b"CREATE (")) };
    // A text that creates no table, another table, or is not UTF-8.
    let unlisted = |bytes: &'static [u8]| -> Damage {
        Box::new(move |wreck| {
            wreck.garble("CREATE TABLE edits", bytes);
            wreck.break_page_of("rooms");
        })
    };
    let dropped = |table: &str| -> Damage {
        let text = format!("DROP TABLE {table}");
        Box::new(move |wreck| {
            wreck.does(&text);
        })
    };
    let others = ["rooms", "tasks", "sync_log", "search_data", "_edits_record"];
    let damages: [(Damage, Option<&str>); 13] = [
        (Box::new(|wreck| wreck.overwrite(0, &[0xff; 100])), Some("")),
        (Box::new(move |wreck| others.into_iter().for_each(|name| wreck.break_page_of(name))), None),
        (garbled("CREATE TRIGGER _rooms"), Some("")),
        (garbled("CREATE VIEW "), Some("")),
        (garbled("CREATE INDEX _tasks"), Some("")),
        (garbled("CREATE TABLE vehicles"), Some("")),
        (unlisted(b"CREATE ("), None),
        (unlisted(b"CREATE TABLE edicts"), None),
        (unlisted(b"CREATE TABLE edits (\n    -- \xff"), None),
        (dropped("_listed"), Some("_listed")),
        (dropped("search"), Some("search")),
        (dropped("_gate"), Some("_gate")),
        (dropped("_migrations"), Some("_migrations")),
    ];
    for (number, (damage, refusal)) in damages.iter().enumerate() {
        let mut wreck = Wreck::new();
        damage(&mut wreck);
        let before = fs::read(&wreck.db).unwrap();
        if let Some(names) = refusal {
            let refused = open::read_write(&wreck.db).unwrap_err();
            assert!(refused.is_damaged() && refused.to_string().contains(names), "{number}: {refused}");
        }
        let report = wreck.rebuilt();
        assert_eq!((report.edits, report.lost.as_slice(), report.parked), (2, [].as_slice(), 0), "damage {number}");
        let kept = fs::read(report.kept_as.unwrap()).unwrap();
        assert!(number > 0 || kept == before, "what is kept is what was found");
        wreck.assert_carried_over();
    }
}

#[test]
fn overwritten_first_page_keeps_edits() {
    for bytes in [[0xff; 4096], [0; 4096]] {
        let wreck = Wreck::new();
        wreck.overwrite(0, &bytes);
        let report = wreck.rebuilt();
        assert_eq!((report.edits, report.parked), (2, 0), "{:?}", report.lost);
        assert!(report.lost.len() == 1 && report.lost[0].contains("of your own may be missing"), "{:?}", report.lost);
        wreck.assert_carried_over();
    }
    // Later writes are only in the log.
    let mut wreck = Wreck::new();
    wreck.does("INSERT INTO rooms (name) VALUES ('Attic')");
    wreck.overwrite(0, &[0xff; 4096]);
    let report = wreck.rebuilt();
    assert_eq!((report.edits, report.parked), (3, 0), "{:?}", report.lost);
}

#[test]
fn open_connections_see_new_database() {
    let mut wreck = Wreck::new();
    wreck.overwrite(0, &[0xff; 100]);
    wreck.rebuilt();
    let scene = &mut wreck.scene;
    scene.does("INSERT INTO rooms (name) VALUES ('Cellar')");
    let seen = row_of(&open::read_write(&wreck.db).unwrap(), "SELECT count(*) FROM rooms");
    assert_eq!(seen, json!([2]), "an edit on the old connection is not written into the void");
}

#[test]
fn commits_during_rebuild_are_kept() {
    // A file that can be locked, and a file whose header must be mended first.
    for header in [false, true] {
        let wreck = Wreck::new();
        if header {
            wreck.overwrite(0, &[0xff; 100]);
        } else {
            wreck.break_page_of("sync_log");
        }
        let other = &wreck.scene.db;
        // Opened before the damage, like the connection of a script.
        other.busy_timeout(connection::BUSY_TIMEOUT).unwrap();
        let ended = AtomicBool::new(false);
        let mut rooms = 0;
        let report = std::thread::scope(|scope| {
            let rebuilding = scope.spawn(|| {
                let report = salvage::rebuild(&wreck.db, at(0));
                ended.store(true, Ordering::Release);
                report
            });
            while !ended.load(Ordering::Acquire) {
                let made = other.execute("INSERT INTO rooms (name) VALUES ('Room ' || ?1)", [rooms + 1]);
                rooms += i64::from(made.is_ok());
            }
            rebuilding.join().unwrap().unwrap()
        });
        assert!(report.kept_as.is_some() && report.lost.is_empty(), "{report:?}");
        let db = open::read_write(&wreck.db).unwrap();
        let carried = "SELECT count(DISTINCT json_extract(patch, '$.name')) FROM edits WHERE patch LIKE '%\"Room %'";
        let carried: i64 = db.query_row(carried, [], |row| row.get(0)).unwrap();
        assert!(rooms > 0);
        assert_eq!(carried, rooms, "header broken: {header}");
    }
}

#[test]
fn damaged_list_of_free_pages_is_found() {
    let wreck = Wreck::new();
    wreck
        .scene
        .db
        .execute_batch("CREATE TABLE junk (t TEXT); INSERT INTO junk VALUES (hex(zeroblob(100000))); DROP TABLE junk")
        .unwrap();
    wreck.checkpoint();
    // The header names the first page of the list (file format, 1.3.7).
    let file = fs::read(&wreck.db).unwrap();
    let first = u32::from_be_bytes(file[32..36].try_into().unwrap());
    assert!(first > 0);
    wreck.overwrite(u64::from(first - 1) * 4096, &[0xa5; 4096]);
    assert!(integrity::look(&wreck.db, false, None).unwrap_err().is_damaged());
    let report = wreck.rebuilt();
    assert_eq!((report.edits, report.lost.as_slice()), (2, [].as_slice()));
    wreck.assert_carried_over();
}

#[test]
fn damaged_table_list_keeps_later_edits() {
    // Later writes are only in the log.
    let mut wreck = Wreck::new();
    wreck.garble("CREATE TABLE edits", b"CREATE (");
    wreck.does("INSERT INTO rooms (name) VALUES ('Attic')");
    let report = wreck.rebuilt();
    assert_eq!((report.edits, report.lost.as_slice(), report.parked), (3, [].as_slice(), 0));
    // A page of the list before the entry of `edits`.
    let wreck = Wreck::new();
    wreck.break_page_with("CREATE TABLE _gate");
    let report = wreck.rebuilt();
    assert_eq!((report.edits, report.lost.len()), (2, 1), "{:?}", report.lost);
    assert!(report.lost[0].contains("of your own may be missing"), "{:?}", report.lost);
}

#[test]
fn truncated_file_keeps_edits() {
    let wreck = Wreck::new();
    wreck.checkpoint();
    let file = fs::OpenOptions::new().write(true).open(&wreck.db).unwrap();
    // Tables are at the beginning of the file, most of the schema text is behind them.
    file.set_len(file.metadata().unwrap().len() * 2 / 5).unwrap();
    assert!(open::read_write(&wreck.db).unwrap_err().is_damaged());
    let report = wreck.rebuilt();
    assert_eq!((report.edits, report.parked), (2, 0), "{:?}", report.lost);
    wreck.assert_carried_over();
}

#[test]
fn lost_edits_are_inferred_from_rows() {
    let mut wreck = Wreck::new();
    let van = "0190a3b0-0000-7000-8000-000000000009";
    wreck.hear(event(6, "created", "vehicle", van, json!({ "name": "Van", "model": "T3" })));
    wreck.does("DELETE FROM vehicles");
    let report = wreck.rebuilt_without("edits");
    assert_eq!(report.edits, 3);
    assert!(report.lost[0].contains("edits cannot be read"), "{:?}", report.lost);
    assert_eq!(report.lost[1], "3 changes were inferred from what the records show, and wait for you.");
    let edits = "SELECT id, method, patch, base ->> 'floor', base ->> 'model', state FROM edits ORDER BY kind";
    assert_eq!(
        wreck.rows(edits),
        json!([
            [6, "update", r#"{"floor":"2"}"#, "1", null, "rejected"],
            [
                5,
                "create",
                r#"{"title":"Sweep","priority":"medium","status":"open","recurrence_every":1}"#,
                null,
                null,
                "rejected"
            ],
            [4, "delete", "{}", null, "T3", "rejected"]
        ])
    );
    wreck.shows("SELECT (SELECT title FROM tasks), floor FROM rooms", json!(["Sweep", "2"]));
    assert_eq!(wreck.one("SELECT count(*) FROM sync_log WHERE level = 'warning'"), "3");
}

#[test]
fn readable_edit_is_not_inferred_again() {
    let mut wreck = Wreck::new();
    let long = "x".repeat(3000);
    for n in 0..6 {
        wreck.does(&format!("UPDATE rooms SET notes = '{n}{long}'"));
    }
    wreck.break_page_with(&format!(r#"{{"notes":"5{}"#, &long[..100]));
    let report = wreck.rebuilt();
    assert!(report.lost[0].contains("edits cannot be read"), "{:?}", report.lost);
    let of_room = "SELECT id, substr(patch, 1, 11), substr(base, 1, 11), state FROM edits WHERE kind = 'room' AND (id = 1 OR id > 7) ORDER BY id";
    assert_eq!(
        wreck.rows(of_room),
        json!([
            [1, r#"{"floor":"2"#, r#"{"floor":"1"#, "waiting"],
            [9, r#"{"notes":"5"#, r#"{"notes":"4"#, "rejected"]
        ]),
        "{:?}",
        report.lost
    );
}

#[test]
fn invalid_text_json_or_kind_is_damage() {
    let image = ("\"Kitchen\"", &b"\"Kitchen\\"[..], 0, "");
    let patch = (r#"{"floor":"2"}"#, &br#"{"floor";"2"}"#[..], 1, "");
    let utf8 = (r#"{"floor":"2"}"#, &b"{\"fl\xffor\""[..], 1, "fl\u{fffd}or");
    let kind = ("room0190a3b0-0000-7000-8000-000000000001update", &b"roof"[..], 1, "");
    for ((text, by, lost, says), page) in
        [(image, false), (patch, false), (utf8, false), (kind, false), (image, true), (patch, true)]
    {
        let wreck = Wreck::new();
        wreck.garble(text, by);
        let by = String::from_utf8_lossy(by);
        wreck.refuses_to_send(&by);
        if page {
            wreck.break_page_of("sync_log");
        } else {
            let broken = health::examine(&wreck.db).unwrap().broken;
            assert!(!broken.is_empty() && (lost == 0 || broken[0].contains("edits")), "{by}: {broken:?}");
        }
        let report = wreck.rebuilt();
        assert!(report.kept_as.is_some(), "{by}");
        assert_eq!((report.edits, report.lost.len()), (2 - lost, lost), "{by}: {:?}", report.lost);
        let names_it = |sentence: &String| sentence.starts_with("Edit 1 ") && sentence.contains(says);
        assert!(report.lost.iter().all(names_it), "{by}: {:?}", report.lost);
        assert!(health::examine(&wreck.db).unwrap().broken.is_empty(), "{by}");
    }
}

#[test]
fn only_invalid_edit_is_lost() {
    let mut wreck = Wreck::new();
    for name in ["Alpha", "Bravo", "Charlie"] {
        wreck.does(&format!("INSERT INTO rooms (name) VALUES ('{name}')"));
    }
    wreck.garble(r#""Bravo""#, b"\"Br\xffvo\"");
    let report = wreck.rebuilt_without("sync_log");
    assert_eq!((report.edits, report.lost.len()), (4, 1), "{:?}", report.lost);
    assert!(report.lost[0].starts_with("Edit 4 "), "{:?}", report.lost);
    assert_eq!(wreck.column("SELECT id FROM edits ORDER BY id"), json!([1, 2, 3, 5]));
}

#[test]
fn damaged_middle_page_loses_its_edits_only() {
    let mut wreck = Wreck::new();
    let scene = &mut wreck.scene;
    for n in 0..200 {
        scene.does(&format!("INSERT INTO rooms (name, notes) VALUES ('Room {n}', '{}')", "x".repeat(300)));
    }
    wreck.checkpoint();
    let bytes = fs::read(&wreck.db).unwrap();
    let holds = |page: &[u8], word: &[u8]| page.windows(word.len()).any(|window| window == word);
    // The leaf page with edit 100. A page of `edits` contains the method, a page of `rooms` does not.
    let page = bytes
        .chunks(4096)
        .position(|page| page[0] == 0x0d && holds(page, b"\"Room 100\"") && holds(page, b"create"))
        .unwrap();
    wreck.overwrite(page as u64 * 4096, &[0xa5; 4096]);
    let report = wreck.rebuilt();
    assert_eq!(report.edits, 202, "lost edits are inferred from the rows: {:?}", report.lost);
    let read_off: usize = wreck.one("SELECT count(*) FROM edits WHERE state = 'rejected'").parse().unwrap();
    assert!((1..22).contains(&read_off), "{read_off}");
    assert!(report.lost[1].starts_with(&read_off.to_string()), "{:?}", report.lost);
}

/// As after a crash of the machine that lost or emptied the file: the log exists, and no process has it open.
#[test]
fn lost_file_is_rebuilt_from_its_log() {
    for (is_empty, says) in [(false, "is missing"), (true, "is empty")] {
        let wreck = Wreck::new().log_alone(is_empty);
        let refused = open::read_write(&wreck.db).unwrap_err();
        assert!(refused.is_damaged() && refused.to_string().contains(says), "{refused}");
        assert_eq!(wreck.db.exists(), is_empty, "no new database was created");
        assert_eq!(wreck.rebuilt().edits, 2, "{says}");
        wreck.assert_carried_over();
    }
}

#[test]
fn replaced_database_logs_warning() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("a.db");
    let logged = || rows_of(&open::read_write(&db).unwrap(), "SELECT substr(text, 1, 32) FROM sync_log");
    assert!(!crate::database_was_removed(&db));
    assert_eq!(logged(), json!([]), "the first one is no successor");
    crate::store::disk_reserve::allocate(&db).unwrap();
    assert!(!crate::database_was_removed(&db));
    fs::remove_file(&db).unwrap();
    assert!(crate::database_was_removed(&db) && !crate::database_exists(&db));
    assert_eq!(logged(), json!([["There was a database here before"]]));
    assert!(!crate::database_was_removed(&db));
    assert_eq!(logged(), json!([["There was a database here before"]]), "once");
}

#[test]
fn emptied_file_is_damage() {
    let wreck = Wreck::new().log_alone(true);
    wreck.rebuilt();
    // Only a companion file is left.
    wreck.empty();
    assert_eq!(wreck.rebuilt().lost, [""; 0], "by itself an empty file is a new one");
    wreck.empty();
    fs::write(files::beside(&wreck.db, "-wal"), "").unwrap();
    crate::notification::notify(&wreck.db);
    let report = salvage::rebuild(&wreck.db, at(1000)).unwrap();
    assert!(report.kept_as.is_some() && report.lost[0].contains("found empty"), "{report:?}");
    let warnings = "SELECT count(*) FROM sync_log WHERE level = 'warning' AND text LIKE '%found empty%'";
    assert_eq!(row_of(&open::read_write(&wreck.db).unwrap(), warnings), json!([1]));
}

#[test]
fn unreadable_file_is_kept() {
    let wreck = Wreck::new();
    let db = wreck.scene.directory.path().join("letter.db");
    fs::write(&db, "Dear Sir or Madam, ".repeat(1000)).unwrap();
    assert!(matches!(salvage::rebuild(&db, at(0)), Err(StoreError::NotADatabase(_))), "it was never a replica");
    fs::write(files::companion(&db, "setup"), "").unwrap();
    let report = salvage::rebuild(&db, at(0)).unwrap();
    assert!(report.lost[0].contains(".recover"), "{:?}", report.lost);
    assert!(fs::read_to_string(report.kept_as.unwrap()).unwrap().starts_with("Dear Sir"));
    assert!(open::read_write(&db).is_ok());
    assert_eq!(salvage::damaged_copies(&db).len(), 1);
}

#[test]
fn damaged_copies_are_limited() {
    let wreck = Wreck::new();
    for n in 0..=salvage::DAMAGED_COPIES_MAX as i64 {
        wreck.scene.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        wreck.overwrite(0, &[0xff; 100]);
        let rebuilt = salvage::rebuild(&wreck.db, at(n * 1000));
        assert_eq!(rebuilt.is_ok(), n < salvage::DAMAGED_COPIES_MAX as i64, "{n}: {rebuilt:?}");
        assert!(rebuilt.is_ok() || rebuilt.is_err_and(|error| error.is_damaged()), "a restart does not help");
    }
}

#[test]
fn leftover_work_copies_are_deleted() {
    let wreck = Wreck::new();
    wreck.break_page_of("rooms");
    for n in 0..salvage::DAMAGED_COPIES_MAX {
        for part in [".reading", ".reading-wal", ".reading-listed", ".reading-listed-shm"] {
            fs::write(files::beside(&wreck.db, &format!(".damaged-2026010{n}T000000Z{part}")), "").unwrap();
        }
    }
    assert!(salvage::damaged_copies(&wreck.db).is_empty());
    let kept = wreck.rebuilt().kept_as.unwrap();
    assert_eq!(salvage::damaged_copies(&wreck.db), [kept]);
    let names = fs::read_dir(wreck.scene.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_string_lossy().contains(".reading")).count(), 0);
}

/// A directory at its path keeps a work copy from being created, as a full disk does.
#[test]
fn rebuild_that_fails_changes_nothing() {
    for blocked in [".reading", ".reading-listed"] {
        let wreck = Wreck::new();
        if blocked == ".reading" {
            wreck.overwrite(0, &[0xff; 100]);
        } else {
            wreck.garble("CREATE TABLE edits", b"CREATE (");
        }
        let before = fs::read(&wreck.db).unwrap();
        fs::create_dir(wreck.aside(blocked)).unwrap();
        let refused = salvage::rebuild(&wreck.db, at(0)).unwrap_err();
        assert!(!refused.is_damaged(), "{blocked}: {refused}");
        assert_eq!(fs::read(&wreck.db).unwrap(), before, "{blocked}");
        let copies = ["", ".reading"].into_iter().filter(|copy| *copy != blocked);
        assert!(!copies.into_iter().any(|copy| wreck.aside(copy).exists()), "{blocked}: no copy takes room");
        fs::remove_dir(wreck.aside(blocked)).unwrap();
        assert_eq!(wreck.rebuilt().edits, 2, "{blocked}");
        wreck.assert_carried_over();
    }
}

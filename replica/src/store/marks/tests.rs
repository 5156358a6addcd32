//! Which main files are recognised as older copies, and which prove nothing. Must not know what a sync does.

use hearth_contract::formats::Timestamp;

use super::*;
use crate::store::{integrity, open, salvage};

/// Marks the file through a connection of its own.
fn mark_file(db: &Path, number: i32, looked_at: Option<Timestamp>) {
    mark(db, &Connection::open(db).unwrap(), number, looked_at);
}

/// A database with a room and a log that is newer than the main file, and a copy of the main file as it was before.
fn scene() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("a.db");
    drop(open::read_write(&db).unwrap());
    mark_file(&db, 7, None);
    let copy = fs::read(&db).unwrap();
    mark_file(&db, 8, None);
    let connection = open::read_write(&db).unwrap();
    connection.execute("INSERT INTO rooms (name) VALUES ('Hall')", []).unwrap();
    std::mem::forget(connection);
    CHECKED.lock().unwrap().clear();
    (directory, db, copy)
}

#[test]
fn older_main_file_under_newer_log_is_damage() {
    let (_directory, db, copy) = scene();
    check(&db).unwrap();
    CHECKED.lock().unwrap().clear();
    fs::write(&db, &copy).unwrap();
    for _ in 0..2 {
        assert!(open::read_write(&db).unwrap_err().is_damaged());
    }
    // The rebuild reads the copy and the log together: the edit of the log continues.
    let report = salvage::rebuild(&db, Timestamp::from_millis(0)).unwrap();
    assert!(report.kept_as.is_some());
    assert_eq!((report.edits, report.parked, &report.lost[..]), (1, 0, &[][..]));
    let patch = open::read_write(&db).unwrap().query_row("SELECT patch FROM edits", [], |row| row.get(0));
    assert_eq!(patch, Ok(r#"{"name":"Hall"}"#.to_owned()));
    assert_eq!(noted(&db), None);
}

#[test]
fn failed_rebuild_leaves_older_main_file_and_log() {
    let (directory, db, copy) = scene();
    let log = fs::read(beside(&db, "-wal")).unwrap();
    let elsewhere = directory.path().join("older");
    fs::create_dir(&elsewhere).unwrap();
    let db = elsewhere.join("a.db");
    fs::write(&db, &copy).unwrap();
    fs::write(beside(&db, "-wal"), &log).unwrap();
    fs::write(note_path(&db), "past 7\n8\n").unwrap();
    // A link to nowhere keeps the copy of the damaged file from being created.
    std::os::unix::fs::symlink("/nowhere/copy", beside(&db, ".damaged-19700101T000000Z")).unwrap();
    salvage::rebuild(&db, Timestamp::from_millis(0)).unwrap_err();
    assert!(fs::read(&db).unwrap() == copy, "the main file is as before");
    assert!(fs::read(beside(&db, "-wal")).unwrap() == log, "the log is as before");
    assert!(matches!(check(&db), Err(StoreError::NotOfItsLog(_))), "the damage is still known");
}

#[test]
fn other_replica_under_log_proves_nothing() {
    let (directory, db, _) = scene();
    let other = directory.path().join("b.db");
    drop(open::read_write(&other).unwrap());
    mark_file(&other, 9, None);
    fs::copy(&other, &db).unwrap();
    check(&db).unwrap();
    assert_eq!(noted(&db), None);
}

#[test]
fn user_version_set_by_script_is_no_damage() {
    let (_directory, db, _) = scene();
    let script = Connection::open(&db).unwrap();
    script.pragma_update(None, "user_version", 1).unwrap();
    script.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
    assert!(holds_bytes(&beside(&db, "-wal")));
    assert_eq!(MainFile::open(&db).unwrap().number(), Some(1));
    drop(open::read_write(&db).unwrap());
    assert_eq!(noted(&db), None);
}

#[test]
fn newest_past_numbers_are_kept() {
    let (_directory, db, _) = scene();
    let past = (0..PAST_MAX as i32).collect();
    replace(&db, Note { current: vec![2_000, -1], past, end: None }, -1).unwrap();
    let note = noted(&db).unwrap();
    assert_eq!((note.current, note.past.len()), (vec![-1], PAST_MAX));
    assert_eq!((note.past[0], note.past[PAST_MAX - 1]), (1, 2_000));
}

#[test]
fn cut_number_is_not_glued_to_the_next() {
    let (_directory, db, _) = scene();
    fs::write(note_path(&db), "8\n\n12").unwrap();
    append(&db, 34).unwrap();
    assert_eq!(noted(&db).unwrap().current, [8, 12, 34]);
}

#[test]
fn whole_copy_without_log_is_accepted() {
    let (_directory, db, copy) = scene();
    fs::write(&db, &copy).unwrap();
    for part in ["-wal", "-shm"] {
        fs::remove_file(beside(&db, part)).unwrap();
    }
    drop(open::read_write(&db).unwrap());
    assert_eq!(noted(&db), None);
}

#[test]
fn look_is_valid_until_something_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("a.db");
    drop(open::read_write(&db).unwrap());
    assert_eq!(looked_at(&db), None);
    let looked = Timestamp::from_millis(5);
    mark_file(&db, 9, Some(looked));
    assert_eq!(looked_at(&db), Some(looked));
    assert_eq!(noted(&db).unwrap().current, [9]);

    // A copy with the same bytes and the same time is another file.
    let copy = directory.path().join("b.db");
    fs::copy(&db, &copy).unwrap();
    let modified = fs::metadata(&db).unwrap().modified().unwrap();
    fs::File::options().write(true).open(&copy).unwrap().set_modified(modified).unwrap();
    fs::copy(note_path(&db), note_path(&copy)).unwrap();
    assert_eq!(looked_at(&copy), None);

    let script = open::read_write(&db).unwrap();
    script.execute("INSERT INTO rooms (name) VALUES ('Attic')", []).unwrap();
    assert_eq!(looked_at(&db), None, "the log holds a change");
    drop(script);
    assert_eq!(looked_at(&db), None, "the main file was written");
    // The next sync begins.
    mark_file(&db, 10, None);
    assert_eq!(noted(&db).unwrap().end, None);
}

#[test]
fn reader_delays_the_note() {
    let (_directory, db, _) = scene();
    let reader = open::read_write(&db).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM rooms").unwrap();
    mark_file(&db, 9, None);
    assert_eq!(noted(&db), Some(Note { current: vec![8, 9], past: vec![7], end: None }));
    check(&db).unwrap();
    reader.execute_batch("COMMIT").unwrap();
    mark_file(&db, 10, None);
    assert_eq!(noted(&db), Some(Note { current: vec![10], past: vec![7, 8, 9], end: None }));
}

#[test]
fn zeros_in_unread_page_are_found() {
    let (_directory, db, _) = scene();
    mark_file(&db, 9, None);
    let page: i64 = open::read_write(&db)
        .unwrap()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = '_requests'", [], |row| row.get(0))
        .unwrap();
    let mut bytes = fs::read(&db).unwrap();
    let start = usize::try_from(page - 1).unwrap() * 4096;
    bytes[start..start + 4096].fill(0);
    fs::write(&db, bytes).unwrap();
    let looked = integrity::look(&db, false, None);
    assert!(looked.unwrap_err().is_damaged());
}

//! Does the main file of a database belong to its log? Each sync writes a random number into the header of the main file
//! (`PRAGMA user_version`), when it begins and when it ends in order, and into the file `marks` beside the database. A main file
//! with another number is an older copy, or another database: SQLite would write the pages of the log into it. Must not repair.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags};

use super::StoreError;
use super::connection::BUSY_TIMEOUT;
use super::files::{beside, companion, holds_bytes, private_file};

/// The place of `user_version` in the main file (<https://www.sqlite.org/fileformat2.html>, 1.3), and the end of that number.
const NUMBER_START: usize = 60;
const NUMBER_END: usize = 64;
/// The most numbers that are noted. More are noted only when a program keeps the log from being written into the main file
/// during so many syncs; nothing is claimed about the file then.
const NOTED_MAX: usize = 64;
/// How often the file and the note are read until both belong together, while a sync changes them.
const READS_MAX: usize = 5;

/// Databases that this process has found to belong to their log. The main file is read once, because its handle stays open.
static CHECKED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Marks the main file with a random number. Errors are ignored: the file then keeps a number that is noted.
pub(crate) fn mark(db: &Path, number: i32) {
    let _ = try_mark(db, number);
}

fn try_mark(db: &Path, number: i32) -> Result<(), StoreError> {
    let at = |error| StoreError::File(note_path(db), error);
    let noted = noted(db);
    if noted.as_ref().is_some_and(|numbers| numbers.len() >= NOTED_MAX) {
        return forget(db).map_err(at);
    }
    // Noted first: after a power cut the main file has no number that is not noted.
    if noted.is_some() {
        append(db, number).map_err(at)?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(db, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "user_version", number)?;
    let is_in_main_file = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok(row.get::<_, i64>(0)? == 0 && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)
    })?;
    if is_in_main_file {
        replace(db, number).map_err(at)?;
    }
    Ok(())
}

/// An error when a log is beside the main file, and the main file has none of the noted numbers. Without a log, such a file is a
/// whole copy that a person has put there; the note is then void.
pub(super) fn check(db: &Path) -> Result<(), StoreError> {
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    if checked.contains(db) {
        return Ok(());
    }
    for _ in 0..READS_MAX {
        let Some(before) = noted(db) else { return Ok(()) };
        let Some(found) = number_in_main_file(db) else { return Ok(()) };
        if before.contains(&found) {
            checked.insert(db.to_owned());
            return Ok(());
        }
        // A sync may have written a new number between both reads.
        if noted(db).is_some_and(|after| after == before) {
            return match holds_bytes(&beside(db, "-wal")) {
                true => Err(StoreError::NotOfItsLog(db.to_owned())),
                false => forget(db).map_err(|error| StoreError::File(note_path(db), error)),
            };
        }
    }
    Ok(())
}

/// Deletes the note, after the database was replaced.
pub(super) fn forget(db: &Path) -> io::Result<()> {
    match fs::remove_file(note_path(db)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn note_path(db: &Path) -> PathBuf {
    companion(db, "marks")
}

/// The numbers that the main file may have, a line each; None without a note.
fn noted(db: &Path) -> Option<Vec<i32>> {
    let text = fs::read_to_string(note_path(db)).ok()?;
    Some(text.lines().filter_map(|line| line.parse().ok()).collect())
}

fn append(db: &Path, number: i32) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().append(true).open(note_path(db))?;
    writeln!(file, "{number}")?;
    file.sync_all()
}

fn replace(db: &Path, number: i32) -> io::Result<()> {
    let part = companion(db, "marks.part");
    let mut file = private_file(&part)?;
    file.set_len(0)?;
    writeln!(file, "{number}")?;
    file.sync_all()?;
    fs::rename(part, note_path(db))
}

/// The number in the header of the main file, whatever the log holds; None when the file is too short or cannot be read.
fn number_in_main_file(db: &Path) -> Option<i32> {
    // Closing a handle would release the locks that other connections of this process have on the file.
    let file = ManuallyDrop::new(fs::File::open(db).ok()?);
    let mut header = [0; NUMBER_END];
    (&*file).read_exact(&mut header).ok()?;
    header[NUMBER_START..].try_into().ok().map(i32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{integrity, open, salvage};

    /// A database with a room and a log that is newer than the main file, and a copy of the main file as it was before.
    fn scene() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("a.db");
        drop(open::read_write(&db).unwrap());
        mark(&db, 7);
        let copy = fs::read(&db).unwrap();
        mark(&db, 8);
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
        let report = salvage::rebuild(&db, hearth_contract::formats::Timestamp::from_millis(0)).unwrap();
        assert!(report.kept_as.is_some());
        open::read_write(&db).unwrap();
        assert_eq!(noted(&db), None);
    }

    #[test]
    fn other_replica_under_log_is_damage() {
        let (directory, db, _) = scene();
        let other = directory.path().join("b.db");
        drop(open::read_write(&other).unwrap());
        mark(&other, 9);
        fs::copy(&other, &db).unwrap();
        assert!(matches!(open::read_write(&db), Err(StoreError::NotOfItsLog(_))));
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
    fn reader_delays_the_note() {
        let (_directory, db, _) = scene();
        let reader = open::read_write(&db).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM rooms").unwrap();
        mark(&db, 9);
        assert_eq!(noted(&db), Some(vec![8, 9]));
        check(&db).unwrap();
        reader.execute_batch("COMMIT").unwrap();
        mark(&db, 10);
        assert_eq!(noted(&db), Some(vec![10]));
    }

    #[test]
    fn zeros_in_unread_page_are_found() {
        let (_directory, db, _) = scene();
        mark(&db, 9);
        let page: i64 = open::read_write(&db)
            .unwrap()
            .query_row("SELECT rootpage FROM sqlite_schema WHERE name = '_overwritten'", [], |row| row.get(0))
            .unwrap();
        let mut bytes = fs::read(&db).unwrap();
        let start = usize::try_from(page - 1).unwrap() * 4096;
        bytes[start..start + 4096].fill(0);
        fs::write(&db, bytes).unwrap();
        let looked = integrity::look(&db, integrity::Depth::Pages, None);
        assert!(looked.unwrap_err().is_damaged());
    }
}

//! The copies of damaged files beside a database, `NAME.damaged-TIME`, and the work copies that are read. Must not know their
//! content.

use std::fs;
use std::io::{self, Seek, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use hearth_contract::formats::Timestamp;

use super::header::Header;
use crate::store::StoreError;
use crate::store::files::{beside, directory, private_file};

/// The most damaged copies of one database. One more is a sign that its disk destroys the database again and again.
pub const DAMAGED_COPIES_MAX: usize = 5;

/// The suffix of a work copy: a second copy that is read and changed.
pub(super) const WORK_SUFFIX: &str = ".reading";

/// The damaged copies of a database, oldest first.
pub(crate) fn damaged_copies(db: &Path) -> Vec<PathBuf> {
    copies(db, |suffix| suffix.ends_with('Z'))
}

/// The files named `NAME.damaged-SUFFIX` whose suffix passes the test, in the order of their names.
fn copies(db: &Path, test: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Some(name) = db.file_name() else {
        return Vec::new();
    };
    let prefix = [name.as_encoded_bytes(), b".damaged-"].concat();
    let is_copy = |path: &PathBuf| {
        let suffix = path.file_name().and_then(|name| name.as_encoded_bytes().strip_prefix(&prefix[..]));
        suffix.and_then(|suffix| str::from_utf8(suffix).ok()).is_some_and(&test)
    };
    let entries = fs::read_dir(directory(db)).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_copy).collect();
    found.sort();
    found
}

/// Deletes the work copies, also those of an interrupted rebuild. Each takes as much room as the database. Errors are ignored.
pub(super) fn delete_work_copies(db: &Path) {
    for copy in copies(db, |suffix| suffix.contains(WORK_SUFFIX)) {
        let _ = fs::remove_file(copy);
    }
}

/// The path at which the damaged file will be kept. An error when there are too many copies.
pub(super) fn next_copy_path(db: &Path, now: Timestamp) -> Result<PathBuf, StoreError> {
    let copies = damaged_copies(db).len();
    if copies >= DAMAGED_COPIES_MAX {
        return Err(StoreError::TooManyDamagedCopies(copies));
    }
    // To the second, without the characters `-` and `:`.
    let name = |at: Timestamp| {
        let stamp: String = at.to_string().chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
        beside(db, &format!(".damaged-{stamp}Z"))
    };
    // A copy of the same second is not overwritten.
    let mut at = now;
    while name(at).exists() {
        at = at.plus_millis(1000);
    }
    Ok(name(at))
}

/// A file handle on a database that is never closed. Closing any handle of a file releases every lock that the process has on the
/// file, also those of open connections (<https://www.sqlite.org/howtocorrupt.html>, 2.2). The next program that closes the
/// database would then delete the log of these connections.
pub(super) type Unclosed = ManuallyDrop<fs::File>;

/// Opens the damaged file; None when there is none.
pub(super) fn open_unclosed(db: &Path) -> Result<Option<Unclosed>, StoreError> {
    match fs::File::open(db) {
        Ok(file) => Ok(Some(Unclosed::new(file))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::File(db.to_owned(), error)),
    }
}

/// Opens the damaged file for reading and writing.
pub(super) fn open_for_repair(db: &Path) -> io::Result<Unclosed> {
    fs::OpenOptions::new().read(true).write(true).open(db).map(Unclosed::new)
}

/// Copies the damaged file and its log, for this user alone. The copy gets the original header.
pub(super) fn keep_copy(
    db: &Path,
    file: Option<&fs::File>,
    header: Option<Header>,
    kept: &Path,
) -> Result<(), StoreError> {
    let copy = |from: Option<&fs::File>, to: &Path| -> io::Result<()> {
        let mut file = private_file(to)?;
        file.set_len(0)?;
        if let Some(mut from) = from {
            io::copy(&mut from, &mut file)?;
        }
        if let Some(header) = header.filter(|_| to == kept) {
            file.rewind()?;
            file.write_all(&header)?;
        }
        file.sync_all()
    };
    let at = |error| StoreError::File(kept.to_owned(), error);
    copy(file, kept).map_err(at)?;
    // SQLite holds no lock on the log file, so its handle may be closed.
    if let Some(log) = open_unclosed(&beside(db, "-wal"))?.map(Unclosed::into_inner) {
        copy(Some(&log), &beside(kept, "-wal")).map_err(at)?;
    }
    Ok(())
}

/// Deletes a database with its log and shared memory.
pub(super) fn delete_database(db: &Path) -> Result<(), StoreError> {
    for part in ["-wal", "-shm", ""] {
        let path = beside(db, part);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(StoreError::File(path, error)),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_same_second_get_different_names() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let now = Timestamp::from_millis(1_780_272_000_000);
        let mut kept = Vec::new();
        for _ in 0..2 {
            let path = next_copy_path(&db, now).unwrap();
            fs::write(&path, "edits").unwrap();
            kept.push(path);
        }
        assert_ne!(kept[0], kept[1]);
        assert_eq!(damaged_copies(&db), kept, "oldest first");
    }
}

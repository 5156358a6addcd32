//! The files beside a database that is made anew: where damaged copies are kept, and what is made of them for a while.
//! Must not know what is in them.

use std::fs;
use std::io::{self, Seek, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use hearth_contract::formats::Timestamp;

use super::salvage::Header;
use crate::store::{StoreError, open};

/// Damaged copies of one database that may lie about. One more is a sign that something destroys it again and again.
pub const KEPT_MAX: usize = 5;

/// What is added to the name of a damaged copy for another that is read.
pub(super) const READING: &str = ".reading";

/// The damaged copies of a database, oldest first.
pub(crate) fn damaged_copies(db: &Path) -> Vec<PathBuf> {
    set_aside(db, |more| more.ends_with('Z'))
}

/// What bears the name of a damaged copy, or of what is made beside one, as far as the name holds, in its order.
fn set_aside(db: &Path, holds: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let (Some(directory), Some(name)) = (db.parent(), db.file_name()) else {
        return Vec::new();
    };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let beginning = [name.as_encoded_bytes(), b".damaged-"].concat();
    let is_meant = |path: &PathBuf| {
        let more = path.file_name().and_then(|name| name.as_encoded_bytes().strip_prefix(&beginning[..]));
        more.and_then(|more| std::str::from_utf8(more).ok()).is_some_and(&holds)
    };
    let mut found: Vec<PathBuf> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_meant).collect();
    found.sort();
    found
}

/// Removes the copies that were made to be read, those of a rebuild that was cut off too: they take the room of a database
/// each, and nobody else misses what cannot be removed.
pub(super) fn clear_away(db: &Path) {
    for copy in set_aside(db, |more| more.contains(READING)) {
        let _ = fs::remove_file(copy);
    }
}

/// Where the damaged file is to be kept.
pub(super) fn place_aside(db: &Path, now: Timestamp) -> Result<PathBuf, StoreError> {
    let copies = damaged_copies(db).len();
    if copies >= KEPT_MAX {
        return Err(StoreError::TooOften(copies));
    }
    // To the second, without signs that file names had better not have.
    let name = |at: Timestamp| {
        let stamp: String = at.to_string().chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
        open::beside(db, &format!(".damaged-{stamp}Z"))
    };
    // What was kept within the same second is not written over.
    let mut at = now;
    while name(at).exists() {
        at = at.plus_millis(1000);
    }
    Ok(name(at))
}

/// A handle of a database beside SQLite's. It is never closed: to close any handle of a file ends every lock that this
/// process has on it (<https://www.sqlite.org/howtocorrupt.html>, 2.2), those of connections that stay open too, and
/// whoever is the next to close the database then takes its log away under them.
pub(super) type Unclosed = ManuallyDrop<fs::File>;

/// The damaged file, if there is one.
pub(super) fn found(db: &Path) -> Result<Option<Unclosed>, StoreError> {
    match fs::File::open(db) {
        Ok(file) => Ok(Some(Unclosed::new(file))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::File(db.to_owned(), error)),
    }
}

/// The same to be mended.
pub(super) fn to_mend(db: &Path) -> io::Result<Unclosed> {
    fs::OpenOptions::new().read(true).write(true).open(db).map(Unclosed::new)
}

/// Copies the damaged files, log included, for this user alone. What was mended of them is kept as it was found.
pub(super) fn keep_aside(
    db: &Path,
    whole: Option<&fs::File>,
    header: Option<Header>,
    kept: &Path,
) -> Result<(), StoreError> {
    let copy = |from: Option<&fs::File>, to: &Path| -> io::Result<()> {
        let mut file = open::private_file(to)?;
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
    copy(whole, kept).map_err(at)?;
    // Of a log nobody holds a lock.
    if let Some(log) = found(&open::beside(db, "-wal"))?.map(Unclosed::into_inner) {
        copy(Some(&log), &open::beside(kept, "-wal")).map_err(at)?;
    }
    Ok(())
}

/// Removes a database with its log.
pub(super) fn remove(db: &Path) -> Result<(), StoreError> {
    for part in ["-wal", "-shm", ""] {
        let path = open::beside(db, part);
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
    fn what_was_kept_within_the_same_second_is_not_written_over() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let now = Timestamp::from_millis(1_780_272_000_000);
        let mut kept = Vec::new();
        for _ in 0..2 {
            let place = place_aside(&db, now).unwrap();
            fs::write(&place, "edits").unwrap();
            kept.push(place);
        }
        assert_ne!(kept[0], kept[1]);
        assert_eq!(damaged_copies(&db), kept, "oldest first");
    }
}

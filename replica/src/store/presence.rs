//! Is the database file still there, and is it the file that was opened? Must not open the database.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::files::{beside, holds_bytes, was_used};

/// The error for a database that lost its content: the file is missing or empty, and its write-ahead log or companion files
/// show earlier use. SQLite would create a new database there and delete the log. None when a new database may be created.
pub(crate) fn lost_content(db: &Path) -> Option<StoreError> {
    let has_log = holds_bytes(&beside(db, "-wal"));
    match db.exists() {
        false if has_log => Some(StoreError::Missing(db.to_owned())),
        true if !holds_bytes(db) && (has_log || was_used(db)) => Some(StoreError::Emptied(db.to_owned())),
        _ => None,
    }
}

/// Looks at a file that is being copied, at most. A copy that goes on for longer is taken for an emptied file.
const COPY_LOOKS_MAX: u32 = 50;
/// Looks at a file that stays empty, at most: nothing copies over it then.
const EMPTY_LOOKS_MAX: u32 = 5;

/// The identity of an opened database file. A rename does not change it.
#[derive(Debug)]
pub struct OpenedFile {
    db: PathBuf,
    /// None when the file was missing or empty; every later state then counts as unchanged.
    id: Option<FileId>,
}

/// Device and inode.
type FileId = (u64, u64);

impl OpenedFile {
    /// The identity of the file that is at the path now.
    pub fn new(db: &Path) -> OpenedFile {
        OpenedFile { db: db.to_owned(), id: file_id(db) }
    }

    /// True when another program has copied a file over the database just now: the copy empties the file first, and then fills it. Waits
    /// while the file grows, for [`COPY_LOOKS_MAX`] calls of `pause` at most. False for a file that stays empty during
    /// [`EMPTY_LOOKS_MAX`] of them.
    pub(crate) fn was_copied_over(&self, mut pause: impl FnMut()) -> bool {
        let bytes = || fs::metadata(&self.db).map(|file| file.len());
        if self.id.is_none() || !matches!(bytes(), Ok(0)) {
            return false;
        }
        let mut before = 0;
        for look in 1..=COPY_LOOKS_MAX {
            pause();
            match bytes() {
                Ok(0) if look < EMPTY_LOOKS_MAX => {}
                Ok(0) | Err(_) => return false,
                Ok(now) if now == before => return true,
                Ok(now) => before = now,
            }
        }
        false
    }

    /// An error once the path leads to another file, an empty file or no file: later writes would be lost.
    pub fn ensure_unmoved(&self) -> Result<(), StoreError> {
        if self.id.is_none() || file_id(&self.db) == self.id { Ok(()) } else { Err(StoreError::Moved(self.db.clone())) }
    }
}

/// None when the file is missing or empty.
fn file_id(db: &Path) -> Option<FileId> {
    let file = fs::metadata(db).ok().filter(|file| file.len() > 0)?;
    Some((file.dev(), file.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opened_file_notices_move_and_truncation() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let elsewhere = directory.path().join("elsewhere.db");
        fs::write(&db, "a").unwrap();
        let file = OpenedFile::new(&db);
        fs::write(&db, "more").unwrap();
        file.ensure_unmoved().unwrap();

        fs::rename(&db, &elsewhere).unwrap();
        assert!(matches!(file.ensure_unmoved(), Err(StoreError::Moved(_))));
        fs::write(&db, "another").unwrap();
        assert!(matches!(file.ensure_unmoved(), Err(StoreError::Moved(_))));
        fs::rename(&elsewhere, &db).unwrap();
        file.ensure_unmoved().unwrap();
        fs::write(&db, "").unwrap();
        assert!(matches!(file.ensure_unmoved(), Err(StoreError::Moved(_))));
    }

    #[test]
    fn copy_over_an_opened_file_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        fs::write(&db, "new").unwrap();
        let file = OpenedFile::new(&db);
        assert!(!file.was_copied_over(|| panic!("nothing copies")));
        fs::write(&db, "").unwrap();
        let mut pieces = ["", "ol", "old", "old"].into_iter();
        assert!(file.was_copied_over(|| fs::write(&db, pieces.next().unwrap()).unwrap()));
        assert_eq!(pieces.next(), None, "the copy has ended");
        fs::write(&db, "").unwrap();
        assert!(!file.was_copied_over(|| ()), "it stays empty");
        fs::remove_file(&db).unwrap();
        assert!(!file.was_copied_over(|| panic!("there is no file")));
    }
}

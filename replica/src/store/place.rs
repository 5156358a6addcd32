//! The database's file as a thing in its directory: whether it is there, whether it lost what it held, whether it is
//! still the one that was opened, how much room is left beside it. Must not open it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::store::StoreError;
use crate::store::open::{beside, companion};

/// Why a database that is missing or empty is not simply new: its log is there, or the bell that is rung after a commit,
/// or what is set aside while it is synced. SQLite would make it anew, and throw the log away.
pub(crate) fn lost(db: &Path) -> Option<StoreError> {
    let log = holds_bytes(&beside(db, "-wal"));
    match db.exists() {
        false if log => Some(StoreError::Missing(db.to_owned())),
        true if !holds_bytes(db) && (log || was_used(db)) => Some(StoreError::Emptied(db.to_owned())),
        _ => None,
    }
}

/// Whether a database that left no log behind was here before: somebody has taken it away, or wants to begin anew.
pub(crate) fn is_gone(db: &Path) -> bool {
    !is_hidden(db) && !db.exists() && was_used(db)
}

/// Whether what a database has beside it once it is used stands there.
fn was_used(db: &Path) -> bool {
    ["changed", "reserve"].into_iter().any(|what| companion(db, what).exists())
}

/// Whether something is in the way of a look at the file, so that nothing says that it is not there.
pub(crate) fn is_hidden(path: &Path) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    fs::metadata(path).is_err_and(|error| !matches!(error.kind(), NotFound | NotADirectory))
}

/// Whether a file is there with at least a byte in it.
pub(crate) fn holds_bytes(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() > 0)
}

/// The file that was opened, by what a rename does not change.
#[derive(Debug)]
pub struct Place {
    db: PathBuf,
    file: Option<FileId>,
}

#[cfg(unix)]
type FileId = (u64, u64);
#[cfg(not(unix))]
type FileId = ();

impl Place {
    /// Of a database that is open.
    pub fn of(db: &Path) -> Place {
        Place { db: db.to_owned(), file: file_id(db) }
    }

    /// An error once the path names another file, an empty one or none: what is written then reaches nobody.
    pub fn is_kept(&self) -> Result<(), StoreError> {
        if self.file.is_none() || file_id(&self.db) == self.file {
            Ok(())
        } else {
            Err(StoreError::Moved(self.db.clone()))
        }
    }
}

/// None for a file that is not there or holds nothing.
fn file_id(db: &Path) -> Option<FileId> {
    let file = fs::metadata(db).ok().filter(|file| file.len() > 0)?;
    #[cfg(unix)]
    let id = {
        use std::os::unix::fs::MetadataExt;
        (file.dev(), file.ino())
    };
    #[cfg(not(unix))]
    let id = drop(file);
    Some(id)
}

/// The directory of a file; of a bare file name it is the one that the program is in.
pub fn directory(db: &Path) -> &Path {
    db.parent().filter(|path| *path != Path::new("")).unwrap_or(Path::new("."))
}

/// Room on the disk of a directory, for this user.
#[cfg(unix)]
pub(crate) fn free(directory: &Path) -> Option<u64> {
    let stats = rustix::fs::statvfs(directory).ok()?;
    Some(stats.f_bavail.saturating_mul(stats.f_frsize))
}

/// Whether nothing but the want of room keeps a directory from being written to.
#[cfg(unix)]
pub(crate) fn is_full(directory: &Path) -> bool {
    use rustix::fs::{Access, access};
    free(directory) == Some(0) && access(directory, Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
pub(crate) fn free(_directory: &Path) -> Option<u64> {
    None
}

#[cfg(not(unix))]
pub(crate) fn is_full(_directory: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_kept_until_its_path_leads_elsewhere() {
        let directory = std::env::temp_dir().join(format!("hearth-place-{}", uuid::Uuid::new_v4()));
        fs::create_dir_all(&directory).unwrap();
        let db = directory.join("replica.db");
        fs::write(&db, "a").unwrap();
        let place = Place::of(&db);
        fs::write(&db, "more").unwrap();
        place.is_kept().unwrap();

        fs::rename(&db, directory.join("elsewhere.db")).unwrap();
        assert!(matches!(place.is_kept(), Err(StoreError::Moved(_))));
        fs::write(&db, "another").unwrap();
        assert!(matches!(place.is_kept(), Err(StoreError::Moved(_))));
        fs::rename(directory.join("elsewhere.db"), &db).unwrap();
        place.is_kept().unwrap();
        fs::write(&db, "").unwrap();
        assert!(matches!(place.is_kept(), Err(StoreError::Moved(_))));
        fs::remove_dir_all(directory).unwrap();
    }
}

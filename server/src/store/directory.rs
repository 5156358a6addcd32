//! The data directory: who owns it, who may write to it, what lies in it, and the locks in it. Must not know what the
//! database holds.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError, read_dir, set_permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::error::OpenError;
use super::files::{DATABASE_FILE, with_suffix};

/// Name of the directory of export files in the data directory.
pub const EXPORTS_DIR: &str = "exports";
/// Name of the file that a serving process locks. The file holds the latest time at which the server ran.
pub const SERVE_LOCK: &str = "lock";
/// Name of the file that each process with an open database locks shared, and that a restore locks exclusively.
const USERS_LOCK: &str = "users";
/// Name of the directory that some file systems keep at their root.
const LOST_AND_FOUND: &str = "lost+found";
/// The bits of a mode that let other users than the owner write.
const WRITE_OF_OTHERS: u32 = 0o022;
/// The bits of a mode that let other users than the owner do anything.
const ACCESS_OF_OTHERS: u32 = 0o077;

/// Creates the data directory (0700), or checks an existing directory: it must belong to this user, and must be empty
/// unless it has a database. An existing directory gets the mode 0700 too, unless it holds other directories: such a
/// directory, like `/var`, does not belong to Hearth alone.
pub(super) fn make_directory(dir: &Path) -> Result<(), OpenError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    ensure_owned(dir)?;
    let mode = dir.metadata()?.mode();
    let has_database = database_exists(dir)?;
    if !has_database {
        ensure_without_foreign_files(dir)?;
    }
    // Other users may have put files into such a directory, also a database.
    if has_database && mode & WRITE_OF_OTHERS != 0 {
        return Err(OpenError::WritableByOthers(dir.to_owned()));
    }
    if mode & ACCESS_OF_OTHERS != 0 && !has_other_directories(dir)? {
        set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Refuses a database, or a file beside the database, of another user or that others may write to. Sets the mode to 0600:
/// a database that was copied by hand may be readable by others.
pub(super) fn restrict_to_owner(file: &Path) -> Result<(), OpenError> {
    for suffix in ["", "-wal", "-shm"] {
        let path = with_suffix(file, suffix);
        let Ok(metadata) = path.metadata() else { continue };
        ensure_owned(&path)?;
        if metadata.mode() & WRITE_OF_OTHERS != 0 {
            return Err(OpenError::WritableByOthers(path));
        }
        if metadata.mode() & ACCESS_OF_OTHERS != 0 {
            set_permissions(path, Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

/// Creates the directory of export files (0700), or checks an existing directory: it must be no symbolic link, and only
/// this user may write to it.
pub fn make_exports_directory(dir: &Path) -> Result<(), OpenError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    if !dir.symlink_metadata()?.is_dir() {
        return Err(OpenError::Link(dir.to_owned()));
    }
    ensure_owned(dir)?;
    if dir.metadata()?.mode() & WRITE_OF_OTHERS != 0 {
        return Err(OpenError::WritableByOthers(dir.to_owned()));
    }
    Ok(())
}

fn ensure_owned(path: &Path) -> Result<(), OpenError> {
    let is_owned = path.metadata()?.uid() == rustix::process::geteuid().as_raw();
    if is_owned { Ok(()) } else { Err(OpenError::OtherOwner(path.to_owned())) }
}

/// Refuses a directory with files that this program did not make: the directory is a wrong one, or belongs to somebody
/// else's files.
fn ensure_without_foreign_files(dir: &Path) -> Result<(), OpenError> {
    for entry in read_dir(dir)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        let is_own = [SERVE_LOCK, USERS_LOCK, EXPORTS_DIR, LOST_AND_FOUND].contains(&&*name);
        if !is_own && !name.starts_with(DATABASE_FILE) {
            return Err(OpenError::ForeignFiles(name.into_owned()));
        }
    }
    Ok(())
}

fn has_other_directories(dir: &Path) -> io::Result<bool> {
    for entry in read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && entry.file_name() != EXPORTS_DIR && entry.file_name() != LOST_AND_FOUND {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a directory holds a database. An error when this user may not look into the directory.
pub fn database_exists(dir: &Path) -> io::Result<bool> {
    dir.join(DATABASE_FILE).try_exists()
}

/// Locks the directory for serving. None: another process serves the directory. The lock ends when the file is closed.
pub fn lock_for_serving(dir: &Path) -> Result<Option<File>, OpenError> {
    try_lock(dir, SERVE_LOCK)
}

/// Locks the database against all other processes. None: another process has the database open. The lock ends when the
/// file is closed.
pub fn lock_exclusively(dir: &Path) -> Result<Option<File>, OpenError> {
    try_lock(dir, USERS_LOCK)
}

/// Locks the database shared, before opening; waits while a restore replaces the database. The lock ends when the file is
/// closed.
pub(super) fn lock_shared(dir: &Path) -> Result<File, OpenError> {
    let file = lock_file(dir, USERS_LOCK)?;
    file.lock_shared()?;
    Ok(file)
}

fn lock_file(dir: &Path, name: &str) -> Result<File, OpenError> {
    make_directory(dir)?;
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(dir.join(name));
    opened.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            OpenError::Unwritable(dir.to_owned(), error)
        }
        _ => error.into(),
    })
}

fn try_lock(dir: &Path, name: &str) -> Result<Option<File>, OpenError> {
    let file = lock_file(dir, name)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path, mode: u32) {
        set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn directory_with_foreign_files_is_refused_untouched() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("thesis.txt"), "mine").unwrap();
        mode(dir.path(), 0o755);
        let error = lock_for_serving(dir.path()).unwrap_err().to_string();
        assert!(error.contains("thesis.txt") && error.contains("--data"), "{error}");
        assert_eq!(dir.path().metadata().unwrap().mode() & 0o777, 0o755);
        assert_eq!(read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn directory_and_database_writable_by_others_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        mode(dir.path(), 0o777);
        make_directory(dir.path()).unwrap();
        assert_eq!(dir.path().metadata().unwrap().mode() & 0o777, 0o700, "an empty directory is restricted");
        let file = dir.path().join(DATABASE_FILE);
        std::fs::write(&file, "").unwrap();
        mode(dir.path(), 0o770);
        assert!(matches!(make_directory(dir.path()), Err(OpenError::WritableByOthers(_))));
        mode(dir.path(), 0o755);
        make_directory(dir.path()).unwrap();
        assert_eq!(dir.path().metadata().unwrap().mode() & 0o777, 0o700);
        mode(&file, 0o620);
        assert!(matches!(restrict_to_owner(&file), Err(OpenError::WritableByOthers(_))));
        mode(&file, 0o644);
        restrict_to_owner(&file).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn directory_of_another_user_is_refused() {
        const NOBODY: u32 = 65534;
        let dir = tempfile::tempdir().unwrap();
        // Only root may give a directory away.
        if std::os::unix::fs::chown(dir.path(), Some(NOBODY), None).is_ok() {
            assert!(matches!(make_directory(dir.path()), Err(OpenError::OtherOwner(_))));
        }
    }
}

//! The data directory: who owns it, who may write to it, what lies in it, and the locks in it. Must not know what the
//! database holds.

use std::fs::{DirBuilder, DirEntry, File, OpenOptions, Permissions, TryLockError, read_dir, set_permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::error::OpenError;
use super::files::{DATABASE_FILE, with_suffix};

/// Name of the directory of export files in the data directory.
pub const EXPORTS_DIR: &str = "exports";
/// Name of the directory of the files of homes in the data directory.
pub const FILES_DIR: &str = "files";
/// Name of the directory of the models that recognize text, in the data directory. A person puts them there, perhaps before the
/// database.
pub const MODELS_DIR: &str = "models";
/// Name of the file that a serving process locks. The file holds the latest time at which the server ran.
pub const SERVE_LOCK: &str = "lock";
/// Name of the file that each process with an open database locks shared, and that a restore locks exclusively.
const USERS_LOCK: &str = "users";
/// Name of the directory that some file systems keep at their root.
const LOST_AND_FOUND: &str = "lost+found";
/// Bytes of a lock file, at most: a time in milliseconds.
const LOCK_BYTES_MAX: u64 = 64;
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

/// Creates a directory for files of the service (0700), or checks an existing directory: it must be no symbolic link, and only
/// this user may write to it.
pub fn make_owned_directory(dir: &Path) -> Result<(), OpenError> {
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

fn has_only_models(dir: &Path) -> bool {
    let is_model = |entry: io::Result<DirEntry>| {
        entry.is_ok_and(|entry| entry.path().extension().is_some_and(|end| end == "onnx"))
    };
    read_dir(dir).is_ok_and(|mut entries| entries.all(is_model))
}

/// Refuses a directory with files that this program did not make: the directory is a wrong one, or belongs to somebody
/// else's files.
fn ensure_without_foreign_files(dir: &Path) -> Result<(), OpenError> {
    for entry in read_dir(dir)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        // Without a database, this program has made no export file either.
        let is_empty = |dir: &Path| read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
        let is_own = match &*name {
            SERVE_LOCK | USERS_LOCK | LOST_AND_FOUND => true,
            EXPORTS_DIR | FILES_DIR => is_empty(&dir.join(&*name)),
            MODELS_DIR => has_only_models(&dir.join(MODELS_DIR)),
            _ => false,
        };
        if !is_own && !name.starts_with(DATABASE_FILE) {
            return Err(OpenError::ForeignFiles(name.into_owned()));
        }
    }
    Ok(())
}

fn has_other_directories(dir: &Path) -> io::Result<bool> {
    for entry in read_dir(dir)? {
        let entry = entry?;
        let is_known =
            [EXPORTS_DIR, FILES_DIR, MODELS_DIR, LOST_AND_FOUND].iter().any(|known| entry.file_name() == *known);
        if entry.file_type()?.is_dir() && !is_known {
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
    let path = dir.join(name);
    // Without NONBLOCK, a pipe in place of the file would be waited for.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let opened = OpenOptions::new().create(true).read(true).append(true).mode(0o600).custom_flags(flags).open(&path);
    let file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            OpenError::Unwritable(dir.to_owned(), error)
        }
        _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => OpenError::Link(path.clone()),
        _ => error.into(),
    })?;
    if is_lock_file(&file)? { Ok(file) } else { Err(OpenError::ForeignLock(path)) }
}

/// Whether a file is one that this program locks: a regular file that is empty or holds a time.
fn is_lock_file(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > LOCK_BYTES_MAX {
        return Ok(false);
    }
    let mut bytes = vec![0; LOCK_BYTES_MAX as usize];
    let length = file.read_at(&mut bytes, 0)?;
    Ok(bytes[..length].trim_ascii().iter().all(u8::is_ascii_digit))
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
    fn foreign_file_in_place_of_a_lock_is_refused_untouched() {
        let dir = tempfile::tempdir().unwrap();
        let (lock, other) = (dir.path().join(SERVE_LOCK), tempfile::NamedTempFile::new().unwrap());
        std::fs::write(&lock, "a letter").unwrap();
        assert!(matches!(lock_for_serving(dir.path()), Err(OpenError::ForeignLock(_))));
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), "a letter");
        std::fs::remove_file(&lock).unwrap();
        std::os::unix::fs::symlink(other.path(), &lock).unwrap();
        assert!(matches!(lock_for_serving(dir.path()), Err(OpenError::Link(_))));
        std::fs::remove_file(&lock).unwrap();
        assert!(lock_for_serving(dir.path()).unwrap().is_some());
        std::fs::create_dir(dir.path().join(EXPORTS_DIR)).unwrap();
        std::fs::write(dir.path().join(EXPORTS_DIR).join("0123456789abcdef0123456789abcdef"), "mine").unwrap();
        assert!(lock_for_serving(dir.path()).is_err(), "without a database, the export file is somebody else's");
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
    fn directory_with_models_alone_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let models = dir.path().join(MODELS_DIR);
        std::fs::create_dir(&models).unwrap();
        std::fs::write(models.join("det.onnx"), "model").unwrap();
        mode(dir.path(), 0o755);
        assert!(lock_for_serving(dir.path()).unwrap().is_some());
        assert_eq!(dir.path().metadata().unwrap().mode() & 0o777, 0o700);
        std::fs::write(models.join("train.py"), "mine").unwrap();
        assert!(matches!(ensure_without_foreign_files(dir.path()), Err(OpenError::ForeignFiles(_))));
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

//! Names of the files in the data directory, and files that get their name only once they are complete. Must not know what
//! the files hold.

use std::fs::{File, OpenOptions, remove_file, rename};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Name of the database in the data directory.
pub(super) const DATABASE_FILE: &str = "hearth.db";

/// The path with a suffix added to the file name.
pub(super) fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Creates a file (0600) that must not exist yet.
pub(super) fn create_new(file: &Path) -> io::Result<()> {
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(file).map(drop)
}

/// Removes a file; a missing file is no error.
pub(super) fn remove_if_exists(file: &Path) -> io::Result<()> {
    match remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Moves a complete database to its name. The old write-ahead log is removed first: SQLite would replay it into the new
/// database.
pub(super) fn replace_database(file: &Path, staged: &Path) -> io::Result<()> {
    for suffix in ["-wal", "-shm"] {
        remove_if_exists(&with_suffix(file, suffix))?;
    }
    rename(staged, file)?;
    sync_directory_of(file)
}

/// Makes a rename durable: syncs the directory of a file.
pub(super) fn sync_directory_of(file: &Path) -> io::Result<()> {
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir)?.sync_all()
}

//! Files beside the database, which are whole before they take its name. Must not know what is in them.

use std::fs::{File, OpenOptions, remove_file, rename};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file whose name is longer by this.
pub(super) fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Makes a file (0600) that must not be there yet.
pub(super) fn make_new(file: &Path) -> io::Result<()> {
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(file).map(drop)
}

pub(super) fn remove_if_there(file: &Path) -> io::Result<()> {
    match remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Gives a database that is whole its name. The old log must be gone before, or it would be replayed into it.
pub(super) fn replace(file: &Path, staged: &Path) -> io::Result<()> {
    for end in ["-wal", "-shm"] {
        remove_if_there(&beside(file, end))?;
    }
    rename(staged, file)?;
    sync_directory_of(file)
}

pub(super) fn sync_directory_of(file: &Path) -> io::Result<()> {
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir)?.sync_all()
}

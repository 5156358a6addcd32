//! What can fail when the database is opened or used, as sentences for the operator. Must not know HTTP.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

use super::files::DATABASE_FILE;

/// What to do about a damaged database: the end of a sentence.
pub const RESTORE_HINT: &str = "put a backup in its place with `hearth-server restore FILE`";

/// A failed read or write, worded for the log. A client gets `internal_error` or `unavailable`, never this text.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused a statement or failed.
    #[error("database: {0}")]
    Sqlite(rusqlite::Error),
    /// The file is no longer a sound database.
    #[error("the database is damaged ({0}): {RESTORE_HINT}")]
    Damaged(String),
    /// The disk has no room. Writes succeed again once there is room.
    #[error("the disk is full")]
    DiskFull,
    /// A queue is full, or the service is stopping.
    #[error("the database takes no more work now: {0}")]
    Busy(&'static str),
    /// A read exceeded its time limit and was cancelled. A smaller read may succeed.
    #[error("a read took too long and was cancelled")]
    TimeUp,
    /// A row holds a value that this program never stores.
    #[error("stored data is not as expected: {0}")]
    Corrupt(String),
    /// A file beside the database could not be read or written.
    #[error("file {0}: {1}")]
    File(PathBuf, io::Error),
    /// A closure panicked; its transaction was rolled back.
    #[error("a database job panicked")]
    Panicked,
}

impl StoreError {
    /// Whether the same request may succeed once the machine has room or time again.
    pub fn is_transient(&self) -> bool {
        match self {
            StoreError::DiskFull | StoreError::Busy(_) | StoreError::TimeUp => true,
            StoreError::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy | ErrorCode::SystemIoFailure)
            ),
            StoreError::Damaged(_) | StoreError::Corrupt(_) | StoreError::File(..) | StoreError::Panicked => false,
        }
    }

    /// The fault of a file operation.
    pub fn of_file(path: &Path, error: io::Error) -> StoreError {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                StoreError::DiskFull
            }
            _ => StoreError::File(path.to_owned(), error),
        }
    }

    /// Turns an interrupted statement into [`StoreError::TimeUp`]. Only reads with a deadline are interrupted.
    pub(super) fn or_time_up(self) -> StoreError {
        match self {
            StoreError::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                StoreError::TimeUp
            }
            other => other,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        if is_damage(&error) { StoreError::Damaged(error.to_string()) } else { StoreError::Sqlite(error) }
    }
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> StoreError {
        match error {
            OpenError::Sqlite(error) => StoreError::Sqlite(error),
            OpenError::Damaged(cause) => StoreError::Damaged(cause),
            OpenError::DiskFull => StoreError::DiskFull,
            other => StoreError::Corrupt(other.to_string()),
        }
    }
}

/// Why a data directory could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file or directory could not be created or read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// SQLite refused a statement or failed.
    #[error("{0}")]
    Sqlite(rusqlite::Error),
    /// The file is no longer a sound database.
    #[error("the database is damaged ({0}): {RESTORE_HINT}")]
    Damaged(String),
    /// The file or its directory is read-only. Readers write too: they share the index of the write-ahead log.
    #[error("{0} cannot be written to, which even reading the database needs: {1}")]
    Unwritable(PathBuf, io::Error),
    /// A directory or file of the database belongs to another user.
    #[error(
        "{0} belongs to another user; run this program as that user, or give the data directory to this user with `chown -R`"
    )]
    OtherOwner(PathBuf),
    /// Other users may write to a directory or file of the database.
    #[error("other users may write to {0}; look at what is in it, then take the right away with `chmod go-rwx {0}`")]
    WritableByOthers(PathBuf),
    /// A directory that this program empties is a symbolic link.
    #[error("{0} is no directory but a link; remove it, and the directory is created anew")]
    Link(PathBuf),
    /// The directory has files of other programs, and no database.
    #[error(
        "it has no {DATABASE_FILE}, but other files, such as `{0}`; name the right directory with --data, or an empty one"
    )]
    ForeignFiles(String),
    /// A file in place of a lock file is no lock file of this program.
    #[error("{} is not a lock file of this program; move the file away and try again", .0.display())]
    ForeignLock(PathBuf),
    /// The disk is full. Readers need room too: they share the index of the write-ahead log.
    #[error("its disk is full, and even reading the database needs a few kilobytes: make room and try again")]
    DiskFull,
    /// The file has no table of homes.
    #[error(
        "{DATABASE_FILE} is empty or belongs to another program: {RESTORE_HINT}; if this directory never held data, \
         remove the file, and a new database is created"
    )]
    Empty,
    /// A version before the first release made the tables.
    #[error(
        "{DATABASE_FILE} was made by a version of Hearth before the first release, and this version cannot read it: \
         export the data with that version, then move the file away, and a new database is created"
    )]
    PreRelease,
    /// A migration failed. The database is unchanged.
    #[error("the database could not be brought to this version: {0}")]
    Migration(String),
    /// A newer version of this program has changed the tables. The database is unchanged.
    #[error(
        "the database has the migration {0} of a newer version of this program, which this version does not know: \
         update this program"
    )]
    Newer(String),
    /// The linked SQLite can lose writes when two connections checkpoint at once.
    #[error("SQLite {0} is linked, at least 3.51.3 is needed")]
    OldSqlite(&'static str),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> OpenError {
        match error.sqlite_error() {
            _ if is_damage(&error) => OpenError::Damaged(error.to_string()),
            Some(cause) if cause.code == ErrorCode::DiskFull || cause.extended_code == ffi::SQLITE_IOERR_SHMSIZE => {
                OpenError::DiskFull
            }
            _ => OpenError::Sqlite(error),
        }
    }
}

impl From<refinery::Error> for OpenError {
    fn from(error: refinery::Error) -> OpenError {
        match error.kind() {
            refinery::error::Kind::MissingVersion(migration) => OpenError::Newer(migration.to_string()),
            refinery::error::Kind::Connection(_, cause) if cause.downcast_ref().is_some_and(is_damage) => {
                OpenError::Damaged(cause.to_string())
            }
            refinery::error::Kind::Connection(_, cause) => OpenError::Migration(cause.to_string()),
            _ => OpenError::Migration(error.to_string()),
        }
    }
}

/// Whether SQLite reports that a file is not a database, or not a sound database.
fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_is_reported_as_disk_full() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert!(OpenError::from(error).to_string().contains("disk is full"), "{code}");
        }
    }
}

//! What can go wrong with the replica database, and what callers ask about a failure. Must not know tables or statements.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

use super::{files, migrations};

/// SQLite cannot open or read with less free space: its shared memory alone takes 32 KiB.
const READ_BYTES_MIN: u64 = 64 << 10;
/// SQLite cannot write with less free space. Writes go out in larger pieces, and SQLite frees some space after a failure.
const WRITE_BYTES_MIN: u64 = 1 << 20;

/// What can go wrong with the replica database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused a statement or failed.
    #[error("the replica database: {0}")]
    Sqlite(rusqlite::Error),
    /// A migration failed.
    #[error("the replica's tables cannot be created: {0}")]
    Migration(refinery::Error),
    /// A file or directory of the replica cannot be used.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    /// The database file is missing, but its write-ahead log exists. A new database would delete the log.
    #[error("{0} is missing, but its log is there and may hold edits that the server does not have")]
    Missing(PathBuf),
    /// The file is a SQLite database of another program.
    #[error("{0} is a database of another program")]
    Foreign(PathBuf),
    /// The file is not a SQLite database, and no replica file stands beside it.
    #[error("{0} is of another program: it is not a SQLite database, and no file of a replica is beside it")]
    NotADatabase(PathBuf),
    /// The file is empty, and the files beside it show that it was in use.
    #[error("{0} is empty, but it was in use before")]
    Emptied(PathBuf),
    /// The main file does not belong to the log beside it.
    #[error("{0} does not belong to its log {0}-wal: an older copy or another database was put there")]
    NotOfItsLog(PathBuf),
    /// A look through the file has found damage, in SQLite's words.
    #[error("the replica database is damaged: {0}")]
    DamagedPages(String),
    /// Tables that only migrations create are missing.
    #[error("the replica database lacks these tables: {0}")]
    MissingTables(String),
    /// Text has another encoding than UTF-8. SQLite fixes the encoding when it creates a database.
    #[error("the replica database stores its texts as {0}, but the triggers that check values need UTF-8")]
    WrongEncoding(String),
    /// The database was rebuilt again and again.
    #[error(
        "{0} damaged copies are beside the replica database: its disk may be failing. Look at the copies, delete those that \
         you do not need, and rebuild again"
    )]
    TooManyDamagedCopies(usize),
    /// A person's UNIQUE index refuses a record of the server.
    #[error(
        "the UNIQUE index {index} on {table} is not the replica's own. It refuses a record of the server, because two \
         records there have equal values"
    )]
    RefusedByUniqueIndex {
        /// The name of the index.
        index: String,
        /// The table of the index.
        table: String,
    },
    /// A person's index, column or trigger may have refused a record of the server.
    #[error("SQLite refuses what the sync writes: {sentence}. The cause is probably not the replica's own: {by}")]
    RefusedByUserObject {
        /// SQLite's message.
        sentence: String,
        /// The objects that can have refused the record, separated by commas.
        by: String,
    },
    /// The path no longer leads to the file that was opened.
    #[error("{0} was moved, deleted, emptied or replaced while it was open; nothing more is written to the old file")]
    Moved(PathBuf),
    /// Another program has replaced the content of the database while a sync had it open, for example by SQLite's `.restore`.
    #[error("another program has put other content into the database")]
    ContentReplaced,
    /// Another build replaced the triggers and views since this process opened the database.
    #[error(
        "another version of this program has replaced the replica's triggers and views; this process must start again"
    )]
    SchemaReplaced,
    /// A newer version of this program made the database.
    #[error(
        "the replica database has schema {theirs}, made by a newer version of this program; this version knows {ours}: \
         update it"
    )]
    Newer {
        /// The version of the database.
        theirs: String,
        /// The newest version that this program knows.
        ours: String,
    },
    /// The database was made before the first release: its tables differ from those of every release.
    #[error(
        "the replica database was made before the first release of Hearth, and this version cannot read its tables"
    )]
    BeforeRelease,
    /// The database holds a value that no version of this program writes: the file was changed from outside.
    #[error("the replica database holds {0}")]
    InvalidContent(String),
    /// An unexpected condition that is not the fault of the file.
    #[error("the replica met {0}")]
    Unexpected(String),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        StoreError::Sqlite(error)
    }
}

impl From<refinery::Error> for StoreError {
    fn from(error: refinery::Error) -> StoreError {
        use refinery::error::Kind;
        let cause = match error.kind() {
            Kind::MissingVersion(migration) => {
                Some(StoreError::Newer { theirs: migration.to_string(), ours: migrations::newest() })
            }
            Kind::Connection(_, cause) => match cause.downcast_ref() {
                Some(rusqlite::Error::SqliteFailure(code, text)) => {
                    Some(StoreError::Sqlite(rusqlite::Error::SqliteFailure(*code, text.clone())))
                }
                _ => None,
            },
            _ => None,
        };
        // A full disk, damage or another writer is not the migration's fault. A refused statement is.
        cause.filter(|cause| !cause.is_refused_statement()).unwrap_or(StoreError::Migration(error))
    }
}

impl StoreError {
    /// Names the file of an error.
    pub(crate) fn at(path: &Path) -> impl Fn(std::io::Error) -> StoreError {
        move |error| StoreError::File(path.to_owned(), error)
    }

    /// True when the file is not a sound database of this version. Only a rebuild helps, if the disk still works.
    pub fn is_damaged(&self) -> bool {
        use StoreError::{
            BeforeRelease, DamagedPages, Emptied, InvalidContent, Missing, MissingTables, NotOfItsLog,
            TooManyDamagedCopies, WrongEncoding,
        };
        match self {
            Missing(_) | Emptied(_) | NotOfItsLog(_) | WrongEncoding(_) | MissingTables(_) => true,
            TooManyDamagedCopies(_) | InvalidContent(_) | BeforeRelease | DamagedPages(_) => true,
            StoreError::Sqlite(rusqlite::Error::Utf8Error(..)) => true,
            // The file ends within a page.
            _ if self.extended_code() == Some(ffi::SQLITE_IOERR_SHORT_READ) => true,
            _ => matches!(self.code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)),
        }
    }

    /// True when an index or trigger of a person refuses a write. All other writes succeed.
    pub fn is_refused_by_user_object(&self) -> bool {
        matches!(self, StoreError::RefusedByUniqueIndex { .. } | StoreError::RefusedByUserObject { .. })
    }

    /// True when the disk had no room for a write. The same write may succeed later.
    pub fn is_full(&self) -> bool {
        match self {
            StoreError::File(_, error) => matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded),
            _ => self.code() == Some(ErrorCode::DiskFull),
        }
    }

    /// True when the disk did not take a write, because it is full or fails. The same write may succeed later.
    pub fn is_write_failure(&self) -> bool {
        const WRITE_FAILURES: [i32; 5] = [
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR_TRUNCATE,
            ffi::SQLITE_IOERR_SHMSIZE,
            ffi::SQLITE_IOERR_DIR_FSYNC,
        ];
        self.is_full() || self.extended_code().is_some_and(|code| WRITE_FAILURES.contains(&code))
    }

    /// True when the file system gives no file locks.
    pub(crate) fn is_without_locks(&self, db: &Path) -> bool {
        match self {
            StoreError::File(_, error) => files::is_without_locks(error),
            _ => self.is_busy() && files::lacks_locks(db),
        }
    }

    /// True when the disk of the database has too little room. SQLite reports a full disk and a failing disk with the same
    /// codes, so the free space decides.
    pub(crate) fn is_out_of_room(&self, db: &Path) -> bool {
        let bytes_min = if self.is_write_failure() { WRITE_BYTES_MIN } else { READ_BYTES_MIN };
        let is_low = || files::free_bytes(files::directory(db)).is_some_and(|free| free < bytes_min);
        self.is_full() || (self.is_file_failure() && is_low())
    }

    /// True when SQLite may not write to the file, or cannot open it.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
    }

    /// True when SQLite could not create, read or write a file. A full disk is one of many causes.
    pub(crate) fn is_file_failure(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure))
    }

    /// True when SQLite refused a statement, or a value that the statement writes.
    pub(crate) fn is_refused_statement(&self) -> bool {
        matches!(self.code(), Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::Unknown))
    }

    /// True when another connection holds the database. The same statement may succeed later.
    pub(crate) fn is_busy(&self) -> bool {
        self.code() == Some(ErrorCode::DatabaseBusy)
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            StoreError::Sqlite(error) => error.sqlite_error_code(),
            _ => None,
        }
    }

    /// SQLite's extended result code.
    fn extended_code(&self) -> Option<i32> {
        match self {
            StoreError::Sqlite(error) => error.sqlite_error().map(|error| error.extended_code),
            _ => None,
        }
    }
}

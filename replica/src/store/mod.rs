//! The replica database and the only SQL of this crate. Must not know HTTP or when anything happens.
//!
//! - [`open`]: files, connections, pragmas, migrations; [`snapshot`]: what can be read and not be written to. [`gate`]: the transactions of whoever keeps the replica.
//! - [`mod@schema`]: the tables, triggers and views, generated from the contract.
//! - [`mirror`]: what the server says becomes rows. [`recovery`]: after a gap in what it says, or when it was put back.
//! - [`edits`]: local changes, their way to the server, their end, and what people decide about them.
//! - [`read`]: what screens, commands and scripts read. [`rows`]: rows as values.
//! - [`rescue`]: what to do when the database is damaged. [`reserve`]: room for the words when the disk is full.
//! - [`standing`], [`status`]: where the replica stands; [`wishes`], [`journal`]: what people ask of it, and what it has done.

pub(crate) mod edits;
pub(crate) mod gate;
pub(crate) mod journal;
mod migrations;
pub(crate) mod mirror;
pub(crate) mod open;
pub(crate) mod place;
pub(crate) mod read;
pub(crate) mod recovery;
pub(crate) mod rescue;
pub(crate) mod reserve;
mod rows;
mod schema;
pub(crate) mod snapshot;
mod sql_words;
pub(crate) mod standing;
pub(crate) mod status;
pub(crate) mod wishes;

#[cfg(test)]
mod tests;

use std::path::Path;

/// With less room than this, SQLite's failures to open or read are for want of it: its shared memory alone takes 32 KiB.
const ROOM_BYTES_LEAST: u64 = 64 << 10;
/// The same of its failures to write, which it does in larger pieces, and after which some room is given back.
const ROOM_BYTES_LOW: u64 = 1 << 20;

pub(crate) use self::schema::others::{is_typed, named, refusing, unwritable};

/// A connection to a replica database; other modules only hand it on.
pub(crate) use rusqlite::Connection;

/// What can go wrong with the database itself.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite refused or failed.
    #[error("the replica database: {0}")]
    Sqlite(rusqlite::Error),
    /// The tables could not be brought to this version.
    #[error("the replica's schema: {0}")]
    Migration(refinery::Error),
    /// A file or directory of the replica.
    #[error("{0}: {1}")]
    File(std::path::PathBuf, std::io::Error),
    /// Its log is there and it is not: opening it anew would throw the log away.
    #[error("{0} is missing, but its log is there and may hold changes that the server has not seen")]
    Missing(std::path::PathBuf),
    /// It is a database of something else.
    #[error("{0} is a database of another program")]
    Foreign(std::path::PathBuf),
    /// It is no database, and was none of ours.
    #[error("{0} is of another program: it is no database, and nothing of a replica stands beside it")]
    NoDatabase(std::path::PathBuf),
    /// It is empty, and what stands beside it shows that it was not.
    #[error("{0} is empty, but it held something when it was used last")]
    Emptied(std::path::PathBuf),
    /// Tables of its own are missing.
    #[error("the replica database lacks {0}, which it cannot do without")]
    Lacks(String),
    /// Its texts are not kept as they must be, which is settled when a database is made.
    #[error(
        "the replica database keeps its texts as {0}, so that what is written to it is judged wrongly; it must be UTF-8"
    )]
    Encoded(String),
    /// It was made anew again and again.
    #[error(
        "the replica database holds {0} damaged copies of itself beside it: its disk may be failing. Look at them, delete \
         those that are not needed, and rebuild again"
    )]
    TooOften(usize),
    /// An index that somebody has made lets nothing stand twice, and the server has it twice.
    #[error(
        "the UNIQUE index {index} on {table} is not the replica's own and refuses what the server has: two records that are \
         equal there"
    )]
    Barred {
        /// The index.
        index: String,
        /// The table.
        table: String,
    },
    /// What somebody has made on the tables may have refused what the server has.
    #[error("SQLite refuses what the sync writes: {said}. Probably it comes from what is not the replica's own: {by}")]
    Hindered {
        /// What SQLite says.
        said: String,
        /// What can have refused it.
        by: String,
    },
    /// It is not where it was opened any more.
    #[error(
        "{0} was moved, deleted, emptied or replaced while it was open here; nothing more is written to what it was"
    )]
    Moved(std::path::PathBuf),
    /// Another build has renewed it since it was opened.
    #[error(
        "another version of this program has made the replica's triggers and views anew; this one does not know what \
         they are for, and begins again"
    )]
    Renewed,
    /// A newer version of this program made it.
    #[error(
        "the replica database has schema {theirs}, made by a newer version of this program; this one knows {ours}: update it"
    )]
    Newer {
        /// What the database has.
        theirs: String,
        /// What this program would make of it.
        ours: String,
    },
    /// The database was made before the first release: its tables differ from those of every release.
    #[error(
        "the replica database was made before the first release of Hearth, and this version cannot read its tables"
    )]
    BeforeRelease,
    /// The database holds what nobody can have written there: its file was changed under it.
    #[error("the replica database holds {0}")]
    Garbled(String),
    /// Something that cannot be, and is no fault of the file.
    #[error("the replica met {0}")]
    Odd(String),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        StoreError::Sqlite(error)
    }
}

impl From<refinery::Error> for StoreError {
    fn from(error: refinery::Error) -> StoreError {
        use refinery::error::Kind;
        let met = match error.kind() {
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
        // A full disk, damage and another writer are what they are for any statement; what SQL refuses is the migration's.
        met.filter(|met| !met.is_of_sql()).unwrap_or(StoreError::Migration(error))
    }
}

impl StoreError {
    /// Whether the file is no sound database; nothing but a rebuild helps, if that still does.
    pub fn is_damaged(&self) -> bool {
        use StoreError::{BeforeRelease, Emptied, Encoded, Garbled, Lacks, Missing, TooOften};
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        matches!(self, Missing(_) | Emptied(_) | Encoded(_) | Lacks(_) | TooOften(_) | Garbled(_) | BeforeRelease)
            || matches!(self, StoreError::Sqlite(error)
            if matches!(error, rusqlite::Error::Utf8Error(..))
                || matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase)))
    }

    /// Whether there was no room to write; the same again may succeed once there is.
    pub fn is_full(&self) -> bool {
        match self {
            StoreError::Sqlite(error) => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            StoreError::File(_, error) => {
                matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }

    /// Whether the disk did not take what was written, for want of room or because it fails; the same again may succeed once
    /// that is over.
    pub fn is_unwritten(&self) -> bool {
        use rusqlite::ffi;
        const REFUSED: [i32; 5] = [
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR_TRUNCATE,
            ffi::SQLITE_IOERR_SHMSIZE,
            ffi::SQLITE_IOERR_DIR_FSYNC,
        ];
        let code = match self {
            StoreError::Sqlite(error) => error.sqlite_error().map(|error| error.extended_code),
            _ => None,
        };
        self.is_full() || code.is_some_and(|code| REFUSED.contains(&code))
    }

    /// Whether it is for want of room, as far as the disk of the database shows: SQLite says the same of one that fails.
    pub(crate) fn is_for_room(&self, db: &Path) -> bool {
        let least = if self.is_unwritten() { ROOM_BYTES_LOW } else { ROOM_BYTES_LEAST };
        let is_low = || place::free(place::directory(db)).is_some_and(|free| free < least);
        self.is_full() || (self.is_of_files() && is_low())
    }

    /// Whether SQLite could not make, read or write a file. To be out of room has many names, and this is one of them.
    pub(crate) fn is_of_files(&self) -> bool {
        use rusqlite::ErrorCode::{CannotOpen, SystemIoFailure};
        matches!(self, StoreError::Sqlite(error)
            if matches!(error.sqlite_error_code(), Some(CannotOpen | SystemIoFailure)))
    }

    /// Whether SQLite refused what a statement asks for, or what it would write.
    pub(crate) fn is_of_sql(&self) -> bool {
        use rusqlite::ErrorCode::{ConstraintViolation, TypeMismatch, Unknown};
        matches!(self, StoreError::Sqlite(error)
            if matches!(error.sqlite_error_code(), Some(ConstraintViolation | TypeMismatch | Unknown)))
    }

    /// Whether another connection holds the database; the same again may succeed.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, StoreError::Sqlite(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy))
    }
}

/// This moment as the contract writes it, in SQL. Stable within one statement.
pub(crate) const NOW: &str = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

/// Adds a line to `sync_log`.
pub(crate) fn log(tx: &Connection, level: &str, text: &str) -> Result<(), StoreError> {
    tx.prepare_cached("INSERT INTO sync_log (level, text) VALUES (?1, ?2)")?.execute((level, text))?;
    tx.prepare_cached("DELETE FROM sync_log WHERE id <= (SELECT max(id) FROM sync_log) - 10000")?.execute([])?;
    Ok(())
}

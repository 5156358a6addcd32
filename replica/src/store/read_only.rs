//! Opens databases that cannot be written: in a snapshot of a disk, on a read-only file system, in another user's directory.
//! Must not create a file.

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use super::files::beside;
use super::schema::SchemaState;
use super::{StoreError, connection, schema};

/// Opens a replica read-only. An error when the replica must be migrated first.
pub(crate) fn open_replica(db: &Path) -> Result<Connection, StoreError> {
    let connection = open_any(db)?;
    match schema::state(&connection)? {
        SchemaState::Current => Ok(connection),
        SchemaState::Altered | SchemaState::Outdated => {
            Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_READONLY), None).into())
        }
    }
}

/// Opens any existing database read-only.
pub(crate) fn open_any(db: &Path) -> Result<Connection, StoreError> {
    let opened = connection::read_only(db)?;
    match connection::data_version(&opened).and_then(|_| connection::schema_version(&opened)) {
        Ok(_) => Ok(opened),
        // A process that has the database open keeps a write-ahead log. Without a log no process writes, and the file can be
        // read without locks and shared memory.
        Err(error) if cannot_create_file(&error) && !beside(db, "-wal").exists() => {
            open_immutable(db).unwrap_or(Err(error))
        }
        Err(error) => Err(error),
    }
}

/// True when SQLite needed to create a file, such as the shared memory of the log, and could not.
fn cannot_create_file(error: &StoreError) -> bool {
    matches!(error, StoreError::Sqlite(error)
        if matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::DiskFull))
            || error.sqlite_error().is_some_and(|why| why.extended_code == ffi::SQLITE_IOERR_SHMSIZE))
}

/// The characters of a path that a URI holds in another form.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'_').remove(b'-').remove(b'~');

/// Opens a file that no process changes. None when the path is not UTF-8, because SQLite takes the option only in a URI.
fn open_immutable(db: &Path) -> Option<Result<Connection, StoreError>> {
    let name = utf8_percent_encode(db.to_str()?, ENCODED);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Some(Connection::open_with_flags(format!("file:{name}?immutable=1"), flags).map_err(StoreError::from))
}

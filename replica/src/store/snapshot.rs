//! A database that can be read and not be written to: in a snapshot of a disk, on one that is mounted for reading alone, or in a
//! directory of somebody else. Must not make a file.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::store::open::{self, beside};
use crate::store::{StoreError, schema};

/// Opens a replica for reading alone, as it is: one that is to be brought up to date first cannot be read.
pub(crate) fn replica(db: &Path) -> Result<Connection, StoreError> {
    let connection = read_only(db)?;
    match schema::is_current(&connection)? {
        true => Ok(connection),
        false => {
            Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY), None).into())
        }
    }
}

/// Opens an existing database for reading alone, wherever it stands.
pub(crate) fn read_only(db: &Path) -> Result<Connection, StoreError> {
    let connection = open::read_only(db)?;
    match open::data_version(&connection).and_then(|_| open::schema_version(&connection)) {
        Ok(_) => Ok(connection),
        // Who has it open has a log beside it. Without one it is at rest, and to read it needs no word with others.
        Err(error) if is_shut(&error) && !beside(db, "-wal").exists() => at_rest(db).unwrap_or(Err(error)),
        Err(error) => Err(error),
    }
}

/// Whether SQLite wanted to make a file and could not.
fn is_shut(error: &StoreError) -> bool {
    matches!(error, StoreError::Sqlite(error)
        if matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::DiskFull))
            || error.sqlite_error().is_some_and(|why| why.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE))
}

/// Opens a file that nobody changes. None: its name cannot be said to SQLite so.
fn at_rest(db: &Path) -> Option<Result<Connection, StoreError>> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
    let name: String = db
        .to_str()?
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Some(Connection::open_with_flags(format!("file:{name}?immutable=1"), flags).map_err(StoreError::from))
}

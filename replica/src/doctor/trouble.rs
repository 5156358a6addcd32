//! What keeps a database from being used, and what to type about it: one judge for `doctor` and for every command. Must
//! not open the database.

use std::path::Path;

use super::files::directory;
use super::{AGREE, ANOTHER_HOME, REBUILD, quoted};
use crate::model::BlockCause;
use crate::store::files::beside;
use crate::store::{StoreError, files};

/// SQLite's primary result codes, which never change: it may not write, it cannot open.
const READONLY: i32 = 8;
const CANTOPEN: i32 = 14;

/// What kind of trouble it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The file is no sound database.
    Damaged,
    /// Its path does not lead to what was opened any more.
    Moved,
    /// Another program made it.
    Foreign,
    /// A newer program made it.
    Newer,
    /// Another program is writing to it, for long.
    Busy,
    /// Files or their directory may not be written to, or not be reached.
    Shut,
    /// There is no room on the disk.
    Full,
    /// Its disk does not take what is written, though there is room.
    Unwritten,
    /// Something else.
    Other,
}

/// What keeps a database from being used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What kind it is.
    pub cause: Cause,
    /// What is so, in a sentence.
    pub text: String,
    /// What to type about it.
    pub next: String,
}

/// Judges why a database could not be used.
pub fn trouble(db: &Path, error: &StoreError) -> Trouble {
    let (cause, file) = (cause(db, error), db.display());
    let (text, next) = match cause {
        Cause::Damaged if matches!(error, StoreError::TooManyDamagedCopies(_)) => {
            let copies = beside(db, ".damaged-");
            (error.to_string(), format!("ls -l {0}*, rm those that are not needed, then: {REBUILD}", quoted(&copies)))
        }
        Cause::Damaged if matches!(error, StoreError::Missing(_)) => {
            (error.to_string(), format!("find the file and put it back; {REBUILD} gives up what only its log holds"))
        }
        Cause::Damaged => (error.to_string(), format!("{REBUILD}; edits that can be read are kept")),
        Cause::Moved => {
            let look =
                format!("ls -la {}; put it back if it was not meant, then the same again", quoted(directory(db)));
            (error.to_string(), look)
        }
        Cause::Foreign => (error.to_string(), "name another file with --db, or none".to_owned()),
        Cause::Newer if matches!(error, StoreError::SchemaReplaced) => (error.to_string(), "the same again".to_owned()),
        Cause::Newer => (error.to_string(), "install the newest hearth-replica".to_owned()),
        Cause::Busy => (
            format!("another program is writing to {file} and does not come to an end"),
            format!("lsof {}, end that program's transaction, then the same again", quoted(db)),
        ),
        Cause::Shut => {
            let text = match error {
                StoreError::File(..) => error.to_string(),
                _ => format!("{file} cannot be written to here: {error}"),
            };
            (text, format!("ls -la {}; it and the files of the replica must be yours to write", quoted(directory(db))))
        }
        Cause::Full => (format!("the disk that holds {file} is full"), make_room(db)),
        Cause::Unwritten => (unwritten(&file.to_string(), error), look_at_disk(db)),
        Cause::Other => {
            let next = match error {
                StoreError::RefusedByUniqueIndex { index, .. } => {
                    format!("{}; then the same again", without_unique(index))
                }
                StoreError::RefusedByUserObject { .. } => format!("{WITHOUT}; then the same again"),
                StoreError::Migration(_) => format!(
                    "sqlite3 {} .schema, and rename what is not the replica's own and has the name of something of its; then \
                     the same again",
                    quoted(db)
                ),
                _ => "hearth-replica doctor".to_owned(),
            };
            (error.to_string(), next)
        }
    };
    Trouble { cause, text, next }
}

/// What to type about a full disk.
pub fn make_room(db: &Path) -> String {
    format!("df -h {}, make room, then: hearth-replica doctor", quoted(directory(db)))
}

/// What to type about a disk that has room and does not take what is written.
fn look_at_disk(db: &Path) -> String {
    format!("df -h {}, then dmesg and quota, then: hearth-replica doctor", quoted(directory(db)))
}

/// What to type about an index of somebody's that lets nothing stand twice.
pub(super) fn without_unique(index: &str) -> String {
    format!("DROP INDEX \"{}\", and make it anew without UNIQUE if it is needed", index.replace('"', "\"\""))
}

/// What to type about something of somebody's that refuses what the server has.
pub(super) const WITHOUT: &str = "DROP INDEX, DROP TRIGGER or ALTER TABLE ... DROP COLUMN, whichever it is";

/// A disk that fails says so in many ways, of which SQLite makes one.
pub(crate) fn unwritten(what: &str, error: &StoreError) -> String {
    format!(
        "the disk that holds {what} does not take what is written to it ({error}): it fails, is mounted for reading alone, or your share of it is used up"
    )
}

/// What to type where syncing is blocked; None where the cause is not known.
pub fn after_block(db: &Path, cause: Option<BlockCause>) -> Option<String> {
    Some(match cause? {
        BlockCause::DiskFull => make_room(db),
        BlockCause::DiskUnwritable => look_at_disk(db),
        BlockCause::Deletions => AGREE.to_owned(),
        BlockCause::UnknownCursor => REBUILD.to_owned(),
        BlockCause::AnotherHome => ANOTHER_HOME.to_owned(),
    })
}

fn cause(db: &Path, error: &StoreError) -> Cause {
    let code = match error {
        StoreError::Sqlite(error) => error.sqlite_error().map(|error| error.extended_code & 0xff),
        _ => None,
    };
    match error {
        StoreError::Newer { .. } | StoreError::SchemaReplaced => Cause::Newer,
        StoreError::Foreign(_) | StoreError::NotADatabase(_) => Cause::Foreign,
        StoreError::Moved(_) => Cause::Moved,
        _ if error.is_damaged() => Cause::Damaged,
        _ if error.is_out_of_room(db) => Cause::Full,
        _ if error.is_write_failure() => Cause::Unwritten,
        _ if error.is_busy() => Cause::Busy,
        StoreError::File(..) => Cause::Shut,
        _ => match code {
            // It was opened for looking alone because there was no room for more.
            Some(READONLY) if files::is_disk_full(directory(db)) => Cause::Full,
            Some(READONLY | CANTOPEN) => Cause::Shut,
            _ => Cause::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use rusqlite::ffi;

    use super::*;

    fn of_sqlite(code: i32) -> Trouble {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        trouble(Path::new("/home/a/replica.db"), &StoreError::Sqlite(error))
    }

    #[test]
    fn what_sqlite_says_is_told_as_what_there_is_to_do() {
        let busy = of_sqlite(ffi::SQLITE_BUSY_SNAPSHOT);
        assert_eq!(busy.cause, Cause::Busy);
        assert!(busy.next.starts_with("lsof /home/a/replica.db,"), "{busy:?}");
        for code in [ffi::SQLITE_READONLY, ffi::SQLITE_READONLY_DIRECTORY, ffi::SQLITE_CANTOPEN] {
            let shut = of_sqlite(code);
            assert_eq!(shut.cause, Cause::Shut, "{shut:?}");
            assert!(shut.next.starts_with("ls -la /home/a;"), "{shut:?}");
        }
        assert_eq!(of_sqlite(ffi::SQLITE_CORRUPT).cause, Cause::Damaged);
        assert_eq!(of_sqlite(ffi::SQLITE_FULL).cause, Cause::Full);
        assert_eq!(of_sqlite(ffi::SQLITE_ERROR).cause, Cause::Other);
    }

    #[test]
    fn a_disk_that_fails_is_no_full_disk() {
        for code in [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_TRUNCATE] {
            let fails = of_sqlite(code);
            assert_ne!(fails.cause, Cause::Full);
            assert!(
                fails.text.contains("does not take what is written to it") && fails.text.contains("I/O"),
                "{fails:?}"
            );
            assert!(fails.next.contains("df -h /home/a"), "{fails:?}");
        }
    }

    #[test]
    fn a_file_that_may_not_be_opened_is_no_full_disk() {
        let db = Path::new("/home/a/replica.db");
        let of = |kind: ErrorKind| trouble(db, &StoreError::File(db.to_owned(), io::Error::from(kind)));
        assert_eq!(of(ErrorKind::PermissionDenied).cause, Cause::Shut);
        assert!(of(ErrorKind::PermissionDenied).next.starts_with("ls -la /home/a;"));
        let full = of(ErrorKind::StorageFull);
        assert_eq!((full.cause, full.text.as_str()), (Cause::Full, "the disk that holds /home/a/replica.db is full"));
        assert!(full.next.starts_with("df -h /home/a, make room"));
    }
}

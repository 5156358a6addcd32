//! Why a database cannot be used, and the command to type next. Used by `doctor` and by every command. Must not open
//! the database.

use std::path::Path;

use super::advice::{DELETION_ADVICE, OTHER_HOME_ADVICE, REBUILD_COMMAND, REFILL_ADVICE};
use super::files::directory;
use super::text::shell_quoted;
use crate::model::BlockCause;
use crate::store::files::beside;
use crate::store::{StoreError, files};

/// Why a database cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The file is not a sound database.
    Damaged,
    /// The path leads to another file than the opened one, or to none.
    Moved,
    /// Another program created the file.
    Foreign,
    /// A newer version of this program migrated the file.
    Newer,
    /// Another program holds the write lock for long.
    Busy,
    /// The file system has no file locks.
    NoLocks,
    /// The files or their directory are not readable or not writable.
    NoAccess,
    /// The disk is full.
    DiskFull,
    /// The disk has room and still rejects writes.
    DiskUnwritable,
    /// Any other error.
    Other,
}

/// Why a database cannot be used, as a cause, a sentence and a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// The cause, for decisions of programs.
    pub cause: Cause,
    /// The cause as a sentence for people.
    pub text: String,
    /// The command to type next.
    pub next: String,
}

/// Finds the cause of an error. `db` is the path of the database.
pub fn diagnose(db: &Path, error: &StoreError) -> Diagnosis {
    let (cause, file) = (cause(db, error), db.display());
    let (text, next) = match cause {
        Cause::Damaged if matches!(error, StoreError::TooManyDamagedCopies(_)) => {
            let copies = beside(db, ".damaged-");
            (
                error.to_string(),
                format!("ls -l {0}*, rm those that are not needed, then: {REBUILD_COMMAND}", shell_quoted(&copies)),
            )
        }
        Cause::Damaged if matches!(error, StoreError::Missing(_)) => (
            error.to_string(),
            format!("find the file and put it back; {REBUILD_COMMAND} discards data that only its log holds"),
        ),
        Cause::Damaged => (error.to_string(), format!("{REBUILD_COMMAND}; edits that can be read are kept")),
        Cause::Moved => {
            let look = format!(
                "ls -la {}; put the file back if you did not move it, then repeat the command",
                shell_quoted(directory(db))
            );
            (error.to_string(), look)
        }
        Cause::Foreign => (error.to_string(), "name another file with --db, or none".to_owned()),
        Cause::Newer if matches!(error, StoreError::SchemaReplaced) => {
            (error.to_string(), "repeat the command".to_owned())
        }
        Cause::Newer => (error.to_string(), "install the newest hearth-replica".to_owned()),
        Cause::Busy => (
            format!("another program holds a write transaction on {file} for long"),
            format!("lsof {}, end that program's transaction, then repeat the command", shell_quoted(db)),
        ),
        Cause::NoLocks => (
            format!(
                "the file system of {file} gives no file locks; without locks, two programs could write at once and damage \
                 the database"
            ),
            format!(
                "mv {} to a local disk, with its other files, and name it with --db; or have the network disk mounted with \
                 locks (NFS: without nolock, and with a lock service on the server)",
                shell_quoted(db)
            ),
        ),
        Cause::NoAccess => {
            let text = match error {
                StoreError::File(..) => error.to_string(),
                _ => format!("{file} cannot be written to here: {error}"),
            };
            (
                text,
                format!(
                    "ls -la {}; you need write access to the directory and to the replica's files",
                    shell_quoted(directory(db))
                ),
            )
        }
        Cause::DiskFull => (format!("the disk that holds {file} is full"), free_space_advice(db)),
        Cause::DiskUnwritable => (crate::sync::write_failure_text(&file.to_string(), error), disk_check_advice(db)),
        Cause::Other => {
            let next = match error {
                StoreError::RefusedByUniqueIndex { index, .. } => {
                    format!("{}; then repeat the command", unique_index_advice(index))
                }
                StoreError::RefusedByUserObject { .. } => format!("{REFUSING_OBJECT_ADVICE}; then repeat the command"),
                StoreError::Migration(_) => format!(
                    "sqlite3 {} .schema, and rename your objects whose names the replica uses; then \
                     repeat the command",
                    shell_quoted(db)
                ),
                _ => "hearth-replica doctor".to_owned(),
            };
            (error.to_string(), next)
        }
    };
    Diagnosis { cause, text, next }
}

/// What to type about a full disk.
pub fn free_space_advice(db: &Path) -> String {
    format!("df -h {}, make room, then: hearth-replica doctor", shell_quoted(directory(db)))
}

/// What to type about a disk with room that rejects writes.
fn disk_check_advice(db: &Path) -> String {
    format!("df -h {}, then dmesg and quota, then: hearth-replica doctor", shell_quoted(directory(db)))
}

/// What to type about a UNIQUE index of the user that rejects equal values.
pub(super) fn unique_index_advice(index: &str) -> String {
    format!("DROP INDEX \"{}\", then create it again without UNIQUE if needed", index.replace('"', "\"\""))
}

/// What to type about an index, trigger or column of the user that rejects rows of the server.
pub(super) const REFUSING_OBJECT_ADVICE: &str =
    "DROP INDEX, DROP TRIGGER or ALTER TABLE ... DROP COLUMN, whichever it is";

/// What to type when syncing is blocked. None when the cause is unknown.
pub fn block_advice(db: &Path, cause: Option<BlockCause>) -> Option<String> {
    Some(match cause? {
        BlockCause::DiskFull => free_space_advice(db),
        BlockCause::DiskUnwritable => disk_check_advice(db),
        BlockCause::Deletions => DELETION_ADVICE.to_owned(),
        BlockCause::UnknownCursor => REBUILD_COMMAND.to_owned(),
        BlockCause::AnotherHome => OTHER_HOME_ADVICE.to_owned(),
        BlockCause::Refill => REFILL_ADVICE.to_owned(),
    })
}

fn cause(db: &Path, error: &StoreError) -> Cause {
    match error {
        StoreError::Newer { .. } | StoreError::SchemaReplaced => Cause::Newer,
        StoreError::Foreign(_) | StoreError::NotADatabase(_) => Cause::Foreign,
        StoreError::Moved(_) => Cause::Moved,
        _ if error.is_damaged() => Cause::Damaged,
        _ if error.is_out_of_room(db) => Cause::DiskFull,
        _ if error.is_write_failure() => Cause::DiskUnwritable,
        _ if error.is_without_locks(db) => Cause::NoLocks,
        _ if error.is_busy() => Cause::Busy,
        StoreError::File(..) => Cause::NoAccess,
        // The database was opened read-only because the disk was full.
        _ if error.is_denied() && files::is_disk_full(directory(db)) => Cause::DiskFull,
        _ if error.is_denied() => Cause::NoAccess,
        _ => Cause::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use rusqlite::ffi;
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn each_error_has_its_cause_and_next_step() {
        let db = Path::new("/home/a/replica.db");
        let sqlite = |code| StoreError::Sqlite(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        let file = |error: io::Error| StoreError::File(db.to_owned(), error);
        let errno = |number: Errno| file(io::Error::from_raw_os_error(number.raw_os_error()));
        let (shut, full) = ("ls -la /home/a;", "the disk that holds /home/a/replica.db is full");
        let (unwritten, no_locks) = ("does not take what is written to it", "/home/a/replica.db gives no file locks");
        let elsewhere = "mv /home/a/replica.db to a local disk, with its other files, and name it with --db;";
        for (error, cause, text, next) in [
            (sqlite(ffi::SQLITE_BUSY_SNAPSHOT), Cause::Busy, "", "lsof /home/a/replica.db,"),
            (sqlite(ffi::SQLITE_READONLY), Cause::NoAccess, "cannot be written to here", shut),
            (sqlite(ffi::SQLITE_READONLY_DIRECTORY), Cause::NoAccess, "cannot be written to here", shut),
            (sqlite(ffi::SQLITE_CANTOPEN), Cause::NoAccess, "cannot be written to here", shut),
            (file(ErrorKind::PermissionDenied.into()), Cause::NoAccess, "", shut),
            (sqlite(ffi::SQLITE_CORRUPT), Cause::Damaged, "", "hearth-replica rebuild"),
            (sqlite(ffi::SQLITE_ERROR), Cause::Other, "", "hearth-replica doctor"),
            (sqlite(ffi::SQLITE_FULL), Cause::DiskFull, full, "df -h /home/a, make room"),
            (file(ErrorKind::StorageFull.into()), Cause::DiskFull, full, "df -h /home/a, make room"),
            (sqlite(ffi::SQLITE_IOERR_WRITE), Cause::DiskUnwritable, unwritten, "df -h /home/a"),
            (sqlite(ffi::SQLITE_IOERR_FSYNC), Cause::DiskUnwritable, unwritten, "df -h /home/a"),
            (sqlite(ffi::SQLITE_IOERR_TRUNCATE), Cause::DiskUnwritable, unwritten, "df -h /home/a"),
            (errno(Errno::NOLCK), Cause::NoLocks, no_locks, elsewhere),
            (errno(Errno::OPNOTSUPP), Cause::NoLocks, no_locks, elsewhere),
        ] {
            let found = diagnose(db, &error);
            assert_eq!(found.cause, cause, "{found:?}");
            assert!(found.text.contains(text) && found.next.starts_with(next), "{found:?}");
            assert!(cause != Cause::DiskFull || found.text == full, "{found:?}");
            assert!(cause != Cause::DiskUnwritable || found.text.contains("I/O"), "{found:?}");
        }
    }
}

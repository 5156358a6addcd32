//! Opening: files and their permissions, pragmas, limits, migrations. Must not know what is stored.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, read_dir, set_permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};
use rustix::fs::{Access, access};

use super::files::{beside, make_new, remove_if_there, replace};

/// Why a data directory could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file or directory could not be made or read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// SQLite refused.
    #[error("{0}")]
    Sqlite(rusqlite::Error),
    /// The file is no sound database any more.
    #[error("the database is damaged ({0}): {RESTORE}")]
    Damaged(String),
    /// Nothing can be written where it lies. Whoever reads only needs that too: readers tell each other what they read.
    #[error("{0} cannot be written to, which even reading the database needs: {1}")]
    Unwritable(PathBuf, io::Error),
    /// The disk is full. Whoever reads only needs room for that too: readers tell each other what they read.
    #[error("its disk is full, and even reading the database needs a few kilobytes: make room and try again")]
    DiskFull,
    /// There is a file, and no homes are in it.
    #[error(
        "{FILE} is empty, or of another program: {RESTORE}; if nothing was ever kept here, remove it, and a new one is made"
    )]
    Empty,
    /// A migration failed; the database is as it was.
    #[error("the database could not be brought to this version: {0}")]
    Migration(String),
    /// A newer version of this program has changed its tables; it is as it was.
    #[error(
        "the database has the migration {0} of a newer version of this program, which this one does not know: update it"
    )]
    Newer(String),
    /// Versions before this lose writes when two connections checkpoint at once.
    #[error("SQLite {0} is linked, at least 3.51.3 is needed")]
    OldSqlite(&'static str),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> OpenError {
        match error.sqlite_error() {
            _ if is_damage(&error) => OpenError::Damaged(error.to_string()),
            Some(why) if why.code == ErrorCode::DiskFull || why.extended_code == ffi::SQLITE_IOERR_SHMSIZE => {
                OpenError::DiskFull
            }
            _ => OpenError::Sqlite(error),
        }
    }
}

/// Whether SQLite says of a file that it is no database, or not a sound one.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase))
}

impl From<refinery::Error> for OpenError {
    fn from(error: refinery::Error) -> OpenError {
        match error.kind() {
            refinery::error::Kind::MissingVersion(migration) => OpenError::Newer(migration.to_string()),
            refinery::error::Kind::Connection(_, why) if why.downcast_ref().is_some_and(is_damage) => {
                OpenError::Damaged(why.to_string())
            }
            refinery::error::Kind::Connection(_, why) => OpenError::Migration(why.to_string()),
            _ => OpenError::Migration(error.to_string()),
        }
    }
}

mod migrations {
    refinery::embed_migrations!("../migrations/server");
}

/// Name of the database in the data directory.
pub(super) const FILE: &str = "hearth.db";
/// What to do about a database that is lost.
pub const RESTORE: &str = "put a backup in its place with `hearth-server restore FILE`";
/// Name of the directory of export files in the data directory.
pub const EXPORTS: &str = "exports";
/// Name of the file that a serving process holds locked.
const LOCK: &str = "lock";
/// Name of the file that all who have the database open hold locked together, and who puts it back alone.
const USERS: &str = "users";
/// The first SQLite without the WAL-reset fault.
const SQLITE_MIN: i32 = 3_051_003;
/// How long a statement waits for another process's transaction.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Pages that a reading thread holds, in KiB, negative as SQLite wants it: the upper levels of the trees. What lies deeper
/// the system holds for all.
const THREAD_CACHE_KIB: i64 = -4096;
/// Pages that a desk holds: which ids there are, for a home of 100,000 records. At desks most is read, a record or a page
/// at a time, and each page of the file that is not held costs a system call.
const DESK_CACHE_KIB: i64 = -12_288;
/// Bytes to which the log is cut after a checkpoint.
const LOG_BYTES_MAX: i64 = 64 * 1024 * 1024;
/// Statements kept ready on each connection.
const STATEMENTS: usize = 64;
/// Longest text or blob: the greatest body with room for its envelope.
const VALUE_BYTES_MAX: i32 = 16 * 1024 * 1024;

/// Makes the directory (0700), the file (0600) and the schema.
pub(super) fn prepare(dir: &Path) -> Result<PathBuf, OpenError> {
    if rusqlite::version_number() < SQLITE_MIN {
        return Err(OpenError::OldSqlite(rusqlite::version()));
    }
    make_directory(dir)?;
    // Several programs may start at once. Migrations are not made for that, and who is second to change the way a file is
    // written is told that it is locked, without any wait. The directory itself is what they take in turn.
    let setup = File::open(dir)?;
    setup.lock()?;
    let file = dir.join(FILE);
    if file.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        make(&file)?;
    }
    close_to_others(&file)?;
    let mut conn = whole(&file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    migrate(&mut conn)?;
    Ok(file)
}

/// Closes a database that is ours to others (0600), and what lies beside it: one that was copied here by hand has the mode with
/// which it was copied.
fn close_to_others(file: &Path) -> io::Result<()> {
    for end in ["", "-wal", "-shm"] {
        let path = beside(file, end);
        let Ok(metadata) = path.metadata() else { continue };
        if metadata.mode() & 0o077 != 0 && metadata.uid() == rustix::process::geteuid().as_raw() {
            set_permissions(path, Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

/// Makes a new database. It has another name until its tables are on disk: whatever ends this program, a file of the
/// database's name that is empty once held something.
fn make(file: &Path) -> Result<(), OpenError> {
    let new = beside(file, ".making");
    for end in ["", "-journal"] {
        remove_if_there(&beside(&new, end))?;
    }
    make_new(&new)?;
    let mut conn = connect(&new, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    migrate(&mut conn)?;
    conn.close().map_err(|(_, error)| error)?;
    Ok(replace(file, &new)?)
}

/// Opens a database that is there. One without homes would pass for a new one, though something has emptied it. If it has
/// no bytes at all, SQLite must not see it: it removes the log, which may hold all that is left.
pub(super) fn whole(file: &Path, mode: OpenFlags) -> Result<Connection, OpenError> {
    if file.metadata()?.len() == 0 {
        return Err(OpenError::Empty);
    }
    for path in [file, file.parent().unwrap_or(file)] {
        access(path, Access::READ_OK | Access::WRITE_OK)
            .map_err(|error| OpenError::Unwritable(path.to_owned(), error.into()))?;
    }
    let conn = connect(file, mode)?;
    if conn.table_exists(None, "homes")? { Ok(conn) } else { Err(OpenError::Empty) }
}

/// Makes the data directory (0700). One that was there is closed to others if it is ours; one in which others have
/// directories, such as `/var`, is not ours alone and stays as it is.
pub(super) fn make_directory(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let metadata = dir.metadata()?;
    let is_open = metadata.mode() & 0o077 != 0;
    if is_open && metadata.uid() == rustix::process::geteuid().as_raw() && !is_shared(dir)? {
        set_permissions(dir, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn is_shared(dir: &Path) -> io::Result<bool> {
    for entry in read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && entry.file_name() != EXPORTS {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Brings a database to this version.
pub(super) fn migrate(conn: &mut Connection) -> Result<(), OpenError> {
    super::search::define(conn)?;
    migrations::migrations::runner().run(conn)?;
    Ok(())
}

/// The first change that would be made to the tables of the database in a directory to bring it to this version. None:
/// it is of this version.
pub fn due(dir: &Path) -> Result<Option<String>, OpenError> {
    // One that is being made is no older one.
    let setup = File::open(dir)?;
    setup.lock_shared()?;
    let conn = whole(&dir.join(FILE), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let last: i64 = conn.query_row("SELECT max(version) FROM refinery_schema_history", [], |row| row.get(0))?;
    let runner = migrations::migrations::runner();
    let due = runner.get_migrations().iter().find(|migration| i64::from(migration.version()) > last);
    Ok(due.map(ToString::to_string))
}

/// Whether there is a database in a directory; an error where this user may not look.
pub fn is_there(dir: &Path) -> io::Result<bool> {
    dir.join(FILE).try_exists()
}

/// Takes the directory for serving. None: another process serves it. The lock lasts as long as the file is open.
pub fn lock(dir: &Path) -> io::Result<Option<File>> {
    alone(dir, LOCK)
}

/// Takes the directory from all who have the database open. None: somebody has. The lock lasts as long as the file is open.
pub fn take_over(dir: &Path) -> io::Result<Option<File>> {
    alone(dir, USERS)
}

/// Says that the database is about to be opened, for as long as the file is open; waits while it is being put back.
pub(super) fn join(dir: &Path) -> Result<File, OpenError> {
    let joined = lock_file(dir, USERS).and_then(|file| file.lock_shared().map(|()| file));
    joined.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            OpenError::Unwritable(dir.to_owned(), error)
        }
        _ => error.into(),
    })
}

fn lock_file(dir: &Path, name: &str) -> io::Result<File> {
    make_directory(dir)?;
    OpenOptions::new().create(true).append(true).mode(0o600).open(dir.join(name))
}

fn alone(dir: &Path, name: &str) -> io::Result<Option<File>> {
    let file = lock_file(dir, name)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

/// The connection that writes. FULL: a commit returns when it is on disk (contract 6.5).
pub(super) fn writer(file: &Path) -> Result<Connection, OpenError> {
    let conn = connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "journal_size_limit", LOG_BYTES_MAX)?;
    Ok(conn)
}

/// A connection of a thread that reads.
pub(super) fn reader(file: &Path) -> Result<Connection, OpenError> {
    read_only(file, THREAD_CACHE_KIB)
}

/// A connection at which callers read on the spot.
pub(super) fn desk(file: &Path) -> Result<Connection, OpenError> {
    read_only(file, DESK_CACHE_KIB)
}

fn read_only(file: &Path, cache_kib: i64) -> Result<Connection, OpenError> {
    let conn = connect(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    conn.pragma_update(None, "cache_size", cache_kib)?;
    Ok(conn)
}

/// Opens a file with the limits that hold for every connection.
pub(super) fn connect(file: &Path, mode: OpenFlags) -> Result<Connection, OpenError> {
    let conn = Connection::open_with_flags(file, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Plans do not depend on bound values: otherwise each new range makes SQLite prepare a statement again.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "cell_size_check", true)?;
    conn.pragma_update(None, "cache_size", -16_384)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(conn)
}

#[cfg(test)]
mod tests {
    use refinery::Target;

    use super::*;

    #[test]
    fn a_database_that_was_copied_here_is_closed_to_others() {
        let dir = tempfile::tempdir().unwrap();
        let file = prepare(dir.path()).unwrap();
        set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        prepare(dir.path()).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_full_disk_is_called_that() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            assert!(OpenError::from(error).to_string().contains("disk is full"), "{code}");
        }
    }

    #[test]
    fn an_older_search_is_made_anew_of_all_records() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrations::migrations::runner().set_target(Target::Version(5)).run(&mut conn).unwrap();
        let seat = (3_i64 << 40) + 9;
        conn.execute_batch(&format!(
            r#"INSERT INTO teams VALUES ('t', 'Team', 'paid', 0);
               INSERT INTO homes (number, id, team, environment, head) VALUES (3, 'h', 't', 'live', 10);
               INSERT INTO events VALUES
                   ({seat}, 5, 1, 'room', 0, NULL, '{{"id":"room","name":"Καφές","notes":"Strasse"}}'),
                   ({seat} + 1, 6, 0, 'h', 0, NULL, '{{"id":"h","city":"Ulm"}}');
               INSERT INTO records VALUES (3, 'room', 5, 7, 9, 0), (3, 'gone', 5, 8, 8, 1), (3, 'h', 6, 10, 10, 0)"#
        ))
        .unwrap();
        migrate(&mut conn).unwrap();
        let found = "SELECT json_array(rowid & 0xff, kind, record, title, body) FROM search
                     WHERE search MATCH 'home : \"h3\" AND title : \"καφεσ\"* AND body : \"stra\"*'";
        let found: String = conn.query_row(found, [], |row| row.get(0)).unwrap();
        assert_eq!(found, r#"[7,5,"room","καφεσ","strasse"]"#);
        assert_eq!(conn.query_row("SELECT count(*) FROM search", [], |row| row.get::<_, i64>(0)), Ok(1));
    }
}

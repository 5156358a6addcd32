//! Opening the database: files, pragmas, limits, migrations. Must not know what the tables hold.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use refinery::Target;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, access};

use super::directory::{make_directory, restrict_to_owner};
pub use super::error::{OpenError, RESTORE_HINT};
use super::files::{DATABASE_FILE, create_new, remove_if_exists, replace_database, with_suffix};

mod migrations {
    refinery::embed_migrations!("../migrations/server");
}

/// The table in which the migrations that ran are recorded.
pub(super) const MIGRATIONS_TABLE: &str = "_migrations";
/// The table of migrations in databases made before the first release.
pub(super) const PRE_RELEASE_TABLE: &str = "refinery_schema_history";
/// The first SQLite without the WAL-reset fault.
const SQLITE_MIN: i32 = 3_051_003;
/// How long a statement waits for the write lock of another process.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Page cache of a reader thread, in KiB; negative, as SQLite wants the unit. Holds the upper levels of the B-trees; the
/// operating system caches the rest for all readers.
const READER_CACHE_KIB: i64 = -4096;
/// Page cache of an inline reader, in KiB. Holds the ids of a home of 100,000 records. Most reads run inline, a record or
/// a page at a time, and each page outside the cache costs a system call.
const INLINE_CACHE_KIB: i64 = -12_288;
/// Bytes to which the write-ahead log is cut after a checkpoint.
const LOG_BYTES_MAX: i64 = 64 * 1024 * 1024;
/// Prepared statements cached per connection.
const STATEMENTS: usize = 64;
/// Longest text or blob, in bytes: the largest request body with its envelope.
const VALUE_BYTES_MAX: i32 = 16 * 1024 * 1024;

/// Creates the directory (0700), the file (0600) and the tables, as far as they are missing. Gives the path of the file.
pub(super) fn prepare(dir: &Path) -> Result<PathBuf, OpenError> {
    if rusqlite::version_number() < SQLITE_MIN {
        return Err(OpenError::OldSqlite(rusqlite::version()));
    }
    make_directory(dir)?;
    // Several programs may start at once. refinery does not expect that, and a change of the journal mode fails at once
    // when the database is locked. A lock on the directory orders the programs.
    let setup = File::open(dir)?;
    setup.lock()?;
    let file = dir.join(DATABASE_FILE);
    if file.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        create(&file)?;
    }
    restrict_to_owner(&file)?;
    let mut conn = open_existing(&file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    migrate(&mut conn)?;
    Ok(file)
}

/// Creates a new database. The file has a temporary name until its tables are on disk: an empty file with the name of the
/// database is then always a damaged database, never an interrupted creation.
fn create(file: &Path) -> Result<(), OpenError> {
    let new = with_suffix(file, ".making");
    for suffix in ["", "-journal"] {
        remove_if_exists(&with_suffix(&new, suffix))?;
    }
    create_new(&new)?;
    let mut conn = connect(&new, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    migrate(&mut conn)?;
    conn.close().map_err(|(_, error)| error)?;
    Ok(replace_database(file, &new)?)
}

/// Opens a database that exists. A database without a table of homes is refused: the service would take it for a new
/// database, although its content was lost. A file of zero bytes is refused before SQLite opens the file: SQLite would
/// remove the write-ahead log, which may hold the only copy of the data.
pub(super) fn open_existing(file: &Path, mode: OpenFlags) -> Result<Connection, OpenError> {
    if file.metadata()?.len() == 0 {
        return Err(OpenError::Empty);
    }
    for path in [file, file.parent().unwrap_or(file)] {
        access(path, Access::READ_OK | Access::WRITE_OK)
            .map_err(|error| OpenError::Unwritable(path.to_owned(), error.into()))?;
    }
    let conn = connect(file, mode)?;
    if !conn.table_exists(None, "homes")? {
        return Err(OpenError::Empty);
    }
    if is_pre_release(&conn)? { Err(OpenError::PreRelease) } else { Ok(conn) }
}

/// Whether a version before the first release made a database.
pub(super) fn is_pre_release(conn: &Connection) -> rusqlite::Result<bool> {
    Ok(!conn.table_exists(None, MIGRATIONS_TABLE)? && conn.table_exists(None, PRE_RELEASE_TABLE)?)
}

/// Runs the migrations that the database lacks.
pub(super) fn migrate(conn: &mut Connection) -> Result<(), OpenError> {
    runner().run(conn)?;
    Ok(())
}

/// Creates the tables in an empty database as they were after a migration; a later number means all migrations.
pub(super) fn create_tables(conn: &mut Connection, last: u32) -> Result<(), OpenError> {
    let all = runner();
    let known = all.get_migrations().iter().any(|migration| u32::try_from(migration.version()) == Ok(last));
    let target = if known { Target::Version(last.cast_signed()) } else { Target::Latest };
    all.set_target(target).run(conn)?;
    Ok(())
}

fn runner() -> refinery::Runner {
    let mut runner = migrations::migrations::runner();
    runner.set_migration_table_name(MIGRATIONS_TABLE);
    runner
}

/// The first migration that the database in a directory lacks. None: the database has all migrations of this program.
pub fn pending_migration(dir: &Path) -> Result<Option<String>, OpenError> {
    // Waits until another process has created the database.
    let setup = File::open(dir)?;
    setup.lock_shared()?;
    let conn = open_existing(&dir.join(DATABASE_FILE), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let last: Option<i64> =
        conn.query_row(&format!("SELECT max(version) FROM {MIGRATIONS_TABLE}"), [], |row| row.get(0))?;
    let runner = runner();
    let is_pending = |version: i64| last.is_none_or(|last| version > last);
    let pending = runner.get_migrations().iter().find(|migration| is_pending(i64::from(migration.version())));
    Ok(pending.map(ToString::to_string))
}

/// The connection of the writer. `synchronous = FULL`: a commit returns when the data is on disk (contract 6.5).
pub(super) fn writer(file: &Path) -> Result<Connection, OpenError> {
    let conn = connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "journal_size_limit", LOG_BYTES_MAX)?;
    Ok(conn)
}

/// A connection of a reader thread.
pub(super) fn reader(file: &Path) -> Result<Connection, OpenError> {
    read_only(file, READER_CACHE_KIB)
}

/// A connection for reads on the calling thread.
pub(super) fn inline_reader(file: &Path) -> Result<Connection, OpenError> {
    read_only(file, INLINE_CACHE_KIB)
}

fn read_only(file: &Path, cache_kib: i64) -> Result<Connection, OpenError> {
    let conn = connect(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    conn.pragma_update(None, "cache_size", cache_kib)?;
    Ok(conn)
}

/// Opens a file with the settings and limits of every connection.
pub(super) fn connect(file: &Path, mode: OpenFlags) -> Result<Connection, OpenError> {
    let conn = Connection::open_with_flags(file, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Plans do not depend on bound values. Otherwise SQLite prepares a statement again for each new range.
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
    use super::*;

    #[test]
    fn pre_release_database_is_refused_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(DATABASE_FILE);
        let conn = Connection::open(&file).unwrap();
        let tables = format!("CREATE TABLE {PRE_RELEASE_TABLE} (version INT4); CREATE TABLE homes (number INTEGER)");
        conn.execute_batch(&tables).unwrap();
        drop(conn);
        let before = std::fs::read(&file).unwrap();
        let error = prepare(dir.path()).unwrap_err().to_string();
        assert!(error.contains("before the first release") && error.contains("export the data"), "{error}");
        assert!(matches!(pending_migration(dir.path()), Err(OpenError::PreRelease)));
        assert_eq!(std::fs::read(&file).unwrap(), before);
    }
}

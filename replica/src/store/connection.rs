//! Connections and their pragmas. Must not know tables.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{StoreError, files, select};

/// How long a connection waits for another writer. Long, because a person's script may hold a transaction.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The page cache in KiB; negative, as SQLite expects. Holds the pages that one transaction of a reconcile
/// touches, so that SQLite writes each of them once.
const CACHE_KIB: i64 = -16_384;
/// A commit checkpoints the write-ahead log once the log has this size, and truncates the log to this size. Pages that many
/// commits write, such as those of an index, are then copied once.
const WAL_BYTES_MAX: i64 = 16 << 20;
/// The same size on a disk that has little free space.
const WAL_BYTES_MIN: i64 = 256 << 10;
/// The size of a page of the database.
const PAGE_BYTES: i64 = 4096;
/// Prepared statements that a connection keeps, those that were used last. Each set of columns that change together is a statement.
const STATEMENTS_MAX: usize = 256;

/// Opens an existing database read-only. The database is not migrated.
pub(crate) fn read_only(db: &Path) -> Result<Connection, StoreError> {
    let connection =
        Connection::open_with_flags(db, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)?;
    plan_once(&connection)?;
    Ok(connection)
}

/// Sets the pragmas and limits of a connection that writes.
pub(super) fn configure(db: &Path, connection: &Connection) -> Result<(), StoreError> {
    let wal_bytes = wal_bytes(files::free_bytes(files::directory(db)));
    connection.pragma_update(None, "journal_size_limit", wal_bytes)?;
    set_autocheckpoint(connection, db, true)?;
    plan_once(connection)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // A person's own table may refer to records. Such a table must not refuse what the server sends.
    connection.pragma_update(None, "foreign_keys", false)?;
    // A statement that fires triggers keeps a rollback journal of the statement; in memory, no file is created for it.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", CACHE_KIB)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    set_durable(connection, true)
}

/// Makes query plans independent of bound values. Otherwise SQLite plans a cached statement again at each use that compares
/// a column outside an index.
fn plan_once(connection: &Connection) -> Result<(), StoreError> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Chooses whether commits survive a power cut (`synchronous=FULL`) or only a crash of the process (`NORMAL`). What the feed
/// brings can be fetched again. A person's edit, or a request that is about to be sent, cannot.
pub(super) fn set_durable(connection: &Connection, is_durable: bool) -> Result<(), StoreError> {
    Ok(connection.pragma_update(None, "synchronous", if is_durable { "FULL" } else { "NORMAL" })?)
}

/// A counter that changes when another connection commits. Equal values mean that no other connection has committed.
pub(crate) fn data_version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.pragma_query_value(None, "data_version", |row| row.get(0))?)
}

/// A counter that changes when a table, trigger or view changes.
pub(crate) fn schema_version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.prepare_cached("PRAGMA schema_version")?.query_row([], |row| row.get(0))?)
}

/// True when writes of this connection fire triggers.
pub(super) fn fires_triggers(connection: &Connection) -> Result<bool, StoreError> {
    Ok(connection.db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER)?)
}

/// True when the database has a write-ahead log, so that readers and a writer do not wait for each other.
pub(super) fn has_wal(connection: &Connection) -> Result<bool, StoreError> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    Ok(mode == "wal")
}

/// Checkpoints the write-ahead log and truncates the log to zero bytes, as far as no reader needs it. For a full disk, which
/// the log may have filled. Does not wait for other connections.
pub(crate) fn checkpoint_truncate(connection: &Connection) -> Result<(), StoreError> {
    let timeout_ms: i64 = connection.pragma_query_value(None, "busy_timeout", |row| row.get(0))?;
    connection.busy_timeout(Duration::ZERO)?;
    let done = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_timeout(Duration::from_millis(timeout_ms.max(0).unsigned_abs()))?;
    Ok(done?)
}

/// Chooses whether a commit checkpoints the write-ahead log once the log has reached its maximal size.
pub(crate) fn set_autocheckpoint(connection: &Connection, db: &Path, at_commits: bool) -> Result<(), StoreError> {
    let wal_bytes = if at_commits { wal_bytes(files::free_bytes(files::directory(db))) } else { 0 };
    Ok(connection.pragma_update(None, "wal_autocheckpoint", wal_bytes / PAGE_BYTES)?)
}

/// The maximal size of the write-ahead log for the free bytes of the disk. A log that has filled the disk cannot be
/// checkpointed any more.
fn wal_bytes(free_bytes: Option<u64>) -> i64 {
    let share = free_bytes.map_or(WAL_BYTES_MAX, |free| i64::try_from(free / 16).unwrap_or(WAL_BYTES_MAX));
    share.clamp(WAL_BYTES_MIN, WAL_BYTES_MAX)
}

/// Runs `work` with a shorter busy timeout. A limit above [`BUSY_TIMEOUT`] has no effect.
pub(crate) fn with_busy_timeout<T>(
    connection: &mut Connection,
    limit: Duration,
    work: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.busy_timeout(limit.min(BUSY_TIMEOUT))?;
    let done = work(connection);
    connection.busy_timeout(BUSY_TIMEOUT)?;
    done
}

/// Begins a write transaction and writes nothing: an error when the database cannot be written now.
pub(crate) fn check_writable(connection: &mut Connection) -> Result<(), StoreError> {
    Ok(connection.transaction_with_behavior(TransactionBehavior::Immediate).map(drop)?)
}

/// The faults that a check of SQLite finds, such as `quick_check(10)`. Empty when it finds none.
pub(crate) fn faults(connection: &Connection, check: &str) -> Result<Vec<String>, StoreError> {
    let mut lines: Vec<String> = select::column(connection, &format!("PRAGMA {check}"), [])?;
    lines.retain(|line| line != "ok");
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wal_size_follows_free_space() {
        assert_eq!(wal_bytes(None), 16 << 20);
        assert_eq!(wal_bytes(Some(1 << 40)), 16 << 20);
        assert_eq!(wal_bytes(Some(32 << 20)), 2 << 20);
        assert_eq!(wal_bytes(Some(0)), 256 << 10);
    }
}

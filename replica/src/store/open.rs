//! Opens a replica database: creates it, migrates it, and refuses files that are not a replica's. Must not know what the
//! tables mean.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::connection::{BUSY_TIMEOUT, configure, has_wal};
use super::files::{
    beside, companion, database_was_removed, directory, holds_bytes, make_private_directory, private_file,
};
use super::outside::{self, Restored};
use super::schema::SchemaState;
use super::{StoreError, disk_reserve, gate, marks, migrations, presence, schema, sync_log};
use crate::model::LogLevel;

/// The line in `sync_log` of a database that replaces one that is gone.
const REPLACES_LOST: &str = "There was a database here before, and it is gone. Edits that only the old database held are not \
     in this new one. If you find the old file, end the program that syncs this one and put the old file back.";

/// Opens the database for reading and writing; creates or migrates the tables where necessary. When the disk has no room for
/// the migration, the disk reserve of an earlier process is released and the database is opened again.
pub(crate) fn read_write(db: &Path) -> Result<Connection, StoreError> {
    read_write_and_report(db).map(|(connection, _)| connection)
}

/// [`read_write`], and what was restored because another program had removed or altered it. None when nothing was.
pub(crate) fn read_write_and_report(db: &Path) -> Result<(Connection, Option<Restored>), StoreError> {
    match open(db) {
        Err(error) if (error.is_full() || error.is_file_failure()) && disk_reserve::release(db) => open(db),
        opened => opened,
    }
}

fn open(db: &Path) -> Result<(Connection, Option<Restored>), StoreError> {
    check_database_file(db)?;
    marks::check(db)?;
    let replaces_lost = database_was_removed(db);
    let mut setup_lock = if holds_bytes(db) { None } else { Some(create_file(db)?) };
    let mut connection = Connection::open(db)?;
    keep_wal_at_close(db, &connection)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    configure(db, &connection)?;
    check_encoding(&connection)?;
    let mut restored = None;
    if !(has_wal(&connection)? && schema::state(&connection)? == SchemaState::Current) {
        if is_foreign(&connection)? {
            return Err(StoreError::Foreign(db.to_owned()));
        }
        if setup_lock.is_none() {
            setup_lock = Some(lock_setup(db)?);
        }
        restored = migrate(&mut connection, replaces_lost)?;
    }
    drop(setup_lock);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok((connection, restored))
}

/// Brings the tables up to date, unless another process has done so while this process waited for the setup lock.
fn migrate(connection: &mut Connection, replaces_lost: bool) -> Result<Option<Restored>, StoreError> {
    if !has_wal(connection)? {
        connection.pragma_update(None, "journal_mode", "WAL")?;
    }
    if schema::state(connection)? == SchemaState::Current {
        return Ok(None);
    }
    migrations::delete_unreadable(connection)?;
    migrations::runner().run(connection)?;
    let restored = outside::restore(connection)?;
    if replaces_lost {
        gate::sync_tx(connection, |tx| sync_log::log(tx, LogLevel::Warning, REPLACES_LOST))?;
    }
    Ok(Some(restored).filter(|restored| *restored != Restored::default()))
}

/// Keeps SQLite from checkpointing the write-ahead log when the connection closes. Until the owner of the database is known,
/// the log may belong to another database, and a checkpoint would overwrite pages of this one.
fn keep_wal_at_close(db: &Path, connection: &Connection) -> rusqlite::Result<()> {
    let has_log = holds_bytes(&beside(db, "-wal"));
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log).map(drop)
}

/// Creates an empty database file, unless another process has created it. Returns the setup lock, to be held until the tables
/// exist.
fn create_file(db: &Path) -> Result<fs::File, StoreError> {
    make_private_directory(directory(db)).map_err(StoreError::at(directory(db)))?;
    let setup_lock = lock_setup(db)?;
    if let Some(lost) = presence::lost_content(db) {
        return Err(lost);
    }
    // Created before SQLite opens the file, so that other users can never read it. SQLite gives its log and shared memory the
    // same mode.
    let file = private_file(db).map_err(StoreError::at(db))?;
    make_private(&file);
    Ok(setup_lock)
}

/// Sets mode 0600 on an empty file that existed before. Errors are ignored, because not every file system has modes; the
/// doctor reports files that other users can read.
fn make_private(file: &fs::File) {
    let _ = file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600));
}

/// Locks the creation of tables against other processes. refinery does not expect concurrent runs, SQLite does not wait for
/// the lock that a change of the journal mode needs, and a file under creation looks like an emptied one.
fn lock_setup(db: &Path) -> Result<fs::File, StoreError> {
    let path = companion(db, "setup");
    private_file(&path).and_then(|file| file.lock().map(|()| file)).map_err(StoreError::at(&path))
}

/// Checks a file before anything is created beside the file: a lock file would make the file look like a replica's. Error: the
/// file is not a replica.
pub fn can_be_replica(db: &Path) -> Result<(), StoreError> {
    check_database_file(db)?;
    // SQLite deletes the write-ahead log of an empty file when it opens the file.
    if holds_bytes(db) && is_foreign_file(db).unwrap_or_default() {
        return Err(StoreError::Foreign(db.to_owned()));
    }
    Ok(())
}

/// True when the database file is another program's. An error when the file cannot be read without waiting.
fn is_foreign_file(db: &Path) -> Result<bool, StoreError> {
    let connection =
        Connection::open_with_flags(db, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    keep_wal_at_close(db, &connection)?;
    connection.busy_timeout(Duration::ZERO)?;
    is_foreign(&connection)
}

/// An error when the file is not a SQLite database and no companion file is beside it: the file was never a replica.
fn check_database_file(db: &Path) -> Result<(), StoreError> {
    const MAGIC: [u8; 16] = *b"SQLite format 3\0";
    let has_companion = |name: &str| companion(db, name).exists();
    if !holds_bytes(db) || ["setup", "lock", "changed"].into_iter().any(has_companion) || beside(db, "-wal").exists() {
        return Ok(());
    }
    let mut first = [0; MAGIC.len()];
    match fs::File::open(db).and_then(|mut file| file.read(&mut first)) {
        Ok(_) if first != MAGIC => Err(StoreError::NotADatabase(db.to_owned())),
        // A file that cannot be read fails when SQLite opens it.
        _ => Ok(()),
    }
}

/// True when the file holds tables and none of them is a replica's. The server's database has a table of migrations with
/// the same name. An empty table of migrations alone is a replica whose creation was interrupted. Another process may create the
/// replica meanwhile: its first migration commits the tables and their line together, so the lines are read before the tables.
fn is_foreign(connection: &Connection) -> Result<bool, StoreError> {
    let has_table = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)";
    let has_line = format!("SELECT EXISTS (SELECT 1 FROM {})", migrations::TABLE);
    let is_migrated = connection.query_row(has_table, [migrations::TABLE], |row| row.get(0))?
        && connection.query_row(&has_line, [], |row| row.get(0))?;
    let text = "SELECT count(*) > 0, count(*) FILTER (WHERE name IN ('_sync', '_gate')) > 0
                FROM sqlite_schema WHERE name <> ?1 AND tbl_name <> ?1";
    let (has_tables, is_replica): (bool, bool) =
        connection.query_row(text, [migrations::TABLE], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(if has_tables { !is_replica } else { is_migrated })
}

/// An error unless texts are UTF-8, SQLite's default. The triggers count the bytes of texts.
fn check_encoding(connection: &Connection) -> Result<(), StoreError> {
    let encoding: String = connection.pragma_query_value(None, "encoding", |row| row.get(0))?;
    if encoding != "UTF-8" && !is_foreign(connection)? {
        return Err(StoreError::WrongEncoding(encoding));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::connection::{checkpoint_truncate, read_only};

    #[test]
    fn companion_names_stay_as_first_chosen() {
        let directory = tempfile::tempdir().unwrap();
        let (db, setup) = (directory.path().join("replica.db"), directory.path().join("setup"));
        let is_plain = || companion(&db, "lock") == directory.path().join("lock");
        private_file(&setup).unwrap();
        assert!(is_plain(), "an earlier process chose plain names");
        fs::write(&setup, "mine").unwrap();
        assert!(!is_plain());
        fs::remove_file(&setup).unwrap();
        read_write(&db).unwrap();
        private_file(&setup).unwrap();
        assert!(!is_plain(), "the database was set up with long names");
    }

    #[test]
    fn concurrent_opens_create_one_database() {
        for _ in 0..12 {
            let directory = tempfile::tempdir().unwrap();
            let db = directory.path().join("sub").join("replica.db");
            let together = std::sync::Barrier::new(6);
            let open = || {
                together.wait();
                read_write(&db).map(drop)
            };
            std::thread::scope(|scope| {
                let all: Vec<_> = (0..6).map(|_| scope.spawn(open)).collect();
                for one in all {
                    one.join().unwrap().unwrap();
                }
            });
        }
    }

    #[test]
    fn checkpoint_truncates_wal_unless_read() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let connection = read_write(&db).unwrap();
        let log = || fs::metadata(beside(&db, "-wal")).unwrap().len();
        assert!(log() > 0);
        let reader = read_only(&db).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM sync_status").unwrap();
        connection.execute("INSERT INTO rooms (name) VALUES ('Hall')", []).unwrap();
        checkpoint_truncate(&connection).unwrap();
        assert!(log() > 0, "a reader needs the log");
        reader.execute_batch("COMMIT").unwrap();
        checkpoint_truncate(&connection).unwrap();
        assert_eq!(log(), 0);
    }

    #[test]
    fn foreign_database_is_left_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("app.db");
        let of_a_server = format!("{HISTORY}; INSERT INTO _migrations VALUES (1, 'initial', '', '7')");
        for made in ["CREATE TABLE documents (x)", &of_a_server] {
            let _ = fs::remove_file(&db);
            Connection::open(&db).unwrap().execute_batch(made).unwrap();
            let before = fs::read(&db).unwrap();
            assert!(matches!(can_be_replica(&db), Err(StoreError::Foreign(_))), "{made}");
            assert!(matches!(read_write(&db), Err(StoreError::Foreign(_))), "{made}");
            assert_eq!(fs::read(&db).unwrap(), before);
            assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "no file beside it either");
        }
    }

    #[test]
    fn wal_of_other_database_is_not_applied() {
        let directory = tempfile::tempdir().unwrap();
        let [db, other] = ["a.db", "other.db"].map(|name| directory.path().join(name));
        let connection = read_write(&db).unwrap();
        connection.execute("INSERT INTO rooms (name) VALUES ('Hall')", []).unwrap();
        drop(connection);
        let before = fs::read(&db).unwrap();
        let theirs = Connection::open(&other).unwrap();
        theirs.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").unwrap();
        fs::copy(beside(&other, "-wal"), beside(&db, "-wal")).unwrap();
        assert!(matches!(can_be_replica(&db), Err(StoreError::Foreign(_))));
        assert!(matches!(read_write(&db), Err(StoreError::Foreign(_))));
        assert_eq!(fs::read(&db).unwrap(), before);
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(beside(&db, end));
        }
        let edits: i64 =
            read_write(&db).unwrap().query_row("SELECT count(*) FROM edits", [], |row| row.get(0)).unwrap();
        assert_eq!(edits, 1);
    }

    /// The table that refinery creates before the first migration.
    const HISTORY: &str = "CREATE TABLE _migrations
        (version INT4 PRIMARY KEY, name VARCHAR(255), applied_on VARCHAR(255), checksum VARCHAR(255))";

    #[test]
    fn replica_without_one_table_is_damaged() {
        let directory = tempfile::tempdir().unwrap();
        let whole = directory.path().join("whole.db");
        read_write(&whole).unwrap();
        for (n, lost) in ["DROP TABLE _sync", "DROP TABLE _migrations"].into_iter().enumerate() {
            let db = directory.path().join(format!("{n}.db"));
            fs::copy(&whole, &db).unwrap();
            Connection::open(&db).unwrap().execute_batch(lost).unwrap();
            can_be_replica(&db).unwrap();
            assert!(read_write(&db).unwrap_err().is_damaged(), "{lost}");
        }
        let db = directory.path().join("cut.db");
        Connection::open(&db).unwrap().execute_batch(HISTORY).unwrap();
        read_write(&db).expect("its creation was interrupted before the first migration");
    }

    #[test]
    fn migrations_of_another_program_are_deleted() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("a.db");
        let connection = read_write(&db).unwrap();
        connection
            .execute_batch(
                "INSERT INTO _migrations DEFAULT VALUES;
                 INSERT INTO _migrations (version, name, applied_on) VALUES (20261129, 'add_mine', '2026-11-29');
                 DROP VIEW tasks_due",
            )
            .unwrap();
        drop(connection);
        let kept = "SELECT group_concat(name) FROM _migrations";
        let kept: String = read_write(&db).unwrap().query_row(kept, [], |row| row.get(0)).unwrap();
        assert_eq!(kept, "initial");
    }

    #[test]
    fn database_in_empty_file_becomes_private() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("a.db");
        fs::write(&db, "").unwrap();
        fs::set_permissions(&db, fs::Permissions::from_mode(0o644)).unwrap();
        let _open = read_write(&db).unwrap();
        for part in ["", "-wal", "-shm"] {
            let mode = fs::metadata(beside(&db, part)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{part}");
        }
    }
}

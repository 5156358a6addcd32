//! Files, connections and pragmas of a replica. Must not know what the tables mean.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::profile;
use crate::store::{StoreError, gate, log, migrations, place, reserve, schema};

/// How long a connection waits for another writer. Long, because a stranger's script may hold a transaction.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Pages held in memory, in KiB, negative as SQLite wants it: what a stretch of the feed touches.
const CACHE_KIB: i64 = -8192;
/// The write-ahead log is taken over into the database by the commit that makes it so long, and cut back to that. What is
/// written again and again meanwhile, as the pages of an index, is taken over once.
const JOURNAL_BYTES_MAX: i64 = 16 << 20;
/// The same on a disk that has little room left.
const JOURNAL_BYTES_LEAST: i64 = 256 << 10;
/// A page of the database.
const PAGE_BYTES: i64 = 4096;
/// Statements kept prepared: more than a sync goes round, or each of them would be prepared anew in its turn.
const STATEMENTS_MAX: usize = 256;

/// What is said in the journal of a database that was made where another was before.
const INSTEAD: &str = "There was a database here before, and it is gone: edits that only it held are not in this new one. \
     Where it is found, end what syncs this one and put it back in its place.";

/// A file that belongs to a database: its lock, its bell. A profile's `replica.db` has a directory of its own, so its
/// companions have plain names there; any other database names them after itself.
pub(crate) fn companion(db: &Path, what: &str) -> PathBuf {
    match db.file_name() {
        Some(name) if name == "replica.db" && has_plain_names(db) => db.with_file_name(what),
        Some(_) => beside(db, &format!(".{what}")),
        None => db.join(what),
    }
}

/// Whether what stands beside a `replica.db` has plain names. All who use it must agree, whatever their environment says of
/// directories, so the file that is made with the database, and is never removed, says it to all who come later.
fn has_plain_names(db: &Path) -> bool {
    if beside(db, ".setup").exists() {
        return false;
    }
    is_ours(&db.with_file_name("setup")) || profile::is_directory_of_one(place::directory(db))
}

/// Whether a file is empty and for this user alone, as ours are made; those of people hold something.
fn is_ours(setup: &Path) -> bool {
    let Ok(file) = fs::symlink_metadata(setup) else { return false };
    #[cfg(unix)]
    let is_shared = std::os::unix::fs::MetadataExt::mode(&file) & 0o077 != 0;
    #[cfg(not(unix))]
    let is_shared = false;
    file.is_file() && file.len() == 0 && !is_shared
}

/// A file whose name is the database's and more, as SQLite names its own.
pub(crate) fn beside(db: &Path, more: &str) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(more);
    name.into()
}

/// Opens the database for reading and writing, and makes or renews its schema when that is due. Where there is no room for
/// that, what an earlier process has set aside is room enough.
pub(crate) fn read_write(db: &Path) -> Result<Connection, StoreError> {
    match open(db) {
        Err(error) if (error.is_full() || error.is_of_files()) && reserve::release(db) => open(db),
        opened => opened,
    }
}

fn open(db: &Path) -> Result<Connection, StoreError> {
    can_be_database(db)?;
    let is_gone = place::is_gone(db);
    let mut setup = if place::holds_bytes(db) { None } else { Some(make(db)?) };
    let mut connection = Connection::open(db)?;
    leave_log_alone(db, &connection)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    tune(db, &connection)?;
    has_utf8(&connection)?;
    if !(has_log(&connection)? && schema::is_current(&connection)?) {
        if is_foreign(&connection)? {
            return Err(StoreError::Foreign(db.to_owned()));
        }
        if setup.is_none() {
            setup = Some(lock_setup(db)?);
        }
        if !has_log(&connection)? {
            connection.pragma_update(None, "journal_mode", "WAL")?;
        }
        if !schema::is_current(&connection)? {
            migrations::runner().run(&mut connection)?;
            schema::renew(&mut connection)?;
            if is_gone {
                gate::keep(&mut connection, |tx| log(tx, "warning", INSTEAD))?;
            }
        }
    }
    drop(setup);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(connection)
}

/// Until it is certain whose database it is, the last who closes it takes no log over that holds anything: it may be of another
/// one, which would be written over this.
fn leave_log_alone(db: &Path, connection: &Connection) -> rusqlite::Result<()> {
    let holds = place::holds_bytes(&beside(db, "-wal"));
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, holds).map(drop)
}

/// Makes an empty file, unless it is there by now or was lost. What is given is to be held until its schema stands.
fn make(db: &Path) -> Result<fs::File, StoreError> {
    if let Some(directory) = db.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists()) {
        make_private_directory(directory).map_err(|error| StoreError::File(directory.to_owned(), error))?;
    }
    let setup = lock_setup(db)?;
    if let Some(lost) = place::lost(db) {
        return Err(lost);
    }
    // Before SQLite opens it, so that it is never readable by others, not even for a moment. The log and the shared
    // memory take its mode.
    let file = private_file(db).map_err(|error| StoreError::File(db.to_owned(), error))?;
    take_from_others(&file);
    Ok(setup)
}

/// Makes a file that was there already, and empty, one for this user alone. Not every disk knows modes, and the doctor tells
/// where others can read it.
fn take_from_others(file: &fs::File) {
    #[cfg(unix)]
    let _ = file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600));
    #[cfg(not(unix))]
    let _ = file;
}

/// Several programs may start at once. Migrations are not made for that, who is second to change the way a file is written
/// is told that it is locked, without any wait, and a file that is being made looks like an emptied one.
fn lock_setup(db: &Path) -> Result<fs::File, StoreError> {
    let path = companion(db, "setup");
    private_file(&path).and_then(|file| file.lock().map(|()| file)).map_err(|error| StoreError::File(path, error))
}

/// An error for a file of another program. To be asked before a lock is made beside it, or it would look like one of ours
/// from then on.
pub(crate) fn can_be_ours(db: &Path) -> Result<(), StoreError> {
    can_be_database(db)?;
    // To open one that holds nothing would throw its log away.
    if place::holds_bytes(db) && looks_foreign(db).unwrap_or_default() {
        return Err(StoreError::Foreign(db.to_owned()));
    }
    Ok(())
}

/// Whether a database that is there is of another program; an error where that cannot be seen at once.
fn looks_foreign(db: &Path) -> Result<bool, StoreError> {
    let connection =
        Connection::open_with_flags(db, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    leave_log_alone(db, &connection)?;
    connection.busy_timeout(Duration::ZERO)?;
    is_foreign(&connection)
}

/// An error for a file that is no database and beside which nothing of ours stands: nobody has damaged it, it was never a
/// replica.
fn can_be_database(db: &Path) -> Result<(), StoreError> {
    const BEGINNING: [u8; 16] = *b"SQLite format 3\0";
    let is_beside = |what: &str| companion(db, what).exists();
    if !place::holds_bytes(db) || ["setup", "lock", "bell"].into_iter().any(is_beside) || beside(db, "-wal").exists() {
        return Ok(());
    }
    let mut begins = [0; BEGINNING.len()];
    match fs::File::open(db).and_then(|mut file| file.read(&mut begins)) {
        Ok(_) if begins != BEGINNING => Err(StoreError::NoDatabase(db.to_owned())),
        // One that cannot be read is not judged here.
        _ => Ok(()),
    }
}

/// True when the file holds tables and none of them is a replica's. The server's database has a table of migrations with
/// the same name. An empty table of migrations alone is a replica whose creation was interrupted.
fn is_foreign(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT count(*) > 0, count(*) FILTER (WHERE name IN ('_sync', '_gate', '_schema')) > 0
                FROM sqlite_schema WHERE name <> ?1 AND tbl_name <> ?1";
    let (has_tables, is_ours): (bool, bool) =
        connection.query_row(text, [migrations::TABLE], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if has_tables || is_ours {
        return Ok(!is_ours);
    }
    let text = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)";
    if !connection.query_row(text, [migrations::TABLE], |row| row.get(0))? {
        return Ok(false);
    }
    let text = format!("SELECT EXISTS (SELECT 1 FROM {})", migrations::TABLE);
    Ok(connection.query_row(&text, [], |row| row.get(0))?)
}

/// An error unless texts are UTF-8, as SQLite keeps them unless it is told otherwise: the triggers count their bytes.
fn has_utf8(connection: &Connection) -> Result<(), StoreError> {
    let encoding: String = connection.pragma_query_value(None, "encoding", |row| row.get(0))?;
    if encoding != "UTF-8" && !is_foreign(connection)? {
        return Err(StoreError::Encoded(encoding));
    }
    Ok(())
}

/// Whether the file is written by way of a log beside it (WAL), so that readers and a writer do not wait for each other.
fn has_log(connection: &Connection) -> Result<bool, StoreError> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    Ok(mode == "wal")
}

/// Takes the log over into the database and gives its room back, as far as nobody is reading from it. For a full disk,
/// which a log that was never taken over may have filled; whoever is in the way is not waited for.
pub(crate) fn give_back_log(connection: &Connection) -> Result<(), StoreError> {
    let waits: i64 = connection.pragma_query_value(None, "busy_timeout", |row| row.get(0))?;
    connection.busy_timeout(Duration::ZERO)?;
    let done = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_timeout(Duration::from_millis(waits.max(0).unsigned_abs()))?;
    Ok(done?)
}

/// Does something that waits for another program's transaction for so long at most, and never longer than anything does.
pub(crate) fn wait_at_most<T>(
    connection: &mut Connection,
    limit: Duration,
    work: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.busy_timeout(limit.min(BUSY_TIMEOUT))?;
    let done = work(connection);
    connection.busy_timeout(BUSY_TIMEOUT)?;
    done
}

/// Begins to write, and writes nothing.
pub(crate) fn hold(connection: &mut Connection) -> Result<(), StoreError> {
    Ok(connection.transaction_with_behavior(TransactionBehavior::Immediate).map(drop)?)
}

/// Opens an existing database for reading alone.
pub(crate) fn read_only(db: &Path) -> Result<Connection, StoreError> {
    let connection =
        Connection::open_with_flags(db, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)?;
    plan_once(&connection)?;
    Ok(connection)
}

/// A counter that changes whenever another connection commits; equal readings mean nothing happened between them.
pub(crate) fn data_version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.pragma_query_value(None, "data_version", |row| row.get(0))?)
}

/// A counter that changes with the tables, triggers and views.
pub(crate) fn schema_version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.prepare_cached("PRAGMA schema_version")?.query_row([], |row| row.get(0))?)
}

/// Whether the tables, triggers and views are as this build makes them; an error if a newer one has made them.
pub(crate) fn is_current(connection: &Connection) -> Result<bool, StoreError> {
    schema::is_current(connection)
}

/// Whether writing by this connection fires triggers.
pub(crate) fn fires_triggers(connection: &Connection) -> Result<bool, StoreError> {
    Ok(connection.db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER)?)
}

/// Has a connection that only the keeper writes by fire no triggers, unless one is not ours: those of ours let the keeper
/// pass, and to ask them costs as much as a row does.
pub(crate) fn spare_triggers(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS _touched (kind TEXT, record_id TEXT, PRIMARY KEY (kind, record_id)) WITHOUT ROWID",
    )?;
    let fires = schema::others::has_triggers(connection)?
        && !hearth_simulated::planted(hearth_simulated::Fault::UserTriggersOff);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, fires)?;
    Ok(())
}

/// Whether commits survive a power cut (FULL) or only a crash of the process (NORMAL). What the feed brings can be
/// fetched again; what a person typed or a request that is about to be sent cannot.
pub(crate) fn set_durable(connection: &Connection, durable: bool) -> Result<(), StoreError> {
    Ok(connection.pragma_update(None, "synchronous", if durable { "FULL" } else { "NORMAL" })?)
}

/// How long the log may grow on a disk with so much room: once it has filled the disk, there is none to take it over.
fn journal_bytes(free: Option<u64>) -> i64 {
    let share = free.map_or(JOURNAL_BYTES_MAX, |free| i64::try_from(free / 16).unwrap_or(JOURNAL_BYTES_MAX));
    share.clamp(JOURNAL_BYTES_LEAST, JOURNAL_BYTES_MAX)
}

/// Whether a commit takes the log over into the database once it has grown to its share.
pub(crate) fn take_over_log(connection: &Connection, db: &Path, at_commits: bool) -> Result<(), StoreError> {
    let journal = if at_commits { journal_bytes(place::free(place::directory(db))) } else { 0 };
    Ok(connection.pragma_update(None, "wal_autocheckpoint", journal / PAGE_BYTES)?)
}

fn tune(db: &Path, connection: &Connection) -> Result<(), StoreError> {
    let journal = journal_bytes(place::free(place::directory(db)));
    connection.pragma_update(None, "journal_size_limit", journal)?;
    take_over_log(connection, db, true)?;
    plan_once(connection)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // A script's own table may refer to records. What the server says of them is not for that table to refuse.
    connection.pragma_update(None, "foreign_keys", false)?;
    // A statement that fires triggers keeps what it may have to undo: not in a file of its own.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", CACHE_KIB)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    set_durable(connection, true)
}

/// Has a statement's plan not depend on what is bound to it: where it does, SQLite makes the plan anew for each use of a
/// statement that was kept prepared, and every equality outside of an index is such a place.
fn plan_once(connection: &Connection) -> Result<(), StoreError> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Makes a directory with its parents, for this user alone.
pub(crate) fn make_private_directory(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens or creates a file for this user alone.
pub(crate) fn private_file(path: &Path) -> std::io::Result<fs::File> {
    private(path, fs::OpenOptions::new().create(true).truncate(false))
}

/// Creates a file for this user alone, where there is none.
pub(crate) fn new_private_file(path: &Path) -> std::io::Result<fs::File> {
    private(path, fs::OpenOptions::new().create_new(true))
}

fn private(path: &Path, options: &mut fs::OpenOptions) -> std::io::Result<fs::File> {
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn companions_stand_beside_the_database() {
        assert_eq!(companion(Path::new("/d/a.db"), "bell"), Path::new("/d/a.db.bell"));
        assert_eq!(companion(Path::new("/d/replica.db"), "lock"), Path::new("/d/replica.db.lock"));
        let own = profile::Profile::locate("nobody", None, false).unwrap().db;
        assert_eq!(companion(&own, "lock"), own.with_file_name("lock"));
    }

    #[test]
    fn companions_keep_the_names_that_they_were_given_first() {
        let directory = tempfile::tempdir().unwrap();
        let (db, setup) = (directory.path().join("replica.db"), directory.path().join("setup"));
        let is_plain = || companion(&db, "lock") == directory.path().join("lock");
        private_file(&setup).unwrap();
        assert!(is_plain(), "an earlier version made it so");
        fs::write(&setup, "mine").unwrap();
        assert!(!is_plain());
        fs::remove_file(&setup).unwrap();
        read_write(&db).unwrap();
        private_file(&setup).unwrap();
        assert!(!is_plain(), "it was made otherwise");
    }

    #[test]
    fn many_may_open_a_new_database_at_once() {
        for _ in 0..12 {
            let directory = tempdir();
            let db = directory.join("sub").join("replica.db");
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
            std::fs::remove_dir_all(directory).unwrap();
        }
    }

    #[test]
    fn a_log_leaves_room_on_a_small_disk() {
        assert_eq!(journal_bytes(None), 16 << 20);
        assert_eq!(journal_bytes(Some(1 << 40)), 16 << 20);
        assert_eq!(journal_bytes(Some(32 << 20)), 2 << 20);
        assert_eq!(journal_bytes(Some(0)), 256 << 10);
    }

    #[test]
    fn the_room_of_the_log_is_given_back() {
        let directory = tempdir();
        let db = directory.join("replica.db");
        let connection = read_write(&db).unwrap();
        let log = || fs::metadata(beside(&db, "-wal")).unwrap().len();
        assert!(log() > 0);
        let reader = read_only(&db).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM sync_status").unwrap();
        connection.execute("INSERT INTO rooms (name) VALUES ('Hall')", []).unwrap();
        give_back_log(&connection).unwrap();
        assert!(log() > 0, "somebody reads from it");
        reader.execute_batch("COMMIT").unwrap();
        give_back_log(&connection).unwrap();
        assert_eq!(log(), 0);
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_database_of_another_program_is_left_as_it_is() {
        let directory = tempdir();
        fs::create_dir_all(&directory).unwrap();
        let db = directory.join("app.db");
        let of_a_server = format!("{HISTORY}; INSERT INTO _migrations VALUES (1, 'initial', '', '7')");
        for made in ["CREATE TABLE documents (x)", &of_a_server] {
            let _ = fs::remove_file(&db);
            Connection::open(&db).unwrap().execute_batch(made).unwrap();
            let before = fs::read(&db).unwrap();
            assert!(matches!(can_be_ours(&db), Err(StoreError::Foreign(_))), "{made}");
            assert!(matches!(read_write(&db), Err(StoreError::Foreign(_))), "{made}");
            assert_eq!(fs::read(&db).unwrap(), before);
            assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing beside it either");
        }
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn the_log_of_another_database_is_not_written_over_one_of_ours() {
        let directory = tempfile::tempdir().unwrap();
        let [db, other] = ["a.db", "other.db"].map(|name| directory.path().join(name));
        let connection = read_write(&db).unwrap();
        connection.execute("INSERT INTO rooms (name) VALUES ('Hall')", []).unwrap();
        drop(connection);
        let before = fs::read(&db).unwrap();
        let theirs = Connection::open(&other).unwrap();
        theirs.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").unwrap();
        fs::copy(beside(&other, "-wal"), beside(&db, "-wal")).unwrap();
        assert!(matches!(can_be_ours(&db), Err(StoreError::Foreign(_))));
        assert!(matches!(read_write(&db), Err(StoreError::Foreign(_))));
        assert_eq!(fs::read(&db).unwrap(), before);
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(beside(&db, end));
        }
        let edits: i64 =
            read_write(&db).unwrap().query_row("SELECT count(*) FROM edits", [], |row| row.get(0)).unwrap();
        assert_eq!(edits, 1);
    }

    /// Where the runner of migrations notes which of them were run.
    const HISTORY: &str = "CREATE TABLE _migrations
        (version INT4 PRIMARY KEY, name VARCHAR(255), applied_on VARCHAR(255), checksum VARCHAR(255))";

    #[test]
    fn one_of_ours_is_known_by_what_is_left_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let whole = directory.path().join("whole.db");
        read_write(&whole).unwrap();
        for (n, lost) in ["DROP TABLE _sync", "DROP TABLE _migrations"].into_iter().enumerate() {
            let db = directory.path().join(format!("{n}.db"));
            fs::copy(&whole, &db).unwrap();
            Connection::open(&db).unwrap().execute_batch(lost).unwrap();
            can_be_ours(&db).unwrap();
            assert!(read_write(&db).unwrap_err().is_damaged(), "{lost}");
        }
        let db = directory.path().join("cut.db");
        Connection::open(&db).unwrap().execute_batch(HISTORY).unwrap();
        read_write(&db).expect("who made it was cut off before the first migration");
    }

    #[cfg(unix)]
    #[test]
    fn a_database_made_in_an_empty_file_is_for_this_user_alone() {
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

    fn tempdir() -> PathBuf {
        std::env::temp_dir().join(format!("hearth-open-{}", uuid::Uuid::new_v4()))
    }
}

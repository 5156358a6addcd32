//! Backup and restore: copying the whole database into one file while the database is in use, and replacing the database
//! by such a file. Must not know the command line, or what the homes hold.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{Permissions, hard_link, remove_file, rename, set_permissions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

use super::directory::make_directory;
use super::error::{OpenError, StoreError};
use super::file_copies::{self, FileBytes};
use super::files::{DATABASE_FILE, create_new, remove_if_exists, replace_database, sync_directory_of, with_suffix};
use super::keys::{self, Key};
use super::open::{MIGRATIONS_TABLE, connect, is_pre_release, migrate, open_existing};
use super::people::{self, Person};
use super::tx::Tx;
use super::{calendars, check, exports, homes, schema};

/// Positions that a restored home leaves out at least, so that no event id of the discarded history is given out again
/// (contract 9.3).
pub const GAP: i64 = 1_000_000;

/// The tables by which a file is recognised as a database of Hearth.
const TABLES: [&str; 4] = [MIGRATIONS_TABLE, "homes", "events", "records"];

/// Why a backup was not made or not restored.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The backup could not be read, or the target could not be written.
    #[error("{0}")]
    Open(OpenError),
    /// The file is no sound database of Hearth. The text is a sentence with the file as subject: `it is damaged`.
    #[error("{0}")]
    Unsound(String),
}

impl From<OpenError> for CopyError {
    fn from(error: OpenError) -> CopyError {
        match error {
            // The advice of `OpenError::Damaged` to restore a backup does not fit a backup.
            OpenError::Damaged(cause) => CopyError::Unsound(format!("it is damaged: {cause}")),
            other => CopyError::Open(other),
        }
    }
}

impl From<rusqlite::Error> for CopyError {
    fn from(error: rusqlite::Error) -> CopyError {
        OpenError::from(error).into()
    }
}

impl From<io::Error> for CopyError {
    fn from(error: io::Error) -> CopyError {
        OpenError::from(error).into()
    }
}

/// Copies the state that a transaction sees into a temporary file (0600) beside the target. [`publish`] renames the file.
pub fn save(tx: &Tx<'_>, target: &Path) -> Result<(), CopyError> {
    let partial = partial(target);
    remove_if_exists(&partial)?;
    create_new(&partial)?;
    Ok(copy(tx.conn, &partial)?)
}

/// Adds the bytes of all files to a saved copy. Gives the number of files whose bytes are gone: they are left out.
pub fn add_files(target: &Path, bytes: &dyn FileBytes) -> Result<usize, CopyError> {
    let conn = connect(&partial(target), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    file_copies::fill(&conn, bytes).map_err(unsound)
}

/// Checks a saved copy and moves the copy to its target, which must not exist. Gives the size in bytes.
pub fn publish(target: &Path) -> Result<u64, CopyError> {
    let partial = partial(target);
    ensure_sound(&connect(&partial, OpenFlags::SQLITE_OPEN_READ_ONLY)?)?;
    if target.symlink_metadata().is_ok() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
    }
    rename(&partial, target)?;
    sync_directory_of(target)?;
    Ok(target.metadata()?.len())
}

/// Removes a saved copy that will not be published.
pub fn discard(target: &Path) {
    for suffix in ["-journal", ""] {
        // A failure leaves a file with a temporary name, which is harmless.
        let _ = remove_file(with_suffix(&partial(target), suffix));
    }
}

/// The temporary file of a copy. The process id keeps apart two processes that save to one target.
fn partial(target: &Path) -> PathBuf {
    with_suffix(target, &format!(".saving-{}", std::process::id()))
}

/// The result of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Homes in the restored database.
    pub homes: usize,
    /// The path of the replaced database. None: the directory held no database.
    pub kept: Option<PathBuf>,
    /// Keys that are valid in the backup and revoked in the replaced database: they stay revoked. None: the replaced
    /// database could not be read.
    pub revoked: Option<usize>,
    /// Files whose bytes are neither in the backup nor in the data directory: their documents name a missing file.
    pub lost_files: usize,
}

/// Opens a backup that is to be restored, if the file is a database of Hearth. A file without a log beside it is opened as
/// immutable: otherwise SQLite would create files beside the backup, or refuse a backup in a read-only directory.
pub fn open_source(file: &Path) -> Result<Connection, CopyError> {
    // Opening a pipe would wait for a writer, and a link may point at another file meanwhile.
    if !file.symlink_metadata()?.is_file() {
        return Err(CopyError::Unsound("it is no regular file".to_owned()));
    }
    let file = &file.canonicalize()?;
    let has_no_log = !["-wal", "-journal"].iter().any(|suffix| with_suffix(file, suffix).exists());
    let mode = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = match has_no_log {
        true => Connection::open_with_flags(immutable(file), mode | OpenFlags::SQLITE_OPEN_URI)?,
        false => Connection::open_with_flags(file, mode)?,
    };
    ensure_is_ours(&conn)?;
    Ok(conn)
}

/// The SQLite URI of a file that no process changes.
fn immutable(file: &Path) -> PathBuf {
    let mut name = b"file:".to_vec();
    for byte in file.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => name.extend(format!("%{byte:02x}").bytes()),
            byte => name.push(*byte),
        }
    }
    name.extend(b"?immutable=1");
    OsString::from_vec(name).into()
}

/// Replaces the database in a data directory by a backup. The replaced database stays beside the new database. The caller
/// must hold the locks of the directory. An unsound backup leaves the directory unchanged.
pub fn restore(dir: &Path, from: Connection, epoch: i64, bytes: &dyn FileBytes) -> Result<Restored, CopyError> {
    make_directory(dir)?;
    let file = dir.join(DATABASE_FILE);
    let staged = with_suffix(&file, ".restoring");
    remove_if_exists(&staged)?;
    create_new(&staged)?;
    let replaced = Replaced::read(&file);
    let prepared = stage(&from, &staged, epoch, replaced.as_ref().unwrap_or(&Replaced::default()), bytes);
    if prepared.is_err() {
        remove_if_exists(&staged)?;
    }
    let Staged { homes, revoked, lost_files } = prepared?;
    // The source may be the database that an earlier restore kept; `keep_replaced` removes that file.
    drop(from);
    let kept = keep_replaced(&file)?;
    replace_database(&file, &staged)?;
    Ok(Restored { homes, kept, revoked: replaced.map(|_| revoked), lost_files })
}

/// The facts of the replaced database that survive a restore.
#[derive(Default)]
struct Replaced {
    /// By home: the highest event id that was given out, or that was reserved by an earlier restore.
    heads: HashMap<Uuid, i64>,
    keys: Vec<Key>,
    people: Vec<Person>,
    /// The ids of the calendars. None: there was no database.
    calendars: Option<HashSet<String>>,
}

impl Replaced {
    /// None: the database cannot be read.
    fn read(file: &Path) -> Option<Replaced> {
        if !file.exists() {
            return Some(Replaced::default());
        }
        let read = || -> Result<Replaced, StoreError> {
            let conn = open_existing(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let tx = Tx::new(&conn);
            let homes = homes::numbers(&tx)?.into_iter().map(|number| homes::load(&tx, number));
            let heads = homes
                .map(|home| home.map(|home| (home.id, home.head.max(home.next_event_min - 1))))
                .collect::<Result<_, StoreError>>()?;
            let keys = keys::list_all(&tx)?;
            let calendars = Some(calendars::ids(&tx)?);
            Ok(Replaced { heads, keys, people: people::all(&tx)?, calendars })
        };
        read().ok()
    }
}

/// A database that is ready to take its place.
struct Staged {
    homes: usize,
    /// Keys that became revoked.
    revoked: usize,
    /// Files without bytes, which were left out.
    lost_files: usize,
}

/// Copies a backup into the staged file, puts the bytes of its files in their places, and applies the surviving facts of the
/// replaced database.
fn stage(
    from: &Connection,
    staged: &Path,
    epoch: i64,
    replaced: &Replaced,
    bytes: &dyn FileBytes,
) -> Result<Staged, CopyError> {
    copy(from, staged)?;
    let mut conn = connect(staged, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    ensure_sound(&conn)?;
    migrate(&mut conn)?;
    let transaction = conn.transaction()?;
    let tx = Tx::new(&transaction);
    let numbers = homes::numbers(&tx).map_err(unsound)?;
    if numbers.is_empty() && !replaced.heads.is_empty() {
        let message = format!(
            "it holds no homes, and the data directory has {}; check that it is the right file",
            replaced.heads.len()
        );
        return Err(CopyError::Unsound(message));
    }
    for number in &numbers {
        let id = homes::load(&tx, *number).map_err(unsound)?.id;
        let lost_head = replaced.heads.get(&id).copied().unwrap_or(0);
        homes::mark_restored(&tx, *number, epoch, lost_head, GAP).map_err(unsound)?;
    }
    // Their files are not in the backup.
    exports::clear(&tx).map_err(unsound)?;
    people::clear_access(&tx).map_err(unsound)?;
    for person in &replaced.people {
        people::copy_later(&tx, person).map_err(unsound)?;
    }
    let mut revoked = 0;
    for key in &replaced.keys {
        revoked += usize::from(keys::copy_revocation(&tx, key).map_err(unsound)?);
    }
    if let Some(known) = &replaced.calendars {
        calendars::remove_others(&tx, known).map_err(unsound)?;
    }
    drop(tx);
    transaction.commit()?;
    let lost_files = file_copies::extract(&conn, bytes).map_err(unsound)?;
    Ok(Staged { homes: numbers.len(), revoked, lost_files })
}

/// Refuses a file that is no database of Hearth, or that a version before the first release made.
fn ensure_is_ours(conn: &Connection) -> Result<(), CopyError> {
    if is_pre_release(conn)? {
        let cause = "it was made by a version of Hearth before the first release, and only that version can restore it";
        return Err(CopyError::Unsound(cause.to_owned()));
    }
    for table in TABLES {
        if !conn.table_exists(None, table)? {
            return Err(CopyError::Unsound("it is no database of Hearth".to_owned()));
        }
    }
    Ok(())
}

/// Refuses a file that is no database of Hearth, that has other tables or triggers, or that is damaged.
fn ensure_sound(conn: &Connection) -> Result<(), CopyError> {
    ensure_is_ours(conn)?;
    let differences = schema::compare(conn)?;
    if let Some(difference) = differences.altered.iter().chain(&differences.unknown).next() {
        return Err(CopyError::Unsound(format!("its tables are not those of Hearth: {difference}")));
    }
    match check::database(&Tx::new(conn)).map_err(unsound)?.first() {
        Some(fault) => Err(CopyError::Unsound(format!("it is damaged: {fault}"))),
        None => Ok(()),
    }
}

/// Gives the database that is to be replaced a second name, instead of the database that an earlier restore kept. At each
/// moment a complete database exists under one of the names. None: the directory holds no database.
fn keep_replaced(file: &Path) -> Result<Option<PathBuf>, CopyError> {
    if !file.try_exists()? {
        return Ok(None);
    }
    checkpoint_truncate(file);
    let kept = with_suffix(file, ".before-restore");
    for suffix in ["", "-wal", "-shm"] {
        remove_if_exists(&with_suffix(&kept, suffix))?;
    }
    // Some file systems have no hard links.
    hard_link(file, &kept).or_else(|_| std::fs::copy(file, &kept).map(drop))?;
    set_permissions(&kept, Permissions::from_mode(0o600))?;
    match rename(with_suffix(file, "-wal"), with_suffix(&kept, "-wal")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => sync_directory_of(&kept)?,
    }
    Ok(Some(kept))
}

/// Copies the write-ahead log into the database. A database that is too damaged keeps its log.
fn checkpoint_truncate(file: &Path) {
    if let Ok(conn) = open_existing(file, OpenFlags::SQLITE_OPEN_READ_WRITE) {
        let _ = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}

fn copy(from: &Connection, target: &Path) -> Result<(), OpenError> {
    let mut to = connect(target, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let step = Backup::new(from, &mut to)?.step(-1)?;
    if step != StepResult::Done {
        return Err(OpenError::Io(io::Error::other("the database is in use; try again")));
    }
    // Without a write-ahead log, the backup is a single file.
    to.pragma_update(None, "journal_mode", "DELETE")?;
    Ok(())
}

fn unsound(error: StoreError) -> CopyError {
    match error {
        StoreError::Sqlite(error) => error.into(),
        StoreError::Damaged(cause) => CopyError::Unsound(format!("it is damaged: {cause}")),
        StoreError::DiskFull => OpenError::DiskFull.into(),
        StoreError::File(path, error) => io::Error::new(error.kind(), format!("{}: {error}", path.display())).into(),
        other => CopyError::Unsound(format!("it is damaged: {other}")),
    }
}

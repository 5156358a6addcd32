//! Copies of the whole database: saving it into one file while it is in use, and putting it back. Must not know who
//! asks, or what the homes hold.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{Permissions, hard_link, remove_file, rename, set_permissions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

use super::files::{beside, make_new, remove_if_there, replace, sync_directory_of};
use super::keys::{self, Key};
use super::open::{FILE, OpenError, connect, make_directory, migrate, whole};
use super::{Fault, Tx, homes};

/// Positions that a restored home leaves out at least, so that no id of the lost history comes again (contract 9.3).
pub const GAP: i64 = 1_000_000;

/// What makes a database one of ours, beside being sound.
const TABLES: [&str; 4] = ["refinery_schema_history", "homes", "events", "records"];

/// Why a copy was not made or put back.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// It could not be read, or the data directory not be written.
    #[error("{0}")]
    Open(OpenError),
    /// It is something else, or damaged.
    #[error("{0}")]
    Unsound(String),
}

impl From<OpenError> for CopyError {
    fn from(error: OpenError) -> CopyError {
        match error {
            // To put a backup in its place is no advice about the backup.
            OpenError::Damaged(why) => CopyError::Unsound(format!("it is damaged: {why}")),
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

/// Copies the moment that a transaction sees into a new file (0600) beside a target, whose name it gets by [`publish`].
pub fn save(tx: &Tx<'_>, target: &Path) -> Result<(), CopyError> {
    let partial = partial(target);
    remove_if_there(&partial)?;
    make_new(&partial)?;
    Ok(copy(tx.conn, &partial)?)
}

/// Gives a saved copy its name, if it is sound; else nothing is left of it. Gives its size in bytes.
pub fn publish(target: &Path) -> Result<u64, CopyError> {
    let partial = partial(target);
    sound(&connect(&partial, OpenFlags::SQLITE_OPEN_READ_ONLY)?)?;
    if target.symlink_metadata().is_ok() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
    }
    rename(&partial, target)?;
    sync_directory_of(target)?;
    Ok(target.metadata()?.len())
}

/// Takes away what was saved, or is being saved, and will not be published.
pub fn discard(target: &Path) {
    for end in ["-journal", ""] {
        // Nothing can be done about one that does not go.
        let _ = remove_file(beside(&partial(target), end));
    }
}

/// Where a copy lies until it is known to be sound. Another process that saves under the same name has another place.
fn partial(target: &Path) -> PathBuf {
    beside(target, &format!(".saving-{}", std::process::id()))
}

/// What putting a copy back came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Homes that are there again.
    pub homes: usize,
    /// Where the database lies that was replaced; None: there was none.
    pub kept: Option<PathBuf>,
    /// Keys that the copy has as good and the replaced database as revoked: they stay revoked. None: what was replaced
    /// could not be read.
    pub revoked: Option<usize>,
}

/// Opens a copy that is to be put back, if it is a database of ours. One that lies there by itself is only read: SQLite
/// would make files beside it, or refuse it where it cannot.
pub fn source(file: &Path) -> Result<Connection, CopyError> {
    // Its log lies beside the file itself, not beside a link to it.
    let file = &file.canonicalize()?;
    let lies_alone = !["-wal", "-journal"].iter().any(|end| beside(file, end).exists());
    let mode = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let conn = match lies_alone {
        true => Connection::open_with_flags(immutable(file), mode | OpenFlags::SQLITE_OPEN_URI)?,
        false => Connection::open_with_flags(file, mode)?,
    };
    has_tables(&conn)?;
    Ok(conn)
}

/// A file as SQLite names one that nobody changes.
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

/// Puts a data directory back to what a copy holds, and keeps beside it what was there. Nobody else may use the directory
/// meanwhile. Until the copy is known to be sound, the directory stays as it is.
pub fn restore(dir: &Path, from: Connection, run: i64) -> Result<Restored, CopyError> {
    make_directory(dir)?;
    let file = dir.join(FILE);
    let staged = beside(&file, ".restoring");
    remove_if_there(&staged)?;
    make_new(&staged)?;
    let replaced = Replaced::read(&file);
    let prepared = stage(&from, &staged, run, replaced.as_ref().unwrap_or(&Replaced::default()));
    if prepared.is_err() {
        remove_if_there(&staged)?;
    }
    let (homes, revoked) = prepared?;
    // The source may be what an earlier restore kept, which is replaced now.
    drop(from);
    let kept = keep(&file)?;
    replace(&file, &staged)?;
    Ok(Restored { homes, kept, revoked: replaced.map(|_| revoked) })
}

/// What holds on of a database that is to be thrown away.
#[derive(Default)]
struct Replaced {
    /// The highest positions that its homes have used, or would not have used again.
    heads: HashMap<Uuid, i64>,
    keys: Vec<Key>,
}

impl Replaced {
    /// None: it cannot be read, so that nothing is known of it.
    fn read(file: &Path) -> Option<Replaced> {
        if !file.exists() {
            return Some(Replaced::default());
        }
        let read = || -> Result<Replaced, Fault> {
            let conn = whole(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let tx = Tx::new(&conn);
            let homes = homes::numbers(&tx)?.into_iter().map(|number| homes::load(&tx, number));
            let heads = homes
                .map(|home| home.map(|home| (home.id, home.head.max(home.floor - 1))))
                .collect::<Result<_, Fault>>()?;
            Ok(Replaced { heads, keys: keys::list(&tx, None)? })
        };
        read().ok()
    }
}

/// Makes the database that is to be; gives how many homes it has, and how many keys are revoked in it that were not.
fn stage(from: &Connection, staged: &Path, run: i64, lost: &Replaced) -> Result<(usize, usize), CopyError> {
    copy(from, staged)?;
    let mut conn = connect(staged, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    sound(&conn)?;
    migrate(&mut conn)?;
    let transaction = conn.transaction()?;
    let tx = Tx::new(&transaction);
    let numbers = homes::numbers(&tx).map_err(unsound)?;
    if numbers.is_empty() && !lost.heads.is_empty() {
        let message = format!(
            "it holds no homes, and the data directory has {}; look whether it is the right file",
            lost.heads.len()
        );
        return Err(CopyError::Unsound(message));
    }
    for number in &numbers {
        let id = homes::load(&tx, *number).map_err(unsound)?.id;
        let lost = lost.heads.get(&id).copied().unwrap_or(0);
        homes::mark_restored(&tx, *number, run, lost, GAP).map_err(unsound)?;
    }
    let mut revoked = 0;
    for key in &lost.keys {
        revoked += usize::from(keys::carry_over(&tx, key).map_err(unsound)?);
    }
    drop(tx);
    transaction.commit()?;
    Ok((numbers.len(), revoked))
}

/// Refuses what is no database of ours.
fn has_tables(conn: &Connection) -> Result<(), CopyError> {
    for table in TABLES {
        if !conn.table_exists(None, table)? {
            return Err(CopyError::Unsound("it is no database of Hearth".to_owned()));
        }
    }
    Ok(())
}

/// The same, and what is damaged.
fn sound(conn: &Connection) -> Result<(), CopyError> {
    has_tables(conn)?;
    match super::check::database(&Tx::new(conn)).map_err(unsound)?.first() {
        Some(fault) => Err(CopyError::Unsound(format!("it is damaged: {fault}"))),
        None => Ok(()),
    }
}

/// Gives the database that is to be replaced a second name, in place of what an earlier restore kept: whatever happens
/// next, no moment is without a whole database. None: there is none.
fn keep(file: &Path) -> Result<Option<PathBuf>, CopyError> {
    if !file.try_exists()? {
        return Ok(None);
    }
    fold_log(file);
    let kept = beside(file, ".before-restore");
    for end in ["", "-wal", "-shm"] {
        remove_if_there(&beside(&kept, end))?;
    }
    // Not every file system knows second names.
    hard_link(file, &kept).or_else(|_| std::fs::copy(file, &kept).map(drop))?;
    set_permissions(&kept, Permissions::from_mode(0o600))?;
    match rename(beside(file, "-wal"), beside(&kept, "-wal")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => sync_directory_of(&kept)?,
    }
    Ok(Some(kept))
}

/// Brings what is only in the log into the file. A database that is too damaged for that keeps its log beside it.
fn fold_log(file: &Path) {
    if let Ok(conn) = whole(file, OpenFlags::SQLITE_OPEN_READ_WRITE) {
        let _ = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}

fn copy(from: &Connection, target: &Path) -> Result<(), OpenError> {
    let mut to = connect(target, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let step = Backup::new(from, &mut to)?.step(-1)?;
    if step != StepResult::Done {
        return Err(OpenError::Io(io::Error::other("the database is in use; try again")));
    }
    // One file that needs no other beside it.
    to.pragma_update(None, "journal_mode", "DELETE")?;
    Ok(())
}

fn unsound(fault: Fault) -> CopyError {
    match fault {
        Fault::Sqlite(error) => error.into(),
        Fault::Damaged(why) => CopyError::Unsound(format!("it is damaged: {why}")),
        other => CopyError::Unsound(format!("it is damaged: {other}")),
    }
}

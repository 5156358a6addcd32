//! The right to sync one database: one process at a time. Must not know what syncing is.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hearth_contract::formats::Timestamp;

use super::files::{companion, directory, make_private_directory, modified_at, private_file};

/// The most digits that a process id has.
const PID_DIGITS_MAX: u64 = 10;

/// The pause before the lock is tried again, and how often, while other processes only ask whether the lock is held.
const ASKED_PAUSE: Duration = Duration::from_millis(2);
const ASKED_RETRIES_MAX: u32 = 50;

/// The sync lock of one database, held by the process that syncs. Dropping the last clone releases the lock; so does the
/// system when the process ends in any way.
#[derive(Debug, Clone)]
pub struct SyncLock {
    /// Only kept, so that the lock lasts.
    _held: Arc<HeldFile>,
}

/// A lock file with the file lock on it.
#[derive(Debug)]
struct HeldFile(File);

impl SyncLock {
    /// Takes the lock of a database. None when another process holds the lock. An error when the lock file cannot be made, or
    /// belongs to another program.
    pub fn try_take(db: &Path) -> io::Result<Option<SyncLock>> {
        make_private_directory(directory(db))?;
        // The setup file decides how the lock file is named.
        private_file(&companion(db, "setup"))?;
        let path = companion(db, "lock");
        let mut file = private_file(&path)?;
        match try_exclusive(&file) {
            Ok(()) if !is_lock_file(&mut file)? => {
                let text =
                    format!("{} is a file of another program, not the lock of a replica: rename it", path.display());
                Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
            }
            Ok(()) => {
                // The process id is only for messages: the file lock itself counts. On a full disk the id is left out.
                file.set_len(0)?;
                let _ = file.write_all(std::process::id().to_string().as_bytes());
                Ok(Some(SyncLock { _held: Arc::new(HeldFile(file)) }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// True when a process holds the lock of a database.
    pub fn is_held(db: &Path) -> bool {
        let file = File::open(companion(db, "lock"));
        // A shared lock lets several processes ask at once; closing the file releases the shared lock.
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// When the lock of a database was last taken. None without a lock file.
    pub fn taken_at(db: &Path) -> Option<Timestamp> {
        modified_at(&companion(db, "lock"))
    }

    /// The id of the process that holds the lock of a database. None when the lock file does not tell.
    pub fn holder(db: &Path) -> Option<u32> {
        let mut text = String::new();
        File::open(companion(db, "lock")).ok()?.read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }
}

/// Locks the file. A question of another process ([`SyncLock::is_held`]) is waited out: a question is no holder.
fn try_exclusive(file: &File) -> Result<(), TryLockError> {
    for _ in 0..ASKED_RETRIES_MAX {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {}
            tried => return tried,
        }
        // A holder's lock is exclusive, and refuses this one.
        file.try_lock_shared()?;
        file.unlock().map_err(TryLockError::Error)?;
        std::thread::sleep(ASKED_PAUSE);
    }
    file.try_lock()
}

/// True when the file holds what a lock file holds: no byte, or a process id.
fn is_lock_file(file: &mut File) -> io::Result<bool> {
    let mut bytes = Vec::new();
    file.take(PID_DIGITS_MAX + 1).read_to_end(&mut bytes)?;
    file.rewind()?;
    let is_number = || str::from_utf8(&bytes).is_ok_and(|text| text.trim().parse::<u32>().is_ok());
    Ok(bytes.is_empty() || is_number())
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        let _ = self.0.rewind();
        let _ = self.0.set_len(0);
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// How often the lock is taken beside a process that asks all the time.
    const TRIES: usize = 500;

    #[test]
    fn question_does_not_keep_lock_from_taker() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("a.db");
        drop(SyncLock::try_take(&db).unwrap().unwrap());
        let is_over = AtomicBool::new(false);
        let refused = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    SyncLock::is_held(&db);
                }
            });
            let refused = (0..TRIES).filter(|_| SyncLock::try_take(&db).unwrap().is_none()).count();
            is_over.store(true, Ordering::Relaxed);
            refused
        });
        assert_eq!(refused, 0);
    }

    #[test]
    fn lock_lasts_until_last_clone_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("a.db");
        let lock = SyncLock::try_take(&db).unwrap().unwrap();
        drop(lock.clone());
        assert!(SyncLock::is_held(&db) && SyncLock::try_take(&db).unwrap().is_none());
        drop(lock);
        assert!(!SyncLock::is_held(&db));
    }

    #[test]
    fn lock_leaves_foreign_file_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (db, file) = (directory.path().join("a.db"), directory.path().join("a.db.lock"));
        for theirs in ["mine", "17 18", "\u{0}"] {
            std::fs::write(&file, theirs).unwrap();
            let refused = SyncLock::try_take(&db).unwrap_err().to_string();
            assert!(refused.contains("a.db.lock") && refused.contains("another program"), "{refused}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), theirs);
        }
        for ours in ["", "17", "4294967295"] {
            std::fs::write(&file, ours).unwrap();
            assert!(SyncLock::try_take(&db).unwrap().is_some(), "{ours}");
        }
    }
}

//! The right to sync one database: one process at a time. Must not know what syncing is.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use crate::store::open::{companion, make_private_directory, private_file};

/// Held by the process that syncs; given back when dropped, and by the system when the process ends in any way.
#[derive(Debug)]
pub struct SyncLock {
    file: File,
}

impl SyncLock {
    /// Takes the lock of a database; None when another process holds it.
    pub fn try_take(db: &Path) -> io::Result<Option<SyncLock>> {
        if let Some(directory) = db.parent().filter(|d| !d.as_os_str().is_empty() && !d.exists()) {
            make_private_directory(directory)?;
        }
        let mut file = private_file(&companion(db, "lock"))?;
        match file.try_lock() {
            Ok(()) => {
                // For the one who is refused; the lock itself is the truth, and a full disk leaves it unsaid.
                file.set_len(0)?;
                let _ = file.write_all(std::process::id().to_string().as_bytes());
                Ok(Some(SyncLock { file }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether a process holds the lock of a database.
    pub fn is_held(db: &Path) -> bool {
        let file = File::open(companion(db, "lock"));
        // A shared lock is given back at once and keeps no second look out; a file that is not there is held by nobody.
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// The process that holds the lock of a database, as far as it said so.
    pub fn holder(db: &Path) -> Option<u32> {
        let mut text = String::new();
        File::open(companion(db, "lock")).ok()?.read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }
}

impl Drop for SyncLock {
    fn drop(&mut self) {
        let _ = self.file.rewind();
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

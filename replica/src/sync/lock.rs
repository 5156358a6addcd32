//! The right to sync one database: one process at a time. Must not know what syncing is.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use hearth_contract::formats::Timestamp;

use crate::store::open::{companion, make_private_directory, private_file};

/// Digits of the number of a process.
const DIGITS_MAX: u64 = 10;

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
        // What it is called is settled by this one.
        private_file(&companion(db, "setup"))?;
        let path = companion(db, "lock");
        let mut file = private_file(&path)?;
        match file.try_lock() {
            Ok(()) if !is_ours(&mut file)? => {
                let text =
                    format!("{} is a file of another program, not the lock of a replica: rename it", path.display());
                Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
            }
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

    /// When the lock of a database was taken last.
    pub fn taken_at(db: &Path) -> Option<Timestamp> {
        let at = std::fs::metadata(companion(db, "lock")).ok()?.modified().ok()?;
        let since = at.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok().map(Timestamp::from_millis)
    }

    /// The process that holds the lock of a database, as far as it said so.
    pub fn holder(db: &Path) -> Option<u32> {
        let mut text = String::new();
        File::open(companion(db, "lock")).ok()?.read_to_string(&mut text).ok()?;
        text.trim().parse().ok()
    }
}

/// Whether a lock holds what one of ours does: nothing, or the number of a process.
fn is_ours(file: &mut File) -> io::Result<bool> {
    let mut bytes = Vec::new();
    file.take(DIGITS_MAX + 1).read_to_end(&mut bytes)?;
    file.rewind()?;
    let is_number = || str::from_utf8(&bytes).is_ok_and(|text| text.trim().parse::<u32>().is_ok());
    Ok(bytes.is_empty() || is_number())
}

impl Drop for SyncLock {
    fn drop(&mut self) {
        let _ = self.file.rewind();
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_somebody_else_is_left_alone() {
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

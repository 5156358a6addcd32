//! Removes bytes that no row names: of deleted files, of uploads that a crash cut off, and of files that a restore discarded.
//! Must not know requests.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::remove_file;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use hearth_contract::formats::Timestamp;
use tokio::sync::OwnedMutexGuard;
use uuid::Uuid;

use super::copies::entries;
use super::disk::Disk;
use super::{Files, UNUSED_KEPT_MILLIS};
use crate::store::stored_files::{self, FileHash, RemovedFile};
use crate::store::{Db, HomeNumber, StoreError};

/// Files that one step of a cleanup removes.
const FILES_PER_STEP: usize = 100;

impl Files {
    /// One step of the cleanup: deletes files that nobody has used for 7 days, and removes the bytes of deleted files. True:
    /// call again, there may be more.
    pub async fn clean_up_step(self: &Arc<Self>, db: &Db, now: Timestamp) -> Result<bool, StoreError> {
        let before = now.plus_millis(-UNUSED_KEPT_MILLIS);
        let expired = db.write(move |tx| stored_files::remove_unused(tx, before, FILES_PER_STEP)).await?;
        let removed = self.remove_deleted(db).await?;
        Ok(expired == FILES_PER_STEP || removed == FILES_PER_STEP)
    }

    /// Removes the bytes of deleted files. Gives their number.
    pub async fn remove_deleted(self: &Arc<Self>, db: &Db) -> Result<usize, StoreError> {
        let deleted = db.read(|tx| stored_files::removed(tx, FILES_PER_STEP)).await?;
        let count = deleted.len();
        for RemovedFile { home_id, home, sha256 } in deleted {
            let lock = self.lock(&sha256).await;
            self.remove_unnamed(db, home_id, Some(home), &sha256, &lock).await?;
            db.write(move |tx| stored_files::forget_removed(tx, home, &sha256)).await?;
        }
        Ok(count)
    }

    /// Removes the bytes of a file, unless a row names them. The lock of the file keeps an upload from adding the row meanwhile.
    pub(crate) async fn remove_unnamed(
        self: &Arc<Self>,
        db: &Db,
        home_id: Uuid,
        home: Option<HomeNumber>,
        hash: &FileHash,
        _held: &OwnedMutexGuard<()>,
    ) -> Result<(), StoreError> {
        if let Some(home) = home {
            let wanted = hash.clone();
            if db.read(move |tx| stored_files::find(tx, home, &wanted)).await?.is_some() {
                return Ok(());
            }
        }
        let (files, hash) = (self.clone(), hash.clone());
        let removed = tokio::task::spawn_blocking(move || files.disk.remove(home_id, &hash)).await;
        removed.unwrap_or(Err(StoreError::Panicked))
    }

    /// Removes what an earlier process left: temporary files, and bytes without a row. Looks at one directory after the other.
    /// Leaves all names alone that this program does not give.
    /// Bytes without a row stay for 7 days: an earlier state of the database may name them, which a restore has put aside.
    pub async fn sweep(self: &Arc<Self>, db: &Db, now: Timestamp) -> Result<(), StoreError> {
        for home_dir in directories(self.disk.dir()).await {
            let Some(id) = name(&home_dir).and_then(|name| Uuid::try_parse(name).ok()) else { continue };
            let home = db.read(move |tx| stored_files::home_of_id(tx, id)).await?;
            for dir in directories(&home_dir).await {
                self.sweep_directory(db, (id, home), dir, now).await?;
            }
        }
        Ok(())
    }

    async fn sweep_directory(
        self: &Arc<Self>,
        db: &Db,
        (id, home): (Uuid, Option<HomeNumber>),
        dir: PathBuf,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let files = self.clone();
        let read = move || {
            for path in entries(&dir) {
                if name(&path).is_some_and(|name| files.disk.is_left_over(name)) {
                    // A failure leaves the file for the next start.
                    let _ = remove_file(&path);
                }
            }
            Disk::hashes_in(&dir).into_iter().filter(|hash| is_old(&dir.join(hash.as_str()), now)).collect::<Vec<_>>()
        };
        let found = tokio::task::spawn_blocking(read).await.unwrap_or_default();
        let Some(first) = found.iter().map(FileHash::as_str).min().map(str::to_owned) else { return Ok(()) };
        let last = found.iter().map(FileHash::as_str).max().map(str::to_owned).unwrap_or_default();
        let named: HashSet<String> = match home {
            Some(home) => {
                db.read(move |tx| stored_files::hashes_between(tx, home, &first, &last)).await?.into_iter().collect()
            }
            None => HashSet::new(),
        };
        for hash in found.iter().filter(|hash| !named.contains(hash.as_str())) {
            tracing::info!(home = %id, sha256 = hash.as_str(), "removed a file that no row names");
            let lock = self.lock(hash).await;
            self.remove_unnamed(db, id, home, hash, &lock).await?;
        }
        Ok(())
    }
}

fn name(path: &Path) -> Option<&str> {
    path.file_name().and_then(OsStr::to_str)
}

async fn directories(dir: &Path) -> Vec<PathBuf> {
    let dir = dir.to_owned();
    let read = move || entries(&dir).filter(|path| path.symlink_metadata().is_ok_and(|at| at.is_dir())).collect();
    tokio::task::spawn_blocking(read).await.unwrap_or_default()
}

/// Whether a file was written more than 7 days ago.
fn is_old(path: &Path, now: Timestamp) -> bool {
    let written = path.symlink_metadata().and_then(|at| at.modified());
    let age = written.ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map(|at| at.as_millis() as i64);
    age.is_some_and(|written| written < now.millis() - UNUSED_KEPT_MILLIS)
}

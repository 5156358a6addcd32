//! The running export jobs and the directory of the export files. Must not know how a job is carried out.

use std::collections::HashMap;
use std::fs::remove_file;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_contract::formats::Timestamp;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::store::directory::EXPORTS_DIR;
use crate::store::exports::{self, FileName};
use crate::store::{Db, StoreError};

/// How long a file is kept (contract 16), in milliseconds.
pub(super) const FILE_TTL_MS: i64 = 24 * 3_600_000;
/// How long a job without a file stays in the list, in milliseconds.
const JOB_TTL_MS: i64 = 30 * FILE_TTL_MS;
/// Jobs that one transaction expires or deletes.
const JOBS_PER_STEP: usize = 100;

/// The part of the export jobs that is not in the database.
pub struct Exports {
    pub(super) dir: PathBuf,
    pub(super) new_job: Notify,
    running: Mutex<HashMap<Uuid, Arc<Progress>>>,
}

/// The progress of a running job. Only in memory: an interrupted job starts again.
#[derive(Default)]
pub(super) struct Progress {
    /// Records written.
    pub(super) done: AtomicU64,
    /// Records to write.
    pub(super) total: AtomicU64,
    /// True: the job must end early.
    pub(super) cancelled: AtomicBool,
}

impl Exports {
    /// For a data directory. The directory of the files is created later.
    pub fn new(data: &Path) -> Exports {
        Exports { dir: data.join(EXPORTS_DIR), new_job: Notify::new(), running: Mutex::default() }
    }

    /// Wakes the worker for a new job.
    pub fn notify(&self) {
        self.new_job.notify_one();
    }

    /// Written records and all records of a running job. None: the job is not running.
    pub fn progress(&self, job: Uuid) -> Option<(u64, u64)> {
        let running = self.running();
        let progress = running.get(&job)?;
        Some((progress.done.load(Ordering::Relaxed), progress.total.load(Ordering::Relaxed)))
    }

    /// Ends a job early if the job is running.
    pub fn cancel(&self, job: Uuid) {
        if let Some(progress) = self.running().get(&job) {
            progress.cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// The path of an export file.
    pub fn path(&self, file: &FileName) -> PathBuf {
        self.dir.join(file.as_str())
    }

    /// Deletes an export file. A download in progress continues, because its file is open.
    pub fn remove(&self, file: &FileName) {
        match remove_file(self.path(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, file = file.as_str(), "cannot delete an export file");
            }
            _ => (),
        }
    }

    /// Runs one step of the cleanup: deletes files after one day, and their jobs 30 days later. True: call again, there
    /// may be more.
    pub(crate) async fn remove_expired(&self, db: &Db, now: Timestamp) -> Result<bool, StoreError> {
        let files = db.write(move |tx| exports::expire(tx, now, JOBS_PER_STEP)).await?;
        files.iter().flatten().for_each(|file| self.remove(file));
        let before = now.plus_millis(-JOB_TTL_MS);
        let forgotten = db.write(move |tx| exports::delete_finished(tx, before, JOBS_PER_STEP)).await?;
        self.notify();
        Ok(files.len() == JOBS_PER_STEP || forgotten == JOBS_PER_STEP)
    }

    pub(super) fn begin(&self, job: Uuid) -> Arc<Progress> {
        let progress = Arc::new(Progress::default());
        self.running().insert(job, progress.clone());
        progress
    }

    pub(super) fn end(&self, job: Uuid) {
        self.running().remove(&job);
    }

    pub(super) fn cancel_all(&self) {
        self.running().values().for_each(|progress| progress.cancelled.store(true, Ordering::Relaxed));
    }

    fn running(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<Progress>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

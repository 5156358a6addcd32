//! Export jobs beside the database: how far the running ones are, and where the files lie. Must not know who asks, nor
//! how a job is carried out.
//!
//! - `run`: takes jobs on until the service stops.
//! - `write`: one job's file.

pub(crate) mod run;
mod write;

use std::collections::HashMap;
use std::fs::remove_file;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use uuid::Uuid;

use crate::store::open::EXPORTS_DIR;
use crate::store::{Db, StoreError, exports};

/// How long a file is kept (contract 16), in milliseconds.
const KEPT_MS: i64 = 24 * 3_600_000;
/// How long a job without a file is still listed, in milliseconds.
const LISTED_MS: i64 = 30 * KEPT_MS;
/// Jobs expired or forgotten in one transaction.
const STEP: usize = 100;

/// What is known of export jobs beside the database.
pub struct Exports {
    dir: PathBuf,
    bell: Notify,
    running: Mutex<HashMap<Uuid, Arc<Progress>>>,
}

/// How far a running job is. Lives in memory: a job that is cut off begins anew.
#[derive(Default)]
struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
}

impl Exports {
    /// For the files of a data directory.
    pub fn new(data: &Path) -> Exports {
        Exports { dir: data.join(EXPORTS_DIR), bell: Notify::new(), running: Mutex::default() }
    }

    /// Says that a job waits.
    pub fn ring(&self) {
        self.bell.notify_one();
    }

    /// How many records a running job has written, of how many. None: it does not run.
    pub fn progress(&self, job: Uuid) -> Option<(u64, u64)> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let progress = running.get(&job)?;
        Some((progress.done.load(Ordering::Relaxed), progress.total.load(Ordering::Relaxed)))
    }

    /// Ends a job that may be running.
    pub fn cancel(&self, job: Uuid) {
        if let Some(progress) = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(&job) {
            progress.cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Where a file lies.
    pub fn path(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }

    /// Takes a file away. Whoever is reading it reads on.
    pub fn remove(&self, file: &str) {
        match remove_file(self.path(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, file, "the file of an export could not be removed");
            }
            _ => (),
        }
    }

    /// Removes what has had its time, one step: files a day after they were made, jobs a month after that. True: call
    /// again, there may be more.
    pub(crate) async fn tidy(&self, db: &Db, now: hearth_contract::formats::Timestamp) -> Result<bool, StoreError> {
        let files = db.write(move |tx| exports::expire(tx, now, STEP)).await?;
        files.iter().for_each(|file| self.remove(file));
        let before = now.plus_millis(-LISTED_MS);
        let forgotten = db.write(move |tx| exports::delete_finished(tx, before, STEP)).await?;
        self.ring();
        Ok(files.len() == STEP || forgotten == STEP)
    }

    fn begin(&self, job: Uuid) -> Arc<Progress> {
        let progress = Arc::new(Progress::default());
        self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(job, progress.clone());
        progress
    }

    fn end(&self, job: Uuid) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&job);
    }

    fn cancel_all(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.values().for_each(|progress| progress.cancelled.store(true, Ordering::Relaxed));
    }
}

//! Export jobs as they are carried out: at most [`RUNNING_MAX`] at once, each off the async threads, from one read
//! transaction into one file. Must not know who asked.
//!
//! - [`Exports`]: what handlers may ask of running jobs.
//! - [`run`]: takes jobs on until the service stops. What was cut off then, or by a crash, is done again at the next
//!   start.
//! - `write`: one job's file.

mod write;

use std::collections::{HashMap, HashSet};
use std::fs::{DirBuilder, read_dir, remove_file};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use data_encoding::HEXLOWER;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use uuid::Uuid;

use self::write::Stop;
use crate::app::App;
use crate::chance::random;
use crate::store::exports::{self, Job, Status};
use crate::store::{Db, Fault};

/// Jobs that are carried out at once.
const RUNNING_MAX: usize = 2;
/// How long a file is kept (contract 16), in milliseconds.
const KEPT_MS: i64 = 24 * 3_600_000;
/// How long a job without a file is still listed, in milliseconds.
const LISTED_MS: i64 = 30 * KEPT_MS;
/// Jobs expired or forgotten in one transaction.
const STEP: usize = 100;
/// Between two tries of what the database did not take: it heals when its disk has room again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Name of the directory of files, in the data directory.
const DIRECTORY: &str = "exports";

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
        Exports { dir: data.join(DIRECTORY), bell: Notify::new(), running: Mutex::default() }
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

    /// Removes what has had its time: files a day after they were made, jobs a month after that.
    pub(crate) async fn tidy(&self, db: &Db, now: hearth_contract::formats::Timestamp) -> Result<(), Fault> {
        loop {
            let files = db.write(move |tx| exports::expire(tx, now, STEP)).await?;
            files.iter().for_each(|file| self.remove(file));
            if files.len() < STEP {
                break;
            }
        }
        let before = now.plus_millis(-LISTED_MS);
        while db.write(move |tx| exports::forget(tx, before, STEP)).await? == STEP {}
        self.ring();
        Ok(())
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

/// Takes on the jobs that wait, in their order, until the service stops.
pub(crate) async fn run(app: Arc<App>) {
    if let Err(error) = prepare(&app).await {
        tracing::error!(%error, "exports cannot be made");
        return;
    }
    let mut stopping = app.stopping.clone();
    let mut jobs = JoinSet::new();
    while !stopping.is_said() {
        let mut put_off = false;
        while jobs.len() < RUNNING_MAX {
            match app.db.write(exports::claim).await {
                Ok(Some(job)) => drop(jobs.spawn(carry_out(app.clone(), job))),
                Ok(None) => break,
                Err(fault) => {
                    tracing::warn!(%fault, "an export was put off");
                    put_off = true;
                    break;
                }
            }
        }
        tokio::select! {
            () = stopping.heard() => (),
            () = app.exports.bell.notified() => (),
            () = tokio::time::sleep(AGAIN_AFTER), if put_off => (),
            Some(_) = jobs.join_next() => (),
        }
    }
    app.exports.cancel_all();
    while jobs.join_next().await.is_some() {}
}

/// Makes the directory, and brings jobs and files together again after a crash or a restored database.
async fn prepare(app: &App) -> anyhow::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(&app.exports.dir)?;
    app.db.write(exports::put_back).await?;
    let mut known = HashSet::new();
    for (number, file) in app.db.read(exports::files).await? {
        if app.exports.path(&file).exists() {
            known.insert(file);
        } else {
            app.db.write(move |tx| exports::lose(tx, number)).await?;
        }
    }
    for entry in read_dir(&app.exports.dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !known.contains(&name) {
            app.exports.remove(&name);
        }
    }
    Ok(())
}

async fn carry_out(app: Arc<App>, job: Job) {
    let progress = app.exports.begin(job.id);
    let (began, file) = (app.clock.now(), HEXLOWER.encode(&random::<16>()));
    let (path, asked, counting) = (app.exports.path(&file), job.clone(), progress.clone());
    let name = file.clone();
    let made = app.db.read_apart(move |tx| Ok(write::file(tx, &asked, began, &path, name, &counting))).await;
    let made = made.unwrap_or_else(|fault| Err(Stop::Broken(fault.to_string())));
    let now = app.clock.now();
    let done = Job {
        done: progress.done.load(Ordering::Relaxed),
        total: progress.total.load(Ordering::Relaxed),
        finished_at: Some(now),
        ..job
    };
    let id = done.id;
    let done = match made {
        Ok(product) => Job {
            status: Status::Succeeded,
            expires_at: Some(now.plus_millis(KEPT_MS)),
            product: Some(product),
            ..done
        },
        Err(Stop::Cancelled) => {
            app.exports.remove(&file);
            app.exports.end(id);
            return;
        }
        Err(Stop::Broken(why)) => {
            tracing::error!(export = %id, why, "an export failed");
            app.exports.remove(&file);
            let error = Some("The service could not write the file; ask for a new export.".to_owned());
            Job { status: Status::Failed, error, ..done }
        }
    };
    keep(&app, done, &file).await;
    app.exports.end(id);
}

/// Keeps what a job came to, as soon as the database takes it. What a stop cuts off is made again at the next start.
async fn keep(app: &App, done: Job, file: &str) {
    let mut stopping = app.stopping.clone();
    loop {
        let job = done.clone();
        match app.db.write(move |tx| exports::finish(tx, &job)).await {
            Ok(true) => return,
            Ok(false) => return app.exports.remove(file),
            Err(fault) => tracing::warn!(%fault, export = %done.id, "an export is not kept yet"),
        }
        tokio::select! {
            () = stopping.heard() => return app.exports.remove(file),
            () = tokio::time::sleep(AGAIN_AFTER) => (),
        }
    }
}

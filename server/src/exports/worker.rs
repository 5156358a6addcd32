//! Runs export jobs: at most [`RUNNING_MAX`] at once, each on a blocking thread, from one read transaction into one file.
//! A job that a shutdown or a crash interrupts starts again. The database may refuse a step for a while (disk full, lock
//! held); each step is repeated, because a job would otherwise wait forever. Must not know who asked.

use std::collections::HashSet;
use std::fs::read_dir;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use tokio::task::JoinSet;

use super::file::{self, ExportError};
use super::state::{FILE_TTL_MS, Progress};
use crate::app::App;
use crate::store::directory::make_owned_directory;
use crate::store::exports::{self, FileName, Job, Product, Status};
use crate::store::{StoreError, Tx, homes};

/// Jobs that run at once.
const RUNNING_MAX: usize = 2;
/// Time before a step that the database refused is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Runs waiting jobs in their order until the shutdown.
pub(crate) async fn run(app: Arc<App>) {
    let mut shutdown = app.shutdown.clone();
    while let Err(error) = prepare(&app).await {
        tracing::error!(error = format!("{error:#}"), "exports cannot start; trying again");
        tokio::select! {
            () = shutdown.requested() => return,
            () = tokio::time::sleep(RETRY_AFTER) => (),
        }
    }
    let mut jobs = JoinSet::new();
    while !shutdown.is_requested() {
        let retry = start_waiting(&app, &mut jobs).await.is_err();
        tokio::select! {
            () = shutdown.requested() => (),
            () = app.exports.new_job.notified() => (),
            () = tokio::time::sleep(RETRY_AFTER), if retry => (),
            Some(_) = jobs.join_next() => (),
        }
    }
    app.exports.cancel_all();
    while jobs.join_next().await.is_some() {}
}

/// Starts waiting jobs up to the limit. Err: the database refused, so the caller tries again.
async fn start_waiting(app: &Arc<App>, jobs: &mut JoinSet<()>) -> Result<(), ()> {
    while jobs.len() < RUNNING_MAX {
        match app.db.write(exports::claim).await {
            Ok(Some(job)) => {
                // Registered before the job runs, so that a shutdown finds the job.
                let progress = app.exports.begin(job.id);
                jobs.spawn(run_job(app.clone(), job, progress));
            }
            Ok(None) => break,
            Err(fault) => {
                tracing::warn!(%fault, "cannot start an export; trying again");
                return Err(());
            }
        }
    }
    Ok(())
}

/// Creates the directory, and repairs the pairing of jobs and files after a crash or a restored database.
async fn prepare(app: &App) -> anyhow::Result<()> {
    make_owned_directory(&app.exports.dir).with_context(|| app.exports.dir.display().to_string())?;
    app.db.write(exports::requeue_running).await?;
    let mut known = HashSet::new();
    for (number, file) in app.db.read(exports::files).await? {
        match file.filter(|file| app.exports.path(file).symlink_metadata().is_ok_and(|metadata| metadata.is_file())) {
            Some(file) => drop(known.insert(file)),
            None => app.db.write(move |tx| exports::mark_file_missing(tx, number)).await?,
        }
    }
    // Only files that this program made: the directory may have been there before.
    for entry in read_dir(&app.exports.dir)? {
        let entry = entry?;
        let name = entry.file_name().to_str().and_then(FileName::parse);
        if let Some(name) = name.filter(|name| !known.contains(name))
            && entry.file_type()?.is_file()
        {
            app.exports.remove(&name);
        }
    }
    Ok(())
}

/// Writes the file of a job and stores the result.
async fn run_job(app: Arc<App>, job: Job, progress: Arc<Progress>) {
    let (began, name) = (app.clock_guard.now_or_expected(&app.clock), FileName::random());
    let (path, id) = (app.exports.path(&name), job.id);
    let (job_copy, progress_copy, file_name) = (job.clone(), progress.clone(), name.clone());
    let files = app.files.clone();
    let written = app
        .db
        .read_on_own_thread(move |tx| {
            Ok(file::write_file(tx, &files.disk, &job_copy, began, (&path, file_name), &progress_copy))
        })
        .await;
    let written = written.unwrap_or_else(|fault| Err(ExportError::Broken(fault.to_string())));
    if written.is_err() {
        app.exports.remove(&name);
    }
    if let Some(finished) = finished_job(&app, job, &progress, written) {
        store_result(&app, finished, &name).await;
    }
    app.exports.end(id);
}

/// The job with its result. None: the job was cancelled.
fn finished_job(app: &App, job: Job, progress: &Progress, written: Result<Product, ExportError>) -> Option<Job> {
    let now = app.clock_guard.now_or_expected(&app.clock);
    let job = Job {
        done: progress.done.load(Ordering::Relaxed),
        total: progress.total.load(Ordering::Relaxed),
        finished_at: Some(now),
        ..job
    };
    match written {
        Ok(product) => Some(Job {
            status: Status::Succeeded,
            expires_at: Some(now.plus_millis(FILE_TTL_MS)),
            product: Some(product),
            ..job
        }),
        Err(ExportError::Cancelled) => None,
        Err(ExportError::ReportTooLarge) => {
            let most = hearth_exchange::report::RECORDS_MAX;
            let error =
                format!("The home has more than {most} records, and a report would open in no browser; ask for csv.");
            Some(Job { status: Status::Failed, error: Some(error), ..job })
        }
        Err(ExportError::Broken(reason)) => {
            tracing::error!(export = %job.id, reason, "an export failed");
            let error = Some("The service could not write the file.".to_owned());
            Some(Job { status: Status::Failed, error, ..job })
        }
    }
}

/// Stores the result of a job. A file for which the home has no room fails the job. False: the file is not kept.
fn finish(tx: &Tx<'_>, job: Job, home_bytes_max: i64) -> Result<bool, StoreError> {
    let size = job.product.as_ref().map_or(0, |product| i64::try_from(product.size_bytes).unwrap_or(i64::MAX));
    if size == 0 || homes::used_bytes(tx, job.home)?.saturating_add(size) <= home_bytes_max {
        return exports::finish(tx, &job);
    }
    let error = Some("The home has no room for the file: it has reached the most bytes that it may take.".to_owned());
    exports::finish(tx, &Job { status: Status::Failed, error, product: None, expires_at: None, ..job })?;
    Ok(false)
}

/// Stores the result of a job as soon as the database accepts the result. A shutdown before that deletes the file; the
/// next start runs the job again.
async fn store_result(app: &App, finished: Job, file: &FileName) {
    let mut shutdown = app.shutdown.clone();
    loop {
        let (job, limit) = (finished.clone(), app.config.home_bytes_max);
        match app.db.write(move |tx| finish(tx, job, limit)).await {
            Ok(true) => return,
            Ok(false) => return app.exports.remove(file),
            Err(fault) => tracing::warn!(%fault, export = %finished.id, "cannot store an export; trying again"),
        }
        tokio::select! {
            () = shutdown.requested() => return app.exports.remove(file),
            () = tokio::time::sleep(RETRY_AFTER) => (),
        }
    }
}

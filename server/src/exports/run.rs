//! Carrying export jobs out: at most [`RUNNING_MAX`] at once, each off the async threads, from one read transaction into
//! one file. What a stop or a crash cut off is done again at the next start. The database may refuse any step for a
//! while (its disk is full, another process holds it); every step is tried again then, or the job would wait for ever.
//! Must not know who asked.

use std::collections::HashSet;
use std::fs::{DirBuilder, read_dir};
use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use data_encoding::HEXLOWER;
use tokio::task::JoinSet;

use super::write::{self, Stop};
use super::{KEPT_MS, Progress};
use crate::app::App;
use crate::chance::random;
use crate::store::exports::{self, Job, Status};

/// Jobs that are carried out at once.
const RUNNING_MAX: usize = 2;
/// Between two tries of what the database did not take: it heals when its disk has room again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Takes on the jobs that wait, in their order, until the service stops.
pub(crate) async fn run(app: Arc<App>) {
    let mut stopping = app.stopping.clone();
    while let Err(error) = prepare(&app).await {
        tracing::error!(error = format!("{error:#}"), "exports cannot be made yet");
        tokio::select! {
            () = stopping.heard() => return,
            () = tokio::time::sleep(AGAIN_AFTER) => (),
        }
    }
    let mut jobs = JoinSet::new();
    while !stopping.is_said() {
        let mut put_off = false;
        while jobs.len() < RUNNING_MAX {
            match app.db.write(exports::claim).await {
                Ok(Some(job)) => {
                    // Before it runs: a stop that comes now has to find it.
                    let progress = app.exports.begin(job.id);
                    jobs.spawn(carry_out(app.clone(), job, progress));
                }
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
    let dir = &app.exports.dir;
    DirBuilder::new().recursive(true).mode(0o700).create(dir).with_context(|| dir.display().to_string())?;
    app.db.write(exports::requeue_running).await?;
    let mut known = HashSet::new();
    for (number, file) in app.db.read(exports::files).await? {
        if app.exports.path(&file).exists() {
            known.insert(file);
        } else {
            app.db.write(move |tx| exports::mark_file_missing(tx, number)).await?;
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

async fn carry_out(app: Arc<App>, job: Job, progress: Arc<Progress>) {
    let (began, file) = (app.clock.now(), HEXLOWER.encode(&random::<16>()));
    let (path, asked, counting) = (app.exports.path(&file), job.clone(), progress.clone());
    let name = file.clone();
    let made = app.db.read_on_own_thread(move |tx| Ok(write::file(tx, &asked, began, &path, name, &counting))).await;
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
            let error = Some("The service could not write the file.".to_owned());
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

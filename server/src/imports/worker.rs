//! Runs import jobs, one after the other: reads the file, plans its rows from one read, applies the plan, and stores the results.
//! Each job gets an end, whatever fails. Must not know who asked.

use std::sync::Arc;
use std::time::Duration;

use hearth_exchange::import::{self, Counts, Draft, Plan, PlannedRow};

use super::permission;
use super::planning::{self, Planned};
use super::request::Request;
use super::writing::{self, Written, give_up};
use crate::app::App;
use crate::store::StoreError;
use crate::store::imports::{self, Failure, FailureCause, Job, Status, Stored};

/// Time before a step that the database refused is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Results that one transaction stores.
const RESULTS_PER_STEP: usize = 2000;

/// Runs waiting jobs in their order until the shutdown.
pub(crate) async fn run(app: Arc<App>) {
    let mut shutdown = app.shutdown.clone();
    // The failure of the jobs that are marked as running although nothing works on them. At the start these are the jobs of an
    // earlier process.
    let mut unended = Some(Failure::new(FailureCause::Interrupted, "The service stopped during the import."));
    while !shutdown.is_requested() {
        let (now, failure) = (app.clock_guard.now_or_expected(&app.clock), unended.clone());
        let claimed = app.db.write(move |tx| {
            if let Some(failure) = &failure {
                imports::end_running(tx, now, failure)?;
            }
            imports::claim(tx)
        });
        let wait = match claimed.await {
            Ok(Some(job)) => {
                unended = run_job(&app, job).await;
                continue;
            }
            Ok(None) => {
                unended = None;
                None
            }
            Err(fault) => {
                tracing::warn!(%fault, "cannot start an import; trying again");
                Some(RETRY_AFTER)
            }
        };
        tokio::select! {
            () = shutdown.requested() => (),
            () = app.new_import.notified() => (),
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => (),
        }
    }
}

/// Carries out a job. None: the job has its end. Else the failure with which it must be ended.
async fn run_job(app: &Arc<App>, job: Job) -> Option<Failure> {
    let (id, of_job) = (job.id, app.clone());
    // A task of its own: a panic ends the job, and not this worker.
    let done = tokio::spawn(async move { carry_out(&of_job, job).await }).await;
    let fault = match done {
        Ok(Ok(())) => return None,
        Ok(Err(fault)) => fault,
        Err(_) => StoreError::Panicked,
    };
    tracing::error!(import = %id, %fault, "an import failed");
    Some(Failure::new(FailureCause::Service, "The service could not carry out the import."))
}

async fn carry_out(app: &Arc<App>, job: Job) -> Result<(), StoreError> {
    let (number, now) = (job.number, app.clock_guard.now_or_expected(&app.clock));
    let of_key = job.clone();
    let found = app.db.read(move |tx| Ok((permission::scopes(tx, &of_key, now)?, imports::body(tx, number)?)));
    let (scopes, Some(body)) = found.await? else { return Ok(()) };
    let scopes = match scopes {
        Ok(scopes) => scopes,
        Err(Failure { cause, sentence }) => {
            let sentence = format!("{sentence} Nothing was written.");
            return end(app, job, Some(Failure::new(cause, sentence))).await;
        }
    };
    let (request, draft) = match read(&job, body).await? {
        Ok(read) => read,
        Err(error) => return end(app, job, Some(Failure::new(FailureCause::File, error.message))).await,
    };
    // The results need the room of the file.
    app.db.write(move |tx| imports::forget_body(tx, number)).await?;
    let (of_plan, limit) = (job.clone(), app.config.home_bytes_max);
    let planned =
        app.db.read_on_own_thread(move |tx| planning::plan(tx, &of_plan, &draft, &scopes, limit, now)).await?;
    let Planned { mut plan, bytes, bytes_left } = planned;
    let failed = plan.counts().failed;
    let failure = if failed > 0 && !request.partial && !request.dry_run {
        let sentence = format!("{failed} of the rows are refused, so nothing was written.");
        Some(Failure::new(FailureCause::Rows, sentence))
    } else if bytes > bytes_left {
        let left = bytes_left.max(0);
        let sentence = format!(
            "The home has no room: the import takes about {bytes} bytes, and {left} are left. Nothing was written."
        );
        if !request.dry_run {
            let all = plan.steps();
            give_up(&mut plan, &all, import::RowCode::NoRoom, "The home has no room for this import.");
        }
        Some(Failure::new(FailureCause::Full, sentence))
    } else if request.dry_run {
        None
    } else {
        match writing::apply(app, &job, &mut plan, request.partial).await? {
            Written::All => None,
            Written::Stopped { done, cause, why } => Some(Failure::new(cause, late_sentence(done, &why))),
            Written::Deleted => return Ok(()),
        }
    };
    store(app, job, &plan, failure).await
}

/// Reads the file of a job. The inner error is a fault of the file or of a parameter.
async fn read(job: &Job, body: Vec<u8>) -> Result<Result<(Request, Draft), import::ImportError>, StoreError> {
    let texts = serde_json::from_str(&job.request).unwrap_or_default();
    let read = tokio::task::spawn_blocking(move || {
        let request = Request::parse(&texts)?;
        let draft = import::read(&body, &request.options)?;
        Ok((request, draft))
    });
    read.await.map_err(|_| StoreError::Panicked)
}

fn late_sentence(done: usize, why: &str) -> String {
    match done {
        0 => format!("{why} Nothing was written."),
        _ => format!("{why} {done} changes were written before."),
    }
}

/// Stores the results, then the end of the job. Results for which the home has no room are left out.
async fn store(app: &App, mut job: Job, plan: &Plan, mut failure: Option<Failure>) -> Result<(), StoreError> {
    let limit = app.config.home_bytes_max;
    for (at, rows) in plan.rows.chunks(RESULTS_PER_STEP).enumerate() {
        let results: Vec<String> = rows.iter().map(PlannedRow::to_json).map(|row| row.to_string()).collect();
        let of_results = job.clone();
        let stored = app
            .db
            .write(move |tx| imports::add_results(tx, &of_results, at * RESULTS_PER_STEP, &results, limit))
            .await?;
        match stored {
            Stored::All => (),
            Stored::Deleted => return Ok(()),
            // A dry run is its results. What an import has written stays written.
            Stored::Full if job.is_dry_run => {
                let full = || Failure::new(FailureCause::Full, "The home has no room for the results of the rows.");
                failure.get_or_insert_with(full);
                break;
            }
            Stored::Full => break,
        }
    }
    let Counts { created, updated, unchanged, failed } = plan.counts();
    let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    job.counts = imports::Counts {
        created: whole(created),
        updated: whole(updated),
        unchanged: whole(unchanged),
        failed: whole(failed),
    };
    end(app, job, failure).await
}

/// Stores the end of a job.
async fn end(app: &App, job: Job, failure: Option<Failure>) -> Result<(), StoreError> {
    let status = if failure.is_some() { Status::Failed } else { Status::Succeeded };
    let finished_at = Some(app.clock_guard.now_or_expected(&app.clock));
    let ended = Job { status, failure, finished_at, ..job };
    app.db.write(move |tx| imports::finish(tx, &ended)).await
}

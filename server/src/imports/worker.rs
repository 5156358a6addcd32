//! Runs import jobs, one after the other: reads the file, plans its rows from one read, applies the plan, and stores the results.
//! Must not know who asked.

use std::sync::Arc;
use std::time::Duration;

use hearth_exchange::import::{self, Counts, Draft, Plan, PlannedRow};

use super::planning;
use super::request::Request;
use super::writing::{self, Written};
use crate::app::App;
use crate::random::fresh_id;
use crate::store::StoreError;
use crate::store::imports::{self, Job, Status};

/// Time before a step that the database refused is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Results that one transaction stores.
const RESULTS_PER_STEP: usize = 2000;
/// The failure of a job whose process ended between two steps.
const INTERRUPTED: &str = "The service stopped during the import. Import the file again: rows with an id, an import_ref or a key \
                           are recognised.";

/// Runs waiting jobs in their order until the shutdown.
pub(crate) async fn run(app: Arc<App>) {
    let mut shutdown = app.shutdown.clone();
    let mut is_ready = false;
    while !shutdown.is_requested() {
        let step = async {
            if !is_ready {
                let now = app.clock_guard.now_or_expected(&app.clock);
                app.db.write(move |tx| imports::end_interrupted(tx, now, INTERRUPTED)).await?;
            }
            app.db.write(imports::claim).await
        };
        let claimed = step.await;
        is_ready |= claimed.is_ok();
        let wait = match claimed {
            Ok(Some(job)) => {
                run_job(&app, job).await;
                continue;
            }
            Ok(None) => None,
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

/// Carries out a job. A fault of the database fails the job; a job that has written nothing runs again after a restart.
async fn run_job(app: &Arc<App>, job: Job) {
    let (id, number) = (job.id, job.number);
    let outcome = carry_out(app, job.clone()).await;
    let Err(fault) = outcome else { return };
    tracing::error!(import = %id, %fault, "an import failed");
    let failed = ended(app, job, Status::Failed, Some("The service could not carry out the import.".to_owned()));
    if let Err(fault) = app.db.write(move |tx| imports::finish(tx, &failed)).await {
        tracing::error!(import = number, %fault, "the end of an import cannot be stored");
    }
}

async fn carry_out(app: &Arc<App>, job: Job) -> Result<(), StoreError> {
    let number = job.number;
    let Some(body) = app.db.read(move |tx| imports::body(tx, number)).await? else { return Ok(()) };
    let texts = serde_json::from_str(&job.request).unwrap_or_default();
    let read = tokio::task::spawn_blocking(move || {
        let request = Request::parse(&texts)?;
        let draft = import::read(&body, &request.options)?;
        Ok::<_, import::ImportError>((request, draft))
    });
    let (request, draft): (Request, Draft) = match read.await.map_err(|_| StoreError::Panicked)? {
        Ok(read) => read,
        Err(error) => {
            let failed = ended(app, job, Status::Failed, Some(error.message));
            app.db.write(move |tx| imports::finish(tx, &failed)).await?;
            return Ok(());
        }
    };
    let (home, now) = (job.home, app.clock_guard.now_or_expected(&app.clock));
    let mut plan = app.db.read_on_own_thread(move |tx| planning::plan(tx, home, &draft, &mut || fresh_id(now))).await?;
    planning::refuse_out_of_scope(&mut plan, &job.scopes);
    let failed = plan.counts().failed;
    let refused = (failed > 0 && !request.partial && !request.dry_run)
        .then(|| format!("{failed} of the rows are refused, so nothing was written."));
    let error = match refused {
        Some(error) => Some(error),
        None if request.dry_run => None,
        None => match writing::apply(app, &job, &mut plan, request.partial).await? {
            Written::All => None,
            Written::Stopped(done) => {
                Some(late_sentence(done, "A row could not be written, because the home has changed."))
            }
            Written::Full(done) => Some(late_sentence(done, "The home has reached the most bytes that it may take.")),
            Written::Deleted => return Ok(()),
        },
    };
    store(app, job, &plan, error).await
}

fn late_sentence(done: usize, why: &str) -> String {
    match done {
        0 => format!("{why} Nothing was written."),
        _ => format!("{why} {done} changes were written before; import the file again for the rest."),
    }
}

/// Stores the results, then the end of the job.
async fn store(app: &App, job: Job, plan: &Plan, error: Option<String>) -> Result<(), StoreError> {
    let number = job.number;
    for (at, rows) in plan.rows.chunks(RESULTS_PER_STEP).enumerate() {
        let results: Vec<String> = rows.iter().map(PlannedRow::to_json).map(|row| row.to_string()).collect();
        let stored = app.db.write(move |tx| imports::add_results(tx, number, at * RESULTS_PER_STEP, &results)).await?;
        if !stored {
            return Ok(());
        }
    }
    let status = if error.is_some() { Status::Failed } else { Status::Succeeded };
    let mut job = ended(app, job, status, error);
    let Counts { created, updated, unchanged, failed } = plan.counts();
    let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    job.counts = imports::Counts {
        created: whole(created),
        updated: whole(updated),
        unchanged: whole(unchanged),
        failed: whole(failed),
    };
    app.db.write(move |tx| imports::finish(tx, &job)).await.map(drop)
}

fn ended(app: &App, job: Job, status: Status, error: Option<String>) -> Job {
    Job { status, error, finished_at: Some(app.clock_guard.now_or_expected(&app.clock)), ..job }
}

//! Reads the files that wait, one at a time for the whole server, and drafts the jobs whose files were read. Must not know who asked.

use std::sync::Arc;
use std::time::Duration;

use super::drafting;
use super::process::{self, End, Program};
use crate::app::App;
use crate::store::captures::{self, Capture};
use crate::store::directory::MODELS_DIR;
use crate::store::readings::{self, Claimed, Failure, FailureCode, Outcome};
use crate::store::stored_files::FileHash;
use crate::store::{HomeNumber, StoreError, field_values, homes, search};

/// Time before a step that the database refused is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Documents that one transaction indexes.
const DOCUMENTS_PER_STEP: usize = 20;

/// Reads and drafts until the shutdown.
pub(crate) async fn run(app: Arc<App>) {
    let mut shutdown = app.shutdown.clone();
    let mut last = HomeNumber(0);
    while !shutdown.is_requested() {
        let wait = match step(&app, &mut last).await {
            Ok(true) => continue,
            Ok(false) => None,
            Err(fault) => {
                tracing::warn!(%fault, "cannot read the files that wait; trying again");
                Some(RETRY_AFTER)
            }
        };
        tokio::select! {
            () = shutdown.requested() => (),
            () = app.new_capture.notified() => (),
            () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => (),
        }
    }
}

/// Drafts one job, or reads one file. False: nothing waits. `last`: the home of the last file.
async fn step(app: &Arc<App>, last: &mut HomeNumber) -> Result<bool, StoreError> {
    if let Some(job) = app.db.write(captures::claim).await? {
        draft(app, job).await?;
        return Ok(true);
    }
    let turn = *last;
    let Some(claimed) = app.db.write(move |tx| readings::claim(tx, turn)).await? else { return Ok(false) };
    *last = claimed.home;
    read(app, claimed).await?;
    Ok(true)
}

/// Reads a file and stores the result.
async fn read(app: &Arc<App>, claimed: Claimed) -> Result<(), StoreError> {
    let (home, hash) = (claimed.home, claimed.sha256.clone());
    let outcome = match outcome(app, claimed).await {
        Ok(End::Outcome(outcome)) => outcome,
        Ok(End::Stopped) => return app.db.write(move |tx| readings::give_back(tx, home, &hash)).await,
        Err(fault) => {
            tracing::error!(sha256 = hash.as_str(), %fault, "a file cannot be read");
            failed(FailureCode::Internal, "The service failed to read the file. Try again later.")
        }
    };
    let limit = app.config.home_bytes_max;
    let read = hash.clone();
    let stored = app.db.write(move |tx| {
        let mut outcome = outcome;
        if let Outcome::Read { reading, beginning, searched, .. } = &outcome {
            let bytes = (reading.len() + beginning.len() + searched.len()) as i64;
            if homes::used_bytes(tx, home)?.saturating_add(bytes) > limit {
                let message = "The home has no room for the text of the file. Delete what nobody needs.";
                outcome = failed(FailureCode::HomeFull, message);
            }
        }
        readings::finish(tx, home, &read, &outcome)
    });
    stored.await?;
    index_documents(app, home, hash).await
}

/// Indexes the text of a file under the documents that name it, some in each transaction. Documents that name the file later take its
/// text by themselves.
async fn index_documents(app: &Arc<App>, home: HomeNumber, hash: FileHash) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let hash = hash.clone();
        let last = app.db.write(move |tx| {
            let text = readings::searched(tx, home, &hash)?;
            let documents = field_values::documents_of(tx, home, &hash, after, DOCUMENTS_PER_STEP)?;
            documents.iter().for_each(|(created, _)| search::index_reading(tx, home, *created, &text));
            Ok(documents.last().filter(|_| documents.len() == DOCUMENTS_PER_STEP).map(|(created, _)| *created))
        });
        match last.await? {
            Some(last) => after = last,
            None => return Ok(()),
        }
    }
}

async fn outcome(app: &Arc<App>, claimed: Claimed) -> Result<End, StoreError> {
    let Some(program) = app.config.reader.as_deref() else {
        return Ok(End::Outcome(failed(FailureCode::NoReader, "This server reads no files.")));
    };
    if claimed.attempts > readings::ATTEMPTS_MAX {
        let message = "The file could not be read: the service stopped twice meanwhile. Send another picture of it.";
        return Ok(End::Outcome(failed(FailureCode::Interrupted, message)));
    }
    let files = app.files.clone();
    let opened =
        tokio::task::spawn_blocking(move || files.disk.open(claimed.home_id, &claimed.sha256, claimed.size_bytes));
    let file = opened.await.map_err(|_| StoreError::Panicked)??;
    // The program runs in another directory.
    let models = std::path::absolute(app.config.data.join(MODELS_DIR))
        .map_err(|error| StoreError::of_file(&app.config.data, error))?;
    let program = Program { path: program, models, time_max: app.config.reader_time_max };
    process::read(&program, file, &mut app.shutdown.clone()).await
}

/// Makes the drafts of a job and stores them. A fault fails the job.
async fn draft(app: &Arc<App>, job: Capture) -> Result<(), StoreError> {
    let now = app.clock_guard.now_or_expected(&app.clock);
    let drafted = match job.attempts > captures::ATTEMPTS_MAX {
        true => {
            Err(failure(FailureCode::Interrupted, "The service stopped twice while it made drafts. Try again later."))
        }
        false => {
            let asked = job.clone();
            let made = app.db.read_on_own_thread(move |tx| drafting::draft(tx, &asked, now)).await;
            made.unwrap_or_else(|fault| {
                tracing::error!(capture = %job.id, %fault, "drafts cannot be made");
                Err(failure(FailureCode::Internal, "The service failed to make drafts. Try again later."))
            })
        }
    };
    let limit = app.config.home_bytes_max;
    let stored = app.db.write(move |tx| {
        let mut drafted = drafted;
        if let Ok((drafts, facts)) = &drafted
            && homes::used_bytes(tx, job.home)?.saturating_add((drafts.len() + facts.len()) as i64) > limit
        {
            drafted =
                Err(failure(FailureCode::HomeFull, "The home has no room for the drafts. Delete what nobody needs."));
        }
        let drafted = drafted.as_ref().map(|(drafts, facts)| (drafts.as_str(), facts.as_str()));
        captures::finish(tx, &job, drafted, now)
    });
    stored.await.map(drop)
}

fn failed(code: FailureCode, message: &str) -> Outcome {
    Outcome::Failed(failure(code, message))
}

fn failure(code: FailureCode, message: &str) -> Failure {
    Failure { code, message: message.to_owned() }
}

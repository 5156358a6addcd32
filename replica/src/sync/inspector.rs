//! Looks for damage while a sync runs, and for the request of a person for a rebuild. Must not repair: the sync ends, and its
//! supervisor rebuilds.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::core::Until;
use super::error::SyncError;
use crate::store::StoreError;
use crate::store::integrity::{self, Depth};
use crate::store::salvage::rebuild_request;

/// How long a start waits for the look at all pages. A larger database is looked through while the sync runs.
const START_LIMIT: Duration = Duration::from_secs(2);
/// How long a start after a crash waits for the look at the indexes. The pages are looked through without a limit.
const INDEX_LIMIT: Duration = Duration::from_secs(10);
/// How often the files of readers and of people are looked for.
const FILE_INTERVAL: Duration = Duration::from_millis(500);
/// How often a lasting sync looks through the whole database.
const ROUND_INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// Looks through the database before a sync begins. True when everything was seen. An error: the database is damaged.
pub(super) fn look_at_start(db: &Path) -> Result<bool, StoreError> {
    let look = || -> Result<bool, StoreError> {
        if !integrity::was_crash(db)? {
            return integrity::look(db, Depth::Pages, Some(START_LIMIT));
        }
        integrity::look(db, Depth::Pages, None)?;
        integrity::look(db, Depth::PagesAndIndexes, Some(INDEX_LIMIT)).map(|_| true)
    };
    match look() {
        // The start itself reports other failures, or waits until another program has unlocked the database.
        Err(error) if !error.is_damaged() => Ok(false),
        looked => looked,
    }
}

/// A task that looks for damage. Dropping the value ends the task.
pub(super) struct Inspector(JoinHandle<SyncError>);

impl Inspector {
    /// Begins to look. `is_seen`: the whole database was looked through just now.
    pub(super) fn start(db: &Path, until: Until, is_seen: bool) -> Inspector {
        Inspector(tokio::spawn(inspect(db.to_owned(), until, is_seen)))
    }

    /// Waits until the sync must end: the database is damaged, or a person wants a rebuild.
    pub(super) async fn finding(&mut self) -> SyncError {
        match (&mut self.0).await {
            Ok(finding) => finding,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends.
                Err(_) => std::future::pending().await,
            },
        }
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn inspect(db: PathBuf, until: Until, is_seen: bool) -> SyncError {
    let mut next_round = if is_seen { Instant::now() + ROUND_INTERVAL } else { Instant::now() };
    loop {
        // Only a lasting sync has a supervisor that rebuilds.
        if until == Until::Stopped && rebuild_request::is_made(&db) {
            return SyncError::RebuildWanted;
        }
        let is_reported = integrity::is_damage_reported(&db);
        if is_reported || Instant::now() >= next_round {
            let depth = if is_reported { Depth::PagesAndIndexes } else { Depth::Pages };
            let path = db.clone();
            let looked = tokio::task::spawn_blocking(move || integrity::look(&path, depth, None)).await;
            match looked {
                Ok(Err(error)) if error.is_damaged() => return SyncError::Store(error),
                Ok(Ok(_)) => integrity::clear_reports(&db),
                // Another failure, such as a locked file, shows in the sync itself. The report of damage stays.
                _ => {}
            }
            next_round = Instant::now() + ROUND_INTERVAL;
        }
        tokio::select! {
            () = sleep(FILE_INTERVAL) => {}
            () = sleep_until(next_round) => {}
        }
    }
}

//! Background work of a serving process: detect writes of other processes, remove events beyond the retention, expired
//! receipts, expired exports, unused files and expired tokens of partners; store counts of requests. Must not know requests.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use tokio::time::{Instant, MissedTickBehavior};

use crate::app::App;
use crate::home::retention;
use crate::store::{HomeNumber, StoreError, captures, homes, imports, keys, partners, receipts};

/// Time between two checks for writes of other processes. A revoked key must stop working within a second.
const DETECT_EVERY: Duration = Duration::from_millis(400);
/// The longest time between two cleanups (contract 9.2).
const CLEANUP_EVERY_MAX: Duration = Duration::from_secs(60);
/// The shortest time between two cleanups. A retention of a few seconds must not occupy the writer.
const CLEANUP_EVERY_MIN: Duration = Duration::from_millis(250);
/// Time between two rounds of merging the search index and of truncating the write-ahead log.
const TIDY_UP_EVERY: Duration = Duration::from_secs(5);
/// Time between two reports of the requests that the access log omits.
const REPORT_EVERY: Duration = Duration::from_secs(60);
/// Time between two writes of the counts of requests.
const STORE_USAGE_EVERY: Duration = Duration::from_secs(60);
/// How far the wall clock may run ahead of the monotonic clock between two cleanups. Beyond this limit, one cleanup is
/// skipped: a clock that is wrong for a moment, as after a boot, must not delete data of several days.
const CLOCK_JUMP_MAX: Duration = Duration::from_secs(3600);
/// Homes from which one cleanup removes events. The next cleanup visits the others.
const HOMES_PER_CLEANUP: usize = 10_000;
/// Receipts that one transaction deletes.
const RECEIPTS_PER_STEP: usize = 1000;
/// Jobs with drafts that one transaction ends or deletes.
const CAPTURES_PER_STEP: usize = 50;
/// Rows of partners of each kind that one transaction deletes.
const PARTNER_ROWS_PER_STEP: u32 = 1000;
/// How long a grant without tokens is shown to owners after its last use, in milliseconds: 60 days.
const EMPTY_GRANTS_KEPT_MILLIS: i64 = 60 * 24 * 3600 * 1000;
/// Moments of partner records are nanoseconds.
const NANOS_PER_MILLI: i64 = 1_000_000;

/// Runs until the shutdown.
pub(crate) async fn run(app: Arc<App>) {
    let cleanup_every =
        app.config.retention.map_or(CLEANUP_EVERY_MAX, |kept| kept.clamp(CLEANUP_EVERY_MIN, CLEANUP_EVERY_MAX));
    let mut detect = tokio::time::interval(DETECT_EVERY);
    // The first cleanup waits, because the clock of a machine may be wrong just after the boot.
    let mut cleanup = tokio::time::interval_at(Instant::now() + cleanup_every, cleanup_every);
    let mut tidy_up = tokio::time::interval(TIDY_UP_EVERY);
    let mut report = tokio::time::interval(REPORT_EVERY);
    let mut store_usage = tokio::time::interval_at(Instant::now() + STORE_USAGE_EVERY, STORE_USAGE_EVERY);
    store_usage.set_missed_tick_behavior(MissedTickBehavior::Delay);
    report.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tidy_up.set_missed_tick_behavior(MissedTickBehavior::Delay);
    detect.set_missed_tick_behavior(MissedTickBehavior::Delay);
    cleanup.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut shutdown = app.shutdown.clone();
    let db = app.db.clone();
    // Beside the loop: a look at many directories takes a while.
    let swept = app.clone();
    tokio::spawn(async move {
        if let Err(fault) = swept.files.sweep(&swept.db, swept.clock.now()).await {
            tracing::warn!(%fault, "files of an earlier run were not all removed; the next start tries again");
        }
    });
    let mut maintenance = Maintenance::new(app);
    loop {
        // `biased`: between two steps of a long cleanup, the loop checks for writes of other processes.
        let done = tokio::select! {
            biased;
            () = shutdown.requested() => return,
            _ = detect.tick() => maintenance.detect_external_writes().await,
            () = ready(()), if maintenance.is_cleaning_up() => maintenance.cleanup_step().await,
            _ = tidy_up.tick() => {
                db.tidy_up();
                Ok(())
            }
            _ = report.tick() => {
                maintenance.report_omitted();
                Ok(())
            }
            _ = store_usage.tick() => maintenance.store_usage().await,
            _ = cleanup.tick() => {
                let app = maintenance.app.clone();
                // The hook of panics logs a panic.
                let _ = tokio::task::spawn_blocking(move || app.clock_guard.store_if_right(&app.clock)).await;
                maintenance.begin_cleanup().await
            }
        };
        if let Err(fault) = done {
            tracing::warn!(%fault, "maintenance failed; the next round tries again");
        }
    }
}

/// The state of the background work. The caller decides when each step runs.
pub struct Maintenance {
    app: Arc<App>,
    /// `data_version` of the database at the last check. Another value means that another process wrote. None: no check
    /// yet.
    data_version: Option<i64>,
    /// Wall clock and monotonic clock at the last cleanup.
    last_cleanup: Option<ClockReading>,
    /// The remaining tasks of the current cleanup. The last element is next.
    tasks: Vec<CleanupTask>,
    /// The time by which the current cleanup decides.
    cleanup_time: Timestamp,
}

/// Both clocks at one moment.
#[derive(Clone, Copy)]
struct ClockReading {
    wall: Timestamp,
    elapsed: Duration,
}

/// A part of a cleanup. A task may need several steps.
#[derive(Debug, Clone, Copy)]
enum CleanupTask {
    /// Removes the events of a home from before a time.
    Events(HomeNumber, Timestamp),
    /// Removes expired receipts.
    Receipts,
    /// Removes expired exports.
    Exports,
    /// Removes imports that ended long ago.
    Imports,
    /// Ends jobs with drafts that expire, and removes those that ended long ago.
    Captures,
    /// Removes unused files, and the bytes of deleted files.
    Files,
    /// Removes expired codes and tokens of partners, and grants that hold nothing any more.
    Partners,
}

impl Maintenance {
    /// The work of a service that has not begun.
    pub fn new(app: Arc<App>) -> Maintenance {
        let cleanup_time = app.clock.now();
        Maintenance { app, data_version: None, last_cleanup: None, tasks: Vec::new(), cleanup_time }
    }

    /// Checks whether another process wrote to the database. After such a write, cached keys are dropped and all streams
    /// read again. The first check always counts as a write, because a process may have written since the start.
    pub async fn detect_external_writes(&mut self) -> Result<(), StoreError> {
        let version = self.app.db.write(|tx| tx.data_version()).await?;
        if self.data_version.replace(version) != Some(version) {
            self.app.keys_changed();
        }
        Ok(())
    }

    /// Logs how many requests the access log has omitted.
    fn report_omitted(&self) {
        if let Some((requests, by_status)) = self.app.log_sampler.take_omitted() {
            tracing::info!(requests, by_status, "requests without a line in the log");
        }
    }

    /// Adds the counts of requests to the database.
    pub async fn store_usage(&self) -> Result<(), StoreError> {
        self.app.usage.store(&self.app.db, self.app.clock.now()).await
    }

    /// Runs a whole cleanup.
    pub async fn clean_up(&mut self) -> Result<(), StoreError> {
        self.begin_cleanup().await?;
        while self.is_cleaning_up() {
            self.cleanup_step().await?;
        }
        Ok(())
    }

    /// Whether the current cleanup has tasks left.
    pub fn is_cleaning_up(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Plans a cleanup. After a jump of the wall clock, the plan is empty.
    pub async fn begin_cleanup(&mut self) -> Result<(), StoreError> {
        let app = self.app.clone();
        // By a clock that is ahead, everything has expired.
        let Ok(now) = app.clock_guard.now(&app.clock) else { return Ok(()) };
        let reading = ClockReading { wall: now, elapsed: app.clock.elapsed() };
        if self.last_cleanup.replace(reading).is_some_and(|before| has_jumped(before, reading)) {
            tracing::warn!(%now, "the clock jumped ahead; the next cleanup waits for one round");
            return Ok(());
        }
        let mut tasks = Vec::new();
        if let Some(kept) = app.config.retention {
            let before = now.plus_millis(-(kept.as_millis() as i64));
            let homes = app.db.read(move |tx| homes::with_expired_events(tx, before, HOMES_PER_CLEANUP)).await?;
            tasks.extend(homes.into_iter().rev().map(|number| CleanupTask::Events(number, before)));
        }
        // The last task runs first. A home that fails must not stop the cleanup of receipts and exports.
        tasks.extend([
            CleanupTask::Files,
            CleanupTask::Imports,
            CleanupTask::Captures,
            CleanupTask::Exports,
            CleanupTask::Partners,
            CleanupTask::Receipts,
        ]);
        (self.tasks, self.cleanup_time) = (tasks, now);
        Ok(())
    }

    /// Runs one short step of the cleanup. An error ends the cleanup; the next cleanup starts with all tasks.
    pub async fn cleanup_step(&mut self) -> Result<(), StoreError> {
        let Some(task) = self.tasks.pop() else { return Ok(()) };
        match self.run_step(task).await {
            Ok(true) => self.tasks.push(task),
            Ok(false) => (),
            Err(fault) => {
                self.tasks.clear();
                return Err(fault);
            }
        }
        Ok(())
    }

    /// Runs one step of a task. True: the task may need another step.
    async fn run_step(&self, task: CleanupTask) -> Result<bool, StoreError> {
        let (app, now) = (&self.app, self.cleanup_time);
        match task {
            CleanupTask::Events(number, before) => {
                app.db.write(move |tx| retention::compact_step(tx, number, before)).await
            }
            CleanupTask::Receipts => {
                let before = app.config.receipts_since(now);
                let deleted = app.db.write(move |tx| receipts::delete_expired(tx, before, RECEIPTS_PER_STEP)).await?;
                Ok(deleted == RECEIPTS_PER_STEP)
            }
            CleanupTask::Partners => {
                let deleted = app.db.write(move |tx| {
                    let records = partners::sweep(tx, now.millis() * NANOS_PER_MILLI, PARTNER_ROWS_PER_STEP)?;
                    let before = now.plus_millis(-EMPTY_GRANTS_KEPT_MILLIS);
                    Ok(records + keys::delete_empty_grants(tx, before, PARTNER_ROWS_PER_STEP)?)
                });
                Ok(deleted.await? >= PARTNER_ROWS_PER_STEP as usize)
            }
            CleanupTask::Files => app.files.clean_up_step(&app.db, now).await,
            CleanupTask::Imports => app.db.write(move |tx| imports::delete_finished(tx, now)).await,
            CleanupTask::Captures => app.db.write(move |tx| captures::clean_up(tx, now, CAPTURES_PER_STEP)).await,
            CleanupTask::Exports => app.exports.remove_expired(&app.db, now).await,
        }
    }
}

/// Whether the wall clock ran ahead of the monotonic clock by more than [`CLOCK_JUMP_MAX`].
fn has_jumped(before: ClockReading, now: ClockReading) -> bool {
    let limit = now.elapsed.saturating_sub(before.elapsed) + CLOCK_JUMP_MAX;
    now.wall > before.wall.plus_millis(i64::try_from(limit.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_jump_is_wall_time_beyond_elapsed_time() {
        let at = |wall: i64, elapsed: u64| ClockReading {
            wall: Timestamp::from_millis(wall * 1000),
            elapsed: Duration::from_secs(elapsed),
        };
        assert!(!has_jumped(at(0, 5), at(60, 65)));
        assert!(!has_jumped(at(0, 5), at(40 * 86_400, 40 * 86_400 + 5)), "both clocks moved by 40 days");
        assert!(!has_jumped(at(86_400, 5), at(0, 65)), "a step back is no jump ahead");
        assert!(has_jumped(at(0, 5), at(40 * 86_400, 65)));
    }
}

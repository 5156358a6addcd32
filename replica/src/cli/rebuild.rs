//! `rebuild`: downloads the database again, and keeps its edits and its records until then. Must not know how the store rebuilds.

use std::time::{Duration, Instant};

use clap::Args;
use hearth_replica::doctor::shell_quoted;
use hearth_replica::log::{self, LogFormat};
use hearth_replica::sync::{SyncConfig, SyncLock, Until};
use hearth_replica::{Phase, RebuildReport, Replica, Status};
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{duration, lock_holder, output, rescue_report, signals, sync, sync_goal};

/// How long the process that syncs may take to begin a rebuild.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
/// The pause between two looks for its answer.
const ANSWER_PAUSE: Duration = Duration::from_millis(100);

/// Arguments of `rebuild`.
#[derive(Debug, Args)]
pub(super) struct Rebuild {
    /// Time limit of the download, as in 30s, 5m
    #[arg(long, default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,
}

impl Rebuild {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        log::to_stderr(LogFormat::Text, "warn");
        signals::listen()?;
        let db = &context.profile.db;
        if context.profile.server.is_none() && is_local(context) {
            return rebuild_local(context);
        }
        // Before the lock, because the lock would create a directory for a mistyped profile.
        let config = context.sync_config()?;
        let rescue = match lock_holder::try_lock(db)? {
            Some(lock) => self.run_here(context, config, lock)?,
            None => self.run_there(context, config)?,
        };
        let replica = context.open_or_create()?;
        let now = replica.status()?;
        if context.json {
            write_json(&rescue, &now)?;
        } else {
            output::line(&format!("In step with the server at position {}.", now.position))?;
        }
        if rescue.lost.is_empty() && rescue.parked == 0 {
            return sync_goal::check_open_edits(&now);
        }
        let text = "some edits were not carried over, or wait for your decision; see above";
        let failure = Failure::new(Exit::NeedsYou, text);
        Err(match &rescue.kept_as {
            _ if rescue.parked > 0 || now.edits_to_decide() > 0 => failure.hint("hearth-replica edits"),
            Some(kept) => failure.hint(format!("look into the kept file, {}", shell_quoted(kept))),
            None => failure,
        })
    }
}

/// Writes what a rebuild kept and lost as JSON.
fn write_json(rescue: &RebuildReport, now: &Status) -> Result<(), Failure> {
    let members = json!({
        "position": now.position, "kept_as": rescue.kept_as.as_deref().map(output::path),
        "records": rescue.records, "edits": rescue.edits, "lost": rescue.lost, "parked": rescue.parked,
    });
    Ok(output::json(&members)?)
}

/// True when the database has no server, or when damage hides whether there is one.
fn is_local(context: &Context) -> bool {
    match context.open_existing().map(|replica| replica.status()) {
        Ok(Ok(status)) => status.phase == Phase::Local,
        Ok(Err(error)) => error.is_damaged(),
        Err(failure) => failure.calls_for_rebuild(),
    }
}

/// Rebuilds the database of a home without a server: nothing can be downloaded.
fn rebuild_local(context: &Context) -> Result<(), Failure> {
    let db = &context.profile.db;
    let lock = lock_holder::take_lock(&context.profile)?;
    let rescue = hearth_replica::rebuild(db, &lock)?;
    rescue_report::report_local(&rescue);
    let now = context.open_or_create()?.status()?;
    if now.phase != Phase::Local {
        return context.sync_config().map(drop);
    }
    if context.json {
        write_json(&rescue, &now)?;
    } else {
        output::line("The database is sound.")?;
    }
    match &rescue.kept_as {
        Some(kept) if !rescue.lost.is_empty() => {
            let text = "some changes were not carried over; see above";
            Err(Failure::new(Exit::NeedsYou, text).hint(format!("look into the kept file, {}", shell_quoted(kept))))
        }
        _ => Ok(()),
    }
}

impl Rebuild {
    /// Rebuilds in this process, and downloads everything.
    fn run_here(&self, context: &Context, config: SyncConfig, lock: SyncLock) -> Result<RebuildReport, Failure> {
        let db = &context.profile.db;
        let lock = sync_before_rebuild(context, &config, lock, self.timeout)?;
        let rescue = hearth_replica::rebuild(db, &lock)?;
        rescue_report::report(&rescue);
        if rescue.kept_as.is_some() {
            sync::check_server(&config, self.timeout).map_err(go_on_by_sync)?;
        }
        let replica = context.open_or_create()?;
        let Some(last) = sync::sync_in_process(config, lock, Until::Current, self.timeout, &replica)? else {
            return Ok(rescue);
        };
        Err(go_on_by_sync(sync_goal::timeout_failure(context, &last)))
    }

    /// Has the process that syncs rebuild the database, and waits until everything is downloaded. If that process ends
    /// without an answer, this process rebuilds.
    fn run_there(&self, context: &Context, config: SyncConfig) -> Result<RebuildReport, Failure> {
        let db = &context.profile.db;
        let deadline = Instant::now() + self.timeout;
        if context.open_or_create().is_ok_and(|replica| is_in_use(&replica)) {
            // A damaged database is rebuilt in either case.
            is_server_there(context, &config, self.timeout)?;
        }
        hearth_replica::request_rebuild(db)?;
        let began = Instant::now();
        let rescue = loop {
            // Before the answer is read: a process that ends writes its answer first.
            let lock = lock_holder::try_lock(db)?;
            if let Some(rescue) = hearth_replica::take_rebuild_report(db) {
                break rescue;
            }
            if let Some(lock) = lock {
                hearth_replica::take_rebuild_request(db);
                return self.run_here(context, config, lock);
            }
            let is_over = match hearth_replica::is_rebuild_requested(db) {
                true => began.elapsed() > ANSWER_LIMIT,
                false => Instant::now() > deadline,
            };
            if is_over || signals::check_stop().is_err() {
                hearth_replica::take_rebuild_request(db);
                signals::check_stop()?;
                return Err(lock_holder::lock_conflict(db, &lock_holder::stop_advice(&context.profile)));
            }
            std::thread::sleep(ANSWER_PAUSE);
        };
        rescue_report::report(&rescue);
        let left = deadline.saturating_duration_since(Instant::now()).max(ANSWER_PAUSE);
        sync::sync_to_current(context, &context.open_or_create()?, &config, left)?;
        Ok(rescue)
    }
}

/// A failure of the download after a rebuild. A second rebuild would start from zero; a sync continues.
fn go_on_by_sync(failure: Failure) -> Failure {
    match failure.exit {
        Exit::Unreachable => failure.hint("hearth-replica sync --until-current --timeout 5m"),
        _ => failure,
    }
}

/// True for a readable replica that had contact with a server.
fn is_in_use(replica: &Replica) -> bool {
    // A replica of a restored server can stand at position 0.
    replica.status().is_ok_and(|now| now.position > 0 || now.phase != Phase::New)
}

/// Checks the server before a rebuild. False: the server cannot be reached, and the database is damaged, so it is rebuilt without
/// the server. An error for a sound database: nothing could be downloaded.
fn is_server_there(context: &Context, config: &SyncConfig, limit: Duration) -> Result<bool, Failure> {
    match sync::check_server(config, limit) {
        Ok(()) => Ok(true),
        Err(failure) if failure.exit == Exit::Unreachable && hearth_replica::is_damaged(&context.profile.db)? => {
            Ok(false)
        }
        Err(failure) => Err(failure),
    }
}

/// Syncs once before the rebuild. A restored server, and edits lost by the restore, are visible only from the replica's
/// old position. A database that cannot be opened, or that never had a server, is rebuilt at once. So is a damaged one
/// while the server is away. A database that fails during the sync is rebuilt too.
fn sync_before_rebuild(
    context: &Context,
    config: &SyncConfig,
    lock: SyncLock,
    limit: Duration,
) -> Result<SyncLock, Failure> {
    let Some(replica) = context.open_or_create().ok().filter(is_in_use) else { return Ok(lock) };
    if !is_server_there(context, config, limit)? {
        return Ok(lock);
    }
    match sync::sync_in_process(config.clone(), lock, Until::Current, limit, &replica) {
        Ok(None) => {}
        Ok(Some(last)) => {
            let failure = sync_goal::timeout_failure(context, &last);
            return Err(match failure.exit {
                Exit::Unreachable => {
                    failure.hint("hearth-replica sync --until-current --timeout 5m, then repeat the command")
                }
                _ => failure,
            });
        }
        Err(failure) if failure.calls_for_rebuild() => {
            tracing::debug!(failure = failure.text, "what was there could not be brought in step first");
        }
        Err(failure) => return Err(failure),
    }
    let db = &context.profile.db;
    lock_holder::try_lock(db)?.ok_or_else(|| lock_holder::lock_conflict(db, "hearth-replica status"))
}

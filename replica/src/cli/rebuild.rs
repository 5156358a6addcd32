//! `rebuild`: downloads the database again and keeps the edits that wait. Must not know how the store rebuilds.

use std::time::Duration;

use clap::Args;
use hearth_replica::doctor::shell_quoted;
use hearth_replica::log::{self, LogFormat};
use hearth_replica::sync::{SyncConfig, SyncLock, Until};
use hearth_replica::{Phase, Replica};
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{duration, lock_holder, output, rescue_report, signals, sync, sync_goal};

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
        let config = sync::sync_config(context)?;
        let Some(lock) = lock_holder::try_lock(db)? else {
            return Err(lock_holder::lock_conflict(db, &lock_holder::stop_advice(&context.profile)));
        };
        let lock = sync_before_rebuild(context, &config, lock, self.timeout)?;
        let rescue = hearth_replica::rebuild(db, &lock)?;
        rescue_report::report(&rescue);
        let replica = context.open_or_create()?;
        let last = sync::sync_in_process(config, lock, Until::Current, self.timeout, &replica)?;
        if let Some(last) = last {
            let failure = sync_goal::timeout_failure(context, &last);
            // A second rebuild would start from zero; a sync continues.
            return Err(match failure.exit {
                Exit::Unreachable => failure.hint("hearth-replica sync --until-current --timeout 5m"),
                _ => failure,
            });
        }
        let now = replica.status()?;
        if context.json {
            output::json(&json!({
                "position": now.position, "kept_as": rescue.kept_as.as_deref().map(output::path),
                "edits": rescue.edits, "lost": rescue.lost, "parked": rescue.parked,
            }))?;
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
    let Some(lock) = lock_holder::try_lock(db)? else {
        return Err(lock_holder::lock_conflict(db, &lock_holder::stop_advice(&context.profile)));
    };
    let rescue = hearth_replica::rebuild(db, &lock)?;
    rescue_report::report_local(&rescue);
    let now = context.open_or_create()?.status()?;
    if now.phase != Phase::Local {
        return sync::sync_config(context).map(drop);
    }
    if context.json {
        output::json(&json!({
            "position": now.position, "kept_as": rescue.kept_as.as_deref().map(output::path),
            "edits": rescue.edits, "lost": rescue.lost, "parked": rescue.parked,
        }))?;
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

/// Syncs once before the rebuild. A restored server, and edits lost by the restore, are visible only from the replica's
/// old position. A database that cannot be opened, or that never had a server, is rebuilt at once. A database that
/// fails during the sync is rebuilt too.
fn sync_before_rebuild(
    context: &Context,
    config: &SyncConfig,
    lock: SyncLock,
    limit: Duration,
) -> Result<SyncLock, Failure> {
    // A replica of a restored server can stand at position 0.
    let knows = |replica: &Replica| replica.status().is_ok_and(|now| now.position > 0 || now.phase != Phase::New);
    let Some(replica) = context.open_or_create().ok().filter(knows) else { return Ok(lock) };
    sync::check_server(config, limit)?;
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

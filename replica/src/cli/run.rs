//! `run`: the daemon, in the foreground. Must not know how syncing works.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hearth_replica::Origin;
use hearth_replica::doctor::{Cause, Diagnosis, diagnose};
use hearth_replica::log::{self, LogFormat};
use hearth_replica::sync::{self, SyncConfig, SyncError, SyncLock, Until};
use tokio::sync::watch;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::progress::Progress;
use super::runtime::block_on;
use super::sync::sync_config;
use super::{lock_holder, metrics, output, rescue_report, signals, systemd};

/// Between two attempts to begin while there is no room, or another program writes and does not come to an end.
const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// Tell counts for Prometheus at this address, as in 127.0.0.1:9751
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<SocketAddr>,
    /// How log lines are written; HEARTH_LOG says how many, as in `warn` or `hearth_replica=debug`
    #[arg(long, value_name = "FORM", default_value = "text")]
    log: LogLines,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogLines {
    Text,
    Json,
}

impl Run {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let form = match self.log {
            LogLines::Text => LogFormat::Text,
            LogLines::Json => LogFormat::Json,
        };
        log::to_stderr(form, "info");
        signals::listen()?;
        let config = sync_config(context)?;
        let db = &context.profile.db;
        let lock = take_lock(db)?;
        context.warn_if_removed();
        if form == LogFormat::Text {
            // Not looked at yet: it may name a password, for which it is refused.
            let server = sync::shown(&config.server);
            output::message(&format!("syncing {} with {server}; Ctrl-C ends", db.display()));
        }
        block_on(async {
            let listening = match self.metrics_listen {
                Some(address) => Some(metrics::listen(address).await.map_err(|error| {
                    Failure::new(Exit::Failure, format!("--metrics-listen {address}: {error}"))
                        .hint("hearth-replica run --metrics-listen with another address")
                })?),
                None => None,
            };
            let metrics_server = listening.map(|(listener, address)| {
                tracing::info!(%address, "metrics are told");
                tokio::spawn(metrics::serve(listener, db.clone()))
            });
            let ended = sync_until_stopped(&config, db, lock).await;
            systemd::notify_stopping();
            if let Some(metrics_server) = metrics_server {
                metrics_server.abort();
            }
            ended
        })
    }
}

/// Syncs until told to stop. A full disk is waited out, so that nobody has to come for it.
async fn sync_until_stopped(config: &SyncConfig, db: &Path, mut lock: SyncLock) -> Result<(), Failure> {
    let mut is_waiting = false;
    loop {
        let syncing = async |lock| sync_once(config, db, lock).await;
        let ended = tokio::select! {
            ended = hearth_replica::supervise_sync(config, Origin::Cli, lock, syncing, rescue_report::report) => ended,
            // While a damaged database is made anew too, which may take longer than a silence that counts as death.
            never = systemd::report_status(db) => match never {},
        };
        match ended {
            Err(SyncError::Store(error)) if is_temporary(diagnose(db, &error).cause) => {
                let new = !std::mem::replace(&mut is_waiting, true);
                if !wait_to_retry(db, new.then(|| diagnose(db, &error))).await {
                    return Ok(());
                }
                // Who began meanwhile keeps it in step as well as this one would.
                lock = loop {
                    if let Some(lock) = lock_holder::try_lock(db)? {
                        break lock;
                    }
                    if !wait_to_retry(db, None).await {
                        return Ok(());
                    }
                };
            }
            ended => return Ok(ended?),
        }
    }
}

/// Whether it may end by itself, or by somebody who knows nothing of this program.
fn is_temporary(cause: Cause) -> bool {
    matches!(cause, Cause::DiskFull | Cause::DiskUnwritable | Cause::Busy)
}

/// Waits a little, and says why if that is new; false when told to stop.
async fn wait_to_retry(db: &Path, trouble: Option<Diagnosis>) -> bool {
    // It has begun, and can do no more for now.
    systemd::notify_ready();
    let wait = async {
        if let Some(Diagnosis { text, next, .. }) = trouble {
            tracing::warn!(next = output::with_home_flags(&next), "{text}; it goes on by itself once that is over");
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    };
    tokio::select! {
        // First, so that it can be told to stop from when it says that it waits.
        biased;
        () = signals::stop_requested() => false,
        () = wait => true,
        never = systemd::report_status(db) => match never {},
    }
}

/// Syncs until told to stop.
async fn sync_once(config: &SyncConfig, db: &Path, lock: SyncLock) -> Result<(), SyncError> {
    let progress = Progress::start(db);
    let (end, ended) = watch::channel(false);
    let mut syncing = Box::pin(sync::run(config.clone(), lock, Until::Stopped, ended));
    systemd::notify_ready();
    let ended = tokio::select! {
        result = &mut syncing => result,
        () = signals::stop_requested() => {
            systemd::notify_stopping();
            let _ = end.send(true);
            syncing.await
        }
    };
    drop(progress);
    ended
}

/// Takes it, or says who keeps the database in step instead.
fn take_lock(db: &Path) -> Result<SyncLock, Failure> {
    lock_holder::try_lock(db)?.ok_or_else(|| lock_holder::already_syncing(db))
}

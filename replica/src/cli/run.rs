//! `run`: the daemon, in the foreground. Must not know how syncing works.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use hearth_replica::Origin;
use hearth_replica::doctor::{Cause, Diagnosis, diagnose};
use hearth_replica::log::{self, LogFormat};
use hearth_replica::sync::{self, SyncConfig, SyncError, SyncLock, Until};
use tokio::sync::watch;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::progress::Progress;
use super::runtime::block_on;
use super::{lock_holder, metrics, output, rescue_report, signals, systemd};

/// Pause between two starts of the sync, while the disk takes no writes or another program holds the database.
const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// Serve metrics for Prometheus at this address, as in 127.0.0.1:9751
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<SocketAddr>,
    /// Format of the log lines; HEARTH_LOG sets the level, as in `warn` or `hearth_replica=debug`
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = log_parser())]
    log: LogFormat,
}

fn log_parser() -> impl TypedValueParser<Value = LogFormat> {
    PossibleValuesParser::new(["text", "json"])
        .map(|form| if form == "json" { LogFormat::Json } else { LogFormat::Text })
}

impl Run {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        log::to_stderr(self.log, "info");
        signals::listen()?;
        let config = context.sync_config()?;
        let db = &context.profile.db;
        let lock = lock_holder::try_lock(db)?.ok_or_else(|| lock_holder::already_syncing(db))?;
        context.warn_about_place();
        if self.log == LogFormat::Text {
            // The address is not checked yet. An address with a password is refused later, and must not be printed.
            let server = sync::redact_address(&config.server);
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
                tracing::info!(%address, "metrics are served");
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

/// Syncs until stopped. A disk that takes no writes, and a database that another program holds, are waited out, so no person has to
/// restart the daemon.
async fn sync_until_stopped(config: &SyncConfig, db: &Path, mut lock: SyncLock) -> Result<(), Failure> {
    let mut is_waiting = false;
    loop {
        let syncing = async |lock| sync_once(config, db, lock).await;
        let ended = tokio::select! {
            ended = hearth_replica::supervise_sync(config, Origin::Cli, lock, syncing, rescue_report::report) => ended,
            // Also during a rebuild, which can take longer than systemd's watchdog allows.
            never = systemd::report_status(db) => match never {},
        };
        match ended {
            Err(SyncError::Store(error)) if is_temporary(diagnose(db, &error).cause) => {
                let new = !std::mem::replace(&mut is_waiting, true);
                if !wait_to_retry(db, new.then(|| diagnose(db, &error))).await {
                    return Ok(());
                }
                // A process that has taken the lock meanwhile syncs as well as this one.
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

/// True when the cause can disappear without this program.
fn is_temporary(cause: Cause) -> bool {
    matches!(cause, Cause::DiskFull | Cause::DiskUnwritable | Cause::Busy)
}

/// Waits for the next start, and logs the diagnosis if given. False: stopped meanwhile.
async fn wait_to_retry(db: &Path, trouble: Option<Diagnosis>) -> bool {
    // The daemon is up; more is not possible now.
    systemd::notify_ready();
    let wait = async {
        if let Some(Diagnosis { text, next, .. }) = trouble {
            tracing::warn!(next = output::with_home_flags(&next), "{text}; it goes on by itself once that is over");
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    };
    tokio::select! {
        // First, so a stop request works from the log line on.
        biased;
        () = signals::stop_requested() => false,
        () = wait => true,
        never = systemd::report_status(db) => match never {},
    }
}

/// Runs one sync until stopped.
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

//! `run`: the daemon, in the foreground. Must not know how syncing works.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use clap::{Args, ValueEnum};
use hearth_replica::doctor::{Cause, Trouble, directory, trouble};
use hearth_replica::log::{self, Form};
use hearth_replica::sync::{self, SyncConfig, SyncError, SyncLock, Until};
use hearth_replica::{Origin, StoreError, can_be_replica};
use tokio::sync::watch;

use super::progress::Progress;
use super::runtime::block_on;
use super::sync::config;
use super::{Context, Exit, Failure, holder, metrics, output, rebuild, service, stop};

/// Between two attempts to begin while there is no room, or another program writes and does not come to an end.
const PAUSE: Duration = Duration::from_secs(5);

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// Tell counts for Prometheus at this address, as in 127.0.0.1:9751
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<SocketAddr>,
    /// How log lines are written; HEARTH_LOG says how many, as in `warn` or `hearth_replica=debug`
    #[arg(long, value_name = "FORM", default_value = "text")]
    log: Lines,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Lines {
    Text,
    Json,
}

impl Run {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let form = match self.log {
            Lines::Text => Form::Text,
            Lines::Json => Form::Json,
        };
        log::to_stderr(form, "info");
        stop::listen()?;
        let config = config(context)?;
        let db = &context.profile.db;
        let lock = take_lock(db)?;
        context.say_if_gone();
        if form == Form::Text {
            // Not looked at yet: it may name a password, for which it is refused.
            let server = sync::redact_address(&config.server);
            output::note(&format!("syncing {} with {server}; Ctrl-C ends", db.display()));
        }
        block_on(async {
            let listening = match self.metrics_listen {
                Some(address) => Some(metrics::listen(address).await.map_err(|error| {
                    Failure::new(Exit::Failure, format!("--metrics-listen {address}: {error}"))
                        .hint("hearth-replica run --metrics-listen with another address")
                })?),
                None => None,
            };
            let counts = listening.map(|(listener, address)| {
                tracing::info!(%address, "metrics are told");
                tokio::spawn(metrics::serve(listener, db.clone()))
            });
            let ended = keep_in_step(&config, db, lock).await;
            service::stopping();
            if let Some(counts) = counts {
                counts.abort();
            }
            ended
        })
    }
}

/// Syncs until told to stop. A full disk is waited out, so that nobody has to come for it.
async fn keep_in_step(config: &SyncConfig, db: &Path, mut lock: SyncLock) -> Result<(), Failure> {
    let mut waits = false;
    loop {
        let syncing = async |lock| once(config, db, lock).await;
        let ended = tokio::select! {
            ended = hearth_replica::keep_in_step(config, Origin::Cli, lock, syncing, rebuild::tell) => ended,
            // While a damaged database is made anew too, which may take longer than a silence that counts as death.
            never = service::signs_of_life(db) => match never {},
        };
        match ended {
            Err(SyncError::Store(error)) if waits_out(trouble(db, &error).cause) => {
                let new = !std::mem::replace(&mut waits, true);
                if !pause(db, new.then(|| trouble(db, &error))).await {
                    return Ok(());
                }
                // Who began meanwhile keeps it in step as well as this one would.
                lock = loop {
                    if let Some(lock) = try_lock(db)? {
                        break lock;
                    }
                    if !pause(db, None).await {
                        return Ok(());
                    }
                };
            }
            ended => return Ok(ended?),
        }
    }
}

/// Whether it may end by itself, or by somebody who knows nothing of this program.
fn waits_out(cause: Cause) -> bool {
    matches!(cause, Cause::Full | Cause::Unwritten | Cause::Busy)
}

/// Waits a little, and says why if that is new; false when told to stop.
async fn pause(db: &Path, trouble: Option<Trouble>) -> bool {
    // It has begun, and can do no more for now.
    service::ready();
    let wait = async {
        if let Some(Trouble { text, next, .. }) = trouble {
            tracing::warn!(next = output::addressed(&next), "{text}; it goes on by itself once that is over");
        }
        tokio::time::sleep(PAUSE).await;
    };
    tokio::select! {
        // First, so that it can be told to stop from when it says that it waits.
        biased;
        () = stop::asked() => false,
        () = wait => true,
        never = service::signs_of_life(db) => match never {},
    }
}

/// Syncs until told to stop.
async fn once(config: &SyncConfig, db: &Path, lock: SyncLock) -> Result<(), SyncError> {
    let progress = Progress::of(db);
    let (end, ended) = watch::channel(false);
    let mut syncing = Box::pin(sync::run(config.clone(), lock, Until::Stopped, ended));
    service::ready();
    let ended = tokio::select! {
        result = &mut syncing => result,
        () = stop::asked() => {
            service::stopping();
            let _ = end.send(true);
            syncing.await
        }
    };
    drop(progress);
    ended
}

/// Takes the right to sync a database; None when another process has it.
pub(super) fn try_lock(db: &Path) -> Result<Option<SyncLock>, Failure> {
    can_be_replica(db)?;
    // It is the first file that is written, so it is the first to find no room and no permission.
    let directory = directory(db).to_owned();
    SyncLock::try_take(db).map_err(|error| StoreError::File(directory, error).into())
}

/// Takes it, or says who keeps the database in step instead.
fn take_lock(db: &Path) -> Result<SyncLock, Failure> {
    try_lock(db)?.ok_or_else(|| holder::instead(db))
}

//! `run`: the daemon, in the foreground. Must not know how syncing works.

use std::net::SocketAddr;
use std::path::Path;

use clap::{Args, ValueEnum};
use hearth_replica::log::{self, Form};
use hearth_replica::sync::{self, SyncConfig, SyncError, SyncLock, Until};
use hearth_replica::{Origin, Replica, StoreError};
use tokio::sync::watch;

use super::progress::Progress;
use super::sync::{asked_to_stop, config, runtime};
use super::{Context, Exit, Failure, metrics, output, rebuild, service};

/// How often a database that turns out to be damaged is made anew before a person has to look.
const REBUILDS_MAX: u32 = 2;

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// Tell counts for Prometheus at this address, as in 127.0.0.1:9751
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<SocketAddr>,
    /// How log lines are written; HEARTH_LOG says how many
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
        let config = config(context)?;
        let db = &context.profile.db;
        let lock = take_lock(db)?;
        if form == Form::Text {
            output::note(&format!("syncing {} with {}; Ctrl-C ends", db.display(), config.server));
        }
        runtime()?.block_on(async {
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

/// Syncs until told to stop. A damaged database is made anew, so that nobody has to come for it.
async fn keep_in_step(config: &SyncConfig, db: &Path, mut lock: SyncLock) -> Result<(), Failure> {
    let mut rebuilds = 0;
    loop {
        // Opened before anything runs: a schema that cannot be renewed is said at once.
        let ended = match Replica::open(db, Origin::Cli) {
            Ok(_) => once(config, db, lock).await,
            Err(error) => {
                drop(lock);
                Err(SyncError::Store(error))
            }
        };
        match ended {
            Err(SyncError::Store(error)) if error.is_damaged() && rebuilds < REBUILDS_MAX => {
                rebuilds += 1;
                tracing::warn!(%error, "the database is damaged and made anew");
                let rescue = hearth_replica::rebuild(db, &take_lock(db)?)?;
                rebuild::tell(&rescue);
                lock = take_lock(db)?;
            }
            ended => return Ok(ended?),
        }
    }
}

async fn once(config: &SyncConfig, db: &Path, lock: SyncLock) -> Result<(), SyncError> {
    let progress = Progress::of(db);
    let (stop, stopped) = watch::channel(false);
    let mut syncing = Box::pin(sync::run(config.clone(), lock, Until::Stopped, stopped));
    service::ready();
    let ended = tokio::select! {
        result = &mut syncing => result,
        () = service::signs_of_life(db) => Ok(()),
        () = asked_to_stop() => {
            service::stopping();
            let _ = stop.send(true);
            syncing.await
        }
    };
    drop(progress);
    ended
}

/// Takes the right to sync a database; None when another process has it.
pub(super) fn try_lock(db: &Path) -> Result<Option<SyncLock>, Failure> {
    // It is the first file that is written, so it is the first to find no room and no permission.
    let directory = db.parent().unwrap_or(db).to_owned();
    SyncLock::try_take(db).map_err(|error| StoreError::File(directory, error).into())
}

fn take_lock(db: &Path) -> Result<SyncLock, Failure> {
    match try_lock(db)? {
        Some(lock) => Ok(lock),
        None => Err(locked(db, "hearth-replica status")),
    }
}

/// Another process syncs: who, and what to do.
pub(super) fn locked(db: &Path, next: &str) -> Failure {
    let holder = SyncLock::holder(db).map(|pid| format!(", process {pid}")).unwrap_or_default();
    Failure::new(Exit::Failure, format!("another process syncs {}{holder}", db.display())).hint(next)
}

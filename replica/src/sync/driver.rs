//! The loop between the engine and the world: sockets, timers, notifications. Must not decide anything: retries, order and
//! phase are chosen by the core.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use secrecy::SecretString;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use uuid::Uuid;

use super::SyncLock;
use super::captures;
use super::client::{Client, redact_address};
use super::config::SyncConfig;
use super::core::{EndReason, Millis, Until};
use super::engine::{Command, DriverEvent, Engine, Moment, StepOutput};
use super::error::SyncError;
use super::inspector;
use super::key_file::KeyFile;
use super::runtime::{blocking, moment, since, wall_clock};
use super::stream::{self, Stream};
use super::transfer::{Store, TransferTask};
use crate::model::BlockCause;
use crate::store::StoreError;
use crate::{notification, profile};

/// How long the end of a sync waits for work on files, such as reading a large file. The next start looks for damage again then.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// How long a sync that has reached its goal waits for the exchange about captures, which is no part of the goal.
const EXCHANGE_LIMIT: Duration = Duration::from_secs(3);

/// Syncs until the goal is reached or `stop` becomes true. SQLite blocks only threads for blocking work.
pub async fn run(
    config: SyncConfig,
    lock: SyncLock,
    until: Until,
    stop: watch::Receiver<bool>,
) -> Result<(), SyncError> {
    let client = Client::new(&config.server, &config.key)?;
    let (path, now) = (config.db.clone(), wall_clock());
    let looked_at = blocking(move || inspector::look_at_start(&path, now)).await?;
    let mut engine = open_engine(&config, until).await?;
    let (sender, commands) = mpsc::unbounded_channel();
    engine.set_command_sink(move |command| drop(sender.send(command)));
    let (notify, mut changed) = watch::channel(());
    let watcher = notification::subscribe(&config.db, move || notify.send_replace(()))?;

    let store = Store::new(&config.db);
    let transfer = TransferTask::start(store.clone(), until.is_single_run(), changed.clone());
    let mut exchange = JoinSet::new();
    match until {
        Until::Pushed => exchange.spawn(captures::run_once(store.clone(), transfer.contact())),
        _ => exchange.spawn(captures::run(store.clone(), transfer.contact(), changed.clone())),
    };
    let (mut requests, db) = (JoinSet::new(), config.db.clone());
    requests.spawn(async move { Err(inspector::inspect(db, until, looked_at, now).await) });
    let mut driver = Driver {
        transfer,
        exchange,
        key_file: KeyFile::new(config.key_file.clone(), config.key.clone()),
        cancel: engine.cancel_flag(),
        stop,
        engine: Arc::new(Mutex::new(engine)),
        client,
        config,
        start: Instant::now(),
        wake_at: None,
        stream: None,
        was_stream_first: false,
        commands,
        requests,
    };
    let (end, ended_by) = driver.follow(&mut changed).await;
    if until == Until::Pushed && matches!(end, Ok(Some(EndReason::Done))) && !*driver.stop.borrow() {
        driver.finish_exchange().await;
    }
    drop(watcher);
    let close = |engine: &mut Engine, now| {
        engine.close(now).map(|()| StepOutput { has_written: true, ..StepOutput::default() })
    };
    let closed = driver.step(close).await;
    let (engine, cancel) = (driver.engine.clone(), driver.cancel.clone());
    drop(driver);
    // Files and captures have a connection of their own. A read there can keep the mark out of the main file, and a write after
    // the mark makes the look void.
    let closes = blocking(move || {
        store.close();
        Ok(())
    });
    let is_closed = tokio::time::timeout(CLOSE_LIMIT, closes).await.is_ok();
    if ended_by.is_none() && closed.is_ok() {
        // A look says nothing about what other programs wrote in the hours of a lasting sync, or about pages after an error.
        let looked_at = looked_at.filter(|_| until != Until::Stopped && end.is_ok() && is_closed);
        blocking(move || {
            engine.lock().unwrap_or_else(PoisonError::into_inner).mark_file(looked_at);
            Ok(())
        })
        .await?;
    }
    drop(lock);
    // After a stop, a database locked by another program is no error: unsaved status rows are written at the next start.
    let is_cancelled = cancel.load(Ordering::Relaxed);
    let (end, closed) = (ignore_busy(is_cancelled, end), ignore_busy(is_cancelled, closed));
    if let Some(error) = ended_by {
        return Err(error);
    }
    match end?.unwrap_or(EndReason::Done) {
        EndReason::Done => Ok(closed.map(drop)?),
        EndReason::NeedsKey(why) => Err(SyncError::NeedsKey(why)),
        EndReason::Blocked(cause, why) => Err(SyncError::Blocked(cause, why)),
        EndReason::Paused => Err(SyncError::Paused),
    }
}

/// Opens the engine. Err: a refill of this home has not ended.
async fn open_engine(config: &SyncConfig, until: Until) -> Result<Engine, SyncError> {
    let (db, server, policy) = (config.db.clone(), config.server.clone(), config.conflict_policy);
    let random = Box::new(|| Uuid::new_v4().as_u128());
    let (engine, refill) = blocking(move || {
        let mut engine = Engine::open(&db, &server, until, policy, random)?;
        // Before the first step, so that a sync that ends when nothing waits does not end before this attempt.
        engine.retry_files_refused_by_key();
        engine.mark_file(None);
        let refill = engine.refill_reason()?;
        Ok((engine, refill))
    })
    .await?;
    refill.map_or(Ok(engine), |why| Err(SyncError::Blocked(BlockCause::Refill, why)))
}

fn ignore_busy(
    is_cancelled: bool,
    result: Result<Option<EndReason>, StoreError>,
) -> Result<Option<EndReason>, StoreError> {
    match result {
        Err(error) if is_cancelled && error.is_busy() => Ok(None),
        result => result,
    }
}

struct Driver {
    engine: Arc<Mutex<Engine>>,
    stop: watch::Receiver<bool>,
    /// The engine's cancel flag, set after a stop while the engine works.
    cancel: Arc<AtomicBool>,
    client: Client,
    /// The files that are sent and fetched beside the records.
    transfer: TransferTask,
    /// The exchange about captures beside the records. Ends when dropped.
    exchange: JoinSet<()>,
    config: SyncConfig,
    key_file: KeyFile,
    /// The zero of the steady clock.
    start: Instant,
    wake_at: Option<Millis>,
    stream: Option<Stream>,
    /// Whether the last event came from the stream, before the other sources were asked.
    was_stream_first: bool,
    /// Commands from the engine, also while the engine works.
    commands: mpsc::UnboundedReceiver<Command>,
    /// Requests that await responses, and the look for damage.
    requests: JoinSet<Result<DriverEvent, SyncError>>,
}

impl Driver {
    /// Gives events to the engine until the sync ends: by a decision of the engine or a fault of its database, or by an event that
    /// ends it (the second value).
    async fn follow(
        &mut self,
        changed: &mut watch::Receiver<()>,
    ) -> (Result<Option<EndReason>, StoreError>, Option<SyncError>) {
        let mut end = self.step(|engine, now| engine.start(std::process::id(), now)).await;
        while let Ok(None) = end {
            match self.next_event(changed).await {
                Ok(event) => end = self.step(|engine, now| engine.handle(now, event)).await,
                Err(error) => return (end, Some(error)),
            }
        }
        (end, None)
    }

    /// Waits for the next event. Err: the sync cannot continue, with the present server or the present database.
    async fn next_event(&mut self, changed: &mut watch::Receiver<()>) -> Result<DriverEvent, SyncError> {
        let wake = self.wake_at.map(|at| moment(self.start, at));
        // The stream goes first: an event that confirms an edit makes the edit's response redundant, while the other order
        // costs two writes. Every second turn is fair, so that responses do not wait for long.
        if !std::mem::take(&mut self.was_stream_first)
            && let Some(event) = stream::next_event(&mut self.stream).now_or_never()
        {
            self.was_stream_first = true;
            return Ok(event);
        }
        let event = tokio::select! {
            biased;
            () = stopped(&mut self.stop) => DriverEvent::StopRequested,
            Some(ended) = self.requests.join_next() => match ended.map_err(JoinError::try_into_panic) {
                Ok(event) => event?,
                Err(Ok(panic)) => std::panic::resume_unwind(panic),
                // The runtime ends.
                Err(Err(_)) => DriverEvent::StopRequested,
            },
            Ok(()) = changed.changed() => DriverEvent::DatabaseChanged,
            key = self.key_file.next_key() => self.use_key(&key)?,
            () = sleep_until(wake) => DriverEvent::Timer,
            event = stream::next_event(&mut self.stream) => event,
        };
        Ok(event)
    }

    /// Sends later requests with another key. Err: the profile names another server, and the key must not reach the present
    /// server.
    fn use_key(&mut self, key: &SecretString) -> Result<DriverEvent, SyncError> {
        let named = self.config.profile.as_deref().map(profile::read_server).transpose()?.flatten();
        if let Some(server) = named.filter(|server| !is_same_address(server, &self.config.server)) {
            return Err(SyncError::AnotherServer(redact_address(&server), self.config.server.clone()));
        }
        Ok(match Client::new(&self.config.server, key) {
            Ok(client) => {
                tracing::info!("using the new key of the profile");
                self.transfer.use_client(&client);
                self.client = client;
                DriverEvent::KeyChanged
            }
            Err(error) => {
                tracing::warn!(%error, "the new key of the profile cannot be used");
                DriverEvent::Timer
            }
        })
    }

    /// Runs a step of the engine on a thread for blocking work, and executes commands meanwhile. Returns the reason when
    /// the sync ends.
    async fn step(
        &mut self,
        step: impl FnOnce(&mut Engine, Moment) -> Result<StepOutput, StoreError> + Send + 'static,
    ) -> Result<Option<EndReason>, StoreError> {
        let (engine, now) = (self.engine.clone(), self.now());
        let mut work = pin!(blocking(move || {
            let mut engine = engine.lock().unwrap_or_else(PoisonError::into_inner);
            let output = step(&mut engine, now)?;
            Ok((output, engine.wake_at(), engine.may_carry_files()))
        }));
        let mut end = None;
        let result = loop {
            tokio::select! {
                biased;
                Some(command) = self.commands.recv() => end = self.execute(command).or(end),
                result = &mut work => break result,
                () = stopped(&mut self.stop), if !self.cancel.load(Ordering::Relaxed) => {
                    self.cancel.store(true, Ordering::Relaxed);
                }
            }
        };
        // Commands sent just before the end of the step.
        while let Ok(command) = self.commands.try_recv() {
            end = self.execute(command).or(end);
        }
        let (output, wake_at, may_carry_files) = result?;
        self.wake_at = wake_at;
        self.transfer.set_contact(may_carry_files, &self.client);
        if output.has_written {
            notification::notify(&self.config.db);
        }
        Ok(end)
    }

    /// Waits for the end of the exchange about captures, for a limited time. When a sync polls, contact may begin and the goal may be
    /// reached in the same step, so the exchange may not have begun.
    async fn finish_exchange(&mut self) {
        self.transfer.set_contact(true, &self.client);
        tokio::select! {
            () = stopped(&mut self.stop) => {}
            _ = tokio::time::timeout(EXCHANGE_LIMIT, self.exchange.join_next()) => {}
        }
    }

    /// Executes a command. Returns the reason when the sync ends.
    fn execute(&mut self, command: Command) -> Option<EndReason> {
        match command {
            Command::Send { ticket, request } => {
                let client = self.client.clone();
                // A task of its own, so the request leaves while the engine still works.
                self.requests.spawn(async move {
                    let response = client.send(&request).await;
                    Ok(DriverEvent::Response { ticket, response })
                });
            }
            Command::OpenStream(request) => self.stream = Some(Stream::open(self.client.clone(), request)),
            Command::CloseStream => self.stream = None,
            Command::End(reason) => return Some(reason),
        }
        None
    }

    fn now(&self) -> Moment {
        Moment { steady: since(self.start), wall: wall_clock() }
    }
}

/// Whether two addresses differ at most by slashes at the end.
fn is_same_address(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Waits for a stop. Drops the guard of `wait_for`, which must not move between threads.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::key::{Environment, key_text};

    use super::*;
    use crate::store::open;

    #[tokio::test]
    async fn stopped_sync_does_not_wait_for_a_lock() {
        let directory = tempfile::tempdir().unwrap();
        let config = SyncConfig::unreachable(directory.path());
        let script = open::read_write(&config.db).unwrap();
        script.execute_batch("BEGIN IMMEDIATE").unwrap();
        let lock = SyncLock::try_take(&config.db).unwrap().unwrap();
        let (_sender, stop) = watch::channel(true);
        run(config, lock, Until::Stopped, stop).await.unwrap();
        script.execute_batch("ROLLBACK").unwrap();
    }

    #[tokio::test]
    async fn new_key_for_another_server_ends_the_sync() {
        let directory = tempfile::tempdir().unwrap();
        let [key_file, profile] = ["home.key", "home.toml"].map(|name| directory.path().join(name));
        std::fs::write(&key_file, key_text(Environment::Test, [2; 32])).unwrap();
        std::fs::write(&profile, "server = \"http://127.0.0.1:10\"").unwrap();
        let config = SyncConfig {
            key_file: Some(key_file),
            profile: Some(profile),
            ..SyncConfig::unreachable(directory.path())
        };
        let lock = SyncLock::try_take(&config.db).unwrap().unwrap();
        let (_sender, stop) = watch::channel(false);
        let ended = run(config, lock, Until::Stopped, stop).await.unwrap_err();
        assert_eq!(
            ended.to_string(),
            "the profile names another server now, http://127.0.0.1:10; syncing with http://127.0.0.1:9 has ended, start it again"
        );
    }
}

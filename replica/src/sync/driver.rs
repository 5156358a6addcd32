//! The loop between the engine and the world: sockets, timers, the bell. It decides nothing: no retry, no order, no
//! phase is chosen here.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;
use hearth_contract::formats::Timestamp;
use secrecy::SecretString;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use super::client::{Client, shown};
use super::core::{Millis, Verdict};
use super::engine::{Deed, Done, Engine, Heard, Moment};
use super::keyfile::KeyFile;
use super::stream::{Stream, heard};
use super::{SyncConfig, SyncError, SyncLock, Until};
use crate::store::StoreError;
use crate::{bell, profile};

pub(super) async fn run(
    config: SyncConfig,
    lock: SyncLock,
    until: Until,
    stop: watch::Receiver<bool>,
) -> Result<(), SyncError> {
    let client = Client::new(&config.server, &config.key)?;
    let changed = Arc::new(Notify::new());
    let knock = changed.clone();
    let (db, server, policy) = (config.db.clone(), config.server.clone(), config.conflict_policy);
    let chance = Box::new(|| Uuid::new_v4().as_u128());
    let mut engine = blocking(move || Engine::open(&db, &server, until, policy, chance)).await?;
    let (tell, deeds) = mpsc::unbounded_channel();
    engine.tell_at_once(move |deed| drop(tell.send(deed)));
    let bell = bell::watch(&config.db, move || knock.notify_one())?;

    let mut driver = Driver {
        key_file: KeyFile::new(config.key_file.clone(), config.key.clone()),
        give_up: engine.give_up(),
        stop,
        engine: Arc::new(Mutex::new(engine)),
        client,
        config,
        epoch: Instant::now(),
        wake_at: None,
        stream: None,
        listened: false,
        deeds,
        asking: JoinSet::new(),
    };
    let mut end = driver.work(|engine, now| engine.start(std::process::id(), now)).await;
    let mut moved = None;
    while let Ok(None) = end {
        match driver.next(&changed).await {
            Ok(heard) => end = driver.work(|engine, now| engine.hear(now, heard)).await,
            Err(error) => {
                moved = Some(error);
                break;
            }
        }
    }
    drop(bell);
    let left = driver.work(|engine, now| engine.leave(now).map(|()| Done { wrote: true, ..Done::default() })).await;
    drop(lock);
    // Who was told to stop is not told of another program that holds the database: what is not written down now comes again.
    let stopped = driver.give_up.load(Ordering::Relaxed);
    let (end, left) = (unless_held(stopped, end), unless_held(stopped, left));
    if let Some(moved) = moved {
        return Err(moved);
    }
    match end?.unwrap_or(Verdict::Done) {
        Verdict::Done => Ok(left.map(drop)?),
        Verdict::NeedsKey(why) => Err(SyncError::NeedsKey(why)),
        Verdict::Blocked(cause, why) => Err(SyncError::Blocked(cause, why)),
        Verdict::Asks(why) => Err(SyncError::Asks(why)),
        Verdict::Paused => Err(SyncError::Paused),
    }
}

fn unless_held(stopped: bool, end: Result<Option<Verdict>, StoreError>) -> Result<Option<Verdict>, StoreError> {
    match end {
        Err(error) if stopped && error.is_busy() => Ok(None),
        end => end,
    }
}

struct Driver {
    engine: Arc<Mutex<Engine>>,
    stop: watch::Receiver<bool>,
    /// Tells the engine, while it is at work, that it was told to stop.
    give_up: Arc<AtomicBool>,
    client: Client,
    config: SyncConfig,
    key_file: KeyFile,
    epoch: Instant,
    wake_at: Option<Millis>,
    stream: Option<Stream>,
    /// Whether the feed was heard before others last.
    listened: bool,
    /// What the engine says while it works.
    deeds: mpsc::UnboundedReceiver<Deed>,
    asking: JoinSet<Heard>,
}

impl Driver {
    /// Waits for whichever happens first. Err: it cannot go on as it was begun.
    async fn next(&mut self, changed: &Notify) -> Result<Heard, SyncError> {
        let wake = self.wake_at.map(|at| self.epoch + Duration::from_millis(at.max(0).unsigned_abs()));
        // What the feed brings of an edit settles it, and its answer has nothing left to say; the other way round it is
        // written twice. In turn, so that neither waits for the other for long.
        if !std::mem::take(&mut self.listened)
            && let Some(heard) = heard(&mut self.stream).now_or_never()
        {
            self.listened = true;
            return Ok(heard);
        }
        let heard = tokio::select! {
            biased;
            () = told_to_stop(&mut self.stop) => Heard::StopRequested,
            Some(answer) = self.asking.join_next() => answer.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())),
            () = changed.notified() => Heard::DatabaseChanged,
            key = self.key_file.another() => self.take_up(&key)?,
            () = sleep_until(wake) => Heard::Timer,
            heard = heard(&mut self.stream) => heard,
        };
        Ok(heard)
    }

    /// Asks with another key from now on. One that came with another server is not shown to this one.
    fn take_up(&mut self, key: &SecretString) -> Result<Heard, SyncError> {
        let named = self.config.profile.as_deref().map(profile::server_of).transpose()?.flatten();
        if let Some(server) = named.filter(|server| !is_same(server, &self.config.server)) {
            return Err(SyncError::AnotherServer(shown(&server), self.config.server.clone()));
        }
        Ok(match Client::new(&self.config.server, key) {
            Ok(client) => {
                tracing::info!("the profile has another key");
                self.client = client;
                Heard::KeyChanged
            }
            Err(error) => {
                tracing::warn!(%error, "the profile has another key, but");
                Heard::Timer
            }
        })
    }

    /// Has the engine work where blocking is allowed, and meanwhile does what it says; gives the verdict when it ends.
    async fn work(
        &mut self,
        step: impl FnOnce(&mut Engine, Moment) -> Result<Done, StoreError> + Send + 'static,
    ) -> Result<Option<Verdict>, StoreError> {
        let (engine, now) = (self.engine.clone(), self.now());
        let mut working = pin!(blocking(move || {
            let mut engine = engine.lock().unwrap_or_else(PoisonError::into_inner);
            let done = step(&mut engine, now)?;
            Ok((done, engine.wake_at()))
        }));
        let mut verdict = None;
        let worked = loop {
            tokio::select! {
                biased;
                Some(deed) = self.deeds.recv() => verdict = self.carry_out(deed).or(verdict),
                worked = &mut working => break worked,
                () = told_to_stop(&mut self.stop), if !self.give_up.load(Ordering::Relaxed) => {
                    self.give_up.store(true, Ordering::Relaxed);
                }
            }
        };
        // Told in the last moment of the work.
        while let Ok(deed) = self.deeds.try_recv() {
            verdict = self.carry_out(deed).or(verdict);
        }
        let (done, wake_at) = worked?;
        self.wake_at = wake_at;
        if done.wrote {
            bell::ring(&self.config.db);
        }
        Ok(verdict)
    }

    fn carry_out(&mut self, deed: Deed) -> Option<Verdict> {
        match deed {
            Deed::Ask { ticket, ask } => {
                let client = self.client.clone();
                // In a task of its own, so that it leaves although the engine is still at work.
                self.asking.spawn(async move {
                    let answer = client.ask(&ask).await;
                    Heard::Answer { ticket, answer }
                });
            }
            Deed::OpenStream(ask) => self.stream = Some(Stream::open(self.client.clone(), ask)),
            Deed::CloseStream => self.stream = None,
            Deed::End(verdict) => return Some(verdict),
        }
        None
    }

    fn now(&self) -> Moment {
        let steady = Millis::try_from(self.epoch.elapsed().as_millis()).unwrap_or(Millis::MAX);
        Moment { steady, wall: wall_clock() }
    }
}

/// Whether two addresses are written alike, but for the end.
fn is_same(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// This machine's clock.
pub(crate) fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Lets go of what `wait_for` lends, so that the loop may move between threads.
async fn told_to_stop(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Unexpected("work that the runtime dropped as it ended".to_owned())),
        },
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::key::{Environment, key_text};

    use super::*;
    use crate::store::edits::judge::ConflictPolicy;
    use crate::store::open;

    /// With a server that is not there.
    fn config(directory: &tempfile::TempDir) -> SyncConfig {
        SyncConfig {
            db: directory.path().join("replica.db"),
            server: "http://127.0.0.1:9".to_owned(),
            key: key_text(Environment::Test, [1; 32]).into(),
            key_file: None,
            profile: None,
            conflict_policy: ConflictPolicy::Ask,
        }
    }

    #[tokio::test]
    async fn who_is_told_to_stop_does_not_wait_for_another_program() {
        let directory = tempfile::tempdir().unwrap();
        let config = config(&directory);
        let script = open::read_write(&config.db).unwrap();
        script.execute_batch("BEGIN IMMEDIATE").unwrap();
        let lock = SyncLock::try_take(&config.db).unwrap().unwrap();
        let (_stop, told) = watch::channel(true);
        run(config, lock, Until::Stopped, told).await.unwrap();
        script.execute_batch("ROLLBACK").unwrap();
    }

    #[tokio::test]
    async fn a_key_for_another_server_is_not_shown_to_this_one() {
        let directory = tempfile::tempdir().unwrap();
        let [key_file, profile] = ["home.key", "home.toml"].map(|name| directory.path().join(name));
        std::fs::write(&key_file, key_text(Environment::Test, [2; 32])).unwrap();
        std::fs::write(&profile, "server = \"http://127.0.0.1:10\"").unwrap();
        let config = SyncConfig { key_file: Some(key_file), profile: Some(profile), ..config(&directory) };
        let lock = SyncLock::try_take(&config.db).unwrap().unwrap();
        let (_stop, told) = watch::channel(false);
        let ended = run(config, lock, Until::Stopped, told).await.unwrap_err();
        assert_eq!(
            ended.to_string(),
            "the profile names another server now, http://127.0.0.1:10; syncing with http://127.0.0.1:9 has ended, start it again"
        );
    }
}

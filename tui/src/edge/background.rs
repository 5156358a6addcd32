//! What runs beside the screen: syncing, when no other process does it for this database, and the signals that end a
//! program. Must not touch the screen or decide how syncing goes.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{future, io};

use hearth_replica::sync::{self, SyncConfig, SyncError, SyncLock, Until};
use hearth_replica::{OpenedFile, Origin, RebuildReport, StoreError};
use tokio::sync::watch;

use crate::message::Message;

/// How often it is tried to become the one that syncs, while a daemon is.
const RETRY: Duration = Duration::from_secs(3);
/// How long it rests after syncing has failed.
const PAUSE: Duration = Duration::from_secs(30);

/// How long a program that is about to be stopped waits for syncing to end in order.
const REST_MAX: Duration = Duration::from_secs(3);

/// The threads beside the screen. Dropping it ends them in order.
#[derive(Debug)]
pub struct Background {
    stop: watch::Sender<bool>,
    rest: watch::Sender<bool>,
    /// Says each time that syncing rests.
    resting: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts to listen for signals and, with a configuration, to sync.
    pub fn start(config: Option<SyncConfig>, messages: Sender<Message>) -> io::Result<Background> {
        let ((stop, stopped), (rest, rests), (told, resting)) =
            (watch::channel(false), watch::channel(false), channel());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let thread = thread::Builder::new().name("background".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = sync_or_rest(config, &messages, stopped, rests, &told) => {}
                    () = hear_signals(&messages) => {}
                }
            });
            // A request that hangs must not keep the shell waiting.
            runtime.shutdown_timeout(Duration::from_secs(2));
        })?;
        Ok(Background { stop, rest, resting, thread: Some(thread) })
    }

    /// Has others sync while the work lasts: a program that is stopped would keep them from it, and not do it itself.
    pub fn resting<T>(&self, work: impl FnOnce() -> T) -> T {
        let _ = self.rest.send(true);
        let _ = self.resting.recv_timeout(REST_MAX);
        let done = work();
        let _ = self.rest.send(false);
        // Where that came late, it is not for the next time.
        while self.resting.try_recv().is_ok() {}
        done
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Syncs, or leaves that to others for as long as it is to rest.
async fn sync_or_rest(
    config: Option<SyncConfig>,
    messages: &Sender<Message>,
    mut stopped: watch::Receiver<bool>,
    mut rests: watch::Receiver<bool>,
    told: &Sender<()>,
) {
    loop {
        let (halt, halted) = watch::channel(false);
        let mut syncing = pin!(keep_in_step(config.clone(), messages.clone(), halted));
        let ends = tokio::select! {
            () = &mut syncing => return,
            _ = stopped.wait_for(|stop| *stop) => true,
            _ = rests.wait_for(|rest| *rest) => false,
        };
        let _ = halt.send(true);
        syncing.await;
        if ends {
            return;
        }
        let _ = told.send(());
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => return,
            _ = rests.wait_for(|rest| !*rest) => {}
        }
    }
}

/// Syncs while this process holds the lock. While another holds it, its work is read from the database like any other
/// change, and the lock is tried again: a daemon that ends is replaced within seconds. A failure is said once and tried again;
/// where the database is gone from its place, once it is there again.
async fn keep_in_step(config: Option<SyncConfig>, messages: Sender<Message>, mut stopped: watch::Receiver<bool>) {
    let Some(config) = config else {
        let _ = stopped.wait_for(|stop| *stop).await;
        return;
    };
    let place = OpenedFile::new(&config.db);
    let mut told = None;
    loop {
        let pause = match SyncLock::try_take(&config.db) {
            Ok(Some(lock)) => {
                let syncing = async |lock| sync::run(config.clone(), lock, Until::Stopped, stopped.clone()).await;
                let rebuilt = |rescue: &RebuildReport| {
                    rescue.lost.iter().for_each(|sentence| tracing::warn!("{sentence}"));
                    let _ = messages.send(Message::Rebuilt(rescue.clone()));
                };
                let ended = hearth_replica::keep_in_step(&config, Origin::Tui, lock, syncing, rebuilt).await;
                let Err(error) = ended else { return };
                tracing::error!(%error, "syncing ended");
                let moved = matches!(error, SyncError::Store(StoreError::Moved(_)));
                let again = !moved && !matches!(error, SyncError::AnotherServer(..));
                let reason = format!("{}: the lock beside it could not be tried: {error}", config.db.display());
                if told.as_ref() != Some(&reason) {
                    let _ = messages.send(Message::SyncEnded { reason: reason.clone(), again });
                }
                if moved {
                    tokio::select! {
                        _ = stopped.wait_for(|stop| *stop) => return,
                        () = put_back(&place) => {}
                    }
                    let _ = messages.send(Message::SyncBegins);
                    told = None;
                    continue;
                }
                if !again {
                    let _ = stopped.wait_for(|stop| *stop).await;
                    return;
                }
                told = Some(reason);
                PAUSE
            }
            Ok(None) => RETRY,
            Err(error) => {
                let reason = error.to_string();
                if told.as_ref() != Some(&reason) {
                    tracing::warn!(%error, "the lock could not be tried");
                    let _ = messages.send(Message::SyncEnded { reason: reason.clone(), again: true });
                }
                told = Some(reason);
                RETRY
            }
        };
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Waits until the path of the database leads to it again. Until then nothing is opened, which would make another.
async fn put_back(place: &OpenedFile) {
    while place.ensure_unmoved().is_err() {
        tokio::time::sleep(RETRY).await;
    }
}

/// Whether the terminal was given back for good, while the last change is written.
static IS_FINISHING: AtomicBool = AtomicBool::new(false);

/// From now on a ctrl-c ends the process at once: there is no screen any more that could hear it as a key.
pub fn finishing() {
    IS_FINISHING.store(true, Ordering::Relaxed);
}

/// A ctrl-c that comes as a signal. As long as the screen is here it is a key, so that the signal is somebody else's: of the
/// editor that the terminal is lent to.
#[cfg(unix)]
fn interrupted() {
    if IS_FINISHING.load(Ordering::Relaxed) {
        // As a shell says of a program that was interrupted.
        std::process::exit(130);
    }
}

/// Hears the signals of a closing terminal and a stopping machine, and those of a shell, as long as there is anything to do:
/// none of them ends the process by itself any more. A program that is started has them as ever, because what is heard,
/// unlike what is ignored, is not handed on.
#[cfg(unix)]
async fn hear_signals(messages: &Sender<Message>) {
    use tokio::signal::unix::{SignalKind, signal};
    let going_on = SignalKind::from_raw(rustix::process::Signal::CONT.as_raw());
    let heard = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), going_on];
    let [Ok(mut terminate), Ok(mut hangup), Ok(mut interrupt), Ok(mut quit), Ok(mut going_on)] = heard.map(signal)
    else {
        return future::pending().await;
    };
    loop {
        tokio::select! {
            // Often said twice, by the system and by a shell: the second must not cost what is still being written.
            _ = terminate.recv() => drop(messages.send(Message::End)),
            _ = hangup.recv() => drop(messages.send(Message::End)),
            // A shell that stopped this program, or another, has the terminal as it likes it.
            _ = going_on.recv() => drop(messages.send(Message::Continued)),
            _ = interrupt.recv() => interrupted(),
            _ = quit.recv() => interrupted(),
        }
    }
}

#[cfg(not(unix))]
async fn hear_signals(_: &Sender<Message>) {
    future::pending().await
}

#[cfg(test)]
mod tests {
    use hearth_replica::ConflictPolicy;

    use super::*;

    /// More than it takes on the slowest machine.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_failure_is_said_and_is_not_the_end_of_syncing() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        // No database can be opened there, for now.
        std::fs::create_dir(&db).unwrap();
        let (server, key) = ("http://127.0.0.1:9".to_owned(), "svc_test_x".into());
        let config =
            SyncConfig { db, server, key, key_file: None, profile: None, conflict_policy: ConflictPolicy::Ask };
        let (sender, messages) = channel();
        let background = Background::start(Some(config), sender).unwrap();
        let said = messages.recv_timeout(LONG).unwrap();
        assert!(matches!(said, Message::SyncEnded { again: true, .. }), "{said:?}");
        assert!(background.thread.as_ref().is_some_and(|thread| !thread.is_finished()));
    }

    /// A replica of a server that nobody reaches, and what syncs it.
    fn syncing() -> (tempfile::TempDir, hearth_replica::Replica, Background, Receiver<Message>) {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let replica = hearth_replica::Replica::open(&db, Origin::Tui).unwrap();
        let (server, key) = ("http://127.0.0.1:9".to_owned(), "svc_test_x".into());
        let conflict_policy = ConflictPolicy::Ask;
        let config = SyncConfig { db, server, key, key_file: None, profile: None, conflict_policy };
        let (sender, messages) = channel();
        let background = Background::start(Some(config), sender).unwrap();
        (directory, replica, background, messages)
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        let until = std::time::Instant::now() + LONG;
        while !is_so() {
            assert!(std::time::Instant::now() < until, "it never began");
            thread::yield_now();
        }
    }

    #[test]
    fn others_may_sync_while_it_rests() {
        let (directory, replica, background, _messages) = syncing();
        let db = directory.path().join("replica.db");
        let syncs = || replica.status().unwrap().daemon_pid.is_some();
        for _ in 0..2 {
            wait_until(syncs);
            assert!(SyncLock::try_take(&db).unwrap().is_none());
            background.resting(|| assert!(SyncLock::try_take(&db).unwrap().is_some() && !syncs()));
        }
    }

    #[test]
    fn a_database_that_is_put_back_is_synced_again() {
        let (directory, replica, _background, messages) = syncing();
        let db = directory.path().join("replica.db");
        wait_until(|| replica.status().unwrap().next_attempt_at.is_some());
        let elsewhere = directory.path().join("elsewhere.db");
        std::fs::rename(&db, &elsewhere).unwrap();
        let said = messages.recv_timeout(LONG).unwrap();
        assert!(matches!(said, Message::SyncEnded { again: false, .. }), "{said:?}");
        std::fs::rename(&elsewhere, &db).unwrap();
        assert!(matches!(messages.recv_timeout(LONG).unwrap(), Message::SyncBegins));
    }
}

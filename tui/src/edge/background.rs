//! Runs beside the screen: the sync of the database, unless another process syncs it, and the signals that end a
//! program. Must not touch the screen, and must not decide how the sync works.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{future, io};

use hearth_replica::doctor::diagnose;
use hearth_replica::sync::{self, SyncConfig, SyncError, SyncLock, Until};
use hearth_replica::{OpenedFile, Origin, RebuildReport, StoreError};
use tokio::sync::watch;

use crate::message::Message;

/// The time between two tries to take the sync lock while another process holds the lock.
const LOCK_RETRY: Duration = Duration::from_secs(3);
/// The pause after a failed sync.
const SYNC_RETRY: Duration = Duration::from_secs(30);

/// How long a program that is about to be stopped waits for the sync to pause.
const PAUSE_MAX: Duration = Duration::from_secs(3);

/// How long dropping a [`Background`] waits for running requests.
const SHUTDOWN_MAX: Duration = Duration::from_secs(2);

/// The background thread. Dropping the value ends the sync in order and stops the thread.
#[derive(Debug)]
pub struct Background {
    stop: watch::Sender<bool>,
    pause: watch::Sender<bool>,
    /// Receives a message each time the sync has paused.
    paused: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts the thread. Without `config` the thread handles signals only.
    pub fn start(config: Option<SyncConfig>, messages: Sender<Message>) -> io::Result<Background> {
        let ((stop, stopped), (pause, pauses), (report, paused)) =
            (watch::channel(false), watch::channel(false), channel());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let thread = thread::Builder::new().name("background".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = sync_with_pauses(config, &messages, stopped, pauses, &report) => {}
                    () = handle_signals(&messages) => {}
                }
            });
            // A hanging request must not keep the shell waiting.
            runtime.shutdown_timeout(SHUTDOWN_MAX);
        })?;
        Ok(Background { stop, pause, paused, thread: Some(thread) })
    }

    /// Pauses the sync and releases the sync lock while `work` runs. A stopped program does not sync, and with the lock
    /// it would also keep other processes from syncing.
    pub fn pause_while<T>(&self, work: impl FnOnce() -> T) -> T {
        let _ = self.pause.send(true);
        let _ = self.paused.recv_timeout(PAUSE_MAX);
        let done = work();
        let _ = self.pause.send(false);
        // A report that came too late must not count for the next pause.
        while self.paused.try_recv().is_ok() {}
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

/// Syncs until `stopped`, except while `pauses` is true. Sends to `report` when a pause begins.
async fn sync_with_pauses(
    config: Option<SyncConfig>,
    messages: &Sender<Message>,
    mut stopped: watch::Receiver<bool>,
    mut pauses: watch::Receiver<bool>,
    report: &Sender<()>,
) {
    loop {
        let (halt, halted) = watch::channel(false);
        let mut syncing = pin!(sync_until_stopped(config.clone(), messages.clone(), halted));
        let ends = tokio::select! {
            () = &mut syncing => return,
            _ = stopped.wait_for(|stop| *stop) => true,
            _ = pauses.wait_for(|pause| *pause) => false,
        };
        let _ = halt.send(true);
        syncing.await;
        if ends {
            return;
        }
        let _ = report.send(());
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => return,
            _ = pauses.wait_for(|pause| !*pause) => {}
        }
    }
}

/// The step after a sync run or a try of the lock.
enum Next {
    /// Stop for good.
    End,
    /// Wait until the program stops: another try cannot succeed.
    WaitForStop,
    /// Wait until the database is at its path again.
    WaitForDatabase,
    /// Try again after this time.
    Retry(Duration),
}

/// Syncs while this process holds the sync lock. While another process holds the lock, the lock is tried every few
/// seconds: a daemon that ends is replaced soon. A failure is reported once and the sync is tried again.
async fn sync_until_stopped(config: Option<SyncConfig>, messages: Sender<Message>, mut stopped: watch::Receiver<bool>) {
    let Some(config) = config else {
        let _ = stopped.wait_for(|stop| *stop).await;
        return;
    };
    let place = OpenedFile::new(&config.db);
    let mut reported = None;
    loop {
        let next = match SyncLock::try_take(&config.db) {
            Ok(Some(lock)) => run_sync(&config, lock, &messages, &stopped, &mut reported).await,
            Ok(None) => Next::Retry(LOCK_RETRY),
            Err(error) => {
                let found = diagnose(&config.db, &StoreError::File(config.db.clone(), error));
                let reason = format!("the lock of the sync could not be tried: {}; next: {}", found.text, found.next);
                if reported.as_ref() != Some(&reason) {
                    tracing::warn!("{reason}");
                    let _ = messages.send(Message::SyncEnded { reason: reason.clone(), will_retry: true });
                }
                reported = Some(reason);
                Next::Retry(LOCK_RETRY)
            }
        };
        let pause = match next {
            Next::End => return,
            Next::WaitForStop => {
                let _ = stopped.wait_for(|stop| *stop).await;
                return;
            }
            Next::WaitForDatabase => {
                tokio::select! {
                    _ = stopped.wait_for(|stop| *stop) => return,
                    () = wait_for_database(&place) => {}
                }
                let _ = messages.send(Message::SyncResumed);
                reported = None;
                continue;
            }
            Next::Retry(pause) => pause,
        };
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Runs the sync until the sync ends, and reports a failure unless `reported` holds the same reason.
async fn run_sync(
    config: &SyncConfig,
    lock: SyncLock,
    messages: &Sender<Message>,
    stopped: &watch::Receiver<bool>,
    reported: &mut Option<String>,
) -> Next {
    let syncing = async |lock| sync::run(config.clone(), lock, Until::Stopped, stopped.clone()).await;
    let rebuilt = |rescue: &RebuildReport| {
        rescue.lost.iter().for_each(|sentence| tracing::warn!("{sentence}"));
        let _ = messages.send(Message::Rebuilt(rescue.clone()));
    };
    let ended = hearth_replica::supervise_sync(config, Origin::Tui, lock, syncing, rebuilt).await;
    let Err(error) = ended else { return Next::End };
    tracing::error!(%error, "syncing ended");
    let moved = matches!(error, SyncError::Store(StoreError::Moved(_)));
    let again = !moved && !matches!(error, SyncError::AnotherServer(..));
    let reason = error.to_string();
    if reported.as_ref() != Some(&reason) {
        let _ = messages.send(Message::SyncEnded { reason: reason.clone(), will_retry: again });
    }
    if moved {
        return Next::WaitForDatabase;
    }
    if !again {
        return Next::WaitForStop;
    }
    *reported = Some(reason);
    Next::Retry(SYNC_RETRY)
}

/// Waits until the path leads to the same database again. Opening the path earlier would create another database.
async fn wait_for_database(place: &OpenedFile) {
    while place.ensure_unmoved().is_err() {
        tokio::time::sleep(LOCK_RETRY).await;
    }
}

/// Whether the screen is closed for good while the last change is written.
static IS_FINISHING: AtomicBool = AtomicBool::new(false);

/// Makes a ctrl-c end the process at once. To be called after the screen is closed, when no key is read any more.
pub fn let_interrupts_end_process() {
    IS_FINISHING.store(true, Ordering::Relaxed);
}

/// Handles an interrupt signal. While the screen is open, ctrl-c arrives as a key, and a signal is meant for the editor
/// that uses the terminal.
fn handle_interrupt() {
    if IS_FINISHING.load(Ordering::Relaxed) {
        // The exit code of a shell for an interrupted program.
        std::process::exit(130);
    }
}

/// Turns signals into messages: a closing terminal, a stopping machine, a continued process. No signal ends the process
/// by itself. Child processes keep the default behaviour, because handled signals, unlike ignored signals, are not
/// inherited.
async fn handle_signals(messages: &Sender<Message>) {
    use tokio::signal::unix::{SignalKind, signal};
    let going_on = SignalKind::from_raw(rustix::process::Signal::CONT.as_raw());
    let kinds = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt(), SignalKind::quit(), going_on];
    let [Ok(mut terminate), Ok(mut hangup), Ok(mut interrupt), Ok(mut quit), Ok(mut going_on)] = kinds.map(signal)
    else {
        return future::pending().await;
    };
    loop {
        tokio::select! {
            // The system and the shell may both send a signal. The second must not interrupt the last write.
            _ = terminate.recv() => drop(messages.send(Message::End)),
            _ = hangup.recv() => drop(messages.send(Message::End)),
            // While this process was stopped, the shell changed the mode of the terminal.
            _ = going_on.recv() => drop(messages.send(Message::Continued)),
            _ = interrupt.recv() => handle_interrupt(),
            _ = quit.recv() => handle_interrupt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use hearth_replica::ConflictPolicy;

    use super::*;

    /// A limit that no machine reaches.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn sync_failure_is_reported_and_retried() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        // A directory in place of the database: opening fails.
        std::fs::create_dir(&db).unwrap();
        let (server, key) = ("http://127.0.0.1:9".to_owned(), "svc_test_x".into());
        let config =
            SyncConfig { db, server, key, key_file: None, profile: None, conflict_policy: ConflictPolicy::Ask };
        let (sender, messages) = channel();
        let background = Background::start(Some(config), sender).unwrap();
        let message = messages.recv_timeout(LONG).unwrap();
        let Message::SyncEnded { will_retry: true, reason } = message else { panic!("{message:?}") };
        assert!(!reason.contains("lock"), "the lock was taken: {reason}");
        assert!(background.thread.as_ref().is_some_and(|thread| !thread.is_finished()));
    }

    #[test]
    fn lock_failure_names_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        // A file in place of the directory: the lock file cannot be made.
        let parent = directory.path().join("file");
        std::fs::write(&parent, "").unwrap();
        let db = parent.join("replica.db");
        let (server, key) = ("http://127.0.0.1:9".to_owned(), "svc_test_x".into());
        let conflict_policy = ConflictPolicy::Ask;
        let config = SyncConfig { db: db.clone(), server, key, key_file: None, profile: None, conflict_policy };
        let (sender, messages) = channel();
        let _background = Background::start(Some(config), sender).unwrap();
        let message = messages.recv_timeout(LONG).unwrap();
        let Message::SyncEnded { will_retry: true, reason } = message else { panic!("{message:?}") };
        let expected = format!("the lock of the sync could not be tried: {}: ", db.display());
        assert!(reason.starts_with(&expected), "{reason}");
    }

    /// A replica of an unreachable server, and the background thread that syncs the replica.
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
            assert!(std::time::Instant::now() < until, "the condition never became true");
            thread::yield_now();
        }
    }

    #[test]
    fn pause_lets_another_process_sync() {
        let (directory, replica, background, _messages) = syncing();
        let db = directory.path().join("replica.db");
        let syncs = || replica.status().unwrap().daemon_pid.is_some();
        for _ in 0..2 {
            wait_until(syncs);
            assert!(SyncLock::try_take(&db).unwrap().is_none());
            background.pause_while(|| assert!(SyncLock::try_take(&db).unwrap().is_some() && !syncs()));
        }
    }

    #[test]
    fn restored_database_is_synced_again() {
        let (directory, replica, _background, messages) = syncing();
        let db = directory.path().join("replica.db");
        wait_until(|| replica.status().unwrap().next_attempt_at.is_some());
        let elsewhere = directory.path().join("elsewhere.db");
        std::fs::rename(&db, &elsewhere).unwrap();
        let message = messages.recv_timeout(LONG).unwrap();
        assert!(matches!(message, Message::SyncEnded { will_retry: false, .. }), "{message:?}");
        std::fs::rename(&elsewhere, &db).unwrap();
        assert!(matches!(messages.recv_timeout(LONG).unwrap(), Message::SyncResumed));
    }
}

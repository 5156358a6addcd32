//! What runs beside the screen: syncing, when no other process does it for this database, and the signals that end a
//! program. Must not touch the screen or decide how syncing goes.

use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{future, io};

use hearth_replica::sync::{self, SyncConfig, SyncLock, Until};
use tokio::sync::watch;

use crate::message::Message;

/// How often it is tried to become the one that syncs, while a daemon is.
const RETRY: Duration = Duration::from_secs(3);

/// The threads beside the screen. Dropping it ends them in order.
#[derive(Debug)]
pub struct Background {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Starts to listen for signals and, with a configuration, to sync.
    pub fn start(config: Option<SyncConfig>, messages: Sender<Message>) -> io::Result<Background> {
        let (stop, stopped) = watch::channel(false);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let thread = thread::Builder::new().name("background".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = keep_in_step(config, messages.clone(), stopped) => {}
                    () = told_to_end() => drop(messages.send(Message::End)),
                }
            });
            // A request that hangs must not keep the shell waiting.
            runtime.shutdown_timeout(Duration::from_secs(2));
        })?;
        Ok(Background { stop, thread: Some(thread) })
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

/// Syncs while this process holds the lock. While another holds it, its work is read from the database like any other
/// change, and the lock is tried again: a daemon that ends is replaced within seconds.
async fn keep_in_step(config: Option<SyncConfig>, messages: Sender<Message>, mut stopped: watch::Receiver<bool>) {
    let Some(config) = config else {
        let _ = stopped.wait_for(|stop| *stop).await;
        return;
    };
    loop {
        match SyncLock::try_take(&config.db) {
            Ok(Some(lock)) => {
                if let Err(error) = sync::run(config, lock, Until::Stopped, stopped.clone()).await {
                    tracing::error!(%error, "syncing ended");
                    let _ = messages.send(Message::SyncEnded(error.to_string()));
                }
                let _ = stopped.wait_for(|stop| *stop).await;
                return;
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "the lock could not be tried"),
        }
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => return,
            () = tokio::time::sleep(RETRY) => {}
        }
    }
}

/// Waits for the signals of a closing terminal or a stopping machine.
#[cfg(unix)]
async fn told_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    match (signal(SignalKind::terminate()), signal(SignalKind::hangup())) {
        (Ok(mut terminate), Ok(mut hangup)) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        }
        _ => future::pending().await,
    }
}

#[cfg(not(unix))]
async fn told_to_end() {
    future::pending().await
}

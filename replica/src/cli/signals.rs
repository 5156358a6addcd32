//! SIGINT and SIGTERM, received once for the whole process, so no signal is lost between two waits. Must not know what
//! is stopped.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::failure::{Exit, Failure};

/// The exit code of the received signal. None before a signal.
static STOP_SIGNAL: OnceLock<watch::Receiver<Option<Exit>>> = OnceLock::new();

/// Receives signals from now on. The signals no longer end the process; long work must check for them.
pub(super) fn listen() -> io::Result<()> {
    if STOP_SIGNAL.get().is_some() {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let entered = runtime.enter();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    drop(entered);
    let (sender, receiver) = watch::channel(None);
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            loop {
                let exit = tokio::select! {
                    _ = interrupt.recv() => Exit::Interrupted,
                    _ = terminate.recv() => Exit::Terminated,
                };
                sender.send_replace(Some(exit));
            }
        })
    })?;
    let _ = STOP_SIGNAL.set(receiver);
    Ok(())
}

/// Waits for a stop signal; returns at once after an earlier signal.
pub(super) async fn stop_requested() {
    match STOP_SIGNAL.get() {
        Some(receiver) => drop(receiver.clone().wait_for(Option::is_some).await),
        None => std::future::pending().await,
    }
}

/// Error after a stop signal.
pub(super) fn check_stop() -> Result<(), Failure> {
    match STOP_SIGNAL.get().and_then(|receiver| *receiver.borrow()) {
        Some(exit) => Err(Failure::new(exit, "told to stop")),
        None => Ok(()),
    }
}

/// Runs a future with a time limit. None: the time is over. Err: a stop signal.
pub(super) async fn run_within<T>(limit: Duration, work: impl Future<Output = T>) -> Result<Option<T>, Failure> {
    tokio::select! {
        done = work => Ok(Some(done)),
        () = tokio::time::sleep(limit) => Ok(None),
        () = stop_requested() => check_stop().map(|()| None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_signal_is_kept() {
        listen().unwrap();
        let kill = std::process::Command::new("kill").args(["-TERM", &std::process::id().to_string()]).status();
        assert!(kill.unwrap().success());
        let runtime = super::super::runtime::runtime().unwrap();
        for _ in 0..2 {
            runtime.block_on(stop_requested());
            assert_eq!(check_stop().unwrap_err().exit, Exit::Terminated);
        }
        let ended = runtime.block_on(run_within(Duration::MAX, std::future::pending::<()>()));
        assert_eq!(ended.unwrap_err().text, "told to stop");
    }
}

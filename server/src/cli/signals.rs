//! The signals that end a command in an orderly way. Must not know any command.

use std::io;

use hearth_server::shutdown::Shutdown;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT, recorded from the moment of [`StopSignals::listen`].
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    pub(super) fn listen() -> io::Result<StopSignals> {
        Ok(StopSignals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of the signals.
    pub(super) async fn received(mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }
}

/// A shutdown that Ctrl-C requests. From this call on, Ctrl-C no longer ends the process.
pub(super) fn shutdown_on_interrupt() -> io::Result<Shutdown> {
    let mut interrupts = signal(SignalKind::interrupt())?;
    let (sender, shutdown) = Shutdown::new();
    tokio::spawn(async move {
        interrupts.recv().await;
        sender.send_replace(true);
    });
    Ok(shutdown)
}

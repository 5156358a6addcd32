//! The shutdown signal, which every long-running task waits for. Must not know how a task ends.

use tokio::sync::watch;

/// Receiver of the shutdown signal. Cheap to clone.
#[derive(Clone)]
pub struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    /// A sender and its receiver. Sending `true` requests the shutdown.
    pub fn new() -> (watch::Sender<bool>, Shutdown) {
        let (sender, receiver) = watch::channel(false);
        (sender, Shutdown(receiver))
    }

    /// Whether the shutdown was requested.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the shutdown is requested, or until the sender is dropped.
    pub async fn requested(&mut self) {
        let _ = self.0.wait_for(|requested| *requested).await;
    }
}

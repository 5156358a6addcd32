//! The word to stop, heard by everything that runs on its own. Must not know what stopping means to any of them.

use tokio::sync::watch;

/// Hears the word to stop. Cheap to clone.
#[derive(Clone)]
pub struct Stopping(watch::Receiver<bool>);

impl Stopping {
    /// A word that can be given, and its hearer.
    pub fn new() -> (watch::Sender<bool>, Stopping) {
        let (say, hear) = watch::channel(false);
        (say, Stopping(hear))
    }

    /// Whether it was given.
    pub fn is_said(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is given, or until nobody is left to give it.
    pub async fn heard(&mut self) {
        let _ = self.0.wait_for(|said| *said).await;
    }
}

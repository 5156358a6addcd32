//! A bell for each home: it rings after a commit and says only how far the home's log reaches now. Whoever hears it
//! reads the log; a bell that is missed or rung twice does no harm. Must not carry events.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::HomeNo;

/// The bells of all homes. Cheap to clone.
#[derive(Clone, Default)]
pub struct Tail {
    bells: Arc<Mutex<HashMap<HomeNo, watch::Sender<i64>>>>,
}

impl Tail {
    /// Hears a home's bell. The value is the highest head that was rung.
    pub fn listen(&self, home: HomeNo) -> watch::Receiver<i64> {
        let mut bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        bells.entry(home).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// Rings a home's bell.
    pub fn ring(&self, home: HomeNo, head: i64) {
        let bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = bells.get(&home) {
            bell.send_modify(|known| *known = head.max(*known));
        }
    }

    /// Rings every bell: another process may have written.
    pub fn ring_all(&self) {
        let bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        bells.values().for_each(|bell| bell.send_modify(|_| ()));
    }
}

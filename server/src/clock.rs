//! The two clocks of the machine, as a value, so that a test can move them. Must not know what they are read for.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hearth_contract::formats::Timestamp;

/// Tells the moment, and how much time has passed.
#[derive(Clone)]
pub struct Clock {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    passed: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl Clock {
    /// The machine's own.
    pub fn system() -> Clock {
        let begun = Instant::now();
        Clock::new(machine_now, move || begun.elapsed())
    }

    /// A clock made of two functions: the moment (may step), and the time passed (never goes back).
    pub fn new(
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
        passed: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Clock {
        Clock { now: Arc::new(now), passed: Arc::new(passed) }
    }

    /// The moment.
    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// Time passed since some fixed point; steps of the wall clock do not touch it.
    pub fn passed(&self) -> Duration {
        (self.passed)()
    }
}

/// The moment by the machine's clock, for who needs no other: the log.
pub fn machine_now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

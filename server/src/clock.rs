//! The two clocks of the machine as a value, which a test can replace. Must not know why callers ask for the time.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hearth_contract::formats::Timestamp;

/// A wall clock and a monotonic clock. Cheap to clone.
#[derive(Clone)]
pub struct Clock {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    elapsed: Arc<dyn Fn() -> Duration + Send + Sync>,
}

impl Clock {
    /// The clocks of this machine.
    pub fn system() -> Clock {
        let start = Instant::now();
        Clock::new(machine_now, move || start.elapsed())
    }

    /// A clock from two functions: `now` may jump in both directions, `elapsed` never decreases.
    pub fn new(
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
        elapsed: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Clock {
        Clock { now: Arc::new(now), elapsed: Arc::new(elapsed) }
    }

    /// The wall clock time.
    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// The time since a fixed point. A change of the wall clock does not affect this value.
    pub fn elapsed(&self) -> Duration {
        (self.elapsed)()
    }
}

/// The wall clock time of this machine. Only for code without a [`Clock`], such as the log.
pub fn machine_now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

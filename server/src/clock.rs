//! The two clocks of the machine as a value, which a test can replace. Must not know why callers ask for the time.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
        Clock::new(machine_now, machine_elapsed())
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

/// The time since the machine was started, with the time in which it slept: a machine that wakes up has no wrong clock.
#[cfg(target_os = "linux")]
fn machine_elapsed() -> impl Fn() -> Duration {
    || {
        let since = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Duration::new(since.tv_sec.unsigned_abs(), u32::try_from(since.tv_nsec).unwrap_or_default())
    }
}

/// The time since the start of the process. The standard clock may stand still while the machine sleeps.
#[cfg(not(target_os = "linux"))]
fn machine_elapsed() -> impl Fn() -> Duration {
    let start = std::time::Instant::now();
    move || start.elapsed()
}

/// The wall clock time of this machine. Only for code without a [`Clock`], such as the log.
pub fn machine_now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

//! Decides whether the wall clock can be trusted for a write. A clock that was ahead once would stamp all later records of a
//! home with the same far time. Must not know what is written.

use std::fs::OpenOptions;
use std::io;
use std::num::ParseIntError;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{Problem, ProblemType};

use crate::clock::Clock;
use crate::store::directory::SERVE_LOCK;

/// Seconds after which a client may try again.
const RETRY_SECONDS: u64 = 60;
/// Digits of the stored time, in milliseconds. A fixed length, so that each write replaces the whole time.
const DIGITS: usize = 20;

/// The latest time that is known to be right, and the checks against it.
pub struct ClockGuard {
    /// The file that keeps the time over a restart.
    file: PathBuf,
    leap_max: Duration,
    state: Mutex<State>,
}

struct State {
    /// Wall clock and monotonic clock at the latest right time. None: no time is known, and the next reading counts.
    right: Option<(Timestamp, Duration)>,
    /// Whether the log has named the present leap.
    is_reported: bool,
}

impl ClockGuard {
    /// For a data directory. With `accept`, the present time counts as right, whatever the time of the last run was.
    pub fn new(data: &Path, clock: &Clock, leap_max: Duration, accept: bool) -> ClockGuard {
        let file = data.join(SERVE_LOCK);
        let right = read(&file).filter(|_| !accept).map(|wall| (wall, clock.elapsed()));
        ClockGuard { file, leap_max, state: Mutex::new(State { right, is_reported: false }) }
    }

    /// The present time. Error: the clock leapt ahead, and the refusal of writes.
    pub fn now(&self, clock: &Clock) -> Result<Timestamp, Problem> {
        let (wall, elapsed) = (clock.now(), clock.elapsed());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (right, since) = *state.right.get_or_insert((wall, elapsed));
        let expected = right.plus_millis(millis(elapsed.saturating_sub(since)));
        if wall > expected.plus_millis(millis(self.leap_max)) {
            if !std::mem::replace(&mut state.is_reported, true) {
                tracing::warn!(
                    now = %wall, %expected,
                    "the clock leapt ahead since it was last known: writes are refused, and nothing is removed, until the clock \
                     is right or the server is started with --accept-clock"
                );
            }
            return Err(refusal(wall, expected));
        }
        if std::mem::take(&mut state.is_reported) {
            tracing::info!(now = %wall, "the clock is right again: writes are accepted");
        }
        // The time never goes back: a clock that is behind for a while may be set right.
        if wall > expected {
            state.right = Some((wall, elapsed));
        }
        Ok(wall)
    }

    /// The present time, or the expected time while the clock is ahead.
    pub fn now_or_expected(&self, clock: &Clock) -> Timestamp {
        self.now(clock).unwrap_or_else(|_| self.expected(clock).unwrap_or_else(|| clock.now()))
    }

    /// Stores the time for the next start, unless the clock leapt ahead. Blocks.
    pub fn store_if_right(&self, clock: &Clock) {
        let Ok(now) = self.now(clock) else { return };
        // A clock that is behind now may be set right later; that is no leap.
        let latest = now.max(self.expected(clock).unwrap_or(now));
        if let Err(error) = self.store(latest) {
            tracing::warn!(%error, "cannot store the time for the next start");
        }
    }

    /// The latest right time, and the time that has passed since.
    fn expected(&self, clock: &Clock) -> Option<Timestamp> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.right.map(|(right, since)| right.plus_millis(millis(clock.elapsed().saturating_sub(since))))
    }

    fn store(&self, now: Timestamp) -> io::Result<()> {
        let text = format!("{:0DIGITS$}\n", now.millis());
        OpenOptions::new().write(true).open(&self.file)?.write_all_at(text.as_bytes(), 0)
    }
}

/// The stored time. None: no server has run here, or the file cannot be read; the log says so.
fn read(file: &Path) -> Option<Timestamp> {
    let stored = match std::fs::read_to_string(file) {
        Ok(text) if text.trim().is_empty() => return None,
        Ok(text) => text.trim().parse().map_err(|error: ParseIntError| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let warn = |error: &String| {
        tracing::warn!(
            file = %file.display(), error,
            "the time of the last run cannot be read, so a leap of the clock since then goes unnoticed; check the clock of this \
             machine"
        );
    };
    stored.map(Timestamp::from_millis).inspect_err(warn).ok()
}

fn refusal(now: Timestamp, expected: Timestamp) -> Problem {
    let message = format!("The clock of the service says {now}, but about {expected} is expected. Reads go on.");
    Problem::new(ProblemType::Unavailable, message)
        .with("retry_after_seconds", RETRY_SECONDS)
        .with_fix("Try again later. The operator must set the clock, or start the server with --accept-clock.")
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn leap_is_refused_until_clock_is_right_or_accepted() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(SERVE_LOCK), "").unwrap();
        let (wall, elapsed) = (Arc::new(AtomicI64::new(1000 * HOUR)), Arc::new(AtomicI64::new(0)));
        let (wall_now, elapsed_now) = (wall.clone(), elapsed.clone());
        let clock = Clock::new(
            move || Timestamp::from_millis(wall_now.load(Ordering::Relaxed)),
            move || Duration::from_millis(elapsed_now.load(Ordering::Relaxed).unsigned_abs()),
        );
        let set = |hours: i64, passed: i64| {
            wall.store(hours * HOUR, Ordering::Relaxed);
            elapsed.store(passed * HOUR, Ordering::Relaxed);
        };
        let open = |accept| ClockGuard::new(dir.path(), &clock, Duration::from_secs(24 * 3600), accept);
        let guard = open(false);
        let is_right = |guard: &ClockGuard| guard.now(&clock).is_ok();
        assert!(is_right(&guard), "nothing is known");
        set(1200, 200);
        assert!(is_right(&guard), "the time has passed");
        set(1223, 200);
        assert!(is_right(&guard), "less than a day");
        set(1240, 200);
        assert!(is_right(&guard), "less than a day after that");
        set(90_000, 201);
        assert!(!is_right(&guard));
        set(1000, 202);
        assert!(is_right(&guard), "a clock that is behind leaps nowhere");
        set(1244, 204);
        assert!(is_right(&guard), "the way back from behind is no leap");
        set(1, 205);
        guard.store_if_right(&clock);
        set(1245, 0);
        assert!(is_right(&open(false)), "the stored time does not go back with the clock");
        set(90_000, 0);
        let next = open(false);
        assert!(!is_right(&next), "the time outlasts the process");
        set(1245, 1);
        assert!(is_right(&next));
        set(90_000, 2);
        assert!(is_right(&open(true)));
    }
}

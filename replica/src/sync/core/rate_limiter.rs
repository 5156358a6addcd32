//! Counts calls against the server's rate limits (contract 11), to avoid requests the server would refuse with 429.
//! Pure: the time is an argument.

use super::clock::Millis;

/// Length of the server's window, which starts at the first call.
const WINDOW: Millis = 60_000;
/// Extra length of the replica's window: a window starts here when a call leaves, and at the server when the call arrives.
const MARGIN: Millis = 500;

/// Limit and use of one class of calls.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    /// Calls per window. None: unlimited.
    limit: Option<u32>,
    window_start: Millis,
    used: u32,
    /// The server has asked for a pause until then.
    held_until: Option<Millis>,
}

impl RateLimiter {
    /// Sets the limit. None: unlimited.
    pub(crate) fn set_limit(&mut self, limit: Option<u32>) {
        self.limit = limit;
    }

    /// Allows no call before `at`: the server has asked for a pause.
    pub(crate) fn hold_until(&mut self, at: Millis) {
        self.held_until = self.held_until.max(Some(at));
    }

    /// When the next call is allowed; `now` if at once.
    pub(crate) fn free_at(&self, now: Millis) -> Millis {
        let full = self.limit.is_some_and(|limit| self.used_at(now) >= limit.max(1));
        let window = if full { self.window_start + WINDOW + MARGIN } else { now };
        window.max(self.held_until.unwrap_or(window))
    }

    /// Whether less than half of the window's calls are left.
    pub(crate) fn is_scarce(&self, now: Millis) -> bool {
        self.limit.is_some_and(|limit| self.used_at(now) * 2 > limit)
    }

    /// Counts a call.
    pub(crate) fn take(&mut self, now: Millis) {
        if self.used_at(now) == 0 {
            (self.window_start, self.used) = (now, 0);
        }
        self.used += 1;
    }

    fn used_at(&self, now: Millis) -> u32 {
        if now - self.window_start >= WINDOW + MARGIN { 0 } else { self.used }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_window_waits_for_the_next() {
        let mut limiter = RateLimiter::default();
        assert_eq!(limiter.free_at(0), 0);
        limiter.set_limit(Some(2));
        limiter.take(10);
        assert!(!limiter.is_scarce(10));
        limiter.take(20);
        assert_eq!((limiter.free_at(30), limiter.is_scarce(30)), (60_510, true));
        assert_eq!(limiter.free_at(60_510), 60_510);
        limiter.take(60_510);
        assert_eq!(limiter.free_at(60_511), 60_511, "a new window has begun");
        limiter.take(60_511);
        assert_eq!(limiter.free_at(60_512), 121_010);
        limiter.hold_until(130_000);
        assert_eq!(limiter.free_at(60_512), 130_000);
    }
}

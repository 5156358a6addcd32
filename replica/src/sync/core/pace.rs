//! How often something may be done within the server's window (contract 11), counted here so that no call is wasted on
//! a refusal. Pure: the time is an argument.

use super::Millis;

/// The server counts in windows of this length, from the first call in each.
const WINDOW: Millis = 60_000;
/// Counted a little longer, because our window begins when a call leaves and the server's when it arrives.
const MARGIN: Millis = 500;

/// Calls of one sort.
#[derive(Debug)]
pub(super) struct Pace {
    /// Calls within a window; None is without limit.
    limit: Option<u32>,
    began: Millis,
    used: u32,
    held_until: Millis,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { limit: None, began: Millis::MIN / 2, used: 0, held_until: Millis::MIN / 2 }
    }
}

impl Pace {
    /// Learns the limit; None is none.
    pub(super) fn set_limit(&mut self, limit: Option<u32>) {
        self.limit = limit;
    }

    /// Nothing before this moment: the server has said so.
    pub(super) fn hold_until(&mut self, at: Millis) {
        self.held_until = self.held_until.max(at);
    }

    /// When the next call may be made.
    pub(super) fn free_at(&self, now: Millis) -> Millis {
        let full = self.limit.is_some_and(|limit| self.used_at(now) >= limit.max(1));
        let window = if full { self.began + WINDOW + MARGIN } else { now };
        window.max(self.held_until)
    }

    /// Whether less than half of the window's calls are left.
    pub(super) fn is_scarce(&self, now: Millis) -> bool {
        self.limit.is_some_and(|limit| self.used_at(now) * 2 > limit)
    }

    /// A call is made.
    pub(super) fn take(&mut self, now: Millis) {
        if self.used_at(now) == 0 {
            (self.began, self.used) = (now, 0);
        }
        self.used += 1;
    }

    fn used_at(&self, now: Millis) -> u32 {
        if now - self.began >= WINDOW + MARGIN { 0 } else { self.used }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_is_used_up_waits_for_the_next() {
        let mut pace = Pace::default();
        assert_eq!(pace.free_at(0), 0);
        pace.set_limit(Some(2));
        pace.take(10);
        assert!(!pace.is_scarce(10));
        pace.take(20);
        assert_eq!((pace.free_at(30), pace.is_scarce(30)), (60_510, true));
        assert_eq!(pace.free_at(60_510), 60_510);
        pace.take(60_510);
        assert_eq!(pace.free_at(60_511), 60_511, "a new window has begun");
        pace.take(60_511);
        assert_eq!(pace.free_at(60_512), 121_010);
        pace.hold_until(130_000);
        assert_eq!(pace.free_at(60_512), 130_000);
    }
}

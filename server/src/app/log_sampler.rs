//! Which requests the access log omits: anybody can send requests without a valid key, and refusals cost a key nothing, so
//! both could fill the disk. Must not know the clock: the monotonic time is an argument.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Lines of one status in a window. With lines of at most 2 KB and about 14 statuses, the log stays under 1 MB a minute.
const LINES_MAX: u32 = 30;
/// Length of a window, from its first line.
const WINDOW: Duration = Duration::from_secs(60);

/// The sampled lines of each status. All statuses come from a fixed list, which limits the memory.
#[derive(Default)]
pub struct LogSampler(Mutex<BTreeMap<u16, Window>>);

struct Window {
    began: Duration,
    lines: u32,
    /// Requests without a line since the last report.
    omitted: u64,
}

impl LogSampler {
    /// Whether a request of a sampled kind gets a line. `passed`: the time of the request.
    pub fn admits(&self, status: u16, passed: Duration) -> bool {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.entry(status).or_insert(Window { began: passed, lines: 0, omitted: 0 });
        if passed.saturating_sub(window.began) >= WINDOW {
            (window.began, window.lines) = (passed, 0);
        }
        let is_admitted = window.lines < LINES_MAX;
        if is_admitted {
            window.lines += 1;
        } else {
            window.omitted += 1;
        }
        is_admitted
    }

    /// The requests without a line since the last report: their number, and the numbers by status as text. None: all
    /// requests got a line.
    pub fn take_omitted(&self) -> Option<(u64, String)> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut total, mut by_status) = (0, String::new());
        for (status, window) in windows.iter_mut().filter(|(_, window)| window.omitted > 0) {
            let omitted = std::mem::take(&mut window.omitted);
            total += omitted;
            // Writing to a String cannot fail.
            let _ = write!(by_status, "{}{status}: {omitted}", if by_status.is_empty() { "" } else { ", " });
        }
        (total > 0).then_some((total, by_status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_counted() {
        let sampler = LogSampler::default();
        let admitted = |status, seconds, requests: usize| {
            (0..requests).filter(|_| sampler.admits(status, Duration::from_secs(seconds))).count()
        };
        let limit = LINES_MAX as usize;
        assert_eq!(admitted(404, 5, limit + 7), limit);
        assert_eq!(admitted(401, 5, limit), limit, "each status has its own lines");
        assert_eq!(admitted(404, 64, 1), 0);
        assert_eq!(sampler.take_omitted(), Some((8, "404: 8".to_owned())));
        assert_eq!(admitted(404, 65, limit + 1), limit, "a new window");
        assert_eq!(admitted(401, 64, 2), 0);
        assert_eq!(sampler.take_omitted(), Some((3, "401: 2, 404: 1".to_owned())));
        assert_eq!(sampler.take_omitted(), None);
    }
}

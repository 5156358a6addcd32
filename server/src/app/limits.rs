//! How often a key may ask: three windows of a minute each (contract 11), and how many streams it may hold open.
//! Lives in memory. Must not know the clock: the time passed is an argument.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use hearth_contract::headers::{X_RATELIMIT_LIMIT, X_RATELIMIT_REMAINING, X_RATELIMIT_RESET};
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::Value;

use crate::config::RateLimits;

/// Which window a call counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Counts nowhere: no key is needed.
    Free,
    /// GET and HEAD.
    Read,
    /// POST, PATCH and DELETE.
    Write,
    /// Bulk calls.
    Bulk,
}

/// Length of a window, from the first call in it.
const WINDOW: Duration = Duration::from_secs(60);

/// Where a key stands in a window after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Calls allowed in the window.
    pub limit: u32,
    /// Calls left.
    pub remaining: u32,
    /// Until the window ends.
    pub resets_in: Duration,
    /// Whether this call was one too many; it was not counted.
    pub refused: bool,
}

impl Standing {
    /// Refuses the call that was one too many.
    pub fn check(self) -> Result<(), Problem> {
        if !self.refused {
            return Ok(());
        }
        let message = format!("The key has used its {} calls of this minute.", self.limit);
        Err(Problem::new(ProblemType::RateLimited, message)
            .with("limit", self.limit)
            .with("retry_after_seconds", self.retry_after_seconds()))
    }

    /// Whole seconds until a call may succeed again, at least one.
    pub fn retry_after_seconds(self) -> u64 {
        (self.resets_in.as_millis().div_ceil(1000) as u64).max(1)
    }

    /// What every answer says of its window (contract 4), at a moment.
    pub fn headers(self, now: Timestamp) -> [(&'static str, String); 3] {
        let reset = now.plus_millis(self.resets_in.as_millis() as i64 + 999).seconds();
        [
            (X_RATELIMIT_LIMIT, self.limit.to_string()),
            (X_RATELIMIT_REMAINING, self.remaining.to_string()),
            (X_RATELIMIT_RESET, reset.to_string()),
        ]
    }
}

#[derive(Clone, Copy)]
struct Window {
    began: Duration,
    used: u32,
}

/// The messages of MCP that count in no window (contract 11).
const FREE: [&str; 4] = ["initialize", "ping", "server/discover", "tools/list"];

/// Whether a message of MCP counts in no window. What is no such message does count.
pub fn is_free(message: &Value) -> bool {
    message["method"].as_str().is_some_and(|method| FREE.contains(&method))
}

/// The windows of all keys. At most three small entries for each key that was used since the start.
pub struct Limits {
    rules: Option<RateLimits>,
    windows: Mutex<HashMap<(String, Class), Window>>,
}

impl Limits {
    /// Windows by these rules; None: no limits.
    pub fn new(rules: Option<RateLimits>) -> Limits {
        Limits { rules, windows: Mutex::default() }
    }

    /// Where a key stands without another call, for who refuses one before it counts. None: nothing limits it.
    pub fn look(&self, key: &str, class: Class, passed: Duration) -> Option<Standing> {
        let limit = self.limit(class)?;
        let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.get(&(key.to_owned(), class)).copied();
        let window = window.filter(|window| passed.saturating_sub(window.began) < WINDOW);
        let Window { began, used } = window.unwrap_or(Window { began: passed, used: 0 });
        let resets_in = WINDOW.saturating_sub(passed.saturating_sub(began));
        Some(Standing { limit, remaining: limit.saturating_sub(used), resets_in, refused: false })
    }

    fn limit(&self, class: Class) -> Option<u32> {
        let rules = self.rules?;
        match class {
            Class::Free => None,
            Class::Read => Some(rules.reads),
            Class::Write => Some(rules.writes),
            Class::Bulk => Some(rules.bulk),
        }
    }

    /// Counts a call of a key. None: nothing limits it.
    pub fn take(&self, key: &str, class: Class, passed: Duration) -> Option<Standing> {
        let limit = self.limit(class)?;
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.entry((key.to_owned(), class)).or_insert(Window { began: passed, used: 0 });
        if passed.saturating_sub(window.began) >= WINDOW {
            *window = Window { began: passed, used: 0 };
        }
        let refused = window.used >= limit;
        if !refused {
            window.used += 1;
        }
        let resets_in = WINDOW.saturating_sub(passed.saturating_sub(window.began));
        Some(Standing { limit, remaining: limit - window.used, resets_in, refused })
    }

    /// Gives back a call that was counted at a moment and then refused with 429 by whoever it was for: that costs nothing
    /// (contract 11). What is left of its window is one more now, if that window still holds.
    pub fn give_back(&self, key: &str, class: Class, counted: Duration) {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.get_mut(&(key.to_owned(), class));
        // One that began since has not counted it.
        if let Some(window) = window.filter(|window| window.began <= counted && counted - window.began < WINDOW) {
            window.used = window.used.saturating_sub(1);
        }
    }
}

/// Refusals within [`REFUSALS_TIME`] that flag a key (contract 11).
const REFUSALS_MAX: usize = 100;
/// The time within which they count.
const REFUSALS_TIME: Duration = Duration::from_secs(10 * 60);

/// The latest 429s of all keys: at most [`REFUSALS_MAX`] moments for each.
#[derive(Default)]
pub struct Refusals {
    moments: Mutex<HashMap<String, VecDeque<Duration>>>,
}

impl Refusals {
    /// Notes a 429 of a key. True: it is the one that flags the key; counting begins anew.
    pub fn note(&self, key: &str, passed: Duration) -> bool {
        let mut moments = self.moments.lock().unwrap_or_else(PoisonError::into_inner);
        let moments = moments.entry(key.to_owned()).or_default();
        while moments.front().is_some_and(|first| passed.saturating_sub(*first) >= REFUSALS_TIME) {
            moments.pop_front();
        }
        moments.push_back(passed);
        let flags = moments.len() >= REFUSALS_MAX;
        if flags {
            moments.clear();
        }
        flags
    }
}

/// The open streams of all keys.
#[derive(Clone, Default)]
pub struct Streams {
    open: Arc<Mutex<HashMap<String, usize>>>,
}

impl Streams {
    /// Opens a stream for a key. None: it has `max` open already.
    pub fn open(&self, key: &str, max: usize) -> Option<Permit> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(key.to_owned()).or_default();
        if *count >= max {
            return None;
        }
        *count += 1;
        Some(Permit { key: key.to_owned(), open: self.open.clone() })
    }

    /// How many are open.
    pub fn count(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

/// A stream's place among those of its key; given back when dropped.
pub struct Permit {
    key: String,
    open: Arc<Mutex<HashMap<String, usize>>>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_opens_with_its_first_call_and_closes_a_minute_later() {
        let limits = Limits::new(Some(RateLimits { reads: 2, writes: 1, bulk: 1 }));
        let take = |class, seconds| limits.take("k", class, Duration::from_secs(seconds)).unwrap();
        assert_eq!(take(Class::Read, 100).remaining, 1);
        assert_eq!(take(Class::Read, 130).remaining, 0);
        let refused = take(Class::Read, 150);
        assert_eq!((refused.refused, refused.resets_in), (true, Duration::from_secs(10)));
        assert!(!take(Class::Write, 150).refused);
        assert!(!take(Class::Read, 160).refused);
        assert!(!limits.take("other", Class::Write, Duration::from_secs(150)).unwrap().refused);
    }

    #[test]
    fn a_call_that_is_given_back_was_not_made() {
        let limits = Limits::new(Some(RateLimits { reads: 2, writes: 1, bulk: 1 }));
        let take = |seconds| limits.take("k", Class::Read, Duration::from_secs(seconds)).unwrap().remaining;
        assert_eq!((take(100), take(110)), (1, 0));
        limits.give_back("k", Class::Read, Duration::from_secs(110));
        assert_eq!(take(120), 0);
        // The window that counted it is over.
        assert_eq!(take(160), 1);
        limits.give_back("k", Class::Read, Duration::from_secs(120));
        assert_eq!(take(161), 0);
    }

    #[test]
    fn a_hundred_refusals_within_ten_minutes_flag_a_key() {
        let refusals = Refusals::default();
        let flags = |count: u64, at: u64| (0..count).any(|_| refusals.note("k", Duration::from_secs(at)));
        assert!(!flags(50, 0) && !flags(49, 599));
        // The first fifty are ten minutes old by now.
        assert!(!flags(50, 600));
        assert!(!refusals.note("other", Duration::from_secs(600)));
        assert!(refusals.note("k", Duration::from_secs(601)));
        assert!(!flags(99, 602));
        assert!(flags(1, 602));
    }

    #[test]
    fn streams_are_given_back() {
        let streams = Streams::default();
        let first = streams.open("k", 1);
        assert!(first.is_some() && streams.open("k", 1).is_none() && streams.open("other", 1).is_some());
        drop(first);
        assert!(streams.open("k", 1).is_some());
    }
}

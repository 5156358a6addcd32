//! How often a key may ask: three counters of a minute each (contract 11), and how many streams it may hold open.
//! Lives in memory. Must not know the clock: the time passed is an argument.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use hearth_contract::headers::{X_RATELIMIT_LIMIT, X_RATELIMIT_REMAINING, X_RATELIMIT_RESET};
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::Value;

use crate::config::RateLimits;

/// Which counter a call counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RateClass {
    /// Counts nowhere: no key is needed.
    Free,
    /// GET and HEAD.
    Read,
    /// POST, PATCH and DELETE.
    Write,
    /// Bulk calls.
    Bulk,
}

/// Length of a counter, from the first call in it.
const WINDOW: Duration = Duration::from_secs(60);

/// Where a key stands in a counter after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateWindow {
    /// Calls allowed in the counter.
    pub limit: u32,
    /// Calls left.
    pub remaining: u32,
    /// Until the counter ends.
    pub resets_in: Duration,
    /// Whether this call was one too many; it was not counted.
    pub is_refused: bool,
}

impl RateWindow {
    /// Refuses the call that was one too many.
    pub fn check(self) -> Result<(), Problem> {
        if !self.is_refused {
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

    /// What every answer says of its counter (contract 4), at a moment.
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
struct Counter {
    began: Duration,
    used: u32,
}

/// The messages of MCP that count in no counter (contract 11).
const UNMETERED_METHODS: [&str; 4] = ["initialize", "ping", "server/discover", "tools/list"];

/// Whether a message of MCP counts in no counter. What is no such message does count.
pub fn is_unmetered(message: &Value) -> bool {
    message["method"].as_str().is_some_and(|method| UNMETERED_METHODS.contains(&method))
}

/// The counters of all keys. At most three small entries for each key that was used since the start.
pub struct Limits {
    rules: Option<RateLimits>,
    counters: Mutex<HashMap<(String, RateClass), Counter>>,
}

impl Limits {
    /// Windows by these rules; None: no limits.
    pub fn new(rules: Option<RateLimits>) -> Limits {
        Limits { rules, counters: Mutex::default() }
    }

    /// Where a key stands without another call, for who refuses one before it counts. None: nothing limits it.
    pub fn peek(&self, key: &str, class: RateClass, passed: Duration) -> Option<RateWindow> {
        let limit = self.limit(class)?;
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = counters.get(&(key.to_owned(), class)).copied();
        let counter = counter.filter(|counter| passed.saturating_sub(counter.began) < WINDOW);
        let Counter { began, used } = counter.unwrap_or(Counter { began: passed, used: 0 });
        let resets_in = WINDOW.saturating_sub(passed.saturating_sub(began));
        Some(RateWindow { limit, remaining: limit.saturating_sub(used), resets_in, is_refused: false })
    }

    fn limit(&self, class: RateClass) -> Option<u32> {
        let rules = self.rules?;
        match class {
            RateClass::Free => None,
            RateClass::Read => Some(rules.reads),
            RateClass::Write => Some(rules.writes),
            RateClass::Bulk => Some(rules.bulk),
        }
    }

    /// Counts a call of a key. None: nothing limits it.
    pub fn count_call(&self, key: &str, class: RateClass, passed: Duration) -> Option<RateWindow> {
        let limit = self.limit(class)?;
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = counters.entry((key.to_owned(), class)).or_insert(Counter { began: passed, used: 0 });
        if passed.saturating_sub(counter.began) >= WINDOW {
            *counter = Counter { began: passed, used: 0 };
        }
        let is_refused = counter.used >= limit;
        if !is_refused {
            counter.used += 1;
        }
        let resets_in = WINDOW.saturating_sub(passed.saturating_sub(counter.began));
        Some(RateWindow { limit, remaining: limit - counter.used, resets_in, is_refused })
    }

    /// ResponseBody back a call that was counted at a moment and then refused with 429 by whoever it was for: that costs nothing
    /// (contract 11). What is left of its counter is one more now, if that counter still holds.
    pub fn refund(&self, key: &str, class: RateClass, counted: Duration) {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = counters.get_mut(&(key.to_owned(), class));
        // One that began since has not counted it.
        if let Some(counter) = counter.filter(|counter| counter.began <= counted && counted - counter.began < WINDOW) {
            counter.used = counter.used.saturating_sub(1);
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
    pub fn record(&self, key: &str, passed: Duration) -> bool {
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
        let take = |class, seconds| limits.count_call("k", class, Duration::from_secs(seconds)).unwrap();
        assert_eq!(take(RateClass::Read, 100).remaining, 1);
        assert_eq!(take(RateClass::Read, 130).remaining, 0);
        let refused = take(RateClass::Read, 150);
        assert_eq!((refused.is_refused, refused.resets_in), (true, Duration::from_secs(10)));
        assert!(!take(RateClass::Write, 150).is_refused);
        assert!(!take(RateClass::Read, 160).is_refused);
        assert!(!limits.count_call("other", RateClass::Write, Duration::from_secs(150)).unwrap().is_refused);
    }

    #[test]
    fn a_call_that_is_given_back_was_not_made() {
        let limits = Limits::new(Some(RateLimits { reads: 2, writes: 1, bulk: 1 }));
        let take = |seconds| limits.count_call("k", RateClass::Read, Duration::from_secs(seconds)).unwrap().remaining;
        assert_eq!((take(100), take(110)), (1, 0));
        limits.refund("k", RateClass::Read, Duration::from_secs(110));
        assert_eq!(take(120), 0);
        // The counter that counted it is over.
        assert_eq!(take(160), 1);
        limits.refund("k", RateClass::Read, Duration::from_secs(120));
        assert_eq!(take(161), 0);
    }

    #[test]
    fn a_hundred_refusals_within_ten_minutes_flag_a_key() {
        let refusals = Refusals::default();
        let flags = |count: u64, at: u64| (0..count).any(|_| refusals.record("k", Duration::from_secs(at)));
        assert!(!flags(50, 0) && !flags(49, 599));
        // The first fifty are ten minutes old by now.
        assert!(!flags(50, 600));
        assert!(!refusals.record("other", Duration::from_secs(600)));
        assert!(refusals.record("k", Duration::from_secs(601)));
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

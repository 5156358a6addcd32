//! Rate limits: three windows of a minute per key (contract 11), the 429 responses that flag a key, and the open
//! streams per key. In memory only. Must not know the clock: the monotonic time is an argument.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use hearth_contract::headers::{X_RATELIMIT_LIMIT, X_RATELIMIT_REMAINING, X_RATELIMIT_RESET};
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::Value;

use crate::config::RateLimits;

/// The rate-limit window that counts a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RateClass {
    /// Not counted, because the route needs no key.
    Free,
    /// GET and HEAD.
    Read,
    /// POST, PATCH and DELETE.
    Write,
    /// Bulk calls.
    Bulk,
}

/// The names of the windows.
const READS: &str = "reads";
const WRITES: &str = "writes";
const BULK: &str = "bulk";

/// Readings of one calendar in a window (contract 23). Programs read once an hour.
pub const CALENDAR_READS: RateLimits = RateLimits { reads: 60, writes: 0, bulk: 0 };

/// Length of a window, from its first call.
const WINDOW: Duration = Duration::from_secs(60);

/// The state of a rate-limit window after a call, for the `X-RateLimit-*` headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateWindow {
    /// The name of the window, as in `--rate-limits`: `reads`, `writes` or `bulk`.
    pub name: &'static str,
    /// Calls allowed in the window.
    pub limit: u32,
    /// Calls left in the window.
    pub remaining: u32,
    /// Time until the window ends.
    pub resets_in: Duration,
    /// Whether the call exceeded the limit. A refused call is not counted.
    pub is_refused: bool,
}

impl RateWindow {
    /// Refuses the call that exceeded the limit. Error: `rate_limited`.
    pub fn check(self) -> Result<(), Problem> {
        if !self.is_refused {
            return Ok(());
        }
        let calls = if self.name == BULK { "bulk calls" } else { self.name };
        let message = format!("The key has used its {} {calls} of this minute.", self.limit);
        Err(Problem::new(ProblemType::RateLimited, message)
            .with("window", self.name)
            .with("limit", self.limit)
            .with("retry_after_seconds", self.retry_after_seconds()))
    }

    /// Whole seconds until a call may succeed again, at least 1.
    pub fn retry_after_seconds(self) -> u64 {
        (self.resets_in.as_millis().div_ceil(1000) as u64).max(1)
    }

    /// The rate-limit headers of a response (contract 4). `now` is the wall time.
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

/// The MCP methods that count in no window (contract 11).
const UNMETERED_METHODS: [&str; 3] = ["initialize", "ping", "server/discover"];

/// Whether an MCP message counts in no window. A malformed message counts.
pub fn is_unmetered(message: &Value) -> bool {
    message["method"].as_str().is_some_and(|method| UNMETERED_METHODS.contains(&method))
}

/// Whether an MCP message asks for the list of tools, which counts as a read before the list is made.
pub fn is_tool_list(message: &Value) -> bool {
    message["method"] == "tools/list"
}

/// The windows of all keys since the start: at most three small entries per key.
pub struct Limits {
    rules: Option<RateLimits>,
    counters: Mutex<HashMap<(String, RateClass), Counter>>,
}

impl Limits {
    /// Windows with these limits. None: no limits.
    pub fn new(rules: Option<RateLimits>) -> Limits {
        Limits { rules, counters: Mutex::default() }
    }

    /// The window of a key without counting a call, for a refusal before the count. None: no limit applies.
    pub fn peek(&self, key: &str, class: RateClass, passed: Duration) -> Option<RateWindow> {
        let (name, limit) = self.limit(class)?;
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = counters.get(&(key.to_owned(), class)).copied();
        let counter = counter.filter(|counter| passed.saturating_sub(counter.began) < WINDOW);
        let Counter { began, used } = counter.unwrap_or(Counter { began: passed, used: 0 });
        let resets_in = WINDOW.saturating_sub(passed.saturating_sub(began));
        Some(RateWindow { name, limit, remaining: limit.saturating_sub(used), resets_in, is_refused: false })
    }

    /// The name and the limit of a window. None: no limit applies.
    fn limit(&self, class: RateClass) -> Option<(&'static str, u32)> {
        let rules = self.rules?;
        match class {
            RateClass::Free => None,
            RateClass::Read => Some((READS, rules.reads)),
            RateClass::Write => Some((WRITES, rules.writes)),
            RateClass::Bulk => Some((BULK, rules.bulk)),
        }
    }

    /// Counts a call of a key. None: no limit applies.
    pub fn count_call(&self, key: &str, class: RateClass, passed: Duration) -> Option<RateWindow> {
        let (name, limit) = self.limit(class)?;
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
        Some(RateWindow { name, limit, remaining: limit - counter.used, resets_in, is_refused })
    }

    /// Takes back a call that was counted at the time `counted` and then answered with 429, because a refusal costs
    /// nothing (contract 11). Does nothing once the window has ended.
    pub fn refund(&self, key: &str, class: RateClass, counted: Duration) {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let counter = counters.get_mut(&(key.to_owned(), class));
        // A window that began later did not count the call.
        if let Some(counter) = counter.filter(|counter| counter.began <= counted && counted - counter.began < WINDOW) {
            counter.used = counter.used.saturating_sub(1);
        }
    }
}

/// The number of 429 responses within [`REFUSALS_TIME`] that flags a key (contract 11).
const REFUSALS_MAX: usize = 100;
/// The time span in which 429 responses add up.
const REFUSALS_TIME: Duration = Duration::from_secs(10 * 60);

/// Times of the latest 429 responses of all keys: at most `REFUSALS_MAX` per key.
#[derive(Default)]
pub struct Refusals {
    moments: Mutex<HashMap<String, VecDeque<Duration>>>,
}

impl Refusals {
    /// Records a 429 response of a key. True: the key must be flagged, and its count starts again.
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

/// The number of open streams of each key. Cheap to clone.
#[derive(Clone, Default)]
pub struct Streams {
    open: Arc<Mutex<HashMap<String, usize>>>,
}

impl Streams {
    /// Opens a stream for a key. None: the key already has `max` open streams.
    pub fn open(&self, key: &str, max: usize) -> Option<Permit> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(key.to_owned()).or_default();
        if *count >= max {
            return None;
        }
        *count += 1;
        Some(Permit { key: key.to_owned(), open: self.open.clone() })
    }

    /// The number of open streams of the keys (ids) that `counts` accepts.
    pub fn count_of(&self, counts: impl Fn(&str) -> bool) -> usize {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().filter(|(key, _)| counts(key)).map(|(_, count)| count).sum()
    }

    /// The number of open streams of all keys.
    pub fn count(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

/// An open stream in the count of its key. Dropping the permit closes the stream.
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
    fn window_starts_with_first_call_ends_in_60_s() {
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
    fn refunded_call_does_not_count() {
        let limits = Limits::new(Some(RateLimits { reads: 2, writes: 1, bulk: 1 }));
        let take = |seconds| limits.count_call("k", RateClass::Read, Duration::from_secs(seconds)).unwrap().remaining;
        assert_eq!((take(100), take(110)), (1, 0));
        limits.refund("k", RateClass::Read, Duration::from_secs(110));
        assert_eq!(take(120), 0);
        // The window with the counted call has ended.
        assert_eq!(take(160), 1);
        limits.refund("k", RateClass::Read, Duration::from_secs(120));
        assert_eq!(take(161), 0);
    }

    #[test]
    fn hundred_refusals_in_ten_minutes_flag_key() {
        let refusals = Refusals::default();
        let flags = |count: u64, at: u64| (0..count).any(|_| refusals.record("k", Duration::from_secs(at)));
        assert!(!flags(50, 0) && !flags(49, 599));
        // The first fifty are ten minutes old.
        assert!(!flags(50, 600));
        assert!(!refusals.record("other", Duration::from_secs(600)));
        assert!(refusals.record("k", Duration::from_secs(601)));
        assert!(!flags(99, 602));
        assert!(flags(1, 602));
    }

    #[test]
    fn dropped_permit_frees_stream() {
        let streams = Streams::default();
        let first = streams.open("k", 1);
        assert!(first.is_some() && streams.open("k", 1).is_none() && streams.open("other", 1).is_some());
        drop(first);
        assert!(streams.open("k", 1).is_some());
    }
}

//! The bytes of answers in flight, per key and in all: from the moment after a body was built until it is written out or
//! dropped. A read does not begin without room for the largest page. Answers that are built at the same time may pass a limit together.
//! Must not know HTTP, nor what an answer says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hearth_contract::problem::{Problem, ProblemType};

/// Bytes in flight of one key, at most. The limit of a key never refuses its only answer.
pub const KEY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Bytes in flight of all keys, at most.
pub const ALL_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Up to this size an answer ignores the limit of all keys, because it is soon written. Large answers
/// that nobody reads therefore do not stop the small answers of other keys.
pub const SMALL_BYTES_MAX: usize = 64 * 1024;
/// Seconds after which a refused client may try again.
const RETRY_SECONDS: u64 = 1;
/// What is wrong when a key has reached its limit.
const KEY_FULL: &str = "The key has too many bytes of answers that are not read yet.";

/// The counts of all keys. Cheap to clone.
#[derive(Clone, Default)]
pub struct AnswerBytes(Arc<Mutex<Counts>>);

#[derive(Default)]
struct Counts {
    keys: HashMap<String, usize>,
    all: usize,
}

/// The counted bytes of one answer. Dropping the value ends the count.
struct Counted {
    counts: AnswerBytes,
    key: String,
    bytes: Bytes,
}

impl AnswerBytes {
    /// Refuses a read before its work, if its answer may be too large for the limit of the key. `largest`: bytes of the
    /// largest answer. Error: `unavailable`.
    pub fn check_room(&self, key: &str, largest: usize) -> Result<(), Problem> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_key = counts.keys.get(key).copied().unwrap_or_default();
        if of_key + largest > KEY_BYTES_MAX { Err(refusal(KEY_FULL)) } else { Ok(()) }
    }

    /// Refuses an answer beyond a limit. Error: `unavailable`.
    pub fn check(&self, key: &str, bytes: usize) -> Result<(), Problem> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_key = counts.keys.get(key).copied().unwrap_or_default();
        let is_over_key = of_key > 0 && of_key + bytes > KEY_BYTES_MAX;
        let is_over_all = bytes > SMALL_BYTES_MAX && counts.all + bytes > ALL_BYTES_MAX;
        let message = match (is_over_key, is_over_all) {
            (true, _) => KEY_FULL,
            (false, true) => "The service has too many bytes of answers that are not read yet.",
            (false, false) => return Ok(()),
        };
        Err(refusal(message))
    }

    /// The bytes of an answer, counted until the last copy of the returned value is dropped.
    pub fn count(&self, key: &str, bytes: Bytes) -> Bytes {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.keys.entry(key.to_owned()).or_default() += bytes.len();
        counts.all += bytes.len();
        drop(counts);
        Bytes::from_owner(Counted { counts: self.clone(), key: key.to_owned(), bytes })
    }

    /// The bytes of all answers in flight.
    pub fn all(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all
    }
}

fn refusal(message: &str) -> Problem {
    Problem::new(ProblemType::Unavailable, message)
        .with("retry_after_seconds", RETRY_SECONDS)
        .with_fix("Read the answers of earlier requests, ask for smaller pages, and send the request again later.")
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.all -= self.bytes.len();
        if let Some(of_key) = counts.keys.get_mut(&self.key) {
            *of_key -= self.bytes.len();
            if *of_key == 0 {
                counts.keys.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: usize) -> Bytes {
        "x".repeat(bytes).into()
    }

    #[test]
    fn key_over_its_limit_waits_for_its_answers() {
        let counts = AnswerBytes::default();
        let held = counts.count("k", answer(KEY_BYTES_MAX));
        let copy = held.clone();
        drop(held);
        assert!(counts.check("k", 1).is_err_and(|problem| problem.kind == ProblemType::Unavailable));
        assert!(counts.check("other", KEY_BYTES_MAX).is_ok());
        assert!(counts.check_room("k", 0).is_ok() && counts.check_room("k", 1).is_err());
        drop(copy);
        assert!(counts.check("k", KEY_BYTES_MAX + 1).is_ok(), "one answer is always allowed");
        assert_eq!((counts.all(), counts.0.lock().unwrap().keys.len()), (0, 0));
    }

    #[test]
    fn small_answers_pass_the_limit_of_all_keys() {
        let counts = AnswerBytes::default();
        let keys = ALL_BYTES_MAX / KEY_BYTES_MAX;
        let held: Vec<Bytes> = (0..keys).map(|key| counts.count(&key.to_string(), answer(KEY_BYTES_MAX))).collect();
        assert!(counts.check("k", SMALL_BYTES_MAX + 1).is_err());
        assert!(counts.check("k", SMALL_BYTES_MAX).is_ok());
        drop(held);
        assert!(counts.check("k", SMALL_BYTES_MAX + 1).is_ok());
    }
}

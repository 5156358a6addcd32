//! Retry timing of requests that failed while contact lasts. The line may be at fault, or the request. Failed requests are
//! sent after all others, one at a time, and slower with each further failure in a row. Pure: the time is an argument.

use std::collections::{HashMap, HashSet};

use super::super::clock::Millis;

/// Failed requests, each by the id of its first edit.
#[derive(Debug, Default)]
pub(super) struct RetryState {
    attempts: HashMap<i64, Attempts>,
    /// Repeated failures of different requests, with no success in between.
    pub(super) repeated_failures: u32,
    /// The request that failed last, if not for the first time.
    last: Option<i64>,
    not_before: Option<Millis>,
}

/// Failures of one request.
#[derive(Debug, Clone, Copy)]
struct Attempts {
    failures: u32,
    /// The most recent failures in a row that were a 401 or 403 of a proxy.
    forbidden: u32,
    not_before: Option<Millis>,
}

impl RetryState {
    fn of(&self, edits: &[i64]) -> Option<&Attempts> {
        self.attempts.get(edits.first()?)
    }

    /// Failures of a request in a row.
    pub(super) fn failures(&self, edits: &[i64]) -> u32 {
        self.of(edits).map_or(0, |attempts| attempts.failures)
    }

    /// The most recent failures of a request in a row that were a 401 or 403 of a proxy.
    pub(super) fn forbidden(&self, edits: &[i64]) -> u32 {
        self.of(edits).map_or(0, |attempts| attempts.forbidden)
    }

    /// The earliest time of the next attempt. None: there is no pause.
    pub(super) fn next_attempt_at(&self, edits: &[i64]) -> Option<Millis> {
        self.of(edits)?.not_before.max(self.not_before)
    }

    /// Counts a failure. The request waits until `not_before`. If another request has failed repeatedly just before, all
    /// failed requests wait until `all_not_before`. `is_forbidden`: a proxy answered 401 or 403.
    pub(super) fn on_failure(&mut self, edits: &[i64], is_forbidden: bool, not_before: Millis, all_not_before: Millis) {
        let Some(first) = edits.first().copied() else { return };
        let failures = self.failures(edits);
        if failures > 0 && self.last.replace(first).is_some_and(|last| last != first) {
            self.repeated_failures += 1;
            self.not_before = Some(all_not_before);
        }
        let forbidden = if is_forbidden { self.forbidden(edits) + 1 } else { 0 };
        self.attempts.insert(first, Attempts { failures: failures + 1, forbidden, not_before: Some(not_before) });
    }

    /// Forgets the failures of an answered request, and ends the common pause.
    pub(super) fn on_success(&mut self, edit: i64) {
        if self.attempts.remove(&edit).is_some() {
            (self.repeated_failures, self.last, self.not_before) = (0, None, None);
        }
    }

    /// The request begins with another edit, because edits were settled.
    pub(super) fn rename(&mut self, before: &[i64], now: &[i64]) {
        let (Some(before), Some(now)) = (before.first(), now.first()) else { return };
        if let Some(attempts) = self.attempts.remove(before) {
            self.attempts.insert(*now, attempts);
        }
        self.last = self.last.map(|last| if last == *before { *now } else { last });
    }

    /// Ends all pauses. The failures stay counted.
    pub(super) fn clear_pauses(&mut self) {
        self.not_before = None;
        self.attempts.values_mut().for_each(|attempts| attempts.not_before = None);
    }

    /// Forgets all requests except `edits`.
    pub(super) fn retain(&mut self, edits: &HashSet<i64>) {
        self.attempts.retain(|edit, _| edits.contains(edit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_two_requests_share_a_pause() {
        let mut retries = RetryState::default();
        assert_eq!((retries.failures(&[1]), retries.next_attempt_at(&[1])), (0, None));
        retries.on_failure(&[1], false, 10, 1000);
        retries.on_failure(&[1], false, 20, 1000);
        assert_eq!(
            (retries.failures(&[1]), retries.repeated_failures, retries.next_attempt_at(&[1])),
            (2, 0, Some(20))
        );
        retries.on_failure(&[2], false, 25, 1000);
        assert_eq!(retries.next_attempt_at(&[2]), Some(25), "the first failure of request 2");
        retries.on_failure(&[2], false, 30, 1000);
        let next_attempts = (retries.next_attempt_at(&[1]), retries.next_attempt_at(&[2]));
        assert_eq!((retries.repeated_failures, next_attempts), (1, (Some(1000), Some(1000))));
        retries.clear_pauses();
        assert_eq!((retries.next_attempt_at(&[1]), retries.failures(&[1])), (None, 2));
        retries.on_failure(&[1], false, 40, 2000);
        retries.on_success(2);
        let next_attempts = (retries.next_attempt_at(&[1]), retries.next_attempt_at(&[2]));
        assert_eq!((retries.repeated_failures, next_attempts), (0, (Some(40), None)));
        retries.retain(&HashSet::new());
        assert_eq!(retries.failures(&[1]), 0);
    }
}

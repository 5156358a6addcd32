//! Length of retry pauses. Pure: a seed replaces chance.

use super::clock::Millis;

pub(super) const BACKOFF_FIRST: Millis = 500;
pub(super) const BACKOFF_MAX: Millis = 60_000;
/// A refused key is tried again after a minute: the key's rights may have been restored.
pub(crate) const KEY_RETRY: Millis = 60_000;

/// Source of retry pauses.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    random: u64,
}

impl Backoff {
    pub(crate) fn new(seed: u64) -> Backoff {
        // The generator stays at 0 if started at 0.
        Backoff { random: seed | 1 }
    }

    /// Milliseconds to wait after `failures` failures in a row. Full jitter: a random pause between 0 and a bound that
    /// doubles, so many replicas do not return at the same moment.
    pub(crate) fn pause(&mut self, failures: u32) -> Millis {
        let bound = BACKOFF_FIRST.saturating_mul(1 << failures.min(10)).min(BACKOFF_MAX);
        // xorshift64: good enough to spread retries.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % bound.unsigned_abs()) as Millis
    }
}

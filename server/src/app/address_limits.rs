//! How often an address may call without a key: windows per address and purpose. In memory only. Must not know the clock:
//! the monotonic time is an argument.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Addresses that are remembered, at most. Beyond it, windows that have ended are forgotten, and then all.
const ADDRESSES_MAX: usize = 100_000;

/// What an address may do how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRule {
    /// The purpose. Each purpose has its own windows.
    pub name: &'static str,
    /// Calls in a window.
    pub calls: u32,
    /// Length of a window, from its first call.
    pub window: Duration,
}

/// The windows of all addresses.
#[derive(Default)]
pub struct AddressLimits {
    counters: Mutex<HashMap<(IpAddr, &'static str), Counter>>,
}

#[derive(Clone, Copy)]
struct Counter {
    ends: Duration,
    used: u32,
}

impl AddressLimits {
    /// Counts a call. Err: the whole seconds until the address may call again, at least 1.
    pub fn count(&self, rule: AddressRule, address: IpAddr, passed: Duration) -> Result<(), u64> {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        if counters.len() >= ADDRESSES_MAX {
            counters.retain(|_, counter| passed < counter.ends);
        }
        if counters.len() >= ADDRESSES_MAX {
            counters.clear();
        }
        let fresh = Counter { ends: passed + rule.window, used: 0 };
        let counter = counters.entry((network_of(address), rule.name)).or_insert(fresh);
        if passed >= counter.ends {
            *counter = fresh;
        }
        if counter.used >= rule.calls {
            return Err((counter.ends.saturating_sub(passed).as_millis().div_ceil(1000) as u64).max(1));
        }
        counter.used += 1;
        Ok(())
    }
}

/// The part of an address that one customer of a network has: an IPv6 address counts by its first 64 bits.
pub(super) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::from((u128::from(v6) >> 64 << 64).to_be_bytes()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: AddressRule = AddressRule { name: "test", calls: 2, window: Duration::from_secs(60) };

    #[test]
    fn window_refuses_and_begins_again() {
        let limits = AddressLimits::default();
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let at = |seconds| Duration::from_secs(seconds);
        assert_eq!(limits.count(RULE, one, at(5)), Ok(()));
        assert_eq!(limits.count(RULE, one, at(6)), Ok(()));
        assert_eq!(limits.count(RULE, one, at(7)), Err(58));
        assert_eq!(limits.count(RULE, other, at(7)), Ok(()));
        assert_eq!(limits.count(AddressRule { name: "other", ..RULE }, one, at(7)), Ok(()));
        assert_eq!(limits.count(RULE, one, at(65)), Ok(()));
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_window() {
        let limits = AddressLimits::default();
        for host in ["2001:db8::1", "2001:db8::2"] {
            assert_eq!(limits.count(RULE, host.parse().unwrap(), Duration::ZERO), Ok(()));
        }
        assert!(limits.count(RULE, "2001:db8::3".parse().unwrap(), Duration::ZERO).is_err());
    }
}

//! Slows down the guessing of passwords: after some failures, each further attempt must wait longer. Must not know how a
//! password is checked.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::address_limits::network_of;

/// Failures without a wait.
const FREE_FAILURES: u32 = 5;
/// The wait after the last free failure. Each further failure doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(10);
/// The longest wait.
const WAIT_MAX: Duration = Duration::from_secs(15 * 60);
/// Time after the last failure at which the failures are forgotten.
const MEMORY_TIME: Duration = Duration::from_secs(60 * 60);
/// Remembered clients and names, at most. The entry with the oldest failure makes room for a new entry.
const GUESSERS_MAX: usize = 10_000;

/// The client or the name whose failures are counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Guesser {
    /// The network address of the client.
    Address(IpAddr),
    /// The name that is tried.
    Name(String),
}

impl Guesser {
    /// The client with this address. An IPv6 client has a whole network of 64 bits, so the network counts.
    pub fn at(address: IpAddr) -> Guesser {
        Guesser::Address(network_of(address))
    }
}

/// Recent failures. Memory of one process: a restart forgets them.
#[derive(Default)]
pub struct Backoff {
    failures: Mutex<HashMap<Guesser, Failures>>,
}

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: Duration,
    /// The failure before the last, to which a taken back attempt leads back.
    before: Duration,
}

impl Failures {
    fn waits_until(self) -> Duration {
        let Some(doublings) = self.count.checked_sub(FREE_FAILURES) else { return Duration::ZERO };
        self.last + FIRST_WAIT.saturating_mul(2u32.saturating_pow(doublings)).min(WAIT_MAX)
    }
}

impl Backoff {
    /// Begins an attempt, which counts as a failure until it is taken back: attempts at the same time all count. Err: the
    /// time to wait; the attempt does not count. `now`: monotonic time.
    pub fn begin(&self, guessers: &[Guesser], now: Duration) -> Result<(), Duration> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let end = guessers.iter().filter_map(|guesser| failures.get(guesser)).map(|known| known.waits_until()).max();
        if let Some(wait) = end.unwrap_or_default().checked_sub(now).filter(|wait| !wait.is_zero()) {
            return Err(wait);
        }
        for guesser in guessers {
            make_room(&mut failures, guesser, now);
            let known = failures.entry(guesser.clone()).or_insert(Failures { count: 0, last: now, before: now });
            let is_old = now.saturating_sub(known.last) >= MEMORY_TIME;
            let count = if is_old { 1 } else { known.count.saturating_add(1) };
            *known = Failures { count, last: now, before: known.last };
        }
        Ok(())
    }

    /// Forgets all failures for a name, after a success.
    pub fn forgive(&self, name: &Guesser) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// Takes back the last attempt of a client, because it was no failure. Its earlier failures stay: a success for one name
    /// says nothing about guesses of other names.
    pub fn take_back(&self, client: &Guesser) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = failures.get_mut(client) {
            known.count = known.count.saturating_sub(1);
            known.last = known.before;
        }
    }
}

fn make_room(failures: &mut HashMap<Guesser, Failures>, guesser: &Guesser, now: Duration) {
    if failures.len() < GUESSERS_MAX || failures.contains_key(guesser) {
        return;
    }
    failures.retain(|_, known| now.saturating_sub(known.last) < MEMORY_TIME);
    if failures.len() >= GUESSERS_MAX {
        let oldest = failures.iter().min_by_key(|(_, known)| known.last).map(|(guesser, _)| guesser.clone());
        if let Some(oldest) = oldest {
            failures.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn name(name: &str) -> Guesser {
        Guesser::Name(name.to_owned())
    }

    #[test]
    fn sixth_attempt_waits_and_waits_grow() {
        let backoff = Backoff::default();
        let attempt = |seconds: u32| backoff.begin(&[name("anna")], SECOND * seconds);
        for _ in 0..5 {
            assert_eq!(attempt(100), Ok(()));
        }
        assert_eq!(attempt(100), Err(SECOND * 10));
        assert_eq!(attempt(109), Err(SECOND));
        assert_eq!(attempt(110), Ok(()));
        assert_eq!(attempt(110), Err(SECOND * 20));
        assert_eq!(backoff.begin(&[name("ben")], SECOND * 110), Ok(()));
        let mut now = SECOND * 130;
        for _ in 0..20 {
            let wait = backoff.begin(&[name("anna")], now).err().unwrap_or_default();
            assert!(wait <= WAIT_MAX);
            now += wait;
        }
        assert_eq!(backoff.begin(&[name("anna")], now + MEMORY_TIME), Ok(()));
        assert_eq!(backoff.begin(&[name("anna")], now + MEMORY_TIME), Ok(()), "the earlier failures are forgotten");
    }

    #[test]
    fn any_of_two_guessers_waits_and_success_is_no_failure() {
        let backoff = Backoff::default();
        let here = Guesser::at("2001:db8::1".parse().unwrap());
        for nth in 0..5 {
            backoff.begin(&[here.clone(), name(&nth.to_string())], SECOND).unwrap();
        }
        let neighbour = Guesser::at("2001:db8::ffff".parse().unwrap());
        assert!(backoff.begin(&[neighbour, name("new")], SECOND).is_err());
        assert_eq!(backoff.begin(std::slice::from_ref(&here), SECOND * 11), Ok(()));
        backoff.take_back(&here);
        assert_eq!(backoff.begin(&[here, name("new")], SECOND * 11), Ok(()), "a success starts no wait");
        assert_eq!(backoff.begin(&[name("0")], SECOND), Ok(()));
        backoff.forgive(&name("0"));
        assert!(!backoff.failures.lock().unwrap().contains_key(&name("0")));
    }

    #[test]
    fn memory_is_bounded() {
        let backoff = Backoff::default();
        for nth in 0..GUESSERS_MAX + 10 {
            backoff.begin(&[name(&nth.to_string())], SECOND * u32::try_from(nth).unwrap() / 1000).unwrap();
        }
        assert_eq!(backoff.failures.lock().unwrap().len(), GUESSERS_MAX);
    }
}

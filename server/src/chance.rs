//! What is random in this program: bytes of the operating system, and fresh ids. Must not know what they are for.

use std::cell::RefCell;

use hearth_contract::formats::Timestamp;
use uuid::{Builder, Uuid};

/// A new id whose order is the order of making, to the millisecond (UUIDv7).
pub fn fresh_id(now: Timestamp) -> Uuid {
    let millis = u64::try_from(now.millis()).unwrap_or(0);
    Builder::from_unix_timestamp_millis(millis, &unlike_any_other()).into_uuid()
}

/// So many random bytes of the operating system.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if !hearth_simulated::fill_random(&mut bytes) {
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    }
    bytes
}

/// So many random bytes for names that are no secrets. The operating system is asked for many at once, because asking
/// costs more than they do.
pub fn unlike_any_other<const N: usize>() -> [u8; N] {
    const STOCK: usize = 1024;
    thread_local! {
        static LEFT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let mut bytes = [0; N];
    if hearth_simulated::fill_random(&mut bytes) {
        return bytes;
    }
    LEFT.with_borrow_mut(|left| {
        if left.len() < N {
            left.resize(STOCK.max(N), 0);
            getrandom::fill(left).expect("the operating system gives random bytes");
        }
        let rest = left.len() - N;
        bytes.copy_from_slice(&left[rest..]);
        left.truncate(rest);
    });
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_not_given_twice() {
        let names: HashSet<[u8; 16]> = (0..1000).map(|_| unlike_any_other()).collect();
        assert_eq!(names.len(), 1000);
    }
}

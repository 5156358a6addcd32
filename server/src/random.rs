//! Random bytes of the operating system, and new ids. Must not know what callers use them for.

use std::cell::RefCell;

use hearth_contract::formats::Timestamp;
use uuid::{Builder, Uuid};

/// A new UUIDv7. Ids sort by the time of creation, with a resolution of one millisecond.
pub fn fresh_id(now: Timestamp) -> Uuid {
    let millis = u64::try_from(now.millis()).unwrap_or(0);
    Builder::from_unix_timestamp_millis(millis, &unique_bytes()).into_uuid()
}

/// `N` random bytes of the operating system, fit for secrets.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if !hearth_simulated::fill_random(&mut bytes) {
        getrandom::fill(&mut bytes).expect("the operating system returns random bytes");
    }
    bytes
}

/// `N` random bytes for ids that are not secrets. A thread buffers 1 KiB of random bytes, because each system call costs
/// more than the bytes.
pub fn unique_bytes<const N: usize>() -> [u8; N] {
    const BUFFER_BYTES: usize = 1024;
    thread_local! {
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let mut bytes = [0; N];
    if hearth_simulated::fill_random(&mut bytes) {
        return bytes;
    }
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.len() < N {
            buffer.resize(BUFFER_BYTES.max(N), 0);
            getrandom::fill(buffer).expect("the operating system returns random bytes");
        }
        let rest = buffer.len() - N;
        bytes.copy_from_slice(&buffer[rest..]);
        buffer.truncate(rest);
    });
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn unique_bytes_do_not_repeat() {
        let names: HashSet<[u8; 16]> = (0..1000).map(|_| unique_bytes()).collect();
        assert_eq!(names.len(), 1000);
    }
}

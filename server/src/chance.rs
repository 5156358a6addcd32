//! What is random in this program: bytes of the operating system, and fresh ids. Must not know what they are for.

use hearth_contract::formats::Timestamp;
use uuid::{Builder, Uuid};

/// A new id whose order is the order of making, to the millisecond (UUIDv7).
pub fn fresh_id(now: Timestamp) -> Uuid {
    let millis = u64::try_from(now.millis()).unwrap_or(0);
    Builder::from_unix_timestamp_millis(millis, &random()).into_uuid()
}

/// So many random bytes of the operating system.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if !hearth_simulated::random(&mut bytes) {
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    }
    bytes
}

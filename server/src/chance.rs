//! What is random in this program: bytes of the operating system, and fresh ids. Must not know what they are for.

use hearth_contract::formats::Timestamp;
use uuid::{NoContext, Uuid};

/// A new id whose order is the order of making, to the millisecond (UUIDv7).
pub fn fresh_id(now: Timestamp) -> Uuid {
    let millis = u64::try_from(now.millis()).unwrap_or(0);
    let stamp = uuid::Timestamp::from_unix(NoContext, millis / 1000, (millis % 1000) as u32 * 1_000_000);
    Uuid::new_v7(stamp)
}

/// So many random bytes of the operating system.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

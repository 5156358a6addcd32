//! The clock of the machine, and the threads for blocking work. Must not know what runs on them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hearth_contract::formats::Timestamp;
use tokio::time::Instant;

use super::core::Millis;
use crate::store::StoreError;

/// The clock of this machine, which may be wrong. It gives timestamps and the age of the last look for damage. No decision about an
/// edit may depend on it.
pub fn wall_clock() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// The time since a moment of the steady clock.
pub(super) fn since(start: Instant) -> Millis {
    Millis::try_from(start.elapsed().as_millis()).unwrap_or(Millis::MAX)
}

/// The moment of the steady clock that is `at` after `start`.
pub(super) fn moment(start: Instant, at: Millis) -> Instant {
    start + Duration::from_millis(at.max(0).unsigned_abs())
}

/// Runs SQL or other blocking work on a thread of its own.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Unexpected("the runtime has dropped a step of the sync at its end".to_owned())),
        },
    }
}

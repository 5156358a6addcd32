//! Who may write while a home is refilled from a replica (contract 24). Must not know requests.

use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{Problem, ProblemType};

use crate::store::refills;
use crate::store::{HomeNumber, StoreError, Tx};

/// Seconds after which a client may try again while the home is refilled.
const RETRY_SECONDS: u64 = 60;

/// The refusal of a write while another key refills the home. None: nobody does. `key`: the id of the key that writes; None: a
/// person on a page.
pub(super) fn write_refusal(
    tx: &Tx<'_>,
    home: HomeNumber,
    key: Option<&str>,
    now: Timestamp,
) -> Result<Option<Problem>, StoreError> {
    let lasting = refills::find(tx, home)?.filter(|refill| refill.lasts_at(now) && Some(&*refill.key) != key);
    Ok(lasting.map(|_| {
        Problem::new(ProblemType::Unavailable, "This home is being refilled from a replica; nobody else can write now.")
            .with("retry_after_seconds", RETRY_SECONDS)
            .with_fix("Send the write again when the refill has ended.")
    }))
}

/// Whether a key refills its home now.
pub(super) fn is_refilling(tx: &Tx<'_>, home: HomeNumber, key: &str, now: Timestamp) -> Result<bool, StoreError> {
    Ok(refills::find(tx, home)?.is_some_and(|refill| refill.lasts_at(now) && refill.key == key))
}

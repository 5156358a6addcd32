//! Writes that the disk refuses: sentences for people, and writes that may be skipped. Must not know the core.

use std::path::Path;

use crate::model::BlockCause;
use crate::store::StoreError;

/// Why the sync waits while the disk is full.
pub(super) const NO_ROOM: &str = "the disk that holds the replica is full; make room, and it goes on by itself";

/// A sentence for people about a disk with free space that refuses writes. `what`: the file on the disk.
pub(crate) fn write_failure_text(what: &str, error: &StoreError) -> String {
    format!(
        "the disk that holds {what} does not take what is written to it ({error}): it fails, is mounted for reading alone, or your share of it is used up"
    )
}

/// Why the sync waits after a refused write, as code and as a sentence.
pub(super) fn block_cause(db: &Path, error: &StoreError) -> (BlockCause, String) {
    if error.is_out_of_room(db) {
        return (BlockCause::DiskFull, NO_ROOM.to_owned());
    }
    let why = write_failure_text("the replica", error) + "; it goes on by itself once that is over";
    (BlockCause::DiskUnwritable, why)
}

/// Ignores a write that the disk refuses. Only for status rows, which are written again later.
pub(super) fn ignore_disk_full(result: Result<(), StoreError>) -> Result<(), StoreError> {
    match result {
        Err(error) if error.is_write_failure() => {
            tracing::warn!(%error, "the sync status could not be saved");
            Ok(())
        }
        result => result,
    }
}

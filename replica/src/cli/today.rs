//! The local day of this machine. The only file of the commands that reads the local time.

use time::{Date, OffsetDateTime, UtcOffset};

/// Today. UTC if the system does not tell the local time.
pub(super) fn local() -> Date {
    let utc = OffsetDateTime::now_utc();
    let offset = UtcOffset::local_offset_at(utc).unwrap_or(UtcOffset::UTC);
    utc.checked_to_offset(offset).unwrap_or(utc).date()
}

//! The current time as a value. Only the main loop reads the clock, by [`Now::from_clock`]; state and views take a
//! `Now` as an argument. Must not read the clock in any other function.

use hearth_contract::formats::Timestamp;
use time::{Date, OffsetDateTime, UtcOffset};

/// The offset of local time from UTC at a given time. The offset differs between summer and winter.
pub type Zone = fn(OffsetDateTime) -> UtcOffset;

/// The current time and the local time zone.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// The current time in UTC, in milliseconds.
    pub moment: Timestamp,
    /// The local time zone.
    pub zone: Zone,
}

impl Now {
    /// Reads the clock of the machine.
    pub fn from_clock() -> Now {
        let utc = OffsetDateTime::now_utc();
        let millis = i64::try_from(utc.unix_timestamp_nanos() / 1_000_000).unwrap_or_default();
        Now { moment: Timestamp::from_millis(millis), zone: machine_zone }
    }

    /// The current local day.
    pub fn today(self) -> Date {
        self.local(self.moment).date()
    }

    /// A time in local time, with the offset that applied then.
    pub fn local(self, moment: Timestamp) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(moment.seconds())
            .map_or(OffsetDateTime::UNIX_EPOCH, |utc| utc.checked_to_offset((self.zone)(utc)).unwrap_or(utc))
    }
}

/// The offset of this machine, or UTC if the system does not tell the offset.
fn machine_zone(moment: OffsetDateTime) -> UtcOffset {
    UtcOffset::local_offset_at(moment).unwrap_or(UtcOffset::UTC)
}

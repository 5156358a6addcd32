//! A reading of the clock, handed to whatever needs the time. Must not read the clock itself outside [`Now::read`],
//! which only the main loop calls; logic and drawing take a `Now` as an argument.

use hearth_contract::formats::Timestamp;
use time::{Date, OffsetDateTime, UtcOffset};

/// A moment and how far this machine's clock on the wall is from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// The moment.
    pub moment: Timestamp,
    /// The local offset from UTC.
    pub offset: UtcOffset,
}

impl Now {
    /// Reads the machine's clock. Where the local offset cannot be learnt, times are shown in UTC.
    pub fn read() -> Now {
        let utc = OffsetDateTime::now_utc();
        let millis = i64::try_from(utc.unix_timestamp_nanos() / 1_000_000).unwrap_or_default();
        let offset = UtcOffset::local_offset_at(utc).unwrap_or(UtcOffset::UTC);
        Now { moment: Timestamp::from_millis(millis), offset }
    }

    /// The day on the wall.
    pub fn today(self) -> Date {
        self.local(self.moment).date()
    }

    /// A moment as the clock on the wall shows it.
    pub fn local(self, moment: Timestamp) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(moment.seconds())
            .map_or(OffsetDateTime::UNIX_EPOCH, |utc| utc.checked_to_offset(self.offset).unwrap_or(utc))
    }
}

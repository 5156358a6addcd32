//! A reading of the clock, handed to whatever needs the time. Must not read the clock itself outside [`Now::read`],
//! which only the main loop calls; logic and drawing take a `Now` as an argument.

use hearth_contract::formats::Timestamp;
use time::{Date, OffsetDateTime, UtcOffset};

/// How far the clock on the wall is from UTC at a moment: in summer it is another than in winter.
pub type Zone = fn(OffsetDateTime) -> UtcOffset;

/// A moment and where the clock on the wall hangs.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// The moment.
    pub moment: Timestamp,
    /// The zone of that clock.
    pub zone: Zone,
}

impl Now {
    /// Reads the machine's clock.
    pub fn read() -> Now {
        let utc = OffsetDateTime::now_utc();
        let millis = i64::try_from(utc.unix_timestamp_nanos() / 1_000_000).unwrap_or_default();
        Now { moment: Timestamp::from_millis(millis), zone: here }
    }

    /// The day on the wall.
    pub fn today(self) -> Date {
        self.local(self.moment).date()
    }

    /// A moment as the clock on the wall showed it then.
    pub fn local(self, moment: Timestamp) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(moment.seconds())
            .map_or(OffsetDateTime::UNIX_EPOCH, |utc| utc.checked_to_offset((self.zone)(utc)).unwrap_or(utc))
    }
}

/// This machine's zone. Where it cannot be learnt, times are shown in UTC.
fn here(moment: OffsetDateTime) -> UtcOffset {
    UtcOffset::local_offset_at(moment).unwrap_or(UtcOffset::UTC)
}

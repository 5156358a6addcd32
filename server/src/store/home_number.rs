//! The number of a home in the tables, and the row ids that combine it with an event id. Must not know what events hold.

/// The number of a home: `homes.number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HomeNumber(pub i64);

/// Bits of a row id that hold the event id: a home has room for 2^40 events.
const EVENT_ID_BITS: u32 = 40;
/// The highest event id of a home.
const EVENT_ID_MAX: i64 = (1 << EVENT_ID_BITS) - 1;

impl HomeNumber {
    /// The row id of an event: home number * 2^40 + event id. Ids out of range are clamped, because a cursor that a
    /// client made up must never reach the rows of another home.
    pub(super) fn event_rowid(self, event: i64) -> i64 {
        (self.0 << EVENT_ID_BITS) + event.clamp(0, EVENT_ID_MAX)
    }

    /// The row id after the last possible event of the home.
    pub(super) fn rowid_end(self) -> i64 {
        (self.0 + 1) << EVENT_ID_BITS
    }
}

/// The event id in a row id.
pub(super) fn event_id(rowid: i64) -> i64 {
    rowid & EVENT_ID_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rowid_of_any_id_stays_in_home() {
        let home = HomeNumber(3);
        for (event, expected) in [(7, 7), (0, 0), (-1, 0), (i64::MIN, 0), (i64::MAX, EVENT_ID_MAX)] {
            let rowid = home.event_rowid(event);
            assert_eq!(event_id(rowid), expected, "{event}");
            assert!((home.event_rowid(0)..home.rowid_end()).contains(&rowid), "{event}");
        }
    }
}

//! Sets the clock of a home back that a wrong clock of the machine had put ahead: records get moments that have passed, and
//! retention goes on. Must not know the clock.

use hearth_contract::formats::Timestamp;

use super::apply::{HEARTH, HomeWriter};
use super::retention;
use crate::store::{HomeNumber, StoreError, Tx, clock_reset, homes};

/// How far the clock of a home may be ahead of the machine's clock, in milliseconds: clocks are set back a little.
const AHEAD_MAX_MS: i64 = 5 * 60_000;

/// The clock of a home, if it is ahead of a time.
pub fn ahead(home: &homes::Home, now: Timestamp) -> Option<Timestamp> {
    home.last_updated_at.filter(|last| *last > now.plus_millis(AHEAD_MAX_MS))
}

/// Sets the clock of a home back to `now`. All history up to now is compacted, and each record with a moment ahead is
/// written anew, in the run `epoch`. Gives the number of such records. None: the clock of the home is right.
pub fn reset(tx: &Tx<'_>, number: HomeNumber, epoch: i64, now: Timestamp) -> Result<Option<usize>, StoreError> {
    if ahead(&homes::load(tx, number)?, now).is_none() {
        return Ok(None);
    }
    while retention::compact_step(tx, number, Timestamp::from_millis(i64::MAX))? {}
    let records = clock_reset::records_after(tx, number, now)?;
    clock_reset::set_back(tx, number, now)?;
    let mut writer = HomeWriter::begin(tx, number, epoch, now, HEARTH.to_owned(), None)?;
    for (kind, id) in &records {
        writer.correct_moments(*kind, *id)?;
    }
    writer.finish()?;
    Ok(Some(records.len()))
}

//! Compaction of a home's event log: of the events older than retention, only those with the current JSON of a record stay
//! (contract 9.2). The old part of the feed then lists the records in the order of their revisions. Must not know the
//! clock.

use hearth_contract::formats::Timestamp;
use hearth_simulated::{PlantedFault, planted};

use crate::store::events::{self, ExpiredEvent};
use crate::store::homes::{self, Home};
use crate::store::{HomeNumber, StoreError, Tx};

/// Events examined in one transaction, so that other writes never wait long.
const STEP: usize = 1000;

/// Compacts events before a moment, at most `STEP` of them. True: call again, there may be more.
pub fn compact_step(tx: &Tx<'_>, number: HomeNumber, before: Timestamp) -> Result<bool, StoreError> {
    let home = homes::load(tx, number)?;
    let expired = events::expired(tx, number, home.retention_pos, before, STEP)?;
    let Some(last) = expired.last() else {
        return Ok(false);
    };
    let after = horizons_after(home, last.id, &expired);
    for event in expired.iter().filter(|event| is_removed(event)) {
        if event.is_delete {
            events::move_to_tombstones(tx, number, event.id)?;
        } else {
            events::remove(tx, number, event.id)?;
        }
    }
    homes::save(tx, &after)?;
    homes::set_oldest_event_at(tx, number, events::first_moment_after(tx, number, after.retention_pos)?)?;
    Ok(expired.len() == STEP)
}

/// The home after the compaction of events up to `last`.
fn horizons_after(home: Home, last: i64, expired: &[ExpiredEvent]) -> Home {
    let removed = expired.iter().rev().find(|event| is_removed(event));
    let kept = expired.iter().rev().find(|event| !is_removed(event));
    let is_head_reset = planted(PlantedFault::EventIdsReused) && last == home.head;
    Home {
        head: if is_head_reset { kept.map_or(home.retention_pos, |event| event.id) } else { home.head },
        retention_pos: last,
        compacted_pos: removed.map_or(home.compacted_pos, |event| event.id),
        ..home
    }
}

/// Whether compaction removes an event from the log.
fn is_removed(event: &ExpiredEvent) -> bool {
    !event.is_current || planted(PlantedFault::CompactionDropsLatest)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn horizons_follow_last_and_last_removed_event() {
        let home = |retention_pos, compacted_pos| Home {
            number: HomeNumber(1),
            id: Uuid::nil(),
            head: 9,
            next_event_min: 0,
            last_updated_at: None,
            epoch: None,
            retention_pos,
            compacted_pos,
            oldest_event_at: None,
            filled_at: None,
        };
        let kept = |id| ExpiredEvent { id, is_current: true, is_delete: false };
        let replaced = |id| ExpiredEvent { id, is_current: false, is_delete: false };
        let deleted = |id| ExpiredEvent { id, is_current: false, is_delete: true };
        for (before, expired, after) in [
            ((2, 1), vec![kept(4), kept(7)], (7, 1)),
            ((2, 1), vec![replaced(4), kept(7)], (7, 4)),
            ((2, 1), vec![kept(4), replaced(5), deleted(9)], (9, 9)),
        ] {
            let last = expired.last().unwrap().id;
            assert_eq!(horizons_after(home(before.0, before.1), last, &expired), home(after.0, after.1), "{expired:?}");
        }
    }
}

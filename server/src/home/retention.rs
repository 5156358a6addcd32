//! Thinning out a home's log: of events older than retention only the present images stay (contract 9.2). The feed of
//! that part is then the records in order of their revisions; nothing is rewritten. Must not know the clock.

use hearth_contract::formats::Timestamp;

use crate::store::homes::{self, Home};
use crate::store::{Fault, HomeNo, Tx, events};

/// Events looked at in one transaction, so that writers never wait long.
const STEP: usize = 1000;

/// Thins out what happened before a moment, one step. True: call again, there may be more.
pub fn thin(tx: &Tx<'_>, number: HomeNo, before: Timestamp) -> Result<bool, Fault> {
    let home = homes::load(tx, number)?;
    let aged = events::aged(tx, number, home.aged, before, STEP)?;
    let Some(last) = aged.last() else {
        return Ok(false);
    };
    let mut after = Home { aged: last.id, ..home };
    let too_much = hearth_simulated::planted(hearth_simulated::Fault::CompactionDropsLatest);
    for event in aged.iter().filter(|event| !event.current || too_much) {
        if event.deleted {
            events::bury(tx, number, event.id)?;
        } else {
            events::remove(tx, number, event.id)?;
        }
        after.thinned = event.id;
    }
    homes::save(tx, &after)?;
    Ok(aged.len() == STEP)
}

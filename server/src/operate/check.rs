//! Looking whether the database is sound and agrees with itself (contract 17). Must not know the command line, and
//! changes nothing.

use crate::home::audit;
use crate::store::{Db, StoreError, Tx, check, homes};

use super::Error;

/// What was looked at, and what is wrong.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// Homes.
    pub homes: usize,
    /// Records that exist.
    pub records: i64,
    /// Events in the logs.
    pub events: i64,
    /// Sentences about what is wrong; none: all is sound.
    pub faults: Vec<String>,
}

/// Looks through everything, as of one moment.
pub async fn check(db: &Db) -> Result<Report, Error> {
    Ok(db.read_on_own_thread(look).await?)
}

fn look(tx: &Tx<'_>) -> Result<Report, StoreError> {
    let mut report = Report { faults: check::database(tx)?, ..Report::default() };
    if !report.faults.is_empty() {
        // What a damaged file says of its rows means nothing.
        return Ok(report);
    }
    for number in homes::numbers(tx)? {
        let home = homes::load(tx, number)?;
        let (records, events) = check::count(tx, number)?;
        report.homes += 1;
        report.records += records;
        report.events += events;
        let mut faults = check::event_log(tx, number, home.head)?;
        if faults.is_empty() {
            // Only a whole log has the images that the other tables are looked at against.
            faults.extend(audit::images(tx, number)?);
        }
        report.faults.extend(faults.into_iter().map(|fault| format!("home {}: {fault}", home.id)));
    }
    Ok(report)
}

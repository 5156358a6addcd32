//! Verifies that the database file is sound and that its tables agree (contract 17). Changes nothing. Must not know the
//! command line.

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;

use super::error::Error;
use crate::clock::Clock;
use crate::home::{audit, clock_reset};
use crate::store::{Db, HomeNumber, StoreError, Tx, check, homes, schema};

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What was counted. None: the rows could not be read, or the file is damaged and its rows prove nothing.
    pub counts: Option<Counts>,
    /// The faults as sentences. Empty: the database is sound.
    pub faults: Vec<String>,
}

/// The numbers of rows that a check read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Number of homes.
    pub homes: usize,
    /// Number of records, without deleted records.
    pub records: i64,
    /// Number of events in the logs.
    pub events: i64,
}

/// Checks the whole database in one read transaction.
pub async fn check(db: &Db, clock: &Clock) -> Result<Report, Error> {
    let now = clock.now();
    Ok(db.read_on_own_thread(move |tx| check_homes(tx, &homes::numbers(tx)?, now)).await?)
}

/// Checks the file of the database and the two homes of a team (id), for a person who must not learn of other teams. Ends with
/// an error as soon as `is_stopped` says so.
pub async fn check_team(
    db: &Db,
    clock: &Clock,
    team: String,
    is_stopped: impl Fn() -> bool + Send + 'static,
) -> Result<Report, Error> {
    let now = clock.now();
    let checked = db.read_until_stopped(is_stopped, move |tx| {
        let number = |environment| homes::home_of_team(tx, &team, environment).map(|home| home.number);
        check_homes(tx, &[number(Environment::Live)?, number(Environment::Test)?], now)
    });
    Ok(checked.await?)
}

fn check_homes(tx: &Tx<'_>, numbers: &[HomeNumber], now: Timestamp) -> Result<Report, StoreError> {
    let mut found = check::database(tx)?;
    if !found.is_empty() {
        // Rows of a damaged file are not reliable, so the checks of rows would only add noise.
        return Ok(Report { counts: None, faults: found });
    }
    let differences = schema::differences(tx)?;
    if !differences.altered.is_empty() {
        // Reads of altered tables may fail.
        return Ok(Report { counts: None, faults: [differences.altered, differences.unknown].concat() });
    }
    found.extend(differences.unknown);
    let mut counts = Counts::default();
    for &number in numbers {
        let home = homes::load(tx, number)?;
        let (records, events) = check::count(tx, number)?;
        counts.homes += 1;
        counts.records += records;
        counts.events += events;
        let mut faults = check::event_log(tx, number, home.head)?;
        if faults.is_empty() {
            // The audit compares all other tables with the log, so the log must be sound.
            faults.extend(audit::images(tx, number)?);
        }
        faults.extend(clock_reset::ahead(&home, now).map(|last| {
            let id = home.id;
            format!(
                "its clock is at {last}, ahead of now; set it back with `hearth-server home clock --reset --home {id}`"
            )
        }));
        found.extend(faults.into_iter().map(|fault| format!("home {}: {fault}", home.id)));
    }
    Ok(Report { counts: Some(counts), faults: found })
}

//! Verifies that the database file is sound and that its tables agree (contract 17). Changes nothing. Must not know the
//! command line.

use std::sync::Arc;

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use uuid::Uuid;

use super::check_files;
use super::error::Error;
use crate::clock::Clock;
use crate::files::directory;
use crate::files::disk::Disk;
use crate::home::{audit, clock_reset};
use crate::store::{Db, HomeNumber, StoreError, Tx, check, homes, schema};

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What was counted. None: the rows could not be read, or the file is damaged and its rows prove nothing.
    pub counts: Option<Counts>,
    /// The faults as sentences. Empty: the database is sound.
    pub faults: Vec<String>,
    /// What is no fault, as sentences: bytes that belong to no file.
    pub notes: Vec<String>,
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
    /// Number of files.
    pub files: i64,
}

/// Checks the whole database in one read transaction.
pub async fn check(db: &Db, clock: &Clock) -> Result<Report, Error> {
    let now = clock.now();
    let report = db.read_on_own_thread(move |tx| check_homes(tx, &homes::numbers(tx)?, now)).await?;
    Ok(check_bytes(db, report, &|| false).await?)
}

/// Checks the file of the database and the two homes of a team (id), for a person who must not learn of other teams. Ends with
/// an error as soon as `is_stopped` says so.
pub async fn check_team(
    db: &Db,
    clock: &Clock,
    team: String,
    is_stopped: impl Fn() -> bool + Send + Sync + 'static,
) -> Result<Report, Error> {
    let now = clock.now();
    let is_stopped = Arc::new(is_stopped);
    let is_ended = is_stopped.clone();
    let checked = db.read_until_stopped(
        move || is_ended(),
        move |tx| {
            let number = |environment| homes::home_of_team(tx, &team, environment).map(|home| home.number);
            check_homes(tx, &[number(Environment::Live)?, number(Environment::Test)?], now)
        },
    );
    Ok(check_bytes(db, checked.await?, &*is_stopped).await?)
}

/// The result of the check of the tables, and the homes whose files are to be checked.
struct Checked {
    report: Report,
    homes: Vec<(HomeNumber, Uuid)>,
}

/// Adds the check of the bytes of files. They are read outside of the transaction, which would hold up the log of a busy server.
async fn check_bytes(db: &Db, checked: Checked, is_stopped: &impl Fn() -> bool) -> Result<Report, StoreError> {
    let Checked { mut report, homes } = checked;
    let disk = Disk::new(directory(db.dir()));
    for home in homes {
        let found = check_files::files(db, &disk, home, is_stopped).await?;
        report.faults.extend(found.faults.into_iter().map(|fault| format!("home {}: {fault}", home.1)));
        report.notes.extend(found.notes);
        report.counts.iter_mut().for_each(|counts| counts.files += found.files);
    }
    Ok(report)
}

fn check_homes(tx: &Tx<'_>, numbers: &[HomeNumber], now: Timestamp) -> Result<Checked, StoreError> {
    let mut found = check::database(tx)?;
    if !found.is_empty() {
        // Rows of a damaged file are not reliable, so the checks of rows would only add noise.
        return Ok(unread(found));
    }
    let differences = schema::differences(tx)?;
    if !differences.altered.is_empty() {
        // Reads of altered tables may fail.
        return Ok(unread([differences.altered, differences.unknown].concat()));
    }
    found.extend(differences.unknown);
    let (mut counts, mut checked) = (Counts::default(), Vec::new());
    for &number in numbers {
        let home = homes::load(tx, number)?;
        let (records, events) = check::count(tx, number)?;
        counts.homes += 1;
        checked.push((number, home.id));
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
    let report = Report { counts: Some(counts), faults: found, notes: Vec::new() };
    Ok(Checked { report, homes: checked })
}

/// The result of a check whose rows prove nothing.
fn unread(faults: Vec<String>) -> Checked {
    Checked { report: Report { counts: None, faults, notes: Vec::new() }, homes: Vec::new() }
}

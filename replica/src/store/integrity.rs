//! Looks through a database for damage, also in pages that nobody reads. Must not repair.

use std::path::Path;
use std::time::{Duration, Instant};

use hearth_contract::formats::Timestamp;
use rusqlite::{Connection, ErrorCode};

use super::files::{companion, holds_bytes, private_file};
use super::{StoreError, connection, health, marks, read_only};

/// Virtual machine steps between two looks at the clock.
const CLOCK_STEPS: i32 = 10_000;

/// How long a look at the whole database is valid, if nothing writes to the database between the syncs.
pub(crate) const LOOK_VALID_FOR: Duration = Duration::from_secs(24 * 3600);

/// The most faults that an error names.
const FAULTS_MAX: usize = 3;

/// The fault when a reader has met damage, and the time is too short to find the place.
const REPORTED: &str = "a program has met damage while it read";

/// Looks through all pages of a database, for a limited time if `limit` is given. `with_indexes`: and whether every index
/// agrees with its table. True: everything was seen, and is sound. False: the time was too short. An error when the database is
/// damaged, or cannot be read.
pub(crate) fn look(db: &Path, with_indexes: bool, limit: Option<Duration>) -> Result<bool, StoreError> {
    if !holds_bytes(db) {
        return Ok(true);
    }
    let mut connection = read_only::open_any(db)?;
    if let Some(limit) = limit {
        let end = Instant::now() + limit;
        connection.progress_handler(CLOCK_STEPS, Some(move || Instant::now() > end))?;
    }
    for check in ["quick_check", "integrity_check"].into_iter().take(1 + usize::from(with_indexes)) {
        match health::page_faults(&connection, check) {
            Ok(faults) if faults.is_empty() => {}
            Ok(faults) => {
                // SQLite begins with a line that names the database.
                let lines = faults.iter().flat_map(|fault| fault.lines()).filter(|line| !line.starts_with("***"));
                return Err(StoreError::DamagedPages(lines.take(FAULTS_MAX).collect::<Vec<_>>().join("; ")));
            }
            Err(StoreError::Sqlite(error)) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// When the database was last looked through, if that look is still valid: it is at most [`LOOK_VALID_FOR`] old, nothing has written
/// to the database since the last sync, and no reader has reported damage.
pub(crate) fn last_look(db: &Path, now: Timestamp) -> Option<Timestamp> {
    let looked_at = marks::looked_at(db)?;
    let age = u64::try_from(now.millis() - looked_at.millis()).ok()?;
    (Duration::from_millis(age) <= LOOK_VALID_FOR && !is_damage_reported(db)).then_some(looked_at)
}

/// Looks for damage before a claim about a database, for `limit` at most, unless the last look is still valid. When a reader has
/// reported damage, the indexes are looked at too, and a look that the limit ends proves nothing against the report. An error: the
/// database is damaged, or a report of damage stands. Other failures are no damage; the claim's own reads report them.
pub(crate) fn check_before_claim(db: &Path, limit: Duration, now: Timestamp) -> Result<(), StoreError> {
    if last_look(db, now).is_some() {
        return Ok(());
    }
    let is_reported = is_damage_reported(db);
    match look(db, is_reported, Some(limit)) {
        Ok(false) if is_reported => Err(StoreError::DamagedPages(REPORTED.to_owned())),
        Err(error) if error.is_damaged() => Err(error),
        _ => Ok(()),
    }
}

/// True when the process that synced last has not ended in order: a crash or a power cut. The file must hold bytes.
pub(crate) fn was_crash(db: &Path) -> Result<bool, StoreError> {
    let connection: Connection = connection::read_only(db)?;
    let is_replica = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_sync')";
    let text = "SELECT daemon_pid IS NOT NULL FROM _sync";
    let is_replica: bool = connection.query_row(is_replica, [], |row| row.get(0))?;
    Ok(is_replica && connection.query_row(text, [], |row| row.get(0))?)
}

/// Tells the process that syncs that a reader has met damage: makes the file `damaged` beside the database. The process looks
/// through the database at once. An error is ignored; the reader reports the damage itself.
pub fn report_damage(db: &Path) {
    let _ = private_file(&companion(db, "damaged"));
}

/// True when a reader has met damage since the last look.
pub(crate) fn is_damage_reported(db: &Path) -> bool {
    companion(db, "damaged").exists()
}

/// Takes the reports of readers back, after a look or a rebuild.
pub(crate) fn clear_reports(db: &Path) {
    let _ = std::fs::remove_file(companion(db, "damaged"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::open;

    #[test]
    fn report_of_damage_stands_until_look_is_complete() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("a.db");
        let rooms = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
            INSERT INTO rooms (name) SELECT 'Room ' || i FROM n";
        open::read_write(&db).unwrap().execute_batch(rooms).unwrap();
        let now = Timestamp::from_millis(1_000);
        check_before_claim(&db, Duration::ZERO, now).unwrap();
        report_damage(&db);
        assert!(check_before_claim(&db, Duration::ZERO, now).unwrap_err().is_damaged());
        check_before_claim(&db, Duration::from_secs(60), now).unwrap();
    }
    #[test]
    fn look_is_valid_for_a_day_without_reports() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("a.db");
        let looked_at = Timestamp::from_millis(5_000);
        marks::mark(&db, &open::read_write(&db).unwrap(), 1, Some(looked_at));
        let day = LOOK_VALID_FOR.as_millis() as i64;
        for (age, is_valid) in [(0, true), (day, true), (day + 1, false), (-1, false)] {
            assert_eq!(last_look(&db, looked_at.plus_millis(age)).is_some(), is_valid, "{age}");
        }
        report_damage(&db);
        assert_eq!(last_look(&db, looked_at), None);
    }
}

//! Looks for damage while a sync runs, and for the request of a person for a rebuild. Must not repair: the sync ends, and its
//! supervisor rebuilds.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use tokio::time::{Instant, sleep, sleep_until};

use super::core::Until;
use super::error::SyncError;
use crate::store::StoreError;
use crate::store::files::holds_bytes;
use crate::store::integrity::{self, LOOK_VALID_FOR};
use crate::store::marks::{self, MainFile};
use crate::store::salvage::rebuild_request::is_rebuild_requested;

/// How long a start waits for the look at all pages. A larger database is looked through while the sync runs.
const START_LIMIT: Duration = Duration::from_secs(2);
/// How long a start after a crash or a report of damage waits for the look at the indexes. The pages are looked through without a
/// limit.
const INDEX_LIMIT: Duration = Duration::from_secs(10);
/// How often the files of readers and of people are looked for.
const FILE_INTERVAL: Duration = Duration::from_millis(500);
/// So many looks in a row must find an older main file. After SQLite's `.restore` the main file has an earlier mark until the sync
/// has noticed it and has made a new mark.
const OLDER_COPY_LOOKS: u32 = 5;

/// Looks through the database before a sync begins, unless the last look is still valid. Gives the time of the last whole look;
/// None when not everything was seen, and for a new database. An error: the database is damaged.
pub(super) fn look_at_start(db: &Path, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    if !holds_bytes(db) {
        return Ok(None);
    }
    // A valid look was noted at an orderly end, and nothing was written since. So there was no crash, and no report of damage.
    if let still_valid @ Some(_) = integrity::last_look(db, now) {
        return Ok(still_valid);
    }
    let look = || -> Result<Option<Timestamp>, StoreError> {
        if integrity::is_damage_reported(db) || integrity::was_crash(db)? {
            integrity::look(db, false, None)?;
            if integrity::look(db, true, Some(INDEX_LIMIT))? {
                integrity::clear_reports(db);
            }
            return Ok(Some(now));
        }
        Ok(integrity::look(db, false, Some(START_LIMIT))?.then_some(now))
    };
    match look() {
        // The start itself reports other failures, or waits until another program has unlocked the database.
        Err(error) if !error.is_damaged() => Ok(None),
        looked => looked,
    }
}

/// Looks for damage until the sync must end: the database is damaged, or a person wants a rebuild. The whole database is looked
/// through once a day. `looked_at`: the time of the last whole look, if there was one.
pub(super) async fn inspect(db: PathBuf, until: Until, looked_at: Option<Timestamp>, now: Timestamp) -> SyncError {
    let age = looked_at.map(|at| Duration::from_millis(u64::try_from(now.millis() - at.millis()).unwrap_or(0)));
    let mut next_round = Instant::now() + age.map_or(Duration::ZERO, |age| LOOK_VALID_FOR.saturating_sub(age));
    let main = MainFile::open(&db).map(Arc::new);
    let mut older_copies = 0;
    loop {
        let (path, file) = (db.clone(), main.clone());
        let look = move || file.is_some_and(|main| marks::is_older_copy(&path, &main));
        let is_older = tokio::task::spawn_blocking(look).await.unwrap_or_default();
        older_copies = if is_older { older_copies + 1 } else { 0 };
        if older_copies == OLDER_COPY_LOOKS {
            return SyncError::Store(StoreError::NotOfItsLog(db));
        }
        // Only a lasting sync has a supervisor that rebuilds.
        if until == Until::Stopped && is_rebuild_requested(&db) {
            return SyncError::RebuildWanted;
        }
        let is_reported = integrity::is_damage_reported(&db);
        if is_reported || Instant::now() >= next_round {
            let path = db.clone();
            let looked = tokio::task::spawn_blocking(move || integrity::look(&path, is_reported, None)).await;
            match looked {
                Ok(Err(error)) if error.is_damaged() => return SyncError::Store(error),
                Ok(Ok(_)) => integrity::clear_reports(&db),
                // Another failure, such as a locked file, shows in the sync itself. The report of damage stays.
                _ => {}
            }
            next_round = Instant::now() + LOOK_VALID_FOR;
        }
        tokio::select! {
            () = sleep(FILE_INTERVAL) => {}
            () = sleep_until(next_round) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::store::open;

    /// A database in which an index has an old value of a row: `quick_check` does not see it.
    fn with_outdated_index(db: &Path) {
        const INDEX: &str = "_inventory_room_id";
        let rows = "INSERT INTO rooms (name) VALUES ('Hall'); INSERT INTO inventory (name) VALUES ('Chair')";
        open::read_write(db).unwrap().execute_batch(rows).unwrap();
        let connection = || {
            let connection = Connection::open(db).unwrap();
            connection.execute_batch("PRAGMA writable_schema = ON").unwrap();
            connection
        };
        let (without, text) = (connection(), "SELECT tbl_name, rootpage, sql FROM sqlite_schema WHERE name = ?1");
        let row: (String, i64, String) =
            without.query_row(text, [INDEX], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        without.execute("DELETE FROM sqlite_schema WHERE name = ?1", [INDEX]).unwrap();
        drop(without);
        let writer = connection();
        writer.execute("UPDATE inventory SET room_id = (SELECT id FROM rooms)", []).unwrap();
        let insert = "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('index', ?1, ?2, ?3, ?4)";
        writer.execute(insert, (INDEX, row.0, row.1, row.2)).unwrap();
    }

    #[test]
    fn start_after_a_report_looks_at_indexes() {
        let directory = tempfile::tempdir().unwrap();
        let (db, now) = (directory.path().join("replica.db"), Timestamp::from_millis(1_000));
        with_outdated_index(&db);
        assert_eq!(look_at_start(&db, now).unwrap(), Some(now), "a look at the pages alone finds nothing");
        integrity::report_damage(&db);
        assert!(look_at_start(&db, now).unwrap_err().is_damaged());
        assert!(integrity::is_damage_reported(&db));
    }

    #[test]
    fn start_takes_back_a_report_without_damage() {
        let directory = tempfile::tempdir().unwrap();
        let (db, now) = (directory.path().join("replica.db"), Timestamp::from_millis(1_000));
        drop(open::read_write(&db).unwrap());
        integrity::report_damage(&db);
        assert_eq!(look_at_start(&db, now).unwrap(), Some(now));
        assert!(!integrity::is_damage_reported(&db));
    }
}

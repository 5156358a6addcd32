//! The steps of a rebuild. A sound database fetches all records again. A damaged file is copied aside, a new database is made
//! from the copy, and SQLite's backup writes the new database over the damaged one, so that programs that have it open continue.
//! Must not read the tables of a damaged file itself.

use std::io::Write;
use std::path::Path;

use hearth_contract::formats::Timestamp;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ffi};

use super::copies::{delete_database, delete_work_copies, keep_copy, next_copy_path, open_for_repair, open_unclosed};
use super::header::{Header, mend_header};
use super::report::RebuildReport;
use super::{extract, write_carried};
use crate::model::LogLevel;
use crate::store::connection::BUSY_TIMEOUT;
use crate::store::files::{beside, companion, holds_bytes, private_file};
use crate::store::schema::search;
use crate::store::sync_log::log;
use crate::store::{StoreError, gate, health, integrity, marks, open, reconcile, refill, select};

/// Prepares a database to be read anew from the server. A sound database keeps its rows until the server's versions replace
/// them. A damaged database becomes a new one with the edits and records that can be read.
pub(crate) fn rebuild(db: &Path, now: Timestamp) -> Result<RebuildReport, StoreError> {
    delete_work_copies(db);
    integrity::clear_reports(db);
    if is_sound(db)? {
        return fetch_all_again(db);
    }
    let kept = next_copy_path(db, now)?;
    let mut report = with_blank(db, |blank, blank_path| replace_damaged(db, &kept, blank, blank_path))?;
    report.kept_as = Some(kept);
    Ok(report)
}

/// True when the pages and texts of a database are sound. A missing database without a log is sound: a new one is created.
pub(crate) fn is_sound(db: &Path) -> Result<bool, StoreError> {
    let examine = || -> Result<bool, StoreError> { Ok(health::find_damage(&open::read_write(db)?)?.is_empty()) };
    match examine() {
        Err(error) if error.is_damaged() => Ok(false),
        result => result,
    }
}

/// Begins a reconcile that fetches all records of a sound database again. Rows stay until the server's version replaces them.
fn fetch_all_again(db: &Path) -> Result<RebuildReport, StoreError> {
    let mut connection = open::read_write(db)?;
    let edits = gate::sync_tx(&mut connection, |tx| {
        // Before all other writes, because a damaged `search` would make them fail.
        search::refill(tx)?;
        // A home without a server is read from nowhere.
        if !tx.query_row("SELECT phase = 'local' FROM _sync", [], |row| row.get(0))? {
            reconcile::begin_anew(tx, true)?;
            refill::block(tx)?;
        }
        select::count(tx, "SELECT count(*) FROM edits", [])
    })?;
    Ok(RebuildReport { edits, ..RebuildReport::default() })
}

/// Replaces a damaged database by the blank one, filled with what can be read. After an error the damaged file and its
/// log are unchanged, and no copy is kept.
fn replace_damaged(db: &Path, kept: &Path, blank: &Connection, blank_path: &Path) -> Result<RebuildReport, StoreError> {
    let file = open_unclosed(db)?;
    let (mut damaged, header) = lock_damaged(db, blank)?;
    let lock = damaged.as_mut().map(|damaged| hold(blank, damaged)).transpose()?;
    // The new database is complete before the damaged one changes; the backup then replaces it in one commit.
    let prepared = keep_copy(db, file.as_deref(), header, kept).and_then(|()| fill_blank(kept, blank, blank_path));
    delete_work_copies(db);
    // Before the new database is written: its number was never noted.
    let (prepared, marks) = match prepared.and_then(|report| Ok((report, marks::take(db)?))) {
        Ok((report, marks)) => (Ok(report), marks),
        Err(error) => (Err(error), None),
    };
    let copied = match (&prepared, lock) {
        (Err(_), _) => Ok(()),
        (Ok(_), Some(lock)) => lock.run_to_completion(i32::MAX, BUSY_TIMEOUT, None).map_err(StoreError::from),
        (Ok(_), None) => return put_in_place(db, blank).and(prepared),
    };
    let done = copied.and(prepared);
    if done.is_err() {
        marks::put_back(db, marks)?;
        drop(damaged);
        if let Some(header) = header {
            restore_header(db, &header)?;
        }
        delete_database(kept)?;
    } else if let Some(replaced) = &damaged {
        replaced.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    }
    done
}

/// Fills the blank database with what can be read of the kept copy, and logs the result.
fn fill_blank(kept: &Path, blank: &Connection, blank_path: &Path) -> Result<RebuildReport, StoreError> {
    let data = extract::extract(kept, blank)?;
    let mut new = open::read_write(blank_path)?;
    let report = write_carried::write(&mut new, data)?;
    let name = kept.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    gate::sync_tx(&mut new, |tx| {
        let RebuildReport { records, edits, .. } = report;
        let (record_word, edit_word) =
            (if records == 1 { "record" } else { "records" }, if edits == 1 { "edit" } else { "edits" });
        let text = format!(
            "The database was replaced by a new one; {records} {record_word} and {edits} {edit_word} were carried over. The \
             old file is kept as {name}."
        );
        log(tx, LogLevel::Warning, &text)?;
        report.lost.iter().try_for_each(|sentence| log(tx, LogLevel::Warning, sentence))
    })?;
    Ok(report)
}

/// Writes the original header back into a file whose header was mended.
fn restore_header(db: &Path, header: &Header) -> Result<(), StoreError> {
    open_for_repair(db).and_then(|mut file| file.write_all(header)).map_err(StoreError::at(db))
}

/// A connection that can lock the damaged file, and the original header when the header had to be mended for it. No connection
/// when the file is empty or SQLite cannot lock it: writes of other programs meanwhile are lost, like the file's content.
fn lock_damaged(db: &Path, blank: &Connection) -> Result<(Option<Connection>, Option<Header>), StoreError> {
    if !holds_bytes(db) {
        return Ok((None, None));
    }
    let try_lock = || -> Result<Option<Connection>, StoreError> {
        let mut damaged = Connection::open(db)?;
        // The log may belong to another main file. After an error both must be as before.
        damaged.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        damaged.busy_timeout(BUSY_TIMEOUT)?;
        match hold(blank, &mut damaged).map(drop) {
            Err(error) if error.is_busy() || error.is_write_failure() => Err(error),
            held => Ok(held.is_ok().then_some(damaged)),
        }
    };
    if let Some(damaged) = try_lock()? {
        return Ok((Some(damaged), None));
    }
    match open_for_repair(db).and_then(|mut file| mend_header(&mut file)) {
        Ok(header) => Ok((try_lock()?, Some(header))),
        Err(_) => Ok((None, None)),
    }
}

/// Starts a backup of `source` over `target`, which locks the target: no other connection can commit to it until the backup is
/// dropped or complete. Connections to the target see the source afterwards.
fn hold<'a>(source: &'a Connection, target: &'a mut Connection) -> Result<Backup<'a, 'a>, StoreError> {
    let backup = Backup::new(source, target)?;
    // A step of no page takes the lock.
    match backup.step(0)? {
        StepResult::Busy | StepResult::Locked => {
            Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None).into())
        }
        _ => Ok(backup),
    }
}

/// Puts the new database at a path whose file could not be locked.
fn put_in_place(db: &Path, new: &Connection) -> Result<(), StoreError> {
    if holds_bytes(db) || !db.exists() {
        delete_database(db)?;
        private_file(db).map_err(StoreError::at(db))?;
    }
    let mut empty = Connection::open(db)?;
    Ok(hold(new, &mut empty)?.run_to_completion(i32::MAX, BUSY_TIMEOUT, None)?)
}

/// Runs `work` with an empty replica beside the database, and deletes the replica afterwards.
fn with_blank<T>(db: &Path, work: impl FnOnce(&Connection, &Path) -> Result<T, StoreError>) -> Result<T, StoreError> {
    let blank_path = beside(db, ".blank");
    delete_database(&blank_path)?;
    let done = open::read_write(&blank_path).and_then(|blank| work(&blank, &blank_path));
    delete_database(&blank_path)?;
    for name in ["setup", "lock", "changed"] {
        let _ = std::fs::remove_file(companion(&blank_path, name));
    }
    done
}

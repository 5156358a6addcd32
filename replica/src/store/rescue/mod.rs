//! A database that is damaged or wanted anew: the damaged file is kept aside, the rest is read again from the server,
//! and what only exists here is carried over. Must not write to a file that others may write to meanwhile.
//!
//! [`health`] finds the damage, [`salvage`] reads around it; [`carry`] is what goes on, [`traces`] what lost edits have
//! left, [`strangers`] what others have made and [`columns`] what they have added to tables of ours, [`aside`] the files that
//! are kept; [`copy`] is for those who look ahead.

mod aside;
mod carry;
mod columns;
pub(crate) mod copy;
pub(crate) mod health;
mod salvage;
mod strangers;
mod traces;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ffi};

use self::aside::{clear_away, found, keep_aside, place_aside, remove, to_mend};
use self::salvage::Header;
use crate::store::place::holds_bytes;
use crate::store::recovery::lost;
use crate::store::schema::search;
use crate::store::{StoreError, gate, log, open, schema};

pub use aside::KEPT_MAX;
pub(crate) use aside::damaged_copies;
#[cfg(test)]
pub(in crate::store) use carry::LOCAL;

/// What became of a database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rescue {
    /// Where the damaged file is kept; None when every page of the database was sound.
    pub kept_as: Option<PathBuf>,
    /// Whether a table, trigger or view was missing of such a one; it is made anew.
    pub lacked: bool,
    /// Edits that go on.
    pub edits: usize,
    /// What could not be carried over, a sentence each.
    pub lost: Vec<String>,
    /// Edits that wait for a person, because it is not known any more which home they are for.
    pub parked: usize,
}

/// Makes a database fit to be filled from the server again. Rows stay until the server's word replaces them if the
/// database is sound, else it begins empty but for the edits.
pub(crate) fn rebuild(db: &Path, now: Timestamp) -> Result<Rescue, StoreError> {
    clear_away(db);
    if is_sound(db)? {
        return start_over(db);
    }
    let kept = place_aside(db, now)?;
    let mut rescue = with_blank(db, |blank, beside| {
        let whole = found(db)?;
        let (mut damaged, header) = take_in_hand(db, blank)?;
        let held = damaged.as_mut().map(|damaged| hold(blank, damaged)).transpose()?;
        // The new one is made beside: the damaged one becomes it in one commit, and is what it was until then.
        let prepared = keep_aside(db, whole.as_deref(), header, &kept).and_then(|()| prepare(&kept, blank, beside));
        clear_away(db);
        let done = match (&prepared, held) {
            (Err(_), _) => Ok(()),
            (Ok(_), Some(held)) => held.run_to_completion(i32::MAX, open::BUSY_TIMEOUT, None).map_err(StoreError::from),
            (Ok(_), None) => return replace(db, blank).and(prepared),
        };
        let done = done.and(prepared);
        if done.is_err() {
            // Nothing else was done to the damaged one than to mend its header, so a copy of it tells nothing more.
            drop(damaged);
            if let Some(header) = header {
                put_back(db, &header)?;
            }
            remove(&kept)?;
        }
        done
    })?;
    rescue.kept_as = Some(kept);
    Ok(rescue)
}

/// Fills a blank replica with what can be read of the damaged one, and says so in its journal.
fn prepare(kept: &Path, blank: &Connection, new: &Path) -> Result<Rescue, StoreError> {
    let saved = carry::read(kept, blank)?;
    let mut new = open::read_write(new)?;
    let rescue = carry::restore(&mut new, saved)?;
    let name = kept.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    gate::keep(&mut new, |tx| {
        let (edits, were) = (rescue.edits, if rescue.edits == 1 { "edit was" } else { "edits were" });
        let text = format!(
            "The database was replaced by a new one; {edits} {were} carried over. The old file is kept as {name}."
        );
        log(tx, "warning", &text)?;
        rescue.lost.iter().try_for_each(|sentence| log(tx, "warning", sentence))
    })?;
    Ok(rescue)
}

/// Whether every page of the database is what it must be, and every text. A missing one is sound if it left no log behind.
fn is_sound(db: &Path) -> Result<bool, StoreError> {
    let look = || -> Result<bool, StoreError> {
        let connection = open::read_write(db)?;
        Ok(health::faults(&connection, "quick_check")?.is_empty() && health::garbled(&connection)?.is_empty())
    };
    match look() {
        Err(error) if error.is_damaged() => Ok(false),
        result => result,
    }
}

/// Forgets where the feed was read to, so that everything is read and compared again. A recovery from a server that was
/// put back begins anew instead: it lists everything too, asks before it deletes much, and offers at its end what the
/// server has lost, which nothing else does once it is forgotten.
fn start_over(db: &Path) -> Result<Rescue, StoreError> {
    let mut connection = open::read_write(db)?;
    // Tables, triggers and views too: somebody may have dropped one.
    let lacked = !schema::missing(&connection)?.is_empty();
    schema::renew(&mut connection)?;
    // First of all that writes: whatever was done to it, nobody stumbles over it afterwards.
    search::refill(&mut connection)?;
    let edits = gate::keep(&mut connection, |tx| {
        let whole = "SELECT filled AND NOT replay AND NOT EXISTS (SELECT 1 FROM _reconcile) FROM _sync";
        if tx.query_row(whole, [], |row| row.get(0))? {
            lost::note_overwritten(tx)?;
        }
        for kind in Kind::ALL {
            // Whatever the server says is newer than this.
            tx.execute_batch(&format!("UPDATE {} SET rev = 0 WHERE rev IS NOT NULL", kind.collection()))?;
        }
        let again: bool =
            tx.query_row("SELECT EXISTS (SELECT 1 FROM _reconcile WHERE cause = 'restored')", [], |row| row.get(0))?;
        tx.execute_batch(
            // Deletes too: what was put back there from an older copy is told again, and nothing else.
            "UPDATE _base SET rev = 0, gone = 0;
             DELETE FROM _tombstones;
             DELETE FROM _seen;
             DELETE FROM _walk_pages;",
        )?;
        tx.execute_batch(if again {
            // A cursor that the server does not know, which alone stops it without a question, is given up as well.
            "UPDATE _sync SET cursor = CASE WHEN phase = 'blocked' AND (SELECT question IS NULL FROM _reconcile) THEN NULL
                 ELSE cursor END;
             UPDATE _reconcile SET since = NULL, step = 'property', kind = NULL, cursor = NULL, as_of = NULL, question = NULL,
                 tail = CASE WHEN (SELECT cursor IS NULL FROM _sync) THEN 0 ELSE tail END;
             UPDATE _sync SET replay = 0, current_at = NULL, phase = 'new', reason = NULL, verified_at = NULL;"
        } else {
            // Whether these are in, the recovery that was under way would have shown; asked again, by their keys, the server tells.
            "DELETE FROM _reconcile;
             UPDATE edits SET state = 'waiting' WHERE id IN (SELECT edit_id FROM _acked WHERE rev IS NULL);
             DELETE FROM _acked WHERE rev IS NULL;
             UPDATE _sync SET cursor = NULL, position = 0, head = NULL, filled = 0, replay = 1, current_at = NULL,
                 phase = 'new', reason = NULL, verified_at = NULL;"
        })?;
        log(tx, "info", "Reading everything again, because a person asked for it.")?;
        Ok(tx.query_row("SELECT count(*) FROM edits", [], |row| row.get::<_, i64>(0))?)
    })?;
    Ok(Rescue { lacked, edits: usize::try_from(edits).unwrap_or_default(), ..Rescue::default() })
}

/// Leaves a file that was mended as it was found.
fn put_back(db: &Path, header: &Header) -> Result<(), StoreError> {
    to_mend(db).and_then(|mut file| file.write_all(header)).map_err(|error| StoreError::File(db.to_owned(), error))
}

/// A connection to the damaged file that can hold it, and how the file began if that had to be mended for it. None: there is
/// nothing in it, or SQLite cannot take it in hand at all; what others write to it meanwhile is as lost as what it held.
fn take_in_hand(db: &Path, blank: &Connection) -> Result<(Option<Connection>, Option<Header>), StoreError> {
    if !holds_bytes(db) {
        return Ok((None, None));
    }
    let try_once = || -> Result<Option<Connection>, StoreError> {
        let mut damaged = Connection::open(db)?;
        damaged.busy_timeout(open::BUSY_TIMEOUT)?;
        match hold(blank, &mut damaged).map(drop) {
            Err(error) if error.is_busy() || error.is_unwritten() => Err(error),
            held => Ok(held.is_ok().then_some(damaged)),
        }
    };
    if let Some(damaged) = try_once()? {
        return Ok((Some(damaged), None));
    }
    match to_mend(db).and_then(|mut file| salvage::mend_header(&mut file)) {
        Ok(header) => Ok((try_once()?, Some(header))),
        Err(_) => Ok((None, None)),
    }
}

/// Holds a database so that nobody else commits anything to it, until what is given is dropped or has written the blank
/// one over it, page by page: programs which have it open go on with the new one.
fn hold<'a>(blank: &'a Connection, damaged: &'a mut Connection) -> Result<Backup<'a, 'a>, StoreError> {
    let held = Backup::new(blank, damaged)?;
    // No page yet, but the lock that is kept until the last.
    match held.step(0)? {
        StepResult::Busy | StepResult::Locked => {
            Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None).into())
        }
        _ => Ok(held),
    }
}

/// Puts the new database where nothing is that could be held.
fn replace(db: &Path, new: &Connection) -> Result<(), StoreError> {
    if holds_bytes(db) || !db.exists() {
        remove(db)?;
        open::private_file(db).map_err(|error| StoreError::File(db.to_owned(), error))?;
    }
    let mut empty = Connection::open(db)?;
    Ok(hold(new, &mut empty)?.run_to_completion(i32::MAX, open::BUSY_TIMEOUT, None)?)
}

/// Does something with an empty replica, which is made beside a database and thrown away.
fn with_blank<T>(db: &Path, f: impl FnOnce(&Connection, &Path) -> Result<T, StoreError>) -> Result<T, StoreError> {
    let blank = open::beside(db, ".blank");
    remove(&blank)?;
    let done = open::read_write(&blank).and_then(|empty| f(&empty, &blank));
    remove(&blank)?;
    for part in ["setup", "lock", "bell"] {
        let _ = fs::remove_file(open::companion(&blank, part));
    }
    done
}

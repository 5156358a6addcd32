//! Does the main file of a database belong to its log? Each sync writes a random number into the header of the main file
//! (`PRAGMA user_version`), when it begins and when it ends in order, and into the file `marks` beside the database. A main file
//! with an earlier number of this replica is an older copy: SQLite would write the pages of the log into it. A number that no
//! sync has written proves nothing, because a script may set it. Must not repair.
//!
//! The note of a sync that ended in order also says how the main file was left, and when it was last looked through for damage.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use hearth_contract::formats::Timestamp;

use rusqlite::{Connection, OpenFlags};

use super::StoreError;
use super::connection::BUSY_TIMEOUT;
use super::files::{beside, companion, holds_bytes, private_file};

/// The place of `user_version` in the main file (<https://www.sqlite.org/fileformat2.html>, 1.3), and the end of that number.
const NUMBER_START: usize = 60;
const NUMBER_END: usize = 64;
/// The most numbers that are noted. More are noted only when a program keeps the log from being written into the main file
/// during so many syncs; nothing is claimed about the file then.
const NOTED_MAX: usize = 64;
/// The most earlier numbers that are kept. A copy from before more syncs is not recognised.
const PAST_MAX: usize = 1000;
/// The beginning of a line with an earlier number.
const PAST: &str = "past ";
/// The beginning of the line that says how a sync left the main file.
const LEFT: &str = "left ";
/// How often the file and the note are read until both belong together, while a sync changes them.
const READS_MAX: usize = 5;

/// Databases that this process has found to belong to their log. The main file is read once, because its handle stays open.
static CHECKED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// What the file `marks` holds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Note {
    /// The numbers that the main file may have, a line each.
    current: Vec<i32>,
    /// Numbers that the main file had before, oldest first: lines `past N`.
    past: Vec<i32>,
    /// How the last sync left the main file: a line `left BYTES NANOSECONDS MILLISECONDS`.
    left: Option<Left>,
}

/// The main file at the end of a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    /// The length of the main file.
    bytes: u64,
    /// When the main file was last written, in nanoseconds since 1970.
    written_at: u128,
    /// When the main file was last looked through for damage, in milliseconds since 1970.
    looked_at: i64,
}

impl Left {
    fn read(db: &Path, looked_at: i64) -> Option<Left> {
        let file = fs::metadata(db).ok()?;
        let written_at = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        Some(Left { bytes: file.len(), written_at, looked_at })
    }

    fn parse(text: &str) -> Option<Left> {
        let (bytes, rest) = text.split_once(' ')?;
        let (written_at, looked_at) = rest.split_once(' ')?;
        Some(Left {
            bytes: bytes.parse().ok()?,
            written_at: written_at.parse().ok()?,
            looked_at: looked_at.parse().ok()?,
        })
    }
}

/// Marks the main file with a random number. Errors are ignored: the file then keeps a number that is noted. `looked_at`: at the
/// end of a sync, when the database was last looked through for damage.
pub(crate) fn mark(db: &Path, number: i32, looked_at: Option<Timestamp>) {
    let _ = try_mark(db, number, looked_at);
}

/// When the database was last looked through for damage. None when something may have written to it since the last sync.
pub(super) fn looked_at(db: &Path) -> Option<Timestamp> {
    let left = noted(db)?.left?;
    let is_as_left = Left::read(db, left.looked_at) == Some(left) && !holds_bytes(&beside(db, "-wal"));
    is_as_left.then(|| Timestamp::from_millis(left.looked_at))
}

fn try_mark(db: &Path, number: i32, looked_at: Option<Timestamp>) -> Result<(), StoreError> {
    let at = |error| StoreError::File(note_path(db), error);
    let noted = noted(db);
    if noted.as_ref().is_some_and(|note| note.current.len() >= NOTED_MAX) {
        return forget(db).map_err(at);
    }
    // Noted first: after a power cut the main file has no number that is not noted.
    if noted.is_some() {
        append(db, number).map_err(at)?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(db, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "user_version", number)?;
    let is_in_main_file = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok(row.get::<_, i64>(0)? == 0 && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)
    })?;
    if is_in_main_file {
        let left = looked_at.and_then(|looked_at| Left::read(db, looked_at.millis()));
        replace(db, Note { left, ..noted.unwrap_or_default() }, number).map_err(at)?;
    }
    Ok(())
}

/// An error when a log is beside the main file, and the main file has an earlier number of this replica. Without a log, such a
/// file is a whole copy that a person has put there. The note is then void, as with a number that was never noted.
pub(super) fn check(db: &Path) -> Result<(), StoreError> {
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    if checked.contains(db) {
        return Ok(());
    }
    for _ in 0..READS_MAX {
        let Some(before) = noted(db) else { return Ok(()) };
        let Some(found) = number_in_main_file(db) else { return Ok(()) };
        if before.current.contains(&found) {
            checked.insert(db.to_owned());
            return Ok(());
        }
        // A sync may have written a new number between both reads.
        if noted(db).is_some_and(|after| after == before) {
            return match before.past.contains(&found) && holds_bytes(&beside(db, "-wal")) {
                true => Err(StoreError::NotOfItsLog(db.to_owned())),
                false => forget(db).map_err(|error| StoreError::File(note_path(db), error)),
            };
        }
    }
    Ok(())
}

fn forget(db: &Path) -> io::Result<()> {
    match fs::remove_file(note_path(db)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Deletes the note and returns it, before the database is replaced. None: there was no note.
pub(super) fn take(db: &Path) -> Result<Option<String>, StoreError> {
    let text = fs::read_to_string(note_path(db)).ok();
    forget(db).map_err(|error| StoreError::File(note_path(db), error))?;
    Ok(text)
}

/// Writes the note that [`take`] has returned again, when the database was not replaced.
pub(super) fn put_back(db: &Path, note: Option<String>) -> Result<(), StoreError> {
    let Some(text) = note else { return Ok(()) };
    write_note(db, &text).map_err(|error| StoreError::File(note_path(db), error))
}

fn note_path(db: &Path) -> PathBuf {
    companion(db, "marks")
}

/// The note; None when there is none. Lines that are no numbers are skipped.
fn noted(db: &Path) -> Option<Note> {
    let text = fs::read_to_string(note_path(db)).ok()?;
    let mut note = Note::default();
    for line in text.lines() {
        if let Some(left) = line.strip_prefix(LEFT) {
            note.left = Left::parse(left);
            continue;
        }
        let (numbers, digits) = match line.strip_prefix(PAST) {
            Some(digits) => (&mut note.past, digits),
            None => (&mut note.current, line),
        };
        numbers.extend(digits.parse::<i32>());
    }
    Some(note)
}

/// Adds a number in one write that begins a new line. So a write that a kill has cut is not glued to the next number.
fn append(db: &Path, number: i32) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().append(true).open(note_path(db))?;
    file.write_all(format!("\n{number}\n").as_bytes())?;
    file.sync_all()
}

/// Writes a note, in which this number is the only present number of the main file.
fn replace(db: &Path, before: Note, number: i32) -> io::Result<()> {
    let mut past = before.past;
    past.extend(before.current);
    past.retain(|earlier| *earlier != number);
    past.drain(..past.len().saturating_sub(PAST_MAX));
    let mut text = String::new();
    for earlier in past {
        let _ = writeln!(text, "{PAST}{earlier}");
    }
    let _ = writeln!(text, "{number}");
    if let Some(Left { bytes, written_at, looked_at }) = before.left {
        let _ = writeln!(text, "{LEFT}{bytes} {written_at} {looked_at}");
    }
    write_note(db, &text)
}

fn write_note(db: &Path, text: &str) -> io::Result<()> {
    let part = companion(db, "marks.part");
    let mut file = private_file(&part)?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(part, note_path(db))
}

/// The number in the header of the main file, whatever the log holds; None when the file is too short or cannot be read.
fn number_in_main_file(db: &Path) -> Option<i32> {
    // Closing a handle would release the locks that other connections of this process have on the file.
    let file = ManuallyDrop::new(fs::File::open(db).ok()?);
    let mut header = [0; NUMBER_END];
    (&*file).read_exact(&mut header).ok()?;
    header[NUMBER_START..].try_into().ok().map(i32::from_be_bytes)
}

#[cfg(test)]
mod tests;

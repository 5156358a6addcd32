//! Does the main file of a database belong to its log? Each sync writes a random number into the header of the main file
//! (`PRAGMA user_version`), when it begins and when it ends in order, and into the file `marks` beside the database. A main file
//! with an earlier number of this replica is an older copy: SQLite would write the pages of the log into it. A number that no
//! sync has written proves nothing, because a script may set it. Must not repair.
//!
//! The note of a `sync` that ended in order also says what the file system told about the main file at the end, and when the file
//! was last looked through for damage.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Seek, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hearth_contract::formats::Timestamp;

use rusqlite::Connection;

use super::StoreError;
use super::files::{beside, companion, holds_bytes, write_whole};

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
/// The beginning of the line about the main file at the end of a sync.
const END: &str = "end ";
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
    /// The main file at the end of the last sync: a line `end FILE_NUMBER BYTES NANOSECONDS MILLISECONDS`.
    end: Option<EndState>,
}

/// The main file at the end of a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EndState {
    /// The number that the file system gives to the file. A copy has another.
    inode: u64,
    /// The length of the main file.
    bytes: u64,
    /// When the main file or its attributes were last changed, in nanoseconds since 1970. No program can set this time.
    changed_at: i128,
    /// When the main file was last looked through for damage, in milliseconds since 1970.
    looked_at: i64,
}

impl Note {
    /// True when a main file with this number is an older copy that does not belong to the log beside it.
    fn is_older_copy(&self, db: &Path, number: i32) -> bool {
        self.past.contains(&number) && holds_bytes(&beside(db, "-wal"))
    }
}

impl EndState {
    fn read(db: &Path, looked_at: i64) -> Option<EndState> {
        use std::os::unix::fs::MetadataExt;
        let file = fs::metadata(db).ok()?;
        let changed_at = i128::from(file.ctime()) * 1_000_000_000 + i128::from(file.ctime_nsec());
        Some(EndState { inode: file.ino(), bytes: file.len(), changed_at, looked_at })
    }

    fn parse(text: &str) -> Option<EndState> {
        let [inode, bytes, changed_at, looked_at] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
        Some(EndState {
            inode: inode.parse().ok()?,
            bytes: bytes.parse().ok()?,
            changed_at: changed_at.parse().ok()?,
            looked_at: looked_at.parse().ok()?,
        })
    }
}

/// Marks the main file with a random number. Errors are ignored: the file then keeps a number that is noted. `looked_at`: when the
/// database was last looked through for damage, if that is to be noted; only at the end of a sync.
pub(crate) fn mark(db: &Path, connection: &Connection, number: i32, looked_at: Option<Timestamp>) {
    let _ = try_mark(db, connection, number, looked_at);
}

/// When the database was last looked through for damage. None when something may have written to it since the last sync.
pub(super) fn looked_at(db: &Path) -> Option<Timestamp> {
    let end = noted(db)?.end?;
    let is_unchanged = EndState::read(db, end.looked_at) == Some(end) && !holds_bytes(&beside(db, "-wal"));
    is_unchanged.then(|| Timestamp::from_millis(end.looked_at))
}

fn try_mark(db: &Path, connection: &Connection, number: i32, looked_at: Option<Timestamp>) -> Result<(), StoreError> {
    let path = note_path(db);
    let at = StoreError::at(&path);
    let noted = noted(db);
    if noted.as_ref().is_some_and(|note| note.current.len() >= NOTED_MAX) {
        return forget(db).map_err(&at);
    }
    // Noted first: after a power cut the main file has no number that is not noted.
    if noted.is_some() {
        append(db, number).map_err(&at)?;
    }
    connection.pragma_update(None, "user_version", number)?;
    let is_in_main_file = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok(row.get::<_, i64>(0)? == 0 && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)
    })?;
    if is_in_main_file {
        let end = looked_at.and_then(|looked_at| EndState::read(db, looked_at.millis()));
        replace(db, Note { end, ..noted.unwrap_or_default() }, number).map_err(&at)?;
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
        let Some(found) = MainFile::open(db).and_then(|main| main.number()) else { return Ok(()) };
        if before.current.contains(&found) {
            checked.insert(db.to_owned());
            return Ok(());
        }
        // A sync may have written a new number between both reads.
        if noted(db).is_some_and(|after| after == before) {
            return match before.is_older_copy(db, found) {
                true => Err(StoreError::NotOfItsLog(db.to_owned())),
                false => forget(db).map_err(StoreError::at(&note_path(db))),
            };
        }
    }
    Ok(())
}

/// True when the main file has now an earlier number of this replica, beside a log: somebody has copied an older file over it.
pub(crate) fn is_older_copy(db: &Path, main: &MainFile) -> bool {
    let found = main.number().zip(noted(db));
    found.is_some_and(|(number, note)| !note.current.contains(&number) && note.is_older_copy(db, number))
}

/// [`is_older_copy`] with a handle of its own, for the rare moment after a copy.
pub(crate) fn has_older_content(db: &Path) -> bool {
    MainFile::open(db).is_some_and(|main| is_older_copy(db, &main))
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
    forget(db).map_err(StoreError::at(&note_path(db)))?;
    Ok(text)
}

/// Writes the note that [`take`] has returned again, when the database was not replaced.
pub(super) fn put_back(db: &Path, note: Option<String>) -> Result<(), StoreError> {
    let Some(text) = note else { return Ok(()) };
    write_whole(&note_path(db), text.as_bytes()).map_err(StoreError::at(&note_path(db)))
}

fn note_path(db: &Path) -> PathBuf {
    companion(db, "marks")
}

/// The note; None when there is none. Lines that cannot be read are skipped.
fn noted(db: &Path) -> Option<Note> {
    let text = fs::read_to_string(note_path(db)).ok()?;
    let mut note = Note::default();
    for line in text.lines() {
        if let Some(end) = line.strip_prefix(END) {
            note.end = EndState::parse(end);
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
    if let Some(EndState { inode, bytes, changed_at, looked_at }) = before.end {
        let _ = writeln!(text, "{END}{inode} {bytes} {changed_at} {looked_at}");
    }
    write_whole(&note_path(db), text.as_bytes())
}

/// A handle on a main file. It is never closed: that would release the locks that other connections of this process have on the
/// file.
#[derive(Debug)]
pub(crate) struct MainFile(ManuallyDrop<fs::File>);

impl MainFile {
    /// None when there is no file, or when it cannot be read.
    pub(crate) fn open(db: &Path) -> Option<MainFile> {
        Some(MainFile(ManuallyDrop::new(fs::File::open(db).ok()?)))
    }

    /// The number in the header, whatever the log holds; None when the file is too short or cannot be read.
    fn number(&self) -> Option<i32> {
        let mut header = [0; NUMBER_END];
        (&*self.0).rewind().and_then(|()| (&*self.0).read_exact(&mut header)).ok()?;
        header[NUMBER_START..].try_into().ok().map(i32::from_be_bytes)
    }
}

#[cfg(test)]
mod tests;

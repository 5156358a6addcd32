//! A database that is damaged or wanted anew: the damaged file is kept aside, the rest is read again from the server,
//! and what only exists here (the edits, and what the server had said of their records) is carried over. Must not lose
//! an edit without naming it.
//!
//! [`health`] finds the damage, [`salvage`] reads around it; [`copy`] is for those who look ahead.

pub(crate) mod copy;
pub(crate) mod health;
mod salvage;

use std::fs;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Transaction, ffi, params_from_iter};

use crate::store::mirror::image;
use crate::store::place::holds_bytes;
use crate::store::rescue::salvage::Salvaged;
use crate::store::schema::search;
use crate::store::{StoreError, gate, log, open, rows, schema};

/// Damaged copies of one database that may lie about. One more is a sign that something destroys it again and again.
pub const KEPT_MAX: usize = 5;

/// The tables that hold what the server cannot tell again.
pub(crate) const LOCAL: [&str; 9] =
    ["edits", "edit_history", "_requests", "_frozen", "_sent", "_parts", "_undone", "_images", "sync_log"];

/// Where the numbers of edits stand. One that was ever given is never given again, whatever became of its edit.
const NUMBERED: [(&str, &str); 9] = [
    ("edits", "id"),
    ("edit_history", "id"),
    ("_frozen", "edit_id"),
    ("_sent", "edit_id"),
    ("_parts", "edit_id"),
    ("_parts", "of_edit"),
    ("_undone", "edit_id"),
    ("_undone", "by_edit"),
    (COUNTED, "seq"),
];
/// Where SQLite itself counts them.
const COUNTED: &str = "sqlite_sequence";

/// What is added to the name of a damaged copy for another that is read.
const READING: &str = ".reading";

/// What became of a database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rescue {
    /// Where the damaged file is kept; None when the database was sound.
    pub kept_as: Option<PathBuf>,
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
        let rescue = start_over(db)?;
        search::refill(&mut open::read_write(db)?)?;
        return Ok(rescue);
    }
    let kept = place_aside(db, now)?;
    let mut rescue = with_blank(db, |blank, beside| {
        // Read through one handle that is closed last: to close any handle of a file ends the locks that this process has on it.
        let whole = found(db)?;
        let (mut damaged, header) = take_in_hand(db, blank)?;
        let held = damaged.as_mut().map(|damaged| hold(blank, damaged)).transpose()?;
        // The new one is made beside: the damaged one becomes it in one commit, and is what it was until then.
        let prepared = keep_aside(db, whole.as_ref(), header, &kept).and_then(|()| prepare(&kept, blank, beside));
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
    let saved = read(kept, blank)?;
    let mut new = open::read_write(new)?;
    let rescue = restore(&mut new, saved)?;
    let name = kept.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    gate::keep(&mut new, |tx| {
        let (edits, were) = (rescue.edits, if rescue.edits == 1 { "edit was" } else { "edits were" });
        let text = format!("The database was damaged; {edits} {were} carried over. It is kept as {name}.");
        log(tx, "warning", &text)?;
        rescue.lost.iter().try_for_each(|sentence| log(tx, "warning", sentence))
    })?;
    Ok(rescue)
}

/// The damaged copies of a database, oldest first.
pub(crate) fn damaged_copies(db: &Path) -> Vec<PathBuf> {
    set_aside(db, |name| name.ends_with('Z'))
}

/// What bears the name of a damaged copy, or of what is made beside one, as far as the name holds, in its order.
fn set_aside(db: &Path, holds: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let (Some(directory), Some(name)) = (db.parent(), db.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let beginning = format!("{name}.damaged-");
    let is_meant = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&beginning) && holds(name)
    };
    let mut found: Vec<PathBuf> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_meant).collect();
    found.sort();
    found
}

/// Removes the copies that were made to be read, those of a rebuild that was cut off too: they take the room of a database
/// each, and nobody else misses what cannot be removed.
fn clear_away(db: &Path) {
    for copy in set_aside(db, |name| name.contains(READING)) {
        let _ = fs::remove_file(copy);
    }
}

/// Whether every page of the database is what it must be, and every text. A missing one is sound if it left no log behind.
fn is_sound(db: &Path) -> Result<bool, StoreError> {
    let look = || -> Result<bool, StoreError> {
        let connection = open::read_write(db)?;
        let answer: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        Ok(answer == "ok" && health::garbled(&connection)?.is_empty())
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
    schema::renew(&mut connection)?;
    let edits = gate::keep(&mut connection, |tx| {
        for kind in Kind::ALL {
            // Whatever the server says is newer than this.
            tx.execute_batch(&format!("UPDATE {} SET rev = 0 WHERE rev IS NOT NULL", kind.collection()))?;
        }
        let again: bool =
            tx.query_row("SELECT EXISTS (SELECT 1 FROM _recovery WHERE cause = 'restored')", [], |row| row.get(0))?;
        tx.execute_batch(
            // Deletes too: what was put back there from an older copy is told again, and nothing else.
            "UPDATE _images SET rev = 0, gone = 0;
             DELETE FROM _tombs;
             DELETE FROM _shown;
             DELETE FROM _walked;",
        )?;
        tx.execute_batch(if again {
            // A cursor that the server does not know, which alone stops it without a question, is given up as well.
            "UPDATE _sync SET cursor = CASE WHEN phase = 'blocked' AND (SELECT question IS NULL FROM _recovery) THEN NULL
                 ELSE cursor END;
             UPDATE _recovery SET since = NULL, step = 'property', kind = NULL, cursor = NULL, as_of = NULL, question = NULL,
                 tail = CASE WHEN (SELECT cursor IS NULL FROM _sync) THEN 0 ELSE tail END;
             UPDATE _sync SET replay = 0, current_at = NULL, phase = 'new', reason = NULL, verified_at = NULL;"
        } else {
            // Whether these are in, the recovery that was under way would have shown; asked again, by their keys, the server tells.
            "DELETE FROM _recovery;
             UPDATE edits SET state = 'waiting' WHERE id IN (SELECT edit_id FROM _sent WHERE rev IS NULL);
             DELETE FROM _sent WHERE rev IS NULL;
             UPDATE _sync SET cursor = NULL, position = 0, head = NULL, filled = 0, replay = 1, current_at = NULL,
                 phase = 'new', reason = NULL, verified_at = NULL;"
        })?;
        log(tx, "info", "Reading everything again, because a person asked for it.")?;
        Ok(tx.query_row("SELECT count(*) FROM edits", [], |row| row.get::<_, i64>(0))?)
    })?;
    Ok(Rescue { edits: usize::try_from(edits).unwrap_or_default(), ..Rescue::default() })
}

/// Where the damaged file is to be kept.
fn place_aside(db: &Path, now: Timestamp) -> Result<PathBuf, StoreError> {
    let copies = damaged_copies(db).len();
    if copies >= KEPT_MAX {
        return Err(StoreError::TooOften(copies));
    }
    // To the second, without signs that file names had better not have.
    let stamp: String = now.to_string().chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
    Ok(open::beside(db, &format!(".damaged-{stamp}Z")))
}

/// The damaged file, if there is one.
fn found(db: &Path) -> Result<Option<fs::File>, StoreError> {
    match fs::File::open(db) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::File(db.to_owned(), error)),
    }
}

/// Copies the damaged files, log included, for this user alone. What was mended of them is kept as it was found.
fn keep_aside(db: &Path, whole: Option<&fs::File>, header: Option<Header>, kept: &Path) -> Result<(), StoreError> {
    let copy = |from: Option<&fs::File>, to: &Path| -> io::Result<()> {
        let mut file = open::private_file(to)?;
        file.set_len(0)?;
        if let Some(mut from) = from {
            io::copy(&mut from, &mut file)?;
        }
        if let Some(header) = header.filter(|_| to == kept) {
            file.rewind()?;
            file.write_all(&header)?;
        }
        file.sync_all()
    };
    let at = |error| StoreError::File(kept.to_owned(), error);
    copy(whole, kept).map_err(at)?;
    if let Some(log) = found(&open::beside(db, "-wal"))? {
        copy(Some(&log), &open::beside(kept, "-wal")).map_err(at)?;
    }
    Ok(())
}

/// What was read of a damaged database.
struct Saved {
    tables: Vec<(&'static str, Salvaged)>,
    /// The highest number of an edit that is known of.
    newest: i64,
    /// Server, id, name and environment of its home.
    home: Option<Vec<Sql>>,
    /// Whether a person wanted no sync until further notice.
    paused: bool,
    lost: Vec<String>,
}

/// Reads from a second copy, which is thrown away: what is kept aside stays as it was found.
fn read(kept: &Path, blank: &Connection) -> Result<Saved, StoreError> {
    let work = open::beside(kept, READING);
    let parts = [("", true), ("-wal", false)];
    let at = |error| StoreError::File(work.clone(), error);
    for (part, must) in parts {
        let from = open::beside(kept, part);
        if must || from.exists() {
            fs::copy(&from, open::beside(&work, part)).map_err(at)?;
        }
    }
    // SQLite throws the log of an empty file away, but a database that was never checkpointed is all in its log.
    let nothing = !holds_bytes(&work) && !holds_bytes(&open::beside(&work, "-wal"));
    if !nothing && !holds_bytes(&work) {
        open::private_file(&work).and_then(|file| file.set_len(4096)).map_err(at)?;
    }
    let mut saved = Saved { tables: Vec::new(), newest: 0, home: None, paused: false, lost: Vec::new() };
    let names: Vec<&str> = LOCAL.into_iter().chain(["_sync", COUNTED]).collect();
    if let Some(connection) = salvage::open(&work, blank, &names)? {
        for name in LOCAL {
            let table = salvage::table(&connection, name)?;
            if !table.complete && name == "edits" {
                saved.lost.push("A part of the edits cannot be read; some may be missing.".to_owned());
            }
            saved.newest = saved.newest.max(newest(name, &table));
            saved.tables.push((name, table));
        }
        saved.newest = saved.newest.max(newest(COUNTED, &salvage::table(&connection, COUNTED)?));
        let home = "SELECT server, home_id, home_name, environment FROM _sync";
        let home = connection.query_row(home, [], |row| (0..4).map(|n| row.get(n)).collect::<Result<Vec<Sql>, _>>());
        saved.home = salvage::unless_damaged(home.map_err(StoreError::from))?
            .filter(|home| home.get(1).is_some_and(|id| matches!(id, Sql::Text(_))));
        let paused = connection.query_row("SELECT paused FROM _sync", [], |row| row.get(0));
        saved.paused = salvage::unless_damaged(paused.map_err(StoreError::from))?.unwrap_or_default();
    } else if !nothing {
        saved.lost.push(format!(
            "Nothing in it can be read here, edits that the server has not confirmed neither; \
             `sqlite3 {} .recover` may still show some.",
            kept.display()
        ));
    } else {
        saved.lost.push(
            "The file was found empty, and its log too: edits that the server has not confirmed are lost, if there were any."
                .to_owned(),
        );
    }
    Ok(saved)
}

/// The highest number of an edit in a table; 0 in one that has none. It does not matter whether its row can be carried over.
fn newest(name: &str, Salvaged { columns, rows, garbled, .. }: &Salvaged) -> i64 {
    let numbers = NUMBERED.iter().filter(|(table, _)| *table == name).flat_map(|(_, column)| {
        let of_edits = |row: &&Vec<Sql>| name != COUNTED || text(columns, row, "name") == Some("edits");
        rows.iter().chain(garbled).filter(of_edits).filter_map(|row| match member(columns, row, column) {
            // A number that no one can have counted to is what damage has left, and would leave none to go on with.
            Some(Sql::Integer(number)) if *number < 1 << 53 => Some(*number),
            _ => None,
        })
    });
    numbers.max().unwrap_or_default()
}

/// How a file begins.
type Header = [u8; salvage::HEADER_BYTES as usize];

/// Leaves a file that was mended as it was found.
fn put_back(db: &Path, header: &Header) -> Result<(), StoreError> {
    let write = || fs::OpenOptions::new().write(true).open(db)?.write_all(header);
    write().map_err(|error| StoreError::File(db.to_owned(), error))
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
            Err(error) if error.is_busy() || error.is_full() => Err(error),
            held => Ok(held.is_ok().then_some(damaged)),
        }
    };
    if let Some(damaged) = try_once()? {
        return Ok((Some(damaged), None));
    }
    match salvage::mend_header(db) {
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

/// Removes a database with its log.
fn remove(db: &Path) -> Result<(), StoreError> {
    for part in ["-wal", "-shm", ""] {
        let path = open::beside(db, part);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(StoreError::File(path, error)),
            _ => {}
        }
    }
    Ok(())
}

fn restore(connection: &mut Connection, saved: Saved) -> Result<Rescue, StoreError> {
    let Saved { tables, newest, home, paused, lost } = saved;
    let mut rescue = Rescue { lost, ..Rescue::default() };
    gate::keep(connection, |tx| {
        for (name, table) in &tables {
            put(tx, name, table, &mut rescue)?;
        }
        tx.execute_batch(
            // A request whose bytes are lost is made anew, and so is one of which it is lost what it insists on or that it
            // was refused: the same bytes would overwrite what others have done since. An edit whose proof is lost is sent
            // again, by its key. The other edits of a bulk call keep its bytes, in which each operation says its own guard.
            "DELETE FROM _sent WHERE rev IS NULL;
             UPDATE edits SET state = 'waiting' WHERE state = 'sent' AND id NOT IN (SELECT edit_id FROM _sent);
             UPDATE edits SET idempotency_key = NULL, state = CASE state WHEN 'sending' THEN 'waiting' ELSE state END
                 WHERE state IN ('waiting', 'sending', 'blocked')
                     AND (idempotency_key NOT IN (SELECT idempotency_key FROM _requests)
                         OR id NOT IN (SELECT edit_id FROM _frozen));
             -- What is left of an edit that is gone must not be taken for that of another; and of one that stands by itself
             -- nothing goes with another too.
             DELETE FROM _parts WHERE of_edit NOT IN (SELECT id FROM edits)
                 OR edit_id <> of_edit AND edit_id IN (SELECT id FROM edits);
             DELETE FROM _frozen WHERE edit_id NOT IN (SELECT id FROM edits);
             -- It was being moved while the file broke; asked again, by its key, the server tells.
             DELETE FROM edit_history WHERE id IN (SELECT id FROM edits UNION SELECT edit_id FROM _parts);
             -- The server may have been put back since: whatever it says now is newer.
             UPDATE _images SET rev = 0, gone = 0;
             DELETE FROM _sent WHERE edit_id NOT IN (SELECT id FROM edits);
             DELETE FROM _images WHERE NOT EXISTS
                 (SELECT 1 FROM edits e WHERE e.kind = _images.kind AND e.record_id = _images.record_id);
             INSERT INTO sqlite_sequence (name, seq)
                 SELECT 'edits', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'edits');
             UPDATE _sync SET replay = 1;",
        )?;
        tx.execute("UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'edits'", [newest])?;
        tx.execute("UPDATE _sync SET paused = ?1", [paused])?;
        match &home {
            Some(home) => {
                let text = "UPDATE _sync SET server = ?1, home_id = ?2, home_name = ?3, environment = ?4";
                tx.execute(text, params_from_iter(home))?;
            }
            None => {
                rescue.parked = tx.execute(
                    "UPDATE edits SET state = 'rejected', reason = 'The database was damaged and does not say any more \
                     which home this is for. If it is for this one, let it be tried again.'",
                    [],
                )?;
            }
        }
        let mut statement = tx.prepare("SELECT DISTINCT kind, record_id FROM edits")?;
        let records = statement
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?
            .collect::<Result<Vec<_>, _>>()?;
        for (word, record) in records {
            if let Some(kind) = Kind::from_word(&word) {
                image::project(tx, kind, &record)?;
            }
        }
        let edits: i64 = tx.query_row("SELECT count(*) FROM edits", [], |row| row.get(0))?;
        rescue.edits = usize::try_from(edits).unwrap_or_default();
        Ok(())
    })?;
    Ok(rescue)
}

/// Writes the rows of one table into the columns that both databases have.
fn put(tx: &Transaction<'_>, name: &str, table: &Salvaged, rescue: &mut Rescue) -> Result<(), StoreError> {
    let known: Vec<String> = tx
        .prepare("SELECT name FROM pragma_table_info(?1)")?
        .query_map([name], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let common: Vec<usize> = (0..table.columns.len()).filter(|n| known.contains(&table.columns[*n])).collect();
    if common.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = common.iter().map(|n| table.columns[*n].as_str()).collect();
    let marks: Vec<String> = (1..=names.len()).map(|n| format!("?{n}")).collect();
    let text = format!("INSERT OR IGNORE INTO {name} ({}) VALUES ({})", names.join(", "), marks.join(", "));
    let mut statement = tx.prepare(&text)?;
    if name == "edits" {
        rescue.lost.extend(table.garbled.iter().map(|row| named(&table.columns, row)));
    }
    for row in &table.rows {
        if name == "edits" && !is_an_edit(&table.columns, row) {
            rescue.lost.push(named(&table.columns, row));
            continue;
        }
        // What does not fit (a null that damage has left, text in a number's place) is as lost as what cannot be read.
        let kept = statement.execute(params_from_iter(common.iter().map(|n| &row[*n])));
        if name == "edits" && !matches!(kept, Ok(1)) {
            rescue.lost.push(named(&table.columns, row));
        }
    }
    Ok(())
}

fn member<'a>(columns: &[String], row: &'a [Sql], name: &str) -> Option<&'a Sql> {
    columns.iter().position(|column| column == name).and_then(|n| row.get(n))
}

fn text<'a>(columns: &[String], row: &'a [Sql], name: &str) -> Option<&'a str> {
    match member(columns, row, name) {
        Some(Sql::Text(text)) => Some(text),
        _ => None,
    }
}

/// Whether a row is an edit that can still be sent.
fn is_an_edit(columns: &[String], row: &[Sql]) -> bool {
    let object = |name| text(columns, row, name).is_some_and(|text| rows::object(text).is_ok());
    text(columns, row, "kind").and_then(Kind::from_word).is_some()
        && matches!(text(columns, row, "method"), Some("create" | "update" | "delete"))
        && object("patch")
        && object("base")
}

/// An edit that cannot go on, in a sentence that lets a person do it again.
fn named(columns: &[String], row: &[Sql]) -> String {
    let word = |name: &str| match member(columns, row, name) {
        Some(Sql::Text(text)) => text.chars().take(200).collect(),
        Some(Sql::Integer(number)) => number.to_string(),
        _ => "?".to_owned(),
    };
    let [id, kind, record, method, patch] = ["id", "kind", "record_id", "method", "patch"].map(word);
    format!("Edit {id} could not be carried over: {method} of {kind} {record} with {patch}")
}

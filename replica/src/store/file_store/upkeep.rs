//! Brings the table `files` and the folder together, and removes files that no document has named for a while. Must not know
//! why rows and bytes differ: a crash, a rebuild, a person who removed the folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hearth_contract::formats::Timestamp;
use rusqlite::{Connection, Transaction};
use serde_json::{Value, json};

use crate::model::{FileState, LogLevel};
use crate::store::captures::exchange;
use crate::store::file_store::bytes::{self, COPY_PREFIX, DOWNLOAD_PREFIX};
use crate::store::file_store::table;
use crate::store::files::modified_at;
use crate::store::{StoreError, gate, log, select};

/// A file that no document names is kept for this long (milliseconds): the delete of a document can be undone.
const UNNAMED_MILLIS: i64 = 7 * 86_400_000;

/// Why a file is missing.
const GONE: &str = "its bytes are not in the folder of the files any more";

/// Why a file is damaged.
const DAMAGED: &str = "its bytes on this machine are not those of the document";

/// What the upkeep has found and done. Commands print the members in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct FileUpkeep {
    /// Files whose bytes are not in the folder any more: hashes.
    pub lost: Vec<String>,
    /// Files whose bytes are not what their hash says: hashes. Only a look at all bytes finds them.
    pub damaged: Vec<String>,
    /// Files whose bytes were in the folder although no row said so.
    pub found: usize,
    /// Files that were removed, because no document has named them for seven days.
    pub removed: usize,
}

/// Looks at rows and folder. `reads_all`: true compares the bytes of each file with its hash, which takes as long as reading them.
pub(crate) fn look_after(
    connection: &mut Connection,
    db: &Path,
    reads_all: bool,
    now: Timestamp,
) -> Result<FileUpkeep, StoreError> {
    let mut upkeep = FileUpkeep::default();
    let present = hashes(connection, "state IN ('present', 'waiting', 'refused')")?;
    let absent = hashes(connection, "state IN ('wanted', 'missing', 'damaged')")?;
    for hash in &present {
        if !bytes::is_here(db, hash) {
            upkeep.lost.push(hash.clone());
        } else if reads_all && !holds_its_bytes(db, hash) {
            upkeep.damaged.push(hash.clone());
        }
    }
    let adopted: Vec<_> = absent.iter().filter(|hash| bytes::is_here(db, hash) && holds_its_bytes(db, hash)).collect();
    upkeep.found = adopted.len();
    // A transaction writes even when nothing changes. Each single `sync` of a home without files would write.
    if !has_rows(connection)? {
        return remove_leftovers(connection, db, now).map(|()| upkeep);
    }
    gate::sync_tx(connection, |tx| {
        upkeep.lost.iter().try_for_each(|hash| set_lost(tx, db, hash, FileState::Missing))?;
        upkeep.damaged.iter().try_for_each(|hash| set_lost(tx, db, hash, FileState::Damaged))?;
        for hash in adopted {
            adopt(tx, db, hash)?;
        }
        upkeep.removed = remove_unnamed(tx, db, now)?;
        Ok(())
    })?;
    remove_leftovers(connection, db, now)?;
    Ok(upkeep)
}

/// True when the database knows a file, or the text of a file.
fn has_rows(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM files) OR EXISTS (SELECT 1 FROM file_texts)";
    select::value(connection, text, [])
}

fn hashes(connection: &Connection, condition: &str) -> Result<Vec<String>, StoreError> {
    select::column(connection, &format!("SELECT sha256 FROM files WHERE {condition} ORDER BY sha256"), [])
}

/// True when the bytes of a file are those of its hash. False too when they cannot be read.
fn holds_its_bytes(db: &Path, hash: &str) -> bool {
    bytes::path(db, hash).and_then(|path| bytes::examine(&path).ok()).is_some_and(|facts| facts.sha256 == hash)
}

/// Notes that the bytes of a file are missing or damaged, as a transfer has found. Damaged bytes are removed.
pub(crate) fn note_lost(
    connection: &mut Connection,
    db: &Path,
    sha256: &str,
    state: FileState,
) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| set_lost(tx, db, sha256, state))
}

fn set_lost(tx: &Transaction<'_>, db: &Path, hash: &str, state: FileState) -> Result<(), StoreError> {
    let is_damaged = state == FileState::Damaged;
    let sentence = if is_damaged { DAMAGED } else { GONE };
    table::set_state(tx, hash, state, Some(&message(sentence)))?;
    exchange::fail_of_file(tx, hash, &message(sentence))?;
    log(tx, LogLevel::Warning, &format!("The file {hash}: {sentence}."))?;
    if is_damaged { bytes::remove(db, hash) } else { Ok(()) }
}

/// A problem of a file in the form of the server's error objects.
pub(crate) fn message(sentence: &str) -> Value {
    json!({ "message": sentence })
}

/// Takes over bytes that a crash or a rebuild has left. A file that an unsent edit names may not be on the server.
fn adopt(tx: &Transaction<'_>, db: &Path, hash: &str) -> Result<(), StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM edits WHERE kind = 'document' AND patch ->> '$.file_sha256' = ?1)
        OR EXISTS (SELECT 1 FROM captures c, json_each(c.files) j WHERE c.state = 'waiting' AND j.value = ?1)";
    let state = match select::value(tx, text, [hash])? {
        true => FileState::Waiting,
        false => FileState::Present,
    };
    let Some(path) = bytes::path(db, hash) else { return Ok(()) };
    let facts = bytes::examine(&path).map_err(StoreError::at(&path))?;
    table::set_here(tx, &facts, state)
}

/// Notes since when no document names a file, and removes files for which that is long ago. An edit that is not settled names a
/// file too: its document may come back.
fn remove_unnamed(tx: &Transaction<'_>, db: &Path, now: Timestamp) -> Result<usize, StoreError> {
    const NAMED: &str = "(EXISTS (SELECT 1 FROM documents d WHERE d.file_sha256 = files.sha256)
         OR EXISTS (SELECT 1 FROM edits e WHERE e.kind = 'document'
             AND files.sha256 IN (e.patch ->> '$.file_sha256', e.base ->> '$.file_sha256'))
         OR EXISTS (SELECT 1 FROM captures c, json_each(c.files) j
             WHERE c.state IN ('waiting', 'queued', 'running', 'ready') AND j.value = files.sha256))";
    tx.execute(&format!("UPDATE files SET unnamed_since = NULL WHERE unnamed_since IS NOT NULL AND {NAMED}"), [])?;
    tx.execute(
        &format!(
            "UPDATE files SET unnamed_since = ?1, requested_at = NULL WHERE unnamed_since IS NULL AND NOT {NAMED}"
        ),
        [now.to_string()],
    )?;
    let text = "DELETE FROM files WHERE unnamed_since <= ?1 RETURNING sha256";
    let removed: Vec<String> = select::column(tx, text, [now.plus_millis(-UNNAMED_MILLIS).to_string()])?;
    tx.execute("DELETE FROM file_texts WHERE sha256 NOT IN (SELECT sha256 FROM files)", [])?;
    // Under the lock of the transaction, so that a file that is attached at this moment keeps its bytes.
    removed.iter().try_for_each(|hash| bytes::remove(db, hash))?;
    Ok(removed.len())
}

/// Removes what a crash has left in the folder: bytes without a row, copies and downloads that were cut. Young ones may be in use.
fn remove_leftovers(connection: &mut Connection, db: &Path, now: Timestamp) -> Result<(), StoreError> {
    let known: BTreeSet<String> = hashes(connection, "1")?.into_iter().collect();
    let folder = bytes::folder(db);
    let mut old = Vec::new();
    for entry in entries(&folder) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(COPY_PREFIX) || name.starts_with(DOWNLOAD_PREFIX) {
            old.push((entry.path(), None));
        } else if entry.path().is_dir() {
            let files =
                entries(&entry.path()).map(|file| (file.path(), file.file_name().to_string_lossy().into_owned()));
            // Other names belong to a person.
            let unknown = files.filter(|(_, name)| bytes::is_hash(name) && !known.contains(name));
            old.extend(unknown.map(|(path, name)| (path, Some(name))));
        }
    }
    old.retain(|(path, _)| is_old(path, now));
    if old.is_empty() {
        return Ok(());
    }
    gate::sync_tx(connection, |tx| {
        for (path, hash) in &old {
            let has_row = hash.as_deref().map(|hash| table::state(tx, hash)).transpose()?.flatten().is_some();
            if !has_row {
                fs::remove_file(path).map_err(StoreError::at(path))?;
            }
        }
        Ok(())
    })
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// True when the file was last written longer ago than a file without a document is kept.
fn is_old(path: &Path, now: Timestamp) -> bool {
    modified_at(path).is_some_and(|at| at.millis() <= now.millis().saturating_sub(UNNAMED_MILLIS))
}

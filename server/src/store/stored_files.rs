//! The files of a home (contract 21): size, type, and whether a document names each. Must not know where the bytes lie, or how
//! they come.

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{OptionalExtension, Row, named_params};
use uuid::Uuid;

use super::error::StoreError;
use super::field_values::FILE_SHA256;
use super::home_number::HomeNumber;
use super::records::number;
use super::tx::Tx;
use super::{capture_files, readings};

pub use super::file_hash::FileHash;

/// A file whose bytes are on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// The position in the order of the uploads. None before the row is inserted.
    pub number: Option<i64>,
    /// The name of the file in its home.
    pub sha256: FileHash,
    /// The size in bytes.
    pub size_bytes: i64,
    /// The media type, judged by the content.
    pub content_type: String,
    /// The moment of the first upload.
    pub created_at: Timestamp,
}

/// The result of [`remove`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The row is deleted. Its bytes follow.
    Removed,
    /// No such file.
    Absent,
    /// A document names the file, or a job needs it: the file stays.
    InUse,
}

const SELECT: &str = "SELECT number, sha256, size_bytes, content_type, created_at FROM files";

/// A file of a home.
pub fn find(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash) -> Result<Option<StoredFile>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!("{SELECT} WHERE home = ?1 AND sha256 = ?2"))?;
    statement.query_and_then((home.0, hash.as_str()), read_file)?.next().transpose()
}

/// Files of a home, the latest first, at most `limit`, with numbers below `before`. `is_referenced`: only files that documents
/// name, or only the others.
pub fn page(
    tx: &Tx<'_>,
    home: HomeNumber,
    is_referenced: Option<bool>,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<StoredFile>, StoreError> {
    let filter = match is_referenced {
        None => "",
        Some(true) => "AND unused_since IS NULL",
        Some(false) => "AND unused_since IS NOT NULL",
    };
    let sql = format!("{SELECT} WHERE home = ?1 AND number < ?2 {filter} ORDER BY number DESC LIMIT ?3");
    let mut statement = tx.conn.prepare_cached(&sql)?;
    statement.query_and_then((home.0, before.unwrap_or(i64::MAX), limit as i64), read_file)?.collect()
}

/// Bytes of all files of a home.
pub fn used_bytes(tx: &Tx<'_>, home: HomeNumber) -> Result<i64, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT file_bytes FROM homes WHERE number = ?1")?;
    Ok(statement.query_row([home.0], |row| row.get(0))?)
}

/// Stores that the bytes of a file were uploaded now. Gives the row as it is stored; `is_new`: there was none.
pub fn put(tx: &Tx<'_>, home: HomeNumber, file: &StoredFile, now: Timestamp) -> Result<(StoredFile, bool), StoreError> {
    if let Some(known) = find(tx, home, &file.sha256)? {
        let mut renew = tx.conn.prepare_cached(
            "UPDATE files SET unused_since = max(unused_since, ?2) WHERE number = ?1 AND unused_since IS NOT NULL",
        )?;
        renew.execute((known.number, now.millis()))?;
        return Ok((known, false));
    }
    tx.conn.execute(
        "INSERT INTO files (home, sha256, size_bytes, content_type, created_at, unused_since)
         VALUES (:home, :sha256, :size, :type, :now, :now)",
        named_params! {
            ":home": home.0,
            ":sha256": file.sha256.as_str(),
            ":size": file.size_bytes,
            ":type": file.content_type,
            ":now": now.millis(),
        },
    )?;
    add_bytes(tx, home, file.size_bytes)?;
    // A document may name a file that was lost and comes again.
    note_use(tx, home, &file.sha256, now)?;
    Ok((file.clone(), true))
}

/// Deletes a file of a home that no document names and no job needs. The bytes are noted for removal.
pub fn remove(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash) -> Result<Removal, StoreError> {
    let Some(file) = find(tx, home, hash)? else { return Ok(Removal::Absent) };
    if is_named(tx, home, hash)? {
        return Ok(Removal::InUse);
    }
    forget(tx, home, &file)?;
    Ok(Removal::Removed)
}

/// Deletes files that nobody has uploaded or named since a moment, of all homes, at most `limit`. Gives the number deleted.
pub fn remove_unused(tx: &Tx<'_>, before: Timestamp, limit: usize) -> Result<usize, StoreError> {
    let mut statement = tx
        .conn
        .prepare_cached("SELECT home, sha256 FROM files WHERE unused_since <= ?1 ORDER BY unused_since LIMIT ?2")?;
    let found: Vec<(i64, String)> = statement
        .query_map((before.millis(), limit as i64), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (home, text) in &found {
        let Some(hash) = FileHash::parse(text) else { continue };
        if let Some(file) = find(tx, HomeNumber(*home), &hash)? {
            forget(tx, HomeNumber(*home), &file)?;
        }
    }
    Ok(found.len())
}

/// Stores whether a document or a job names a file now. A file that was named until now counts as unused from `now` on. A file that is
/// not there is left out: a document may have come from a backup that lost the file.
pub fn note_use(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash, now: Timestamp) -> Result<(), StoreError> {
    let is_named = is_named(tx, home, hash)?;
    let mut statement = tx.conn.prepare_cached(
        "UPDATE files SET unused_since = CASE WHEN :named THEN NULL ELSE coalesce(unused_since, :now) END
         WHERE home = :home AND sha256 = :sha256",
    )?;
    statement.execute(
        named_params! { ":named": is_named, ":now": now.millis(), ":home": home.0, ":sha256": hash.as_str() },
    )?;
    Ok(())
}

/// Whether a current document names a file, or a job needs it.
fn is_named(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash) -> Result<bool, StoreError> {
    if capture_files::needs(tx, home, hash)? {
        return Ok(true);
    }
    let mut statement = tx.conn.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM field_values WHERE home = ?1 AND kind = ?2 AND field = ?3 AND value = ?4)",
    )?;
    let values = (home.0, number(Kind::Document), FILE_SHA256, hash.as_str());
    Ok(statement.query_row(values, |row| row.get(0))?)
}

/// Stores for each file of a home whether a document names it, after many documents have changed.
pub fn note_all_uses(tx: &Tx<'_>, home: HomeNumber, now: Timestamp) -> Result<(), StoreError> {
    tx.conn.execute(
        "UPDATE files SET unused_since = CASE WHEN EXISTS
             (SELECT 1 FROM field_values v WHERE v.home = ?1 AND v.kind = ?2 AND v.field = ?3 AND v.value = sha256)
             OR EXISTS (SELECT 1 FROM capture_files c WHERE c.home = ?1 AND c.sha256 = files.sha256)
             THEN NULL ELSE coalesce(unused_since, ?4) END
         WHERE home = ?1",
        (home.0, number(Kind::Document), FILE_SHA256, now.millis()),
    )?;
    Ok(())
}

/// Deletes all files of a home, what was read in them, and the jobs that need them. The bytes are noted for removal.
pub fn remove_all(tx: &Tx<'_>, home: HomeNumber) -> Result<(), StoreError> {
    capture_files::forget_all(tx, home)?;
    readings::forget_all(tx, home)?;
    tx.conn.execute(
        "INSERT OR IGNORE INTO removed_files (home, sha256) SELECT home, sha256 FROM files WHERE home = ?1",
        [home.0],
    )?;
    tx.conn.execute("DELETE FROM files WHERE home = ?1", [home.0])?;
    tx.conn.execute("UPDATE homes SET file_bytes = 0 WHERE number = ?1", [home.0])?;
    Ok(())
}

/// A deleted file whose bytes may still be on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedFile {
    /// The id of the home, which names its directory.
    pub home_id: Uuid,
    /// The home.
    pub home: HomeNumber,
    /// The name of the file.
    pub sha256: FileHash,
}

/// Deleted files whose bytes may still be on the disk, at most `limit`.
pub fn removed(tx: &Tx<'_>, limit: usize) -> Result<Vec<RemovedFile>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT h.id, r.home, r.sha256 FROM removed_files r JOIN homes h ON h.number = r.home LIMIT ?1",
    )?;
    let rows = statement.query_and_then([limit as i64], |row| {
        let id: String = row.get(0)?;
        let home_id = Uuid::try_parse(&id).map_err(|_| StoreError::Corrupt(format!("the id of home {id}")))?;
        Ok::<_, StoreError>((home_id, HomeNumber(row.get(1)?), row.get::<_, String>(2)?))
    })?;
    rows.map(|row| {
        let (home_id, home, text) = row?;
        let sha256 = FileHash::parse(&text).ok_or_else(|| StoreError::Corrupt(format!("hash `{text}` of a file")))?;
        Ok(RemovedFile { home_id, home, sha256 })
    })
    .collect()
}

/// Stores that the bytes of a deleted file are gone, or that the file is there again.
pub fn forget_removed(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash) -> Result<(), StoreError> {
    tx.conn.execute("DELETE FROM removed_files WHERE home = ?1 AND sha256 = ?2", (home.0, hash.as_str()))?;
    Ok(())
}

/// Deletes the row of a file, and notes its bytes for removal.
fn forget(tx: &Tx<'_>, home: HomeNumber, file: &StoredFile) -> Result<(), StoreError> {
    let removed = (home.0, file.sha256.as_str());
    tx.conn.execute("INSERT OR IGNORE INTO removed_files (home, sha256) VALUES (?1, ?2)", removed)?;
    forget_row(tx, home, file)
}

/// Deletes the row of a file without bytes.
pub(super) fn forget_row(tx: &Tx<'_>, home: HomeNumber, file: &StoredFile) -> Result<(), StoreError> {
    readings::forget(tx, home, &file.sha256)?;
    let mut delete = tx.conn.prepare_cached("DELETE FROM files WHERE home = ?1 AND sha256 = ?2")?;
    delete.execute((home.0, file.sha256.as_str()))?;
    add_bytes(tx, home, -file.size_bytes)
}

fn add_bytes(tx: &Tx<'_>, home: HomeNumber, change: i64) -> Result<(), StoreError> {
    tx.conn.execute("UPDATE homes SET file_bytes = file_bytes + ?2 WHERE number = ?1", (home.0, change))?;
    Ok(())
}

/// A file in a row whose first columns are those of a file.
pub(super) fn read_file(row: &Row<'_>) -> Result<StoredFile, StoreError> {
    let text: String = row.get(1)?;
    Ok(StoredFile {
        number: row.get(0)?,
        sha256: FileHash::parse(&text).ok_or_else(|| StoreError::Corrupt(format!("hash `{text}` of a file")))?,
        size_bytes: row.get(2)?,
        content_type: row.get(3)?,
        created_at: Timestamp::from_millis(row.get(4)?),
    })
}

/// The hashes of the files of a home between two hashes, in order.
pub fn hashes_between(tx: &Tx<'_>, home: HomeNumber, from: &str, to: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = tx
        .conn
        .prepare_cached("SELECT sha256 FROM files WHERE home = ?1 AND sha256 BETWEEN ?2 AND ?3 ORDER BY sha256")?;
    Ok(statement.query_map((home.0, from, to), |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// The number of a home with an id.
pub fn home_of_id(tx: &Tx<'_>, id: Uuid) -> Result<Option<HomeNumber>, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT number FROM homes WHERE id = ?1")?;
    Ok(statement.query_row([id.to_string()], |row| row.get(0).map(HomeNumber)).optional()?)
}

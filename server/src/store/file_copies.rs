//! The bytes of files inside a backup: a backup is one file, so it holds them in pieces, as rows of `file_pieces`. Must not know
//! where the bytes lie on the disk.

use std::fs::File;
use std::io::Read;

use rusqlite::Connection;
use rusqlite::limits::Limit;
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::stored_files::{StoredFile, forget_row, read_file};
use super::tx::Tx;

/// Bytes of a piece, at most: more would have to be in memory at once.
const PIECE: usize = 1 << 20;
/// Files that are read from the table at once.
const PAGE: usize = 100;

/// The next piece of a file. None: the file is complete.
pub type NextPiece<'a> = &'a mut dyn FnMut() -> Result<Option<Vec<u8>>, StoreError>;

/// The bytes of files outside of the database.
pub trait FileBytes {
    /// Opens the bytes of a file of a home.
    fn open(&self, home: Uuid, file: &StoredFile) -> Result<File, StoreError>;
    /// Writes the bytes of a file. False: the pieces are not the bytes of the file, or there is none and the bytes are not
    /// there either.
    fn write(&self, home: Uuid, file: &StoredFile, next: NextPiece<'_>) -> Result<bool, StoreError>;
}

/// Copies the bytes of all files into a copy of the database. A file whose bytes are gone loses its row: it was deleted after
/// the copy began, or lost before. Gives the number of such files.
pub(super) fn fill(conn: &Connection, bytes: &dyn FileBytes) -> Result<usize, StoreError> {
    let mut lost = 0;
    for_each_page(conn, |tx, number, home, id, file| {
        let Ok(mut opened) = bytes.open(id, file) else {
            lost += 1;
            return forget_row(tx, home, file);
        };
        let mut insert = tx.conn.prepare_cached("INSERT INTO file_pieces (file, piece, bytes) VALUES (?1, ?2, ?3)")?;
        for piece in 0_i64.. {
            let mut part = Vec::new();
            let read = opened.by_ref().take(PIECE as u64).read_to_end(&mut part);
            read.map_err(|error| StoreError::Corrupt(format!("file {}: {error}", file.sha256.as_str())))?;
            if part.is_empty() {
                break;
            }
            insert.execute((number, piece, part))?;
        }
        Ok(())
    })?;
    Ok(lost)
}

/// Takes the bytes of all files out of a copy of the database. A file whose bytes are neither in the copy nor on the disk loses
/// its row. Gives the number of such files.
pub(super) fn extract(conn: &Connection, bytes: &dyn FileBytes) -> Result<usize, StoreError> {
    let mut lost = 0;
    for_each_page(conn, |tx, number, home, id, file| {
        let mut piece = 0_i64;
        let mut select = tx.conn.prepare_cached("SELECT bytes FROM file_pieces WHERE file = ?1 AND piece = ?2")?;
        let mut next = || {
            let found = select.query_map((number, piece), |row| row.get::<_, Vec<u8>>(0))?.next().transpose()?;
            piece += 1;
            Ok(found)
        };
        if bytes.write(id, file, &mut next)? {
            return Ok(());
        }
        lost += 1;
        forget_row(tx, home, file)
    })?;
    let has_pieces: bool =
        conn.query_row("SELECT EXISTS (SELECT 1 FROM file_pieces)", [], |row| row.get(0)).map_err(StoreError::from)?;
    if has_pieces {
        // Without VACUUM the database would keep the size of the backup. VACUUM attaches a database of its own.
        conn.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 1)?;
        conn.execute_batch("DELETE FROM file_pieces; VACUUM")?;
    }
    Ok(lost)
}

/// Visits all files, each page in a transaction: number of the row, home, id of the home, file.
fn for_each_page(
    conn: &Connection,
    mut visit: impl FnMut(&Tx<'_>, i64, HomeNumber, Uuid, &StoredFile) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let transaction = conn.unchecked_transaction()?;
        let tx = Tx::new(&transaction);
        let page = page(&tx, after)?;
        for (home, id, file) in &page {
            after = file.number.unwrap_or(after);
            visit(&tx, after, *home, *id, file)?;
        }
        drop(tx);
        transaction.commit()?;
        if page.len() < PAGE {
            return Ok(());
        }
    }
}

fn page(tx: &Tx<'_>, after: i64) -> Result<Vec<(HomeNumber, Uuid, StoredFile)>, StoreError> {
    let mut statement = tx.conn.prepare_cached(
        "SELECT f.number, f.sha256, f.size_bytes, f.content_type, f.created_at, f.home, h.id
         FROM files f JOIN homes h ON h.number = f.home WHERE f.number > ?1 ORDER BY f.number LIMIT ?2",
    )?;
    let rows = statement.query_and_then((after, PAGE as i64), |row| {
        let id: String = row.get(6)?;
        let id = Uuid::try_parse(&id).map_err(|_| StoreError::Corrupt(format!("the id of home {id}")))?;
        Ok((HomeNumber(row.get(5)?), id, read_file(row)?))
    })?;
    rows.collect()
}

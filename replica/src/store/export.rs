//! `export`: a consistent copy of the whole database in one file, while other processes read and write the original. Must not
//! change the original.

use std::fs;
use std::path::Path;

use hearth_contract::schema::Kind;
use rusqlite::Connection;

use super::sql_words::NOW;
use super::{StoreError, file_store, files, gate, select};
use crate::model::{EditState, ReasonCode};
use crate::store::edits::outbox;

/// What a copy holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportSummary {
    /// The size of the file.
    pub bytes: u64,
    /// The number of records of all kinds.
    pub records: i64,
    /// The number of edits that the server has not confirmed. Edits that are still to be sent wait for a person in the copy.
    pub pending_edits: i64,
    /// The last event that the copy reflects.
    pub position: i64,
}

/// Writes a copy of `db` to `file`, and the bytes of its files beside the copy, for this user alone. The file appears under its name when the copy is complete. An error when
/// the file exists.
pub(crate) fn write_copy(connection: &Connection, db: &Path, file: &Path) -> Result<ExportSummary, StoreError> {
    if file.exists() {
        return Err(StoreError::at(file)(std::io::ErrorKind::AlreadyExists.into()));
    }
    // A random name, because a plain name may belong to a file of a person.
    let part = files::beside(file, &format!(".{}.part", uuid::Uuid::new_v4().simple()));
    // Created before VACUUM INTO, which takes an empty file, so that other users can never read the file.
    files::private_file(&part).map_err(StoreError::at(&part))?;
    let summary = fill(connection, &part).inspect_err(|_| drop(fs::remove_file(&part)))?;
    fs::File::open(&part).and_then(|file| file.sync_all()).map_err(StoreError::at(&part))?;
    // The bytes first: no row of the copy names bytes that the copy lacks.
    file_store::bytes::copy_all(db, file)?;
    fs::rename(&part, file).map_err(StoreError::at(file))?;
    Ok(summary)
}

fn fill(connection: &Connection, part: &Path) -> Result<ExportSummary, StoreError> {
    vacuum_into(connection, part)?;
    let mut copy = Connection::open(part)?;
    park_unsent_edits(&mut copy)?;
    let mut records = 0;
    for kind in Kind::ALL {
        records += select::value::<i64>(&copy, &format!("SELECT count(*) FROM {}", kind.collection()), [])?;
    }
    let text = "SELECT (SELECT count(*) FROM edits), position FROM _sync";
    let (pending_edits, position) = copy.query_row(text, [], |row| row.try_into())?;
    copy.close().map_err(|(_, error)| error)?;
    let bytes = fs::metadata(part).map_err(StoreError::at(part))?.len();
    Ok(ExportSummary { bytes, records, pending_edits, position })
}

fn vacuum_into(connection: &Connection, part: &Path) -> Result<(), StoreError> {
    let name = part.to_str().ok_or_else(|| StoreError::Unexpected(format!("no way to write to {}", part.display())))?;
    // SQLite treats VACUUM INTO as a write. A read-only connection must therefore allow writes during the statement.
    let is_query_only: bool = connection.pragma_query_value(None, "query_only", |row| row.get(0))?;
    connection.pragma_update(None, "query_only", false)?;
    let vacuumed = connection.execute("VACUUM INTO ?1", [name]);
    connection.pragma_update(None, "query_only", is_query_only)?;
    vacuumed?;
    Ok(())
}

/// Marks the copy as not synced, and lets each edit that is still to be sent wait for a person. The original sends these edits. If
/// the copy sent an edit too, the edit would take effect twice and overwrite later changes of other people.
fn park_unsent_edits(copy: &mut Connection) -> Result<(), StoreError> {
    gate::sync_tx(copy, |tx| {
        tx.execute("UPDATE _sync SET daemon_pid = NULL, next_attempt_at = NULL, transport = NULL", [])?;
        // In a home without a server nothing is sent, and the copy is as whole as the original.
        if tx.query_row("SELECT phase = 'local' FROM _sync", [], |row| row.get(0))? {
            return Ok(());
        }
        let unsent = "SELECT id FROM edits WHERE state IN ('waiting', 'sending')
             AND id NOT IN (SELECT next_edit FROM _outbox WHERE next_edit IS NOT NULL)";
        let park = format!(
            "UPDATE edits SET state = ?2, reason_code = ?3, next_attempt_at = NULL,
                 reason = 'From a copy made at ' || {NOW} || ', whose original sends it; retry sends it.' WHERE id = ?1"
        );
        for edit in select::column::<i64>(tx, unsent, [])? {
            // Only the original may send the frozen request. After a retry in the copy, a new request is merged with
            // the server's version of that time.
            outbox::forget_request(tx, edit)?;
            tx.execute(&park, (edit, EditState::Rejected, ReasonCode::FromACopy))?;
        }
        Ok(())
    })
}

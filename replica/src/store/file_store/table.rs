//! The rows of the table `files`. Must not know the folder with the bytes.

use hearth_contract::formats::Timestamp;
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use crate::model::FileState;
use crate::store::edits::frozen_request::has_frozen_request;
use crate::store::file_store::bytes::FileFacts;
use crate::store::{StoreError, select};

/// SQL that makes the row of the file that a document names. `condition` chooses the document `d`. A
/// text that is no hash gets no row.
pub(crate) fn insert_wanted(condition: &str) -> String {
    format!(
        "INSERT INTO files (sha256, size_bytes, content_type, state)
         SELECT d.file_sha256, d.size_bytes, d.content_type, 'wanted' FROM documents d
         WHERE {condition} AND length(d.file_sha256) = 64 AND d.file_sha256 NOT GLOB '*[^0-9a-f]*'
             AND NOT EXISTS (SELECT 1 FROM files f WHERE f.sha256 = d.file_sha256)"
    )
}

/// Makes the row of the file that a document names, unless there is one.
pub(crate) fn note_document(connection: &Connection, document: &str) -> Result<(), StoreError> {
    static TEXT: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let text = TEXT.get_or_init(|| insert_wanted("d.id = ?1"));
    connection.prepare_cached(text)?.execute([document])?;
    Ok(())
}

/// The state of a file. None: no such file.
pub(crate) fn state(connection: &Connection, sha256: &str) -> Result<Option<FileState>, StoreError> {
    select::first(connection, "SELECT state FROM files WHERE sha256 = ?1", [sha256])
}

/// Writes the state of a file. `problem`: why it is not as it should be. The request for its bytes ends.
pub(crate) fn set_state(
    tx: &Transaction<'_>,
    sha256: &str,
    state: FileState,
    problem: Option<&Value>,
) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE files SET state = ?2, problem = ?3, requested_at = NULL WHERE sha256 = ?1")?
        .execute((sha256, state, problem.map(Value::to_string)))?;
    Ok(())
}

/// Notes that the bytes of a file are here, with what they tell.
pub(crate) fn set_here(tx: &Transaction<'_>, facts: &FileFacts, state: FileState) -> Result<(), StoreError> {
    tx.prepare_cached(
        "INSERT INTO files (sha256, size_bytes, content_type, state) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (sha256) DO UPDATE SET size_bytes = excluded.size_bytes, content_type = excluded.content_type,
             state = excluded.state, problem = NULL, requested_at = NULL, unnamed_since = NULL",
    )?
    .execute((&facts.sha256, i64::try_from(facts.size_bytes).unwrap_or(i64::MAX), facts.content_type, state))?;
    Ok(())
}

/// Which files a person wants here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChoice<'a> {
    /// Every file.
    All,
    /// The pictures.
    Images,
    /// The file with this hash.
    One(&'a str),
}

/// Asks for the bytes of files that are not here. Returns how many files are asked for.
pub(crate) fn request(tx: &Transaction<'_>, choice: FileChoice<'_>, now: Timestamp) -> Result<usize, StoreError> {
    let (condition, hash) = match choice {
        FileChoice::All => ("?2 IS NULL", None),
        FileChoice::Images => ("?2 IS NULL AND content_type LIKE 'image/%'", None),
        FileChoice::One(hash) => ("sha256 = ?2", Some(hash)),
    };
    let text = format!(
        "UPDATE files SET requested_at = ?1, problem = NULL
         WHERE {condition} AND state IN ('wanted', 'missing', 'damaged') AND unnamed_since IS NULL"
    );
    Ok(tx.prepare_cached(&text)?.execute((now.to_string(), hash))?)
}

/// The most files that are read at once, of those to send or to fetch.
const DUE_MAX: i64 = 100;

/// Hashes of the files to send, sorted: their bytes are here and not on the server, and a document, a waiting capture or a
/// waiting edit names them. An edit is held until its file is sent, also when a later edit names another file. A refused file
/// is sent again when a person retries an edit that names it.
pub(crate) fn to_upload(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let condition = format!(
        "f.state = 'waiting' AND (
             EXISTS (SELECT 1 FROM documents d WHERE d.file_sha256 = f.sha256)
             OR EXISTS (
                 SELECT 1 FROM edits e
                 WHERE e.kind = 'document' AND e.state IN ('waiting', 'blocked') AND e.patch ->> '$.file_sha256' = f.sha256)
             OR EXISTS (
                 SELECT 1 FROM captures c, json_each(c.files) j
                 WHERE c.state = 'waiting' AND j.value = f.sha256))
         OR f.state = 'refused' AND EXISTS (
             SELECT 1 FROM edits e
             WHERE e.kind = 'document' AND e.state = 'waiting' AND e.patch ->> '$.file_sha256' = f.sha256
                 AND NOT {})",
        has_frozen_request("e")
    );
    due(connection, &condition)
}

/// Hashes of the files whose bytes a person wants here; sorted.
pub(crate) fn to_download(connection: &Connection) -> Result<Vec<String>, StoreError> {
    due(connection, "f.requested_at IS NOT NULL AND f.state IN ('wanted', 'missing', 'damaged')")
}

fn due(connection: &Connection, condition: &str) -> Result<Vec<String>, StoreError> {
    let text = format!("SELECT sha256 FROM files f WHERE ({condition}) ORDER BY sha256 LIMIT ?1");
    select::column(connection, &text, [DUE_MAX])
}

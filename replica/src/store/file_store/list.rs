//! The files as people see them: with the documents that name them. Must not change anything.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::FileState;
use crate::store::{StoreError, select};

/// A row of the table `files`, with the documents that name the file. Commands print the members in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileRow {
    /// The SHA-256, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Where the bytes are.
    pub state: FileState,
    /// Bytes; None when no document tells.
    pub size_bytes: Option<i64>,
    /// The media type; None when no document tells.
    pub content_type: Option<String>,
    /// True while the bytes are asked for and not here yet.
    #[serde(rename = "requested")]
    pub is_requested: bool,
    /// Why the file is not as it should be: the server's error object, or an object with a `message`.
    pub problem: Option<Value>,
    /// The documents that name the file, at most [`DOCUMENTS_MAX`].
    pub documents: Vec<FileDocument>,
}

/// A document that names a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDocument {
    /// The id of the document.
    pub id: String,
    /// The title of the document.
    pub title: String,
}

/// The most documents of one file that a list names.
pub const DOCUMENTS_MAX: i64 = 10;

/// Numbers of files by their state. Commands print the members in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FileCounts {
    /// Files whose bytes are here.
    pub present: i64,
    /// Files whose bytes are here and not yet on the server.
    pub waiting: i64,
    /// Files whose bytes are only on the server.
    pub wanted: i64,
    /// Files whose bytes are neither here nor on the server, as far as is known.
    pub missing: i64,
    /// Files that the server refused.
    pub refused: i64,
    /// Files whose bytes are not what their hash says.
    pub damaged: i64,
    /// Of the files that are not here: those whose bytes are asked for.
    pub requested: i64,
}

const SELECT: &str = "SELECT f.sha256, f.size_bytes, f.content_type, f.state, f.problem, f.requested_at IS NOT NULL,
        (SELECT json_group_array(json_object('id', id, 'title', title)) FROM (
            SELECT d.id, d.title FROM documents d WHERE d.file_sha256 = f.sha256 ORDER BY d.title LIMIT ?2))
    FROM files f";

/// The files, at most `limit`, by their hash.
pub(crate) fn list(connection: &Connection, limit: usize) -> Result<Vec<FileRow>, StoreError> {
    let text = format!("{SELECT} ORDER BY f.sha256 LIMIT ?1");
    select::all(connection, &text, (select::limit(limit), DOCUMENTS_MAX), |row| Ok(read(row)?))
}

/// One file by its hash. None: no such file.
pub(crate) fn one(connection: &Connection, sha256: &str) -> Result<Option<FileRow>, StoreError> {
    let text = format!("{SELECT} WHERE f.sha256 = ?1");
    Ok(connection.prepare_cached(&text)?.query_row((sha256, DOCUMENTS_MAX), read).optional()?)
}

/// The hashes that begin with a text, at most two: enough to know whether the text names one file.
pub(crate) fn hashes_beginning(connection: &Connection, text: &str) -> Result<Vec<String>, StoreError> {
    let query = "SELECT sha256 FROM files WHERE sha256 >= ?1 AND sha256 < ?1 || 'g' ORDER BY 1 LIMIT 2";
    select::column(connection, query, [text])
}

fn read(row: &Row<'_>) -> rusqlite::Result<FileRow> {
    let problem: Option<String> = row.get(4)?;
    let documents: String = row.get(6)?;
    Ok(FileRow {
        sha256: row.get(0)?,
        size_bytes: row.get(1)?,
        content_type: row.get(2)?,
        state: row.get(3)?,
        problem: problem.and_then(|problem| serde_json::from_str(&problem).ok()),
        is_requested: row.get(5)?,
        documents: serde_json::from_str(&documents).unwrap_or_default(),
    })
}

/// Numbers of files by their state.
pub(crate) fn counts(connection: &Connection) -> Result<FileCounts, StoreError> {
    let mut counts = FileCounts::default();
    let mut statement =
        connection.prepare_cached("SELECT state, count(*), count(requested_at) FROM files GROUP BY state")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(1)?;
        counts.requested += row.get::<_, i64>(2)?;
        match row.get(0)? {
            FileState::Present => counts.present = number,
            FileState::Wanted => counts.wanted = number,
            FileState::Waiting => counts.waiting = number,
            FileState::Missing => counts.missing = number,
            FileState::Refused => counts.refused = number,
            FileState::Damaged => counts.damaged = number,
        }
    }
    Ok(counts)
}

//! The text that the server has read in files: which files are asked about next, and what `search` says of their documents. Must not
//! know requests.

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};

use crate::store::schema::search;
use crate::store::{StoreError, gate, select};

/// The most bytes of the text of a file.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// The most files that are asked about in one round.
const ROUND_MAX: i64 = 20;

/// When the server is asked again (milliseconds) about a file that waits to be read.
const WAITING_PAUSE: i64 = 30_000;

/// When the server is asked again (milliseconds) about a file in which nothing was read: it may learn to read such files.
const UNREAD_PAUSE: i64 = 7 * 86_400_000;

/// What the server says of the text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextAnswer {
    /// The text.
    Read(String),
    /// The file waits to be read.
    Waiting,
    /// Nothing was read in the file.
    Unread,
}

/// Files of documents on the server whose text may be known there and is not here; hashes.
pub(crate) fn due(connection: &Connection, now: Timestamp) -> Result<Vec<String>, StoreError> {
    let text = "SELECT f.sha256 FROM files f LEFT JOIN file_texts t ON t.sha256 = f.sha256
         WHERE f.state IN ('present', 'wanted') AND (t.sha256 IS NULL OR t.next_attempt_at <= ?1)
             AND (f.content_type LIKE 'image/%' OR f.content_type = 'application/pdf' OR f.content_type LIKE 'text/plain%')
             AND EXISTS (SELECT 1 FROM documents d WHERE d.file_sha256 = f.sha256)
         LIMIT ?2";
    select::column(connection, text, (now.to_string(), ROUND_MAX))
}

/// Stores what the server says, and finds the text below the title of each document of the file.
pub(crate) fn answered(
    connection: &mut Connection,
    sha256: &str,
    answer: &TextAnswer,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (text, pause) = match answer {
        TextAnswer::Read(text) => (Some(beginning(text)), None),
        TextAnswer::Waiting => (None, Some(WAITING_PAUSE)),
        TextAnswer::Unread => (None, Some(UNREAD_PAUSE)),
    };
    // The server can be asked again: nothing is lost with a power cut.
    gate::sync_tx_without_fsync(connection, |tx| {
        tx.execute(
            "INSERT INTO file_texts (sha256, text, next_attempt_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (sha256) DO UPDATE SET text = excluded.text, next_attempt_at = excluded.next_attempt_at",
            (sha256, text, pause.map(|pause| now.plus_millis(pause).to_string())),
        )?;
        if text.is_some() { find_below_titles(tx, sha256) } else { Ok(()) }
    })
}

fn find_below_titles(tx: &Transaction<'_>, sha256: &str) -> Result<(), StoreError> {
    let documents: Vec<String> = select::column(tx, "SELECT id FROM documents WHERE file_sha256 = ?1", [sha256])?;
    documents.iter().try_for_each(|id| search::renew_entry(tx, Kind::Document, id))
}

/// The beginning of a text, at most [`TEXT_BYTES_MAX`].
fn beginning(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

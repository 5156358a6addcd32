//! A new capture: copies its files into the folder, then writes its row. Works without a server: files and capture are sent later.
//! Must not know who captures.

use std::path::{Path, PathBuf};

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::Connection;
use serde_json::Value;

use crate::model::{CapturePurpose, CaptureState};
use crate::store::edits::{self, EditError};
use crate::store::file_store::attach::{self, AttachError};
use crate::store::gate;

/// The most files of a capture (contract 22).
pub const CAPTURE_FILES_MAX: usize = 8;

/// The most characters of a capture's note (contract 22).
const NOTE_CHARACTERS_MAX: usize = 2_000;

/// What a person says of a new capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewCapture {
    /// The photos or scans of one thing or one paper, at most [`CAPTURE_FILES_MAX`].
    pub files: Vec<PathBuf>,
    /// The room of a new item: its id.
    pub room_id: Option<String>,
    /// The notes of a new item.
    pub note: Option<String>,
    /// The item or vehicle that the papers are about. None: the files show a new thing.
    pub subject: Option<(Kind, String)>,
}

/// Makes a capture and returns its id. Error: a file that cannot be copied, or a capture that the server would refuse.
pub(crate) fn capture(
    connection: &mut Connection,
    db: &Path,
    new: &NewCapture,
    now: Timestamp,
) -> Result<String, AttachError> {
    check(new)?;
    let limit = attach::limit(connection)?;
    let mut all = Vec::new();
    for file in &new.files {
        let facts = attach::copy_in(db, file, limit)?;
        if !all.contains(&facts) {
            all.push(facts);
        }
    }
    let id = edits::fresh_id().to_string();
    let purpose = if new.subject.is_some() { CapturePurpose::Extract } else { CapturePurpose::SmartAdd };
    gate::sync_tx(connection, |tx| {
        for facts in &all {
            attach::note_here(tx, db, facts)?;
        }
        let hashes: Vec<&str> = all.iter().map(|facts| facts.sha256.as_str()).collect();
        let subject = new.subject.as_ref();
        tx.execute(
            "INSERT INTO captures (id, purpose, state, unsent, files, room_id, note, subject_type, subject_id, created_at,
                 idempotency_key) VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            (
                &id,
                purpose,
                CaptureState::Waiting,
                Value::from(hashes).to_string(),
                &new.room_id,
                &new.note,
                subject.map(|(kind, _)| kind.as_str()),
                subject.map(|(_, id)| id),
                now.to_string(),
                edits::fresh_id().to_string(),
            ),
        )?;
        Ok(())
    })?;
    Ok(id)
}

fn check(new: &NewCapture) -> Result<(), AttachError> {
    let refuse = |sentence: String| Err(AttachError::Edit(EditError::Refused(sentence)));
    if new.files.is_empty() || new.files.len() > CAPTURE_FILES_MAX {
        return refuse(format!("a capture has 1 to {CAPTURE_FILES_MAX} files; make another capture of the others"));
    }
    if new.note.as_ref().is_some_and(|note| note.chars().count() > NOTE_CHARACTERS_MAX) {
        return refuse(format!("a note of a capture has at most {NOTE_CHARACTERS_MAX} characters; make it shorter"));
    }
    match &new.subject {
        Some((kind, _)) if !matches!(kind, Kind::Inventory | Kind::Vehicle) => refuse(format!(
            "papers are about an item or a vehicle, and this is a {kind}; attach the file to it instead"
        )),
        _ => Ok(()),
    }
}

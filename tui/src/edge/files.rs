//! Files of documents: opens them, asks for their bytes, attaches new ones, completes typed paths. Must not know screens.

use std::path::PathBuf;

use hearth_contract::check::Fields;
use hearth_contract::schema::{Kind, SUBJECT_ID, SUBJECT_TYPE};
use hearth_replica::{AttachError, EditError, FileChoice, FileRow, Replica, StoreError, now, open_file};

use crate::message::Answer;
use crate::parse::path::{complete_name, typed_path};

/// The most names of a directory that are read for a completion.
const NAMES_MAX: usize = 10_000;

/// The most names that are shown under the line.
const CHOICES_MAX: usize = 40;

/// Opens a file, or asks for its bytes. `may_ask`: false when the bytes were asked for before.
pub(super) fn open(replica: &Replica, file: String, title: String, may_ask: bool) -> Answer {
    if let Some(path) = replica.file_path(&file) {
        let opened = open_file(&path).map(|()| format!("Opened {title}.")).map_err(|error| error.to_string());
        return Answer::FileOpened(opened);
    }
    match fetch(replica, &file, may_ask) {
        Ok(None) => Answer::FileFetching { file, title, is_new: may_ask },
        Ok(Some(sentence)) => Answer::FileOpened(Err(sentence)),
        Err(error) => Answer::FileOpened(Err(error.to_string())),
    }
}

/// Asks for the bytes of a file. Returns a sentence when they will not come.
fn fetch(replica: &Replica, file: &str, may_ask: bool) -> Result<Option<String>, StoreError> {
    if may_ask {
        if replica.status()?.server.is_none() {
            return Ok(Some("Its file is not on this device, and the home has no server.".to_owned()));
        }
        // Bytes that a person has removed are noticed first.
        replica.look_after_files(false, now())?;
        replica.request_files(FileChoice::One(file), now())?;
        return Ok(None);
    }
    let row = replica.file(file)?;
    Ok(match row {
        Some(row) if row.is_requested => None,
        row => Some(format!(
            "Its file could not be fetched: {}",
            row.as_ref().and_then(problem).unwrap_or("no reason is known")
        )),
    })
}

fn problem(row: &FileRow) -> Option<&str> {
    row.problem.as_ref()?.get("message")?.as_str()
}

/// Attaches a file to a record, or gives it to a document. Returns the id of the document.
pub(super) fn attach(replica: &Replica, typed: &str, kind: Kind, id: &str) -> Result<String, EditError> {
    let path = typed_path(typed, home().as_deref());
    let mut fields = Fields::new();
    let document = (kind == Kind::Document).then_some(id);
    if document.is_none() {
        fields.insert(SUBJECT_TYPE.to_owned(), kind.as_str().into());
        fields.insert(SUBJECT_ID.to_owned(), id.into());
    }
    match replica.attach(&[PathBuf::from(path)], &fields, document) {
        Ok(attached) => Ok(attached.into_iter().next().map(|one| one.document).unwrap_or_default()),
        Err(AttachError::Edit(error)) => Err(error),
        Err(other) => Err(EditError::Refused(other.to_string())),
    }
}

/// Completes the last name of a typed path.
pub(super) fn complete(ticket: u64, typed: &str) -> Answer {
    let path = typed_path(typed, home().as_deref());
    let (directory, name) = path.rsplit_once('/').map_or(("", path.as_str()), |(directory, name)| (directory, name));
    let place = match directory {
        "" if path.starts_with('/') => "/",
        "" => ".",
        directory => directory,
    };
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten().take(NAMES_MAX);
    let names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(if entry.path().is_dir() { format!("{name}/") } else { name })
        })
        .collect();
    let (completed, mut choices) = complete_name(name, &names);
    choices.truncate(CHOICES_MAX);
    let kept = &path[..path.len() - name.len()];
    Answer::PathCompleted { ticket, path: format!("{kept}{completed}"), choices }
}

pub(super) fn home() -> Option<String> {
    std::env::var("HOME").ok().filter(|home| !home.is_empty())
}

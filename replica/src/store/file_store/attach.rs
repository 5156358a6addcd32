//! Attaches a file: copies it into the folder, then writes its row and its document in one transaction. Works without a
//! server: the upload follows. Must not know who attaches.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};

use crate::model::{FILE_SHA256, FileState, Origin};
use crate::store::edits::{self, EditError};
use crate::store::file_store::bytes::{self, COPY_PREFIX, FileFacts};
use crate::store::file_store::upload::known_limit;
use crate::store::file_store::{retry, table};
use crate::store::files::{make_private_directory, new_private_file};
use crate::store::{StoreError, gate};

/// The most bytes of a file, unless the server has named another limit (contract 21).
pub const FILE_BYTES_MAX: u64 = 32 << 20;

/// The most characters of a file's name (contract 3).
const NAME_CHARACTERS_MAX: usize = 255;

/// The most characters of a title (contract 3).
const TITLE_CHARACTERS_MAX: usize = 200;

/// Why a file was not attached. The texts are sentences for people.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The path leads to no file, or the file cannot be read.
    #[error("{0}: {1}")]
    Source(PathBuf, io::Error),
    /// The path leads to a directory or a device.
    #[error("{0} is no file: give the path of one file")]
    NotAFile(PathBuf),
    /// The file has more bytes than a file may have: path and limit in bytes.
    #[error("{0} is larger than {1} MiB, the most that a file may have", .path.display(), .limit >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// The document was refused, or the database failed.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl From<StoreError> for AttachError {
    fn from(error: StoreError) -> AttachError {
        AttachError::Edit(error.into())
    }
}

/// A file that is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// The id of the document.
    pub document: String,
    /// What the bytes tell.
    pub facts: FileFacts,
}

/// The most bytes of a file: the server's limit when known.
pub(crate) fn limit(connection: &Connection) -> Result<u64, StoreError> {
    Ok(known_limit(connection)?.unwrap_or(FILE_BYTES_MAX))
}

/// Attaches files, all of them or none: to a document, or each to a new one. `fields`: of the documents; without a title, the name
/// of the file is the title of a new document.
pub(crate) fn attach(
    connection: &mut Connection,
    db: &Path,
    origin: Origin,
    files: &[PathBuf],
    fields: &Fields,
    document: Option<&str>,
) -> Result<Vec<Attached>, AttachError> {
    let limit = limit(connection)?;
    let copied: Vec<FileFacts> = files.iter().map(|file| copy_in(db, file, limit)).collect::<Result<_, _>>()?;
    let attached = gate::edit_tx(connection, origin, |tx| -> Result<Vec<Attached>, EditError> {
        files.iter().zip(copied).map(|(file, facts)| attach_in(tx, db, file, facts, fields, document)).collect()
    })?;
    for one in &attached {
        retry::retry_with_bytes(connection, &one.facts.sha256)?;
    }
    Ok(attached)
}

/// Writes the row and the document of a file that was copied in.
fn attach_in(
    tx: &Transaction<'_>,
    db: &Path,
    file: &Path,
    facts: FileFacts,
    given: &Fields,
    document: Option<&str>,
) -> Result<Attached, EditError> {
    gate::with_guards_off(tx, |tx| note_here(tx, db, &facts).map_err(EditError::from))?;
    let mut fields = document_fields(file, &facts);
    if document.is_none() {
        fields.insert("title".to_owned(), title(file).into());
    }
    fields.extend(given.clone());
    let document = match document {
        Some(id) => {
            edits::update_in(tx, Kind::Document, id, &fields)?;
            id.to_owned()
        }
        None => edits::create_in(tx, Kind::Document, &fields)?,
    };
    Ok(Attached { document, facts })
}

/// Copies a file into the folder, at most `limit` bytes, and returns what its bytes tell. The bytes are on the disk when the
/// function returns.
pub(in crate::store) fn copy_in(db: &Path, file: &Path, limit: u64) -> Result<FileFacts, AttachError> {
    let source = |error| AttachError::Source(file.to_owned(), error);
    // A pipe is not opened: it may never give a byte.
    let metadata = fs::metadata(file).map_err(source)?;
    if !metadata.is_file() {
        return Err(AttachError::NotAFile(file.to_owned()));
    }
    let too_large = || AttachError::TooLarge { path: file.to_owned(), limit };
    if metadata.len() > limit {
        return Err(too_large());
    }
    let mut from = File::open(file).map_err(source)?;
    let folder = bytes::folder(db);
    make_private_directory(&folder).map_err(StoreError::at(&folder))?;
    let copy = folder.join(format!("{COPY_PREFIX}{}", uuid::Uuid::new_v4().simple()));
    let mut to = new_private_file(&copy).map_err(StoreError::at(&copy))?;
    let mut written = 0;
    let copied = bytes::read_pieces(&mut from, source, |piece| {
        written += piece.len() as u64;
        if written > limit {
            return Err(too_large());
        }
        Ok(to.write_all(piece).map_err(StoreError::at(&copy))?)
    });
    let placed = copied.and_then(|facts| {
        bytes::place(db, &copy, &facts.sha256)?;
        Ok(facts)
    });
    if placed.is_err() {
        let _ = fs::remove_file(&copy);
    }
    placed
}

/// Writes the row of a file that was copied in. A file that the server has need not be sent again.
pub(in crate::store) fn note_here(tx: &Transaction<'_>, db: &Path, facts: &FileFacts) -> Result<(), StoreError> {
    // A process that removes old files does so under the same lock. It may have removed these bytes since the copy.
    if !bytes::is_here(db, &facts.sha256) {
        return Err(StoreError::Unexpected(
            "the copy of the file was removed meanwhile; repeat the command".to_owned(),
        ));
    }
    let state = match table::state(tx, &facts.sha256)? {
        Some(FileState::Present) => FileState::Present,
        _ => FileState::Waiting,
    };
    table::set_here(tx, facts, state)
}

/// The fields of a document that tell of its file.
fn document_fields(file: &Path, facts: &FileFacts) -> Fields {
    let name = file.file_name().map(|name| clean(&name.to_string_lossy(), NAME_CHARACTERS_MAX)).unwrap_or_default();
    Fields::from_iter([
        (FILE_SHA256.to_owned(), facts.sha256.as_str().into()),
        ("file_name".to_owned(), name.into()),
        ("content_type".to_owned(), facts.content_type.into()),
        ("size_bytes".to_owned(), facts.size_bytes.into()),
    ])
}

/// The title of a document that got none: the name of its file without the extension.
fn title(file: &Path) -> String {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match clean(&stem, TITLE_CHARACTERS_MAX) {
        title if title.is_empty() => "File".to_owned(),
        title => title,
    }
}

/// A text of one line: a file name may hold any character.
fn clean(text: &str, characters_max: usize) -> String {
    let plain = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    plain.take(characters_max).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn copied_file_has_the_name_of_its_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let file = directory.path().join("receipt.txt");
        fs::write(&file, "a receipt").unwrap();
        let facts = copy_in(&db, &file, 9).unwrap();
        assert_eq!((facts.size_bytes, facts.content_type), (9, hearth_contract::media::MediaType::Text.as_str()));
        let place = bytes::path(&db, &facts.sha256).unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"a receipt");
        assert_eq!(bytes::examine(&place).unwrap(), facts);
        for (path, mode) in [(place.as_path(), 0o600), (place.parent().unwrap(), 0o700), (&bytes::folder(&db), 0o700)] {
            assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, mode, "{path:?}");
        }
    }

    #[test]
    fn refused_copy_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let file = directory.path().join("receipt.txt");
        fs::write(&file, "a receipt").unwrap();
        assert!(matches!(copy_in(&db, &file, 8), Err(AttachError::TooLarge { limit: 8, .. })));
        assert!(!bytes::folder(&db).exists());
        // Linux does not tell the length of this file, so the copy begins.
        let file = Path::new("/proc/self/status");
        if file.exists() {
            assert!(matches!(copy_in(&db, file, 8), Err(AttachError::TooLarge { limit: 8, .. })));
            assert_eq!(fs::read_dir(bytes::folder(&db)).unwrap().count(), 0);
        }
    }
}

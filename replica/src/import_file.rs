//! Reads the file of an import, with a limit, and tells the kind that its name says. Must not know columns or records.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hearth_contract::schema::Kind;

/// The most bytes of a file. A file of 50,000 rows has about 10 MB.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Why the file of an import was not read. The texts are sentences for people.
#[derive(Debug, thiserror::Error)]
pub enum ImportFileError {
    /// The path leads to no file, or the file cannot be read.
    #[error("{0} cannot be read: {1}")]
    Unreadable(PathBuf, io::Error),
    /// The file has more bytes than an import takes.
    #[error("{0} is larger than {FILE_BYTES_MAX} bytes, the most of an import; split the file")]
    TooLarge(PathBuf),
}

/// The bytes of the file at a path.
pub fn read_import_file(file: &Path) -> Result<Vec<u8>, ImportFileError> {
    let source = std::fs::File::open(file).map_err(|error| ImportFileError::Unreadable(file.to_owned(), error))?;
    read_import_source(file, source)
}

/// The bytes of a source such as standard input. `name` stands in the errors.
pub fn read_import_source(name: &Path, source: impl Read) -> Result<Vec<u8>, ImportFileError> {
    let mut bytes = Vec::new();
    source
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| ImportFileError::Unreadable(name.to_owned(), error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(ImportFileError::TooLarge(name.to_owned()));
    }
    Ok(bytes)
}

/// The kind that a CSV file is named after, as the exports of one kind are. None: the name says no kind.
pub fn kind_by_name(file: &Path) -> Option<Kind> {
    let is_csv = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    let stem = file.file_stem().filter(|_| is_csv)?.to_str()?.to_lowercase();
    Kind::from_collection(&stem).or_else(|| Kind::parse(&stem))
}

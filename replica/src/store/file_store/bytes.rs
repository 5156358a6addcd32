//! The folder with the bytes of files: `files/<2 hex>/<sha256>` beside the database, for this user alone. A file gets its name
//! when all its bytes are on the disk and its hash is known. Must not know the table `files`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hearth_contract::media::Sniffer;
use sha2::{Digest, Sha256};

use crate::store::StoreError;
use crate::store::files::{self, companion, make_private_directory};

/// The bytes that are read at once.
const PIECE_BYTES: usize = 64 << 10;

/// Hexadecimal digits of a hash.
const HASH_DIGITS: usize = 64;

/// Digits of a hash that name the folder of a file, so that no folder holds too many files.
const FOLDER_DIGITS: usize = 2;

/// Begins the name of a file that is being copied into the folder.
pub(super) const COPY_PREFIX: &str = "copy-";

/// Begins the name of a download that is not whole yet.
pub(super) const DOWNLOAD_PREFIX: &str = "download-";

/// What the bytes of a file tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// The SHA-256, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// The size in bytes.
    pub size_bytes: u64,
    /// The media type, judged by the bytes.
    pub content_type: &'static str,
}

/// The folder of the files of a database.
pub(crate) fn folder(db: &Path) -> PathBuf {
    companion(db, "files")
}

/// The path of a file's bytes. None when the text is no hash: a server may send any text, and a path must not leave the folder.
pub(crate) fn path(db: &Path, sha256: &str) -> Option<PathBuf> {
    is_hash(sha256).then(|| folder(db).join(&sha256[..FOLDER_DIGITS]).join(sha256))
}

/// The path of a download that is not whole yet. None when the text is no hash.
pub(crate) fn download_path(db: &Path, sha256: &str) -> Option<PathBuf> {
    is_hash(sha256).then(|| folder(db).join(format!("{DOWNLOAD_PREFIX}{sha256}")))
}

/// True for 64 lower-case hexadecimal digits.
pub(crate) fn is_hash(text: &str) -> bool {
    text.len() == HASH_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Reads a whole file, and gives each piece to `each`. `failed`: the error when the file cannot be read.
pub(super) fn read_pieces<E>(
    file: &mut impl Read,
    failed: impl Fn(io::Error) -> E,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<FileFacts, E> {
    let (mut digest, mut sniffer, mut size_bytes) = (Sha256::new(), Sniffer::default(), 0);
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        let piece = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => &buffer[..length],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        each(piece)?;
        digest.update(piece);
        sniffer.push(piece);
        size_bytes += piece.len() as u64;
    }
    let sha256 = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(FileFacts { sha256, size_bytes, content_type: sniffer.finish().as_str() })
}

/// What the bytes of a file tell. Reads the whole file.
pub(crate) fn examine(path: &Path) -> io::Result<FileFacts> {
    read_pieces(&mut File::open(path)?, |error| error, |_| Ok(()))
}

/// Gives a file in the folder its name. Its bytes, and the name, are on the disk when the function returns.
pub(crate) fn place(db: &Path, from: &Path, sha256: &str) -> Result<(), StoreError> {
    let to = path(db, sha256).ok_or_else(|| StoreError::InvalidContent(format!("the hash {sha256}")))?;
    let directory = files::directory(&to);
    File::open(from).and_then(|file| file.sync_all()).map_err(StoreError::at(from))?;
    make_private_directory(directory).map_err(StoreError::at(directory))?;
    fs::rename(from, &to).map_err(StoreError::at(&to))?;
    for directory in [directory, &folder(db)] {
        File::open(directory).and_then(|directory| directory.sync_all()).map_err(StoreError::at(directory))?;
    }
    Ok(())
}

/// True when the bytes of a file are in the folder. Their hash is not looked at.
pub(crate) fn is_here(db: &Path, sha256: &str) -> bool {
    path(db, sha256).is_some_and(|path| path.is_file())
}

/// Copies the bytes of all files to the folder of another database.
pub(crate) fn copy_all(db: &Path, other: &Path) -> Result<(), StoreError> {
    for directory in fs::read_dir(folder(db)).into_iter().flatten().flatten() {
        for file in fs::read_dir(directory.path()).into_iter().flatten().flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            let Some(to) = path(other, &name) else { continue };
            make_private_directory(files::directory(&to)).map_err(StoreError::at(files::directory(&to)))?;
            fs::copy(file.path(), &to).map_err(StoreError::at(&to))?;
        }
    }
    Ok(())
}

/// Removes the bytes of a file. Bytes that are not there are no error.
pub(crate) fn remove(db: &Path, sha256: &str) -> Result<(), StoreError> {
    for path in [path(db, sha256), download_path(db, sha256)].into_iter().flatten() {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(StoreError::at(&path)(error)),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_no_hash_has_no_path() {
        let db = Path::new("/d/replica.db");
        for text in ["../../../../etc/passwd", "", &"A".repeat(64), &"é".repeat(32)] {
            assert_eq!((path(db, text), download_path(db, text)), (None, None), "{text}");
        }
    }
}

//! The bytes of files for backups, restores and checks. All functions block. Must not know SQL.

use std::fs::{File, read_dir};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::disk::Disk;
use crate::store::StoreError;
use crate::store::file_copies::{FileBytes, NextPiece};
use crate::store::stored_files::{FileHash, StoredFile};

/// Bytes that are read at once.
const PIECE: usize = 256 * 1024;

impl FileBytes for Disk {
    fn open(&self, home: Uuid, file: &StoredFile) -> Result<File, StoreError> {
        Disk::open(self, home, &file.sha256, file.size_bytes)
    }

    fn write(&self, home: Uuid, file: &StoredFile, next: NextPiece<'_>) -> Result<bool, StoreError> {
        let Some(first) = next()? else {
            // The file of no bytes has no pieces.
            let is_empty = file.size_bytes == 0;
            let is_there = self.has(home, &file.sha256, file.size_bytes);
            if is_empty && !is_there {
                let partial = self.begin(home, &file.sha256)?;
                self.publish(home, partial.finish()?)?;
            }
            return Ok(is_empty || is_there);
        };
        let mut partial = self.begin(home, &file.sha256)?;
        partial.push(&first)?;
        while let Some(piece) = next()? {
            partial.push(&piece)?;
        }
        let whole = partial.finish()?;
        let is_right = whole.sha256 == file.sha256;
        if is_right {
            self.publish(home, whole)?;
        }
        Ok(is_right)
    }
}

impl Disk {
    /// Whether the bytes of a file are there, and have the hash that names them.
    pub fn is_sound(&self, home: Uuid, file: &StoredFile) -> bool {
        let digest = || -> Option<FileHash> {
            let mut bytes = Disk::open(self, home, &file.sha256, file.size_bytes).ok()?;
            let (mut hasher, mut piece) = (Sha256::new(), vec![0; PIECE]);
            loop {
                match bytes.read(&mut piece).ok()? {
                    0 => return Some(FileHash::from_bytes(&hasher.finalize().into())),
                    read => hasher.update(&piece[..read]),
                }
            }
        };
        digest().as_ref() == Some(&file.sha256)
    }

    /// The directories of the files of a home.
    pub fn directories_of(&self, home: Uuid) -> Vec<PathBuf> {
        entries(&self.dir().join(home.to_string())).filter(|path| is_directory(path)).collect()
    }

    /// The files in a directory of a home, each by the hash that names it. Other names are left out.
    pub fn hashes_in(dir: &Path) -> Vec<FileHash> {
        let hash = |path: PathBuf| {
            let name = path.file_name()?.to_str()?.to_owned();
            FileHash::parse(&name).filter(|hash| hash.as_str() == name)
        };
        entries(dir).filter_map(hash).collect()
    }

    /// Lets all bytes count as written now, so that a sweep keeps those for some days that no row names.
    pub fn renew_all(&self, now: SystemTime) {
        for home in entries(self.dir()).filter(|path| is_directory(path)) {
            for path in
                entries(&home).filter(|path| is_directory(path)).flat_map(|dir| entries(&dir).collect::<Vec<_>>())
            {
                // A file that keeps its time is only removed earlier.
                let _ = File::open(path).and_then(|file| file.set_modified(now));
            }
        }
    }
}

/// The entries of a directory; none when the directory is missing.
pub(super) fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> {
    read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|at| at.is_dir())
}

//! The bytes of files on the disk. Bytes are written under a temporary name in the directory of the file, synced, and renamed;
//! then the directory is synced. All functions block. Must not know the table of files.

use std::fs::{self, DirBuilder, File, OpenOptions, remove_file, rename};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use data_encoding::HEXLOWER;
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::picture::WIDTHS;
use crate::random::random_bytes;
use crate::store::StoreError;
use crate::store::stored_files::FileHash;
use hearth_contract::media::{MediaType, Sniffer};

/// The begin of a temporary name. The run of the process and a number follow.
const PARTIAL: &str = "uploading-";

/// The directory of the files of all homes.
pub struct Disk {
    dir: PathBuf,
    /// Tells the temporary files of this process from those of an earlier one.
    run: String,
    next: AtomicU64,
}

/// A file that is being written. Dropping the value removes the temporary file.
pub struct Partial {
    file: File,
    path: PathBuf,
    hasher: Sha256,
    sniffer: Sniffer,
    size: i64,
}

/// A whole file under its temporary name. Dropping the value removes it.
pub struct Whole {
    /// The SHA-256 of the bytes.
    pub sha256: FileHash,
    /// The size in bytes.
    pub size_bytes: i64,
    /// The media type, judged by the bytes.
    pub media: MediaType,
    path: TemporaryPath,
}

struct TemporaryPath(PathBuf);

impl Disk {
    /// A directory, which the first upload makes.
    pub fn new(dir: PathBuf) -> Disk {
        Disk { dir, run: HEXLOWER.encode(&random_bytes::<8>()), next: AtomicU64::default() }
    }

    /// The same directory, for another thread.
    pub fn reopened(&self) -> Disk {
        Disk::new(self.dir.clone())
    }

    /// The directory of all homes.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The path of a file.
    pub fn path(&self, home: Uuid, hash: &FileHash) -> PathBuf {
        self.dir.join(home.to_string()).join(&hash.as_str()[..2]).join(hash.as_str())
    }

    /// Whether a name is that of a temporary file of an earlier process.
    pub fn is_left_over(&self, name: &str) -> bool {
        name.strip_prefix(PARTIAL).is_some_and(|rest| !rest.starts_with(&self.run))
    }

    /// Opens a file for reading. Error: also when the size is not `size_bytes`.
    pub fn open(&self, home: Uuid, hash: &FileHash, size_bytes: i64) -> Result<File, StoreError> {
        let path = self.path(home, hash);
        let opened = OpenOptions::new().read(true).custom_flags(no_follow()).open(&path);
        let file = opened.map_err(|error| StoreError::of_file(&path, error))?;
        let size = file.metadata().map_err(|error| StoreError::of_file(&path, error))?.len();
        if i64::try_from(size) != Ok(size_bytes) {
            return Err(StoreError::Corrupt(format!("{} has {size} bytes, not {size_bytes}", path.display())));
        }
        Ok(file)
    }

    /// Whether the bytes of a file are there, in the right size.
    pub fn has(&self, home: Uuid, hash: &FileHash, size_bytes: i64) -> bool {
        self.open(home, hash, size_bytes).is_ok()
    }

    /// Begins to write a file.
    pub fn begin(&self, home: Uuid, hash: &FileHash) -> Result<Partial, StoreError> {
        let dir = self.make_directory_of(home, hash)?;
        let path = dir.join(self.temporary_name());
        let file = create_new(&path).map_err(|error| StoreError::of_file(&path, error))?;
        Ok(Partial { file, path, hasher: Sha256::new(), sniffer: Sniffer::default(), size: 0 })
    }

    /// Gives a whole file its name, and makes the name last. Replaces a file of the same name, whose bytes are the same.
    pub fn publish(&self, home: Uuid, whole: Whole) -> Result<(), StoreError> {
        let target = self.path(home, &whole.sha256);
        // A file whose hash was not known before may come from another directory.
        self.make_directory_of(home, &whole.sha256)?;
        let fault = |error| StoreError::of_file(&target, error);
        rename(&whole.path.0, &target).map_err(fault)?;
        sync_directory(target.parent().unwrap_or(&self.dir)).map_err(fault)
    }

    /// Removes the bytes of a file, and what was made from them. A missing file is no error.
    pub fn remove(&self, home: Uuid, hash: &FileHash) -> Result<(), StoreError> {
        let made = WIDTHS.map(|width| self.thumbnail_path(home, hash, width));
        made.into_iter().chain([self.path(home, hash)]).try_for_each(|path| match remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::of_file(&path, error)),
            _ => Ok(()),
        })
    }

    /// The path of the small picture of a file.
    pub(super) fn thumbnail_path(&self, home: Uuid, hash: &FileHash, width: u32) -> PathBuf {
        self.path(home, hash).with_extension(format!("{width}.jpg"))
    }

    /// A new temporary path beside a file.
    pub(super) fn temporary_path(&self, home: Uuid, hash: &FileHash) -> PathBuf {
        self.path(home, hash).with_file_name(self.temporary_name())
    }

    fn temporary_name(&self) -> String {
        format!("{PARTIAL}{}-{}", self.run, self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Makes the directory of a file (0700) with those above it.
    fn make_directory_of(&self, home: Uuid, hash: &FileHash) -> Result<PathBuf, StoreError> {
        let of_home = self.dir.join(home.to_string());
        let dir = of_home.join(&hash.as_str()[..2]);
        // A restore may come before the data directory has any.
        for dir in [&self.dir, &of_home, &dir] {
            make_directory(dir).map_err(|error| StoreError::of_file(dir, error))?;
        }
        Ok(dir)
    }
}

impl Partial {
    /// Writes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.write_all(bytes).map_err(|error| StoreError::of_file(&self.path, error))?;
        self.hasher.update(bytes);
        self.sniffer.push(bytes);
        self.size += bytes.len() as i64;
        Ok(())
    }

    /// Ends the file: all bytes are on the disk then.
    pub fn finish(mut self) -> Result<Whole, StoreError> {
        self.file.sync_all().map_err(|error| StoreError::of_file(&self.path, error))?;
        let path = TemporaryPath(std::mem::take(&mut self.path));
        let hash: [u8; 32] = std::mem::take(&mut self.hasher).finalize().into();
        let media = std::mem::take(&mut self.sniffer).finish();
        Ok(Whole { sha256: FileHash::from_bytes(&hash), size_bytes: self.size, media, path })
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        remove_temporary(&self.path);
    }
}

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        remove_temporary(&self.0);
    }
}

/// Removes a temporary file. A failure leaves it for the next start.
fn remove_temporary(path: &Path) {
    if !path.as_os_str().is_empty() {
        let _ = remove_file(path);
    }
}

/// Makes a directory (0700) and makes its name last. A link in its place is refused.
fn make_directory(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => sync_directory(dir.parent().unwrap_or(Path::new("."))),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match fs::symlink_metadata(dir)?.is_dir() {
            true => Ok(()),
            false => Err(error),
        },
        Err(error) => Err(error),
    }
}

pub(super) fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().create_new(true).write(true).mode(0o600).custom_flags(no_follow()).open(path)
}

fn no_follow() -> i32 {
    OFlags::NOFOLLOW.bits().cast_signed()
}

fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn file_is_written_under_its_hash_and_removed() {
        let data = tempfile::tempdir().unwrap();
        let (disk, home) = (Disk::new(data.path().join("files")), Uuid::from_u128(7));
        let hash = FileHash::parse("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD").unwrap();
        let mut partial = disk.begin(home, &hash).unwrap();
        partial.push(b"a").unwrap();
        partial.push(b"bc").unwrap();
        let whole = partial.finish().unwrap();
        assert_eq!((&whole.sha256, whole.size_bytes, whole.media), (&hash, 3, MediaType::Text));
        disk.publish(home, whole).unwrap();
        let path = disk.path(home, &hash);
        assert_eq!(fs::read(&path).unwrap(), b"abc");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        for above in path.ancestors().skip(1).take(3) {
            assert_eq!(above.metadata().unwrap().mode() & 0o777, 0o700, "{}", above.display());
        }
        assert!(disk.has(home, &hash, 3) && !disk.has(home, &hash, 4));
        drop(disk.begin(home, &hash).unwrap());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "a dropped upload leaves nothing");
        disk.remove(home, &hash).unwrap();
        disk.remove(home, &hash).unwrap();
        assert!(!disk.has(home, &hash, 3));
    }

    #[test]
    fn only_temporary_files_of_earlier_processes_are_left_over() {
        let (first, second) = (Disk::new(PathBuf::new()), Disk::new(PathBuf::new()));
        let name = format!("{PARTIAL}{}-0", first.run);
        assert!(second.is_left_over(&name) && !first.is_left_over(&name) && !second.is_left_over("a letter"));
    }
}

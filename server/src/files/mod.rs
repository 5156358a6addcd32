//! The bytes of the files of homes (contract 21): on the disk, on their way there, and what is made from them. Must not know
//! HTTP.
//!
//! - [`disk`]: where the bytes lie, and how they get there safely. [`sweep`]: removes bytes that no row names. `copies`: bytes
//!   for backups and checks.
//! - [`reservation`]: how many bytes the uploads in progress may still take.
//! - [`thumbnails`]: small pictures, which `picture` makes.

mod copies;
pub mod disk;
mod picture;
pub mod reservation;
pub mod sweep;
pub mod thumbnails;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard, Semaphore};

use self::disk::Disk;
use self::reservation::Reservations;
use crate::store::directory::FILES_DIR;
use crate::store::stored_files::FileHash;

/// Uploads of one key at the same time, at most (contract 21).
pub const UPLOADS_MAX: usize = 4;
/// How long a file stays that no document names, in milliseconds: 7 days (contract 21).
pub const UNUSED_KEPT_MILLIS: i64 = 7 * 24 * 3_600_000;
/// Small pictures that are made at the same time, at most: a decoder may take much memory.
const PICTURES_AT_ONCE: usize = 1;
/// Locks for the files. Two files share a lock by chance, and then wait for each other.
const LOCKS: usize = 64;

/// The files of all homes of a serving process.
pub struct Files {
    /// The bytes on the disk.
    pub disk: Disk,
    /// The bytes that uploads in progress have reserved.
    pub reservations: Reservations,
    locks: Vec<Arc<Mutex<()>>>,
    /// The right to make a small picture.
    workers: Arc<Semaphore>,
}

impl Files {
    /// For a data directory. The directories are made by the first upload.
    pub fn new(data: &Path) -> Files {
        Files {
            disk: Disk::new(data.join(FILES_DIR)),
            reservations: Reservations::default(),
            workers: Arc::new(Semaphore::new(PICTURES_AT_ONCE)),
            locks: (0..LOCKS).map(|_| Arc::default()).collect(),
        }
    }

    /// Waits for the sole right to give a file its name, or to remove its bytes. Held until the row is committed, so that no
    /// row is ever without bytes.
    pub async fn lock(&self, hash: &FileHash) -> OwnedMutexGuard<()> {
        let first = u8::from_str_radix(&hash.as_str()[..2], 16).unwrap_or_default();
        self.locks[usize::from(first) % LOCKS].clone().lock_owned().await
    }
}

/// The directory of the files of all homes in a data directory.
pub fn directory(data: &Path) -> PathBuf {
    data.join(FILES_DIR)
}

//! Verifies that each file of a home has its bytes, and names bytes that no row names. Must not know the command line.

use std::collections::HashSet;

use uuid::Uuid;

use crate::files::disk::Disk;
use crate::store::stored_files::{self, StoredFile};
use crate::store::{Db, HomeNumber, StoreError};

/// Files that are read from the table at once.
const PAGE: usize = 100;

/// What was found in the files of one home.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The number of files.
    pub(super) files: i64,
    /// Files without their bytes, as sentences.
    pub(super) faults: Vec<String>,
    /// Bytes without a row, as sentences.
    pub(super) notes: Vec<String>,
}

/// Reads the bytes of all files of a home. Ends early as soon as `is_stopped` says so.
pub(super) async fn files(
    db: &Db,
    disk: &Disk,
    (number, id): (HomeNumber, Uuid),
    is_stopped: &impl Fn() -> bool,
) -> Result<Found, StoreError> {
    let (mut found, mut before) = (Found::default(), None);
    loop {
        let page = db.read(move |tx| stored_files::page(tx, number, None, before, PAGE)).await?;
        for file in &page {
            if is_stopped() {
                return Err(StoreError::TimeUp);
            }
            found.files += 1;
            before = file.number;
            let (checked, of_home) = (file.clone(), disk.reopened());
            if !on_thread(move || of_home.is_sound(id, &checked)).await? && is_still_there(db, number, file).await? {
                let hash = file.sha256.as_str();
                found.faults.push(format!("file {hash} is missing or damaged; upload its bytes again to mend it"));
            }
        }
        if page.len() < PAGE {
            break;
        }
    }
    let of_home = disk.reopened();
    for dir in on_thread(move || of_home.directories_of(id)).await? {
        let in_dir = dir.clone();
        let hashes = on_thread(move || Disk::hashes_in(&in_dir)).await?;
        for hash in unnamed(db, number, hashes).await? {
            found.notes.push(format!("{} belongs to no file; the server removes it", dir.join(hash).display()));
        }
    }
    Ok(found)
}

/// Runs file operations on a thread that may block.
async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Panicked)
}

/// Whether a file was not deleted while its bytes were read.
async fn is_still_there(db: &Db, number: HomeNumber, file: &StoredFile) -> Result<bool, StoreError> {
    let hash = file.sha256.clone();
    Ok(db.read(move |tx| stored_files::find(tx, number, &hash)).await?.is_some())
}

/// The hashes without a row.
async fn unnamed(db: &Db, number: HomeNumber, hashes: Vec<stored_files::FileHash>) -> Result<Vec<String>, StoreError> {
    let texts: Vec<String> = hashes.iter().map(|hash| hash.as_str().to_owned()).collect();
    let (Some(first), Some(last)) = (texts.iter().min().cloned(), texts.iter().max().cloned()) else {
        return Ok(Vec::new());
    };
    let named = db.read(move |tx| stored_files::hashes_between(tx, number, &first, &last)).await?;
    let named: HashSet<String> = named.into_iter().collect();
    Ok(texts.into_iter().filter(|text| !named.contains(text)).collect())
}

//! Small pictures of files: each is made once, and lies beside its file. One is made at a time. Must not know HTTP.

use std::fs::{File, remove_file, rename};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::Files;
use super::picture;
use crate::store::StoreError;
use crate::store::stored_files::{FileHash, StoredFile};
use hearth_contract::media::MediaType;
use hearth_exchange::picture::NoPicture;

/// How long a request waits for the pictures before its own.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// The small picture of a file.
#[derive(Debug)]
pub enum Thumbnail {
    /// The open JPEG, and its size in bytes.
    Made(File, u64),
    /// No picture can be made from the file.
    None,
    /// Others are being made; ask again.
    Waiting,
    /// The file is damaged or too large.
    Failed,
}

impl Files {
    /// The small picture of a file, made now if it was not made before.
    pub async fn thumbnail(
        self: &Arc<Self>,
        home: Uuid,
        file: StoredFile,
        width: u32,
    ) -> Result<Thumbnail, StoreError> {
        let media = MediaType::parse(&file.content_type);
        if !media.is_image() && media != MediaType::Pdf {
            return Ok(Thumbnail::None);
        }
        let (files, hash) = (self.clone(), file.sha256.clone());
        if let Some(found) = blocking(move || files.made(home, &hash, width)).await? {
            return Ok(found);
        }
        let Ok(Ok(permit)) = tokio::time::timeout(WAIT_MAX, self.workers.clone().acquire_owned()).await else {
            return Ok(Thumbnail::Waiting);
        };
        // The file must not be removed between the making and the rename.
        let lock = self.lock(&file.sha256).await;
        let files = self.clone();
        blocking(move || {
            // The client may hang up: the work goes on, and so do its rights.
            let (_permit, _lock) = (permit, lock);
            match files.made(home, &file.sha256, width)? {
                Some(found) => Ok(found),
                None => files.make(home, &file, media, width),
            }
        })
        .await
    }

    /// The picture that was made before. An empty file stands for a picture that could not be made.
    fn made(&self, home: Uuid, hash: &FileHash, width: u32) -> Result<Option<Thumbnail>, StoreError> {
        let path = self.disk.thumbnail_path(home, hash, width);
        match File::open(&path) {
            Ok(file) => {
                let size = file.metadata().map_err(|error| StoreError::of_file(&path, error))?.len();
                Ok(Some(if size == 0 { Thumbnail::Failed } else { Thumbnail::Made(file, size) }))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::of_file(&path, error)),
        }
    }

    fn make(&self, home: Uuid, file: &StoredFile, media: MediaType, width: u32) -> Result<Thumbnail, StoreError> {
        let bytes = self.disk.open(home, &file.sha256, file.size_bytes)?;
        let jpeg = match picture::make(bytes, media, width) {
            Ok(jpeg) => jpeg,
            Err(NoPicture::None) => return Ok(Thumbnail::None),
            Err(NoPicture::Failed) => Vec::new(),
        };
        let path = self.disk.thumbnail_path(home, &file.sha256, width);
        let temporary: PathBuf = self.disk.temporary_path(home, &file.sha256);
        let kept = write(&temporary, &jpeg).and_then(|()| rename(&temporary, &path));
        if let Err(error) = kept {
            let _ = remove_file(&temporary);
            return Err(StoreError::of_file(&path, error));
        }
        Ok(self.made(home, &file.sha256, width)?.unwrap_or(Thumbnail::Failed))
    }
}

/// Writes a file (0600) that can be made again, so it need not be synced.
fn write(path: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    super::disk::create_new(path)?.write_all(bytes)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(StoreError::Panicked))
}

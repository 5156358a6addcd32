//! A file that is the same for every client: made once, and compressed once in each coding, off the async threads. Must not
//! know HTTP, nor what the file says.

use std::sync::Arc;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use crate::compression::compress_once;
use crate::store::StoreError;

/// The codings of a file, the smallest first.
pub const CODINGS: [&str; 2] = ["br", "gzip"];
/// Bytes of the digest in an ETag.
const ETAG_BYTES: usize = 16;

/// A file, made at its first use, and compressed at the first use of each coding.
pub struct Asset {
    make: Arc<dyn Fn() -> Bytes + Send + Sync>,
    plain: OnceCell<Form>,
    coded: [OnceCell<Form>; CODINGS.len()],
}

/// A file in one coding. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Form {
    /// The coding, as in `Content-Encoding`. None: the file as it is.
    pub coding: Option<&'static str>,
    /// The strong ETag, with its quotes. Each coding has its own (RFC 9110 8.8.3.3).
    pub etag: String,
    /// The bytes.
    pub bytes: Bytes,
}

impl Asset {
    /// A file with the bytes that `make` returns. `make` may block.
    pub fn new(make: impl Fn() -> Bytes + Send + Sync + 'static) -> Asset {
        Asset { make: Arc::new(make), plain: OnceCell::new(), coded: Default::default() }
    }

    /// The file in a coding of [`CODINGS`]; None: as it is. Error: the work on the file panicked.
    pub async fn form(&self, coding: Option<&'static str>) -> Result<Form, StoreError> {
        let make = self.make.clone();
        let plain = self.plain.get_or_try_init(|| off_async(move || plain_form(make()))).await?;
        let Some(place) = CODINGS.iter().position(|known| Some(*known) == coding) else { return Ok(plain.clone()) };
        let (plain, coding) = (plain.clone(), CODINGS[place]);
        self.coded[place].get_or_try_init(|| off_async(move || coded_form(&plain, coding))).await.cloned()
    }
}

/// Runs work that blocks outside of the async threads.
async fn off_async(work: impl FnOnce() -> Form + Send + 'static) -> Result<Form, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Panicked)
}

fn plain_form(bytes: Bytes) -> Form {
    let digest = HEXLOWER.encode(&Sha256::digest(&bytes)[..ETAG_BYTES]);
    Form { coding: None, etag: format!("\"{digest}\""), bytes }
}

fn coded_form(plain: &Form, coding: &'static str) -> Form {
    let etag = format!("\"{}-{coding}\"", plain.etag.trim_matches('"'));
    Form { coding: Some(coding), etag, bytes: compress_once(&plain.bytes, coding) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn file_is_made_once_with_an_etag_for_each_coding() {
        let made = Arc::new(AtomicUsize::new(0));
        let counter = made.clone();
        let asset = Asset::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
            Bytes::from("hearth ".repeat(1000))
        });
        let plain = asset.form(None).await.unwrap();
        let (br, gzip) = (asset.form(Some("br")).await.unwrap(), asset.form(Some("gzip")).await.unwrap());
        assert_eq!((plain.bytes.len(), made.load(Ordering::SeqCst)), (7000, 1));
        assert!(br.bytes.len() < gzip.bytes.len() && gzip.bytes.len() < 200, "{} {}", br.bytes.len(), gzip.bytes.len());
        assert_eq!(br.etag.replace("-br", ""), plain.etag);
        assert_eq!(gzip.etag.replace("-gzip", ""), plain.etag);
    }
}

//! Adds the pictures of a job to the result of a tool, so that a language model sees what a person has photographed. Must not know
//! drafts.

use std::io::Read;
use std::sync::Arc;

use data_encoding::BASE64;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::app::App;
use crate::app::keyring::Principal;
use crate::files::thumbnails::Thumbnail;
use crate::store::StoreError;
use crate::store::stored_files::{self, FileHash};

/// The width of a picture, in pixels.
const WIDTH: u32 = 1280;
/// Bytes of the pictures of a result, at most; base64 makes four bytes of three.
const BYTES_MAX: usize = 3 << 20;

/// The result of a tool with a small picture of each file of its job. A file without a picture is left out.
pub(super) async fn added(app: &Arc<App>, principal: &Principal, mut result: CallToolResult) -> CallToolResult {
    let files = result.structured_content.as_ref().map(|content| content["data"]["files"].clone());
    let hashes: Vec<FileHash> = match files {
        Some(Value::Array(files)) => files.iter().filter_map(|file| FileHash::parse(file.as_str()?)).collect(),
        _ => return result,
    };
    let mut left = BYTES_MAX;
    for hash in hashes {
        match picture(app, principal, hash, left).await {
            Ok(Some(jpeg)) => {
                left -= jpeg.len();
                result.content.push(ContentBlock::image(BASE64.encode(&jpeg), "image/jpeg"));
            }
            Ok(None) => (),
            Err(fault) => tracing::warn!(%fault, "a picture is left out of the result of a tool"),
        }
    }
    result
}

/// The small picture of a file. None: there is none, or it has more than `most` bytes.
async fn picture(
    app: &Arc<App>,
    principal: &Principal,
    hash: FileHash,
    most: usize,
) -> Result<Option<Vec<u8>>, StoreError> {
    let number = principal.key.home;
    let Some(file) = app.db.read(move |tx| stored_files::find(tx, number, &hash)).await? else { return Ok(None) };
    let path = app.files.disk.path(principal.home_id(), &file.sha256);
    let Thumbnail::Made(mut jpeg, size) = app.files.thumbnail(principal.home_id(), file, WIDTH).await? else {
        return Ok(None);
    };
    if usize::try_from(size).is_ok_and(|size| size > most) {
        return Ok(None);
    }
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        jpeg.read_to_end(&mut bytes).map(|_| bytes)
    });
    let bytes = read.await.map_err(|_| StoreError::Panicked)?;
    bytes.map(Some).map_err(|error| StoreError::of_file(&path, error))
}

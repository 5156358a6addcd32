//! The bytes of a file for a person who is signed in: pictures to look at, everything else to keep. Must not know documents.

use hearth_contract::schema::Kind;

use super::live::read;
use super::words::list_path;
use crate::api::files::bytes_headers;
use crate::console::page::not_found;
use crate::files::media::MediaType;
use crate::http::reply::{Payload, Refusal, Reply};
use crate::http::web::WebRequest;
use crate::store::StoreError;
use crate::store::sessions::Session;
use crate::store::stored_files::{self, FileHash};

/// The list of documents, as the target of a link.
const LIST: (&str, &str) = (list_path(Kind::Document), "To the documents");

/// `GET /home/files/{sha256}`.
pub(in crate::console) async fn file(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let Some(hash) = request.segment.as_deref().and_then(FileHash::parse) else {
        return Err(not_found(&session, "file", LIST));
    };
    let found = read(&request, &session, move |tx, live| {
        Ok(stored_files::find(tx, live.number, &hash)?.map(|file| (live.id, file)))
    });
    let Some((home, file)) = found.await? else { return Err(not_found(&session, "file", LIST)) };
    let etag = format!("\"{}\"", file.sha256.as_str());
    let media = MediaType::parse(&file.content_type);
    let headers = bytes_headers(etag.clone(), if media.is_image() { "inline" } else { "attachment" });
    if request.header("if-none-match").is_some_and(|known| known == etag) {
        return Ok(Reply { status: 304, headers, payload: Payload::Empty });
    }
    let files = request.app.files.clone();
    let opened = tokio::task::spawn_blocking(move || files.disk.open(home, &file.sha256, file.size_bytes)).await;
    let bytes = tokio::fs::File::from_std(opened.unwrap_or(Err(StoreError::Panicked))?);
    let length = u64::try_from(file.size_bytes).unwrap_or_default();
    Ok(Reply { status: 200, headers, payload: Payload::File { media: media.as_str(), file: bytes, length } })
}

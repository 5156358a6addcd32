//! The bytes of a file for a person who is signed in: pictures to look at, everything else to keep. Must not know documents.

use hearth_contract::schema::Kind;
use uuid::Uuid;

use super::live::read;
use super::words::list_path;
use crate::api::files::bytes_headers;
use crate::console::page::{Frame, not_found, notice};
use crate::files::thumbnails::Thumbnail;
use crate::http::parameters::WIDTH_WORDS;
use crate::http::reply::{Payload, Refusal, Reply};
use crate::http::web::WebRequest;
use crate::store::StoreError;
use crate::store::sessions::Session;
use crate::store::stored_files::{self, FileHash, StoredFile};
use hearth_contract::media::MediaType;

/// Seconds after which a browser may ask for a picture again.
const RETRY_SECONDS: &str = "5";
/// The list of documents, as the target of a link.
const LIST: (&str, &str) = (list_path(Kind::Document), "To the documents");

/// `GET /home/files/{sha256}`: the bytes.
pub(in crate::console) async fn file(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let (home, file) = find(&request, &session).await?;
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

/// `GET /home/files/{sha256}/small?width=320|1280`: a small picture of a photo.
pub(in crate::console) async fn small(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let (home, file) = find(&request, &session).await?;
    let sent = request.query_fields().text("width").to_owned();
    let width = WIDTH_WORDS.into_iter().find(|(word, _)| *word == sent).map_or(WIDTH_WORDS[0].1, |(_, width)| width);
    let etag = format!("\"{}-{width}\"", file.sha256.as_str());
    if request.header("if-none-match").is_some_and(|known| known == etag) {
        return Ok(Reply { status: 304, headers: bytes_headers(etag, "inline"), payload: Payload::Empty });
    }
    match request.app.files.thumbnail(home, file, width).await? {
        Thumbnail::Made(jpeg, length) => {
            let payload = Payload::File { media: "image/jpeg", file: tokio::fs::File::from_std(jpeg), length };
            Ok(Reply { status: 200, headers: bytes_headers(etag, "inline"), payload })
        }
        Thumbnail::None | Thumbnail::Failed => Err(not_found(&session, "picture", LIST)),
        Thumbnail::Waiting => {
            let text = "Other pictures are being made. Open the page again in some seconds.";
            let busy = notice(503, Frame::of(&session, "Not available now"), text, Some(LIST));
            Err(busy.with_header("retry-after", RETRY_SECONDS).into())
        }
    }
}

/// The home of the person, and the file in the address.
async fn find(request: &WebRequest, session: &Session) -> Result<(Uuid, StoredFile), Refusal> {
    let hash = request.segment.as_deref().and_then(FileHash::parse);
    let Some(hash) = hash else { return Err(not_found(session, "file", LIST)) };
    let found = read(request, session, move |tx, live| {
        Ok(stored_files::find(tx, live.number, &hash)?.map(|file| (live.id, file)))
    });
    found.await?.ok_or_else(|| not_found(session, "file", LIST))
}

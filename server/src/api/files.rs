//! The files of a home: their bytes, their list, and their end (contract 21). Must not know where the bytes lie.

use std::io::SeekFrom;

use hearth_contract::envelope::Page;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType, QUOTED_NAME_MAX, shorten};
use hearth_contract::schema::Kind;
use hearth_reader::reading::Reading;
use serde_json::{Value, json};
use tokio::io::AsyncSeekExt;

use super::once::once;
use crate::files::thumbnails::Thumbnail;
use crate::home::cursor::FilesCursor;
use crate::home::feed::cursor_problem;
use crate::http::call::Call;
use crate::http::parameters::{RECORDS_PAGE, REFERENCED_WORDS, WIDTH_WORDS};
use crate::http::range::{Chosen, choose};
use crate::http::reply::{Payload, Refusal, Reply};
use crate::store::readings::{self, State};
use crate::store::stored_files::{self, FileHash, Removal, StoredFile};
use crate::store::{HomeNumber, StoreError};
use hearth_contract::media::MediaType;

/// `Cache-Control` of bytes: the bytes of a hash never change.
const IMMUTABLE: &str = "private, max-age=31536000, immutable";
/// `Content-Security-Policy` of bytes: a page among them runs nothing and loads nothing.
const SANDBOX: &str = "default-src 'none'; sandbox";

/// `GET /v1/files/{sha256}`: the bytes of a file, or a range of them.
pub async fn read(call: Call) -> Result<Reply, Refusal> {
    let file = find(&call).await?;
    let etag = format!("\"{}\"", file.sha256.as_str());
    if call.if_none_match.as_deref().is_some_and(|tags| names(tags, &etag)) {
        let headers = vec![("etag", etag), ("cache-control", IMMUTABLE.to_owned())];
        return Ok(Reply { status: 304, headers, payload: Payload::Empty });
    }
    let header = |name: &str| call.headers.get(name).and_then(|value| value.to_str().ok());
    let size = file.size_bytes as u64;
    let (status, first, length) = match choose(header("range"), header("if-range"), &etag, size) {
        Chosen::Whole => (200, 0, size),
        Chosen::Part { first, length } => (206, first, length),
        Chosen::Unsatisfiable => {
            let problem = Problem::new(ProblemType::RangeNotSatisfiable, format!("The file has {size} bytes."));
            let refusal = call.context.problem_reply(&problem);
            return Ok(refusal.with_header("content-range", format!("bytes */{size}")));
        }
    };
    let (files, home, hash) = (call.app.files.clone(), call.principal.home_id(), file.sha256.clone());
    let size_bytes = file.size_bytes;
    let opened = tokio::task::spawn_blocking(move || files.disk.open(home, &hash, size_bytes)).await;
    let mut bytes = tokio::fs::File::from_std(opened.unwrap_or(Err(StoreError::Panicked))?);
    if first > 0 {
        let path = call.app.files.disk.path(home, &file.sha256);
        bytes.seek(SeekFrom::Start(first)).await.map_err(|error| StoreError::of_file(&path, error))?;
    }
    let media = MediaType::parse(&file.content_type).as_str();
    let mut headers = bytes_headers(etag, "attachment");
    headers.push(("accept-ranges", "bytes".to_owned()));
    if status == 206 {
        headers.push(("content-range", format!("bytes {first}-{}/{size}", first + length - 1)));
    }
    Ok(Reply { status, headers, payload: Payload::File { media, file: bytes, length } })
}

/// The headers of bytes that strangers may have made.
pub fn bytes_headers(etag: String, disposition: &str) -> Vec<(&'static str, String)> {
    vec![
        ("etag", etag),
        ("cache-control", IMMUTABLE.to_owned()),
        ("content-disposition", disposition.to_owned()),
        ("content-security-policy", SANDBOX.to_owned()),
        ("x-content-type-options", "nosniff".to_owned()),
    ]
}

/// `GET /v1/files`: a page of files, the latest first.
pub async fn list(call: Call) -> Result<Reply, Refusal> {
    let limit = call.query.limit(RECORDS_PAGE)?;
    let (home, number) = (call.principal.home_id(), call.principal.key.home);
    let chosen = call.query.choice("referenced", &REFERENCED_WORDS)?;
    let cursor = call.query.get("cursor").map(|text| FilesCursor::decode(text, home, chosen));
    let cursor = cursor.transpose().map_err(cursor_problem)?;
    let is_referenced = cursor.map_or(chosen, |cursor| cursor.is_referenced);
    let before = cursor.map(|cursor| cursor.before);
    let (mut files, used) = call
        .app
        .db
        .read(move |tx| {
            let files = stored_files::page(tx, number, is_referenced, before, limit + 1)?;
            Ok((files, stored_files::used_bytes(tx, number)?))
        })
        .await?;
    let has_more = files.len() > limit;
    files.truncate(limit);
    let last = files.last().filter(|_| has_more).and_then(|file| file.number);
    let next_cursor = last.map(|before| FilesCursor { before, is_referenced }.encode(home));
    let items: Vec<String> = files.iter().map(|file| file_json(file).to_string()).collect();
    let usage = json!({ "used_bytes": used, "limit_bytes": call.app.config.files_bytes_max });
    Ok(call.context.list_reply(&items, &Page { has_more, next_cursor }, &format!("\"usage\":{usage}")))
}

/// `DELETE /v1/files/{sha256}`: deletes a file that no document names. An unknown file succeeds too.
pub async fn delete(call: Call) -> Result<Reply, Refusal> {
    let (app, hash) = (call.app.clone(), hash_of(&call)?);
    let reply = once(call, move |tx, call, home, _| {
        if stored_files::remove(tx, home, &hash)? == Removal::InUse {
            let problem = in_use(&hash);
            return Ok((call.context.problem_reply(&problem), Some(problem.kind)));
        }
        let text = json!({ "sha256": hash.as_str(), "deleted": true }).to_string();
        Ok((call.context.data_reply(200, &text, ""), None))
    });
    let reply = reply.await?;
    // After the commit. What fails here is done by the next cleanup.
    if let Err(fault) = app.files.remove_deleted(&app.db).await {
        tracing::warn!(%fault, "the bytes of a deleted file are still there");
    }
    Ok(reply)
}

/// `GET /v1/files/{sha256}/thumbnail`: a small picture of a photo or of the first page of a PDF, as JPEG.
pub async fn thumbnail(call: Call) -> Result<Reply, Refusal> {
    let width = call.query.choice("width", &WIDTH_WORDS)?.unwrap_or(WIDTH_WORDS[0].1);
    let file = find(&call).await?;
    let etag = format!("\"{}-{width}\"", file.sha256.as_str());
    if call.if_none_match.as_deref().is_some_and(|tags| names(tags, &etag)) {
        let headers = vec![("etag", etag), ("cache-control", IMMUTABLE.to_owned())];
        return Ok(Reply { status: 304, headers, payload: Payload::Empty });
    }
    let refusal = match call.app.files.thumbnail(call.principal.home_id(), file, width).await? {
        Thumbnail::Made(jpeg, length) => {
            let payload = Payload::File { media: "image/jpeg", file: tokio::fs::File::from_std(jpeg), length };
            return Ok(Reply { status: 200, headers: bytes_headers(etag, "attachment"), payload });
        }
        Thumbnail::None => nothing_made("No picture can be made from this file.", "none"),
        Thumbnail::Waiting => {
            nothing_made("Other pictures are being made.", "waiting").with_fix("Ask again in some seconds.")
        }
        Thumbnail::Failed => nothing_made("The file is damaged, or has more than 50 megapixels.", "failed"),
    };
    Err(refusal.into())
}

/// `GET /v1/files/{sha256}/text`: the text that was read in a file, page by page.
pub async fn text(call: Call) -> Result<Reply, Refusal> {
    let (number, hash) = (call.principal.key.home, find(&call).await?.sha256);
    let state = call.app.db.read(move |tx| readings::state(tx, number, &hash)).await?;
    let reading = match state {
        Some(State::Read(reading)) => reading,
        Some(State::Waiting) => {
            let problem = nothing_made("The file waits to be read.", "waiting");
            return Err(problem.with_fix("Ask again in some seconds.").into());
        }
        Some(State::Failed(failure)) => return Err(nothing_made(&failure.message, "failed").into()),
        None => return Err(nothing_made("The text of this file was not read.", "none").into()),
    };
    let pages = tokio::task::spawn_blocking(move || {
        let reading = Reading::with_rest(reading.as_bytes()).ok()?;
        let pages = reading.texts().map(|text| json!({ "text": text })).collect::<Vec<_>>();
        Some(json!({ "pages": pages }).to_string())
    });
    let pages = pages.await.map_err(|_| StoreError::Panicked)?;
    let pages = pages.ok_or_else(|| StoreError::Corrupt("the reading of a file".to_owned()))?;
    Ok(call.context.data_reply(200, &pages, ""))
}

/// The refusal of a request for something that is not made from the file. `state`: `none`, `waiting` or `failed`.
fn nothing_made(message: &str, state: &str) -> Problem {
    Problem::new(ProblemType::NotFound, message).with("state", state).with_fix("Read the file itself.")
}

/// The file in the path. Error: `not_found`.
async fn find(call: &Call) -> Result<StoredFile, Refusal> {
    let (hash, home): (FileHash, HomeNumber) = (hash_of(call)?, call.principal.key.home);
    let wanted = hash.clone();
    let found = call.app.db.read(move |tx| stored_files::find(tx, home, &wanted)).await?;
    found.ok_or_else(|| file_not_found(hash.as_str()).into())
}

/// The hash in the path. Error: `not_found` for a malformed hash, because no file can have it.
pub(super) fn hash_of(call: &Call) -> Result<FileHash, Problem> {
    let text = call.id.as_deref().unwrap_or_default();
    FileHash::parse(text).ok_or_else(|| {
        file_not_found(&shorten(text, QUOTED_NAME_MAX))
            .with_fix("A file is named by its SHA-256: 64 hexadecimal digits.")
    })
}

fn file_not_found(name: &str) -> Problem {
    Problem::new(ProblemType::NotFound, format!("No file {name} in this home."))
        .with_fix("List the files to find those that exist, or upload the bytes with PUT.")
}

fn in_use(hash: &FileHash) -> Problem {
    let documents = paths::collection(Kind::Document);
    Problem::new(ProblemType::InUse, "A document or a job names this file.").with_fix(format!(
        "GET {documents}?file_sha256={} lists the documents. Delete them, or set their file_sha256 to null. Discard the jobs \
         under {} and {} that name the file. Then delete the file.",
        hash.as_str(),
        paths::SMART_ADD,
        paths::EXTRACT,
    ))
}

/// The refusal of an upload for which the home has no room.
pub(super) fn home_full(limit: i64) -> Problem {
    Problem::new(ProblemType::PayloadTooLarge, "This home has no room for the file.")
        .with("limit_bytes", limit)
        .with("of", "home")
        .with_fix(
            "Delete files that no document names: GET /v1/files?referenced=false lists them. Or ask the operator to raise \
             --max-files or --max-home.",
        )
}

/// A file as the API shows it.
pub(super) fn file_json(file: &StoredFile) -> Value {
    json!({
        "sha256": file.sha256.as_str(),
        "size_bytes": file.size_bytes,
        "content_type": file.content_type,
        "created_at": file.created_at,
    })
}

/// Whether a list of tags names this one. A weak tag counts like a strong one (RFC 9110 13.1.2).
fn names(tags: &str, etag: &str) -> bool {
    tags.trim() == "*" || tags.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag)
}

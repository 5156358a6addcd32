//! Carries one file to the server or from it. Must not know when, or what follows.

use std::path::{Path, PathBuf};

use hearth_contract::paths;
use hearth_contract::problem::ProblemType;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, IF_RANGE, RANGE};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;
use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt;

use super::machine::TransferEnd;
use crate::store::StoreError;
use crate::store::file_store::bytes;
use crate::sync::client::{self, Client};
use crate::sync::core::{ErrorType, Failure};
use crate::sync::wire::{self, HttpRequest};

/// The most bytes of a file that are taken from a server, whatever it says.
const DOWNLOAD_BYTES_MAX: u64 = 1 << 30;

/// The quoted hash: the entity tag of a file (contract 21).
fn etag(hash: &str) -> String {
    format!("\"{hash}\"")
}

/// Sends a file, unless the server has it already.
pub(in crate::sync) async fn upload(client: &Client, db: &Path, hash: &str) -> TransferEnd {
    let Some(place) = bytes::path(db, hash) else { return TransferEnd::NoAnswer(format!("{hash} is no hash")) };
    let (file, length) = match open(&place).await {
        Ok(opened) => opened,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return TransferEnd::NotHere,
        Err(error) => return TransferEnd::NoAnswer(format!("{}: {error}", place.display())),
    };
    // Most photos come from one device. A second device saves the bytes.
    if let Ok(head) = client.begin_file(Method::HEAD, &paths::file(hash), HeaderMap::new(), None).await
        && head.status() == StatusCode::OK
        && has_tag(&head, hash)
    {
        return TransferEnd::Done;
    }
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_LENGTH, length.into());
    headers.insert(CONTENT_TYPE, reqwest::header::HeaderValue::from_static("application/octet-stream"));
    let response = match client.begin_file(Method::PUT, &paths::file(hash), headers, Some(file)).await {
        Ok(response) => response,
        Err(why) => return TransferEnd::NoAnswer(why),
    };
    match client::read_response(response).await {
        Err(why) => TransferEnd::NoAnswer(why),
        Ok(answer) if matches!(answer.status, 200 | 201) => {
            // A page of a network's sign-in has the status 200 too.
            let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            match body.pointer("/data/sha256").is_some_and(|found| found == hash) {
                true => TransferEnd::Done,
                false => TransferEnd::NoAnswer(wire::NOT_HEARTH.to_owned()),
            }
        }
        Ok(answer) => match wire::edit_failure(&answer) {
            Failure::Refused(refusal) if refusal.error_type == ErrorType::Known(ProblemType::HashMismatch) => {
                examine_sent(place, hash.to_owned()).await
            }
            Failure::Refused(refusal) => TransferEnd::Refused(refusal),
            Failure::NoAnswer(why) => TransferEnd::NoAnswer(why),
        },
    }
}

/// The server got other bytes than the hash says: either the bytes on this machine are damaged, or they were altered on the way.
async fn examine_sent(place: PathBuf, hash: String) -> TransferEnd {
    match tokio::task::spawn_blocking(move || bytes::examine(&place).map(|facts| facts.sha256 == hash)).await {
        Ok(Ok(true)) => TransferEnd::NoAnswer("the bytes of the file were altered on the way".to_owned()),
        Ok(Ok(false)) => TransferEnd::WrongBytes,
        Ok(Err(error)) => TransferEnd::NoAnswer(error.to_string()),
        Err(error) => TransferEnd::NoAnswer(error.to_string()),
    }
}

/// The most bytes of a file, as the server names them. None: the server does not say.
pub(super) async fn file_bytes_max(client: &Client) -> Option<u64> {
    let answer = client.send(&HttpRequest::get(paths::META)).await.ok().filter(|answer| answer.status == 200)?;
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    body.pointer("/data/limits/file_max_bytes").and_then(Value::as_u64)
}

async fn open(path: &Path) -> std::io::Result<(File, u64)> {
    let file = File::open(path).await?;
    let length = file.metadata().await?.len();
    Ok((file, length))
}

fn has_tag(response: &Response, hash: &str) -> bool {
    let tag = response.headers().get(reqwest::header::ETAG).and_then(|tag| tag.to_str().ok());
    tag == Some(etag(hash).as_str())
}

/// Fetches a file into the folder. Goes on where an earlier download was cut. Err: the disk does not take the bytes.
pub(super) async fn download(client: &Client, db: &Path, hash: &str) -> Result<TransferEnd, StoreError> {
    let Some(part) = bytes::download_path(db, hash) else {
        return Ok(TransferEnd::NoAnswer(format!("{hash} is no hash")));
    };
    let begun = tokio::fs::metadata(&part).await.map_or(0, |file| file.len());
    let mut headers = HeaderMap::new();
    if begun > 0 {
        let headers_of_rest = [(RANGE, format!("bytes={begun}-")), (IF_RANGE, etag(hash))];
        headers.extend(headers_of_rest.into_iter().filter_map(|(name, value)| Some((name, value.parse().ok()?))));
    }
    let response = match client.begin_file(Method::GET, &paths::file(hash), headers, None).await {
        Ok(response) => response,
        Err(why) => return Ok(TransferEnd::NoAnswer(why)),
    };
    let goes_on = match response.status() {
        StatusCode::OK if has_tag(&response, hash) => false,
        StatusCode::PARTIAL_CONTENT if has_tag(&response, hash) => true,
        // There is nothing after the bytes that are here: they are the whole file, or wrong.
        StatusCode::RANGE_NOT_SATISFIABLE => return verify(db.to_owned(), hash.to_owned(), part).await,
        _ => return Ok(refusal(response).await),
    };
    if let Some(why) = write_body(db, &part, response, if goes_on { begun } else { 0 }).await? {
        return Ok(TransferEnd::NoAnswer(why));
    }
    verify(db.to_owned(), hash.to_owned(), part).await
}

async fn refusal(response: Response) -> TransferEnd {
    match client::read_response(response).await {
        Err(why) => TransferEnd::NoAnswer(why),
        Ok(answer) => match wire::edit_failure(&answer) {
            Failure::Refused(refusal) if answer.status >= 400 => TransferEnd::Refused(refusal),
            failure => TransferEnd::NoAnswer(failure.to_string()),
        },
    }
}

/// Writes the body behind the first `begun` bytes of a file. Returns a sentence when the body was cut.
async fn write_body(db: &Path, part: &Path, mut response: Response, begun: u64) -> Result<Option<String>, StoreError> {
    let at = |error| StoreError::File(part.to_owned(), error);
    let folder = bytes::folder(db);
    crate::store::files::make_private_directory(&folder).map_err(|error| StoreError::File(folder.clone(), error))?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(begun == 0).append(begun > 0);
    options.mode(0o600);
    let mut file = options.open(part).await.map_err(at)?;
    let mut length = begun;
    loop {
        match client::next_chunk(&mut response).await {
            Ok(Some(chunk)) => {
                length += chunk.len() as u64;
                if length > DOWNLOAD_BYTES_MAX {
                    drop(tokio::fs::remove_file(part).await);
                    return Ok(Some(format!("the file is larger than {} MiB", DOWNLOAD_BYTES_MAX >> 20)));
                }
                file.write_all(&chunk).await.map_err(at)?;
            }
            Ok(None) => break,
            Err(why) => {
                file.flush().await.map_err(at)?;
                return Ok(Some(why));
            }
        }
    }
    file.flush().await.map_err(at)?;
    Ok(None)
}

/// Compares the bytes with the hash, and gives the file its name. Wrong bytes are thrown away.
async fn verify(db: PathBuf, hash: String, part: PathBuf) -> Result<TransferEnd, StoreError> {
    let verified = tokio::task::spawn_blocking(move || {
        let facts = bytes::examine(&part).map_err(|error| StoreError::File(part.clone(), error))?;
        if facts.sha256 == hash {
            return bytes::place(&db, &part, &hash).map(|()| TransferEnd::Done);
        }
        std::fs::remove_file(&part).map_err(|error| StoreError::File(part, error))?;
        Ok(TransferEnd::WrongBytes)
    });
    verified.await.unwrap_or_else(|error| Err(StoreError::Unexpected(format!("a check that did not end: {error}"))))
}

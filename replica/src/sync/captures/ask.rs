//! The requests about captures and texts, and what their answers mean. Must not know when they are sent, nor the database.

use hearth_contract::headers::IDEMPOTENCY_KEY;
use hearth_contract::paths;
use hearth_contract::problem::ProblemType;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::model::{CapturePurpose, refuses_only};
use crate::store::captures::exchange::{News, Unsent};
use crate::store::captures::listed::Listed;
use crate::store::file_store::texts::TextAnswer;
use crate::sync::client::Client;
use crate::sync::core::{ErrorType, Failure, Millis, Refusal};
use crate::sync::wire::{self, HttpRequest};

/// Jobs per page: the latest. A person decides about a few at a time.
const PAGE_JOBS: u32 = 100;

/// What follows from an answer to news.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// The server has made the job: its id.
    Made(String),
    /// The server knows the decision now, or cannot take it any more.
    Known,
    /// The server does not have the files of the capture.
    FilesMissing(Value),
    /// The server refuses the capture.
    Refused(Value),
    /// Sent again later: why, and the shortest pause in milliseconds.
    Later(Value, Millis),
}

fn path(purpose: CapturePurpose) -> &'static str {
    match purpose {
        CapturePurpose::SmartAdd => paths::SMART_ADD,
        CapturePurpose::Extract => paths::EXTRACT,
    }
}

async fn ask<T: serde::de::DeserializeOwned>(client: &Client, request: &HttpRequest) -> Result<T, Failure> {
    let response = client.send(request).await.map_err(Failure::NoAnswer)?;
    match response.status {
        // Also of a proxy: it may object to the text.
        401 | 403 => Err(wire::edit_failure(&response)),
        _ => wire::data(&response),
    }
}

/// Tells the server the news of one capture.
pub(super) async fn tell(client: &Client, unsent: &Unsent) -> Verdict {
    let base = path(unsent.purpose);
    let request = match &unsent.news {
        News::New { key, body } => {
            let mut request = HttpRequest::new("POST", base, Some(body.clone()));
            request.headers.push((IDEMPOTENCY_KEY, key.clone()));
            request
        }
        News::Accepted { server_id, body } => {
            HttpRequest::new("PUT", format!("{base}/{server_id}/accepted"), Some(body.clone()))
        }
        News::Discarded { server_id } => HttpRequest::new("DELETE", format!("{base}/{server_id}"), None),
    };
    let answer = ask::<Value>(client, &request).await;
    verdict(matches!(unsent.news, News::New { .. }), answer)
}

fn verdict(is_new: bool, answer: Result<Value, Failure>) -> Verdict {
    match answer {
        Ok(job) if is_new => match job["id"].as_str() {
            Some(id) => Verdict::Made(id.to_owned()),
            None => later(wire::NOT_HEARTH.to_owned()),
        },
        Ok(_) => Verdict::Known,
        Err(Failure::NoAnswer(why)) => later(why),
        Err(Failure::Refused(refusal)) if is_temporary(&refusal) => {
            Verdict::Later(problem(&refusal), refusal.retry_after.unwrap_or_default())
        }
        // The server's list says what became of the job.
        Err(Failure::Refused(_)) if !is_new => Verdict::Known,
        Err(Failure::Refused(refusal)) => {
            let is_file = |fault: &Value| fault["field"].as_str().is_some_and(|field| field.starts_with("files["));
            match refuses_only(&refusal.problem, is_file) {
                true => Verdict::FilesMissing(problem(&refusal)),
                false => Verdict::Refused(problem(&refusal)),
            }
        }
    }
}

fn later(why: String) -> Verdict {
    Verdict::Later(json!({ "message": why }), 0)
}

/// The server's error object, with a message in any case.
fn problem(refusal: &Refusal) -> Value {
    match refusal.problem.get("message") {
        Some(_) => refusal.problem.clone(),
        None => json!({ "message": refusal.message }),
    }
}

/// True when the same request may succeed later. A key that may not capture is one of these: a person gives another key.
fn is_temporary(refusal: &Refusal) -> bool {
    !refusal.is_from_server() || matches!(refusal.status, 401 | 403 | 408 | 409 | 429 | 500..)
}

/// The latest jobs of one purpose. Err: a sentence why there are none.
pub(super) async fn list(client: &Client, purpose: CapturePurpose) -> Result<Listed, String> {
    let request = HttpRequest::get(format!("{}?limit={PAGE_JOBS}", path(purpose)));
    let response = client.send(&request).await?;
    let (jobs, has_more) = wire::page(&response).map_err(|failure| failure.to_string())?;
    Ok(Listed { purpose, jobs, is_whole: !has_more })
}

/// The text that the server has read in a file. Err: a sentence why it could not be asked.
pub(super) async fn text(client: &Client, sha256: &str) -> Result<TextAnswer, String> {
    #[derive(Deserialize)]
    struct Text {
        pages: Vec<Page>,
    }
    #[derive(Deserialize)]
    struct Page {
        text: String,
    }
    let request = HttpRequest::get(format!("{}/text", paths::file(sha256)));
    match ask::<Text>(client, &request).await {
        Ok(text) => Ok(TextAnswer::Read(text.pages.into_iter().map(|page| page.text).collect::<Vec<_>>().join("\n"))),
        Err(Failure::Refused(refusal)) if refusal.error_type == ErrorType::Known(ProblemType::NotFound) => {
            match refusal.problem.pointer("/details/state").and_then(Value::as_str) {
                Some("waiting") => Ok(TextAnswer::Waiting),
                _ => Ok(TextAnswer::Unread),
            }
        }
        Err(failure) => Err(failure.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_counts_as_made_by_its_id_alone() {
        assert_eq!(verdict(true, Ok(json!({ "id": "a" }))), Verdict::Made("a".to_owned()));
        assert!(matches!(verdict(true, Ok(json!({}))), Verdict::Later(..)));
        assert_eq!(verdict(false, Ok(json!({}))), Verdict::Known);
    }

    #[test]
    fn answer_that_is_no_refusal_changes_nothing() {
        for is_new in [true, false] {
            let answer = verdict(is_new, Err(Failure::NoAnswer("it does not answer in time".to_owned())));
            assert!(matches!(answer, Verdict::Later(..)), "{answer:?}");
        }
    }
}

//! The envelopes of responses (contract 4): success, list, error. The server writes envelopes by concatenating finished
//! JSON texts; clients read the structs. Must not know what the data is.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::problem::Problem;

/// `meta.page`: the place of a page in its list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Page {
    /// Whether more entries follow at this moment.
    pub has_more: bool,
    /// The `cursor` of the next page. None at the end of a list; the change feed always has a cursor.
    pub next_cursor: Option<String>,
}

/// Writes `{ data, meta }`. `data` is finished JSON. `meta` is more members of the meta object, such as `"as_of":3`, or
/// empty.
pub fn success(data: &str, request_id: &str, meta: &str) -> String {
    let comma = if meta.is_empty() { "" } else { "," };
    let parts = [r#"{"data":"#, data, r#","meta":{"request_id":""#, request_id, "\"", comma, meta, "}}"];
    parts.concat()
}

/// Writes `{ data: [...], meta: { request_id, page, ... } }`. Each item is finished JSON; `meta` as for [`success`].
pub fn list<T: AsRef<str>>(items: &[T], page: &Page, request_id: &str, meta: &str) -> String {
    let size: usize = items.iter().map(|item| item.as_ref().len() + 1).sum();
    let mut out = String::with_capacity(size + 256);
    out.push_str(r#"{"data":["#);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(item.as_ref());
    }
    let cursor = page.next_cursor.as_deref().map_or("null".to_owned(), |cursor| format!("\"{cursor}\""));
    let comma = if meta.is_empty() { "" } else { "," };
    out.push_str(&format!(
        r#"],"meta":{{"request_id":"{request_id}","page":{{"has_more":{},"next_cursor":{cursor}}}{comma}{meta}}}}}"#,
        page.has_more
    ));
    out
}

/// Writes `{ error, meta }`. `base_url` begins `error.doc_url`.
pub fn error(problem: &Problem, request_id: &str, base_url: &str) -> String {
    format!(r#"{{"error":{},"meta":{{"request_id":"{request_id}"}}}}"#, problem.to_value(base_url))
}

/// The `error.type` of a response text that [`error`] wrote. None for any other text.
pub fn error_type(text: &str) -> Option<&str> {
    text.strip_prefix(r#"{"error":{"type":""#)?.split('"').next()
}

/// A success response with one object, as a client reads it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SingleResponse<T> {
    /// The object; clients that expect null use `Option`.
    pub data: T,
    /// The meta object.
    pub meta: Meta,
}

/// A list response, as a client reads it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ListResponse<T> {
    /// The entries of the page.
    pub data: Vec<T>,
    /// The meta object.
    pub meta: Meta,
}

/// The meta object, as a client reads it. A member that the response lacks is None.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Meta {
    /// The id of the request: `req_` and 26 characters.
    #[serde(default)]
    pub request_id: Option<String>,
    /// The home's position, read in the transaction of the data (contract 5).
    #[serde(default)]
    pub as_of: Option<i64>,
    /// The place of the page in its list.
    #[serde(default)]
    pub page: Option<Page>,
    /// The state of the change feed; `GET /v1/events` only.
    #[serde(default)]
    pub feed: Option<Feed>,
}

/// `meta.feed`: the state of a home's change feed (contract 9.1).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Feed {
    /// Id of the newest event; 0 in an empty home.
    pub head: i64,
    /// The lowest event id that a backfill returns. None in an empty home.
    pub oldest: Option<i64>,
    /// How long events are kept whole, in seconds. None: for ever.
    pub retention_seconds: Option<u64>,
}

/// An error response, as a client reads it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ErrorResponse {
    /// The error object.
    pub error: ErrorBody,
}

/// The error object, as a client reads it. A type of a newer server stays a word.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ErrorBody {
    /// `error.type`, such as `not_found`.
    #[serde(rename = "type")]
    pub kind: String,
    /// One sentence for people.
    pub message: String,
    /// The next step, for people. None in versions without `fix` (contract 13).
    #[serde(default)]
    pub fix: Option<String>,
    /// Members that depend on the type; perhaps empty.
    #[serde(default)]
    pub details: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemType;

    #[test]
    fn envelopes_round_trip() {
        let page = Page { has_more: true, next_cursor: Some("abc".to_owned()) };
        let text = list(&["{\"a\":1}", "{\"a\":2}"], &page, "req_1", r#""as_of":7"#);
        let read: ListResponse<Value> = serde_json::from_str(&text).unwrap();
        assert_eq!((read.data.len(), read.meta.as_of, read.meta.page), (2, Some(7), Some(page)));

        let single: SingleResponse<Value> = serde_json::from_str(&success("null", "req_1", "")).unwrap();
        assert_eq!((single.data, single.meta.request_id.as_deref()), (Value::Null, Some("req_1")));

        let problem = Problem::new(ProblemType::NotFound, "No such task.").with("id", "x");
        assert_eq!(error_type(&error(&problem, "req_1", "http://h")), Some("not_found"));
        assert_eq!(error_type(&success("null", "req_1", "")), None);
        let answer: ErrorResponse = serde_json::from_str(&error(&problem, "req_1", "http://h")).unwrap();
        assert_eq!((answer.error.kind.as_str(), answer.error.details["id"].as_str()), ("not_found", Some("x")));
    }
}

//! The frames around what is sent (contract 4): one, many, or an error. Writing concatenates finished texts; reading
//! is for clients.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::problem::Problem;

/// Where a page stands in its list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Page {
    /// Whether there is more now.
    pub has_more: bool,
    /// What to send as `cursor` for what follows.
    pub next_cursor: Option<String>,
}

/// A single answer: `{ data, meta }`. `meta` is further members of the meta object, `"as_of":3` for instance, or "".
pub fn one(data: &str, request_id: &str, meta: &str) -> String {
    let comma = if meta.is_empty() { "" } else { "," };
    let parts = [r#"{"data":"#, data, r#","meta":{"request_id":""#, request_id, "\"", comma, meta, "}}"];
    parts.concat()
}

/// A list answer: `{ data: [...], meta: { request_id, page, ... } }` out of the finished texts of its members.
pub fn many<T: AsRef<str>>(items: &[T], page: &Page, request_id: &str, meta: &str) -> String {
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

/// An error answer: `{ error, meta }`.
pub fn error(problem: &Problem, request_id: &str, base_url: &str) -> String {
    format!(r#"{{"error":{},"meta":{{"request_id":"{request_id}"}}}}"#, problem.to_value(base_url))
}

/// The error type of an answer's text; None: the text is no error answer.
pub fn error_type(text: &str) -> Option<&str> {
    text.strip_prefix(r#"{"error":{"type":""#)?.split('"').next()
}

/// A single answer as a client reads it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct One<T> {
    /// What was asked for.
    pub data: T,
    /// The rest.
    pub meta: Meta,
}

/// A list answer as a client reads it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Many<T> {
    /// What was asked for.
    pub data: Vec<T>,
    /// The rest.
    pub meta: Meta,
}

/// The meta object as a client reads it; what an answer does not carry is None.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Meta {
    /// The request's id.
    #[serde(default)]
    pub request_id: Option<String>,
    /// The home's position, read with the records.
    #[serde(default)]
    pub as_of: Option<i64>,
    /// Where a list's page stands.
    #[serde(default)]
    pub page: Option<Page>,
    /// Where the feed stands.
    #[serde(default)]
    pub feed: Option<Feed>,
}

/// Where a home's feed stands (contract 9.1).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Feed {
    /// Id of the newest event; 0 in an empty home.
    pub head: i64,
    /// The lowest event id that a first read would show.
    pub oldest: Option<i64>,
    /// How long events are kept whole; None is for ever.
    pub retention_seconds: Option<u64>,
}

/// An error answer as a client reads it. Types this version does not know stay words.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ErrorAnswer {
    /// What was wrong.
    pub error: ErrorBody,
}

/// The error object as a client reads it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ErrorBody {
    /// `error.type`.
    #[serde(rename = "type")]
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// What to do next.
    #[serde(default)]
    pub fix: Option<String>,
    /// Particulars.
    #[serde(default)]
    pub details: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemType;

    #[test]
    fn written_envelopes_can_be_read() {
        let page = Page { has_more: true, next_cursor: Some("abc".to_owned()) };
        let text = many(&["{\"a\":1}", "{\"a\":2}"], &page, "req_1", r#""as_of":7"#);
        let list: Many<Value> = serde_json::from_str(&text).unwrap();
        assert_eq!((list.data.len(), list.meta.as_of, list.meta.page), (2, Some(7), Some(page)));

        let single: One<Value> = serde_json::from_str(&one("null", "req_1", "")).unwrap();
        assert_eq!((single.data, single.meta.request_id.as_deref()), (Value::Null, Some("req_1")));

        let problem = Problem::new(ProblemType::NotFound, "No such task.").with("id", "x");
        assert_eq!(error_type(&error(&problem, "req_1", "http://h")), Some("not_found"));
        assert_eq!(error_type(&one("null", "req_1", "")), None);
        let answer: ErrorAnswer = serde_json::from_str(&error(&problem, "req_1", "http://h")).unwrap();
        assert_eq!((answer.error.kind.as_str(), answer.error.details["id"].as_str()), ("not_found", Some("x")));
    }
}

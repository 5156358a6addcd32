//! A request as a handler receives it, with all parts parsed. Must not know HTTP types beyond names and values; only
//! MCP reads raw headers.

use std::sync::Arc;

use axum::http::HeaderMap;
use hearth_contract::command::{Preconditions, RevMatch};
use hearth_contract::formats::parse_id;
use hearth_contract::problem::{Problem, ProblemType, QUOTED_NAME_MAX, shorten};
use hearth_contract::record::parse_etag;
use hearth_contract::schema::Kind;
use serde_json::Value;
use uuid::Uuid;

use super::query::Query;
use super::reply::{Refusal, ResponseContext};
use super::upload_body::UploadBody;
use crate::app::App;
use crate::app::keyring::Principal;
use crate::home::receipts::Ticket;

/// A request with a valid key.
pub struct Call {
    /// The state of the service.
    pub app: Arc<App>,
    /// The key of the request, with its home and scopes.
    pub principal: Arc<Principal>,
    /// The kind in the path.
    pub kind: Option<Kind>,
    /// The open segment of the path, such as `{id}`, decoded but not validated.
    pub id: Option<String>,
    /// The second open segment of the path, such as `{name}`, decoded but not validated.
    pub name: Option<String>,
    /// The query parameters.
    pub query: Query,
    /// The JSON body; null when the route has none.
    pub body: Value,
    /// The body of an upload, which the handler reads. None: the route takes no upload.
    pub upload: Option<UploadBody>,
    /// The idempotency key with a digest of the request. None: the client sent no `Idempotency-Key`.
    pub ticket: Option<Ticket>,
    /// The header `If-Match`, unparsed.
    pub if_match: Option<String>,
    /// The header `If-None-Match`, unparsed.
    pub if_none_match: Option<String>,
    /// The header `Last-Event-ID`, unparsed.
    pub last_event_id: Option<String>,
    /// All headers, for MCP, which has a protocol of its own inside HTTP, and for ranges of files.
    pub headers: HeaderMap,
    /// The facts that the texts of the response depend on.
    pub context: ResponseContext,
}

/// A request to a route that needs no key.
pub struct PublicRequest {
    /// The state of the service.
    pub app: Arc<App>,
    /// The open segment of the path; "" when the path has none.
    pub name: String,
    /// The media type of the response, negotiated from `Accept`.
    pub media: &'static str,
    /// The header `Accept-Encoding`, unparsed.
    pub accept_encoding: Option<String>,
    /// The header `If-None-Match`, unparsed.
    pub if_none_match: Option<String>,
    /// The facts that the texts of the response depend on.
    pub context: ResponseContext,
}

impl Call {
    /// The kind in the path. Error: the route has no kind, which is a fault of the route table.
    pub fn kind(&self) -> Result<Kind, Refusal> {
        self.kind.ok_or_else(|| Problem::new(ProblemType::InternalError, "This path names no kind.").into())
    }

    /// The id in the path. Error: `not_found` for a malformed id, since no record can have that id (contract 2).
    pub fn record_id(&self, kind: Kind) -> Result<Uuid, Problem> {
        let text = self.id.as_deref().unwrap_or_default();
        parse_id(text)
            .ok_or_else(|| crate::home::apply::not_found(kind, format_args!("`{}`", shorten(text, QUOTED_NAME_MAX))))
    }

    /// The name that the records of a write show as `updated_by`: the name of the key.
    pub fn author(&self) -> String {
        self.principal.key.name.clone()
    }

    /// The preconditions of a write, from `If-Match` and `If-None-Match`.
    pub fn preconditions(&self) -> Preconditions {
        Preconditions {
            if_match: self.if_match.as_deref().map(|list| parse_revs(list, parse_etag)),
            if_none_match: self.unless(),
        }
    }

    /// Whether `If-None-Match` names this revision, so the client already has the record.
    pub fn client_has_revision(&self, rev: i64) -> bool {
        self.unless().is_some_and(|revs| revs.matches(rev))
    }

    /// The revisions of `If-None-Match`. A weak tag counts like a strong one (RFC 9110 13.1.2).
    fn unless(&self) -> Option<RevMatch> {
        self.if_none_match
            .as_deref()
            .map(|list| parse_revs(list, |tag| parse_etag(tag.strip_prefix("W/").unwrap_or(tag))))
    }
}

/// The revisions in a list of ETags. Foreign tags match no revision.
fn parse_revs(list: &str, read: fn(&str) -> Option<i64>) -> RevMatch {
    match list.trim() {
        "*" => RevMatch::Any,
        list => RevMatch::OneOf(list.split(',').filter_map(|tag| read(tag.trim())).collect()),
    }
}

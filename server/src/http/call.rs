//! A request as a handler sees it: who asks for what, every part already read strictly. Must not know HTTP types
//! beyond names and values; headers as they came are for a protocol that is spoken inside a request.

use std::sync::Arc;

use axum::http::HeaderMap;
use hearth_contract::command::{Guard, Revs};
use hearth_contract::formats::parse_id;
use hearth_contract::problem::{NAME_SHOWN, Problem, ProblemType, shortened};
use hearth_contract::record::parse_etag;
use hearth_contract::schema::Kind;
use serde_json::Value;
use uuid::Uuid;

use super::query::Query;
use super::reply::{Refusal, ResponseContext};
use crate::app::App;
use crate::app::keyring::Principal;
use crate::home::receipts::Ticket;

/// An authenticated, well-formed request.
pub struct Call {
    /// The service.
    pub app: Arc<App>,
    /// Who asks.
    pub principal: Arc<Principal>,
    /// The kind its path names.
    pub kind: Option<Kind>,
    /// The id in its path as it was sent.
    pub id: Option<String>,
    /// Its parameters.
    pub query: Query,
    /// Its body; null when the route takes none.
    pub body: Value,
    /// Its idempotency key with the request's digest.
    pub ticket: Option<Ticket>,
    /// `If-Match` as it was sent.
    pub if_match: Option<String>,
    /// `If-None-Match` as it was sent.
    pub if_none_match: Option<String>,
    /// `Last-Event-ID` as it was sent.
    pub last_event_id: Option<String>,
    /// All its headers, for a protocol that is spoken inside the request.
    pub headers: HeaderMap,
    /// The words around its answer.
    pub context: ResponseContext,
}

/// A request that needs no key.
pub struct PublicRequest {
    /// The service.
    pub app: Arc<App>,
    /// What its path names, or "".
    pub name: String,
    /// The media type to answer in, one of those of its route.
    pub media: &'static str,
    /// The words around its answer.
    pub context: ResponseContext,
}

impl Call {
    /// The kind of a route that names one.
    pub fn kind(&self) -> Result<Kind, Refusal> {
        self.kind.ok_or_else(|| Problem::new(ProblemType::InternalError, "This path names no kind.").into())
    }

    /// The id in the path. A malformed one is of no record (contract 2).
    pub fn record_id(&self, kind: Kind) -> Result<Uuid, Problem> {
        let text = self.id.as_deref().unwrap_or_default();
        parse_id(text)
            .ok_or_else(|| crate::home::apply::not_found(kind, format_args!("`{}`", shortened(text, NAME_SHOWN))))
    }

    /// The conditions of a write.
    pub fn guard(&self) -> Guard {
        Guard { only: self.if_match.as_deref().map(|list| parse_revs(list, parse_etag)), unless: self.unless() }
    }

    /// Whether the reader has this revision already.
    pub fn client_has_revision(&self, rev: i64) -> bool {
        self.unless().is_some_and(|revs| revs.have(rev))
    }

    /// The revisions of `If-None-Match`, to which a weak tag is as good as a strong one (RFC 9110 13.1.2).
    fn unless(&self) -> Option<Revs> {
        self.if_none_match
            .as_deref()
            .map(|list| parse_revs(list, |tag| parse_etag(tag.strip_prefix("W/").unwrap_or(tag))))
    }
}

/// The revisions that a list of tags names. A tag that is none of ours is of no revision.
fn parse_revs(list: &str, read: fn(&str) -> Option<i64>) -> Revs {
    match list.trim() {
        "*" => Revs::Any,
        list => Revs::These(list.split(',').filter_map(|tag| read(tag.trim())).collect()),
    }
}

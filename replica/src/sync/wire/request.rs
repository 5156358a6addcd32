//! Builds the requests to the server. Must not know how bytes travel.

use hearth_contract::headers::{CURRENT_VERSION, IDEMPOTENCY_KEY, LAST_EVENT_ID, SERVICE_API_VERSION};
use hearth_contract::paths;
use hearth_contract::record::etag;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};

use super::message::HttpRequest;
use crate::model::{PAGE_RECORDS, ReconcileQuery};
use crate::store::edits::push;

/// The header of each request: the API version of this program.
pub(in crate::sync) const VERSION: (&str, &str) = (SERVICE_API_VERSION, CURRENT_VERSION);
/// Events per poll (contract 9.1 allows 1000).
const POLL_EVENTS: u32 = 500;
/// Deleted ids per page (contract 18).
const PAGE_DELETIONS: u32 = 1000;

/// Characters that are percent-encoded in a query: all except the unreserved characters of RFC 3986 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A cursor for a query. Cursors are opaque (contract 5) and may hold any character.
fn encoded(cursor: &str) -> PercentEncode<'_> {
    utf8_percent_encode(cursor, ENCODED)
}

impl HttpRequest {
    /// A request. `body`: JSON text.
    pub(in crate::sync) fn new(method: &str, path: impl Into<String>, body: Option<String>) -> HttpRequest {
        let headers = body.iter().map(|_| ("content-type", "application/json".to_owned())).collect();
        HttpRequest { method: method.to_owned(), path: path.into(), headers, body }
    }

    /// A request without a body.
    pub(in crate::sync) fn get(path: impl Into<String>) -> HttpRequest {
        HttpRequest::new("GET", path, None)
    }

    /// Fetches the owner, scopes and limits of the key.
    pub(in crate::sync) fn identity() -> HttpRequest {
        HttpRequest::get(paths::ME)
    }

    /// Fetches the feed head, and checks that the server still knows the cursor, if there is one.
    pub(in crate::sync) fn feed_head(cursor: Option<&str>) -> HttpRequest {
        HttpRequest::events(1, cursor)
    }

    /// Fetches events after the cursor. None: from the first event.
    pub(in crate::sync) fn poll(cursor: Option<&str>) -> HttpRequest {
        HttpRequest::events(POLL_EVENTS, cursor)
    }

    fn events(limit: u32, cursor: Option<&str>) -> HttpRequest {
        let cursor = cursor.map(|cursor| format!("&cursor={}", encoded(cursor))).unwrap_or_default();
        HttpRequest::get(format!("{}?limit={limit}{cursor}", paths::EVENTS))
    }

    /// Opens the stream after the cursor. None: from the first event. The path repeats the header's cursor, because a proxy
    /// may drop the header. Without a cursor the stream would begin at the present (contract 9.4).
    pub(in crate::sync) fn stream(cursor: Option<&str>) -> HttpRequest {
        let path = format!("{}?cursor={}", paths::STREAM, encoded(cursor.unwrap_or("start")));
        let mut request = HttpRequest::get(path);
        request.headers.push(("accept", "text/event-stream".to_owned()));
        request.headers.extend(cursor.map(|cursor| (LAST_EVENT_ID, cursor.to_owned())));
        request
    }

    /// Sends edits.
    pub(in crate::sync) fn edits(request: &push::Request) -> HttpRequest {
        let mut http = HttpRequest::new(&request.verb, &request.path, request.body.clone());
        http.headers.push((IDEMPOTENCY_KEY, request.key.clone()));
        match request.if_match {
            Some(guard) => http.headers.push(("if-match", etag(guard))),
            // Only the profile is created by an update. A repetition after the server has forgotten the idempotency key
            // must not overwrite a profile that another person has created (RFC 9110 13.1.2).
            None if request.path == paths::PROPERTY
                && !hearth_simulated::planted(hearth_simulated::PlantedFault::IfMatchNotSent) =>
            {
                http.headers.push(("if-none-match", "*".to_owned()));
            }
            None => {}
        }
        http
    }

    /// Sends a query of a reconcile.
    pub(in crate::sync) fn reconcile(query: &ReconcileQuery) -> HttpRequest {
        let page = |cursor: &Option<String>| {
            cursor.as_ref().map(|cursor| format!("&cursor={}", encoded(cursor))).unwrap_or_default()
        };
        let list = |kind, sort: &str, cursor: &Option<String>| {
            format!("{}?limit={PAGE_RECORDS}&sort={sort}&order=asc{}", paths::collection(kind), page(cursor))
        };
        HttpRequest::get(match query {
            ReconcileQuery::Property => paths::PROPERTY.to_owned(),
            ReconcileQuery::List { kind, since: Some(since), cursor } => {
                list(*kind, "updated_at", cursor) + &format!("&updated_since={since}")
            }
            ReconcileQuery::List { kind, since: None, cursor } => list(*kind, "created_at", cursor),
            ReconcileQuery::Ids { kind, cursor } => list(*kind, "created_at", cursor) + "&fields=id,rev",
            ReconcileQuery::Deletions { since_rev, cursor } => {
                format!("{}?since={since_rev}&limit={PAGE_DELETIONS}{}", paths::DELETIONS, page(cursor))
            }
            ReconcileQuery::Record { kind, id } => format!("{}/{id}", paths::collection(*kind)),
        })
    }
}

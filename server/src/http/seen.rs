//! What the log and the console show of an answered request: nothing secret, and a limited length. Must not know pages.

use std::time::Duration;

use axum::http::Method;
use hearth_contract::key::holds_key;
use percent_encoding::percent_decode_str;

use super::pipeline::RequestFacts;
use super::reply::ResponseContext;
use crate::app::App;
use crate::app::recent::Request;
use crate::app::usage::Counted;

/// Characters of a path and of a method that are shown.
const PATH_MAX: usize = 200;
const METHOD_MAX: usize = 20;

/// An answered request.
pub(super) struct Seen<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    status: u16,
    took: Duration,
}

impl<'a> Seen<'a> {
    /// `path`: without the query. `took`: the time from the request to the head of the response.
    pub(super) fn new(method: &'a Method, path: &'a str, status: u16, took: Duration) -> Seen<'a> {
        Seen { method: shown(method.as_str(), METHOD_MAX), path: shown(path, PATH_MAX), status, took }
    }

    /// Keeps a request of the API for the console, and counts it for its key. Pages of the console are left out: an open page
    /// asks again and again.
    pub(super) fn keep(&self, app: &App, context: &ResponseContext, facts: &RequestFacts) {
        if facts.web_refusal.is_some() {
            return;
        }
        let now = app.clock.now();
        if let (Some(key), Some((class, _))) = (&facts.key, facts.counted.filter(|_| self.status != 429)) {
            app.usage.count(key, Counted::In(class), now);
        }
        let request = Request {
            at: now,
            method: self.method.into(),
            path: self.path.into(),
            status: self.status,
            took: self.took,
            key: facts.key.as_deref().map(Box::from),
            request_id: (&*context.request_id).into(),
        };
        app.recent.record(facts.team.as_deref(), request);
    }
}

/// The beginning of a method or path. A text that contains a key, percent-encoded or not, is left out.
fn shown(text: &str, characters_max: usize) -> &str {
    if holds_key(&percent_decode_str(text).decode_utf8_lossy()) {
        return "(holds a key)";
    }
    text.char_indices().nth(characters_max).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_in_path_is_not_shown() {
        for path in ["/v1/rooms/svc_live_9f", "/v1/rooms/svc%5Flive_9f", "/v1/%73vc_te%73t_9f"] {
            assert_eq!(shown(path, 4), "(holds a key)");
        }
        assert_eq!(shown("/v1/rooms/a%20b", 15), "/v1/rooms/a%20b");
        assert_eq!(shown("/v1/ä/rooms", 5), "/v1/ä");
    }
}

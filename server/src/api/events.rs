//! `GET /v1/events`: polling the change feed (contract 9.1). Must not know how events are stored.

use hearth_contract::envelope::Page;
use hearth_contract::problem::Problem;
use hearth_contract::schema::Kind;
use serde_json::json;

use crate::app::App;
use crate::home::feed::{self, FeedPage, FeedStart, PageLimit};
use crate::http::call::Call;
use crate::http::parameters::EVENTS_PAGE;
use crate::http::query::Query;
use crate::http::reply::{Refusal, Reply};
use crate::store::events;
use crate::store::lists::PAGE_BYTES_MAX;

/// The hint for `cursor=start`, which only a stream accepts.
const BEGIN: &str = "Leave cursor out: without one a poll begins with the oldest event.";

/// Returns the events after a cursor.
pub async fn poll(call: Call) -> Result<Reply, Refusal> {
    let limit = call.query.limit(EVENTS_PAGE)?;
    let kinds = kinds(&call.query)?;
    let begin = call.query.get("cursor").map_or(FeedStart::Oldest, |cursor| FeedStart::After(cursor.to_owned()));
    let (number, retention) = (call.principal.key.home, retention_seconds(&call.app));
    let most = PageLimit { events: limit, bytes: PAGE_BYTES_MAX };
    let is_word = call.query.get("cursor") == Some("start");
    let read = call
        .app
        .db
        .read(move |tx| {
            let cursor = match feed::start(tx, number, &begin, retention)? {
                Ok(cursor) => cursor,
                Err(problem) => return Ok(Err(problem)),
            };
            match feed::read_page(tx, number, cursor, &kinds, most, retention)? {
                Ok(piece) => Ok(Ok((piece, events::oldest_id(tx, number)?))),
                Err(problem) => Ok(Err(problem)),
            }
        })
        .await?;
    // `start` is valid for a stream only.
    let read = read.map_err(|problem| if is_word { problem.with_fix(BEGIN) } else { problem });
    let (FeedPage { events, next, next_text, has_more, head, .. }, oldest) = read?;
    call.app.readers.polled(&call.principal.key.id, next, call.app.clock.now());
    let texts: Vec<String> = events
        .iter()
        .map(|event| {
            let mut text = String::new();
            event.write_json(&mut text);
            text
        })
        .collect();
    let feed = json!({ "head": head, "oldest": oldest, "retention_seconds": retention });
    let page = Page { has_more, next_cursor: Some(next_text) };
    Ok(call.context.list_reply(&texts, &page, &format!(r#""feed":{feed}"#)))
}

/// The kinds in the parameter `types`. Empty: all kinds.
pub(super) fn kinds(query: &Query) -> Result<Vec<Kind>, Problem> {
    query.choices("types", &Kind::ALL.map(|kind| (kind.as_str(), kind)))
}

/// How long the feed keeps events, in seconds. None: forever.
pub(super) fn retention_seconds(app: &App) -> Option<u64> {
    app.config.retention.map(|retention| retention.as_secs())
}

//! `GET /v1/events/stream`: streams the change feed (contract 9.4). Must not know how frames are read or sent.
//!
//! - `reader`: reads history and live events, and encodes frames.
//! - `guard`: ends the stream of a client that does not read.

mod guard;
mod reader;

use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream;
use hearth_contract::problem::{Problem, ProblemType};

use self::guard::StreamGuard;
use self::reader::StreamReader;
use super::events::{kinds, retention_seconds};
use crate::app::frame_cache::FrameKey;
use crate::home::feed::{self, FeedStart};
use crate::http::call::Call;
use crate::http::reply::{Payload, Refusal, Reply};

/// The hint for an invalid cursor. Leaving the cursor out would start at the newest event and skip the missed events.
const RESTART_HINT: &str =
    "Send the cursor exactly as it was given, or start again with `cursor=start` and no Last-Event-ID.";

/// Opens a stream.
pub async fn open(call: Call) -> Result<Reply, Refusal> {
    let kinds = kinds(&call.query)?;
    let begin = begin(&call);
    let max = call.app.config.max_streams;
    let Some(permit) = call.app.streams.open(&call.principal.key.id, max) else {
        let message = format!("The key has {max} streams open.");
        return Err(Problem::new(ProblemType::TooManyStreams, message).with("retry_after_seconds", 5).into());
    };
    let (number, retention) = (call.principal.key.home, retention_seconds(&call.app));
    // Subscribed before the first read, so no event falls between the two.
    let notifications = call.app.notifier.subscribe(number);
    let begun = call.app.db.read(move |tx| feed::start(tx, number, &begin, retention)).await?;
    let cursor = begun.map_err(|problem| match problem.kind {
        ProblemType::InvalidCursor => problem.with_fix(RESTART_HINT),
        _ => problem,
    })?;
    let guard = Arc::new(StreamGuard::new(call.app, call.principal, cursor));
    let version = call.context.version;
    let key = FrameKey { cursor, kinds, version: version.name };
    let reader = StreamReader::new(guard.clone(), version, key, notifications, permit);
    let frames = stream::unfold(reader, |mut reader| async move {
        let frame = reader.next().await?;
        Some((frame, reader))
    });
    let headers = vec![("x-accel-buffering", "no".to_owned())];
    let end = Arc::new(move || -> Pin<Box<dyn Future<Output = ()> + Send>> { Box::pin(guard.clone().invalidated()) });
    Ok(Reply { status: 200, headers, payload: Payload::Events(Box::pin(frames), end) })
}

/// The start of a stream: `Last-Event-ID` wins over `cursor`; without both, the newest event.
fn begin(call: &Call) -> FeedStart {
    match (call.last_event_id.as_deref().filter(|id| !id.is_empty()), call.query.get("cursor")) {
        (Some(id), _) => FeedStart::After(id.to_owned()),
        (None, Some("start")) => FeedStart::Oldest,
        (None, Some(cursor)) => FeedStart::After(cursor.to_owned()),
        (None, None) => FeedStart::Present,
    }
}

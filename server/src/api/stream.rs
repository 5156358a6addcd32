//! Streaming the change feed (contract 9.4). One loop for history and live data: what the cursor has not passed is read
//! from the log, and only a reader that is level waits for the bell. Memory is one piece for each stream, because the
//! next is read when the last was taken; readers that are level share theirs.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::events::{kinds, retention_seconds};
use super::shelf::{Found, Heard, Look, Place, Shelf};
use crate::app::App;
use crate::home::feed::{self, Begin};
use crate::http::auth::still_holds;
use crate::http::call::Call;
use crate::http::keyring::Principal;
use crate::http::limits::Permit;
use crate::http::reply::{Payload, Refusal, Reply};
use crate::stopping::Stopping;
use crate::store::{Fault, HomeNo, Tx};
use crate::versions::Version;

/// Events read from the log at once.
const PIECE: usize = 256;
/// The first frame: how long a client waits before it comes again, in milliseconds.
const RETRY: &str = "retry: 1000\n\n";
/// Says that the stream lives; no event, and no place.
const COMMENT: &str = ":\n\n";

/// `GET /v1/events/stream`.
pub async fn open(call: Call) -> Result<Reply, Refusal> {
    let kinds = kinds(&call.query)?;
    let begin = match (call.last_event_id.as_deref().filter(|id| !id.is_empty()), call.query.get("cursor")) {
        (Some(id), _) => Begin::After(id.to_owned()),
        (None, Some("start")) => Begin::Oldest,
        (None, Some(cursor)) => Begin::After(cursor.to_owned()),
        (None, None) => Begin::Present,
    };
    let max = call.app.config.max_streams;
    let Some(permit) = call.app.streams.open(&call.principal.key.id, max) else {
        let message = format!("The key has {max} streams open.");
        return Err(Problem::new(ProblemType::TooManyStreams, message).with("retry_after_seconds", 5).into());
    };
    let (number, retention) = (call.principal.key.home, retention_seconds(&call.app));
    // The bell is heard from before the first look, so that nothing falls between the two.
    let bell = call.app.tail.listen(number);
    let cursor = call.app.db.read(move |tx| feed::begin(tx, number, &begin, retention)).await??;
    let (now, shelf) = (Instant::now(), call.app.shelves.of(number));
    let reader = Reader {
        heartbeat_at: now + call.app.config.heartbeat,
        silent_since: now,
        outside: call.app.outside.clone(),
        stopping: call.app.stopping.clone(),
        app: call.app,
        principal: call.principal,
        version: call.wording.version,
        shelf,
        place: Place { cursor, kinds, version: call.wording.version.name },
        cursor_text: "".into(),
        bell,
        stage: Stage::Opening,
        _permit: permit,
    };
    let frames = stream::unfold(reader, |mut reader| async move {
        let frame = reader.next().await?;
        Some((frame, reader))
    });
    let headers = vec![("x-accel-buffering", "no".to_owned())];
    Ok(Reply { status: 200, headers, payload: Payload::Events(Box::pin(frames)) })
}

/// How far a stream is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing was sent.
    Opening,
    /// On the way to the present.
    Replaying,
    /// Level with the present.
    Live,
}

struct Reader {
    app: Arc<App>,
    principal: Arc<Principal>,
    version: &'static Version,
    shelf: Arc<Shelf>,
    place: Place,
    cursor_text: Arc<str>,
    bell: watch::Receiver<i64>,
    outside: watch::Receiver<u64>,
    stopping: Stopping,
    stage: Stage,
    heartbeat_at: Instant,
    silent_since: Instant,
    _permit: Permit,
}

impl Reader {
    /// The next bytes to send; None ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if self.stage == Stage::Opening {
            self.stage = Stage::Replaying;
            return Some(Bytes::from_static(RETRY.as_bytes()));
        }
        loop {
            if self.stopping.is_said() || !self.principal.holds(self.app.clock.now()) {
                return None;
            }
            let heard = (*self.bell.borrow_and_update(), *self.outside.borrow());
            let frames = self.read(heard).await?;
            if !frames.is_empty() {
                self.silent_since = Instant::now();
                return Some(frames);
            }
            if let Some(frame) = self.wait().await? {
                self.silent_since = Instant::now();
                return Some(frame);
            }
        }
    }

    /// The frames of what the cursor has not passed; "" when level. None: the cursor is no longer good; the client
    /// learns why when it comes again.
    async fn read(&mut self, heard: Heard) -> Option<Bytes> {
        let is_level = self.stage == Stage::Live;
        let look = || look(&self.app, self.principal.key.home, &self.place, self.version, is_level);
        let found = if is_level { self.shelf.look(&self.place, heard, look).await } else { look().await };
        let found = found.unwrap_or_else(|fault| {
            tracing::warn!(%fault, "a stream could not read on");
            None
        })?;
        self.place.cursor = found.next;
        self.cursor_text = found.next_text.clone();
        if self.stage != Stage::Replaying || found.has_more {
            return Some(found.frames.clone());
        }
        self.stage = Stage::Live;
        // From here on it stands where all stand who are level.
        self.place.cursor.start = 0;
        let data = json!({ "cursor": *self.cursor_text, "head": found.head });
        let ready = format!("event: ready\nid: {}\ndata: {data}\n\n", self.cursor_text);
        Some([&found.frames[..], ready.as_bytes()].concat().into())
    }

    /// Waits until there may be more to read, or it is time to show that the stream lives. None ends the stream.
    async fn wait(&mut self) -> Option<Option<Bytes>> {
        let comment_at = self.silent_since + self.app.config.keepalive;
        tokio::select! {
            _ = self.bell.changed() => Some(None),
            () = self.stopping.heard() => None,
            _ = self.outside.changed() => still_holds(&self.app, &self.principal).await.then_some(None),
            () = tokio::time::sleep_until(comment_at.min(self.heartbeat_at)) => {
                let now = Instant::now();
                if now < self.heartbeat_at {
                    return Some(Some(Bytes::from_static(COMMENT.as_bytes())));
                }
                self.heartbeat_at = now + self.app.config.heartbeat.max(Duration::from_millis(1));
                // An id without data: standard clients take the place and dispatch nothing.
                Some(Some(format!(": heartbeat\nid: {}\n\n", self.cursor_text).into()))
            }
        }
    }
}

/// Looks at what follows a place in a home's log; from one that is level it is not far. None: the place is no longer
/// good.
async fn look(
    app: &App,
    number: HomeNo,
    place: &Place,
    version: &'static Version,
    is_level: bool,
) -> Result<Found, Fault> {
    let (cursor, kinds, retention) = (place.cursor, place.kinds.clone(), retention_seconds(app));
    let read = move |tx: &Tx<'_>| feed::read(tx, number, cursor, &kinds, PIECE, retention);
    let piece = if is_level { app.db.glance(read).await? } else { app.db.read(read).await? };
    let Ok(piece) = piece else { return Ok(None) };
    let mut frames = String::new();
    for (event, cursor) in &piece.events {
        frames.push_str("id: ");
        frames.push_str(cursor);
        frames.push_str("\ndata: ");
        if version.is_current() {
            event.write_json(&mut frames);
        } else {
            let mut text = String::new();
            event.write_json(&mut text);
            frames.push_str(&version.lower(text));
        }
        frames.push_str("\n\n");
    }
    let (next, next_text) = (piece.next, piece.next_text.into());
    let (has_more, head) = (piece.has_more, piece.head);
    Ok(Some(Arc::new(Look { frames: frames.into(), next, next_text, has_more, head })))
}

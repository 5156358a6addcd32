//! Streaming the change feed (contract 9.4). One loop for history and live data: what the cursor has not passed is read
//! from the log, and only a reader that is level waits for the bell. Memory is one piece for each stream, because the
//! next is read when the last was taken; readers that are level share theirs.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

use super::events::{kinds, retention_seconds};
use super::shelf::{Found, Heard, Look, Place, Shelf};
use crate::app::App;
use crate::home::cursor::FeedCursor;
use crate::home::feed::{self, Begin, Most};
use crate::http::auth::still_holds;
use crate::http::call::Call;
use crate::http::keyring::Principal;
use crate::http::limits::Permit;
use crate::http::reply::{Payload, Refusal, Reply};
use crate::store::{Fault, HomeNo, Tx};
use crate::versions::Version;

/// What is read from the log at once, and held for a reader that does not read.
const PIECE: Most = Most { events: 256, bytes: 256 * 1024 };
/// The first frame: how long a client waits before it comes again, in milliseconds.
const RETRY: &str = "retry: 1000\n\n";
/// What to do without a cursor that is good here.
const BEGIN_AGAIN: &str =
    "Send the cursor exactly as it was given, or start again with `cursor=start` and no Last-Event-ID.";
/// Says that the stream lives; no event, and no place.
const COMMENT: &str = ":\n\n";
/// Between two looks at whether a stream that nobody reads may go on, when nothing is heard.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Time for a frame that was begun to leave once its key has ended. That was noticed within half a second, and a second is
/// all there is (contract 9.4).
const LEAVE_TIME_MAX: Duration = Duration::from_millis(250);
/// The same once the service stops, which waits longer: who reads slowly is to see a clean end.
const STOP_TIME_MAX: Duration = Duration::from_secs(2);

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
    let begun = call.app.db.read(move |tx| feed::begin(tx, number, &begin, retention)).await?;
    // Without a cursor it would begin at the present, and what the reader has missed would be lost to it.
    let cursor = begun.map_err(|problem| match problem.kind {
        ProblemType::InvalidCursor => problem.fixed_by(BEGIN_AGAIN),
        _ => problem,
    })?;
    let (now, shelf) = (Instant::now(), call.app.shelves.of(number));
    let bond = Arc::new(Bond { app: call.app.clone(), principal: call.principal.clone(), cursor: Mutex::new(cursor) });
    let over = bond.clone();
    let reader = Reader {
        bond,
        heartbeat_at: now + call.app.config.heartbeat,
        silent_since: now,
        alarm: Box::pin(tokio::time::sleep_until(now + call.app.config.keepalive.min(call.app.config.heartbeat))),
        // The key may have ended since the request was let in.
        outside: None,
        app: call.app,
        principal: call.principal,
        version: call.wording.version,
        shelf,
        place: Place { cursor, kinds, version: call.wording.version.name },
        cursor_text: "".into(),
        bell,
        seen: None,
        stage: Stage::Opening,
        _permit: permit,
    };
    let frames = stream::unfold(reader, |mut reader| async move {
        let frame = reader.next().await?;
        Some((frame, reader))
    });
    let headers = vec![("x-accel-buffering", "no".to_owned())];
    let over = Arc::new(move || -> Pin<Box<dyn Future<Output = ()> + Send>> { Box::pin(over.clone().broken()) });
    Ok(Reply { status: 200, headers, payload: Payload::Events(Box::pin(frames), over) })
}

/// What a stream must not outlive. Its reader sees to that itself between two frames; this is for while a frame waits to be
/// taken, by a client that may never do so.
struct Bond {
    app: Arc<App>,
    principal: Arc<Principal>,
    /// Where it reads on.
    cursor: Mutex<FeedCursor>,
}

impl Bond {
    /// Returns once the stream may not go on, and what was begun has had its time: the service stops, its key has ended, or
    /// its place is no longer good.
    async fn broken(self: Arc<Self>) {
        let (mut shutdown, mut outside) = (self.app.shutdown.clone(), self.app.outside.clone());
        let time_left = loop {
            if !self.holds().await {
                break LEAVE_TIME_MAX;
            }
            tokio::select! {
                () = shutdown.requested() => break STOP_TIME_MAX,
                Ok(()) = outside.changed() => (),
                () = tokio::time::sleep(LOOK_EVERY) => (),
            }
        };
        tokio::time::sleep(time_left).await;
    }

    async fn holds(&self) -> bool {
        let (number, cursor) = (self.principal.key.home, *self.cursor.lock().unwrap_or_else(PoisonError::into_inner));
        self.principal.holds(self.app.clock.now())
            && still_holds(&self.app, &self.principal).await != Some(false)
            // A database that is busy says nothing about the place either.
            && self.app.db.glance(move |tx| feed::is_good(tx, number, cursor)).await.unwrap_or(true)
    }
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
    bond: Arc<Bond>,
    cursor_text: Arc<str>,
    bell: watch::Receiver<i64>,
    /// What the bells had said when all there was had been read.
    seen: Option<Heard>,
    /// What the bell of other processes had said when the key was last known to hold; None: that was not looked up yet.
    outside: Option<u64>,
    stage: Stage,
    heartbeat_at: Instant,
    silent_since: Instant,
    /// Rings when a sign of life may be due, never later than it is: it is not set anew for each event.
    alarm: Pin<Box<Sleep>>,
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
            let heard = (*self.bell.borrow_and_update(), *self.app.outside.borrow());
            if self.app.shutdown.is_requested() || !self.principal.holds(self.app.clock.now()) {
                return None;
            }
            if self.outside != Some(heard.1) {
                match still_holds(&self.app, &self.principal).await {
                    Some(true) => self.outside = Some(heard.1),
                    Some(false) => return None,
                    None => {}
                }
            }
            if self.seen != Some(heard) {
                let frames = self.read(heard).await?;
                if !frames.is_empty() {
                    self.silent_since = Instant::now();
                    return Some(frames);
                }
                if self.seen.is_none() {
                    // Events of other kinds were passed by; what was asked for may follow.
                    continue;
                }
            }
            if let Some(frame) = self.wait().await {
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
        *self.bond.cursor.lock().unwrap_or_else(PoisonError::into_inner) = found.next;
        self.cursor_text = found.next_text.clone();
        self.seen = (!found.has_more).then_some(heard);
        if self.stage != Stage::Replaying || found.has_more {
            return Some(found.frames.clone());
        }
        self.stage = Stage::Live;
        // From here on it stands where all stand who are level.
        (self.place.cursor.start, self.place.cursor.start_run) = (0, 0);
        let data = json!({ "cursor": *self.cursor_text, "head": found.head });
        let ready = format!("event: ready\nid: {}\ndata: {data}\n\n", self.cursor_text);
        Some([&found.frames[..], ready.as_bytes()].concat().into())
    }

    /// Waits until there may be more to read, or something else was heard of, or it is time to show that the stream lives:
    /// that is the frame.
    async fn wait(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                biased;
                // Everything that a stream has to hear rings its home's bell: commits, other processes, the end.
                _ = self.bell.changed() => return None,
                () = self.alarm.as_mut() => (),
            }
            let (now, comment_at) = (Instant::now(), self.silent_since + self.app.config.keepalive);
            let frame = if now >= self.heartbeat_at {
                self.heartbeat_at = now + self.app.config.heartbeat.max(Duration::from_millis(1));
                // An id without data: standard clients take the place and dispatch nothing.
                Some(format!(": heartbeat\nid: {}\n\n", self.cursor_text).into())
            } else {
                (now >= comment_at).then(|| Bytes::from_static(COMMENT.as_bytes()))
            };
            let silent_since = if frame.is_some() { now } else { self.silent_since };
            self.alarm.as_mut().reset(self.heartbeat_at.min(silent_since + self.app.config.keepalive));
            if frame.is_some() {
                return frame;
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

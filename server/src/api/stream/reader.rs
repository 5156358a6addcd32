//! Reads the frames of one stream: first the history after the cursor, then live events after each notification. Holds at
//! most one piece of frames, because the next read waits until the client took the last. Must not know how frames are
//! sent.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hearth_contract::formats::Timestamp;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

use super::guard::StreamGuard;
use crate::api::events::retention_seconds;
use crate::app::App;
use crate::app::frame_cache::{CachedFrames, FrameCache, FrameKey, Lookup, Signals};
use crate::app::limits::Permit;
use crate::home::feed::{self, PageLimit};
use crate::http::auth::still_valid;
use crate::store::{HomeNumber, StoreError, Tx};
use crate::versions::Version;

/// Events and bytes per read, and held for a client that does not read.
const PIECE: PageLimit = PageLimit { events: 256, bytes: 256 * 1024 };
/// The first line of the first frame: the time before a client reconnects, in milliseconds. Not a frame of its own,
/// because plain libraries dispatch a frame without data as an empty message.
const RETRY: &str = "retry: 1000\n";
/// A line that keeps the connection alive. Without a blank line, because plain libraries dispatch at each blank line.
const COMMENT: &str = ":\n";

/// The progress of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// No frame was sent.
    Opening,
    /// Sending history.
    Replaying,
    /// Caught up with the newest event.
    Live,
}

/// Reads the frames of one stream.
pub(super) struct StreamReader {
    guard: Arc<StreamGuard>,
    version: &'static Version,
    cache: Arc<FrameCache>,
    key: FrameKey,
    cursor_text: Arc<str>,
    /// The newest event id of the home at the last read.
    head: i64,
    notifications: watch::Receiver<i64>,
    /// The signals at the read that reached the newest event. None: more events may exist.
    seen: Option<Signals>,
    /// The counter of changes of keys at the last check of the key. None: the key was not checked again yet.
    key_checked_at: Option<u64>,
    /// The end of the key at the last check. None: the key does not expire.
    ends_at: Option<Timestamp>,
    stage: Stage,
    heartbeat_at: Instant,
    silent_since: Instant,
    /// Fires when a heartbeat or comment may be due, never later. Not reset for each event.
    alarm: Pin<Box<Sleep>>,
    _permit: Permit,
}

impl StreamReader {
    /// A reader that starts after the cursor of `key`. `notifications` must have been opened before the cursor was
    /// checked, so no event is missed.
    pub(super) fn new(
        guard: Arc<StreamGuard>,
        version: &'static Version,
        key: FrameKey,
        notifications: watch::Receiver<i64>,
        permit: Permit,
    ) -> StreamReader {
        let (now, config) = (Instant::now(), &guard.app.config);
        let alarm = Box::pin(tokio::time::sleep_until(now + config.keepalive.min(config.heartbeat)));
        StreamReader {
            heartbeat_at: now + config.heartbeat,
            silent_since: now,
            alarm,
            ends_at: guard.principal.key.expires_at,
            cache: guard.app.frame_caches.cache_of(guard.principal.key.home),
            guard,
            version,
            key,
            cursor_text: "".into(),
            head: 0,
            notifications,
            seen: None,
            key_checked_at: None,
            stage: Stage::Opening,
            _permit: permit,
        }
    }

    /// The next bytes to send. None: the stream ends.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            let app = &self.guard.app;
            let signals = Signals { home: *self.notifications.borrow_and_update(), external: *app.outside.borrow() };
            if !self.may_continue(signals).await {
                return None;
            }
            if self.seen != Some(signals) {
                let frames = self.read(signals).await?;
                if !frames.is_empty() {
                    self.silent_since = Instant::now();
                    return Some(frames);
                }
                if self.seen.is_none() {
                    // The read passed events of other kinds only; wanted events may follow.
                    continue;
                }
            }
            if let Some(frame) = self.wait().await {
                self.silent_since = Instant::now();
                return Some(frame);
            }
        }
    }

    /// Whether the service runs and the key is valid. Looks the key up again after a change of keys.
    async fn may_continue(&mut self, signals: Signals) -> bool {
        let StreamGuard { app, principal, .. } = &*self.guard;
        if app.shutdown.is_requested() {
            return false;
        }
        if self.key_checked_at != Some(signals.external) {
            match still_valid(app, principal).await {
                // A rotation may have given the key an earlier end.
                Some(Some(now)) => (self.key_checked_at, self.ends_at) = (Some(signals.external), now.key.expires_at),
                Some(None) => return false,
                None => {}
            }
        }
        self.ends_at.is_none_or(|end| end > app.clock.now())
    }

    /// The frames after the cursor; empty when caught up. None: the cursor is no longer valid, and the client learns the
    /// reason when it reconnects.
    async fn read(&mut self, signals: Signals) -> Option<Bytes> {
        let is_live = self.stage == Stage::Live;
        let StreamGuard { app, principal, .. } = &*self.guard;
        let load = || load_frames(app, principal.key.home, &self.key, self.version, is_live);
        let found = if is_live { self.cache.get_or_load(&self.key, signals, load).await } else { load().await };
        let found = found.unwrap_or_else(|fault| {
            tracing::warn!(%fault, "cannot read the events of a stream; the stream ends");
            None
        })?;
        self.key.cursor = found.next;
        self.guard.set_cursor(found.next);
        self.cursor_text = found.next_text.clone();
        self.head = found.head;
        self.seen = (!found.has_more).then_some(signals);
        let is_first = self.stage == Stage::Opening && !(found.has_more && found.frames.is_empty());
        if is_live || (found.has_more && !is_first) {
            return Some(found.frames.clone());
        }
        let retry = if is_first { RETRY } else { "" };
        self.stage = Stage::Replaying;
        let mut ready = String::new();
        if !found.has_more {
            self.stage = Stage::Live;
            // All live streams at a position share a key, so the start of this stream must not be a part of the key.
            self.key.cursor.end_backfill();
            ready = self.position_frame("ready");
        }
        Some([retry.as_bytes(), &found.frames[..], ready.as_bytes()].concat().into())
    }

    /// A frame that tells the position of the stream and the newest event id (contract 9.4).
    fn position_frame(&self, event: &str) -> String {
        let (cursor, data) = (&self.cursor_text, json!({ "cursor": *self.cursor_text, "head": self.head }));
        format!("event: {event}\nid: {cursor}\ndata: {data}\n\n")
    }

    /// Waits for a notification or for the next sign of life. Some: the heartbeat or comment to send.
    async fn wait(&mut self) -> Option<Bytes> {
        let (keepalive, heartbeat) = (self.guard.app.config.keepalive, self.guard.app.config.heartbeat);
        loop {
            tokio::select! {
                biased;
                // Commits, writes of other processes and the stop all notify the home.
                _ = self.notifications.changed() => return None,
                () = self.alarm.as_mut() => (),
            }
            let (now, comment_at) = (Instant::now(), self.silent_since + keepalive);
            let frame = if now >= self.heartbeat_at {
                self.heartbeat_at = now + heartbeat.max(Duration::from_millis(1));
                // Standard clients store the id and call no handler of messages. Naive clients can parse the data.
                Some(self.position_frame("heartbeat").into())
            } else {
                (now >= comment_at).then(|| Bytes::from_static(COMMENT.as_bytes()))
            };
            let silent_since = if frame.is_some() { now } else { self.silent_since };
            self.alarm.as_mut().reset(self.heartbeat_at.min(silent_since + keepalive));
            if frame.is_some() {
                return frame;
            }
        }
    }
}

/// Reads and encodes the events after a cursor. None: the cursor is no longer valid. A live stream reads inline, because
/// few events can follow its cursor.
async fn load_frames(
    app: &App,
    number: HomeNumber,
    key: &FrameKey,
    version: &'static Version,
    is_live: bool,
) -> Result<Lookup, StoreError> {
    let (cursor, kinds, retention) = (key.cursor, key.kinds.clone(), retention_seconds(app));
    let read = move |tx: &Tx<'_>| feed::read_page(tx, number, cursor, &kinds, PIECE, retention);
    let piece = if is_live { app.db.read_inline(read).await? } else { app.db.read(read).await? };
    let Ok(piece) = piece else { return Ok(None) };
    let mut frames = String::new();
    for event in &piece.events {
        frames.push_str("id: ");
        frames.push_str(&piece.cursor_text_after(event));
        frames.push_str("\ndata: ");
        if version.is_current() {
            event.write_json(&mut frames);
        } else {
            let mut text = String::new();
            event.write_json(&mut text);
            frames.push_str(&version.downgrade(text));
        }
        frames.push_str("\n\n");
    }
    let (next, next_text) = (piece.next, piece.next_text.into());
    let (has_more, head) = (piece.has_more, piece.head);
    Ok(Some(Arc::new(CachedFrames { frames: frames.into(), next, next_text, has_more, head })))
}

//! What stands around a stream while faults are on order: its frames pass one by one, and those with data may be cut
//! off, held back or doubled. Must not know what the frames say.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::Faults;
use super::around::Whose;
use super::grammar::Fault;
use crate::app::App;
use crate::http::auth;

/// Ends each frame.
const END: &[u8] = b"\n\n";
/// Says that the stream lives, and nothing else.
const COMMENT: &[u8] = b":\n\n";
/// Between two looks at whether the key of a mute stream holds still.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The same answer with the faults of these rules.
pub(super) fn around(
    app: &Arc<App>,
    faults: &Faults,
    rules: Vec<usize>,
    whose: Whose,
    response: Response<Body>,
) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let line = Line {
        app: app.clone(),
        faults: faults.clone(),
        rules,
        whose,
        body: body.into_data_stream(),
        rest: Vec::new(),
        frames: VecDeque::new(),
        mute: None,
    };
    let frames = stream::unfold(line, |mut line| async move {
        let frame = line.next().await?;
        Some((frame, line))
    });
    Response::from_parts(parts, Body::from_stream(frames))
}

struct Line {
    app: Arc<App>,
    faults: Faults,
    rules: Vec<usize>,
    whose: Whose,
    body: BodyDataStream,
    /// The beginning of a frame.
    rest: Vec<u8>,
    /// Whole frames that were not sent, and whether they were looked at.
    frames: VecDeque<(Bytes, bool)>,
    /// For how long it says nothing, and whether comments still pass.
    mute: Option<(Option<Duration>, bool)>,
}

impl Line {
    /// The next frame; an error breaks the connection off.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if let Some((lasting, comments)) = self.mute.take()
                && let Some(comment) = self.silence(lasting, comments).await?
            {
                return Some(Ok(comment));
            }
            match self.frames.pop_front() {
                Some((frame, true)) => return Some(Ok(frame)),
                Some((frame, false)) => match self.strike(&frame) {
                    None => return Some(Ok(frame)),
                    Some(Fault::Cut) => {
                        // The frames before it leave first: what is only buffered would go with the connection.
                        tokio::task::yield_now().await;
                        return Some(Err(io::Error::other("cut by --faults")));
                    }
                    Some(Fault::Repeat) => {
                        self.frames.push_front((frame.clone(), true));
                        return Some(Ok(frame));
                    }
                    Some(Fault::Mute { lasting, comments }) => {
                        self.frames.push_front((frame, true));
                        self.mute = Some((lasting, comments));
                    }
                    Some(_) => return Some(Ok(frame)),
                },
                None => self.read().await?,
            }
        }
    }

    /// Says nothing for a while. None: the service stops, or the key has ended; a comment: one is due, and silence goes on
    /// after it.
    async fn silence(&mut self, lasting: Option<Duration>, comments: bool) -> Option<Option<Bytes>> {
        let mut stopping = self.app.stopping.clone();
        let comment_after = if comments { self.app.config.keepalive } else { Duration::MAX };
        let sleep = lasting.unwrap_or(Duration::MAX).min(comment_after);
        tokio::select! {
            () = stopping.heard() => return None,
            () = key_ended(&self.app, &self.whose) => return None,
            () = tokio::time::sleep(sleep) => (),
        }
        let left = lasting.map(|lasting| lasting - sleep);
        if left == Some(Duration::ZERO) {
            return Some(None);
        }
        self.mute = Some((left, comments));
        Some(Some(Bytes::from_static(COMMENT)))
    }

    async fn read(&mut self) -> Option<()> {
        let piece = self.body.next().await?.ok()?;
        self.rest.extend_from_slice(&piece);
        while let Some(end) = self.rest.windows(END.len()).position(|two| two == END) {
            let frame: Vec<u8> = self.rest.drain(..end + END.len()).collect();
            self.frames.push_back((frame.into(), false));
        }
        Some(())
    }

    /// The fault whose turn it is at this frame.
    fn strike(&self, frame: &[u8]) -> Option<Fault> {
        let faults = &self.faults;
        if !frame.starts_with(b"data:") && !frame.windows(6).any(|six| six == b"\ndata:") {
            return None;
        }
        let mut struck = None;
        for nth in &self.rules {
            if faults.strikes(*nth, struck.is_some(), self.app.clock.passed()) {
                self.whose.tell(faults, *nth, "stream_events");
                struck = Some(faults.plan.rules[*nth].fault.clone());
            }
        }
        struck
    }
}

/// Returns once the key has ended: that ends its streams within a second (contract 9.4), and while one is mute nobody asks
/// for its frames, who would see to that.
async fn key_ended(app: &Arc<App>, whose: &Whose) {
    let Some(principal) = &whose.principal else { return std::future::pending().await };
    while auth::is_still_valid(app, principal).await != Some(false) {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

//! Injects faults into the frames of a stream: an event or `ready` may break the connection, be held back or be sent twice.
//! Must not know what a frame says.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Response;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::injector::FaultInjector;
use super::plan::FaultKind;
use super::subject::Subject;
use crate::app::App;
use crate::http::auth;

/// The end of a frame.
const FRAME_END: &[u8] = b"\n\n";
/// A comment, which only keeps the stream alive. A comment has no blank line (contract 9.4).
const COMMENT: &[u8] = b":\n";
/// The start of a heartbeat.
const HEARTBEAT: &[u8] = b"event: heartbeat\n";
/// Time between two checks whether the key of a silent stream is still valid.
const KEY_CHECK_EVERY: Duration = Duration::from_millis(250);

/// The body of a stream with the faults of these rules.
pub(super) fn inject(
    app: &Arc<App>,
    faults: &FaultInjector,
    rules: Vec<usize>,
    subject: Subject,
    response: Response<Body>,
) -> Response<Body> {
    let (parts, body) = response.into_parts();
    let faulty = FaultyStream {
        app: app.clone(),
        faults: faults.clone(),
        rules,
        subject,
        body: body.into_data_stream(),
        partial: Vec::new(),
        frames: VecDeque::new(),
        silence: None,
    };
    let frames = stream::unfold(faulty, |mut faulty| async move {
        let frame = faulty.next().await?;
        Some((frame, faulty))
    });
    Response::from_parts(parts, Body::from_stream(frames))
}

struct FaultyStream {
    app: Arc<App>,
    faults: FaultInjector,
    rules: Vec<usize>,
    subject: Subject,
    body: BodyDataStream,
    /// The bytes after the last whole frame or comment.
    partial: Vec<u8>,
    frames: VecDeque<Frame>,
    silence: Option<Silence>,
}

/// A whole frame or comment that was not sent yet.
struct Frame {
    bytes: Bytes,
    /// Whether the rules have decided about this frame.
    is_decided: bool,
}

#[derive(Clone, Copy)]
struct Silence {
    /// The remaining time. None: until the client closes the stream.
    lasting: Option<Duration>,
    /// Whether comments are still sent.
    comments: bool,
}

/// How a wait in silence ended.
enum SilenceStep {
    /// The service stops, or the key is no longer valid: the stream ends.
    End,
    /// The silence is over.
    Over,
    /// A comment is due; the silence continues.
    Comment,
}

impl FaultyStream {
    /// The next bytes to send. An error breaks the connection; None ends the stream.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            if let Some(silence) = self.silence.take() {
                match self.wait(silence).await {
                    SilenceStep::End => return None,
                    SilenceStep::Over => (),
                    SilenceStep::Comment => return Some(Ok(Bytes::from_static(COMMENT))),
                }
            }
            let Some(Frame { bytes, is_decided }) = self.frames.pop_front() else {
                self.read().await?;
                continue;
            };
            match if is_decided { None } else { self.strike(&bytes) } {
                Some(FaultKind::Cut) => {
                    // Lets the connection send earlier frames: an error discards all buffered bytes.
                    tokio::task::yield_now().await;
                    return Some(Err(io::Error::other("cut by --faults")));
                }
                Some(FaultKind::Repeat) => {
                    self.frames.push_front(Frame { bytes: bytes.clone(), is_decided: true });
                    return Some(Ok(bytes));
                }
                Some(FaultKind::Mute { lasting, comments }) => {
                    self.frames.push_front(Frame { bytes, is_decided: true });
                    self.silence = Some(Silence { lasting, comments });
                }
                _ => return Some(Ok(bytes)),
            }
        }
    }

    /// Sends nothing until the silence is over or a comment is due.
    async fn wait(&mut self, silence: Silence) -> SilenceStep {
        let mut shutdown = self.app.shutdown.clone();
        let comment_after = if silence.comments { self.app.config.keepalive } else { Duration::MAX };
        let sleep = silence.lasting.unwrap_or(Duration::MAX).min(comment_after);
        tokio::select! {
            () = shutdown.requested() => return SilenceStep::End,
            () = key_ended(&self.app, &self.subject) => return SilenceStep::End,
            () = tokio::time::sleep(sleep) => (),
        }
        let lasting = silence.lasting.map(|lasting| lasting - sleep);
        if lasting == Some(Duration::ZERO) {
            return SilenceStep::Over;
        }
        self.silence = Some(Silence { lasting, ..silence });
        SilenceStep::Comment
    }

    /// Reads the next chunk of the body and splits whole frames and comments off. None: the body has ended.
    async fn read(&mut self) -> Option<()> {
        let chunk = self.body.next().await?.ok()?;
        self.partial.extend_from_slice(&chunk);
        while let Some(length) = first_length(&self.partial) {
            let frame: Vec<u8> = self.partial.drain(..length).collect();
            self.frames.push_back(Frame { bytes: frame.into(), is_decided: false });
        }
        Some(())
    }

    /// The fault that strikes this frame. Only events and `ready` are struck: comments and heartbeats depend on the
    /// time, so a count of them would not be repeatable.
    fn strike(&self, frame: &[u8]) -> Option<FaultKind> {
        if frame.starts_with(b":") || frame.starts_with(HEARTBEAT) {
            return None;
        }
        let mut struck = None;
        for nth in &self.rules {
            if self.faults.strikes(*nth, struck.is_some(), self.app.clock.elapsed()) {
                self.subject.log_injection(&self.faults, *nth, "stream_events");
                struck = Some(self.faults.plan().rules[*nth].fault.clone());
            }
        }
        struck
    }
}

/// The bytes of the first frame or comment. None: the first is incomplete.
fn first_length(bytes: &[u8]) -> Option<usize> {
    let end: &[u8] = if bytes.starts_with(b":") { b"\n" } else { FRAME_END };
    Some(bytes.windows(end.len()).position(|found| found == end)? + end.len())
}

/// Returns after the key was revoked or has expired. A stream must end within a second then (contract 9.4), and the
/// stream itself does not check its key while no frame is requested.
async fn key_ended(app: &Arc<App>, subject: &Subject) {
    let Some(principal) = &subject.principal else { return std::future::pending().await };
    while auth::is_still_valid(app, principal).await != Some(false) {
        tokio::time::sleep(KEY_CHECK_EVERY).await;
    }
}

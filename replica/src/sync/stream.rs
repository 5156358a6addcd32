//! The stream in a task of its own: opened, read, and told in stretches as large as what has come. Must not decide
//! what to do when it ends.

use std::time::Duration;

use futures_util::StreamExt;
use sse_stream::SseByteStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::client::{Client, Failure, Identity};
use super::core::Stretch;
use super::sse::{self, Frame};
use crate::store::standing;

/// Events applied in one transaction at most.
const STRETCH_EVENTS_MAX: usize = 500;
/// Frames read ahead of the database.
const FRAMES_AHEAD: usize = 1024;
/// How long a silent stream's bytes are not reported again.
const CONTACT_INTERVAL: Duration = Duration::from_secs(1);

/// What the stream's task tells.
pub(super) enum Told {
    Met(String),
    Opened { home: standing::Home, head: Option<i64>, retention_seconds: Option<i64> },
    Refused(Failure),
    Contact,
    Frames(Stretch),
    Ended(String),
}

enum Heard {
    Told(Told),
    Frame(Frame),
}

/// An open or opening stream; dropping it ends it.
pub(super) struct Stream {
    heard: mpsc::Receiver<Heard>,
    /// What was taken from the channel behind frames that had to go first.
    next: Option<Told>,
    task: JoinHandle<()>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stream {
    /// Begins to open it.
    pub(super) fn open(client: Client, cursor: Option<String>) -> Stream {
        let (tell, heard) = mpsc::channel(FRAMES_AHEAD);
        let task = tokio::spawn(async move {
            let last = match listen(&client, cursor, &tell).await {
                Ok(reason) => Told::Ended(reason),
                Err(failure) => Told::Refused(failure),
            };
            let _ = tell.send(Heard::Told(last)).await;
        });
        Stream { heard, next: None, task }
    }
}

/// Opens the stream and passes on what it brings, until it ends; gives the reason.
async fn listen(client: &Client, cursor: Option<String>, tell: &mpsc::Sender<Heard>) -> Result<String, Failure> {
    // Asked side by side: a reconnect costs one round trip. The stream is last, so that its frames wait for nobody.
    let (me, feed) = tokio::join!(client.me(), client.feed());
    let Identity { home_id, home_name, environment, .. } = me?;
    let feed = feed?;
    let _ = tell.send(Heard::Told(Told::Met(home_id.clone()))).await;
    let response = client.stream(cursor.as_deref()).await?;
    let home = standing::Home { server: String::new(), id: home_id, name: home_name, environment };
    let head = feed.as_ref().map(|feed| feed.head);
    let retention_seconds =
        feed.and_then(|feed| feed.retention_seconds).and_then(|seconds| i64::try_from(seconds).ok());
    let _ = tell.send(Heard::Told(Told::Opened { home, head, retention_seconds })).await;

    // The parser swallows comments, but they are signs of life too, so bytes are noticed before it.
    let contact = tell.clone();
    let mut noticed = Instant::now();
    let bytes = response.bytes_stream().inspect(move |_| {
        if noticed.elapsed() >= CONTACT_INTERVAL && contact.try_send(Heard::Told(Told::Contact)).is_ok() {
            noticed = Instant::now();
        }
    });
    let mut frames = SseByteStream::new(bytes);
    while let Some(frame) = frames.next().await {
        let frame = match frame.map_err(|error| error.to_string()).and_then(sse::read) {
            Ok(frame) => frame,
            Err(reason) => return Ok(reason),
        };
        if tell.send(Heard::Frame(frame)).await.is_err() {
            return Ok("nobody listens".to_owned());
        }
    }
    Ok("the server ended the stream".to_owned())
}

/// The next thing that the stream has to tell: all frames that are there already are one stretch.
pub(super) async fn told(stream: &mut Option<Stream>) -> Told {
    let Some(stream) = stream else { return std::future::pending().await };
    if let Some(told) = stream.next.take() {
        return told;
    }
    let mut stretch = Stretch::default();
    let mut more = stream.heard.recv().await;
    loop {
        match more {
            Some(Heard::Frame(frame)) => sse::extend(&mut stretch, frame),
            Some(Heard::Told(Told::Contact)) if stretch != Stretch::default() => {}
            Some(Heard::Told(told)) if stretch == Stretch::default() => return told,
            Some(Heard::Told(told)) => {
                stream.next = Some(told);
                return Told::Frames(stretch);
            }
            None => return Told::Ended("the stream broke".to_owned()),
        }
        // One stretch ends at the present, so that what is live is told as such at once.
        if stretch.events.len() >= STRETCH_EVENTS_MAX || stretch.ready.is_some() {
            return Told::Frames(stretch);
        }
        match stream.heard.try_recv() {
            Ok(next) => more = Some(next),
            Err(_) if stretch == Stretch::default() => more = stream.heard.recv().await,
            Err(_) => return Told::Frames(stretch),
        }
    }
}

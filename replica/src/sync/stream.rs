//! The stream in a task of its own: opened, read, and told in stretches as large as what has come. Must not decide
//! what to do when it ends.

use std::time::Duration;

use futures_util::StreamExt;
use sse_stream::SseByteStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::client::Client;
use super::core::Stretch;
use super::engine::Heard;
use super::sse::{self, Frame};
use super::wire::Ask;

/// Events applied in one transaction at most.
const STRETCH_EVENTS_MAX: usize = 1000;
/// Frames read ahead of the database.
const FRAMES_AHEAD: usize = 1024;
/// How long a silent stream's bytes are not reported again.
const CONTACT_INTERVAL: Duration = Duration::from_secs(1);

enum Told {
    Heard(Heard),
    Frame(Frame),
}

/// An open or opening stream; dropping it ends it.
pub(super) struct Stream {
    told: mpsc::Receiver<Told>,
    /// What was taken from the channel behind frames that had to go first.
    next: Option<Heard>,
    task: JoinHandle<()>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stream {
    /// Begins to open it.
    pub(super) fn open(client: Client, ask: Ask) -> Stream {
        let (tell, told) = mpsc::channel(FRAMES_AHEAD);
        let task = tokio::spawn(async move {
            let last = listen(&client, &ask, &tell).await;
            let _ = tell.send(Told::Heard(last)).await;
        });
        Stream { told, next: None, task }
    }
}

/// Opens the stream and passes on what it brings; gives the last that is to be told of it.
async fn listen(client: &Client, ask: &Ask, tell: &mpsc::Sender<Told>) -> Heard {
    let response = match client.open(ask).await {
        Ok(Ok(response)) => response,
        Ok(Err(answer)) => return Heard::StreamRefused(answer),
        Err(reason) => return Heard::StreamEnded { reason },
    };
    let _ = tell.send(Told::Heard(Heard::StreamOpened)).await;

    // The parser swallows comments, but they are signs of life too, so bytes are noticed before it.
    let contact = tell.clone();
    let mut noticed = Instant::now();
    let bytes = response.bytes_stream().inspect(move |_| {
        if noticed.elapsed() >= CONTACT_INTERVAL && contact.try_send(Told::Heard(Heard::Contact)).is_ok() {
            noticed = Instant::now();
        }
    });
    let mut frames = SseByteStream::new(bytes);
    while let Some(frame) = frames.next().await {
        let frame = match frame.map_err(|error| error.to_string()).and_then(sse::read) {
            Ok(frame) => frame,
            Err(reason) => return Heard::StreamEnded { reason },
        };
        if tell.send(Told::Frame(frame)).await.is_err() {
            break; // nobody listens
        }
    }
    Heard::StreamEnded { reason: "the server ended the stream".to_owned() }
}

/// The next thing that the stream has to tell: all frames that are there already are one stretch.
pub(super) async fn heard(stream: &mut Option<Stream>) -> Heard {
    let Some(stream) = stream else { return std::future::pending().await };
    if let Some(heard) = stream.next.take() {
        return heard;
    }
    let mut stretch = Stretch::default();
    let mut more = stream.told.recv().await;
    loop {
        match more {
            Some(Told::Frame(frame)) => sse::extend(&mut stretch, frame),
            Some(Told::Heard(Heard::Contact)) if stretch != Stretch::default() => {}
            Some(Told::Heard(heard)) if stretch == Stretch::default() => return heard,
            Some(Told::Heard(heard)) => {
                stream.next = Some(heard);
                return Heard::Frames(stretch);
            }
            None => return Heard::StreamEnded { reason: "the stream broke".to_owned() },
        }
        // One stretch ends at the present, so that what is live is told as such at once.
        if stretch.events.len() >= STRETCH_EVENTS_MAX || stretch.ready.is_some() {
            return Heard::Frames(stretch);
        }
        match stream.told.try_recv() {
            Ok(next) => more = Some(next),
            Err(_) if stretch == Stretch::default() => more = stream.told.recv().await,
            Err(_) => return Heard::Frames(stretch),
        }
    }
}

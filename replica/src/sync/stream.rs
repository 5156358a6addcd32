//! The stream in a task of its own: opened, parsed, and reported in batches of all frames received so far. Must not decide
//! what follows the end of a stream.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::client::Client;
use super::core::FeedBatch;
use super::engine::DriverEvent;
use super::sse::{self, Frame};
use super::wire::HttpRequest;

/// Events per batch, applied in one transaction. A transaction writes each page of an index once: with 500 events, a first sync
/// takes 1.4 times as long.
const BATCH_EVENTS_MAX: usize = 2000;
/// Bytes of the events of a batch. The event that reaches the limit is still part of the batch.
const BATCH_BYTES_MAX: usize = 4 << 20;
/// How long a batch collects events before the present is reached: few large transactions cost less than many small ones.
const COLLECT: Duration = Duration::from_millis(50);
/// Frames per message from the task. Each message wakes the receiver, so a message holds all frames received.
const FRAMES_PER_MESSAGE: usize = 64;
/// Messages that wait for the database.
const MESSAGES_MAX: usize = 16;
/// Shortest time between two reports of [`DriverEvent::StreamActive`].
const ACTIVE_INTERVAL: Duration = Duration::from_secs(1);

/// A message from the task that reads the stream.
enum Message {
    Event(DriverEvent),
    Frames(Vec<Frame>),
}

/// An open or opening stream. Dropping closes the stream.
pub(super) struct Stream {
    messages: mpsc::Receiver<Message>,
    /// An event that was received behind frames and must be reported after them.
    next_event: Option<DriverEvent>,
    /// Received frames that are not in the batch yet.
    frames: std::vec::IntoIter<Frame>,
    /// The batch being collected. A field, because a caller may stop waiting at any time.
    batch: FeedBatch,
    /// Bytes of the events in `batch`, as received.
    batch_bytes: usize,
    /// When the batch is reported at the latest. None: the batch is empty.
    due_at: Option<Instant>,
    /// The present was reached, so batches are reported without collecting.
    is_current: bool,
    _task: JoinSet<()>,
}

impl Stream {
    /// Starts to open a stream.
    pub(super) fn open(client: Client, request: HttpRequest) -> Stream {
        let (sender, messages) = mpsc::channel(MESSAGES_MAX);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let last = read_stream(&client, &request, &sender).await;
            let _ = sender.send(Message::Event(last)).await;
        });
        Stream::new(messages, task)
    }

    fn new(messages: mpsc::Receiver<Message>, _task: JoinSet<()>) -> Stream {
        let (frames, batch) = (Vec::new().into_iter(), FeedBatch::default());
        Stream { messages, next_event: None, frames, batch, batch_bytes: 0, due_at: None, is_current: false, _task }
    }

    /// Takes the collected batch.
    fn take_batch(&mut self) -> DriverEvent {
        let batch = std::mem::take(&mut self.batch);
        (self.batch_bytes, self.due_at) = (0, None);
        self.is_current |= batch.is_at_present();
        DriverEvent::StreamBatch(batch)
    }

    /// The next event of the stream. Frames already received form one batch, together with frames received within
    /// [`COLLECT`] while the present is not reached. Dropping the future loses nothing.
    pub(super) async fn next_event(&mut self) -> DriverEvent {
        if let Some(event) = self.next_event.take() {
            return event;
        }
        loop {
            while let Some(frame) = self.frames.next() {
                self.batch_bytes += sse::extend_batch(&mut self.batch, frame);
                if self.batch != FeedBatch::default() {
                    self.due_at.get_or_insert_with(|| Instant::now() + COLLECT);
                }
                // A batch ends at the present: the replica then becomes live without waiting for later events.
                let is_full = self.batch.events.len() >= BATCH_EVENTS_MAX || self.batch_bytes >= BATCH_BYTES_MAX;
                if is_full || self.batch.is_at_present() {
                    return self.take_batch();
                }
            }
            let message = match (self.messages.try_recv(), self.due_at) {
                (Ok(message), _) => Some(message),
                (Err(_), None) => self.messages.recv().await,
                (Err(_), Some(_)) if self.is_current => return self.take_batch(),
                (Err(_), Some(due_at)) => match tokio::time::timeout_at(due_at, self.messages.recv()).await {
                    Ok(message) => message,
                    Err(_) => return self.take_batch(),
                },
            };
            match message {
                Some(Message::Frames(frames)) => self.frames = frames.into_iter(),
                Some(Message::Event(DriverEvent::StreamActive)) if self.due_at.is_some() => {}
                Some(Message::Event(event)) if self.due_at.is_none() => return event,
                Some(Message::Event(event)) => {
                    self.next_event = Some(event);
                    return self.take_batch();
                }
                None if self.due_at.is_some() => return self.take_batch(),
                None => return DriverEvent::StreamEnded { reason: "the stream broke".to_owned() },
            }
        }
    }
}

/// Waits for the next event of the stream; for ever without a stream.
pub(super) async fn next_event(stream: &mut Option<Stream>) -> DriverEvent {
    match stream {
        Some(stream) => stream.next_event().await,
        None => std::future::pending().await,
    }
}

/// Opens the stream and sends frames until the end. Returns the last event of the stream.
async fn read_stream(client: &Client, request: &HttpRequest, sender: &mpsc::Sender<Message>) -> DriverEvent {
    let response = match client.open_stream(request).await {
        Ok(Ok(response)) => response,
        Ok(Err(response)) => return DriverEvent::StreamRefused(response),
        Err(reason) => return DriverEvent::StreamEnded { reason },
    };
    let _ = sender.send(Message::Event(DriverEvent::StreamOpened)).await;

    // The parser drops comments, but comments prove that the stream lives. So bytes are reported before parsing.
    let active_sender = sender.clone();
    let mut reported_at = Instant::now();
    let bytes = response.bytes_stream().inspect(move |_| {
        let active = Message::Event(DriverEvent::StreamActive);
        if reported_at.elapsed() >= ACTIVE_INTERVAL && active_sender.try_send(active).is_ok() {
            reported_at = Instant::now();
        }
    });
    let mut frames = sse::stream_frames(bytes).ready_chunks(FRAMES_PER_MESSAGE);
    while let Some(received) = frames.next().await {
        let mut error = None;
        let whole = received.into_iter().map_while(|frame| frame.map_err(|reason| error = Some(reason)).ok()).collect();
        if sender.send(Message::Frames(whole)).await.is_err() {
            break; // the receiver is gone
        }
        if let Some(reason) = error {
            return DriverEvent::StreamEnded { reason };
        }
    }
    DriverEvent::StreamEnded { reason: "the server ended the stream".to_owned() }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::super::sse::Content;
    use super::*;

    /// The first event of a stream from a server that answers with these headers and this body.
    async fn first_event(headers: &'static str, body: &'static str) -> DriverEvent {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let _ = connection.read(&mut [0; 4096]);
            let length = body.len();
            let _ = write!(connection, "HTTP/1.1 200 OK\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
        });
        let client = Client::new(&url, &"svc_test_x".to_owned().into()).unwrap();
        Stream::open(client, HttpRequest::stream(None)).next_event().await
    }

    #[tokio::test]
    async fn html_page_is_a_refused_stream() {
        let page = "<html>Sign in to this network</html>";
        for headers in ["Content-Type: text/html\r\n", ""] {
            let event = first_event(headers, page).await;
            assert!(matches!(&event, DriverEvent::StreamRefused(response) if response.status == 200), "{event:?}");
        }
        for headers in ["Content-Type: text/event-stream\r\n", "Content-Type: Text/Event-Stream; charset=utf-8\r\n"] {
            let event = first_event(headers, ":\n").await;
            assert!(matches!(event, DriverEvent::StreamOpened), "{event:?}");
        }
    }

    #[tokio::test]
    async fn frames_are_split_at_the_present() {
        let (sender, messages) = mpsc::channel(MESSAGES_MAX);
        let frame = |cursor: &str, content| Frame { cursor: Some(cursor.to_owned()), content };
        let frames = [("c8", Content::Nothing), ("c9", Content::Present(9)), ("c10", Content::Nothing)];
        sender.send(Message::Frames(frames.map(|(cursor, content)| frame(cursor, content)).into())).await.unwrap();
        sender.send(Message::Event(DriverEvent::StreamEnded { reason: "over".to_owned() })).await.unwrap();
        let mut stream = Stream::new(messages, JoinSet::new());
        for (cursor, head) in [("c9", Some(9)), ("c10", None)] {
            let DriverEvent::StreamBatch(batch) = stream.next_event().await else { panic!("no batch") };
            assert_eq!((batch.cursor.as_deref(), batch.head()), (Some(cursor), head));
        }
        assert!(matches!(stream.next_event().await, DriverEvent::StreamEnded { .. }));
    }

    #[tokio::test]
    async fn batch_ends_at_its_events_or_bytes() {
        for (bytes, events) in [(1, BATCH_EVENTS_MAX), (BATCH_BYTES_MAX / 4, 4)] {
            let frame = |id: usize| {
                let event = serde_json::json!({
                    "id": id, "type": "deleted", "resource_type": "room", "payload": null,
                    "resource_id": "00000000-0000-0000-0000-000000000007", "created_at": "2026-06-01T00:00:00.000Z",
                });
                Frame { cursor: None, content: Content::Event(serde_json::from_value(event).unwrap(), bytes) }
            };
            let (sender, messages) = mpsc::channel(MESSAGES_MAX);
            sender.send(Message::Frames((0..2 * events).map(frame).collect())).await.unwrap();
            let mut stream = Stream::new(messages, JoinSet::new());
            for _ in 0..2 {
                let DriverEvent::StreamBatch(batch) = stream.next_event().await else { panic!("no batch") };
                assert_eq!(batch.events.len(), events, "{bytes} bytes");
            }
        }
    }
}

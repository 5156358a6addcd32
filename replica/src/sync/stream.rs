//! The stream in a task of its own: opened, read, and told in stretches as large as what has come. Must not decide
//! what to do when it ends.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::client::Client;
use super::core::Stretch;
use super::engine::Heard;
use super::sse::{self, Frame};
use super::wire::Ask;

/// Events applied in one transaction at most.
const STRETCH_EVENTS_MAX: usize = 500;
/// How long a stretch gathers while the present is not reached: few large transactions cost less than many small ones.
const GATHER: Duration = Duration::from_millis(50);
/// Frames that are handed over together at most: as many as have come, because each handing over wakes somebody.
const FRAMES_TOGETHER: usize = 64;
/// How often that is done ahead of the database.
const HANDS_AHEAD: usize = 16;
/// How long a silent stream's bytes are not reported again.
const CONTACT_INTERVAL: Duration = Duration::from_secs(1);

enum Told {
    Heard(Heard),
    Frames(Vec<Frame>),
}

/// An open or opening stream; dropping it ends it.
pub(super) struct Stream {
    told: mpsc::Receiver<Told>,
    /// What was taken from the channel behind frames that had to go first.
    next: Option<Heard>,
    /// Frames that have come and are not looked at yet.
    frames: std::vec::IntoIter<Frame>,
    /// What has come and was not told yet; here, because whoever waits for more may stop waiting.
    stretch: Stretch,
    /// When it is told at the latest, once something has come.
    due_at: Option<Instant>,
    /// Whether the present was reached: then nothing waits for more.
    current: bool,
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
        let (tell, told) = mpsc::channel(HANDS_AHEAD);
        let task = tokio::spawn(async move {
            let last = listen(&client, &ask, &tell).await;
            let _ = tell.send(Told::Heard(last)).await;
        });
        let (frames, stretch) = (Vec::new().into_iter(), Stretch::default());
        Stream { told, next: None, frames, stretch, due_at: None, current: false, task }
    }
}

impl Stream {
    /// What has gathered.
    fn stretch(&mut self) -> Heard {
        let stretch = std::mem::take(&mut self.stretch);
        self.due_at = None;
        self.current |= stretch.ready.is_some();
        Heard::Frames(stretch)
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
    let mut frames = sse::frames(bytes).ready_chunks(FRAMES_TOGETHER);
    while let Some(some) = frames.next().await {
        let mut read = Vec::with_capacity(some.len());
        let mut broken = None;
        for frame in some {
            match frame {
                Ok(frame) => read.push(frame),
                Err(reason) => {
                    broken = Some(reason);
                    break;
                }
            }
        }
        if tell.send(Told::Frames(read)).await.is_err() {
            break; // nobody listens
        }
        if let Some(reason) = broken {
            return Heard::StreamEnded { reason };
        }
    }
    Heard::StreamEnded { reason: "the server ended the stream".to_owned() }
}

/// The next thing that the stream has to tell: all frames that are there already are one stretch, and on the way to the
/// present also those that come soon. Nothing is lost when it is not waited for to the end.
pub(super) async fn heard(stream: &mut Option<Stream>) -> Heard {
    let Some(stream) = stream else { return std::future::pending().await };
    if let Some(heard) = stream.next.take() {
        return heard;
    }
    loop {
        while let Some(frame) = stream.frames.next() {
            sse::extend(&mut stream.stretch, frame);
            if stream.stretch != Stretch::default() {
                stream.due_at.get_or_insert_with(|| Instant::now() + GATHER);
            }
            // One stretch ends at the present, so that what is live is told as such at once.
            if stream.stretch.events.len() >= STRETCH_EVENTS_MAX || stream.stretch.ready.is_some() {
                return stream.stretch();
            }
        }
        let told = match (stream.told.try_recv(), stream.due_at) {
            (Ok(told), _) => Some(told),
            (Err(_), None) => stream.told.recv().await,
            (Err(_), Some(_)) if stream.current => return stream.stretch(),
            (Err(_), Some(due_at)) => match tokio::time::timeout_at(due_at, stream.told.recv()).await {
                Ok(told) => told,
                Err(_) => return stream.stretch(),
            },
        };
        match told {
            Some(Told::Frames(frames)) => stream.frames = frames.into_iter(),
            Some(Told::Heard(Heard::Contact)) if stream.due_at.is_some() => {}
            Some(Told::Heard(heard)) if stream.due_at.is_none() => return heard,
            Some(Told::Heard(heard)) => {
                stream.next = Some(heard);
                return stream.stretch();
            }
            None if stream.due_at.is_some() => return stream.stretch(),
            None => return Heard::StreamEnded { reason: "the stream broke".to_owned() },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// What is heard of a stream first where such an answer is given to whoever asks.
    async fn heard_first(head: &'static str, body: &'static str) -> Heard {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let _ = connection.read(&mut [0; 4096]);
            let length = body.len();
            let _ = write!(connection, "HTTP/1.1 200 OK\r\n{head}Content-Length: {length}\r\n\r\n{body}");
        });
        let client = Client::new(&url, &"svc_test_x".to_owned().into()).unwrap();
        heard(&mut Some(Stream::open(client, Ask::stream(None)))).await
    }

    #[tokio::test]
    async fn a_page_is_no_stream() {
        let page = "<html>Sign in to this network</html>";
        for head in ["Content-Type: text/html\r\n", ""] {
            let heard = heard_first(head, page).await;
            assert!(matches!(&heard, Heard::StreamRefused(answer) if answer.status == 200), "{heard:?}");
        }
        for head in ["Content-Type: text/event-stream\r\n", "Content-Type: Text/Event-Stream; charset=utf-8\r\n"] {
            let heard = heard_first(head, ":\n\n").await;
            assert!(matches!(heard, Heard::StreamOpened), "{heard:?}");
        }
    }

    #[tokio::test]
    async fn what_is_handed_over_together_is_told_up_to_the_present_and_then_the_rest() {
        let (tell, told) = mpsc::channel(HANDS_AHEAD);
        let heartbeat = |cursor: &str| Frame::Heartbeat { cursor: cursor.to_owned() };
        let ready = Frame::Ready { head: 9, cursor: Some("c9".to_owned()) };
        tell.send(Told::Frames(vec![heartbeat("c8"), ready, heartbeat("c10")])).await.unwrap();
        tell.send(Told::Heard(Heard::StreamEnded { reason: "over".to_owned() })).await.unwrap();
        let (frames, stretch) = (Vec::new().into_iter(), Stretch::default());
        let task = tokio::spawn(async {});
        let mut stream = Some(Stream { told, next: None, frames, stretch, due_at: None, current: false, task });
        for (cursor, head) in [("c9", Some(9)), ("c10", None)] {
            let Heard::Frames(stretch) = heard(&mut stream).await else { panic!("no frames") };
            assert_eq!((stretch.cursor.as_deref(), stretch.ready), (Some(cursor), head));
        }
        assert!(matches!(heard(&mut stream).await, Heard::StreamEnded { .. }));
    }
}

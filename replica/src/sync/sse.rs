//! Parses the stream's server-sent events (contract 9.4). Must not know what follows from a frame.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{Stream, StreamExt};
use hearth_contract::event::Event;
use hearth_contract::record_limits::EVENT_BYTES_MAX;
use hyper::body::Buf;
use serde::Deserialize;
use sse_stream::{Error, Sse, SseByteStream};

use super::core::{BatchEnd, FeedBatch};
use super::excerpt;
use super::wire;

/// Bytes of a frame: an event with its cursor.
const FRAME_BYTES_MAX: usize = EVENT_BYTES_MAX + (4 << 10);

/// Why the bytes of a stream ended.
#[derive(Debug, thiserror::Error)]
enum StreamError<E> {
    // The connection's own text, such as "error decoding response body", helps nobody.
    #[error("the stream was cut")]
    Cut(#[source] E),
    #[error("the stream sent {} KiB that are no whole event", FRAME_BYTES_MAX >> 10)]
    FrameTooLong,
}

/// The frames in a stream's bytes. Err: a sentence for people why the stream cannot be read further.
pub fn stream_frames<B: Buf, E: std::error::Error + Send + Sync + 'static>(
    bytes: impl Stream<Item = Result<B, E>>,
) -> impl Stream<Item = Result<Frame, String>> {
    // The parser asks for more bytes only without a complete frame, so the count is of one incomplete frame.
    let bytes_since_frame = Arc::new(AtomicUsize::new(0));
    let counter = bytes_since_frame.clone();
    let bytes = bytes.map(move |chunk| {
        let chunk = chunk.map_err(StreamError::Cut)?;
        let before = counter.fetch_add(chunk.remaining(), Ordering::Relaxed);
        if before > FRAME_BYTES_MAX { Err(StreamError::FrameTooLong) } else { Ok(chunk) }
    });
    SseByteStream::new(bytes).map(move |frame| {
        bytes_since_frame.store(0, Ordering::Relaxed);
        match frame {
            Ok(frame) => parse_frame(frame),
            Err(Error::Body(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    })
}

/// One frame.
#[derive(Debug, PartialEq)]
pub struct Frame {
    /// The cursor after the frame.
    pub(super) cursor: Option<String>,
    pub(super) content: Content,
}

/// What a frame says.
#[derive(Debug, PartialEq)]
pub(super) enum Content {
    /// An event, and the length of the event's text.
    Event(Box<Event>, usize),
    /// The stream has reached the present, with the head there.
    Present(i64),
    /// No event: a heartbeat, or a frame without a meaning for the replica.
    Nothing,
}

/// Parses a frame. Err: a malformed event, or one that is larger than the contract allows; skipping would lose the event.
fn parse_frame(frame: Sse) -> Result<Frame, String> {
    #[derive(Deserialize)]
    struct Ready {
        cursor: Option<String>,
        head: i64,
    }
    let malformed =
        |error: serde_json::Error| excerpt::sentence(&format!("the stream sent a malformed event ({error})"));
    match (frame.event.as_deref(), frame.data, frame.id) {
        (_, Some(data), _) if data.len() > EVENT_BYTES_MAX => {
            Err(format!("the stream sent an event of more than {} KiB", EVENT_BYTES_MAX >> 10))
        }
        (None | Some("" | "message"), Some(data), cursor) => {
            let event: Box<Event> = serde_json::from_str(&data).map_err(malformed)?;
            wire::check_event(&event)?;
            Ok(Frame { cursor, content: Content::Event(event, data.len()) })
        }
        (Some("ready"), Some(data), id) => {
            let Ready { cursor, head } = serde_json::from_str(&data).map_err(malformed)?;
            Ok(Frame { cursor: id.or(cursor), content: Content::Present(head) })
        }
        (Some("heartbeat"), _, Some(cursor)) if !cursor.is_empty() => {
            Ok(Frame { cursor: Some(cursor), content: Content::Nothing })
        }
        _ => Ok(Frame { cursor: None, content: Content::Nothing }),
    }
}

/// Appends a frame to a batch. Returns the length of the event's text.
pub fn extend_batch(batch: &mut FeedBatch, frame: Frame) -> usize {
    if frame.cursor.is_some() {
        batch.cursor = frame.cursor;
    }
    match frame.content {
        Content::Event(event, bytes) => {
            batch.events.push(*event);
            return bytes;
        }
        Content::Present(head) => batch.end = BatchEnd::Present { head: Some(head) },
        Content::Nothing => {}
    }
    0
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn endless_line_is_refused() {
        let errors = |chunk: &'static [u8]| {
            let chunks = futures_util::stream::repeat(Ok::<_, std::convert::Infallible>(chunk)).take(100_000);
            let errors = stream_frames(chunks).filter_map(|frame| std::future::ready(frame.err()));
            errors.collect::<Vec<String>>().now_or_never().unwrap()
        };
        static LINE: [u8; 1 << 16] = [b'x'; 1 << 16];
        assert_eq!(errors(&LINE), ["the stream sent 264 KiB that are no whole event"]);
        // Any number of complete frames is accepted: these are 8 MiB.
        assert_eq!(
            errors(
                b": a comment that is as long as this one, which makes 8 MiB of them all\nevent: heartbeat\nid: c1\n\n"
            ),
            [""; 0]
        );
    }

    #[test]
    fn byte_order_mark_loses_nothing() {
        let event = r#"{"id":9,"type":"deleted","resource_type":"room","resource_id":"00000000-0000-0000-0000-000000000007","payload":null,"created_at":"2026-06-01T00:00:00.000Z"}"#;
        for first in
            [format!("data: {event}\nid: c9"), format!("id: c9\ndata: {event}"), format!(":\nid: c9\ndata:{event}")]
        {
            let bytes = format!("\u{feff}{first}\n\n").into_bytes();
            for size in [1, 2, 3, 4, bytes.len()] {
                let chunks: Vec<_> = bytes.chunks(size).map(Ok::<_, std::convert::Infallible>).collect();
                let parsed =
                    stream_frames(futures_util::stream::iter(chunks)).collect::<Vec<_>>().now_or_never().unwrap();
                let [Ok(Frame { cursor, content: Content::Event(event, _) })] = &parsed[..] else {
                    panic!("{first}: {parsed:?}")
                };
                assert_eq!((event.id, cursor.as_deref()), (9, Some("c9")), "{first} by {size}");
            }
        }
    }

    #[test]
    fn oversized_event_is_refused() {
        let event = |title: &str, more: &str| {
            let members = format!(r#"{{"title":"{title}"{more}}}"#);
            let text = format!(
                r#"{{"id":9,"type":"updated","resource_type":"task","resource_id":"00000000-0000-0000-0000-000000000007","payload":{members},"created_at":"2026-06-01T00:00:00.000Z"}}"#
            );
            parse_frame(Sse::default().data(text)).map(drop)
        };
        assert_eq!(event("Paint", ""), Ok(()));
        let refused = "the server sent event 9, which breaks the contract: title has more than 200 characters";
        assert_eq!(event(&"x".repeat(201), ""), Err(refused.to_owned()));
        assert_eq!(event(&"x".repeat(3_900_000), ""), Err("the stream sent an event of more than 260 KiB".to_owned()));
        assert!(event("Paint", &format!(r#","new":"{}""#, "x".repeat(70_000))).is_err());
    }

    #[test]
    fn broken_connection_is_reported_as_cut() {
        let broken = std::io::Error::other("error decoding response body");
        let chunks = futures_util::stream::iter([Ok(&b"event: heartbeat\nid: c1\n\n"[..]), Err(broken)]);
        let parsed = stream_frames(chunks).collect::<Vec<_>>().now_or_never().unwrap();
        let cut = || Err("the stream was cut".to_owned());
        assert_eq!(parsed, [Ok(Frame { cursor: Some("c1".to_owned()), content: Content::Nothing }), cut()]);
    }

    #[test]
    fn contract_frames_become_a_batch() {
        let event = r#"{"id":9,"type":"deleted","resource_type":"room","resource_id":"00000000-0000-0000-0000-000000000007","api_version":"2026-06-01","payload":null,"created_at":"2026-06-01T00:00:00.000Z","idempotency_key":null}"#;
        let mut batch = FeedBatch::default();
        for frame in [
            Sse::default().retry(1000).id("c9").data(event),
            Sse::default().event("ready").id("c9").data(r#"{"cursor":"c9","head":9}"#),
            Sse::default().event("heartbeat").id("c10").data(r#"{"cursor":"c10","head":9}"#),
        ] {
            extend_batch(&mut batch, parse_frame(frame).unwrap());
        }
        assert_eq!(batch.events.len(), 1);
        assert_eq!((batch.head(), batch.cursor.as_deref()), (Some(9), Some("c10")));
        assert!(parse_frame(Sse::default().data("{}")).is_err());
        let long = format!("\"{}\"", "x".repeat(100_000));
        assert!(parse_frame(Sse::default().data(long)).is_err_and(|reason| reason.len() < 2000));
    }
}

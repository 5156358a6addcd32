//! The stream's frames as the core's words (contract 9.4). Must not know what becomes of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{Stream, StreamExt};
use hearth_contract::event::Event;
use hyper::body::Buf;
use serde::Deserialize;
use sse_stream::{Error, Sse, SseByteStream};

use super::brief;
use super::core::Stretch;

/// Bytes without a whole frame among them. The largest frame is an event with a record of at most 90 kB (contract 3).
const FRAME_BYTES_MAX: usize = 4 << 20;

/// Why the bytes of a stream ended.
#[derive(Debug, thiserror::Error)]
enum Broken<E> {
    // What the connection says of it, as that a body could not be decoded, tells nobody what happened.
    #[error("the stream was cut")]
    Itself(#[source] E),
    #[error("the stream sent {} MiB that are no whole event", FRAME_BYTES_MAX >> 20)]
    TooLong,
}

/// The frames in a stream's bytes. Err: why it cannot be read on, in plain words.
pub(super) fn frames<B: Buf, E: std::error::Error + Send + Sync + 'static>(
    bytes: impl Stream<Item = Result<B, E>>,
) -> impl Stream<Item = Result<Frame, String>> {
    // The parser asks for more bytes only while it has no whole frame.
    let since = Arc::new(AtomicUsize::new(0));
    let whole = since.clone();
    let bytes = bytes.map(move |piece| {
        let piece = piece.map_err(Broken::Itself)?;
        let before = since.fetch_add(piece.remaining(), Ordering::Relaxed);
        if before > FRAME_BYTES_MAX { Err(Broken::TooLong) } else { Ok(piece) }
    });
    SseByteStream::new(bytes).map(move |frame| {
        whole.store(0, Ordering::Relaxed);
        match frame {
            Ok(frame) => read(frame),
            Err(Error::Body(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    })
}

/// What one frame says.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    /// A change, and the cursor after it.
    Event { event: Box<Event>, cursor: Option<String> },
    /// The present is reached.
    Ready { head: i64, cursor: Option<String> },
    /// Nothing happened up to this cursor.
    Heartbeat { cursor: String },
    /// Nothing for us.
    Other,
}

/// Reads a frame. Err: an event that is not one; going on would lose it.
fn read(frame: Sse) -> Result<Frame, String> {
    #[derive(Deserialize)]
    struct Ready {
        cursor: Option<String>,
        head: i64,
    }
    let malformed = |error: serde_json::Error| brief::sentence(&format!("the stream sent what is no event ({error})"));
    match (frame.event.as_deref(), frame.data, frame.id) {
        (None | Some("" | "message"), Some(data), cursor) => {
            Ok(Frame::Event { event: serde_json::from_str(&data).map_err(malformed)?, cursor })
        }
        (Some("ready"), Some(data), id) => {
            let Ready { cursor, head } = serde_json::from_str(&data).map_err(malformed)?;
            Ok(Frame::Ready { head, cursor: id.or(cursor) })
        }
        (None, None, Some(cursor)) if !cursor.is_empty() => Ok(Frame::Heartbeat { cursor }),
        _ => Ok(Frame::Other),
    }
}

/// Lays a frame to a stretch.
pub(super) fn extend(stretch: &mut Stretch, frame: Frame) {
    let cursor = match frame {
        Frame::Event { event, cursor } => {
            stretch.events.push(*event);
            cursor
        }
        Frame::Ready { head, cursor } => {
            stretch.ready = Some(head);
            cursor
        }
        Frame::Heartbeat { cursor } => Some(cursor),
        Frame::Other => None,
    };
    if cursor.is_some() {
        stretch.cursor = cursor;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_line_without_end_is_no_frame() {
        let hear = |piece: &'static [u8]| {
            let pieces = futures_util::stream::repeat(Ok::<_, std::convert::Infallible>(piece)).take(100_000);
            let unread = frames(pieces).filter_map(|frame| std::future::ready(frame.err()));
            unread.collect::<Vec<String>>().now_or_never().unwrap()
        };
        static LINE: [u8; 1 << 16] = [b'x'; 1 << 16];
        assert_eq!(hear(&LINE), ["the stream sent 4 MiB that are no whole event"]);
        // Any number of whole ones is none too many.
        assert_eq!(
            hear(b"id: c1\n\n: a comment that is as long as this one, which makes 8 MiB of them all\n\n"),
            [""; 0]
        );
    }

    #[test]
    fn a_stream_that_breaks_off_was_cut() {
        let broken = std::io::Error::other("error decoding response body");
        let pieces = futures_util::stream::iter([Ok(&b"id: c1\n\n"[..]), Err(broken)]);
        let heard = frames(pieces).collect::<Vec<_>>().now_or_never().unwrap();
        let cut = || Err("the stream was cut".to_owned());
        assert_eq!(heard, [Ok(Frame::Heartbeat { cursor: "c1".to_owned() }), cut()]);
    }

    #[test]
    fn the_contracts_frames_are_read() {
        let event = r#"{"id":9,"type":"deleted","resource_type":"room","resource_id":"00000000-0000-0000-0000-000000000007","api_version":"2026-06-01","payload":null,"created_at":"2026-06-01T00:00:00.000Z","idempotency_key":null}"#;
        let mut stretch = Stretch::default();
        for frame in [
            Sse::default().retry(1000),
            Sse::default().id("c9").data(event),
            Sse::default().event("ready").id("c9").data(r#"{"cursor":"c9","head":9}"#),
            Sse::default().id("c10"),
        ] {
            extend(&mut stretch, read(frame).unwrap());
        }
        assert_eq!(stretch.events.len(), 1);
        assert_eq!((stretch.ready, stretch.cursor.as_deref()), (Some(9), Some("c10")));
        assert!(read(Sse::default().data("{}")).is_err());
        let long = format!("\"{}\"", "x".repeat(100_000));
        assert!(read(Sse::default().data(long)).is_err_and(|reason| reason.len() < 2000));
    }
}

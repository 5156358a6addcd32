//! The stream's frames as the core's words (contract 9.4). Must not know what becomes of them.

use hearth_contract::event::Event;
use serde::Deserialize;
use sse_stream::Sse;

use super::core::Stretch;

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
pub(super) fn read(frame: Sse) -> Result<Frame, String> {
    #[derive(Deserialize)]
    struct Ready {
        cursor: Option<String>,
        head: i64,
    }
    let malformed = |error: serde_json::Error| format!("the stream sent what is no event ({error})");
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
    use super::*;

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
    }
}

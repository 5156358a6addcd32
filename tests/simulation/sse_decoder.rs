//! Decodes a stream's bytes into driver events, as the replica's driver does, but without waiting. Must not decide what
//! follows the end of a stream.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use hearth_replica::sync::{DriverEvent, FeedBatch, Frame, extend_batch, stream_frames};
use tokio::sync::mpsc;

/// Decoder of one stream, from the first byte on.
pub struct SseDecoder {
    chunks: mpsc::UnboundedSender<Bytes>,
    frames: stream::BoxStream<'static, Result<Frame, String>>,
}

impl Default for SseDecoder {
    fn default() -> SseDecoder {
        let (chunks, mut receiver) = mpsc::unbounded_channel();
        let received =
            stream::poll_fn(move |context| receiver.poll_recv(context).map(|chunk| Some(Ok::<_, Infallible>(chunk?))));
        SseDecoder { chunks, frames: stream_frames(received).boxed() }
    }
}

impl SseDecoder {
    /// Decodes the next bytes of the stream. Completed frames become as few batches as possible; without a batch, the bytes
    /// become [`DriverEvent::StreamActive`]. A malformed event ends the stream, because skipping would lose the event.
    pub fn decode(&mut self, bytes: &[u8]) -> Vec<DriverEvent> {
        let _ = self.chunks.send(Bytes::copy_from_slice(bytes));
        let mut events = Vec::new();
        let mut batch = FeedBatch::default();
        while let Some(Some(frame)) = self.frames.next().now_or_never() {
            match frame {
                Ok(frame) => drop(extend_batch(&mut batch, frame)),
                Err(reason) => {
                    events.push(DriverEvent::StreamEnded { reason });
                    return events;
                }
            }
            // A batch ends at the present: the replica then becomes live without waiting for later events.
            if batch.is_at_present() {
                events.push(DriverEvent::StreamBatch(std::mem::take(&mut batch)));
            }
        }
        if batch != FeedBatch::default() {
            events.push(DriverEvent::StreamBatch(batch));
        }
        if events.is_empty() {
            events.push(DriverEvent::StreamActive);
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_any_chunk_size() {
        let position = "id: c9\ndata: {\"cursor\":\"c9\",\"head\":9}\n\n";
        let text = format!("retry: 1000\nevent: ready\n{position}:\n:\nevent: heartbeat\n{position}:\n");
        for size in [1, 2, 7, text.len()] {
            let mut decoder = SseDecoder::default();
            let events: Vec<DriverEvent> =
                text.as_bytes().chunks(size).flat_map(|chunk| decoder.decode(chunk)).collect();
            let heads: Vec<i64> = events
                .iter()
                .filter_map(|event| match event {
                    DriverEvent::StreamBatch(batch) => batch.head(),
                    _ => None,
                })
                .collect();
            assert_eq!(heads, [9], "chunks of {size} bytes");
        }
    }
}

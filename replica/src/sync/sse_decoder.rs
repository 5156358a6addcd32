//! Decodes a stream's bytes into driver events, for a driver that already has the bytes and waits for nothing. Must not
//! decide what follows the end of a stream.

use std::convert::Infallible;

use futures_util::{FutureExt, StreamExt, stream};
use tokio::sync::mpsc;

use super::core::FeedBatch;
use super::engine::DriverEvent;
use super::sse::{self, Frame};

type Chunk = std::io::Cursor<Vec<u8>>;
type Frames = stream::BoxStream<'static, Result<Frame, String>>;

/// Decoder of one stream, from the first byte on.
pub struct SseDecoder {
    chunks: mpsc::UnboundedSender<Chunk>,
    frames: Frames,
}

impl std::fmt::Debug for SseDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SseDecoder")
    }
}

impl Default for SseDecoder {
    fn default() -> SseDecoder {
        let (chunks, receiver) = mpsc::unbounded_channel();
        let received = stream::unfold(receiver, |mut receiver| async move {
            Some((Ok::<_, Infallible>(receiver.recv().await?), receiver))
        });
        SseDecoder { chunks, frames: sse::frames(received).boxed() }
    }
}

impl SseDecoder {
    /// Decodes the next bytes of the stream. Completed frames become as few batches as possible; without a batch, the bytes
    /// become [`DriverEvent::StreamActive`]. A malformed event ends the stream, because skipping would lose the event.
    pub fn decode(&mut self, bytes: &[u8]) -> Vec<DriverEvent> {
        let _ = self.chunks.send(Chunk::new(bytes.to_vec()));
        let mut events = Vec::new();
        let mut batch = FeedBatch::default();
        while let Some(Some(frame)) = self.frames.next().now_or_never() {
            match frame {
                Ok(frame) => {
                    sse::extend(&mut batch, frame);
                }
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

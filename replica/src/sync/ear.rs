//! A stream's bytes as what an engine hears, for a driver that has them already and waits for nothing. Must not decide
//! what to do when the stream ends.

use std::convert::Infallible;

use futures_util::{FutureExt, StreamExt, stream};
use tokio::sync::mpsc;

use super::core::Stretch;
use super::engine::Heard;
use super::sse::{self, Frame};

type Piece = std::io::Cursor<Vec<u8>>;
type Frames = stream::BoxStream<'static, Result<Frame, String>>;

/// Hears one stream, from its first byte.
pub struct Ear {
    pieces: mpsc::UnboundedSender<Piece>,
    frames: Frames,
}

impl std::fmt::Debug for Ear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ear")
    }
}

impl Default for Ear {
    fn default() -> Ear {
        let (pieces, coming) = mpsc::unbounded_channel();
        let coming =
            stream::unfold(
                coming,
                |mut coming| async move { Some((Ok::<_, Infallible>(coming.recv().await?), coming)) },
            );
        Ear { pieces, frames: sse::frames(coming).boxed() }
    }
}

impl Ear {
    /// What these bytes say: the frames that they complete, as few stretches as may be, or bare contact. A frame that
    /// is no event ends the stream, because going on would lose it.
    pub fn hear(&mut self, bytes: &[u8]) -> Vec<Heard> {
        let _ = self.pieces.send(Piece::new(bytes.to_vec()));
        let mut heard = Vec::new();
        let mut stretch = Stretch::default();
        while let Some(Some(frame)) = self.frames.next().now_or_never() {
            match frame {
                Ok(frame) => sse::extend(&mut stretch, frame),
                Err(reason) => {
                    heard.push(Heard::StreamEnded { reason });
                    return heard;
                }
            }
            // One stretch ends at the present, so that what is live is told as such at once.
            if stretch.ready.is_some() {
                heard.push(Heard::Frames(std::mem::take(&mut stretch)));
            }
        }
        if stretch != Stretch::default() {
            heard.push(Heard::Frames(stretch));
        }
        if heard.is_empty() {
            heard.push(Heard::Contact);
        }
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_heard_wherever_the_bytes_are_cut() {
        let text = "retry: 1000\n\n:\n\nid: c9\n\nevent: ready\nid: c9\ndata: {\"cursor\":\"c9\",\"head\":9}\n\n: heartbeat\nid: c9\n\n";
        for step in [1, 2, 7, text.len()] {
            let mut ear = Ear::default();
            let heard: Vec<Heard> = text.as_bytes().chunks(step).flat_map(|piece| ear.hear(piece)).collect();
            let ready: Vec<i64> = heard
                .iter()
                .filter_map(|heard| match heard {
                    Heard::Frames(stretch) => stretch.ready,
                    _ => None,
                })
                .collect();
            assert_eq!(ready, [9], "in pieces of {step}");
        }
    }
}

//! A body that is kept while somebody reads it, so that it can be sent again. Whoever reads it sets the limits. Must not
//! know what the body is.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body::Body as _;

/// What was read of a body so far.
#[derive(Clone)]
pub(super) struct Kept(Arc<Mutex<Read>>);

#[derive(Default)]
struct Read {
    bytes: Vec<u8>,
    is_whole: bool,
}

/// The same body, and what will have been read of it.
pub(super) fn copied(body: Body) -> (Body, Kept) {
    let kept = Kept(Arc::new(Mutex::new(Read { bytes: Vec::new(), is_whole: body.is_end_stream() })));
    let (reading, ending) = (kept.clone(), kept.clone());
    let pieces = body.into_data_stream().inspect(move |piece| {
        if let Ok(piece) = piece {
            reading.change(|read| read.bytes.extend_from_slice(piece));
        }
    });
    // Asked for only by who has read all that is before it.
    let end = stream::once(async move {
        ending.change(|read| read.is_whole = true);
        Ok(Bytes::new())
    });
    (Body::from_stream(pieces.chain(end)), kept)
}

impl Kept {
    /// All of the body; None: it was not read to its end.
    pub(super) fn whole(&self) -> Option<Bytes> {
        let read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        read.is_whole.then(|| Bytes::copy_from_slice(&read.bytes))
    }

    fn change(&self, change: impl FnOnce(&mut Read)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

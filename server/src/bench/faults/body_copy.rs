//! Copies a request body while the service reads the body. The copy allows sending the request again. The reader of the
//! body sets the limits.
//! Must not know what a body contains.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body::Body as _;

/// The bytes of a body that the service has read.
#[derive(Clone)]
pub(super) struct BodyCopy(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    is_complete: bool,
}

/// Returns the body and a copy, which grows while the service reads the body.
pub(super) fn copy_body(body: Body) -> (Body, BodyCopy) {
    let copy = BodyCopy(Arc::new(Mutex::new(State { bytes: Vec::new(), is_complete: body.is_end_stream() })));
    let (at_chunk, at_end) = (copy.clone(), copy.clone());
    let chunks = body.into_data_stream().inspect(move |chunk| {
        if let Ok(chunk) = chunk {
            at_chunk.update(|state| state.bytes.extend_from_slice(chunk));
        }
    });
    // The reader reaches the empty chunk only after all other chunks.
    let end = stream::once(async move {
        at_end.update(|state| state.is_complete = true);
        Ok(Bytes::new())
    });
    (Body::from_stream(chunks.chain(end)), copy)
}

impl BodyCopy {
    /// The whole body. None: the service did not read the body to its end.
    pub(super) fn complete(&self) -> Option<Bytes> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_complete.then(|| Bytes::copy_from_slice(&state.bytes))
    }

    fn update(&self, update: impl FnOnce(&mut State)) {
        update(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

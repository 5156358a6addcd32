//! Compression of whole bodies with gzip, br or zstd. Small bodies are compressed at once, large ones off the async threads.
//! Must not know requests, nor what a body says.

use std::convert::Infallible;
use std::future::ready;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::header::ACCEPT_ENCODING;
use axum::http::{HeaderValue, Request, Response};
use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tower::{Layer, ServiceExt, service_fn};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

/// Largest body that is compressed on an async thread, in bytes: well under a millisecond.
const INLINE_BYTES_MAX: usize = 16 * 1024;
/// The level for bodies that are compressed once and sent often.
const THOROUGH: CompressionLevel = CompressionLevel::Precise(9);

/// Permits for large bodies that are compressed at the same time: half of the processors stay free. Further bodies are sent
/// as they are.
static LARGE: LazyLock<Semaphore> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    Semaphore::new((processors / 2).max(1))
});

/// Compresses the body of a response in a coding that the client accepts. None of these: the response stays as it is.
/// `accepted` has the lines of the header `Accept-Encoding`.
pub(crate) async fn compress(response: Response<Bytes>, accepted: Vec<HeaderValue>) -> Response<Bytes> {
    if response.body().len() <= INLINE_BYTES_MAX {
        return encode(response, accepted, CompressionLevel::Default).await;
    }
    let Ok(permit) = LARGE.try_acquire() else { return response };
    let (head, body) = response.into_parts();
    let plain = Response::from_parts(head.clone(), body.clone());
    let work = move || {
        let encoded = encode(Response::from_parts(head, body), accepted, CompressionLevel::Default);
        let response = Handle::current().block_on(encoded);
        drop(permit);
        response
    };
    // A thread that fails leaves the plain body.
    tokio::task::spawn_blocking(work).await.unwrap_or(plain)
}

/// The bytes in a coding, such as `br`, as small as is reasonable. Blocks for up to a second.
pub(crate) fn compress_once(bytes: &Bytes, coding: &'static str) -> Bytes {
    let encoded = encode(Response::new(bytes.clone()), vec![HeaderValue::from_static(coding)], THOROUGH);
    Handle::current().block_on(encoded).into_body()
}

async fn encode(response: Response<Bytes>, accepted: Vec<HeaderValue>, level: CompressionLevel) -> Response<Bytes> {
    let status = response.status();
    let mut request = Request::new(Body::empty());
    for line in accepted {
        request.headers_mut().append(ACCEPT_ENCODING, line);
    }
    let mut response = Some(response.map(Body::from));
    let service = service_fn(|_| ready(Ok::<_, Infallible>(response.take().unwrap_or_default())));
    let (mut head, body) = match CompressionLayer::new().quality(level).layer(service).oneshot(request).await {
        Ok(response) => response.into_parts(),
        Err(never) => match never {},
    };
    // The layer turns a response into 406 if the client excludes all codings, although the work is done. RFC 9110 12.5.3
    // allows sending the response without a coding.
    head.status = status;
    // Bytes in memory can neither break off nor be too long.
    Response::from_parts(head, body.collect().await.map(|body| body.to_bytes()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: usize) -> Response<Bytes> {
        Response::new("hearth ".repeat(bytes / 7).into())
    }

    async fn coding_of(bytes: usize) -> Option<String> {
        let response = compress(answer(bytes), vec![HeaderValue::from_static("br")]).await;
        let coding = response.headers().get("content-encoding")?;
        assert!(response.body().len() < bytes / 10);
        Some(coding.to_str().unwrap_or_default().to_owned())
    }

    #[tokio::test]
    async fn large_bodies_are_compressed_or_plain() {
        assert_eq!(coding_of(INLINE_BYTES_MAX).await.as_deref(), Some("br"));
        assert_eq!(coding_of(20 * INLINE_BYTES_MAX).await.as_deref(), Some("br"));
        let _others = LARGE.acquire_many(LARGE.available_permits() as u32).await.unwrap();
        assert_eq!(coding_of(INLINE_BYTES_MAX).await.as_deref(), Some("br"));
        assert_eq!(coding_of(20 * INLINE_BYTES_MAX).await, None, "the others take all places");
    }
}

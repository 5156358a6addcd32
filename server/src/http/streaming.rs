//! Writes a response without an end straight to the connection, after hyper has released it. A quiet stream
//! therefore needs little memory, and a frame for many clients is written from one shared buffer. Must not know the
//! content of the frames.

use std::io::{self, IoSlice};
use std::time::SystemTime;

use axum::http::response::Parts;
use axum::response::Response;
use futures_util::StreamExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::reply::StreamEnd;
use super::socket::Channel;

/// Marks a streaming response, and holds the condition that ends the stream.
#[derive(Clone)]
pub(super) struct Streaming(pub(super) StreamEnd);

/// Marks a response to an HTTP/1.0 client, which does not know chunks: the body ends with the connection (RFC 9112
/// 6.3).
#[derive(Clone)]
pub(super) struct Unchunked;

/// The bytes of a response head, plus the header lines in `more`. The connection closes after the response.
pub(super) fn head_text(head: &Parts, more: &str) -> Vec<u8> {
    let date = httpdate::fmt_http_date(SystemTime::now());
    let mut bytes = format!("HTTP/1.1 {}\r\ndate: {date}\r\nconnection: close\r\n{more}", head.status).into_bytes();
    for (name, value) in &head.headers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// Writes a response until its frames end, the client closes the connection, or the stream must end while the client
/// does not read.
pub(super) async fn run(mut channel: Channel, answer: Response, endless: Streaming) -> io::Result<()> {
    // The server waits for a slow client (contract 9.4), as long as the stream may continue.
    channel.wait_for_slow_reader();
    let ended = write(&mut channel, answer, &endless).await;
    if ended.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
        // The send buffer holds data that the client never reads.
        channel.discard_unread();
    }
    ended
}

async fn write(channel: &mut Channel, answer: Response, endless: &Streaming) -> io::Result<()> {
    let (head, body) = answer.into_parts();
    let is_chunked = head.extensions.get::<Unchunked>().is_none();
    let coding = if is_chunked { "transfer-encoding: chunked\r\n" } else { "" };
    in_time(endless, send(channel, &head_text(&head, coding))).await?;
    drop(head);
    let mut frames = body.into_data_stream();
    let (read, mut write) = tokio::io::split(channel);
    let mut gone = std::pin::pin!(gone(read));
    loop {
        let frame = tokio::select! {
            biased;
            frame = frames.next() => frame,
            gone = &mut gone => return gone,
        };
        match frame {
            Some(Ok(frame)) if frame.is_empty() => (),
            Some(Ok(frame)) if is_chunked => in_time(endless, send_chunk(&mut write, &frame)).await?,
            Some(Ok(frame)) => in_time(endless, send(&mut write, &frame)).await?,
            // The missing last chunk tells the client that the stream broke off.
            Some(Err(error)) => return Err(io::Error::other(error)),
            None => {
                if is_chunked {
                    in_time(endless, send(&mut write, b"0\r\n\r\n")).await?;
                }
                return write.shutdown().await;
            }
        }
    }
}

/// Waits for a write as long as the stream may continue. The server waits for a slow client (contract 9.4).
async fn in_time(endless: &Streaming, write: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    tokio::select! {
        biased;
        written = write => written,
        // Evaluated only while the socket is full.
        () = async { (endless.0)().await } => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Writes bytes to the socket. Without the flush, TLS would keep some of them while the socket is full.
async fn send(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes).await?;
    to.flush().await
}

async fn send_chunk(to: &mut (impl AsyncWrite + Unpin), frame: &[u8]) -> io::Result<()> {
    let size = format!("{:x}\r\n", frame.len());
    let mut parts = [IoSlice::new(size.as_bytes()), IoSlice::new(frame), IoSlice::new(b"\r\n")];
    let mut left = &mut parts[..];
    while !left.is_empty() {
        let written = to.write_vectored(left).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut left, written);
    }
    to.flush().await
}

/// Returns once the client has closed the connection. More requests from the client stay unread.
async fn gone(mut from: impl AsyncRead + Unpin) -> io::Result<()> {
    match from.read(&mut [0; 1]).await? {
        0 => Ok(()),
        _ => std::future::pending().await,
    }
}

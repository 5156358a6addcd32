//! Writes a response without an end straight to the socket, after hyper has released the connection. A quiet stream
//! therefore needs little memory, and a frame for many clients is written from one shared buffer. Must not know the
//! content of the frames.

use std::io::{self, IoSlice};
use std::time::SystemTime;

use axum::http::response::Parts;
use axum::response::Response;
use futures_util::StreamExt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::reply::StreamEnd;

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
pub(super) async fn run(mut socket: TcpStream, answer: Response, endless: Streaming) -> io::Result<()> {
    let ended = write(&mut socket, answer, &endless).await;
    if ended.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
        // The send buffer holds data that the client never reads.
        let _ = socket.set_zero_linger();
    }
    ended
}

async fn write(socket: &mut TcpStream, answer: Response, endless: &Streaming) -> io::Result<()> {
    let (head, body) = answer.into_parts();
    let is_chunked = head.extensions.get::<Unchunked>().is_none();
    let coding = if is_chunked { "transfer-encoding: chunked\r\n" } else { "" };
    in_time(endless, socket.write_all(&head_text(&head, coding))).await?;
    drop(head);
    let mut frames = body.into_data_stream();
    let (read, mut write) = socket.split();
    let mut gone = std::pin::pin!(gone(&read));
    loop {
        let frame = tokio::select! {
            biased;
            frame = frames.next() => frame,
            gone = &mut gone => return gone,
        };
        match frame {
            Some(Ok(frame)) if frame.is_empty() => (),
            Some(Ok(frame)) if is_chunked => in_time(endless, write_chunk(&mut write, &frame)).await?,
            Some(Ok(frame)) => in_time(endless, write.write_all(&frame)).await?,
            // The missing last chunk tells the client that the stream broke off.
            Some(Err(error)) => return Err(io::Error::other(error)),
            None => {
                if is_chunked {
                    in_time(endless, write.write_all(b"0\r\n\r\n")).await?;
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

async fn write_chunk(socket: &mut WriteHalf<'_>, frame: &[u8]) -> io::Result<()> {
    let size = format!("{:x}\r\n", frame.len());
    let mut parts = [IoSlice::new(size.as_bytes()), IoSlice::new(frame), IoSlice::new(b"\r\n")];
    let mut left = &mut parts[..];
    while !left.is_empty() {
        let written = socket.write_vectored(left).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut left, written);
    }
    Ok(())
}

/// Returns once the client has closed the connection. More requests from the client stay unread.
async fn gone(socket: &ReadHalf<'_>) -> io::Result<()> {
    loop {
        socket.readable().await?;
        match socket.try_read(&mut [0; 1]) {
            Ok(0) => return Ok(()),
            Ok(_) => std::future::pending().await,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
            Err(error) => return Err(error),
        }
    }
}

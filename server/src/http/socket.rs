//! The client's end of a connection: a TCP socket that notices a client who does not read, and the same socket under TLS.
//! Must not know HTTP.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;
use tokio_rustls::server::TlsStream;

/// A TCP socket that reports whether its send buffer is full. Fails after a time without progress, because a client that
/// does not read must not occupy a connection forever.
pub(super) struct Socket {
    tcp: TcpStream,
    /// Whether the system accepted fewer bytes than it was given.
    is_full: Arc<AtomicBool>,
    /// Time limit for progress. None: the writer has a limit of its own.
    patience: Option<Duration>,
    /// Runs while the send buffer is full.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Socket {
    /// A socket whose writes fail after `patience` without progress.
    pub(super) fn new(tcp: TcpStream, patience: Duration) -> Socket {
        // Responses and frames are small and complete, so Nagle's algorithm would only delay them.
        let _ = tcp.set_nodelay(true);
        Socket { tcp, is_full: Arc::default(), patience: Some(patience), stalled: None }
    }

    /// The first byte that the client has sent; it stays unread.
    pub(super) async fn peek_byte(&mut self) -> io::Result<u8> {
        let mut first = [0];
        match self.tcp.peek(&mut first).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(first[0]),
        }
    }

    /// Records the result of a write attempt, and fails once the time limit has passed.
    fn record_write(&mut self, written: Poll<io::Result<usize>>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.is_full.store(written.is_pending(), Ordering::Relaxed);
        let Some(patience) = self.patience.filter(|_| written.is_pending()) else {
            self.stalled = None;
            return written;
        };
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// A connection without or with TLS.
pub(super) enum Channel {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

/// The protocol that client and server agreed on in the TLS handshake (ALPN, RFC 7301) for HTTP/2.
pub(super) const HTTP2: &[u8] = b"h2";

impl Channel {
    /// Whether the bytes travel encrypted.
    pub(super) fn is_secure(&self) -> bool {
        matches!(self, Channel::Tls(_))
    }

    /// Whether the client chose HTTP/2 in the handshake.
    pub(super) fn speaks_http2(&self) -> bool {
        matches!(self, Channel::Tls(stream) if stream.get_ref().1.alpn_protocol() == Some(HTTP2))
    }

    /// A flag that is set while written bytes wait for the client to read.
    pub(super) fn full_flag(&mut self) -> Arc<AtomicBool> {
        self.socket().is_full.clone()
    }

    /// Whether the last write waits for the client to read.
    pub(super) fn is_stalled(&mut self) -> bool {
        self.socket().stalled.is_some()
    }

    /// Removes the time limit of writes.
    pub(super) fn wait_for_slow_reader(&mut self) {
        let socket = self.socket();
        (socket.patience, socket.stalled) = (None, None);
    }

    /// Discards bytes that the client has not read when the connection closes. They would stay in the system's buffer.
    pub(super) fn discard_unread(&mut self) {
        let _ = self.socket().tcp.set_zero_linger();
    }

    fn socket(&mut self) -> &mut Socket {
        match self {
            Channel::Plain(socket) => socket,
            Channel::Tls(stream) => stream.get_mut().0,
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, into)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write(cx, bytes);
        self.record_write(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write_vectored(cx, slices);
        self.record_write(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

impl AsyncRead for Channel {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Channel::Plain(socket) => Pin::new(socket).poll_read(cx, into),
            Channel::Tls(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Channel {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut *self {
            Channel::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Channel::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Channel::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, slices),
            Channel::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Channel::Plain(socket) => socket.is_write_vectored(),
            Channel::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Channel::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Channel::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Channel::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Channel::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

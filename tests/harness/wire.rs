//! The least HTTP/1.1 client there can be: one kept-alive connection, one request at a time. For benches, where the
//! client shares the machine with the service. Must not know the API.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One connection.
pub struct Wire {
    socket: TcpStream,
    buffer: Vec<u8>,
}

/// What came back: the status, and how long head and body were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Where the body begins in the bytes that were read.
    pub body_at: usize,
    /// Bytes of head and body.
    pub bytes: usize,
}

impl Wire {
    /// Connects.
    pub async fn connect(address: &str) -> io::Result<Wire> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Wire { socket, buffer: Vec::with_capacity(64 * 1024) })
    }

    /// Sends a finished request and reads its answer, which must have a Content-Length.
    pub async fn ask(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.socket.write_all(request).await?;
        self.buffer.clear();
        loop {
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(answer) = answer(&self.buffer) {
                return Ok(answer);
            }
        }
    }

    /// The body of the last answer.
    pub fn body(&self, answer: Answer) -> &[u8] {
        &self.buffer[answer.body_at..answer.bytes]
    }
}

fn answer(bytes: &[u8]) -> Option<Answer> {
    let body_at = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..body_at]).ok()?;
    let status = head.get(9..12)?.parse().ok()?;
    let length: usize = head.lines().find_map(|line| line.strip_prefix("content-length: "))?.trim().parse().ok()?;
    (bytes.len() >= body_at + length).then_some(Answer { status, body_at, bytes: body_at + length })
}

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
        let mut head = None;
        loop {
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            head = head.or_else(|| answer(&self.buffer));
            if let Some(answer) = head.filter(|answer| self.buffer.len() >= answer.bytes) {
                return Ok(answer);
            }
        }
    }

    /// The last answer, head and body.
    pub fn bytes(&self, answer: Answer) -> &[u8] {
        &self.buffer[..answer.bytes]
    }

    /// The body of the last answer.
    pub fn body(&self, answer: Answer) -> &[u8] {
        &self.buffer[answer.body_at..answer.bytes]
    }

    /// The body of the last answer as text.
    pub fn text(&self, answer: Answer) -> String {
        String::from_utf8_lossy(self.body(answer)).into_owned()
    }
}

/// What a head announces, once it is whole.
fn answer(bytes: &[u8]) -> Option<Answer> {
    const LENGTH: &[u8] = b"content-length: ";
    let body_at = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.trim().parse::<usize>().ok();
    let length = bytes[..body_at].split(|byte| *byte == b'\n').find_map(|line| number(line.strip_prefix(LENGTH)?))?;
    let status = u16::try_from(number(bytes.get(9..12)?)?).ok()?;
    Some(Answer { status, body_at, bytes: body_at + length })
}

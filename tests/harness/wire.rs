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

    /// Sends a finished request and reads its answer. A body in chunks is given as it came, their sizes in between.
    pub async fn ask(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.socket.write_all(request).await?;
        self.buffer.clear();
        let mut head = None;
        loop {
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            head = head.or_else(|| Head::of(&self.buffer));
            if let Some(answer) = head.and_then(|head| head.whole(&self.buffer)) {
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
#[derive(Clone, Copy)]
struct Head {
    status: u16,
    body_at: usize,
    /// Bytes of the body. None: it comes in chunks.
    length: Option<usize>,
}

impl Head {
    fn of(bytes: &[u8]) -> Option<Head> {
        let body_at = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let status = number(bytes.get(9..12)?, 10)?;
        let length = match value(&bytes[..body_at], b"content-length") {
            Some(length) => Some(number(length, 10)?),
            None if value(&bytes[..body_at], b"transfer-encoding").is_some() => None,
            None => Some(0),
        };
        Some(Head { status: u16::try_from(status).ok()?, body_at, length })
    }

    /// The answer, once all of it is there.
    fn whole(self, read: &[u8]) -> Option<Answer> {
        let bytes = match self.length {
            Some(length) => self.body_at + length,
            None => end_of_chunks(read, self.body_at)?,
        };
        (read.len() >= bytes).then_some(Answer { status: self.status, body_at: self.body_at, bytes })
    }
}

/// Where chunks end that begin here, without trailers.
fn end_of_chunks(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let line = bytes.get(at..)?.windows(2).position(|two| two == b"\r\n")?;
        let size = number(&bytes[at..at + line], 16)?;
        at += line + 2 + size + 2;
        if size == 0 {
            return Some(at);
        }
    }
}

/// What a header says.
fn value<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let (before, after) = line.split_at_checked(name.len())?;
        before.eq_ignore_ascii_case(name).then(|| after.strip_prefix(b":"))?
    })
}

fn number(digits: &[u8], radix: u32) -> Option<usize> {
    usize::from_str_radix(std::str::from_utf8(digits).ok()?.trim(), radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Option<usize> {
        Some(Head::of(text.as_bytes())?.whole(text.as_bytes())?.bytes)
    }

    #[test]
    fn response_ends_where_its_head_says() {
        assert_eq!(bytes("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd"), Some(41));
        assert_eq!(bytes("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab"), None);
        assert_eq!(bytes("HTTP/1.1 204 No Content\r\n\r\n"), Some(27));
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        assert_eq!(bytes(chunked), Some(chunked.len()));
        assert_eq!(bytes(&chunked[..chunked.len() - 3]), None);
    }
}

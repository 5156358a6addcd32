//! A minimal HTTP/1.1 client: one kept-alive connection, one request at a time. Benches use it because the client shares
//! the processors with the service. Must not know the API.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection to a service.
pub struct Wire {
    socket: TcpStream,
    buffer: Vec<u8>,
}

/// A response: the status, and where its body lies in the connection's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Offset of the body in the read bytes.
    pub body_at: usize,
    /// Length of head and body in bytes.
    pub bytes: usize,
}

impl Wire {
    /// Connects to `host:port`.
    pub async fn connect(address: &str) -> io::Result<Wire> {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        Ok(Wire { socket, buffer: Vec::with_capacity(64 * 1024) })
    }

    /// Sends an encoded request and reads the response. A chunked body keeps its chunk sizes.
    pub async fn send(&mut self, request: &[u8]) -> io::Result<Response> {
        self.socket.write_all(request).await?;
        self.buffer.clear();
        let mut head = None;
        loop {
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            head = head.or_else(|| Head::parse(&self.buffer));
            if let Some(response) = head.and_then(|head| head.response(&self.buffer)) {
                return Ok(response);
            }
        }
    }

    /// Head and body of the last response.
    pub fn bytes(&self, response: Response) -> &[u8] {
        &self.buffer[..response.bytes]
    }

    /// The body of the last response.
    pub fn body(&self, response: Response) -> &[u8] {
        &self.buffer[response.body_at..response.bytes]
    }

    /// The body of the last response as text.
    pub fn text(&self, response: Response) -> String {
        String::from_utf8_lossy(self.body(response)).into_owned()
    }
}

/// The complete head of a response.
#[derive(Clone, Copy)]
struct Head {
    status: u16,
    body_at: usize,
    /// Length of the body in bytes. None: a chunked body.
    length: Option<usize>,
}

impl Head {
    fn parse(bytes: &[u8]) -> Option<Head> {
        let body_at = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let status = number(bytes.get(9..12)?, 10)?;
        let length = match value(&bytes[..body_at], b"content-length") {
            Some(length) => Some(number(length, 10)?),
            None if value(&bytes[..body_at], b"transfer-encoding").is_some() => None,
            None => Some(0),
        };
        Some(Head { status: u16::try_from(status).ok()?, body_at, length })
    }

    /// The response; None while bytes are missing.
    fn response(self, read: &[u8]) -> Option<Response> {
        let bytes = match self.length {
            Some(length) => self.body_at + length,
            None => end_of_chunks(read, self.body_at)?,
        };
        (read.len() >= bytes).then_some(Response { status: self.status, body_at: self.body_at, bytes })
    }
}

/// The end of chunks that begin at an offset, without trailers. None while bytes are missing.
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

/// The value of a header.
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
        Some(Head::parse(text.as_bytes())?.response(text.as_bytes())?.bytes)
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

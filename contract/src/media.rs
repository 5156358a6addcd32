//! The media type of a file, judged by its bytes alone: what a client says is never trusted. Pure; must not know where the
//! bytes come from.

/// The types that are told apart (contract 21).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    /// A photo as JPEG.
    Jpeg,
    /// A picture as PNG.
    Png,
    /// A picture as WebP.
    Webp,
    /// A picture as GIF.
    Gif,
    /// A document as PDF.
    Pdf,
    /// Text in UTF-8; HTML and SVG are text too, so that no browser runs them.
    Text,
    /// Anything else.
    Other,
}

impl MediaType {
    /// All types.
    pub const ALL: [MediaType; 7] = [
        MediaType::Jpeg,
        MediaType::Png,
        MediaType::Webp,
        MediaType::Gif,
        MediaType::Pdf,
        MediaType::Text,
        MediaType::Other,
    ];

    /// The value of `Content-Type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            MediaType::Jpeg => "image/jpeg",
            MediaType::Png => "image/png",
            MediaType::Webp => "image/webp",
            MediaType::Gif => "image/gif",
            MediaType::Pdf => "application/pdf",
            MediaType::Text => "text/plain; charset=utf-8",
            MediaType::Other => "application/octet-stream",
        }
    }

    /// The type with this text. Another text is [`MediaType::Other`]: the bytes are served as unknown.
    pub fn parse(text: &str) -> MediaType {
        MediaType::ALL.into_iter().find(|media| media.as_str() == text).unwrap_or(MediaType::Other)
    }

    /// Whether a picture can be made smaller.
    pub const fn is_image(self) -> bool {
        matches!(self, MediaType::Jpeg | MediaType::Png | MediaType::Webp | MediaType::Gif)
    }
}

/// Bytes at the beginning that decide about all types but text.
const HEAD_BYTES: usize = 16;
/// Bytes of the longest character in UTF-8.
const CHARACTER_BYTES: usize = 4;

/// Judges a file while its bytes pass by.
#[derive(Default)]
pub struct Sniffer {
    head: Vec<u8>,
    /// The begin of a character that the next bytes continue.
    carry: Vec<u8>,
    has_no_text: bool,
}

impl Sniffer {
    /// Takes the next bytes of the file.
    pub fn push(&mut self, bytes: &[u8]) {
        let missing = HEAD_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..missing]);
        if !self.has_no_text {
            self.push_text(bytes);
        }
    }

    /// The type, after the last bytes.
    pub fn finish(self) -> MediaType {
        let head = &self.head[..];
        let is_webp = head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP");
        if head.starts_with(b"\xff\xd8\xff") {
            MediaType::Jpeg
        } else if head.starts_with(b"\x89PNG\r\n\x1a\n") {
            MediaType::Png
        } else if is_webp {
            MediaType::Webp
        } else if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
            MediaType::Gif
        } else if head.starts_with(b"%PDF-") {
            MediaType::Pdf
        } else if !self.has_no_text && self.carry.is_empty() {
            MediaType::Text
        } else {
            MediaType::Other
        }
    }

    fn push_text(&mut self, mut bytes: &[u8]) {
        // A character that began in the bytes before: one byte after the other until it is whole.
        while !self.carry.is_empty() && !bytes.is_empty() {
            self.carry.push(bytes[0]);
            bytes = &bytes[1..];
            match std::str::from_utf8(&self.carry) {
                Ok(text) => {
                    self.has_no_text |= has_controls(text);
                    self.carry.clear();
                }
                Err(error) if error.error_len().is_some() || self.carry.len() >= CHARACTER_BYTES => {
                    self.has_no_text = true;
                    return;
                }
                Err(_) => {}
            }
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) if error.error_len().is_some() => {
                self.has_no_text = true;
                return;
            }
            Err(error) => {
                let (whole, rest) = bytes.split_at(error.valid_up_to());
                self.carry = rest.to_vec();
                std::str::from_utf8(whole).unwrap_or_default()
            }
        };
        self.has_no_text |= has_controls(text);
    }
}

fn has_controls(text: &str) -> bool {
    text.chars().any(|sign| sign.is_control() && !matches!(sign, '\t' | '\n' | '\x0c' | '\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(bytes: &[u8], piece: usize) -> MediaType {
        let mut sniffer = Sniffer::default();
        bytes.chunks(piece).for_each(|piece| sniffer.push(piece));
        sniffer.finish()
    }

    #[test]
    fn type_comes_from_the_bytes_however_they_are_cut() {
        for (bytes, media) in [
            (&b"\xff\xd8\xff\xe0 a photo"[..], MediaType::Jpeg),
            (b"\x89PNG\r\n\x1a\n....", MediaType::Png),
            (b"RIFF\x10\0\0\0WEBPVP8 ", MediaType::Webp),
            (b"RIFF\x10\0\0\0WAVEfmt ", MediaType::Other),
            (b"GIF89a...", MediaType::Gif),
            (b"%PDF-1.7\n%\xe2\xe3", MediaType::Pdf),
            (b"", MediaType::Text),
            ("Gr\u{fc}\u{df}e \u{1f3e0}\r\n\t\u{c}".as_bytes(), MediaType::Text),
            (b"<html><script>alert(1)</script>", MediaType::Text),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", MediaType::Text),
            (b"a\0b", MediaType::Other),
            (b"\x1b[31m red", MediaType::Other),
            ("a\u{85}b".as_bytes(), MediaType::Other),
            (b"caf\xe9", MediaType::Other),
            (b"cut off \xf0\x9f\x8f", MediaType::Other),
            (b"\xc0\x80", MediaType::Other),
        ] {
            for piece in [1, 2, 3, 1000] {
                assert_eq!(judge(bytes, piece), media, "{bytes:?} in pieces of {piece}");
            }
            assert_eq!(MediaType::parse(media.as_str()), media);
        }
    }
}

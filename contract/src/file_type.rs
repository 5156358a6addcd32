//! The media type of a file, judged by its bytes (contract 21). Must not know where the bytes come from, or names of files.

/// The type of a file that is none of the known types.
pub const UNKNOWN: &str = "application/octet-stream";

/// The type of a file that is text.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// The bytes at the beginning that decide about all types but text.
const HEAD_BYTES: usize = 12;

/// The longest encoding of a character in UTF-8.
const CHARACTER_BYTES_MAX: usize = 4;

/// True for the type of a picture that screens can show.
pub fn is_image(content_type: &str) -> bool {
    content_type.starts_with("image/")
}

/// Judges the type of a file that comes in pieces.
#[derive(Debug, Clone)]
pub struct FileType {
    head: Vec<u8>,
    /// The beginning of a character whose end is in the next piece.
    open_character: Vec<u8>,
    is_text: bool,
}

impl Default for FileType {
    fn default() -> FileType {
        FileType { head: Vec::with_capacity(HEAD_BYTES), open_character: Vec::new(), is_text: true }
    }
}

impl FileType {
    /// Takes the next piece of the file.
    pub fn update(&mut self, piece: &[u8]) {
        let missing = HEAD_BYTES.saturating_sub(self.head.len());
        self.head.extend_from_slice(&piece[..missing.min(piece.len())]);
        if self.is_text {
            self.is_text = self.continues_text(piece);
        }
    }

    /// The media type of the whole file. An empty file is text.
    pub fn finish(self) -> &'static str {
        match self.head.as_slice() {
            [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => "image/png",
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => "image/webp",
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
            [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
            _ if self.is_text && self.open_character.is_empty() => TEXT,
            _ => UNKNOWN,
        }
    }

    /// True while the bytes so far are text, perhaps with an open character at the end.
    fn continues_text(&mut self, piece: &[u8]) -> bool {
        let mut rest = piece;
        while !self.open_character.is_empty() {
            let Some((byte, after)) = rest.split_first() else { return true };
            self.open_character.push(*byte);
            rest = after;
            match std::str::from_utf8(&self.open_character) {
                Ok(text) if has_no_control(text) => self.open_character.clear(),
                Ok(_) => return false,
                Err(error) if error.error_len().is_some() || self.open_character.len() >= CHARACTER_BYTES_MAX => {
                    return false;
                }
                Err(_) => {}
            }
        }
        match std::str::from_utf8(rest) {
            Ok(text) => has_no_control(text),
            Err(error) if error.error_len().is_some() => false,
            Err(error) => {
                let (whole, open) = rest.split_at(error.valid_up_to());
                self.open_character = open.to_vec();
                std::str::from_utf8(whole).is_ok_and(has_no_control)
            }
        }
    }
}

/// True when the text has no control characters, except those of ordinary texts.
fn has_no_control(text: &str) -> bool {
    !text.chars().any(|character| character.is_control() && !matches!(character, '\t' | '\n' | '\x0C' | '\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_of(bytes: &[u8], piece: usize) -> &'static str {
        let mut file_type = FileType::default();
        bytes.chunks(piece).for_each(|piece| file_type.update(piece));
        file_type.finish()
    }

    #[test]
    fn type_follows_bytes_in_any_pieces() {
        let cases: [(&[u8], &str); 14] = [
            (b"\xFF\xD8\xFF\xE0 and more", "image/jpeg"),
            (b"\x89PNG\r\n\x1A\n and more", "image/png"),
            (b"RIFF1234WEBPVP8 ", "image/webp"),
            (b"RIFF1234WAVE", TEXT),
            (b"GIF89a...", "image/gif"),
            (b"%PDF-1.7\n", "application/pdf"),
            ("tea: Käse, 冷蔵庫, 😀\r\n".as_bytes(), TEXT),
            (b"<html><script>alert(1)</script>", TEXT),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", TEXT),
            (b"", TEXT),
            (b"a\0b", UNKNOWN),
            (b"a\x1B[31m", UNKNOWN),
            (b"caf\xE9", UNKNOWN),
            (b"PK\x03\x04", UNKNOWN),
        ];
        for (bytes, expected) in cases {
            for piece in [1, 2, 3, 5, 64] {
                assert_eq!(type_of(bytes, piece), expected, "{bytes:?} in pieces of {piece}");
            }
        }
    }
}

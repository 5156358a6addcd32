//! The name of a file in its home. Must not know where the bytes lie.

use data_encoding::HEXLOWER;

/// Bytes of a SHA-256.
const HASH_BYTES: usize = 32;

/// The SHA-256 of a file: its name in a home. 64 lower-case hexadecimal digits, so the text is safe as a file name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileHash(String);

impl FileHash {
    /// The hash in a text; upper case is folded. None: not 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<FileHash> {
        let is_hash = text.len() == 2 * HASH_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| FileHash(text.to_ascii_lowercase()))
    }

    /// The hash with these bytes.
    pub fn from_bytes(bytes: &[u8; HASH_BYTES]) -> FileHash {
        FileHash(HEXLOWER.encode(bytes))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

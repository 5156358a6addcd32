//! The text form of all cursors: base64url of use, home, content and checksum. The checksum is no secret: it only tells that
//! a text was altered. Pure; must not know what a cursor means.

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Why a text is not accepted as a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorError {
    /// Not a cursor of this service, or altered.
    Altered,
    /// A cursor of another home.
    OtherHome,
    /// A cursor of another list, of the feed, or of another search.
    OtherUse,
}

/// Where a cursor is used: the first byte of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    Feed = 1,
    List = 2,
    Search = 3,
    Exports = 5,
    Files = 6,
    Imports = 7,
    ImportRows = 8,
    Captures = 9,
    Deletions = 10,
}

/// Bytes of the checksum, at the end of a text.
const SUM: usize = 4;
/// Bytes of the home: the end of its id.
const HOME: usize = 8;

/// The text of a cursor whose content is numbers.
pub(super) fn seal_numbers(usage: Usage, home: Uuid, numbers: &[i64]) -> String {
    let mut content = Vec::new();
    for number in numbers {
        push_number(&mut content, *number);
    }
    seal(usage, home, &content)
}

/// The numbers in the text of a cursor.
pub(super) fn unseal_numbers(usage: Usage, text: &str, home: Uuid) -> Result<Vec<i64>, CursorError> {
    let content = unseal(usage, text, home)?;
    let mut rest = &content[..];
    let mut numbers = Vec::new();
    while !rest.is_empty() {
        numbers.push(take_number(&mut rest).ok_or(CursorError::Altered)?);
    }
    Ok(numbers)
}

/// The text of a cursor with this content.
pub(super) fn seal(usage: Usage, home: Uuid, content: &[u8]) -> String {
    let mut bytes = vec![usage as u8];
    bytes.extend_from_slice(&home.as_bytes()[16 - HOME..]);
    bytes.extend_from_slice(content);
    let sum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&sum[..SUM]);
    BASE64URL_NOPAD.encode(&bytes)
}

/// The content in the text of a cursor.
pub(super) fn unseal(usage: Usage, text: &str, home: Uuid) -> Result<Vec<u8>, CursorError> {
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| CursorError::Altered)?;
    let (body, sum) = bytes.split_at_checked(bytes.len().saturating_sub(SUM)).ok_or(CursorError::Altered)?;
    if body.len() <= HOME || Sha256::digest(body)[..SUM] != *sum {
        return Err(CursorError::Altered);
    }
    if body[0] != usage as u8 {
        return Err(CursorError::OtherUse);
    }
    if body[1..=HOME] != home.as_bytes()[16 - HOME..] {
        return Err(CursorError::OtherHome);
    }
    Ok(body[HOME + 1..].to_vec())
}

/// Appends a number with 7 bits per byte, the low bits first, and the sign in the lowest bit (zigzag). Small numbers take
/// few bytes.
pub(super) fn push_number(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// Takes the first number from some bytes. None: the bytes end within the number.
pub(super) fn take_number(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for (index, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            *bytes = &bytes[index + 1..];
            return Some((number >> 1) as i64 ^ -((number & 1) as i64));
        }
    }
    None
}

/// Takes so many bytes from some bytes. None: there are fewer.
pub(super) fn take_bytes<'b>(bytes: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

//! Quoting of texts that a client sent, with a length limit.

use std::borrow::Cow;

/// The most characters of an unknown name in a response.
pub const QUOTED_NAME_MAX: usize = 64;
/// The most characters of a parameter's value in a response: the length limit of a request target.
pub(super) const QUOTED_VALUE_MAX: usize = 8 * 1024;

/// The first `most` characters of a text, followed by `…` if the text is longer.
pub fn shorten(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

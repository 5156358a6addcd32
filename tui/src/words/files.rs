//! Where the bytes of a document's file are, as a sign and words. Must not know screens.

use hearth_replica::FileState;

use crate::words::glyphs::{Sign, Tone};

/// The field that names the file of a document.
pub const FILE: &str = "file_sha256";

/// The sign, the words and the urgency for a file.
pub const fn file_state(state: FileState) -> (Sign, &'static str, Tone) {
    match state {
        FileState::Present => (Sign::FileHere, "here", Tone::Plain),
        FileState::Waiting => (Sign::Waiting, "to send", Tone::Notice),
        FileState::Wanted => (Sign::FileAway, "on server", Tone::Quiet),
        FileState::Missing => (Sign::Fault, "missing", Tone::Alarm),
        FileState::Refused => (Sign::NeedsYou, "refused", Tone::Alarm),
        FileState::Damaged => (Sign::Fault, "damaged", Tone::Alarm),
    }
}

/// The sign and the words for a file, as one text.
pub fn file_text(state: FileState, ascii: bool) -> String {
    let (sign, words, _) = file_state(state);
    format!("{} {words}", sign.text(ascii))
}

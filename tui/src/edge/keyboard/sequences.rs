//! Splits the bytes that a terminal sends into sequences: one for each key, mouse event or pasted text. An escape byte is
//! the Esc key, or the beginning of a sequence. Must not know what a sequence means.

const ESC: u8 = 0x1b;
/// The bytes before and after a pasted text (bracketed paste, xterm).
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// The most bytes of a pasted text; the rest is dropped. No field takes as many.
const PASTE_MAX: usize = 1 << 20;

/// A part of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sequence {
    /// The bytes of one key or mouse event. An escape byte before a key is part of the sequence: Alt with the key, or the
    /// Esc key and the key.
    Event(Vec<u8>),
    /// A pasted text. Bytes that are no UTF-8 are replaced.
    Paste(String),
}

/// The bytes that are not split yet.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    bytes: Vec<u8>,
    /// The beginning of a pasted text whose end has not come.
    paste: Option<Vec<u8>>,
}

/// The length of the first sequence.
enum Length {
    /// This many bytes.
    Is(usize),
    /// Unknown: the rest has not come.
    Open,
}

impl Sequences {
    /// Adds bytes from the terminal.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether the beginning of a sequence waits for its rest. A pasted text may wait for ever.
    pub(super) fn is_open(&self) -> bool {
        self.paste.is_none() && !self.bytes.is_empty()
    }

    /// The next sequence. `is_complete`: no bytes have come for a while, therefore an open sequence is several keys.
    pub(super) fn next(&mut self, is_complete: bool) -> Option<Sequence> {
        loop {
            if let Some(paste) = &mut self.paste {
                let text = take_paste(&mut self.bytes, paste)?;
                self.paste = None;
                return Some(Sequence::Paste(text));
            }
            if self.bytes.starts_with(PASTE_START) {
                self.bytes.drain(..PASTE_START.len());
                self.paste = Some(Vec::new());
                continue;
            }
            let length = match first_length(&self.bytes) {
                Length::Is(length) => length,
                Length::Open if is_complete && !self.bytes.is_empty() => 1,
                Length::Open => return None,
            };
            return Some(Sequence::Event(self.bytes.drain(..length).collect()));
        }
    }
}

/// Moves the pasted bytes out of `bytes`. The text, when its end has come.
fn take_paste(bytes: &mut Vec<u8>, paste: &mut Vec<u8>) -> Option<String> {
    let end = bytes.windows(PASTE_END.len()).position(|part| part == PASTE_END);
    // Without an end, the last bytes may be the beginning of the end.
    let length = end.unwrap_or_else(|| bytes.len().saturating_sub(PASTE_END.len() - 1));
    let room = PASTE_MAX - paste.len();
    paste.extend(bytes.drain(..length).take(room));
    end?;
    bytes.drain(..PASTE_END.len());
    Some(String::from_utf8_lossy(paste).into_owned())
}

fn first_length(bytes: &[u8]) -> Length {
    match bytes {
        [] | [ESC] | [ESC, b'O'] => Length::Open,
        [ESC, b'[', rest @ ..] => csi_length(rest),
        // Arrow keys, home, end and F1 to F4.
        [ESC, b'O', b'A'..=b'D' | b'F' | b'H' | b'P'..=b'S', ..] => Length::Is(3),
        // The Esc key before another sequence.
        [ESC, ESC | b'O', ..] => Length::Is(1),
        [ESC, rest @ ..] => match letter_length(rest) {
            Length::Is(length) => Length::Is(length + 1),
            Length::Open => Length::Open,
        },
        letter => letter_length(letter),
    }
}

/// The length of a control sequence (ECMA-48 5.4) whose first two bytes are followed by `rest`.
fn csi_length(rest: &[u8]) -> Length {
    let needs = |bytes: usize| if rest.len() >= bytes { Length::Is(bytes + 2) } else { Length::Open };
    match rest {
        // F1 to F5 of the Linux console.
        [b'[', ..] => needs(2),
        // A mouse event of a terminal without the newer form.
        [b'M', ..] => needs(4),
        _ => match rest.iter().position(|byte| !(0x20..=0x3f).contains(byte)) {
            None => Length::Open,
            Some(end) if (0x40..=0x7e).contains(&rest[end]) => Length::Is(end + 3),
            // No control sequence: the Esc key and other keys.
            Some(_) => Length::Is(1),
        },
    }
}

/// The length of a letter in UTF-8.
fn letter_length(bytes: &[u8]) -> Length {
    let needed = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => 1,
    };
    let is_letter = |part: &[u8]| part[1..].iter().all(|byte| (0x80..=0xbf).contains(byte));
    match bytes.get(..needed) {
        Some(part) if is_letter(part) => Length::Is(needed),
        None if is_letter(bytes) => Length::Open,
        // A broken letter.
        _ => Length::Is(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sequences of these reads, and of a pause after the last read.
    fn split(reads: &[&[u8]]) -> Vec<Sequence> {
        let mut sequences = Sequences::default();
        let mut found = Vec::new();
        for read in reads {
            sequences.push(read);
            found.extend(std::iter::from_fn(|| sequences.next(false)));
        }
        found.extend(std::iter::from_fn(|| sequences.next(true)));
        assert!(!sequences.is_open());
        found
    }

    fn events(bytes: &[u8]) -> Vec<String> {
        let text = |sequence| match sequence {
            Sequence::Event(bytes) => String::from_utf8_lossy(&bytes).replace('\x1b', "^"),
            Sequence::Paste(text) => format!("paste {text}"),
        };
        split(&[bytes]).into_iter().map(text).collect()
    }

    #[test]
    fn escape_before_a_key_is_found() {
        for (bytes, expected) in [
            ("\x1b", &["^"] as &[&str]),
            ("\x1bj", &["^j"]),
            ("\x1b\r", &["^\r"]),
            ("\x1bö", &["^ö"]),
            ("\x1b\x1b", &["^", "^"]),
            ("\x1b\x1b\x1bj", &["^", "^", "^j"]),
            ("\x1b\x1b[B", &["^", "^[B"]),
            ("\x1b\x1bOB", &["^", "^OB"]),
            ("\x1b[", &["^", "["]),
            ("\x1bO", &["^", "O"]),
            ("\x1bOx", &["^", "O", "x"]),
            ("\x1b[\x1b", &["^", "[", "^"]),
            ("j\x1bkl", &["j", "^k", "l"]),
        ] {
            assert_eq!(events(bytes.as_bytes()), expected, "{bytes:?}");
        }
    }

    #[test]
    fn sequences_of_keys_and_mouse_are_whole() {
        for keys in [
            "\x1b[A|\x1bOB|\x1b[1;5C|\x1b[5~|\x1b[Z|\x1b[15;2~|\x1bOP|\x1b[[A",
            "\x1b[<0;10;5M|\x1b[<0;10;5m|\x1b[M !!|\x1b[64;7u|\x1b[8364;3u|a|é|字|👍|\x03|\x7f",
        ] {
            let expected: Vec<Sequence> = keys.split('|').map(|key| Sequence::Event(key.as_bytes().to_vec())).collect();
            let bytes = keys.replace('|', "").into_bytes();
            assert_eq!(split(&[&bytes]), expected);
            // The same byte by byte.
            let reads: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(split(&reads), expected);
        }
    }

    #[test]
    fn paste_is_one_text() {
        let paste = |text: &str| Sequence::Paste(text.to_owned());
        let bytes = "a\x1b[200~one\ntwo\x1b[3~ö\x1b[201~b".as_bytes();
        let expected = [Sequence::Event(b"a".to_vec()), paste("one\ntwo\x1b[3~ö"), Sequence::Event(b"b".to_vec())];
        assert_eq!(split(&[bytes]), expected);
        let reads: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(split(&reads), expected);
        // A pause does not end a paste.
        let mut sequences = Sequences::default();
        sequences.push(b"\x1b[200~half");
        assert_eq!((sequences.next(true), sequences.is_open()), (None, false));
        sequences.push(b" done\x1b[201~");
        assert_eq!(sequences.next(false), Some(paste("half done")));
        sequences.push(&[PASTE_START, &vec![b'x'; PASTE_MAX + 10], PASTE_END].concat());
        assert!(matches!(sequences.next(false), Some(Sequence::Paste(text)) if text.len() == PASTE_MAX));
    }

    #[test]
    fn broken_letters_do_not_block() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let length = |sequence: &Sequence| match sequence {
            Sequence::Event(bytes) => bytes.len(),
            Sequence::Paste(text) => text.len(),
        };
        assert_eq!(split(&[&bytes]).iter().map(length).sum::<usize>(), bytes.len());
        assert_eq!(split(&[b"\xc3", b"j"]).len(), 2);
    }
}

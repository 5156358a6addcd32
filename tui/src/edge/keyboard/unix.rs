//! The bytes of a Unix terminal as events: keys, mouse events, pasted texts, changes of the size. Must not know what an
//! event means.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crossterm::event::Event;
use filedescriptor::{POLLIN, poll, pollfd};
use signal_hook::SigId;
use signal_hook::consts::SIGWINCH;

use super::sequences::{Sequence, Sequences};
use crate::keys::Keymap;

/// How long the beginning of a sequence waits for its rest. A terminal sends a sequence at once; a slow network may
/// split the bytes. The Esc key alone is delayed by this time.
const REST_WAIT: Duration = Duration::from_millis(30);

/// The bytes of one read.
const READ_BYTES: usize = 4_096;

/// The terminal of the process, as a source of events.
pub(super) struct Terminal {
    input: File,
    resized: UnixStream,
    signal: SigId,
    sequences: Sequences,
    keys: Keymap,
}

impl Terminal {
    pub(super) fn open(keys: Keymap) -> io::Result<Terminal> {
        // The program starts only when its standard input is a terminal.
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let (resized, sender) = UnixStream::pair()?;
        resized.set_nonblocking(true)?;
        sender.set_nonblocking(true)?;
        let signal = signal_hook::low_level::pipe::register(SIGWINCH, sender)?;
        Ok(Terminal { input, resized, signal, sequences: Sequences::default(), keys })
    }

    /// Waits for input, at most this long. Err: the terminal is gone.
    pub(super) fn read(&mut self, limit: Duration) -> io::Result<Vec<Event>> {
        let wait = if self.sequences.is_open() { REST_WAIT } else { limit };
        let source = |fd| pollfd { fd, events: POLLIN, revents: 0 };
        let mut sources = [source(self.input.as_raw_fd()), source(self.resized.as_raw_fd())];
        match poll(&mut sources, Some(wait)) {
            Err(filedescriptor::Error::Poll(error)) if error.kind() == io::ErrorKind::Interrupted => {
                return Ok(Vec::new());
            }
            result => result.map_err(io::Error::other)?,
        };
        let [has_input, is_resized] = sources.map(|source| source.revents != 0);
        let mut events = Vec::new();
        if is_resized {
            let mut signals = [0; 64];
            while self.resized.read(&mut signals).is_ok_and(|length| length == signals.len()) {}
            let (width, height) = crossterm::terminal::size()?;
            events.push(Event::Resize(width, height));
        }
        if has_input {
            let mut bytes = [0; READ_BYTES];
            let length = self.input.read(&mut bytes)?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.sequences.push(&bytes[..length]);
        }
        while let Some(sequence) = self.sequences.next(!has_input && !is_resized) {
            match sequence {
                Sequence::Paste(text) => events.push(Event::Paste(text)),
                Sequence::Event(bytes) => events.extend(decode(&self.keys, &bytes)),
            }
        }
        Ok(events)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.signal);
    }
}

/// The events of one sequence. Empty: the sequence is unknown.
fn decode(keys: &Keymap, bytes: &[u8]) -> Vec<Event> {
    let event = |bytes: &[u8]| {
        let parsed = terminput::Event::parse_from(bytes).ok().flatten();
        parsed.and_then(|event| terminput_crossterm::to_crossterm(event).ok())
    };
    match bytes {
        [0x1b, b'[' | b'O', _, ..] | [0x1b] => event(bytes).into_iter().collect(),
        [0x1b, rest @ ..] => match event(rest) {
            Some(Event::Key(key)) => keys.after_escape(key).into_iter().map(Event::Key).collect(),
            _ => Vec::new(),
        },
        _ => event(bytes).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyCode;

    use super::*;
    use crate::keys::key_name;

    fn names(bytes: &str) -> Vec<String> {
        let mut sequences = Sequences::default();
        sequences.push(bytes.as_bytes());
        let mut names = Vec::new();
        while let Some(sequence) = sequences.next(true) {
            let Sequence::Event(bytes) = sequence else { panic!("{sequence:?}") };
            names.extend(decode(&Keymap::default(), &bytes).into_iter().map(|event| match event {
                Event::Key(key) => key_name(key).unwrap_or_default(),
                other => format!("{other:?}"),
            }));
        }
        names
    }

    #[test]
    fn escape_and_key_in_one_read_are_two_keys() {
        for (bytes, expected) in [
            ("\x1b", &["esc"] as &[&str]),
            ("\x1bj", &["esc", "j"]),
            ("\x1b ", &["esc", "space"]),
            ("\x1b/", &["esc", "/"]),
            ("\x1b?", &["esc", "?"]),
            ("\x1b\r", &["esc", "enter"]),
            ("\x1b\t", &["esc", "tab"]),
            ("\x1b\x13", &["esc", "ctrl-s"]),
            ("\x1b\x1b", &["esc", "esc"]),
            ("\x1b\x1b[B", &["esc", "down"]),
            ("\x1b\x1bOB", &["esc", "down"]),
            ("\x1b\x1b[5~", &["esc", "pageup"]),
            ("\x1b[", &["esc", "["]),
            ("\x1b\x7f", &["alt-backspace"]),
            ("\x1b@", &["alt-@"]),
            ("\x1b€", &["alt-€"]),
            ("\x1b[64;7u", &["ctrl-alt-@"]),
            ("\x1b[1;3D", &["alt-left"]),
            ("\x1b[Z", &["shift-tab"]),
            ("\x1b[27u", &["esc"]),
            ("é字", &["é", "字"]),
            ("\x08\x7f\x1a", &["ctrl-h", "backspace", "ctrl-z"]),
        ] {
            assert_eq!(names(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn mouse_event_is_decoded() {
        let events = decode(&Keymap::default(), b"\x1b[<0;10;5M");
        assert!(matches!(events[..], [Event::Mouse(mouse)] if (mouse.column, mouse.row) == (9, 4)), "{events:?}");
        assert!(decode(&Keymap::default(), b"\x1b[?1;2c").is_empty(), "an answer of the terminal is no key");
        assert!(matches!(decode(&Keymap::default(), b"\x1b")[..], [Event::Key(key)] if key.code == KeyCode::Esc));
    }
}

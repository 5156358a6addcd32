//! The one place that writes: data to stdout, everything else to stderr. Must not know what it writes.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

/// Whether nobody reads the data any more.
static IS_DEAF: AtomicBool = AtomicBool::new(false);

/// Whether somebody may still read the data. What is to be done besides is done all the same.
pub(super) fn is_heard() -> bool {
    !IS_DEAF.load(Ordering::Relaxed)
}

/// Writes a line of data. A reader that has gone away, as `head` does, is no failure.
pub(super) fn line(text: impl Display) -> anyhow::Result<()> {
    match try_line(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            IS_DEAF.store(true, Ordering::Relaxed);
            Ok(())
        }
        result => result.context("what was done could not be told on stdout"),
    }
}

/// Writes a line of data for whoever has more to do than to say it.
pub(super) fn try_line(text: impl Display) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}

/// Says something to the person beside the data.
pub(super) fn note(text: impl Display) {
    // Nobody is left to tell if this fails.
    let _ = writeln!(io::stderr(), "{text}");
}

//! All output of the command line: data to stdout, everything else to stderr. Must not know what the text means.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

/// Whether the reader of stdout has closed the pipe.
static IS_STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether stdout still has a reader. A command completes its work without a reader too.
pub(super) fn has_reader() -> bool {
    !IS_STDOUT_CLOSED.load(Ordering::Relaxed)
}

/// Writes a line of data. A closed pipe, as with `head`, is not an error.
pub(super) fn print_line(text: impl Display) -> anyhow::Result<()> {
    match try_print_line(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            IS_STDOUT_CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        result => result.context("cannot write the result to stdout"),
    }
}

/// Writes a line with the names of columns, and a line for each row. Columns are two spaces apart.
pub(super) fn print_table<const N: usize>(
    names: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> anyhow::Result<()> {
    let lines: Vec<[String; N]> = std::iter::once(names.map(str::to_owned)).chain(rows).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; N] = std::array::from_fn(width);
    lines.iter().try_for_each(|line| {
        let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        print_line(cells.collect::<Vec<_>>().join("  ").trim_end())
    })
}

/// Writes a line of data. For callers that continue after an error.
pub(super) fn try_print_line(text: impl Display) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}

/// Writes a message for a person to stderr.
pub(super) fn print_note(text: impl Display) {
    // An error of stderr cannot be reported anywhere.
    let _ = writeln!(io::stderr(), "{text}");
}

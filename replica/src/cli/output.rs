//! The one place that writes: data to stdout, everything else to stderr. Must not know what it writes.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use hearth_replica::Table;
use serde_json::Value;

use super::failure::Failure;
use super::text::{cell_text, value_text};

/// Whether nobody reads the data any more.
static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether somebody may still read the data. Who has nothing to do but to write it ends where nobody does; whatever else is
/// to be done is done all the same, and its exit code says what came of it.
pub(super) fn is_stdout_open() -> bool {
    !STDOUT_CLOSED.load(Ordering::Relaxed)
}

/// Writes a line of data.
pub(super) fn line(text: &str) -> io::Result<()> {
    ignore_closed_pipe(writeln!(io::stdout(), "{text}"))
}

/// Writes data that is text of its own form.
pub(super) fn raw(text: &[u8]) -> io::Result<()> {
    ignore_closed_pipe(io::stdout().write_all(text))
}

/// What came of writing data. A reader that has gone away, as `head` does, is no failure.
fn ignore_closed_pipe(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => {
            STDOUT_CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        // The error alone would be taken for one of the replica's own disk.
        kind => Err(io::Error::new(kind, format!("what was done could not be told on stdout: {error}"))),
    })
}

/// Says something to the person beside the data.
pub(super) fn message(text: &str) {
    // Nobody is left to tell if this fails.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Says what to type next.
pub(super) fn next_step(command: &str) {
    message(&format!("next: {}", with_home_flags(command)));
}

/// The flags with which this program was called that say which home is meant.
static HOME_FLAGS: OnceLock<String> = OnceLock::new();

/// To be said once, before anything is written.
pub(super) fn set_home_flags(flags: String) {
    let _ = HOME_FLAGS.set(flags);
}

/// A command that somebody is told to type, for the home that this one was for.
pub(super) fn with_home_flags(command: &str) -> String {
    hearth_replica::address::with_home_flags(command, HOME_FLAGS.get().map_or("", String::as_str))
}

/// A path as JSON has it, which knows no bytes that are no text.
pub(super) fn path(path: &Path) -> Value {
    path.to_string_lossy().into()
}

/// Writes JSON, for people with line breaks.
pub(super) fn json(value: &Value) -> io::Result<()> {
    line(&if io::stdout().is_terminal() { format!("{value:#}") } else { value.to_string() })
}

/// Bold text, where a person reads it and wants it so.
pub(super) fn bold(text: &str) -> String {
    if is_styled() { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}

/// A part that matters less, where a person reads it and wants it so.
pub(super) fn dim(text: &str) -> String {
    if is_styled() { format!("\x1b[2m{text}\x1b[0m") } else { text.to_owned() }
}

fn is_styled() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Rows of an answer, each read when it is asked for; the reason where one cannot be read.
pub(super) type Rows<'a> = dyn Iterator<Item = Result<Vec<Value>, Failure>> + 'a;

/// Writes rows as an array of objects, each as it comes.
pub(super) fn objects(columns: &[String], rows: &mut Rows<'_>) -> Result<(), Failure> {
    let is_for_people = io::stdout().is_terminal();
    let mut out = BufWriter::new(io::stdout().lock());
    let mut before = "[";
    let mut failed = None;
    for row in rows {
        let row = match row {
            Ok(row) => row,
            Err(failure) => {
                // What was written stays one document.
                failed = Some(failure);
                break;
            }
        };
        let object = Value::Object(columns.iter().cloned().zip(row).collect());
        ignore_closed_pipe(match is_for_people {
            true => write!(out, "{before}\n  {}", format!("{object:#}").replace('\n', "\n  ")),
            false => write!(out, "{before}{object}"),
        })?;
        before = ",";
        if !is_stdout_open() {
            break;
        }
    }
    let end = match before {
        "[" => "[]",
        _ if is_for_people => "\n]",
        _ => "]",
    };
    ignore_closed_pipe(writeln!(out, "{end}").and_then(|()| out.flush()))?;
    failed.map_or(Ok(()), Err)
}

/// Writes rows as CSV (RFC 4180), each as it comes, with the names of the columns first. Null is an empty field.
pub(super) fn csv(columns: &[String], rows: &mut Rows<'_>) -> Result<(), Failure> {
    let quote = |text: String| match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    };
    let mut out = BufWriter::new(io::stdout().lock());
    ignore_closed_pipe(writeln!(out, "{}", columns.iter().cloned().map(quote).collect::<Vec<_>>().join(",")))?;
    for row in rows {
        ignore_closed_pipe(writeln!(
            out,
            "{}",
            row?.iter().map(|value| quote(value_text(value))).collect::<Vec<_>>().join(",")
        ))?;
        if !is_stdout_open() {
            break;
        }
    }
    Ok(ignore_closed_pipe(out.flush())?)
}

/// Writes rows in columns of equal width. On a terminal the widest columns give way, so that a row is a line.
pub(super) fn table(table: &Table) -> io::Result<()> {
    let cells: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(cell_text).collect()).collect();
    let line_max = io::stdout().is_terminal().then(|| console::Term::stdout().size().1.into());
    let widths = widths(&table.columns, &cells, line_max);
    let join = |row: &[String]| {
        let padded = row.iter().zip(&widths).filter_map(|(cell, wide)| {
            let cell = console::truncate_str(cell, (*wide)?, "…");
            Some(format!("{cell}{}", " ".repeat(wide.unwrap_or_default().saturating_sub(width(&cell)))))
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    line(&bold(&join(&table.columns)))?;
    for row in cells.iter().take_while(|_| is_stdout_open()) {
        line(&join(row))?;
    }
    Ok(())
}

/// How wide each column is, so that a row fits a line of so many; None: it is left out. What has no value in any row goes
/// first; then the widest give way. Ids stay whole, as a part of one names nothing, and so does what is short, as days are.
fn widths(columns: &[String], cells: &[Vec<String>], line: Option<usize>) -> Vec<Option<usize>> {
    let of = |n: usize| cells.iter().map(|row| width(&row[n])).max().unwrap_or(0);
    let mut widths: Vec<Option<usize>> =
        columns.iter().enumerate().map(|(n, name)| Some(of(n).max(width(name)))).collect();
    let Some(line) = line else { return widths };
    let over = |widths: &[Option<usize>]| {
        let gaps = 2 * widths.iter().flatten().count().saturating_sub(1);
        (widths.iter().flatten().sum::<usize>() + gaps).saturating_sub(line)
    };
    for n in (0..columns.len()).rev() {
        if over(&widths) > 0 && !cells.is_empty() && of(n) == 0 {
            widths[n] = None;
        }
    }
    let can_shrink: Vec<bool> = widths
        .iter()
        .zip(columns)
        .map(|(wide, name)| name != "id" && wide.is_some_and(|wide| wide > SHORT_COLUMN))
        .collect();
    while over(&widths) > 0 {
        let shrinking = widths
            .iter_mut()
            .zip(&can_shrink)
            .filter(|(_, can_shrink)| **can_shrink)
            .filter_map(|(wide, _)| wide.as_mut());
        match shrinking.max() {
            Some(widest) if *widest > COLUMN_MIN => *widest -= 1,
            _ => break,
        }
    }
    widths
}

/// Columns are not made narrower than this.
const COLUMN_MIN: usize = 8;
/// A day has so many letters; a column of no more does not give way.
const SHORT_COLUMN: usize = 10;

fn width(text: &str) -> usize {
    console::measure_text_width(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_columns_give_way_but_never_ids_and_days_and_what_is_empty_goes() {
        let columns = ["id", "title", "due", "pending"].map(str::to_owned);
        let row = ["x".repeat(20), "y".repeat(40), "2026-12-01".to_owned(), String::new()];
        let of = |line| widths(&columns, &[row.to_vec()], line);
        assert_eq!(of(None), [Some(20), Some(40), Some(10), Some(7)]);
        assert_eq!(of(Some(83)), [Some(20), Some(40), Some(10), Some(7)]);
        assert_eq!(of(Some(82)), [Some(20), Some(40), Some(10), None]);
        assert_eq!(of(Some(50)), [Some(20), Some(16), Some(10), None]);
        assert_eq!(of(Some(20)), [Some(20), Some(8), Some(10), None]);
    }
}

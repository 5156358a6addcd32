//! The only file that prints: data to stdout, all other text to stderr. Asks the questions of a terminal. Must not know what
//! is printed.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use console::Alignment;
use hearth_contract::printed_text::escape_json;
use serde::Serialize;
use serde_json::Value;

use super::failure::Failure;
use super::text::{cell_text, csv_line, one_line, printed_csv_cell};

/// True after a write to stdout failed because the reader is gone.
static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// False when the reader of stdout is gone. A command that only prints ends then. Other commands finish their work and
/// report it by the exit code.
pub(super) fn is_stdout_open() -> bool {
    !STDOUT_CLOSED.load(Ordering::Relaxed)
}

/// Prints a line of data.
pub(super) fn line(text: &str) -> io::Result<()> {
    ignore_closed_pipe(writeln!(io::stdout(), "{text}"))
}

/// Prints data in a format of its own.
pub(super) fn raw(text: &[u8]) -> io::Result<()> {
    ignore_closed_pipe(io::stdout().write_all(text))
}

/// Treats a closed pipe, as from `head`, as success.
fn ignore_closed_pipe(written: io::Result<()>) -> io::Result<()> {
    written.or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => {
            STDOUT_CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        // Without this text the error would look like an error of the replica's disk.
        kind => Err(io::Error::new(kind, format!("cannot write the result to stdout: {error}"))),
    })
}

/// Prints a message for people to stderr.
pub(super) fn message(text: &str) {
    // There is no other channel to report an error of stderr.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Asks a question on the terminal. True for `y` and `yes`.
pub(super) fn is_confirmed(question: &str) -> io::Result<bool> {
    message(&format!("{question} [y/N]"));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Prints the command to type next.
pub(super) fn next_step(command: &str) {
    message(&format!("next: {}", with_home_flags(command)));
}

/// The `--profile` and `--db` flags of this call.
static HOME_FLAGS: OnceLock<String> = OnceLock::new();

/// Sets the flags once, before the first output.
pub(super) fn set_home_flags(flags: String) {
    let _ = HOME_FLAGS.set(flags);
}

/// A command to type, with the flags of this call, for the same home.
pub(super) fn with_home_flags(command: &str) -> String {
    hearth_replica::address::with_home_flags(command, HOME_FLAGS.get().map_or("", String::as_str))
}

/// A path as a JSON string. Invalid UTF-8 is replaced.
pub(super) fn path(path: &Path) -> Value {
    path.to_string_lossy().into()
}

/// Prints JSON, indented on a terminal. Characters that steer a terminal are escaped.
pub(super) fn json(value: &impl Serialize) -> io::Result<()> {
    line(&json_text(value, io::stdout().is_terminal())?)
}

fn json_text(value: &impl Serialize, is_for_people: bool) -> io::Result<String> {
    let text = if is_for_people { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    Ok(escape_json(&text?).into_owned())
}

/// Shows a picture made of half blocks on stderr: white on black where colours are allowed, so it looks the same on a light
/// and on a dark terminal. Shows nothing where `other_lines` more lines do not fit beside the picture.
pub(super) fn picture(lines: &[String], other_lines: usize) {
    let terminal = console::Term::stderr();
    let (rows, columns) = terminal.size();
    let width = lines.first().map_or(0, |line| line.chars().count());
    if !terminal.is_term() || width > columns.into() || lines.len() + other_lines > rows.into() {
        return;
    }
    for line in lines {
        match wants_colors() {
            true => message(&format!("\x1b[97;40m{line}\x1b[0m")),
            false => message(line),
        }
    }
}

/// Bold text on a terminal, unless NO_COLOR is set.
pub(super) fn bold(text: &str) -> String {
    if is_styled() { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}

/// Dim text on a terminal, unless NO_COLOR is set.
pub(super) fn dim(text: &str) -> String {
    if is_styled() { format!("\x1b[2m{text}\x1b[0m") } else { text.to_owned() }
}

fn is_styled() -> bool {
    io::stdout().is_terminal() && wants_colors()
}

fn wants_colors() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The rows of a query, read one by one. An error ends the rows.
pub(super) type Rows<'a> = dyn Iterator<Item = Result<Vec<Value>, Failure>> + 'a;

/// Writes rows as a JSON array of objects, one row at a time.
pub(super) fn objects(columns: &[String], rows: &mut Rows<'_>) -> Result<(), Failure> {
    let is_for_people = io::stdout().is_terminal();
    let mut out = BufWriter::new(io::stdout().lock());
    let mut before = "[";
    let mut failed = None;
    for row in rows {
        let row = match row {
            Ok(row) => row,
            Err(failure) => {
                // The array is closed after an error too, so the output stays valid JSON.
                failed = Some(failure);
                break;
            }
        };
        let object = Value::Object(columns.iter().cloned().zip(row).collect());
        let text = json_text(&object, is_for_people)?;
        ignore_closed_pipe(match is_for_people {
            true => write!(out, "{before}\n  {}", text.replace('\n', "\n  ")),
            false => write!(out, "{before}{text}"),
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

/// Writes rows as CSV (RFC 4180) with a header line, one row at a time. Null is an empty field. Cells and names are safe in a
/// terminal and in a spreadsheet.
pub(super) fn csv(columns: &[String], rows: &mut Rows<'_>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    ignore_closed_pipe(writeln!(
        out,
        "{}",
        csv_line(columns.iter().map(|name| printed_csv_cell(&name.as_str().into())))
    ))?;
    for row in rows {
        ignore_closed_pipe(writeln!(out, "{}", csv_line(row?.iter().map(printed_csv_cell))))?;
        if !is_stdout_open() {
            break;
        }
    }
    Ok(ignore_closed_pipe(out.flush())?)
}

/// Prints a list as JSON, or as a table for people. `none`: the message instead of a table without rows. `cells`: the cells of a
/// row, a JSON array. Returns true when people see rows.
pub(super) fn list<T: Serialize>(
    as_json: bool,
    items: &[T],
    none: Option<&str>,
    columns: &[&str],
    mut cells: impl FnMut(&T) -> Value,
) -> io::Result<bool> {
    if as_json {
        json(&items)?;
    } else if let Some(none) = none.filter(|_| items.is_empty()) {
        message(none);
    } else {
        let row = |item| match cells(item) {
            Value::Array(cells) => cells,
            cell => vec![cell],
        };
        table(columns, items.iter().map(row))?;
    }
    Ok(!as_json && !items.is_empty())
}

/// Writes rows as a table. On a terminal the widest columns shrink, so a row fits one line.
pub(super) fn table(columns: &[impl AsRef<str>], rows: impl IntoIterator<Item = Vec<Value>>) -> io::Result<()> {
    let names: Vec<String> = columns.iter().map(|name| one_line(name.as_ref())).collect();
    let cells: Vec<Vec<String>> = rows.into_iter().map(|row| row.iter().map(cell_text).collect()).collect();
    let line_max = io::stdout().is_terminal().then(|| console::Term::stdout().size().1.into());
    let widths = widths(&names, &cells, line_max);
    let join = |row: &[String]| {
        let padded = row
            .iter()
            .zip(&widths)
            .filter_map(|(cell, width)| Some(console::pad_str(cell, (*width)?, Alignment::Left, Some("…"))));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    line(&bold(&join(&names)))?;
    for row in cells.iter().take_while(|_| is_stdout_open()) {
        line(&join(row))?;
    }
    Ok(())
}

/// The width of each column for a line of `line` characters. None: the column is left out. Empty columns go first, then
/// the widest columns shrink. Ids stay whole, because a part of an id names nothing; short columns such as dates stay
/// whole too.
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

/// The minimum width of a shrunk column.
const COLUMN_MIN: usize = 8;
/// The width of a date. A column of this width does not shrink.
const SHORT_COLUMN: usize = 10;

fn width(text: &str) -> usize {
    console::measure_text_width(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_columns_shrink_ids_and_dates_stay() {
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

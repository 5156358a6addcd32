//! A table in CSV (RFC 4180, with `,` `;` or tab). Must not know fields.
//!
//! The library gives the same empty text for an empty cell and for `""`, and passes over empty lines. The contract tells the two
//! cells apart, and refusals name rows as spreadsheets count them. So a first pass marks both with characters that no text has.

use std::iter::Peekable;
use std::str::Chars;

use hearth_contract::schema::Kind;
use hearth_contract::typed_text;

use super::error::{Cause, ImportError};
use super::options::Delimiter;
use super::table::{Cell, Table, TableRow, check_columns, check_size};

/// Stands for `""`, an empty text. Unicode reserves the character for such use inside a program.
const EMPTY_TEXT: char = '\u{fdd0}';
/// Stands for a line without any character.
const EMPTY_LINE: char = '\u{fdd1}';
/// A first line of Excel that states the delimiter: `sep=;`.
const SEPARATOR_LINE: &str = "sep=";

/// Parses a table. Error: no heading, too many rows or columns, a quote that has no end.
pub(super) fn table(text: &str, stated: Option<Delimiter>, kind: Option<Kind>) -> Result<Table, ImportError> {
    let (separator, body) = separator_line(text);
    let delimiter = stated.or(separator).unwrap_or_else(|| detect(body));
    // The line that states the delimiter is row 1 too.
    let first = 1 + u32::from(separator.is_some());
    let marked = mark(body, char::from(delimiter.byte()), first)?;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter.byte())
        .from_reader(marked.as_bytes());
    let mut columns: Option<Vec<String>> = None;
    let mut rows = Vec::new();
    for (number, record) in (first..).zip(reader.records()) {
        let record = record.map_err(|error| ImportError::new(Cause::Form, format!("The file is no CSV: {error}.")))?;
        let mut cells: Vec<Cell> = record.iter().map(cell).collect();
        if cells.iter().all(|cell| *cell == Cell::Null) {
            continue;
        }
        let Some(columns) = &columns else {
            // Spreadsheets write empty columns at the end.
            let mut names: Vec<String> = record.iter().map(|name| name.trim().replace(EMPTY_TEXT, "")).collect();
            while names.last().is_some_and(String::is_empty) {
                names.pop();
            }
            check_columns(&names)?;
            columns = Some(names);
            continue;
        };
        let surplus = cells.iter().skip(columns.len()).filter_map(Cell::text).find(|text| !text.is_empty());
        cells.resize(columns.len(), Cell::Absent);
        rows.push(TableRow { number, cells, surplus });
        check_size(rows.len(), columns.len())?;
    }
    let columns = columns.unwrap_or_default();
    check_columns(&columns)?;
    Ok(Table { kind, is_export: false, columns, rows })
}

fn cell(text: &str) -> Cell {
    if text.is_empty() || text.starts_with(EMPTY_LINE) {
        Cell::Null
    } else if text.starts_with(EMPTY_TEXT) {
        Cell::Text(String::new())
    } else {
        Cell::Text(typed_text::from_csv_text(text).to_owned())
    }
}

/// The delimiter that the first line states, and the text behind that line.
fn separator_line(text: &str) -> (Option<Delimiter>, &str) {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    match first.trim_end_matches('\r').strip_prefix(SEPARATOR_LINE).map(Delimiter::parse) {
        Some(Ok(delimiter)) => (Some(delimiter), rest),
        _ => (None, text),
    }
}

/// The delimiter that is most frequent in the heading, outside of quotes.
fn detect(text: &str) -> Delimiter {
    let (mut counts, mut quoted) = ([0_usize; Delimiter::ALL.len()], false);
    for letter in text.trim_start().chars() {
        match letter {
            '"' => quoted = !quoted,
            '\n' | '\r' if !quoted => break,
            letter if !quoted => {
                if let Some(at) = Delimiter::ALL.iter().position(|known| char::from(known.byte()) == letter) {
                    counts[at] += 1;
                }
            }
            _ => (),
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    counts.iter().position(|count| *count == most).map_or(Delimiter::Comma, |at| Delimiter::ALL[at])
}

/// The text with marks for `""` and for empty lines. The marks themselves are removed from the text first. `row`: the number of
/// the first row. Error: a quote is not closed where its cell ends, so the cell would swallow the rows behind it.
fn mark(text: &str, delimiter: char, mut row: u32) -> Result<String, ImportError> {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let (mut quoted, mut at_cell, mut at_line) = (false, true, true);
    let mut quoted_from = row;
    while let Some(letter) = letters.next() {
        match letter {
            EMPTY_TEXT | EMPTY_LINE => continue,
            '"' if quoted => {
                out.push('"');
                if letters.next_if_eq(&'"').is_some() {
                    out.push('"');
                } else {
                    quoted = false;
                    let is_end = letters.peek().is_none_or(|next| [delimiter, '\n', '\r'].contains(next));
                    if !is_end {
                        return Err(open_quote(quoted_from));
                    }
                }
            }
            _ if quoted => out.push(letter),
            '"' if at_cell && is_empty_text(&mut letters, delimiter) => {
                letters.next();
                out.push(EMPTY_TEXT);
            }
            '"' if at_cell => {
                (quoted, quoted_from) = (true, row);
                out.push('"');
            }
            '\n' | '\r' => {
                if letter == '\r' {
                    letters.next_if_eq(&'\n');
                }
                if at_line {
                    out.push(EMPTY_LINE);
                }
                out.push('\n');
                row += 1;
                (at_cell, at_line) = (true, true);
                continue;
            }
            _ => out.push(letter),
        }
        (at_cell, at_line) = (letter == delimiter && !quoted, false);
    }
    if quoted { Err(open_quote(quoted_from)) } else { Ok(out) }
}

fn open_quote(row: u32) -> ImportError {
    let message = format!("Row {row} has a cell that begins with a quote and does not end with one.");
    let advice = "Close it, or write a quote inside of a quoted cell twice.";
    ImportError::new(Cause::Form, format!("{message} {advice}"))
}

/// Whether the quote that was just read is the first of `""` and nothing else is in the cell.
fn is_empty_text(letters: &mut Peekable<Chars<'_>>, delimiter: char) -> bool {
    let mut ahead = letters.clone();
    ahead.next() == Some('"') && ahead.next().is_none_or(|next| next == delimiter || next == '\n' || next == '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<(u32, Vec<Option<String>>)> {
        let table = table(text, None, None).expect("a table");
        table.rows.into_iter().map(|row| (row.number, row.cells.iter().map(Cell::text).collect())).collect()
    }

    fn texts(cells: &[&str]) -> Vec<Option<String>> {
        cells.iter().map(|cell| Some((*cell).to_owned())).collect()
    }

    #[test]
    fn delimiters_are_detected() {
        for text in ["a,b\n1,\"2,3\"\n", "a;b\r\n1;\"2,3\"\r\n", "a\tb\n1\t2,3\n", "sep=;\na;b\n1;2,3\n", "a;b\r1;2,3"]
        {
            let number = if text.starts_with("sep") { 3 } else { 2 };
            assert_eq!(rows(text), [(number, texts(&["1", "2,3"]))], "{text}");
        }
    }

    #[test]
    fn empty_cell_is_not_empty_text() {
        assert_eq!(rows("a,b,c\n,\"\",x\n"), [(2, vec![None, Some(String::new()), Some("x".to_owned())])]);
        assert_eq!(rows("a,b\n\"\",\"\"\"q\"\"\"\n"), [(2, texts(&["", "\"q\""]))]);
    }

    #[test]
    fn rows_count_as_in_spreadsheets() {
        assert_eq!(rows("a,b\n1,\"x\ny\"\n\n,\n2,3\n"), [(2, texts(&["1", "x\ny"])), (5, texts(&["2", "3"]))]);
    }

    #[test]
    fn open_quote_is_refused_with_its_row() {
        let message = |text: &str| table(text, None, None).map_err(|error| error.message).expect_err("an open quote");
        for text in ["a,b\n1,\"x\n2,3\n4,5\n", "a,b\n1,\"x\n2,\"y\n", "a,b\n1,\"27\" monitor\"\n", "a,b\n1,\""] {
            assert!(message(text).starts_with("Row 2 has a cell that begins with a quote"), "{text}");
        }
        assert!(message("a,b\n1,\"x\ny\"\n\n,\"z\n").starts_with("Row 4 "));
        assert_eq!(rows("a,b\n1,27\" monitor\n"), [(2, texts(&["1", "27\" monitor"]))]);
    }

    #[test]
    fn heading_must_name_columns() {
        let cause = |text: &str| table(text, None, None).map(|table| table.columns).map_err(|error| error.cause);
        assert_eq!(cause(""), Err(Cause::Columns));
        assert_eq!(cause("a,b,,\n"), Ok(vec!["a".to_owned(), "b".to_owned()]));
    }
}

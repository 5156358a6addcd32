//! A table as it stands in a file: columns, and rows with their numbers. Must not know fields.

use hearth_contract::schema::Kind;
use serde_json::Value;

use super::error::{Cause, ImportError};
use super::limits::{CELLS_MAX, COLUMNS_MAX, ROWS_MAX};

/// The content of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    /// The row has no such cell.
    Absent,
    /// An empty cell, or JSON's null.
    Null,
    /// A text; empty if the cell is `""`.
    Text(String),
    /// A number, a truth value, an array or an object of JSON.
    Json(Value),
}

impl Cell {
    /// The text of the cell, for refusals. None: there is none.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Cell::Absent | Cell::Null => None,
            Cell::Text(text) => Some(text.clone()),
            Cell::Json(value) => Some(value.to_string()),
        }
    }
}

/// A row of a table.
#[derive(Debug, Clone)]
pub(super) struct TableRow {
    /// The number as spreadsheets count: the heading is row 1.
    pub(super) number: u32,
    /// As many cells as the table has columns.
    pub(super) cells: Vec<Cell>,
    /// A cell behind the last column, which has no heading.
    pub(super) surplus: Option<String>,
}

/// The rows of one kind.
#[derive(Debug, Clone)]
pub(super) struct Table {
    /// The kind, where the file or the caller states it.
    pub(super) kind: Option<Kind>,
    /// Whether the file is an export of a home.
    pub(super) is_export: bool,
    /// The headings as written, without white space at the ends.
    pub(super) columns: Vec<String>,
    /// The rows that are not empty.
    pub(super) rows: Vec<TableRow>,
}

/// Checks a heading: not empty, not too long.
pub(super) fn check_columns(columns: &[String]) -> Result<(), ImportError> {
    let refuse = |cause, message| Err(ImportError::new(cause, message));
    if columns.iter().all(String::is_empty) {
        return refuse(Cause::Columns, "The file has no heading: row 1 must have the names of the columns.".to_owned());
    }
    if columns.len() > COLUMNS_MAX {
        let message = format!("The table has {} columns; an import takes at most {COLUMNS_MAX}.", columns.len());
        return refuse(Cause::Limit, message);
    }
    Ok(())
}

/// Error: a table of this size takes too much memory.
pub(super) fn check_size(rows: usize, columns: usize) -> Result<(), ImportError> {
    let message = if rows > ROWS_MAX {
        format!("The file has more than {ROWS_MAX} rows, the most of an import. Split the file.")
    } else if rows.saturating_mul(columns) > CELLS_MAX {
        format!(
            "The file has more than {CELLS_MAX} cells, the most of an import. Split the file, or leave out columns."
        )
    } else {
        return Ok(());
    };
    Err(ImportError::new(Cause::Limit, message))
}

//! From the bytes of a file to the changes of records (contract 23). Must not know where records are stored. Read in this order:
//!
//! - [`options`]: what a person may state about a file. [`locale`]: decimal mark and order of dates.
//! - `encoding`, `archive`, `csv_table`, `json_table`: bytes become `table`s, one for each kind.
//! - `columns`: which column is which `target`, such as a field; `homebox`, `grocy`, `snipe_it`: the columns of other programs.
//! - `numbers`, `dates`, `values`: cells become values of the contract. [`fault`]: why a row is refused.
//! - [`draft`]: the rows with their values. [`existing`]: the records of the home that the rows mean.
//! - `planner`: which record each row means, and what the row changes. [`plan`]: the result.
//!
//! The caller calls [`read`], offers the records of the home to [`Existing`], calls [`Draft::plan`], and applies the plan.

mod archive;
mod columns;
mod csv_table;
mod dates;
pub mod draft;
mod encoding;
mod error;
pub mod existing;
pub mod fault;
mod grocy;
mod homebox;
mod json_table;
mod keys;
mod limits;
pub mod locale;
mod notes;
mod numbers;
pub mod options;
pub mod plan;
mod planner;
mod snipe_it;
mod table;
mod target;
mod values;

#[cfg(test)]
mod tests;

use hearth_contract::schema::Kind;

pub use draft::Draft;
pub use error::{Cause, ImportError};
pub use existing::Existing;
pub use fault::{RowCode, RowFault};
pub use limits::{COLUMNS_MAX, ROWS_MAX};
pub use options::{Delimiter, Form, Options};
pub use plan::{Action, Counts, Plan, PlannedRow};

/// The kinds in the order in which they are written: a record comes after the records to which it refers.
pub const WRITE_ORDER: [Kind; 6] =
    [Kind::Room, Kind::Inventory, Kind::Vehicle, Kind::Document, Kind::Task, Kind::Property];

/// Reads a file: its form, its columns and its values. Error: nothing of the file can be used. A fault of one row is part of
/// the draft.
pub fn read(bytes: &[u8], options: &Options) -> Result<Draft, ImportError> {
    let mut tables = match options.form.unwrap_or_else(|| Form::of(bytes)) {
        Form::Zip => archive::tables(bytes, options)?,
        Form::Json => json_table::tables(&encoding::decode(bytes, options.encoding)?, options.kind)?,
        Form::Csv => {
            let text = encoding::decode(bytes, options.encoding)?;
            vec![csv_table::table(&text, options.delimiter, options.kind)?]
        }
    };
    let rows: usize = tables.iter().map(|table| table.rows.len()).sum();
    if rows > ROWS_MAX {
        return Err(ImportError::new(
            Cause::Limit,
            format!("The file has {rows} rows; an import takes at most {ROWS_MAX}. Split the file."),
        ));
    }
    let place = |kind: Option<Kind>| WRITE_ORDER.iter().position(|known| Some(*known) == kind);
    tables.sort_by_key(|table| place(table.kind));
    Draft::of(tables, options)
}

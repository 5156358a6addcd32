//! The tables of a zip: an export of a home in CSV. Must not know fields. Sizes are counted while unpacking, because a zip may
//! state wrong ones.

use std::io::{Cursor, Read};

use hearth_contract::schema::Kind;
use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

use super::error::{Cause, ImportError};
use super::options::Options;
use super::table::Table;
use super::{csv_table, encoding};

/// The most files in a zip: an export has six.
const ENTRIES_MAX: usize = 100;
/// The most bytes of all unpacked files, unless the caller says less.
const UNPACKED_MAX: u64 = 256 * 1024 * 1024;
/// The most unpacked bytes for each byte of the zip. Tables reach about 30.
const RATIO_MAX: u64 = 200;
/// A file that only spreadsheets of Excel contain.
const EXCEL_ENTRY: &str = "xl/workbook.xml";

/// Unpacks the tables of the kinds: `rooms.csv`, `inventory.csv` and so on. Other files are passed over.
pub(super) fn tables(bytes: &[u8], options: &Options) -> Result<Vec<Table>, ImportError> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| broken(&error))?;
    if zip.len() > ENTRIES_MAX {
        let message = format!("The zip has {} files; an import takes at most {ENTRIES_MAX}.", zip.len());
        return Err(ImportError::new(Cause::Limit, message));
    }
    if zip.file_names().any(|name| name.is_ok_and(|name| name == EXCEL_ENTRY)) {
        let message = "The file is a spreadsheet of Excel. Save it as CSV UTF-8, and import that file.";
        return Err(ImportError::new(Cause::Form, message));
    }
    let by_ratio = (bytes.len() as u64).saturating_mul(RATIO_MAX);
    let mut left = options.unpacked_max.unwrap_or(UNPACKED_MAX).min(by_ratio);
    let mut tables = Vec::new();
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|error| broken(&error))?;
        let Some(kind) = kind_of(&entry) else { continue };
        if options.kind.is_some_and(|only| only != kind) {
            continue;
        }
        let mut content = Vec::new();
        entry.by_ref().take(left + 1).read_to_end(&mut content).map_err(|error| broken(&ZipError::Io(error)))?;
        left = left.checked_sub(content.len() as u64).ok_or_else(|| {
            ImportError::new(Cause::Limit, "The unpacked files of the zip are too large for an import. Split them.")
        })?;
        if content.is_empty() {
            continue;
        }
        let text = encoding::decode(&content, options.encoding)?;
        let table = csv_table::table(&text, options.delimiter, Some(kind)).map_err(|error| ImportError {
            message: format!("{}.csv: {}", kind.collection(), error.message),
            ..error
        })?;
        tables.push(Table { is_export: true, ..table });
    }
    if tables.is_empty() {
        let message = "The zip has no table: an export has files such as inventory.csv and rooms.csv.";
        return Err(ImportError::new(Cause::Form, message));
    }
    Ok(tables)
}

/// The kind of the records of a file: `rooms.csv` has rooms. None: another file.
fn kind_of<R: Read>(entry: &ZipFile<'_, R>) -> Option<Kind> {
    entry.name().ok()?.strip_suffix(".csv").and_then(Kind::from_collection)
}

fn broken(error: &ZipError) -> ImportError {
    ImportError::new(Cause::Form, format!("The zip cannot be read: {error}. Make it again."))
}

//! Creates the file of an export, and reads the records for it page by page. Must not know a format.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use hearth_contract::schema::Kind;
use hearth_exchange::report::RECORDS_MAX;
use hearth_replica::doctor::{Cause, diagnose, directory, shell_quoted};
use hearth_replica::{Near, Replica, Row, RowQuery, Sort, StoreError};

use super::super::failure::{Exit, Failure};

/// Records read at once.
const PAGE_RECORDS: usize = 500;

/// Why a file of records was not written.
pub(super) enum ExportError {
    Store(StoreError),
    File(io::Error),
    /// The home has more records than a report may have.
    ReportTooLarge,
}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> ExportError {
        ExportError::Store(error)
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> ExportError {
        ExportError::File(error)
    }
}

impl ExportError {
    pub(super) fn explained(self, db: &Path, file: &Path) -> Failure {
        match self {
            ExportError::Store(error) => explain(db, file, error),
            ExportError::ReportTooLarge => {
                let text =
                    format!("the home has more than {RECORDS_MAX} records, and a report would open in no browser");
                Failure::new(Exit::Failure, text).hint("hearth-replica export inventory.csv --names")
            }
            ExportError::File(error) => explain(db, file, StoreError::File(file.to_owned(), error)),
        }
    }
}

/// The failure for an error of the new file, or of the replica.
pub(super) fn explain(db: &Path, file: &Path, error: StoreError) -> Failure {
    match diagnose(db, &error).cause {
        // These errors concern the new file, not the replica.
        cause @ (Cause::NoAccess | Cause::Other | Cause::DiskFull | Cause::DiskUnwritable) => {
            let text = format!("{} cannot be written: {error}", file.display());
            let look = if matches!(cause, Cause::DiskFull | Cause::DiskUnwritable) { "df -h" } else { "ls -ld" };
            Failure::new(Exit::Failure, text).hint(format!("{look} {}", shell_quoted(directory(file))))
        }
        _ => error.into(),
    }
}

/// Writes a new file for this user alone. The file appears under its name when it is complete.
pub(super) fn write_new_file<T>(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, ExportError>,
) -> Result<T, ExportError> {
    let mut part = file.as_os_str().to_owned();
    // A random name, because a plain name may belong to a file of a person.
    part.push(format!(".{}.part", uuid::Uuid::new_v4().simple()));
    let part = PathBuf::from(part);
    let written = fill(&part, write).and_then(|value| Ok(fs::rename(&part, file).map(|()| value)?));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

fn fill<T>(part: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T, ExportError>) -> Result<T, ExportError> {
    let mut out = BufWriter::new(private_file(part)?);
    let value = write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(value)
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Calls `each` with every record of a kind, in an order, one page in memory at a time. Returns the number of records.
pub(super) fn each_row(
    replica: &Replica,
    kind: Kind,
    column: &'static str,
    mut each: impl FnMut(&Row) -> Result<(), ExportError>,
) -> Result<usize, ExportError> {
    let mut query = RowQuery::all(kind, Sort { column, descending: false }, PAGE_RECORDS);
    loop {
        let page = replica.rows(&query)?;
        for row in &page.rows {
            each(row)?;
        }
        query.offset += page.rows.len();
        let Some(last) = page.rows.last().filter(|_| query.offset < page.total) else { return Ok(query.offset) };
        query.near = Some(Near { id: last.id.clone(), number: query.offset - 1 });
    }
}

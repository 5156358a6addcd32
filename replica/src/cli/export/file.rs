//! Creates the file of an export. Must not know a format.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use hearth_contract::schema::Kind;
use hearth_exchange::report::RECORDS_MAX;
use hearth_replica::doctor::{Cause, diagnose, directory, shell_quoted};
use hearth_replica::{PAGE_ROWS, RowQuery, Sort, StoreError, new_private_file};

use super::super::failure::{Exit, Failure};

/// Why a file of records was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    File(#[from] io::Error),
    #[error("the home has more than {RECORDS_MAX} records, and a report would open in no browser")]
    ReportTooLarge,
}

impl ExportError {
    pub(super) fn explained(self, db: &Path, file: &Path) -> Failure {
        match self {
            ExportError::Store(error) => explain(db, file, error),
            ExportError::ReportTooLarge => {
                Failure::new(Exit::Failure, self.to_string()).hint("hearth-replica export inventory.csv --names")
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
    let mut out = BufWriter::new(new_private_file(part)?);
    let value = write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    Ok(value)
}

/// All records of a kind, in the order of a file: the oldest comes first.
pub(super) fn oldest_first(kind: Kind) -> RowQuery {
    RowQuery::all(kind, Sort { column: "created_at", descending: false }, PAGE_ROWS)
}

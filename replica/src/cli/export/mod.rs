//! `export`: writes the home to one file, in the format that the file's name ends with. Must not change the original.

mod copy;
mod report;
mod tables;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use hearth_contract::schema::Kind;
use hearth_replica::doctor::{Cause, diagnose, directory, shell_quoted};
use hearth_replica::{Near, Replica, Row, RowQuery, Sort, StoreError};
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::values::kind_parser;
use super::{output, text};

/// Records read at once.
const PAGE_RECORDS: usize = 500;

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// Path of the file, which must not exist: .db for a copy of the database with its pending edits, .json for all records, .csv
    /// for one kind, .html for a report of all things with their values
    file: PathBuf,
    /// The kind of the records in a CSV file [default: the kind that the file is named after, else inventory]
    #[arg(long, value_parser = kind_parser())]
    kind: Option<Kind>,
}

/// What the name of a file asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Copy,
    Json,
    Csv(Kind),
    Report,
}

impl Export {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let format = self.format()?;
        let replica = context.open_existing()?;
        if self.file.exists() {
            return Err(Failure::new(Exit::Failure, format!("{} exists already", self.file.display()))
                .hint("hearth-replica export with another name"));
        }
        if format == Format::Copy {
            return copy::write(context, &replica, &self.file);
        }
        let records = write_new_file(&self.file, |out| {
            // All pages of all kinds belong to one moment.
            replica.in_snapshot(|replica| match format {
                Format::Csv(kind) => tables::write_csv(replica, kind, out),
                Format::Report => report::write(replica, out),
                Format::Copy | Format::Json => tables::write_json(replica, out),
            })
        })
        .map_err(|failure| failure.explained(&context.profile.db, &self.file))?;
        output::message(&text::count(records as i64, "record"));
        if context.json {
            return Ok(output::json(&json!({ "file": output::path(&self.file), "records": records }))?);
        }
        Ok(output::line(&self.file.display().to_string())?)
    }

    fn format(&self) -> Result<Format, Failure> {
        let part =
            |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).unwrap_or_default().to_lowercase();
        let named_after = || {
            let stem = part(self.file.file_stem());
            Kind::from_collection(&stem).or_else(|| Kind::parse(&stem)).unwrap_or(Kind::Inventory)
        };
        let format = match part(self.file.extension()).as_str() {
            "db" | "sqlite" | "sqlite3" => Format::Copy,
            "json" => Format::Json,
            "csv" => Format::Csv(self.kind.unwrap_or_else(named_after)),
            "html" | "htm" => Format::Report,
            _ => {
                let text = format!("{}: the name must end with .db, .json, .csv or .html", self.file.display());
                return Err(Failure::new(Exit::Usage, text).hint("hearth-replica export home.json"));
            }
        };
        if self.kind.is_some() && !matches!(format, Format::Csv(_)) {
            return Err(Failure::new(Exit::Usage, "--kind is for CSV files, which hold one kind")
                .hint("hearth-replica export inventory.csv"));
        }
        Ok(format)
    }
}

/// Why a file of records was not written.
enum ExportError {
    Store(StoreError),
    File(io::Error),
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
    fn explained(self, db: &Path, file: &Path) -> Failure {
        match self {
            ExportError::Store(error) => explain(db, file, error),
            ExportError::File(error) => explain(db, file, StoreError::File(file.to_owned(), error)),
        }
    }
}

/// The failure for an error of the new file, or of the replica.
fn explain(db: &Path, file: &Path, error: StoreError) -> Failure {
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
fn write_new_file<T>(
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
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Calls `each` with every record of a kind, in an order, one page in memory at a time. Returns the number of records.
fn each_row(
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

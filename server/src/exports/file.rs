//! Writes the file of an export: all records at one position, in JSON, CSV or SQLite (contract 16). Holds one page of
//! records in memory. Must not know when a job runs, nor where its result is stored.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use data_encoding::HEXLOWER;
use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use hearth_contract::typed_text;
use serde_json::Value;
use sha2::{Digest, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::state::Progress;
use crate::store::exports::{FileName, Format, Job, Product, count};
use crate::store::records::{self, Bounds, Direction, Sort};
use crate::store::tables::{Tables, columns};
use crate::store::{StoreError, Tx, homes};
use crate::versions::{VERSIONS, Version};

/// Records read at once.
const PAGE_RECORDS: usize = 500;
/// Bytes read at once for the checksum.
const CHUNK_BYTES: usize = 64 * 1024;

/// Why an export has no file.
pub(super) enum ExportError {
    /// The job was deleted, or the service stops.
    Cancelled,
    /// Writing failed; the text is for the log.
    Broken(String),
}

impl From<StoreError> for ExportError {
    fn from(fault: StoreError) -> ExportError {
        ExportError::Broken(fault.to_string())
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> ExportError {
        ExportError::Broken(error.to_string())
    }
}

impl From<zip::result::ZipError> for ExportError {
    fn from(error: zip::result::ZipError) -> ExportError {
        ExportError::Broken(error.to_string())
    }
}

/// Writes the file of a job, with mode 0600. `path` must not exist yet. The file is synced to disk at the end.
pub(super) fn write_file(
    tx: &Tx<'_>,
    job: &Job,
    began: Timestamp,
    path: &Path,
    name: FileName,
    progress: &Progress,
) -> Result<Product, ExportError> {
    let out = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
    let home = homes::load(tx, job.home)?;
    let version = VERSIONS.iter().find(|version| version.name == job.version).unwrap_or_else(|| Version::current());
    let mut total = 0;
    for kind in &job.kinds {
        total += count(tx, job.home, *kind)?;
    }
    progress.total.store(total, Ordering::Relaxed);
    let mut out_file = match job.format {
        Format::Json => ExportFile::json(out, began, home.head)?,
        Format::Csv => ExportFile::Csv(Box::new(ZipWriter::new(out))),
        Format::Sqlite => ExportFile::Sqlite(Tables::create(path)?),
    };
    for kind in &job.kinds {
        out_file.begin(*kind)?;
        let mut bounds = Bounds::default();
        loop {
            if progress.cancelled.load(Ordering::Relaxed) {
                return Err(ExportError::Cancelled);
            }
            let order = (Sort::Created, Direction::Ascending);
            let page = records::page(tx, job.home, *kind, order, bounds, PAGE_RECORDS)?;
            let (count, is_first) = (page.len(), bounds.after.is_none());
            bounds.after = page.last().map(|(place, _)| *place);
            let texts: Vec<String> = page.into_iter().map(|(_, json)| version.downgrade(json)).collect();
            out_file.add(*kind, is_first, &texts)?;
            progress.done.fetch_add(count as u64, Ordering::Relaxed);
            if count < PAGE_RECORDS {
                break;
            }
        }
        out_file.end(*kind)?;
    }
    out_file.finish()?;
    let (size_bytes, sha256) = sync_and_hash(path)?;
    Ok(Product { file: name, size_bytes, sha256 })
}

/// The open file in one of the three formats.
enum ExportFile {
    Json(BufWriter<File>),
    Csv(Box<ZipWriter<File>>),
    Sqlite(Tables),
}

impl ExportFile {
    fn json(out: File, began: Timestamp, as_of: i64) -> io::Result<ExportFile> {
        let mut out = BufWriter::new(out);
        write!(out, r#"{{"exported_at":"{began}","as_of":{as_of}"#)?;
        Ok(ExportFile::Json(out))
    }

    fn begin(&mut self, kind: Kind) -> Result<(), ExportError> {
        match self {
            ExportFile::Json(out) => {
                write!(out, ",\n\"{}\":{}", kind.collection(), if kind.is_singleton() { "" } else { "[" })?;
            }
            ExportFile::Csv(zip) => {
                zip.start_file(format!("{}.csv", kind.collection()), SimpleFileOptions::default().large_file(true))?;
                zip.write_all(&csv([columns(kind).map(str::to_owned)])?)?;
            }
            ExportFile::Sqlite(tables) => tables.begin(kind)?,
        }
        Ok(())
    }

    /// Adds a page of records. `is_first`: the first page of this kind.
    fn add(&mut self, kind: Kind, is_first: bool, page: &[String]) -> Result<(), ExportError> {
        match self {
            ExportFile::Json(out) => {
                for (index, json) in page.iter().enumerate() {
                    let comma = if is_first && index == 0 { "" } else { "," };
                    write!(out, "{comma}\n{json}")?;
                }
                if kind.is_singleton() && page.is_empty() {
                    write!(out, "null")?;
                }
            }
            ExportFile::Csv(zip) => {
                let mut rows = Vec::with_capacity(page.len());
                for json in page {
                    let members = members(json)?;
                    rows.push(columns(kind).map(move |name| cell(members.get(name))));
                }
                zip.write_all(&csv(rows)?)?;
            }
            ExportFile::Sqlite(tables) => {
                for json in page {
                    tables.add(kind, &members(json)?)?;
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, kind: Kind) -> Result<(), ExportError> {
        if let ExportFile::Json(out) = self {
            write!(out, "{}", if kind.is_singleton() { "" } else { "]" })?;
        }
        Ok(())
    }

    fn finish(self) -> Result<(), ExportError> {
        match self {
            ExportFile::Json(mut out) => {
                out.write_all(b"}\n")?;
                out.flush()?;
            }
            ExportFile::Csv(zip) => drop(zip.finish()?),
            ExportFile::Sqlite(tables) => tables.finish()?,
        }
        Ok(())
    }
}

fn members(json: &str) -> Result<Fields, ExportError> {
    serde_json::from_str(json).map_err(|_| ExportError::Broken("a stored record is not a JSON object".to_owned()))
}

/// Rows in the CSV format of RFC 4180.
fn csv<R: IntoIterator<Item = String>>(rows: impl IntoIterator<Item = R>) -> Result<Vec<u8>, ExportError> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).map_err(|error| ExportError::Broken(error.to_string()))?;
    }
    writer.into_inner().map_err(|error| ExportError::Broken(error.to_string()))
}

/// A value as a CSV cell. Null is empty. A text that a spreadsheet would compute gets a `'` in front.
fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => typed_text::csv_text(text),
        Some(other) => other.to_string(),
    }
}

/// Syncs a finished file to disk. Returns its size in bytes and its SHA-256 as hex text.
fn sync_and_hash(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    file.sync_all()?;
    if let Some(dir) = path.parent() {
        File::open(dir)?.sync_all()?;
    }
    let (mut digest, mut size, mut chunk) = (Sha256::new(), 0, vec![0; CHUNK_BYTES]);
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok((size, HEXLOWER.encode(&digest.finalize()))),
            count => {
                digest.update(&chunk[..count]);
                size += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cell_is_never_a_formula() {
        for (value, expected) in [
            (json!("=1+1"), "'=1+1"),
            (json!("@SUM(A1)"), "'@SUM(A1)"),
            (json!("-2"), "'-2"),
            (json!("\t=1"), "'\t=1"),
            (json!("＝1"), "'＝1"),
            (json!("a=1"), "a=1"),
            (json!("12.50"), "12.50"),
            (json!(7), "7"),
            (json!(""), ""),
            (json!(null), ""),
        ] {
            assert_eq!(cell(Some(&value)), expected);
        }
    }
}

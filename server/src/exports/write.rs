//! One export's file: the records of one moment, page by page, in one of three forms (contract 16). Memory is one
//! page, however large the home is.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use data_encoding::HEXLOWER;
use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use serde_json::Value;
use sha2::{Digest, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::Progress;
use crate::store::exports::{Format, Job, Product, count};
use crate::store::records::{self, Bounds, Direction, Sort};
use crate::store::tables::{Tables, columns};
use crate::store::{Fault, Tx, homes};
use crate::versions::{VERSIONS, Version};

/// Records read at once.
const PAGE: usize = 500;
/// Bytes read at once for the checksum.
const PIECE: usize = 64 * 1024;
/// A spreadsheet takes a text that begins with one of these for a formula, or drops it and looks at the next.
const FORMULA_STARTS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Why there is no file.
pub(super) enum Stop {
    /// The job is not wanted any more, or the service stops.
    Cancelled,
    /// Something broke; the text is for the log.
    Broken(String),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Broken(fault.to_string())
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Broken(error.to_string())
    }
}

impl From<zip::result::ZipError> for Stop {
    fn from(error: zip::result::ZipError) -> Stop {
        Stop::Broken(error.to_string())
    }
}

/// Writes a job's file (0600) under a name that nobody used; it is on disk when this returns.
pub(super) fn file(
    tx: &Tx<'_>,
    job: &Job,
    began: Timestamp,
    path: &Path,
    name: String,
    progress: &Progress,
) -> Result<Product, Stop> {
    let out = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
    let home = homes::load(tx, job.home)?;
    let version = VERSIONS.iter().find(|version| version.name == job.version).unwrap_or_else(|| Version::current());
    let mut total = 0;
    for kind in &job.kinds {
        total += count(tx, job.home, *kind)?;
    }
    progress.total.store(total, Ordering::Relaxed);
    let mut sheet = match job.format {
        Format::Json => Sheet::json(out, began, home.head)?,
        Format::Csv => Sheet::Csv(Box::new(ZipWriter::new(out))),
        Format::Sqlite => Sheet::Sqlite(Tables::create(path)?),
    };
    for kind in &job.kinds {
        sheet.begin(*kind)?;
        let mut bounds = Bounds::default();
        loop {
            if progress.cancelled.load(Ordering::Relaxed) {
                return Err(Stop::Cancelled);
            }
            let order = (Sort::Created, Direction::Ascending);
            let page = records::page(tx, job.home, *kind, order, bounds, PAGE)?;
            let (count, is_first) = (page.len(), bounds.after.is_none());
            bounds.after = page.last().map(|(place, _)| *place);
            let texts: Vec<String> = page.into_iter().map(|(_, json)| version.downgrade(json)).collect();
            sheet.add(*kind, is_first, &texts)?;
            progress.done.fetch_add(count as u64, Ordering::Relaxed);
            if count < PAGE {
                break;
            }
        }
        sheet.end(*kind)?;
    }
    sheet.finish()?;
    let (size_bytes, sha256) = seal(path)?;
    Ok(Product { file: name, size_bytes, sha256 })
}

/// A file that is being written.
enum Sheet {
    Json(BufWriter<File>),
    Csv(Box<ZipWriter<File>>),
    Sqlite(Tables),
}

impl Sheet {
    fn json(out: File, began: Timestamp, as_of: i64) -> io::Result<Sheet> {
        let mut out = BufWriter::new(out);
        write!(out, r#"{{"exported_at":"{began}","as_of":{as_of}"#)?;
        Ok(Sheet::Json(out))
    }

    fn begin(&mut self, kind: Kind) -> Result<(), Stop> {
        match self {
            Sheet::Json(out) => {
                write!(out, ",\n\"{}\":{}", kind.collection(), if kind.is_singleton() { "" } else { "[" })?;
            }
            Sheet::Csv(zip) => {
                zip.start_file(format!("{}.csv", kind.collection()), SimpleFileOptions::default().large_file(true))?;
                zip.write_all(&csv([columns(kind).map(str::to_owned)])?)?;
            }
            Sheet::Sqlite(tables) => tables.begin(kind)?,
        }
        Ok(())
    }

    /// Adds a page of a kind; `first`: it is the first of that kind.
    fn add(&mut self, kind: Kind, first: bool, page: &[String]) -> Result<(), Stop> {
        match self {
            Sheet::Json(out) => {
                for (index, json) in page.iter().enumerate() {
                    let comma = if first && index == 0 { "" } else { "," };
                    write!(out, "{comma}\n{json}")?;
                }
                if kind.is_singleton() && page.is_empty() {
                    write!(out, "null")?;
                }
            }
            Sheet::Csv(zip) => {
                let mut rows = Vec::with_capacity(page.len());
                for json in page {
                    let members = members(json)?;
                    rows.push(columns(kind).map(move |name| cell(members.get(name))));
                }
                zip.write_all(&csv(rows)?)?;
            }
            Sheet::Sqlite(tables) => {
                for json in page {
                    tables.add(kind, &members(json)?)?;
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, kind: Kind) -> Result<(), Stop> {
        if let Sheet::Json(out) = self {
            write!(out, "{}", if kind.is_singleton() { "" } else { "]" })?;
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Stop> {
        match self {
            Sheet::Json(mut out) => {
                out.write_all(b"}\n")?;
                out.flush()?;
            }
            Sheet::Csv(zip) => drop(zip.finish()?),
            Sheet::Sqlite(tables) => tables.finish()?,
        }
        Ok(())
    }
}

fn members(json: &str) -> Result<Fields, Stop> {
    serde_json::from_str(json).map_err(|_| Stop::Broken("an image is no JSON object".to_owned()))
}

/// Rows as RFC 4180 has them.
fn csv<R: IntoIterator<Item = String>>(rows: impl IntoIterator<Item = R>) -> Result<Vec<u8>, Stop> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).map_err(|error| Stop::Broken(error.to_string()))?;
    }
    writer.into_inner().map_err(|error| Stop::Broken(error.to_string()))
}

/// A value as a cell: null is empty, and a text that a spreadsheet would compute begins with `'`.
fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) if text.starts_with(FORMULA_STARTS) => format!("'{text}"),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Brings a finished file to disk; gives its size and checksum.
fn seal(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    file.sync_all()?;
    if let Some(dir) = path.parent() {
        File::open(dir)?.sync_all()?;
    }
    let (mut digest, mut size, mut piece) = (Sha256::new(), 0, vec![0; PIECE]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((size, HEXLOWER.encode(&digest.finalize()))),
            count => {
                digest.update(&piece[..count]);
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
    fn no_cell_is_a_formula() {
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

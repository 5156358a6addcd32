//! Writes the file of an export: all records at one position, in JSON, CSV, SQLite or HTML (contract 16). Holds one page of
//! records in memory, and for HTML what the report shows. Must not know when a job runs, nor where its result is stored.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use data_encoding::HEXLOWER;
use hearth_contract::check::Fields;
use hearth_contract::formats::{Timestamp, format_date, parse_id};
use hearth_contract::media::MediaType;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use hearth_contract::time_zone::day;
use hearth_exchange::report::{self, Facts, Photo, PhotoSource, Report};
use hearth_exchange::table;
use serde_json::Value;
use sha2::{Digest, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::state::Progress;
use crate::files::disk::Disk;
use crate::home::series::time_zone;
use crate::store::exports::{FileName, Format, Job, Product, count};
use crate::store::homes::Home;
use crate::store::records::{self, Bounds, Direction, Sort};
use crate::store::stored_files::{self, FileHash};
use crate::store::tables::Tables;
use crate::store::{HomeNumber, StoreError, Tx, homes};
use crate::versions::{VERSIONS, Version};

/// Records read at once.
const PAGE_RECORDS: usize = 500;
/// Bytes read at once for the checksum.
const CHUNK_BYTES: usize = 64 * 1024;

/// Why an export has no file.
pub(super) enum ExportError {
    /// The job was deleted, or the service stops.
    Cancelled,
    /// The home has more records than a report may have.
    ReportTooLarge,
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
    disk: &Disk,
    job: &Job,
    began: Timestamp,
    (path, name): (&Path, FileName),
    progress: &Progress,
) -> Result<Product, ExportError> {
    let out = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
    let home = homes::load(tx, job.home)?;
    let version = VERSIONS.iter().find(|version| version.name == job.version).unwrap_or_else(|| Version::current());
    let mut total = 0;
    let kinds = kinds_read(job);
    for kind in &kinds {
        total += count(tx, job.home, *kind)?;
    }
    progress.total.store(total, Ordering::Relaxed);
    let mut names = Names { tx, home: job.home, known: HashMap::new() };
    let mut out_file = match job.format {
        Format::Json => ExportFile::json(out, began, home.head)?,
        Format::Csv => ExportFile::Csv(Box::new(ZipWriter::new(out)), job.options),
        Format::Html => ExportFile::Html(Box::default(), out),
        Format::Sqlite => ExportFile::Sqlite(Tables::create(path)?),
    };
    for kind in &kinds {
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
            out_file.add(*kind, is_first, &texts, &mut names)?;
            names.known.clear();
            progress.done.fetch_add(count as u64, Ordering::Relaxed);
            if count < PAGE_RECORDS {
                break;
            }
        }
        out_file.end(*kind)?;
    }
    let facts = || -> Result<Facts, StoreError> {
        let zone = time_zone(tx, &home)?;
        Ok(Facts { home: homes::team_name(tx, job.home)?, day: format_date(day(zone.as_deref(), began)) })
    };
    out_file.finish(facts, &mut |hash| photo(tx, disk, &home, hash))?;
    let (size_bytes, sha256) = sync_and_hash(path)?;
    Ok(Product { file: name, size_bytes, sha256 })
}

/// The kinds that a job reads. A report needs the names of the rooms and the home's address.
fn kinds_read(job: &Job) -> Vec<Kind> {
    let is_needed = |kind: &Kind| job.format == Format::Html && matches!(kind, Kind::Room | Kind::Property);
    Kind::ALL.into_iter().filter(|kind| job.kinds.contains(kind) || is_needed(kind)).collect()
}

/// The open file in one of the formats.
enum ExportFile {
    Json(BufWriter<File>),
    Csv(Box<ZipWriter<File>>, table::Options),
    Sqlite(Tables),
    Html(Box<Report>, File),
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
            ExportFile::Csv(zip, options) => {
                zip.start_file(format!("{}.csv", kind.collection()), SimpleFileOptions::default().large_file(true))?;
                zip.write_all(table::heading(kind, *options).as_bytes())?;
            }
            ExportFile::Sqlite(tables) => tables.begin(kind)?,
            ExportFile::Html(..) => (),
        }
        Ok(())
    }

    /// Adds a page of records. `is_first`: the first page of this kind.
    fn add(&mut self, kind: Kind, is_first: bool, page: &[String], names: &mut Names<'_>) -> Result<(), ExportError> {
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
            ExportFile::Csv(zip, options) => {
                for json in page {
                    let members = members(json)?;
                    let found = if options.names { names.of(kind, &members)? } else { HashMap::new() };
                    let row = table::row(kind, *options, &members, |field| found.get(field.name).cloned());
                    zip.write_all(row.as_bytes())?;
                }
            }
            ExportFile::Sqlite(tables) => {
                for json in page {
                    tables.add(kind, &members(json)?)?;
                }
            }
            ExportFile::Html(report, _) => {
                for json in page {
                    let members = members(json)?;
                    let id = members.get("id").and_then(Value::as_str).unwrap_or_default();
                    report.add(kind, id, &members).map_err(|_| ExportError::ReportTooLarge)?;
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

    fn finish(
        self,
        facts: impl FnOnce() -> Result<Facts, StoreError>,
        photo: &mut PhotoSource<'_>,
    ) -> Result<(), ExportError> {
        match self {
            ExportFile::Json(mut out) => {
                out.write_all(b"}\n")?;
                out.flush()?;
            }
            ExportFile::Csv(zip, _) => drop(zip.finish()?),
            ExportFile::Sqlite(tables) => tables.finish()?,
            ExportFile::Html(report, out) => {
                let mut out = BufWriter::new(out);
                report::write(&report, &facts()?, photo, &mut out)?;
                out.flush()?;
            }
        }
        Ok(())
    }
}

/// The photo of a file for a report. None: the file is no picture, or a damaged one.
fn photo(tx: &Tx<'_>, disk: &Disk, home: &Home, hash: &str) -> Option<Photo> {
    let file = stored_files::find(tx, home.number, &FileHash::parse(hash)?).ok()??;
    let bytes = disk.open(home.id, &file.sha256, file.size_bytes).ok()?;
    report::photo(BufReader::new(bytes), MediaType::parse(&file.content_type))
}

fn members(json: &str) -> Result<Fields, ExportError> {
    serde_json::from_str(json).map_err(|_| ExportError::Broken("a stored record is not a JSON object".to_owned()))
}

/// Reads the names of records that others refer to. Remembers those of one page.
struct Names<'t> {
    tx: &'t Tx<'t>,
    home: HomeNumber,
    known: HashMap<String, String>,
}

impl Names<'_> {
    /// By field: the name of the record whose id the field holds.
    fn of(&mut self, kind: Kind, members: &Fields) -> Result<HashMap<&'static str, String>, ExportError> {
        let mut names = HashMap::new();
        for (_, field) in resource(kind).relations() {
            let Some(id) = members.get(field.name).and_then(Value::as_str) else { continue };
            let name = match self.known.get(id) {
                Some(name) => name.clone(),
                None => self.read(id)?,
            };
            self.known.insert(id.to_owned(), name.clone());
            names.insert(field.name, name);
        }
        Ok(names)
    }

    fn read(&self, id: &str) -> Result<String, ExportError> {
        let Some(id) = parse_id(id) else { return Ok(String::new()) };
        let Some(entry) = records::entry(self.tx, self.home, id)? else { return Ok(String::new()) };
        let image = records::image(self.tx, self.home, entry.kind, id)?;
        let fields = image.map(|image| members(&image.json)).transpose()?.unwrap_or_default();
        Ok(fields.get(resource(entry.kind).title).and_then(Value::as_str).unwrap_or_default().to_owned())
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

//! Examines paths, file modes and free space. Must not open the database.

use std::fs;
use std::path::Path;

use super::finding::{Finding, Severity, Topic};
use super::text::{count, shell_quoted, size_text};
use crate::profile::Profile;
pub use crate::store::files::directory;
use crate::store::files::{beside, companion, free_bytes, network_file_system};
use crate::store::salvage;

/// Below this (bytes) a backfill or a large transaction may run out of space.
const FREE_BYTES_LOW: u64 = 200 << 20;
/// Below this (bytes) nothing works for long.
const FREE_BYTES_CRITICAL: u64 = 20 << 20;
/// A log of this size (bytes) is not truncated any more: a program reads for hours, or no program can write.
const LOG_BYTES_MAX: u64 = 64 << 20;

pub(super) fn examine(profile: &Profile) -> Vec<Finding> {
    let db = &profile.db;
    let mut findings = Vec::new();
    findings.extend(disk_finding(db));
    findings.extend(network_warning(db).map(|text| {
        let next = format!("mv {} to a local disk, with its other files; then name it with --db", shell_quoted(db));
        Finding::new(Topic::Files, Severity::Warning, text, next)
    }));
    findings.extend(mode_findings(profile));
    findings.extend(access_findings(db));
    let log = fs::metadata(beside(db, "-wal")).map_or(0, |file| file.len());
    if log > LOG_BYTES_MAX {
        findings.push(Finding::new(
            Topic::Disk,
            Severity::Warning,
            format!("the write-ahead log has grown to {}: some program keeps a transaction open", size_text(log)),
            format!("lsof {}, end that program, then: sqlite3 {0} 'PRAGMA wal_checkpoint(TRUNCATE)'", shell_quoted(db)),
        ));
    }
    let copies = salvage::damaged_copies(db);
    if let Some(oldest) = copies.first() {
        findings.push(Finding::new(
            Topic::Files,
            if copies.len() < salvage::DAMAGED_COPIES_MAX { Severity::Note } else { Severity::Warning },
            format!(
                "{} of the database kept; the oldest is {}",
                count(copies.len() as i64, "damaged copy", "damaged copies"),
                oldest.display()
            ),
            format!("rm {}*, once you need nothing in them", shell_quoted(&beside(db, ".damaged-"))),
        ));
    }
    findings
}

/// The warning when a database is on a network file system, where SQLite cannot protect a database that two machines open.
pub fn network_warning(db: &Path) -> Option<String> {
    let system = network_file_system(directory(db).ancestors().find(|path| path.is_dir())?)?;
    let db = db.display();
    Some(format!("{db} is on a network file system ({system}); two machines that open the file damage it"))
}

fn disk_finding(db: &Path) -> Option<Finding> {
    let directory = directory(db).ancestors().find(|path| path.is_dir())?;
    let free = free_bytes(directory)?;
    let text = format!("{} free at {}", size_text(free), directory.display());
    let next = format!("df -h {}", shell_quoted(directory));
    Some(match free {
        FREE_BYTES_LOW.. => Finding::ok(Topic::Disk, text),
        FREE_BYTES_CRITICAL.. => Finding::new(Topic::Disk, Severity::Warning, format!("only {text}"), next),
        0 => Finding::fault(Topic::Disk, format!("the disk is full: {text}"), next),
        _ => Finding::fault(Topic::Disk, format!("the disk is almost full: {text}"), next),
    })
}

/// Existing files must be writable. Reading needs less, so a replica without write access looks sound until the first
/// edit.
fn access_findings(db: &Path) -> Vec<Finding> {
    use rustix::fs::{Access, access};
    let read_write = Access::READ_OK | Access::WRITE_OK;
    let access_fault = |path: &Path, access_needed: Access, next: String| {
        let error = access(path, access_needed).err()?;
        let text = format!("{} cannot be written to: {}", path.display(), std::io::Error::from(error));
        Some(Finding::fault(Topic::Files, text, next))
    };
    let directory = directory(db);
    let mut findings = Vec::new();
    if directory.is_dir() {
        let next = format!("ls -ld {0}, then: chmod u+rwx {0}", shell_quoted(directory));
        findings.extend(access_fault(directory, read_write | Access::EXEC_OK, next));
    }
    let files = [db.to_owned(), beside(db, "-wal"), beside(db, "-shm"), companion(db, "lock")];
    for path in files.iter().filter(|path| path.exists()) {
        findings.extend(access_fault(path, read_write, format!("ls -l {0}, then: chmod u+rw {0}", shell_quoted(path))));
    }
    findings
}

/// A sentence about a key file that other users can read. None: only this user can, or the file is missing.
pub fn key_file_warning(file: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let mode = fs::metadata(file).ok()?.mode() & 0o777;
    let quoted = shell_quoted(file);
    (mode & 0o077 != 0).then(|| {
        format!(
            "{} can be read by other users (mode {mode:o}): chmod 600 {quoted}, or rm {quoted}, because the profile has its \
             own copy; others may know the key by now: hearth-server key rotate",
            file.display()
        )
    })
}

/// The data of the home and its key must be readable for this user only.
fn mode_findings(profile: &Profile) -> Vec<Finding> {
    use std::os::unix::fs::MetadataExt;
    let db = &profile.db;
    let files =
        [db.clone(), beside(db, "-wal"), beside(db, "-shm"), companion(db, "log"), profile.key_file().to_owned()];
    let mut findings = Vec::new();
    let mut owner = None;
    for path in files {
        let Ok(file) = fs::metadata(&path) else { continue };
        if file.mode() & 0o077 != 0 {
            let text = format!("{} can be read by others (mode {:o})", path.display(), file.mode() & 0o777);
            let severity = if path == profile.key_file() { Severity::Fault } else { Severity::Warning };
            findings.push(Finding::new(Topic::Files, severity, text, format!("chmod 600 {}", shell_quoted(&path))));
        }
        let first = *owner.get_or_insert(file.uid());
        if first != file.uid() {
            let text = format!("{} belongs to another user than the database", path.display());
            findings.push(Finding::new(
                Topic::Files,
                Severity::Warning,
                text,
                format!("ls -l {}", shell_quoted(&path)),
            ));
        }
    }
    if findings.is_empty() && db.exists() {
        findings.push(Finding::ok(Topic::Files, format!("{} is readable for you only", db.display())));
    }
    findings
}

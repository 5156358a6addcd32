//! Places, modes, room on the disk.

use std::fs;
use std::path::Path;

use super::{Finding, Grade, Matter, count, quoted, size};
use crate::profile::Profile;
pub use crate::store::files::directory;
pub(super) use crate::store::files::free_bytes as free;
use crate::store::files::{beside, companion};
use crate::store::salvage;

/// Below this a backfill, or a script's large transaction, may not find room.
const FREE_BYTES_MIN: u64 = 200 << 20;
/// Below this nothing works for long.
const FREE_BYTES_LEAST: u64 = 20 << 20;
/// A log that has grown to this is not being cut back: somebody reads for hours, or nobody can write.
const LOG_BYTES_MAX: u64 = 64 << 20;

pub(super) fn examine(profile: &Profile) -> Vec<Finding> {
    let db = &profile.db;
    let mut findings = Vec::new();
    findings.extend(disk(db));
    findings.extend(modes(profile));
    findings.extend(writable(db));
    let log = fs::metadata(beside(db, "-wal")).map_or(0, |file| file.len());
    if log > LOG_BYTES_MAX {
        findings.push(Finding::new(
            Matter::Disk,
            Grade::Warning,
            format!("the write-ahead log has grown to {}: some program keeps a transaction open", size(log)),
            format!("lsof {}, end that program, then: sqlite3 {0} 'PRAGMA wal_checkpoint(TRUNCATE)'", quoted(db)),
        ));
    }
    let copies = salvage::damaged_copies(db);
    if let Some(oldest) = copies.first() {
        findings.push(Finding::new(
            Matter::Files,
            if copies.len() < salvage::DAMAGED_COPIES_MAX { Grade::Notice } else { Grade::Warning },
            format!(
                "{} of the database kept; the oldest is {}",
                count(copies.len() as i64, "damaged copy", "damaged copies"),
                oldest.display()
            ),
            format!("rm {}*, once nothing in them is missed", quoted(&beside(db, ".damaged-"))),
        ));
    }
    findings
}

fn disk(db: &Path) -> Option<Finding> {
    let directory = directory(db).ancestors().find(|path| path.is_dir())?;
    let free = free(directory)?;
    let text = format!("{} free at {}", size(free), directory.display());
    let next = format!("df -h {}", quoted(directory));
    Some(match free {
        FREE_BYTES_MIN.. => Finding::fine(Matter::Disk, text),
        FREE_BYTES_LEAST.. => Finding::new(Matter::Disk, Grade::Warning, format!("only {text}"), next),
        0 => Finding::fault(Matter::Disk, format!("the disk is full: {text}"), next),
        _ => Finding::fault(Matter::Disk, format!("the disk is almost full: {text}"), next),
    })
}

/// What is there must be writable: reading alone works with less, so that a replica would look sound and take no edit.
#[cfg(unix)]
fn writable(db: &Path) -> Vec<Finding> {
    use rustix::fs::{Access, access};
    let reach = Access::READ_OK | Access::WRITE_OK;
    let shut = |path: &Path, access_needed: Access, next: String| {
        let error = access(path, access_needed).err()?;
        let text = format!("{} cannot be written to: {}", path.display(), std::io::Error::from(error));
        Some(Finding::fault(Matter::Files, text, next))
    };
    let directory = directory(db);
    let mut findings = Vec::new();
    if directory.is_dir() {
        let next = format!("ls -ld {0}, then: chmod u+rwx {0}", quoted(directory));
        findings.extend(shut(directory, reach | Access::EXEC_OK, next));
    }
    let files = [db.to_owned(), beside(db, "-wal"), beside(db, "-shm"), companion(db, "lock")];
    for path in files.iter().filter(|path| path.exists()) {
        findings.extend(shut(path, reach, format!("ls -l {0}, then: chmod u+rw {0}", quoted(path))));
    }
    findings
}

#[cfg(not(unix))]
fn writable(_db: &Path) -> Vec<Finding> {
    Vec::new()
}

/// The home's data and its key are for this user alone.
#[cfg(unix)]
fn modes(profile: &Profile) -> Vec<Finding> {
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
            let grade = if path == profile.key_file() { Grade::Fault } else { Grade::Warning };
            findings.push(Finding::new(Matter::Files, grade, text, format!("chmod 600 {}", quoted(&path))));
        }
        let first = *owner.get_or_insert(file.uid());
        if first != file.uid() {
            let text = format!("{} belongs to another user than the database", path.display());
            findings.push(Finding::new(Matter::Files, Grade::Warning, text, format!("ls -l {}", quoted(&path))));
        }
    }
    if findings.is_empty() && db.exists() {
        findings.push(Finding::fine(Matter::Files, format!("{} is for you alone", db.display())));
    }
    findings
}

#[cfg(not(unix))]
fn modes(_profile: &Profile) -> Vec<Finding> {
    Vec::new()
}

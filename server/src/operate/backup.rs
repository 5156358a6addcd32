//! Saves all data to one file, and restores the data from such a file. Must not know the command line.

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use hearth_contract::formats::Timestamp;

use super::error::Error;
use crate::clock::Clock;
use crate::files::directory as files_directory;
use crate::files::disk::Disk;
use crate::store::Db;
use crate::store::copies::{self, CopyError, Restored};
use crate::store::{OpenError, directory, service};

/// A saved backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saved {
    /// The size of the backup in bytes.
    pub bytes: u64,
    /// Files whose bytes are gone, and which are not in the backup.
    pub lost_files: usize,
}

/// Saves the present state, with the bytes of all files, to a new file, while other processes read and write. The file gets
/// its name only after a check, because damage would otherwise be noticed at the restore. Stores the moment for the console.
pub async fn backup(db: &Db, clock: &Clock, file: &Path) -> Result<Saved, Error> {
    if file.symlink_metadata().is_ok() {
        return Err(Error::Refused(format!("{} exists; choose another name for the backup", file.display())));
    }
    let target = file.to_owned();
    let saved = db.read_on_own_thread(move |tx| Ok(copies::save(tx, &target))).await?;
    // The check runs after the transaction: an open transaction prevents WAL checkpoints of a busy server.
    let disk = Disk::new(files_directory(db.dir()));
    let saved = saved.and_then(|()| {
        let lost_files = copies::add_files(file, &disk)?;
        Ok(Saved { bytes: copies::publish(file)?, lost_files })
    });
    let saved = saved.map_err(|error| {
        copies::discard(file);
        Error::Refused(match error {
            CopyError::Open(error) => format!("{} could not be written: {error}", file.display()),
            CopyError::Unsound(reason) => {
                format!("no backup was saved in {}: {reason}; see `hearth-server check`", file.display())
            }
        })
    })?;
    let now = clock.now();
    // The backup is complete, also when a full disk refuses this write.
    if let Err(error) = db.write(move |tx| service::set_last_backup_at(tx, now)).await {
        tracing::warn!(%error, "the moment of the backup was not stored");
    }
    Ok(saved)
}

/// The moment of the last backup. None: none is known.
pub async fn last_backup(db: &Db) -> Result<Option<Timestamp>, Error> {
    Ok(db.read(service::last_backup_at).await?)
}

/// Deletes the partial file of an interrupted backup.
pub fn remove_partial_backup(file: &Path) {
    copies::discard(file);
}

/// Restores a data directory from a backup, and keeps the replaced files. `run`: a random number, the write-run after the
/// break in the history of every home (contract 9.3).
pub fn restore(data: &Path, file: &Path, run: i64) -> Result<Restored, Error> {
    // Checked before the data directory is created: each of the two names may be misspelt.
    let unreadable = |error| Error::Refused(format!("{} could not be read: {error}", file.display()));
    let file_type = file.symlink_metadata().map_err(unreadable)?.file_type();
    if !file_type.is_file() {
        let what = if file_type.is_dir() {
            "a directory"
        } else if file_type.is_symlink() {
            "a symbolic link"
        } else {
            "no regular file"
        };
        return Err(Error::Refused(format!("{} is {what}; give the file of the backup", file.display())));
    }
    File::open(file).map_err(unreadable)?;
    let refused = |error: CopyError| {
        Error::Refused(match error {
            CopyError::Open(error) => format!("{} could not be restored: {error}", file.display()),
            CopyError::Unsound(reason) => format!("{} was not restored: {reason}", file.display()),
        })
    };
    let from = copies::open_source(file).map_err(refused)?;
    let unusable = |error: OpenError| Error::Refused(format!("cannot use {}: {error}", data.display()));
    let lock = directory::lock_for_serving(data).map_err(unusable)?;
    let Some(_lock) = lock else {
        let message = format!("{} is served by another process; stop that process, then restore", data.display());
        return Err(Error::Refused(message));
    };
    // Writes of another command would be confirmed and then lost.
    let users = directory::lock_exclusively(data).map_err(unusable)?;
    let Some(_users) = users else {
        let message = format!("another command works on {}; wait for its end, then restore", data.display());
        return Err(Error::Refused(message));
    };
    let disk = Disk::new(files_directory(data));
    // Documents of the replaced database may name bytes that the backup does not name. They stay for some days.
    disk.renew_all(SystemTime::now());
    copies::restore(data, from, run, &disk).map_err(|error| match error {
        CopyError::Open(error) => {
            Error::Refused(format!("{} could not be restored into {}: {error}", file.display(), data.display()))
        }
        unsound @ CopyError::Unsound(_) => refused(unsound),
    })
}

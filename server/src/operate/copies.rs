//! Saving all of the data into one file, and putting it back. Must not know the command line.

use std::fs::File;
use std::path::Path;

use super::Error;
use crate::store::Db;
use crate::store::copies::{self, CopyError, Restored};
use crate::store::open::{self, OpenError};

/// Saves everything as it is at this moment into a new file, while others read and write; gives its size in bytes. The
/// file is there only once it is known to be sound: a damaged one would be noticed on the day it is put back.
pub async fn backup(db: &Db, file: &Path) -> Result<u64, Error> {
    if file.symlink_metadata().is_ok() {
        return Err(Error::Refused(format!("{} exists; a backup never overwrites", file.display())));
    }
    let target = file.to_owned();
    let saved = db.read_on_own_thread(move |tx| Ok(copies::save(tx, &target))).await?;
    // Looked through after the transaction: while one is open, the log of a busy server cannot be cut.
    let saved = saved.and_then(|()| copies::publish(file));
    saved.map_err(|error| {
        copies::discard(file);
        Error::Refused(match error {
            CopyError::Open(error) => format!("{} could not be written: {error}", file.display()),
            CopyError::Unsound(why) => {
                format!("the database was not saved in {}: {why}; see `hearth-server check`", file.display())
            }
        })
    })
}

/// Takes away what is left of a backup that was broken off.
pub fn give_up(file: &Path) {
    copies::discard(file);
}

/// Puts a data directory back to a backup, and keeps what it replaces. `run` is a random number that marks the break in
/// every home's history (contract 9.3).
pub fn restore(data: &Path, file: &Path, run: i64) -> Result<Restored, Error> {
    // Before anything is made: the name of either may be misspelt.
    File::open(file).map_err(|error| Error::Refused(format!("{} could not be read: {error}", file.display())))?;
    if file.is_dir() {
        return Err(Error::Refused(format!("{} is a directory; name the file of the backup", file.display())));
    }
    let refused = |error: CopyError| {
        Error::Refused(match error {
            CopyError::Open(error) => format!("{} could not be restored: {error}", file.display()),
            CopyError::Unsound(why) => format!("{} was not restored: {why}", file.display()),
        })
    };
    let from = copies::open_source(file).map_err(refused)?;
    let unusable = |error: OpenError| Error::Refused(format!("{} cannot be used: {error}", data.display()));
    let lock = open::lock_for_serving(data).map_err(|error| unusable(error.into()))?;
    let Some(_lock) = lock else {
        let message = format!("{} is served by another process; stop it before restoring", data.display());
        return Err(Error::Refused(message));
    };
    // What another command writes meanwhile would be told as done and be lost.
    let users = open::lock_exclusively(data).map_err(|error| unusable(error.into()))?;
    let Some(_users) = users else {
        let message = format!("another command works on {}; wait until it has ended, then restore", data.display());
        return Err(Error::Refused(message));
    };
    copies::restore(data, from, run).map_err(|error| match error {
        CopyError::Open(error) => {
            Error::Refused(format!("{} could not be restored into {}: {error}", file.display(), data.display()))
        }
        unsound @ CopyError::Unsound(_) => refused(unsound),
    })
}

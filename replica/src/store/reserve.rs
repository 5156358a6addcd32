//! A little of the disk, set aside beside the database while it is synced: when the disk is full it is given back, so that
//! there is room to say so. Must not know what is said.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::store::StoreError;
use crate::store::open::{companion, private_file};

/// Room for the status, and for some edits of scripts meanwhile.
const BYTES: usize = 128 << 10;

/// Sets it aside, if it is not. An error: there is no room for it.
pub(crate) fn hold(db: &Path) -> Result<(), StoreError> {
    let path = companion(db, "reserve");
    if fs::metadata(&path).is_ok_and(|file| file.len() == BYTES as u64) {
        return Ok(());
    }
    // Written, because a file that is only made longer holds no room.
    let held = private_file(&path).and_then(|mut file| file.write_all(&[0; BYTES]).and_then(|()| file.sync_all()));
    match held.map_err(|error| StoreError::File(path.clone(), error)) {
        Err(error) if error.is_full() => {
            let _ = fs::remove_file(&path);
            Err(error)
        }
        // Without it a full disk is noticed by the silence that follows, as elsewhere.
        _ => Ok(()),
    }
}

/// Gives it back; whether there was any.
pub(crate) fn release(db: &Path) -> bool {
    fs::remove_file(companion(db, "reserve")).is_ok()
}

//! A little of the disk, set aside beside the database while it is synced: when the disk is full it is given back, so that
//! there is room to say so. Must not know what is said.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::store::StoreError;
use crate::store::open::{companion, new_private_file};

/// Room for the status, and for some edits of scripts meanwhile.
const BYTES: usize = 128 << 10;

/// Sets it aside, if it is not. An error: there is no room for it.
pub(crate) fn hold(db: &Path) -> Result<(), StoreError> {
    let path = companion(db, "reserve");
    match ours(&path) {
        Some(BYTES) => return Ok(()),
        // One that was cut off as it was written.
        Some(_) => drop(fs::remove_file(&path)),
        None => {}
    }
    // Written, because a file that is only made longer holds no room.
    let held = new_private_file(&path).and_then(|mut file| file.write_all(&[0; BYTES]).and_then(|()| file.sync_all()));
    match held.map_err(|error| StoreError::File(path.clone(), error)) {
        Err(error) if error.is_full() => {
            release(db);
            Err(error)
        }
        // Without it a full disk is noticed by the silence that follows, as elsewhere.
        _ => Ok(()),
    }
}

/// Gives it back; whether there was any.
pub(crate) fn release(db: &Path) -> bool {
    let path = companion(db, "reserve");
    ours(&path).is_some() && fs::remove_file(path).is_ok()
}

/// How long the file is, if it holds what only we write: nothing but zeros, and not too many.
fn ours(path: &Path) -> Option<usize> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().ok()?;
    (bytes.len() <= BYTES && bytes.iter().all(|byte| *byte == 0)).then_some(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_has_put_there_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (db, file) = (directory.path().join("a.db"), directory.path().join("a.db.reserve"));
        for theirs in [b"mine".to_vec(), vec![b'x'; BYTES], vec![0; BYTES + 1]] {
            fs::write(&file, &theirs).unwrap();
            hold(&db).unwrap();
            assert!(!release(&db));
            assert!(fs::read(&file).unwrap() == theirs, "{} bytes", theirs.len());
        }
        fs::remove_file(&file).unwrap();
        for cut in [0, 100] {
            fs::write(&file, vec![0; cut]).unwrap();
            hold(&db).unwrap();
            assert_eq!(fs::metadata(&file).unwrap().len(), BYTES as u64);
            assert!(release(&db));
        }
        assert!(!release(&db));
    }
}

//! The file `reserve` beside the database: 128 KiB that are released when the disk is full, so that the status can still be
//! written. Must not know what is written then.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use super::StoreError;
use super::files::{companion, new_private_file};

/// Room for the status and for some edits of scripts.
const RESERVE_BYTES: usize = 128 << 10;

/// Creates the reserve, unless it exists. An error when the disk has no room for it.
pub(crate) fn allocate(db: &Path) -> Result<(), StoreError> {
    let path = companion(db, "reserve");
    match own_length(&path) {
        Some(RESERVE_BYTES) => return Ok(()),
        // The process that wrote the file was interrupted.
        Some(_) => drop(fs::remove_file(&path)),
        None => {}
    }
    // Zeros are written, because a file that is only extended takes no room.
    let written =
        new_private_file(&path).and_then(|mut file| file.write_all(&[0; RESERVE_BYTES]).and_then(|()| file.sync_all()));
    match written.map_err(StoreError::at(&path)) {
        Err(error) if error.is_full() => {
            release(db);
            Err(error)
        }
        // Without a reserve, a full disk shows by the age of the last sign of life.
        _ => Ok(()),
    }
}

/// Deletes the reserve. False when there was none.
pub(crate) fn release(db: &Path) -> bool {
    let path = companion(db, "reserve");
    own_length(&path).is_some() && fs::remove_file(path).is_ok()
}

/// The length of a reserve file in bytes. None when the file is missing or holds something else than zeros.
fn own_length(path: &Path) -> Option<usize> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(RESERVE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().ok()?;
    (bytes.len() <= RESERVE_BYTES && bytes.iter().all(|byte| *byte == 0)).then_some(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserve_leaves_foreign_file_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (db, file) = (directory.path().join("a.db"), directory.path().join("a.db.reserve"));
        for theirs in [b"mine".to_vec(), vec![b'x'; RESERVE_BYTES], vec![0; RESERVE_BYTES + 1]] {
            fs::write(&file, &theirs).unwrap();
            allocate(&db).unwrap();
            assert!(!release(&db));
            assert!(fs::read(&file).unwrap() == theirs, "{} bytes", theirs.len());
        }
        fs::remove_file(&file).unwrap();
        for partial in [0, 100] {
            fs::write(&file, vec![0; partial]).unwrap();
            allocate(&db).unwrap();
            assert_eq!(fs::metadata(&file).unwrap().len(), RESERVE_BYTES as u64);
            assert!(release(&db));
        }
        assert!(!release(&db));
    }
}

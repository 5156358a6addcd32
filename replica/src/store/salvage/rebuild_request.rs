//! The request of a person for a rebuild, to the process that syncs: the file `rebuild` beside the database. The answer is the
//! file `rebuilt`. Files, because the database may be unreadable. Must not rebuild.

use std::fs;
use std::path::Path;

use super::report::RebuildReport;
use crate::store::StoreError;
use crate::store::files::{companion, private_file, write_whole};

/// Asks the process that syncs for a rebuild.
pub(crate) fn make(db: &Path) -> Result<(), StoreError> {
    let _ = fs::remove_file(companion(db, "rebuilt"));
    let request = companion(db, "rebuild");
    private_file(&request).map(drop).map_err(|error| StoreError::File(request, error))
}

/// True from the request until the process that syncs has begun.
pub(crate) fn is_made(db: &Path) -> bool {
    companion(db, "rebuild").exists()
}

/// Removes the request: a rebuild begins, or the person no longer waits.
pub(crate) fn take(db: &Path) -> bool {
    fs::remove_file(companion(db, "rebuild")).is_ok()
}

/// Answers the request.
pub(crate) fn answer(db: &Path, report: &RebuildReport) -> Result<(), StoreError> {
    let answer = companion(db, "rebuilt");
    let text = serde_json::to_vec(report).unwrap_or_default();
    write_whole(&answer, &text).map_err(|error| StoreError::File(answer, error))
}

/// The answer, once. None while there is none.
pub(crate) fn take_answer(db: &Path) -> Option<RebuildReport> {
    let answer = companion(db, "rebuilt");
    let text = fs::read(&answer).ok()?;
    let _ = fs::remove_file(&answer);
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_is_read_once() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("a.db");
        make(&db).unwrap();
        assert!(is_made(&db));
        take(&db);
        let report = RebuildReport { edits: 3, kept_as: Some(db.clone()), ..RebuildReport::default() };
        answer(&db, &report).unwrap();
        assert_eq!((is_made(&db), take_answer(&db), take_answer(&db)), (false, Some(report), None));
    }
}

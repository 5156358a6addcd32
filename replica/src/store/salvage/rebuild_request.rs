//! The request of a person for a rebuild, to the process that syncs: the file `rebuild` beside the database. The answer is the
//! file `rebuilt`. Files, because the database may be unreadable. Must not rebuild.

use std::fs;
use std::path::Path;

use super::report::RebuildReport;
use crate::store::StoreError;
use crate::store::files::{companion, private_file, write_whole};

/// Asks the process that syncs a database for a rebuild.
pub fn request_rebuild(db: &Path) -> Result<(), StoreError> {
    let _ = fs::remove_file(companion(db, "rebuilt"));
    let request = companion(db, "rebuild");
    private_file(&request).map(drop).map_err(|error| StoreError::File(request, error))
}

/// True while the process that syncs has not begun the requested rebuild.
pub fn is_rebuild_requested(db: &Path) -> bool {
    companion(db, "rebuild").exists()
}

/// Removes the request: a rebuild begins, or the person no longer waits.
pub fn take_rebuild_request(db: &Path) -> bool {
    fs::remove_file(companion(db, "rebuild")).is_ok()
}

/// Answers the request.
pub(crate) fn answer(db: &Path, report: &RebuildReport) -> Result<(), StoreError> {
    let answer = companion(db, "rebuilt");
    let text = serde_json::to_vec(report).unwrap_or_default();
    write_whole(&answer, &text).map_err(|error| StoreError::File(answer, error))
}

/// The result of the requested rebuild, once. None while there is none.
pub fn take_rebuild_report(db: &Path) -> Option<RebuildReport> {
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
        request_rebuild(&db).unwrap();
        assert!(is_rebuild_requested(&db));
        take_rebuild_request(&db);
        let report = RebuildReport { edits: 3, kept_as: Some(db.clone()), ..RebuildReport::default() };
        answer(&db, &report).unwrap();
        assert_eq!(
            (is_rebuild_requested(&db), take_rebuild_report(&db), take_rebuild_report(&db)),
            (false, Some(report), None)
        );
    }
}

//! Drafts of records from readings (contract 22): each field with its evidence. Pure: must not know the clock, storage or how files
//! are decoded.

mod model;

pub use model::{Confidence, Draft, Evidence, FileReading, KEYS_MAX, Keys, Known, KnownRecord, Source};

/// Drafts of new records: an item or vehicle, and one document for each file.
pub fn smart_add(files: &[FileReading], known: &Known) -> Vec<Draft> {
    let _ = (files, known);
    Vec::new()
}

/// Drafts of documents, one for each file, and a patch of their subject. The subject is the given record, or the record of the home
/// whose serial number, code, model or plate stands in the files.
pub fn extract(files: &[FileReading], subject: Option<&KnownRecord>, known: &Known) -> Vec<Draft> {
    let _ = (files, subject, known);
    Vec::new()
}

/// The values by which the server shall look up records for [`Known`].
pub fn keys(files: &[FileReading]) -> Keys {
    let _ = files;
    Keys::default()
}

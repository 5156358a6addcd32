//! Whether the current records of a home agree with the tables: entries, indexed values and the full-text index. Reads only; must
//! not repair.

use std::collections::HashSet;

use hearth_contract::check::references;
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use hearth_contract::search_text::indexed_texts;

use super::document_file;
use crate::store::field_values::{self, Row, field_name};
use crate::store::records::{self, Bounds, Direction, Entry, Sort};
use crate::store::{HomeNumber, StoreError, Tx, search, stored_files};

/// Records read at once.
const PAGE: usize = 500;

/// Sentences about contradictions between the current records and the tables.
pub fn images(tx: &Tx<'_>, number: HomeNumber) -> Result<Vec<String>, StoreError> {
    let mut audit = Audit { tx, number, values: field_values::all(tx, number)?, searchable: 0, faults: Vec::new() };
    for kind in Kind::ALL {
        let mut bounds = Bounds::default();
        loop {
            let page = records::page(tx, number, kind, (Sort::Updated, Direction::Ascending), bounds, PAGE)?;
            for (rev, json) in &page {
                audit.check_image(kind, *rev, json)?;
            }
            bounds.after = page.last().map(|(rev, _)| *rev);
            if page.len() < PAGE {
                break;
            }
        }
    }
    let Audit { values, searchable, mut faults, .. } = audit;
    let indexed = search::count(tx, number)?;
    if indexed != searchable {
        faults.push(format!("search holds {indexed} records, there are {searchable}"));
    }
    faults.extend(values.into_iter().map(|(kind, field, value, created)| {
        format!("the index has `{value}` as {} of the {kind} created at {created}, which has not", field_name(field))
    }));
    Ok(faults)
}

/// The state of an audit.
struct Audit<'a, 'c> {
    tx: &'a Tx<'c>,
    number: HomeNumber,
    /// Indexed values that no checked record explains yet.
    values: HashSet<Row>,
    /// Checked records that the full-text index must hold.
    searchable: i64,
    faults: Vec<String>,
}

impl Audit<'_, '_> {
    /// Checks the JSON of one record, as stored at a revision.
    fn check_image(&mut self, kind: Kind, rev: i64, json: &str) -> Result<(), StoreError> {
        let Some(record) = Record::from_json(kind, json).filter(|record| record.rev == rev) else {
            self.faults.push(format!("the image at {rev} is no {kind} of that revision"));
            return Ok(());
        };
        let entry = records::entry(self.tx, self.number, record.id)?.filter(|entry| entry.rev == rev);
        let Some(entry) = entry else {
            self.faults.push(format!("the image at {rev} is of another {kind}: {}", record.id));
            return Ok(());
        };
        self.check_search(&record, &entry)?;
        self.check_values(&record, &entry);
        self.check_references(&record)
    }

    fn check_search(&mut self, record: &Record, entry: &Entry) -> Result<(), StoreError> {
        if record.kind.is_singleton() {
            return Ok(());
        }
        self.searchable += 1;
        let (title, rest) = indexed_texts(record.kind, &record.fields);
        if !search::is_indexed(self.tx, self.number, entry.created, &title, &rest)? {
            self.faults.push(format!("{} {} is found by other words than its own", record.kind, record.id));
        }
        Ok(())
    }

    fn check_values(&mut self, record: &Record, entry: &Entry) {
        for row in field_values::rows_of(record.kind, entry.created, &record.fields) {
            if !self.values.remove(&row) {
                let (kind, id, field) = (record.kind, record.id, field_name(row.1));
                self.faults.push(format!("the index has not the {field} of {kind} {id}"));
            }
        }
    }

    fn check_references(&mut self, record: &Record) -> Result<(), StoreError> {
        let (kind, id) = (record.kind, record.id);
        for (field, target_kind, target) in references(kind, &record.fields) {
            let entry = records::entry(self.tx, self.number, target)?;
            if !entry.is_some_and(|entry| entry.kind == target_kind && !entry.deleted) {
                self.faults.push(format!("{} of {kind} {id} names no {target_kind}", field.name));
            }
        }
        if let Some(hash) = document_file::named(&record.fields)
            && stored_files::find(self.tx, self.number, &hash)?.is_none()
        {
            let hash = hash.as_str();
            self.faults.push(format!("file_sha256 of {kind} {id} names a file that is missing; upload {hash} again"));
        }
        Ok(())
    }
}

//! The records of the home to which the rows of a file refer. Keeps only those, so that memory depends on the file and not on the
//! home. Must not know where records are stored.

use std::collections::{HashMap, HashSet};

use hearth_contract::check::{Fields, references};
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use serde_json::Value;
use uuid::Uuid;

use super::draft::{Draft, DraftTable};
use super::keys;
use super::target::IMPORT_REF;

/// A lookup that should find one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// No record yet.
    None,
    /// One record.
    One(Uuid),
    /// Several records.
    Several,
}

/// The records to which rows refer, and the ids that cannot be used again.
#[derive(Debug, Default)]
pub struct Existing {
    tables: Vec<Lookups>,
    rooms: HashMap<String, Found>,
    wanted: HashSet<(Kind, Uuid)>,
    pub(super) present: HashSet<(Kind, Uuid)>,
    pub(super) used: HashSet<Uuid>,
    pub(super) records: HashMap<(Kind, Uuid), Fields>,
}

/// The lookups of one table.
#[derive(Debug)]
struct Lookups {
    kind: Kind,
    key: Vec<&'static str>,
    whole: Vec<&'static str>,
    references: HashMap<String, Found>,
    keys: HashMap<String, Found>,
    wholes: HashMap<String, Found>,
}

impl Existing {
    /// The lookups that the rows of a file need.
    pub fn new(draft: &Draft) -> Existing {
        let mut existing = Existing::default();
        for table in &draft.tables {
            let kind = table.columns.kind;
            let lookups = lookups(table);
            for row in &table.rows {
                if let Some((_, room)) = &row.room {
                    existing.rooms.insert(keys::room(room), Found::None);
                }
                existing.wanted.extend(row.id.map(|id| (kind, id)));
                existing.wanted.extend(references(kind, &row.body).into_iter().map(|(_, kind, id)| (kind, id)));
            }
            existing.tables.push(lookups);
        }
        existing
    }

    /// Offers a record of the home, with all its fields. It is kept if a row means it or refers to it.
    pub fn offer(&mut self, kind: Kind, id: Uuid, fields: &Fields) {
        if kind == Kind::Room
            && let Some(name) = fields.get(resource(kind).title).and_then(Value::as_str)
        {
            meet(&mut self.rooms, &keys::room(name), id);
        }
        let mut is_meant = false;
        if self.wanted.contains(&(kind, id)) {
            self.present.insert((kind, id));
            is_meant = true;
        }
        for table in self.tables.iter_mut().filter(|table| table.kind == kind) {
            is_meant |= kind.is_singleton();
            if let Some(reference) = fields.get(IMPORT_REF).and_then(Value::as_str) {
                is_meant |= meet(&mut table.references, reference, id);
            }
            if let Some(key) = keys::key(kind, &table.key, fields) {
                is_meant |= meet(&mut table.keys, &key, id);
            }
            if let Some(whole) = keys::key(kind, &table.whole, fields) {
                meet(&mut table.wholes, &whole, id);
            }
        }
        if is_meant {
            self.records.insert((kind, id), fields.clone());
        }
    }

    /// Offers a former state of an offered record, such as the state in which it was made. A row that names no record and has
    /// these values is a double of the record, although the record was changed since.
    pub fn offer_former(&mut self, kind: Kind, id: Uuid, fields: &Fields) {
        for table in self.tables.iter_mut().filter(|table| table.kind == kind) {
            if let Some(whole) = keys::key(kind, &table.whole, fields) {
                meet(&mut table.wholes, &whole, id);
            }
        }
    }

    /// Says that an id was used in the home, also if its record was deleted since.
    pub fn mark_used(&mut self, id: Uuid) {
        self.used.insert(id);
    }

    pub(super) fn room(&self, name: &str) -> Found {
        self.rooms.get(&keys::room(name)).copied().unwrap_or(Found::None)
    }

    pub(super) fn by_reference(&self, table: usize, reference: &str) -> Found {
        self.tables[table].references.get(reference).copied().unwrap_or(Found::None)
    }

    pub(super) fn by_key(&self, table: usize, key: &str) -> Found {
        self.tables[table].keys.get(key).copied().unwrap_or(Found::None)
    }

    pub(super) fn by_whole(&self, table: usize, whole: &str) -> Found {
        self.tables[table].wholes.get(whole).copied().unwrap_or(Found::None)
    }

    /// The one record of a kind that a home has at most once.
    pub(super) fn singleton(&self, kind: Kind) -> Option<Uuid> {
        self.records.keys().find(|(known, _)| *known == kind).map(|(_, id)| *id)
    }
}

fn lookups(table: &DraftTable) -> Lookups {
    let wanted = |texts: Vec<String>| texts.into_iter().map(|text| (text, Found::None)).collect();
    let rows = || table.rows.iter().filter(|row| row.fault.is_none());
    Lookups {
        kind: table.columns.kind,
        key: table.key.clone(),
        whole: table.whole.clone(),
        references: wanted(rows().filter_map(|row| row.import_ref().map(str::to_owned)).collect()),
        keys: wanted(rows().filter_map(|row| table.row_key(row)).collect()),
        wholes: wanted(rows().filter_map(|row| table.row_whole(row)).collect()),
    }
}

/// Notes that a record has a text that rows look for. True: rows look for the text.
fn meet(lookup: &mut HashMap<String, Found>, text: &str, id: Uuid) -> bool {
    let Some(found) = lookup.get_mut(text) else { return false };
    *found = match *found {
        Found::None => Found::One(id),
        Found::One(known) if known == id => Found::One(id),
        _ => Found::Several,
    };
    true
}

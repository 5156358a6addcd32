//! Edits that wait for a create which was written later. The create must not wait for them in turn: neither would ever be
//! sent. Must not know other reasons to wait.

use std::collections::{BTreeSet, HashMap, HashSet};

/// Who waits for the making of records that was written after them, or waits for one who does: most often nobody.
#[derive(Default)]
pub(super) struct CreateDeps {
    waits: HashMap<i64, BTreeSet<String>>,
    made_by: HashMap<String, i64>,
}

impl CreateDeps {
    /// An edit waits for a record that is made after it.
    pub(super) fn wait_for_create(&mut self, edit: i64, record: &str) {
        self.waits.entry(edit).or_default().insert(record.to_owned());
    }

    /// An edit waits for an earlier one.
    pub(super) fn inherit(&mut self, edit: i64, earlier: i64) {
        if let Some(records) = self.waits.get(&earlier).cloned() {
            self.waits.entry(edit).or_default().extend(records);
        }
    }

    /// This edit makes a record; of one that waits for nobody ahead, no ring can come.
    pub(super) fn note_create(&mut self, edit: i64, record: &str) {
        if self.waits.contains_key(&edit) {
            self.made_by.insert(record.to_owned(), edit);
        }
    }

    /// Whether an edit waits for the making of this record, by however many others.
    pub(super) fn waits_for_create_of(&self, edit: i64, record: &str) -> bool {
        let (mut looked_at, mut to_look_at) = (HashSet::new(), vec![edit]);
        while let Some(edit) = to_look_at.pop() {
            let Some(records) = self.waits.get(&edit).filter(|_| looked_at.insert(edit)) else { continue };
            if records.contains(record) {
                return true;
            }
            to_look_at.extend(records.iter().filter_map(|record| self.made_by.get(record)));
        }
        false
    }
}

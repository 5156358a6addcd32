//! Edits that wait for a later create. The create must not wait for these edits, because a circle of waiting edits
//! would never be sent. Must not know other reasons to wait.

use std::collections::{BTreeSet, HashMap, HashSet};

/// The creates that edits wait for, directly or through other edits. Usually empty.
#[derive(Default)]
pub(super) struct CreateDeps {
    waits: HashMap<i64, BTreeSet<String>>,
    made_by: HashMap<String, i64>,
}

impl CreateDeps {
    /// Notes that an edit waits for a create that was written later.
    pub(super) fn wait_for_create(&mut self, edit: i64, record: &str) {
        self.waits.entry(edit).or_default().insert(record.to_owned());
    }

    /// Notes that an edit waits for an earlier edit, and for every create that the earlier edit waits for.
    pub(super) fn inherit(&mut self, edit: i64, earlier: i64) {
        if let Some(records) = self.waits.get(&earlier).cloned() {
            self.waits.entry(edit).or_default().extend(records);
        }
    }

    /// Notes the create of a record. A create that waits for no later create cannot be part of a circle.
    pub(super) fn note_create(&mut self, edit: i64, record: &str) {
        if self.waits.contains_key(&edit) {
            self.made_by.insert(record.to_owned(), edit);
        }
    }

    /// True when an edit waits for the create of this record, directly or through other edits.
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

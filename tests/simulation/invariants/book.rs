//! What is known of a replica from looking at it before. Must not know what is right.

use std::collections::{BTreeMap, BTreeSet};

use super::super::eye::{Open, Standing};
use super::super::model::{Fields, Model, Name, Since};

/// What is known of a replica's edits from looking at it before.
#[derive(Debug, Default)]
pub struct Book {
    pub(super) known: BTreeMap<i64, Note>,
    /// How edits ended.
    pub(super) settled: BTreeMap<i64, String>,
    /// What each edit was ever seen to write, field by field, with its record.
    pub(super) written: BTreeMap<i64, (Name, Fields)>,
    /// Whether what was changed here and there waits for a person.
    pub(super) asks: bool,
    /// Edits that a person let go.
    pub let_go: BTreeSet<i64>,
    /// The highest rev at which each record was shown.
    pub(super) revs: BTreeMap<Name, i64>,
    /// Deletes that it was told just now, and where.
    pub told: Vec<(i64, Name)>,
    /// Records whose end the feed has told.
    pub(super) gone: BTreeSet<Name>,
    /// Records whose end was heard of, whether it was written down or not.
    pub(super) heard: BTreeSet<Name>,
    /// A person has agreed to the deletions of the recovery that is under way.
    pub agreed: bool,
    /// Whether a script's table follows the tasks by triggers of its own.
    pub is_watched: bool,
    /// Whether the server refuses its key some time.
    pub keys_change: bool,
    /// What a recovery asks a person.
    pub(super) asked: Option<String>,
    /// The records that were shown at the last look.
    pub(super) shown: BTreeSet<Name>,
    /// Where it stood at the last look, and its edits that were not settled.
    pub sight: Option<(Standing, Vec<Open>)>,
    /// What others had committed at the last look, and the rows that the looking connection itself had changed.
    pub(super) seen: Option<(i64, u64)>,
}

impl Book {
    /// That of a new replica; `asks`: what was changed here and there waits for a person.
    pub fn of(asks: bool) -> Book {
        Book { asks, ..Book::default() }
    }

    /// Where the server and the replica stood when an edit was first seen.
    pub(super) fn since(&self, edit: i64, model: &Model, position: i64) -> (Since, i64) {
        self.known.get(&edit).map_or_else(|| (model.moment(), position), |note| (note.since, note.position))
    }

    /// The records of all edits that ever were.
    pub fn names(&self) -> impl Iterator<Item = Name> {
        self.known.values().map(|note| note.name.clone())
    }
}

/// An edit as it was last seen.
#[derive(Debug, Clone)]
pub(super) struct Note {
    pub(super) name: Name,
    pub(super) method: String,
    pub(super) patch: Fields,
    /// Where the server stood when it was first seen.
    pub(super) since: Since,
    /// Where the replica stood then, as far as its record goes.
    pub(super) position: i64,
}

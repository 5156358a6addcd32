//! What earlier checks have learnt about one replica: its edits, its records, its questions. Must not judge.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{LogPoint, Model};
use super::observer::Snapshot;
use super::record::{Fields, RecordKey};

/// An edit as the last check saw it.
#[derive(Debug, Clone)]
pub struct LedgerEdit {
    /// The edited record.
    pub record: RecordKey,
    /// `create`, `update` or `delete`.
    pub method: String,
    /// The changed fields with their new values.
    pub patch: Fields,
    /// Where the server's log was when the edit was first seen.
    pub since: LogPoint,
    /// The position of the replica at that moment, for the edited record.
    pub position: i64,
}

/// What is known about a replica from earlier checks.
#[derive(Debug, Default)]
pub struct Ledger {
    /// All edits ever seen, by number.
    pub edits: BTreeMap<i64, LedgerEdit>,
    /// The outcome of each settled edit, by number.
    pub outcomes: BTreeMap<i64, String>,
    /// The record of each edit and all fields that the edit was ever seen to write, by number.
    pub written: BTreeMap<i64, (RecordKey, Fields)>,
    /// True when the replica asks a person about conflicts (policy `Ask`).
    pub asks_on_conflict: bool,
    /// Edits that a person has decided to give up, or may have given up by a decision.
    pub given_up: BTreeSet<i64>,
    /// The highest rev at which each record was shown.
    pub highest_revs: BTreeMap<RecordKey, i64>,
    /// Deletes that the replica has received since the last check, with their event ids.
    pub received_deletes: Vec<(i64, RecordKey)>,
    /// Records whose delete the replica has received, whether or not it was stored.
    pub deletes_seen: BTreeSet<RecordKey>,
    /// True when the replica was reading the list of deleted ids at the last check.
    pub was_reading_deletions: bool,
    /// Records whose delete the replica has stored.
    pub deletes_applied: BTreeSet<RecordKey>,
    /// True when a person has accepted the deletions of the current reconcile.
    pub deletions_accepted: bool,
    /// True when a script's triggers copy the tasks into the table `watched`.
    pub has_watch_triggers: bool,
    /// True when the server may refuse the key of the replica at some time.
    pub key_can_be_refused: bool,
    /// The question of the reconcile at the last check.
    pub last_question: Option<String>,
    /// The records that the last check saw.
    pub shown_records: BTreeSet<RecordKey>,
    /// The sync state and the open edits at the last check; None before the first check.
    pub last_snapshot: Option<Snapshot>,
    /// `PRAGMA data_version` and `total_changes` of the observing connection at the last check.
    pub database_version: Option<(i64, u64)>,
}

impl Ledger {
    /// The ledger of a new replica.
    pub fn new(asks_on_conflict: bool) -> Ledger {
        Ledger { asks_on_conflict, ..Ledger::default() }
    }

    /// The server's log point and the replica's position when the edit was first seen: now for an unknown edit.
    pub fn first_seen(&self, edit: i64, model: &Model, position: i64) -> (LogPoint, i64) {
        self.edits.get(&edit).map_or_else(|| (model.log_point(), position), |known| (known.since, known.position))
    }

    /// The fields of the edit that no later edit of the same record has changed since. Coalesced edits reach the server
    /// with the last value only.
    pub fn without_later_edits(&self, id: i64, edit: &LedgerEdit) -> LedgerEdit {
        let later = || self.edits.range(id + 1..).filter(|(_, later)| later.record.is_same_record(&edit.record));
        let patch = edit.patch.iter().filter(|(field, _)| !later().any(|(_, later)| later.patch.contains_key(*field)));
        LedgerEdit { patch: patch.map(|(field, value)| (field.clone(), value.clone())).collect(), ..edit.clone() }
    }

    /// True when an edit with a higher number deletes the record.
    pub fn has_later_delete(&self, id: i64, record: &RecordKey) -> bool {
        self.edits.range(id + 1..).any(|(_, later)| later.record == *record && later.method == "delete")
    }
}

//! Every edit exists in exactly one place, and its state or outcome is true. Must not know rows of other records.

use std::collections::{BTreeSet, HashSet};

use hearth_contract::resources::resource;
use rusqlite::Connection;
use serde_json::Value;

use super::super::history::History;
use super::super::ledger::{Ledger, LedgerEdit};
use super::super::model::Model;
use super::super::observer::{self, OpenEdit, Rows, SettledEdit, SyncState};
use super::super::record::{Fields, MARK, RecordKey, marks};

/// Checks all edits of a replica and adds them to the ledger.
pub(super) fn check_edits(
    database: &Connection,
    ledger: &mut Ledger,
    model: &Model,
    edits: &[OpenEdit],
    state: &SyncState,
    rows: &Rows,
) -> Result<(), String> {
    let view = View { model, state, rows };
    for edit in edits {
        check_open_edit(ledger, &view, edit)?;
    }
    let failed = |error: rusqlite::Error| format!("the replica cannot be read: {error}");
    let mut open: BTreeSet<i64> = edits.iter().map(|edit| edit.id).collect();
    open.extend(observer::coalesced_edits(database, None).map_err(failed)?);
    let settled = observer::settled_edits(database).map_err(failed)?;
    check_written_values(database, ledger, model, edits, &settled)?;
    for edit in &settled {
        if open.contains(&edit.id) {
            return Err(format!("edit {} is open and settled at the same time", edit.id));
        }
        if ledger.outcomes.insert(edit.id, edit.outcome.clone()).is_none() {
            check_outcome(ledger, &view, &settled, edit)?;
        }
    }
    let lost = ledger.edits.iter().find(|(id, _)| !open.contains(*id) && !ledger.outcomes.contains_key(id));
    match lost {
        Some((id, edit)) => Err(format!("edit {id} ({} of {}) has disappeared", edit.method, edit.record)),
        None => Ok(()),
    }
}

/// What the edits are compared with.
struct View<'a> {
    model: &'a Model,
    state: &'a SyncState,
    rows: &'a Rows,
}

impl View<'_> {
    /// The position of a record in this replica. While the tables are incomplete: the position that the row shows.
    fn position_of(&self, record: &RecordKey) -> i64 {
        if self.state.is_complete {
            return self.state.position;
        }
        let shown = self.rows.get(record).and_then(|row| row["rev"].as_i64()).unwrap_or_default();
        shown.min(self.state.position)
    }

    /// True when the row shows a version of the position or newer, or when the row is gone. The row then never shows an
    /// older version again.
    fn shows(&self, record: &RecordKey, position: i64) -> bool {
        self.rows.get(record).is_none_or(|row| row["rev"].as_i64().is_some_and(|rev| rev >= position))
    }
}

fn check_open_edit(ledger: &mut Ledger, view: &View<'_>, edit: &OpenEdit) -> Result<(), String> {
    let View { model, .. } = view;
    let OpenEdit { id, record, method, patch, .. } = edit;
    let (since, position) = ledger.first_seen(*id, model, view.position_of(record));
    let seen = LedgerEdit { record: record.clone(), method: method.clone(), patch: patch.clone(), since, position };
    ledger.written.entry(*id).or_insert_with(|| (record.clone(), Fields::new())).1.extend(patch.clone());
    // The record can change: an edit of the profile gets the id of the home. The patch can change: an unsent edit
    // absorbs later edits.
    ledger.edits.insert(*id, seen.clone());
    if edit.needs_a_person() && edit.reason.is_none() {
        return Err(format!("edit {id} is {} without a reason", edit.state));
    }
    let is_lost_by_server = edit.reason.as_deref().is_some_and(|why| why.contains("was put back to an older copy"));
    if is_lost_by_server && !model.was_restored() {
        return Err(format!("edit {id} counts as lost, but the server was never restored"));
    }
    if edit.state == "sent" && !was_applied(model, &ledger.without_later_edits(*id, &seen)) {
        return Err(format!("edit {id} counts as sent, but the server never had the edit"));
    }
    Ok(())
}

/// Checks an edit that has ended since the last check, and adds the edit to the ledger.
fn check_outcome(
    ledger: &mut Ledger,
    view: &View<'_>,
    settled: &[SettledEdit],
    edit: &SettledEdit,
) -> Result<(), String> {
    let View { model, state, rows } = view;
    let SettledEdit { id, record, method, patch, outcome, rev, reason, .. } = edit;
    let (since, position) = ledger.first_seen(*id, model, view.position_of(record));
    let seen = LedgerEdit { record: record.clone(), method: method.clone(), patch: patch.clone(), since, position };
    let effect = without_reverted_fields(settled, edit, ledger.without_later_edits(*id, &seen));
    // After a restore, a stream may still deliver a delete that only the discarded history contains.
    let was_deleted_in_discarded_history = model.was_restored()
        && method == "delete"
        && ledger.deletes_seen.contains(record)
        && !rows.contains_key(record);
    match outcome.as_str() {
        "confirmed" if !was_deleted_in_discarded_history && !was_applied(model, &effect) => {
            let patch = Value::Object(patch.clone());
            return Err(format!("edit {id} counts as confirmed, but the server never had the edit: {patch}"));
        }
        "confirmed" if rev.is_some_and(|rev| rev > state.position && !view.shows(record, rev)) => {
            return Err(format!("edit {id} is settled at {}, before the feed has passed {rev:?}", state.position));
        }
        "discarded" | "undone" if !ledger.given_up.contains(id) => {
            return Err(format!("edit {id} is {outcome}, but no person has decided that"));
        }
        "merged" if !changed_nothing(reason.as_deref()) && !was_applied(model, &effect) => {
            return Err(format!("edit {id} counts as merged, but the server never had the values: {reason:?}"));
        }
        "superseded" if is_next_task(reason.as_deref()) => check_next_task(view, edit)?,
        "superseded" if !was_superseded(ledger, model, *id, &effect) => {
            return Err(format!("edit {id} counts as superseded, but nothing superseded the edit: {reason:?}"));
        }
        _ => {}
    }
    ledger.edits.insert(*id, seen);
    Ok(())
}

/// True when the edit ended because there was nothing to send.
fn changed_nothing(reason: Option<&str>) -> bool {
    reason.is_some_and(|why| why.contains("never sent") || why.contains("changes nothing"))
}

/// True when the edit was the create of a next task, which is never sent.
fn is_next_task(reason: Option<&str>) -> bool {
    let reasons = [
        "the server has made the task itself",
        "the server has made no next task",
        "the change from which it follows never reaches the server",
        "the task is deleted on the server",
    ];
    reason.is_some_and(|why| reasons.contains(&why))
}

/// Checks why the create of a next task ended: the server has or had the task, or has none at the position of the replica.
/// A completion that never reaches the server is checked as an edit of its own.
fn check_next_task(view: &View<'_>, edit: &SettledEdit) -> Result<(), String> {
    let SettledEdit { id, record, reason, .. } = edit;
    let was_there = view.model.find_history(|history| history.versions.contains_key(record)).is_some();
    // A replica that was away need not learn of a task that was made and deleted meanwhile.
    let there = view.model.current().version_at(record, view.state.position);
    let is_there = there.is_some_and(|version| version.fields.is_some());
    let is_true = match reason.as_deref() {
        Some("the server has made no next task") => !is_there,
        Some("the change from which it follows never reaches the server") => true,
        _ => was_there,
    };
    match is_true || view.model.was_restored() {
        true => Ok(()),
        false => Err(format!("edit {id} of the next task {record} ended wrongly: {reason:?}")),
    }
}

/// True when another change replaces the edit: a later local delete, a delete on the server, or a decision of a person.
/// After a restore any edit may be superseded.
fn was_superseded(ledger: &Ledger, model: &Model, id: i64, edit: &LedgerEdit) -> bool {
    let is_deleted_on_server = edit.method != "create" && model.was_absent_since(&edit.record, edit.since);
    let by_a_person =
        !ledger.asks_on_conflict || ledger.given_up.contains(&id) || model.facts.decided_records.contains(&edit.record);
    ledger.has_later_delete(id, &edit.record)
        || is_deleted_on_server
        || by_a_person
        || model.was_restored()
        || was_applied(model, edit)
}

/// Checks that no written value is lost. A value that no later local edit has overwritten is in an open edit, in a
/// coalesced edit, in the edit history, or on the server. Edits that have ended or were given up are not checked: the
/// history forgets them after a month.
fn check_written_values(
    database: &Connection,
    ledger: &Ledger,
    model: &Model,
    edits: &[OpenEdit],
    settled: &[SettledEdit],
) -> Result<(), String> {
    let coalesced =
        observer::coalesced_patches(database).map_err(|error| format!("the replica cannot be read: {error}"))?;
    let open_patches = edits.iter().map(|edit| &edit.patch);
    let patches = open_patches.chain(&coalesced).chain(settled.iter().map(|edit| &edit.patch));
    let here: HashSet<&str> = patches.flat_map(marks).collect();
    let is_on_server = |mark: &str| model.find_history(|history| history.has_mark(mark)).is_some();
    let is_open = |id: &i64| !ledger.outcomes.contains_key(id) && !ledger.given_up.contains(id);
    for (id, (record, written)) in ledger.written.iter().filter(|(id, _)| is_open(id)) {
        let later = || ledger.written.range(id + 1..).filter(|(_, (other, _))| other.is_same_record(record));
        for (field, value) in written {
            let is_lost = |text: &&str| text.starts_with(MARK) && !here.contains(text) && !is_on_server(text);
            let mark = value.as_str().filter(is_lost);
            if let Some(mark) = mark.filter(|_| !later().any(|(_, (_, over))| over.contains_key(field))) {
                return Err(format!("{mark}, which edit {id} wrote, is lost"));
            }
        }
    }
    Ok(())
}

/// The edit without the fields that its request set back to their first values. A request of coalesced edits does not
/// contain such a field, and a value that others wrote there stays.
fn without_reverted_fields(settled: &[SettledEdit], edit: &SettledEdit, mut effect: LedgerEdit) -> LedgerEdit {
    let is_coalesced = |other: &&SettledEdit| {
        edit.idempotency_key.is_some()
            && other.idempotency_key == edit.idempotency_key
            && other.record.is_same_record(&edit.record)
    };
    let up_to_edit = || settled.iter().filter(is_coalesced).take_while(|other| other.id <= edit.id);
    let first_value = |field: &String| up_to_edit().find_map(|other| other.base.get(field));
    effect.patch.retain(|field, value| first_value(field) != Some(value));
    effect
}

/// True when the server had the effect of the edit, in any history. For a delete: the record was absent at some moment
/// since the edit, because a server that was restored to an older backup confirms the delete of an unknown record.
fn was_applied(model: &Model, edit: &LedgerEdit) -> bool {
    let LedgerEdit { record, method, patch, since, .. } = edit;
    // Fields that the server computes may differ: somebody else may have completed the task before.
    let is_computed = |name: &str| resource(record.kind).field(name).is_some_and(|field| !field.is_writable());
    let written: Vec<_> = patch.iter().filter(|(name, _)| !is_computed(name)).collect();
    let has_patch = |fields: &Fields| written.iter().all(|(name, value)| fields.get(*name) == Some(*value));
    let had_patch = |history: &&History| {
        let versions = history.versions.get(record);
        versions.is_some_and(|versions| versions.iter().any(|version| version.fields.as_deref().is_some_and(has_patch)))
    };
    // The profile exists from the beginning, without values and without an event.
    let first_profile_has_patch = || record.kind.is_singleton() && written.iter().all(|(_, value)| value.is_null());
    match method.as_str() {
        "delete" => model.was_absent_since(record, *since),
        _ => model.find_history(had_patch).is_some() || first_profile_has_patch(),
    }
}

//! The checks of one replica after a step. Must not know how a state came about.

use std::collections::BTreeSet;

use hearth_contract::schema::Kind;
use rusqlite::Connection;

use super::super::ledger::Ledger;
use super::super::model::Model;
use super::super::observer::{self, OpenEdit, Rows, Snapshot, SyncState};
use super::super::record::RecordKey;
use super::{edits, tables};

/// The mass-delete guard of the replica: more records of a kind than this number must not vanish unasked.
const GUARD_MIN_RECORDS: usize = 50;
/// The mass-delete guard of the replica: a larger part of a kind than one in this number must not vanish unasked.
const GUARD_PART: usize = 5;

/// Checks all that the database shows, unless the database has not changed since the last check. `unaware`: the server
/// was restored, and the replica cannot know that yet.
pub fn check(database: &Connection, ledger: &mut Ledger, model: &Model, unaware: bool) -> Result<(), String> {
    let failed = |error: rusqlite::Error| format!("the replica cannot be read: {error}");
    let version = database.prepare_cached("PRAGMA data_version").and_then(|mut s| s.query_row([], |row| row.get(0)));
    let version: i64 = version.map_err(failed)?;
    let received_deletes = std::mem::take(&mut ledger.received_deletes);
    ledger.deletes_seen.extend(received_deletes.iter().map(|(_, record)| record.clone()));
    let database_version = (version, database.total_changes());
    if ledger.database_version.replace(database_version) == Some(database_version) {
        return Ok(());
    }
    // One transaction for all reads costs less than a transaction for each.
    let database = &database.unchecked_transaction().map_err(failed)?;
    check_gate_and_triggers(database, ledger)?;
    let state = observer::sync_state(database).map_err(failed)?;
    check_sync_state(&state, ledger, model)?;
    let open_edits = observer::open_edits(database).map_err(failed)?;
    // A response that is not from the server must not reject an edit.
    if let Some(edit) = open_edits.iter().find(|edit| edit.state == "rejected" && edit.problem.is_none()) {
        return Err(format!("edit {} counts as refused, but not by the server: {:?}", edit.id, edit.reason));
    }
    let rows = observer::rows(database).map_err(failed)?;
    edits::check_edits(database, ledger, model, &open_edits, &state, &rows)?;
    check_vanished_records(ledger, model, &state, &rows)?;
    if !model.was_restored() {
        let applied = state.reconcile_tail.unwrap_or(state.position);
        let stored = received_deletes.into_iter().filter(|(at, _)| *at <= applied);
        ledger.deletes_applied.extend(stored.map(|(_, record)| record));
        check_rows_never_go_back(ledger, &open_edits, &rows)?;
    }
    let result = match state.is_complete && !unaware {
        true => tables::check_at_position(model, &state, &open_edits, &rows),
        false => tables::check_known_versions(model, &open_edits, &rows, unaware),
    };
    ledger.last_snapshot = Some(Snapshot { state, edits: open_edits });
    result
}

fn check_gate_and_triggers(database: &Connection, ledger: &Ledger) -> Result<(), String> {
    let failed = |error: rusqlite::Error| format!("the replica cannot be read: {error}");
    let gate: i64 = database
        .prepare_cached("SELECT open FROM _gate")
        .and_then(|mut s| s.query_row([], |r| r.get(0)))
        .map_err(failed)?;
    if gate != 0 {
        return Err("the gate is open outside a transaction".to_owned());
    }
    if ledger.has_watch_triggers {
        let differences = observer::watched_differences(database).map_err(failed)?;
        if !differences.is_empty() {
            return Err(format!("triggers of a script do not fire for tasks {}", differences.join(", ")));
        }
    }
    Ok(())
}

/// Checks that the sync state claims no more than is true.
fn check_sync_state(state: &SyncState, ledger: &Ledger, model: &Model) -> Result<(), String> {
    let highest = model.highest_head();
    if state.position > highest {
        return Err(format!("position {} was never committed ({highest})", state.position));
    }
    if state.head.is_some_and(|head| head > highest) {
        return Err(format!("head {:?} was never committed ({highest})", state.head));
    }
    let heads = [state.live_head, state.head.filter(|_| state.phase == "live")];
    if heads.into_iter().flatten().any(|head| head > state.position) {
        return Err(format!("the phase is live at position {} of {heads:?}", state.position));
    }
    if state.phase_is_premature {
        return Err(format!("the phase is {}, but the tables are incomplete", state.phase));
    }
    if state.phase == "needs_key" && !ledger.key_can_be_refused {
        return Err("the phase is needs_key, but the server has refused no key".to_owned());
    }
    Ok(())
}

/// Checks the mass-delete guard: many records vanish only when the feed or the list of deleted ids has deleted them, or a person
/// has agreed. A
/// question about deletions names no more records than are deleted.
fn check_vanished_records(ledger: &mut Ledger, model: &Model, state: &SyncState, rows: &Rows) -> Result<(), String> {
    let before = std::mem::replace(&mut ledger.shown_records, rows.keys().cloned().collect());
    let reads_deletions = std::mem::replace(&mut ledger.was_reading_deletions, state.reads_deletions);
    let current = (reads_deletions || state.reads_deletions).then(|| model.current().records_at(model.current().head));
    for kind in Kind::COLLECTIONS {
        let of_kind = || before.iter().filter(|record| record.kind == kind);
        let total = of_kind().count();
        let is_listed = |record: &RecordKey| current.as_ref().is_some_and(|current| !current.contains_key(record));
        let is_unexplained = |record: &&RecordKey| {
            !rows.contains_key(*record) && !ledger.deletes_seen.contains(*record) && !is_listed(record)
        };
        let vanished = of_kind().filter(is_unexplained).count();
        if vanished > GUARD_MIN_RECORDS && vanished > total / GUARD_PART && !ledger.deletions_accepted {
            return Err(format!("{vanished} of {total} {kind} records vanish, and no person has agreed"));
        }
    }
    if state.reconcile_tail.is_none() {
        ledger.deletions_accepted = false;
    }
    if state.question != ledger.last_question && !model.was_restored() {
        let records = model.current().records_at(model.current().head);
        let deleted = before.iter().chain(ledger.highest_revs.keys()).filter(|record| !records.contains_key(record));
        let deleted = deleted.collect::<BTreeSet<_>>().len();
        let asked = state.question.as_deref().and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or(0);
        if deleted < asked {
            return Err(format!("{deleted} records are deleted, but the question is: {:?}", state.question));
        }
    }
    ledger.last_question.clone_from(&state.question);
    Ok(())
}

/// Checks that no row shows an older version than before, and that no deleted record appears again. Both may happen
/// after a restore of the server, and are not checked then.
fn check_rows_never_go_back(ledger: &mut Ledger, edits: &[OpenEdit], rows: &Rows) -> Result<(), String> {
    let is_edited = |record: &RecordKey| edits.iter().any(|edit| edit.record == *record);
    for (record, row) in rows {
        if ledger.deletes_applied.contains(record) && !is_edited(record) {
            return Err(format!("{record} is shown, after the feed has deleted the record"));
        }
        let Some(rev) = row["rev"].as_i64() else { continue };
        match ledger.highest_revs.insert(record.clone(), rev) {
            Some(known) if known > rev => {
                return Err(format!("{record} is shown at {rev}, after it was shown at {known}"));
            }
            _ => {}
        }
    }
    Ok(())
}

//! What must be true when nothing is in transit any more. Must not know the steps before.

use rusqlite::Connection;
use serde_json::Value;

use hearth_contract::schema::Kind;

use super::super::history::History;
use super::super::ledger::{Ledger, LedgerEdit};
use super::super::model::{LogPoint, Model};
use super::super::observer::{self, OpenEdit, SettledEdit};
use super::super::record::{RecordKey, marks};

/// Checks that each edit that needs a person has a true reason: a blocked edit depends on another edit that needs a
/// person, a conflict has a change on the server, and a refused reference is missing on the server.
pub fn check_waiting_edits(ledger: &Ledger, edits: &[OpenEdit], model: &Model) -> Result<(), String> {
    for edit in edits.iter().filter(|edit| edit.state == "blocked") {
        let why = edit.reason.as_deref().unwrap_or_default();
        let cause = why.split_whitespace().find_map(|word| word.trim_end_matches(',').parse::<i64>().ok());
        if !edits.iter().any(|other| Some(other.id) == cause && other.needs_a_person()) {
            return Err(format!("edit {} is blocked, but nothing blocks the edit: {why}", edit.id));
        }
    }
    // After a restore, a record may have returned since the server's answer.
    if model.was_restored() {
        return Ok(());
    }
    let current = model.current();
    let decided = &model.facts.decided_records;
    for edit in edits.iter().filter(|edit| edit.state == "conflict" && !decided.contains(&edit.record)) {
        let seen = ledger.edits.get(&edit.id).ok_or_else(|| format!("edit {} was never seen", edit.id))?;
        if !has_conflict(ledger, current, seen, edit) {
            return Err(format!("edit {} is in conflict without a change on the server: {:?}", edit.id, edit.reason));
        }
    }
    let records = current.records_at(current.head);
    for edit in edits.iter().filter(|edit| edit.state == "rejected") {
        let room = edit.patch.get("room_id").and_then(Value::as_str).unwrap_or_default();
        if edit.reason.as_deref().is_some_and(|why| why.contains("room_id"))
            && records.contains_key(&RecordKey { kind: Kind::Room, id: room.to_owned() })
        {
            return Err(format!("edit {} is refused for an existing room, {room}: {:?}", edit.id, edit.reason));
        }
    }
    Ok(())
}

/// True when the server has changed the edited fields, or deleted the record, since the replica's position at the edit.
/// An earlier edit of the record that the server did not apply as a whole hid such changes: then its position counts.
fn has_conflict(ledger: &Ledger, current: &History, seen: &LedgerEdit, edit: &OpenEdit) -> bool {
    // After a retention gap, the order of the own request and of other writes is unknown.
    if edit.reason.as_deref().is_some_and(|why| why.contains("may have been on the server already")) {
        return true;
    }
    let versions = current.versions.get(&edit.record).map(Vec::as_slice).unwrap_or_default();
    // The row of a record that the server has deleted stays visible, and a person can edit the row again.
    if versions.last().is_some_and(|version| version.fields.is_none()) {
        return true;
    }
    let gave_up_fields = |id: &i64, known: &LedgerEdit| {
        ledger.written.get(id).is_some_and(|(_, all)| all.keys().any(|field| !known.patch.contains_key(field)))
    };
    let was_applied = |id: &i64, known: &LedgerEdit| {
        ledger.outcomes.get(id).is_some_and(|outcome| outcome == "confirmed") && !gave_up_fields(id, known)
    };
    let earlier = ledger.edits.range(..edit.id).filter(|(_, known)| known.record == seen.record);
    let earlier = earlier.filter(|(id, known)| !was_applied(id, known)).map(|(_, known)| known.position);
    let position = earlier.chain([seen.position]).min().unwrap_or_default();
    let mut since = versions.iter().filter(|version| version.rev > position);
    let before = || current.version_at(&edit.record, position).and_then(|version| version.fields.as_deref());
    match edit.method.as_str() {
        "create" => !versions.is_empty(),
        "delete" => since.count() > 0,
        _ => since.any(|after| match (before(), after.fields.as_deref()) {
            (Some(before), Some(after)) => edit.patch.keys().any(|field| before.get(field) != after.get(field)),
            // The record was created or deleted since.
            _ => true,
        }),
    }
}

/// Checks that the server still holds every confirmed edit. An edit that a restore has discarded waits for a person
/// again, unless a later local change or a delete on the server took its place, or the discarded history had already
/// overwritten the value.
pub fn check_confirmed_edits(
    database: &Connection,
    ledger: &Ledger,
    edits: &[OpenEdit],
    model: &Model,
) -> Result<(), String> {
    let settled = observer::settled_edits(database).map_err(|error| format!("the replica cannot be read: {error}"))?;
    let current = model.current();
    for edit in settled.into_iter().filter(|edit| edit.outcome == "confirmed") {
        if may_be_gone(ledger, edits, model, &edit) {
            continue;
        }
        let SettledEdit { id, record, method, patch, .. } = edit;
        let edit = LedgerEdit { record, method, patch, since: LogPoint::default(), position: 0 };
        let edit = ledger.without_later_edits(id, &edit);
        let record = &edit.record;
        let is_held =
            |mark: &str| current.mark_counts.keys().any(|(other, known)| known == mark && other.is_same_record(record));
        let was_overwritten = |mark: &str| model.discarded().iter().any(|lost| lost.has_overwritten(record, mark));
        if let Some(mark) = marks(&edit.patch).find(|mark| !is_held(mark) && !was_overwritten(mark)) {
            return Err(format!("edit {id} is confirmed, but {mark} of {record} is lost without a sign to a person"));
        }
    }
    Ok(())
}

/// True when a confirmed edit need not be visible on the server any more.
fn may_be_gone(ledger: &Ledger, edits: &[OpenEdit], model: &Model, edit: &SettledEdit) -> bool {
    let SettledEdit { id, record, method, .. } = edit;
    let decided = model.facts.decided_records.contains(record) || ledger.given_up.contains(id);
    method == "delete"
        || decided
        || ledger.has_later_delete(*id, record)
        || model.current().last_version(record).is_some_and(|last| last.fields.is_none())
        // The whole record waits for a person.
        || edits.iter().any(|edit| edit.record == *record && edit.needs_a_person())
}

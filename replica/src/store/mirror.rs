//! The server's version of one record, written to its base image and its row. The higher revision wins, and a deleted id stays
//! deleted. Must not know whether an event or a list brought the record.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::Transaction;

use crate::store::edits::reason::Reason;
use crate::store::edits::{acked, next_tasks, settle};
use crate::store::{StoreError, base, rows};

/// Applies a version of a record, with or without edits, when the version is newer than the known one.
pub(crate) fn apply(tx: &Transaction<'_>, kind: Kind, id: &str, rev: i64, payload: &Fields) -> Result<(), StoreError> {
    if acked::edits_of_record(tx, kind, id)?.is_empty() {
        return put_without_edits(tx, kind, id, rev, payload);
    }
    match base::save_if_newer(tx, kind, id, &rows::StoredRecord::from_payload(kind, rev, payload))? {
        true => base::rebase(tx, kind, id),
        false => Ok(()),
    }
}

/// Writes the base image and the row of a record without edits, unless a newer version or the record's delete is known.
pub(super) fn put_without_edits(
    tx: &Transaction<'_>,
    kind: Kind,
    id: &str,
    rev: i64,
    payload: &Fields,
) -> Result<(), StoreError> {
    let stored = rows::StoredRecord::from_payload(kind, rev, payload);
    if hearth_simulated::planted(hearth_simulated::PlantedFault::OlderImageWins) {
        base::save(tx, kind, id, &stored)?;
        return rows::write_row(tx, kind, id, &stored);
    }
    match base::save_if_newer(tx, kind, id, &stored)? {
        true => rows::write_row(tx, kind, id, &stored),
        false => Ok(()),
    }
}

/// Deletes a record at a revision, unless a newer version is known. `has_edits`: true when the record has edits.
pub(super) fn delete(
    tx: &Transaction<'_>,
    kind: Kind,
    id: &str,
    rev: i64,
    has_edits: bool,
    now: Timestamp,
) -> Result<(), StoreError> {
    if base::newest_rev(tx, kind, id)?.is_some_and(|newest| rev <= newest) {
        return Ok(());
    }
    if hearth_simulated::planted(hearth_simulated::PlantedFault::TombstonesNotStored) && !has_edits {
        base::forget_record(tx, kind, id)?;
        return rows::delete_row(tx, kind, id);
    }
    delete_but_version(tx, kind, id, rev, has_edits, &Reason::DeletedThere, now)?;
    match has_edits {
        true => Ok(()),
        // Not by the edits of the database: those that this batch confirms are still there.
        false => base::drop_last_version(tx, kind, id),
    }
}

/// Deletes a record at a revision, and keeps its last version. `reason`: why its edits wait for a person.
pub(super) fn delete_but_version(
    tx: &Transaction<'_>,
    kind: Kind,
    id: &str,
    rev: i64,
    has_edits: bool,
    reason: &Reason<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    base::mark_deleted(tx, kind, id, rev)?;
    if !has_edits {
        return rows::delete_row(tx, kind, id);
    }
    next_tasks::end::end_deleted(tx, kind, id, rev, now)?;
    settle::record_is_deleted(tx, kind, id, rev, reason, now)
}

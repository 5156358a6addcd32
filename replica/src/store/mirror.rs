//! The server's version of one record, written to its row, its base image or its tombstone. The higher revision wins, and a
//! deleted id stays deleted. Must not know whether an event or a list brought the record.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::Transaction;

use crate::store::edits::{acked, next_tasks, settle};
use crate::store::{StoreError, base, rows};

/// Applies a version of a record, with or without edits, when the version is newer than the known one.
pub(crate) fn apply(tx: &Transaction<'_>, kind: Kind, id: &str, rev: i64, payload: &Fields) -> Result<(), StoreError> {
    if acked::edits_of_record(tx, kind, id)?.is_empty() {
        return put_without_edits(tx, kind, id, rev, payload, true);
    }
    match save_base(tx, kind, id, rev, payload)? {
        true => base::rebase(tx, kind, id),
        false => Ok(()),
    }
}

/// Writes the row of a record without edits, unless a newer version or the record's delete is known. `has_images`: true when
/// a record is known by more than its row.
pub(super) fn put_without_edits(
    tx: &Transaction<'_>,
    kind: Kind,
    id: &str,
    rev: i64,
    payload: &Fields,
    has_images: bool,
) -> Result<(), StoreError> {
    let stored = rows::StoredRecord::from_payload(kind, rev, payload);
    if hearth_simulated::planted(hearth_simulated::PlantedFault::OlderImageWins) {
        return rows::write_row(tx, kind, id, &stored);
    }
    if has_images {
        if newest_besides_row(tx, kind, id)?.is_some_and(|newest| rev <= newest) {
            return Ok(());
        }
        // A base image that is left over is older.
        base::remove(tx, kind, id)?;
    }
    rows::upsert_row_if_newer(tx, kind, id, &stored)
}

/// Saves the base image of a record with edits. False when a newer version is known.
pub(super) fn save_base(
    tx: &Transaction<'_>,
    kind: Kind,
    id: &str,
    rev: i64,
    payload: &Fields,
) -> Result<bool, StoreError> {
    if newest(tx, kind, id)?.is_some_and(|newest| rev <= newest) {
        return Ok(false);
    }
    base::save(tx, kind, id, &rows::StoredRecord::from_payload(kind, rev, payload))?;
    Ok(true)
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
    if newest(tx, kind, id)?.is_some_and(|newest| rev <= newest) {
        return Ok(());
    }
    tx.prepare_cached(
        "INSERT INTO _tombstones (kind, record_id, rev) VALUES (?1, ?2, ?3)
         ON CONFLICT DO UPDATE SET rev = max(rev, excluded.rev)",
    )?
    .execute((kind.as_str(), id, rev))?;
    if hearth_simulated::planted(hearth_simulated::PlantedFault::TombstonesNotStored) {
        tx.execute("DELETE FROM _tombstones", [])?;
    }
    if !has_edits {
        return rows::delete_row(tx, kind, id);
    }
    base::mark_deleted(tx, kind, id, rev)?;
    next_tasks::end::end_deleted(tx, kind, id, rev, now)?;
    settle::record_is_deleted(tx, kind, id, rev, now)
}

/// The newest revision of a record that was ever applied; None for a record that was never seen.
pub(crate) fn newest(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<Option<i64>, StoreError> {
    Ok(rows::load_rev(tx, kind, id)?.max(newest_besides_row(tx, kind, id)?))
}

/// The newest revision in the base image and the tombstone of a record.
pub(super) fn newest_besides_row(tx: &Transaction<'_>, kind: Kind, id: &str) -> Result<Option<i64>, StoreError> {
    Ok(tx
        .prepare_cached(
            "SELECT max(rev) FROM (SELECT rev FROM _base WHERE kind = ?1 AND record_id = ?2
             UNION ALL SELECT rev FROM _tombstones WHERE kind = ?1 AND record_id = ?2)",
        )?
        .query_row((kind.as_str(), id), |row| row.get(0))?)
}

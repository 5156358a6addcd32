//! Starts a sound database from the beginning of the feed. Must not touch edits, except their proofs.

use std::path::Path;

use rusqlite::Transaction;

use super::report::RebuildReport;
use crate::model::LogLevel;
use crate::store::reconcile::lost;
use crate::store::schema::search;
use crate::store::sync_log::log;
use crate::store::{StoreError, base, gate, open};

/// Forgets the position of a sound database: the replica then reads the whole feed again and compares all records.
/// Rows stay until the server's version replaces them.
pub(super) fn start_over(db: &Path) -> Result<RebuildReport, StoreError> {
    let mut connection = open::read_write(db)?;
    // Before all other writes, because a damaged `search` would make them fail.
    gate::sync_tx(&mut connection, search::refill)?;
    let edits = gate::sync_tx(&mut connection, |tx| {
        // A home without a server is read from nowhere.
        if tx.query_row("SELECT phase = 'local' FROM _sync", [], |row| row.get(0))? {
            return count_edits(tx);
        }
        let is_complete = "SELECT backfilled AND NOT EXISTS (SELECT 1 FROM _reconcile) FROM _sync";
        if tx.query_row(is_complete, [], |row| row.get(0))? {
            lost::note_overwritten(tx)?;
        }
        forget_revisions(tx)?;
        forget_position(tx)?;
        log(tx, LogLevel::Info, "Reading everything again, because a person asked for it.")?;
        count_edits(tx)
    })?;
    Ok(RebuildReport { edits, ..RebuildReport::default() })
}

/// Forgets all that is known of a server: the replica then reads the feed of another one from its beginning.
pub(in crate::store) fn forget_server(tx: &Transaction<'_>) -> Result<(), StoreError> {
    forget_revisions(tx)?;
    tx.execute_batch("DELETE FROM _reconcile; UPDATE _sync SET max_file_bytes = NULL")?;
    forget_position(tx)
}

fn count_edits(tx: &Transaction<'_>) -> Result<usize, StoreError> {
    let count: i64 = tx.query_row("SELECT count(*) FROM edits", [], |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or_default())
}

/// Forgets every revision, so that each version of the server counts as newer, and every delete: the feed repeats the
/// deletes that are valid in the server's present history.
fn forget_revisions(tx: &Transaction<'_>) -> Result<(), StoreError> {
    base::forget_revs(tx, 0)?;
    Ok(tx.execute_batch("DELETE FROM _listed")?)
}

/// Sets the cursor to the beginning of the feed. A running reconcile after a server restore starts again instead:
/// only this reconcile offers the edits that the server has lost. The reconcile also lists all records and asks
/// before a mass delete.
fn forget_position(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let is_restored: bool =
        tx.query_row("SELECT EXISTS (SELECT 1 FROM _reconcile WHERE cause = 'restored')", [], |row| row.get(0))?;
    let text = if is_restored {
        // When a cursor that the server does not know blocks the sync, no question to a person is open. The cursor is
        // forgotten.
        "UPDATE _sync SET cursor = CASE WHEN phase = 'blocked' AND (SELECT question IS NULL FROM _reconcile) THEN NULL
             ELSE cursor END;
         UPDATE _reconcile SET since = NULL, step = 'property', kind = NULL, cursor = NULL, as_of = NULL, question = NULL,
             tail_position = CASE WHEN (SELECT cursor IS NULL FROM _sync) THEN NULL ELSE tail_position END;
         UPDATE _sync SET current_at = NULL, phase = 'new', reason = NULL, verified_at = NULL;"
    } else {
        // The interrupted reconcile would have shown whether these edits were applied. Now the edits are sent again
        // with their keys, and the responses show it.
        "DELETE FROM _reconcile;
         UPDATE edits SET state = 'waiting'
         WHERE state = 'sent' AND id NOT IN (SELECT edit_id FROM _outbox WHERE acked_rev IS NOT NULL);
         UPDATE _sync SET cursor = NULL, position = 0, head = NULL, backfilled = 0, current_at = NULL,
             phase = 'new', reason = NULL, verified_at = NULL;"
    };
    Ok(tx.execute_batch(text)?)
}

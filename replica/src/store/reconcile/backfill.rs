//! The end of a backfill: whether the rows need a reconcile. Must not change records.

use rusqlite::Transaction;

use crate::model::ReconcileCause;
use crate::store::StoreError;

/// The cause of the reconcile that must follow a backfill which has reached the head. None: the rows are right. `cursor`: the feed
/// goes on from it.
pub(crate) fn cause_to_reconcile(
    tx: &Transaction<'_>,
    head: i64,
    cursor: Option<&str>,
) -> Result<Option<ReconcileCause>, StoreError> {
    let (is_done, stored_cursor): (bool, Option<String>) =
        tx.query_row("SELECT backfilled OR EXISTS (SELECT 1 FROM _reconcile), cursor FROM _sync", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if is_done {
        return Ok(None);
    }
    if is_another_history(tx, head)? {
        return Ok(Some(ReconcileCause::Restored { resume: cursor.map(str::to_owned).or(stored_cursor), fork: None }));
    }
    // Known records that the feed did not show: the server lacks them, or a rebuild forgot the revision after the feed had shown them.
    let has_unknown_revs = "SELECT EXISTS (SELECT 1 FROM _base WHERE rev IS NULL AND NOT deleted)";
    let is_any_unknown: bool = tx.query_row(has_unknown_revs, [], |row| row.get(0))?;
    Ok(is_any_unknown.then_some(ReconcileCause::Asked { accepted: false }))
}

/// True when a confirmed edit belongs to another history than the server's: the edit's position is after the head, or
/// the record's revision is lower than the edit's position. Only a restored server shows such an edit. The server
/// cannot report the restore, because the backfill began without a cursor.
fn is_another_history(tx: &Transaction<'_>, head: i64) -> Result<bool, StoreError> {
    let confirmed = "FROM edit_history h WHERE h.outcome IN ('confirmed', 'merged')";
    let beyond = format!("SELECT EXISTS (SELECT 1 {confirmed} AND h.rev > ?1)");
    if tx.query_row(&beyond, [head], |row| row.get(0))? {
        return Ok(true);
    }
    let before = format!(
        "SELECT EXISTS (SELECT 1 {confirmed} AND h.rev > (
             SELECT i.rev FROM _base i WHERE i.kind = h.kind AND i.record_id = h.record_id AND NOT i.deleted))"
    );
    Ok(tx.query_row(&before, [], |row| row.get(0))?)
}

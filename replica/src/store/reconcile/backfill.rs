//! The end of a backfill: the feed has shown every record that the server has. A base image at an unknown revision is then of a
//! record that the server does not have: a rebuild reads the feed from the beginning with such images. Must not touch records
//! that the server never had.

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::Transaction;

use crate::model::{LogLevel, Method, ReconcileCause};
use crate::store::edits::reason::Reason;
use crate::store::edits::settle;
use crate::store::reconcile::sweep::is_mass_delete;
use crate::store::reconcile::{listing, sentences};
use crate::store::{StoreError, base, log};

/// Ends the backfill at the head, and deletes the known records that it did not show. Nothing is deleted when a
/// reconcile is needed; then the result is the cause of the reconcile. A reconcile is needed when a confirmed edit
/// belongs to another history, or when a person must agree to a mass delete. `cursor`: the feed continues from this
/// cursor.
pub(crate) fn finish(
    tx: &Transaction<'_>,
    head: i64,
    cursor: Option<&str>,
    now: Timestamp,
) -> Result<Option<ReconcileCause>, StoreError> {
    let (is_done, before): (bool, Option<String>) =
        tx.query_row("SELECT backfilled OR EXISTS (SELECT 1 FROM _reconcile), cursor FROM _sync", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if is_done {
        return Ok(None);
    }
    if let (Some(resume), true) = (cursor.map(str::to_owned).or(before), is_another_history(tx, head)?) {
        return Ok(Some(ReconcileCause::Restored { resume, fork: None }));
    }
    let mut all = Vec::new();
    for kind in Kind::COLLECTIONS {
        let missing = missing(tx, kind)?;
        let gone = missing.iter().filter(|record| record.is_lost()).count();
        if is_mass_delete(i64::try_from(gone).unwrap_or(i64::MAX), listing::count_known(tx, kind)?) {
            return Ok(Some(ReconcileCause::Asked { accepted: false }));
        }
        all.extend(missing);
    }
    let gone = all.iter().filter(|record| record.is_lost()).count();
    for Missing { kind, id, last } in all {
        base::mark_deleted(tx, kind, &id, head)?;
        match last {
            Some(_) => settle::record_is_deleted(tx, kind, &id, head, &Reason::DeletedThere, now)?,
            None => base::rebase(tx, kind, &id)?,
        }
    }
    if gone > 0 {
        log(tx, LogLevel::Info, &sentences::backfill_done(i64::try_from(gone).unwrap_or(i64::MAX)))?;
    }
    Ok(None)
}

/// A known record that the backfill did not show.
struct Missing {
    kind: Kind,
    id: String,
    /// The method of the record's last edit; None without edits.
    last: Option<Method>,
}

impl Missing {
    /// False when the record's last edit deletes the record too.
    fn is_lost(&self) -> bool {
        self.last != Some(Method::Delete)
    }
}

fn missing(tx: &Transaction<'_>, kind: Kind) -> Result<Vec<Missing>, StoreError> {
    let mut statement = tx.prepare(
        "SELECT record_id, (SELECT method FROM edits e
                            WHERE e.kind = ?1 AND e.record_id = i.record_id ORDER BY e.id DESC LIMIT 1)
         FROM _base i WHERE kind = ?1 AND rev IS NULL AND NOT deleted",
    )?;
    let found = statement.query_map([kind.as_str()], |row| Ok(Missing { kind, id: row.get(0)?, last: row.get(1)? }))?;
    Ok(found.collect::<Result<_, _>>()?)
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

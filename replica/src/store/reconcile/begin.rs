//! Begins a reconcile, or restarts a running reconcile. Knows whether a backfill needs one at its end. Must not send requests.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};

use crate::model::{BlockCause, LogLevel, PAGE_RECORDS, Reconcile, ReconcileCause, ReconcileScope};
use crate::store::edits::missed_events;
use crate::store::reconcile::progress::load;
use crate::store::reconcile::{listing, lost};
use crate::store::schema::order;
use crate::store::{StoreError, base, gate, log, select};

/// Records of unknown revision that are fetched one by one in any case.
const UNKNOWN_REVS_MAX: i64 = 100;

/// Begins a reconcile, or restarts the running reconcile from the server's present state. None when the replica has
/// nothing to compare: the feed was not read yet, or a person asks during the first backfill.
pub(crate) fn begin(connection: &mut Connection, cause: &ReconcileCause) -> Result<Option<Reconcile>, StoreError> {
    gate::sync_tx(connection, |tx| begin_in(tx, cause, false))
}

/// Begins a reconcile that fetches all records again, because the rows are not trusted: no revision is known afterwards,
/// so every version of the server is newer. A server that does not know the cursor may have any history. `knows_all`: no base image
/// is missing.
pub(in crate::store) fn begin_anew(tx: &Transaction<'_>, knows_all: bool) -> Result<(), StoreError> {
    // `rebuild` syncs first if it can, so `blocked_by` is the answer of the present server.
    let is_unknown = "SELECT blocked_by IS ?1 FROM _sync";
    if tx.query_row(is_unknown, [BlockCause::UnknownCursor], |row| row.get(0))? {
        begin_with_unknown_history(tx)?;
    } else {
        if knows_all && is_whole(tx)? {
            // A restore before the end of the reconcile must not take these edits for lost.
            lost::note_overwritten(tx, false)?;
        }
        base::forget_revs(tx, 0, true)?;
        if begin_in(tx, &ReconcileCause::Asked { accepted: false }, false)?.is_none() {
            log(
                tx,
                LogLevel::Info,
                "All records are compared with the server's lists at the end of the first download.",
            )?;
        }
    }
    // Without a reconcile the first backfill goes on.
    tx.execute(
        "UPDATE _sync SET phase = CASE WHEN EXISTS (SELECT 1 FROM _reconcile) THEN 'reconciling' ELSE 'new' END,
             blocked_by = NULL, reason = NULL, current_at = NULL, verified_at = NULL",
        [],
    )?;
    Ok(())
}

/// Begins a reconcile with a server whose history may be another one from its beginning. The feed is read from its beginning.
pub(in crate::store) fn begin_with_unknown_history(tx: &Transaction<'_>) -> Result<(), StoreError> {
    begin_in(tx, &ReconcileCause::Restored { resume: None, fork: None }, false).map(drop)
}

/// True when a backfill has reached the head and no reconcile is running, so the replica has had all records of its home.
pub(crate) fn is_whole(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT backfilled AND NOT EXISTS (SELECT 1 FROM _reconcile) FROM _sync";
    Ok(connection.query_row(text, [], |row| row.get(0))?)
}

/// `ends_backfill`: true when the reconcile completes a backfill that has reached the head.
fn begin_in(
    tx: &Transaction<'_>,
    cause: &ReconcileCause,
    ends_backfill: bool,
) -> Result<Option<Reconcile>, StoreError> {
    tx.execute("UPDATE _sync SET reconcile_requested = 0, deletions_accepted = 0", [])?;
    let (position, backfilled, begun): (i64, bool, bool) =
        tx.query_row("SELECT position, backfilled, cursor IS NOT NULL FROM _sync", [], |row| row.try_into())?;
    let before = load(tx)?;
    if before.is_none() && !has_rows(cause, begun, backfilled || ends_backfill) {
        return Ok(None);
    }
    listing::clear(tx)?;
    base::clear_reported_missing(tx)?;
    if !matches!(cause, ReconcileCause::Asked { .. }) {
        missed_events::mark_events_missed(tx)?;
    }
    let fork = known_fork(tx, cause)?;
    let only_changes = only_changes_differ(cause, before.as_ref(), backfilled) && last_change(tx, position)?.is_some();
    let counts = counts_at_start(tx, only_changes)?;
    // Before the end of a backfill, rows are missing. During a reconcile, rows may already belong to the new history.
    let holds_one_history = backfilled && before.is_none();
    let shared = match cause {
        ReconcileCause::Restored { .. } => position.min(fork.unwrap_or(0)),
        _ => position,
    };
    // A person's agreement does not cover deletions that a later state of the server brings.
    let (accepted, tail) = match cause {
        ReconcileCause::Gap { resume } => {
            tx.execute("UPDATE _sync SET cursor = ?1", [resume])?;
            (false, None)
        }
        ReconcileCause::Restored { resume, .. } => {
            forget_history(tx, resume.as_deref(), fork, shared, holds_one_history)?;
            (false, None)
        }
        ReconcileCause::Asked { accepted } => {
            let agreed = before.as_ref().is_some_and(|reconcile| reconcile.accepted);
            (*accepted || agreed, before.map_or(Some(position), |reconcile| reconcile.tail_position))
        }
    };
    log_begin(tx, cause)?;
    let since = if only_changes || is_few_unknown(tx)? { last_change(tx, shared)? } else { None };
    tx.execute(
        "INSERT INTO _reconcile (one, cause, since, fork, tail_position, step, accepted, counts_at_start, only_changes)
         VALUES (1, ?1, ?2, ?3, nullif(?5, 0), 'property', ?4, ?6, ?7)
         ON CONFLICT DO UPDATE SET since = excluded.since, tail_position = excluded.tail_position, step = 'property',
             kind = NULL, cursor = NULL, as_of = NULL, accepted = excluded.accepted, question = NULL,
             counts_at_start = excluded.counts_at_start, only_changes = excluded.only_changes",
        (cause.as_str(), &since, fork, accepted, tail, &counts, only_changes),
    )?;
    load(tx)
}

/// True when there is something to compare. `begun`: the feed has a cursor. `is_filled`: a backfill has reached the head.
const fn has_rows(cause: &ReconcileCause, begun: bool, is_filled: bool) -> bool {
    match cause {
        ReconcileCause::Asked { .. } => begun && is_filled,
        ReconcileCause::Gap { .. } | ReconcileCause::Restored { resume: Some(_), .. } => begun,
        // Edits that were taken out of a damaged database may be lost there.
        ReconcileCause::Restored { resume: None, .. } => true,
    }
}

fn log_begin(tx: &Transaction<'_>, cause: &ReconcileCause) -> Result<(), StoreError> {
    let (level, text) = match cause {
        ReconcileCause::Gap { .. } => (
            LogLevel::Warning,
            "This replica was offline for longer than the server keeps history; comparing with the server's lists.",
        ),
        ReconcileCause::Restored { resume: Some(_), .. } => {
            (LogLevel::Warning, "The server was put back to an older copy; comparing with its lists.")
        }
        ReconcileCause::Restored { resume: None, .. } => {
            (LogLevel::Warning, "The server may have another history; comparing with its lists.")
        }
        ReconcileCause::Asked { .. } => (LogLevel::Info, "Comparing all records with the server's lists."),
    };
    log(tx, level, text)
}

/// The records of each collection, as JSON. A restart keeps the first counts: the running reconcile has fetched records that
/// the replica did not have before. None when only changes are compared: counting all records would cost more than the
/// changes, and a list of deletions proves each of them.
fn counts_at_start(tx: &Transaction<'_>, only_changes: bool) -> Result<Option<String>, StoreError> {
    if only_changes {
        return Ok(None);
    }
    let kept: Option<String> = select::first(tx, "SELECT counts_at_start FROM _reconcile", [])?;
    kept.map_or_else(|| listing::count_known_by_kind(tx), Ok).map(Some)
}

/// True when the rows are right except for what the server has changed since `_sync.position`: events were missed, within one
/// history. `is_whole`: a backfill has reached the head. A running reconcile that compares everything
/// goes on to do so.
fn only_changes_differ(cause: &ReconcileCause, before: Option<&Reconcile>, is_whole: bool) -> bool {
    let was_whole = before.map_or(is_whole, |before| matches!(before.scope, ReconcileScope::Changed { .. }));
    was_whole && matches!(cause, ReconcileCause::Gap { .. })
}

/// The fork of a restore. None when the cause names no fork, or when the running reconcile has an unknown fork:
/// records of both histories are then still mixed.
fn known_fork(tx: &Transaction<'_>, cause: &ReconcileCause) -> Result<Option<i64>, StoreError> {
    let text = "SELECT 1 FROM _reconcile WHERE cause = 'restored' AND fork IS NULL";
    let unknown = tx.prepare_cached(text)?.exists([])?;
    match cause {
        ReconcileCause::Restored { fork, .. } if !unknown => Ok(*fork),
        _ => Ok(None),
    }
}

/// Forgets what the rows hold of the discarded history. `shared`: the last position that the rows share with the present history.
/// `whole`: true when the rows hold only the discarded history.
fn forget_history(
    tx: &Transaction<'_>,
    resume: Option<&str>,
    fork: Option<i64>,
    shared: i64,
    whole: bool,
) -> Result<(), StoreError> {
    // The tail belongs to the discarded history too.
    tx.execute("DELETE FROM _reconcile", [])?;
    let go_back =
        "UPDATE _sync SET cursor = ?1, position = ?2, head = NULL, backfilled = backfilled AND ?1 IS NOT NULL";
    // Without a cursor the feed begins again, and shows only the newest event of a record.
    tx.execute(go_back, (resume, shared))?;
    lost::forget(tx, fork, whole)
}

/// The cause of the reconcile that must follow a backfill which has reached the head. None: the rows are right. `cursor`: the feed
/// goes on from it.
pub(crate) fn cause_to_reconcile(
    tx: &Transaction<'_>,
    head: i64,
    cursor: Option<&str>,
) -> Result<Option<ReconcileCause>, StoreError> {
    let (is_done, stored_cursor): (bool, Option<String>) =
        tx.query_row("SELECT backfilled OR EXISTS (SELECT 1 FROM _reconcile), cursor FROM _sync", [], |row| {
            row.try_into()
        })?;
    if is_done {
        return Ok(None);
    }
    if is_another_history(tx, head)? {
        return Ok(Some(ReconcileCause::Restored { resume: cursor.map(str::to_owned).or(stored_cursor), fork: None }));
    }
    // Known records that the feed did not show: the server lacks them, or a rebuild forgot the revision after the feed had shown
    // them.
    let is_any_unknown = tx.prepare_cached("SELECT 1 FROM _base WHERE rev IS NULL AND NOT deleted")?.exists([])?;
    Ok(is_any_unknown.then_some(ReconcileCause::Asked { accepted: false }))
}

/// True when a confirmed edit belongs to another history than the server's: the edit's position is after the head, or
/// the record's revision is lower than the edit's position. Only a restored server shows such an edit. The server
/// cannot report the restore, because the backfill began without a cursor.
fn is_another_history(tx: &Transaction<'_>, head: i64) -> Result<bool, StoreError> {
    let text = "SELECT 1 FROM edit_history h WHERE h.outcome IN ('confirmed', 'merged') AND (h.rev > ?1 OR h.rev > (
        SELECT i.rev FROM _base i WHERE i.kind = h.kind AND i.record_id = h.record_id AND NOT i.deleted))";
    Ok(tx.prepare_cached(text)?.exists([head])?)
}

/// [`begin`] at the end of a backfill. The feed continues from `position`, so the tail has this position from the start.
pub(in crate::store) fn begin_at_the_present(
    tx: &Transaction<'_>,
    cause: &ReconcileCause,
    position: i64,
) -> Result<Option<Reconcile>, StoreError> {
    begin_in(tx, cause, true)?;
    tx.execute("UPDATE _reconcile SET tail_position = ?1", [position])?;
    tx.execute("UPDATE _sync SET head = ?1", [position])?;
    load(tx)
}

/// True when the records at an unknown revision are few: fetching them one by one takes fewer requests than a list of all records.
fn is_few_unknown(tx: &Transaction<'_>) -> Result<bool, StoreError> {
    let text = "SELECT count(*) FILTER (WHERE rev IS NULL), count(*) FROM _base WHERE NOT deleted";
    let (unknown, all): (i64, i64) = tx.query_row(text, [], |row| row.try_into())?;
    Ok(unknown <= UNKNOWN_REVS_MAX || unknown * i64::from(PAGE_RECORDS) <= all)
}

/// The time (RFC 3339) of the last change up to a position. Later changes have the same time or a later time.
fn last_change(tx: &Transaction<'_>, position: i64) -> Result<Option<String>, StoreError> {
    let mut newest: Option<String> = None;
    for kind in Kind::ALL {
        // Reads the end of an index: an aggregate function would read every row.
        let text = format!(
            "SELECT updated_at FROM {} WHERE updated_at IS NOT NULL AND rev <= ?1 ORDER BY {} DESC LIMIT 1",
            kind.collection(),
            order::sort_key(kind, "updated_at")
        );
        newest = newest.max(select::first(tx, &text, [position])?);
    }
    Ok(newest)
}

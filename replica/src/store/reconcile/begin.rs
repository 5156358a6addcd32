//! Begins a reconcile, or restarts a running reconcile. Must not send requests.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::model::{LogLevel, Reconcile, ReconcileCause, ReconcileScope};
use crate::store::edits::missed_events;
use crate::store::reconcile::progress::load;
use crate::store::reconcile::{listing, lost};
use crate::store::schema::order;
use crate::store::{StoreError, base, gate, log};

/// Records of unknown revision that are fetched one by one, at most. When there are more, and more than a tenth of all
/// records, listing all records costs less.
const UNKNOWN_REVS_MAX: i64 = 100;

/// Begins a reconcile, or restarts the running reconcile from the server's present state. None when the replica has
/// nothing to compare: the feed was not read yet, or a person asks during the first backfill.
pub(crate) fn begin(connection: &mut Connection, cause: &ReconcileCause) -> Result<Option<Reconcile>, StoreError> {
    gate::sync_tx(connection, |tx| begin_in(tx, cause, false))
}

/// `ends_backfill`: true when the reconcile completes a backfill that has reached the head.
fn begin_in(
    tx: &Transaction<'_>,
    cause: &ReconcileCause,
    ends_backfill: bool,
) -> Result<Option<Reconcile>, StoreError> {
    tx.execute("UPDATE _sync SET reconcile_requested = 0, deletions_accepted = 0", [])?;
    let (position, backfilled, begun): (i64, bool, bool) =
        tx.query_row("SELECT position, backfilled, cursor IS NOT NULL FROM _sync", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    let before = load(tx)?;
    let is_filled = backfilled || ends_backfill;
    if !begun || (!is_filled && before.is_none() && matches!(cause, ReconcileCause::Asked { .. })) {
        return Ok(None);
    }
    listing::clear(tx)?;
    base::clear_reported_missing(tx)?;
    if !matches!(cause, ReconcileCause::Asked { .. }) {
        missed_events::mark_events_missed(tx)?;
    }
    let rereads = !backfilled && has_unknown_revs(tx)?;
    let mut since = match &before {
        Some(reconcile) => reconcile.since.clone(),
        // The lists show every record that the rest of the backfill would have shown.
        None if rereads => None,
        None => last_change(tx, position)?,
    };
    let fork = known_fork(tx, cause)?;
    let only_changes = only_changes_differ(cause, before.as_ref(), backfilled);
    let counts = counts_at_start(tx, only_changes)?;
    match cause {
        ReconcileCause::Gap { resume } => {
            tx.execute("UPDATE _sync SET cursor = ?1", [resume])?;
            log(
                tx,
                LogLevel::Warning,
                "This replica was offline for longer than the server keeps history; comparing with the server's lists.",
            )?;
        }
        ReconcileCause::Restored { resume, .. } => {
            // During a reconcile, rows may already belong to the new history.
            let whole = backfilled && before.is_none();
            let restored = Restored { resume, fork, position, whole };
            since = restored.forget_history(tx, since, rereads)?;
        }
        ReconcileCause::Asked { .. } => {
            log(tx, LogLevel::Info, "Comparing with the server's lists, as a person asked.")?;
        }
    }
    // A person's agreement does not cover deletions that a later state of the server brings.
    let (accepted, tail) = match cause {
        ReconcileCause::Asked { accepted } => {
            let agreed = before.as_ref().is_some_and(|reconcile| reconcile.accepted);
            (*accepted || agreed, before.map_or(Some(position), |reconcile| reconcile.tail_position))
        }
        ReconcileCause::Gap { .. } | ReconcileCause::Restored { .. } => (false, None),
    };
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

/// The records of each collection, as JSON. A restart keeps the first counts: the running reconcile has fetched records that
/// the replica did not have before. None when only changes are compared: counting all records would cost more than the
/// changes, and a list of deletions proves each of them.
fn counts_at_start(tx: &Transaction<'_>, only_changes: bool) -> Result<Option<String>, StoreError> {
    if only_changes {
        return Ok(None);
    }
    let kept: Option<String> =
        tx.query_row("SELECT counts_at_start FROM _reconcile", [], |row| row.get(0)).optional()?.flatten();
    kept.map_or_else(|| listing::count_known_by_kind(tx), Ok).map(Some)
}

/// True when the rows are right except for what the server has changed since `_sync.position`: events were missed, within one
/// history. `is_whole`: a backfill has reached the head. A running reconcile that compares everything
/// goes on to do so.
fn only_changes_differ(cause: &ReconcileCause, before: Option<&Reconcile>, is_whole: bool) -> bool {
    let was_whole = match before {
        Some(Reconcile { scope: ReconcileScope::Changed { .. }, .. }) => true,
        Some(Reconcile { scope: ReconcileScope::Everything, .. }) => false,
        None => is_whole,
    };
    was_whole && matches!(cause, ReconcileCause::Gap { .. })
}

/// The fork of a restore. None when the cause names no fork, or when the running reconcile has an unknown fork:
/// records of both histories are then still mixed.
fn known_fork(tx: &Transaction<'_>, cause: &ReconcileCause) -> Result<Option<i64>, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM _reconcile WHERE cause = 'restored' AND fork IS NULL)";
    let unknown: bool = tx.query_row(text, [], |row| row.get(0))?;
    match cause {
        ReconcileCause::Restored { fork, .. } if !unknown => Ok(*fork),
        _ => Ok(None),
    }
}

/// A restored server, and the part of the discarded history that the rows hold.
struct Restored<'a> {
    resume: &'a str,
    fork: Option<i64>,
    position: i64,
    /// True when the rows hold only the discarded history, up to `position`.
    whole: bool,
}

impl Restored<'_> {
    /// Forgets the discarded history and offers its edits again. Returns the time (RFC 3339) from which changed
    /// records must be listed; None when all records must be listed.
    fn forget_history(
        &self,
        tx: &Transaction<'_>,
        since: Option<String>,
        rereads: bool,
    ) -> Result<Option<String>, StoreError> {
        let shared = self.fork.unwrap_or(0).min(self.position);
        // The tail belongs to the discarded history too.
        tx.execute("DELETE FROM _reconcile", [])?;
        tx.execute("UPDATE _sync SET cursor = ?1, position = ?2, head = NULL", (self.resume, shared))?;
        let unknown = lost::forget(tx, self.fork, self.whole)?;
        let all: i64 = tx.query_row(&count_all(), [], |row| row.get(0))?;
        let is_few = unknown <= UNKNOWN_REVS_MAX || unknown * 10 <= all;
        let since = match last_change(tx, shared)?.filter(|_| !rereads) {
            Some(at) if is_few => Some(since.map_or(at.clone(), |since| since.min(at))),
            _ => None,
        };
        log(tx, LogLevel::Warning, "The server was put back to an older copy; comparing with its lists.")?;
        if let Some(fork) = self.fork {
            lost::offer_after_fork(tx, fork)?;
        }
        Ok(since)
    }
}

/// Begins a reconcile with a server whose history is not that of the rows, before its feed was read: the feed is read from its
/// beginning, and all records are compared.
pub(in crate::store) fn compare_with_unknown_history(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let counts = counts_at_start(tx, false)?;
    lost::forget_positions(tx)?;
    tx.execute(
        "INSERT INTO _reconcile (one, cause, step, accepted, counts_at_start, only_changes)
         VALUES (1, 'restored', 'property', 0, ?1, 0)",
        [counts],
    )?;
    Ok(())
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

/// True when the server has records at an unknown revision: a rebuild reads the feed from the beginning, and has not ended.
fn has_unknown_revs(tx: &Transaction<'_>) -> Result<bool, StoreError> {
    Ok(tx.query_row("SELECT EXISTS (SELECT 1 FROM _base WHERE rev IS NULL AND NOT deleted)", [], |row| row.get(0))?)
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
        newest = newest.max(tx.query_row(&text, [position], |row| row.get(0)).optional()?);
    }
    Ok(newest)
}

fn count_all() -> String {
    let parts: Vec<String> =
        Kind::ALL.iter().map(|kind| format!("(SELECT count(*) FROM {})", kind.collection())).collect();
    format!("SELECT {}", parts.join(" + "))
}

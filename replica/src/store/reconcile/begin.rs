//! The beginning of a reconcile, or of a running one anew. Must not request anything.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::model::{Reconcile, ReconcileCause};
use crate::store::edits::maybe_applied;
use crate::store::reconcile::progress::load;
use crate::store::reconcile::{listing, lost};
use crate::store::schema::order;
use crate::store::{StoreError, base, gate, log};

/// With more records of unknown revision than this, and more than a tenth of all, listing everything costs less than
/// fetching each.
const UNKNOWN_REVS_MAX: i64 = 100;

/// Begins a reconcile, or begins the running one again from the server's present state. None when no reconcile is
/// running and nothing was read yet: there is nothing to compare.
pub(crate) fn begin(connection: &mut Connection, cause: &ReconcileCause) -> Result<Option<Reconcile>, StoreError> {
    gate::sync_tx(connection, |tx| begin_in(tx, cause))
}

fn begin_in(tx: &Transaction<'_>, cause: &ReconcileCause) -> Result<Option<Reconcile>, StoreError> {
    tx.execute("UPDATE _sync SET reconcile_requested = 0, deletions_accepted = 0", [])?;
    let (position, backfilled, begun, replaying): (i64, bool, bool, bool) =
        tx.query_row("SELECT position, backfilled, cursor IS NOT NULL, replaying FROM _sync", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    let before = load(tx)?;
    if !begun || (!backfilled && before.is_none() && matches!(cause, ReconcileCause::Asked { .. })) {
        return Ok(None);
    }
    // Records that a running reconcile has fetched were not here at its start.
    let counts: Option<String> =
        tx.query_row("SELECT counts_at_start FROM _reconcile", [], |row| row.get(0)).optional()?.flatten();
    let counts = counts.map_or_else(|| listing::count_known_by_kind(tx), Ok)?;
    listing::clear(tx)?;
    base::clear_reported_missing(tx)?;
    if !matches!(cause, ReconcileCause::Asked { .. }) {
        maybe_applied::mark_events_missed(tx)?;
    }
    // The lists show what the rest of a replay would have shown.
    tx.execute_batch("UPDATE _sync SET replaying = 0; DELETE FROM _seen;")?;
    let mut since = match &before {
        Some(reconcile) => reconcile.since.clone(),
        None if replaying => None,
        None => last_change(tx, position)?,
    };
    let fork = known_fork(tx, cause)?;
    match cause {
        ReconcileCause::Gap { resume } => {
            tx.execute("UPDATE _sync SET cursor = ?1", [resume])?;
            log(tx, "warning", "This replica was away longer than the server remembers; comparing with its lists.")?;
        }
        ReconcileCause::Restored { resume, .. } => {
            // The rows of a running reconcile may already be of the next history.
            let whole = backfilled && !replaying && before.is_none();
            let restored = Restored { resume, fork, position, whole };
            since = restored.forget_history(tx, since, replaying)?;
        }
        ReconcileCause::Asked { .. } => {
            log(tx, "info", "Comparing with the server's lists, as a person asked.")?;
        }
    }
    // A person has not agreed to deletions that a later state of the server brings.
    let (accepted, tail) = match cause {
        ReconcileCause::Asked { accepted } => {
            let agreed = before.as_ref().is_some_and(|reconcile| reconcile.accepted);
            (*accepted || agreed, before.map_or(Some(position), |reconcile| reconcile.tail_position))
        }
        ReconcileCause::Gap { .. } | ReconcileCause::Restored { .. } => (false, None),
    };
    tx.execute(
        "INSERT INTO _reconcile (one, cause, since, fork, tail_position, step, accepted, counts_at_start)
         VALUES (1, ?1, ?2, ?3, nullif(?5, 0), 'property', ?4, ?6)
         ON CONFLICT DO UPDATE SET since = excluded.since, tail_position = excluded.tail_position, step = 'property',
             kind = NULL, cursor = NULL, as_of = NULL, accepted = excluded.accepted, question = NULL,
             counts_at_start = excluded.counts_at_start",
        (cause.as_str(), &since, fork, accepted, tail, &counts),
    )?;
    load(tx)
}

/// The fork that a cause names. None while a running reconcile has a fork that nobody knows: both histories must still be
/// told apart.
fn known_fork(tx: &Transaction<'_>, cause: &ReconcileCause) -> Result<Option<i64>, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM _reconcile WHERE cause = 'restored' AND fork IS NULL)";
    let unknown: bool = tx.query_row(text, [], |row| row.get(0))?;
    match cause {
        ReconcileCause::Restored { fork, .. } if !unknown => Ok(*fork),
        _ => Ok(None),
    }
}

/// A restored server, and what is here of the discarded history.
struct Restored<'a> {
    resume: &'a str,
    fork: Option<i64>,
    position: i64,
    /// True when the rows hold the discarded history up to `position`, and nothing else.
    whole: bool,
}

impl Restored<'_> {
    /// Forgets the discarded history and offers its edits again. Gives the moment from which records must be listed, when
    /// fewer than all records must be.
    fn forget_history(
        &self,
        tx: &Transaction<'_>,
        since: Option<String>,
        replaying: bool,
    ) -> Result<Option<String>, StoreError> {
        let shared = self.fork.unwrap_or(0).min(self.position);
        // The discarded history ends the tail as well.
        tx.execute("DELETE FROM _reconcile", [])?;
        tx.execute("UPDATE _sync SET cursor = ?1, position = ?2, head = NULL", (self.resume, shared))?;
        let unknown = lost::forget(tx, self.fork, self.whole)?;
        let all: i64 = tx.query_row(&count_all(), [], |row| row.get(0))?;
        let is_few = unknown <= UNKNOWN_REVS_MAX || unknown * 10 <= all;
        let since = match last_change(tx, shared)?.filter(|_| !replaying) {
            Some(at) if is_few => Some(since.map_or(at.clone(), |since| since.min(at))),
            _ => None,
        };
        log(tx, "warning", "The server was put back to an older copy; comparing with its lists.")?;
        if let Some(fork) = self.fork {
            lost::offer_after_fork(tx, fork)?;
        }
        Ok(since)
    }
}

/// [`begin`] at the end of a replay up to a position. The feed goes on from there, so the tail has this position at
/// once.
pub(in crate::store) fn begin_at_the_present(
    tx: &Transaction<'_>,
    cause: &ReconcileCause,
    position: i64,
) -> Result<Option<Reconcile>, StoreError> {
    begin_in(tx, cause)?;
    tx.execute("UPDATE _reconcile SET tail_position = ?1", [position])?;
    tx.execute("UPDATE _sync SET head = ?1", [position])?;
    load(tx)
}

/// The time of the last change up to a position: every later change has this time or a later one.
fn last_change(tx: &Transaction<'_>, position: i64) -> Result<Option<String>, StoreError> {
    let mut newest: Option<String> = None;
    for kind in Kind::ALL {
        // From the end of an index. An aggregate over all rows would read each row.
        let text = format!(
            "SELECT updated_at FROM {} WHERE updated_at IS NOT NULL AND rev BETWEEN 1 AND ?1 ORDER BY {} DESC LIMIT 1",
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

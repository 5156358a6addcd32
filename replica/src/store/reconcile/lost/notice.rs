//! Finds accepted edits that the server has lost: the feed passes an edit's position and does not show the edit. Must
//! not compare edits at an unknown position.

use std::collections::HashSet;

use hearth_contract::event::Event;
use hearth_contract::formats::Timestamp;
use rusqlite::Transaction;

use super::candidate::{Candidate, accepted};
use super::compare::{is_shown_by, is_shown_by_record};
use super::end::offer_missing;
use crate::store::edits::reason::Reason;
use crate::store::{StoreError, base};

/// Forgets the positions of accepted edits that the feed may have skipped, because the feed resumed at an unknown
/// position. At the end of the reconcile, the records show whether the server has the edits. `known`: edits that the
/// feed has shown.
pub(crate) fn forget_skipped(tx: &Transaction<'_>, from: i64, to: i64, known: &HashSet<i64>) -> Result<(), StoreError> {
    let mut skipped = accepted(tx, "s.acked_rev > ?1 AND s.acked_rev <= ?2", [from, to])?;
    skipped.retain(|edit| !known.contains(&edit.edit));
    skipped.iter().try_for_each(|edit| edit.forget_position(tx))
}

/// A part of the feed that was applied.
pub(in crate::store) struct Passed {
    /// The position before the part.
    pub before: i64,
    /// The position after the part.
    pub position: i64,
    /// True when the rows show every event up to `before`. False in a reconcile: then only edits with a position in
    /// the part are compared.
    pub whole: bool,
}

/// Looks for accepted edits whose position the feed has passed without showing the edits, and lets [`offer_missing`] settle them.
/// The feed leaves no event out after a valid cursor (contract 9.3). `seen`: edits that the feed has shown. True when there was such
/// an edit.
pub(in crate::store) fn notice(
    tx: &Transaction<'_>,
    passed: &Passed,
    events: &[Event],
    seen: &HashSet<i64>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let condition = "s.acked_rev <= ?1 AND (?2 OR s.acked_rev > ?3 AND e.method <> 'delete')";
    let (mut missing, mut is_restored) = (Vec::new(), false);
    for edit in accepted(tx, condition, (passed.position, passed.whole, passed.before))? {
        if seen.contains(&edit.edit) {
            continue;
        }
        let trace = trace(tx, &edit, passed, events)?;
        is_restored |= trace == Trace::Discarded;
        if trace != Trace::Shown {
            missing.push(edit);
        }
    }
    let is_any = !missing.is_empty();
    let reason = if is_restored { Reason::LostWithHistory } else { Reason::NoLongerThere };
    offer_missing(tx, missing, &reason, now)?;
    Ok(is_any)
}

/// What a part of the feed shows about an accepted edit.
#[derive(PartialEq)]
enum Trace {
    /// The feed shows the edit, or a newer version of its record.
    Shown,
    /// The feed has passed the position of the edit and does not show the edit: the server was restored.
    Discarded,
    /// The feed had passed the position before. A late answer may also belong to a record that was created and deleted during a
    /// backfill, which does not show it (contract 9.2).
    NoLongerShown,
}

fn trace(tx: &Transaction<'_>, edit: &Candidate, passed: &Passed, events: &[Event]) -> Result<Trace, StoreError> {
    let (rev, is_delete): (i64, bool) = tx.query_row(
        "SELECT s.acked_rev, e.method = 'delete' FROM _outbox s JOIN edits e ON e.id = s.edit_id WHERE e.id = ?1",
        [edit.edit],
        |row| row.try_into(),
    )?;
    // The position in the response to a delete is not the position of the delete event.
    if is_delete {
        // A record that was never shown here, or is known to be deleted, has no delete event to come.
        let is_there = "SELECT 1 FROM _base WHERE kind = ?1 AND record_id = ?2 AND NOT deleted";
        let is_there = tx.prepare_cached(is_there)?.exists((edit.kind.as_str(), &edit.record))?;
        return Ok(if is_there { Trace::Discarded } else { Trace::Shown });
    }
    if rev <= passed.before {
        let newest = base::newest_rev(tx, edit.kind, &edit.record)?;
        // The position may be the head of a restored server, at which the record has another client's version.
        let is_shown = newest > Some(rev) || newest == Some(rev) && is_shown_by_record(tx, edit)?;
        return Ok(if is_shown { Trace::Shown } else { Trace::NoLongerShown });
    }
    match events.iter().find(|event| event.id == rev && event.resource_id.to_string() == edit.record) {
        Some(event) if is_shown_by(tx, edit, event)? => Ok(Trace::Shown),
        _ => Ok(Trace::Discarded),
    }
}

/// Finds accepted edits whose position is after the head. The server accepted the edits before it reported the
/// head, so the head belongs to another history. `before`: the edits that were accepted before the server reported
/// the head.
pub(crate) fn compare_head(tx: &Transaction<'_>, head: i64, before: &[i64], now: Timestamp) -> Result<(), StoreError> {
    let mut sent = accepted(tx, "s.acked_rev > ?1", [head])?;
    sent.retain(|edit| before.contains(&edit.edit));
    let is_behind = "SELECT 1 FROM _sync WHERE position < ?1 AND NOT EXISTS (SELECT 1 FROM _reconcile)";
    if tx.prepare_cached(is_behind)?.exists([head])? {
        // The rows are older than the server's records, so they cannot tell yet what is lost. With the head as its revision, an
        // edit is compared by `notice` when the feed has reached the head.
        let mut update = tx.prepare_cached("UPDATE _outbox SET acked_rev = ?2 WHERE edit_id = ?1")?;
        return sent.iter().try_for_each(|edit| Ok(update.execute((edit.edit, head)).map(drop)?));
    }
    offer_missing(tx, sent, &Reason::LostWithHistory, now)
}

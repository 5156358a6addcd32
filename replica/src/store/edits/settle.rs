//! Ends edits: the feed has passed an accepted edit, or other values replace the edit. Ended edits move to the
//! history. Must not send.

use std::collections::BTreeSet;

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Row, Transaction};

use crate::model::{EditOutcome, LogLevel, Method};
use crate::store::edits::acked::{Acked, edits_of_record, id_list};
use crate::store::edits::pending::{self, PendingEdit};
use crate::store::edits::reason::{Reason, need_person};
use crate::store::edits::{edit_ids, outbox};
use crate::store::merge::{FieldConflict, side};
use crate::store::{StoreError, base, log, rows, select};

/// Ended edits stay in the history for 30 days.
const HISTORY_MILLIS: i64 = 30 * 24 * 3600 * 1000;

/// Old edits that a batch of the feed deletes from the history, at most.
const FORGOTTEN_MAX: i64 = 100;

/// Confirms the accepted edits whose position the feed has passed. The base images now contain these edits. Returns the
/// records of the edits; their rows are rewritten.
pub(crate) fn settle(
    tx: &Transaction<'_>,
    position: i64,
    now: Timestamp,
) -> Result<BTreeSet<(Kind, String)>, StoreError> {
    // The position alone proves nothing, because a restored server counts positions again. The feed must have shown the
    // record at the edit's position or later, or its delete.
    let mut passed = "s.acked_rev <= ?1 AND (coalesce(i.deleted, e.method = 'delete') OR e.method <> 'delete' AND i.rev >= s.acked_rev)";
    if hearth_simulated::planted(hearth_simulated::PlantedFault::OverlayDroppedAtAck) {
        passed = "?1 >= 0";
    }
    let text = format!(
        "SELECT e.id, e.kind, e.record_id, CASE WHEN e.method = 'create' AND i.deleted AND i.fields = '{{}}' THEN i.rev END
         FROM edits e JOIN _outbox s ON s.edit_id = e.id
         LEFT JOIN _base i ON i.kind = e.kind AND i.record_id = e.record_id WHERE e.state = 'sent' AND {passed}"
    );
    let (mut edits, mut records) = (Vec::new(), BTreeSet::new());
    let read = |row: &Row<'_>| Ok((row.get(0)?, rows::kind(row, 1)?, row.get::<_, String>(2)?, row.get(3)?));
    for (edit, kind, record, ended) in select::all(tx, &text, [position], read)? {
        // The record was deleted before the feed showed its create. The accepted values become the last version of the
        // record, below the record's later edits.
        if let Some(ended) = ended {
            base::mark_deleted(tx, kind, &record, ended)?;
        }
        edits.push((edit, None));
        records.insert((kind, record));
    }
    finish(tx, &edits, EditOutcome::Confirmed, None, now)?;
    for (kind, record) in &records {
        base::rebase(tx, *kind, record)?;
    }
    Ok(records)
}

/// Notes that a restore cannot lose these edits of the history: later changes replaced their values before it. Their position no
/// longer counts. The mark lasts until the end of the reconcile.
pub(crate) fn mark_overwritten(tx: &Transaction<'_>, edits: &[i64]) -> Result<(), StoreError> {
    for edit in edits {
        tx.prepare_cached("UPDATE edit_history SET rev = NULL WHERE id = ?1")?.execute([edit])?;
        let mark =
            "INSERT INTO _outbox (edit_id, overwritten) VALUES (?1, 1) ON CONFLICT DO UPDATE SET overwritten = 1";
        tx.prepare_cached(mark)?.execute([edit])?;
    }
    Ok(())
}

/// Removes the marks of [`mark_overwritten`].
pub(crate) fn unmark_overwritten(tx: &Transaction<'_>) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE _outbox SET overwritten = 0 WHERE overwritten")?.execute([])?;
    outbox::remove_empty(tx)
}

/// Deletes old entries from the history. The age is measured from the earlier of the local clock and the server's time,
/// because a clock that is ahead must not delete everything.
pub(crate) fn forget_old(tx: &Transaction<'_>, now: Timestamp, newest_event: Timestamp) -> Result<(), StoreError> {
    let oldest = now.min(newest_event).plus_millis(-HISTORY_MILLIS).to_string();
    let old = "SELECT coalesce(json_group_array(id), '[]')
               FROM (SELECT id, settled_at FROM edit_history ORDER BY id LIMIT ?2) WHERE settled_at < ?1";
    let old: String = tx.prepare_cached(old)?.query_row((oldest, FORGOTTEN_MAX), |row| row.get(0))?;
    if old != "[]" {
        for text in [
            // The server may not have decided yet about the next task of a completion.
            "DELETE FROM _outbox WHERE completes IS NULL AND edit_id IN",
            "DELETE FROM edit_history WHERE id IN",
        ] {
            tx.prepare_cached(&format!("{text} (SELECT value FROM json_each(?1))"))?.execute([&old])?;
        }
    }
    Ok(())
}

/// Ends edits: moves them to the history, which holds the parts of a coalesced edit as separate edits. Each edit with the
/// position at which the server has it; None keeps the position of the response.
pub(crate) fn finish(
    tx: &Transaction<'_>,
    edits: &[Acked],
    outcome: EditOutcome,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    if edits.is_empty() {
        return Ok(());
    }
    let list = id_list(edits.iter().copied());
    // A confirmed edit does not keep the reason for which it waited.
    tx.prepare_cached(
        "INSERT INTO edit_history (id, kind, record_id, method, patch, base, outcome, rev, reason, attempts,
             idempotency_key, origin, created_at, settled_at)
         SELECT coalesce(p.edit_id, e.id), kind, record_id, coalesce(p.as_made ->> '$.method', e.method),
             coalesce(p.as_made -> '$.patch', e.patch), coalesce(p.as_made -> '$.base', e.base),
             CASE WHEN p.as_made ->> '$.method' <> e.method AND e.method = 'delete' THEN 'superseded'
                  WHEN p.as_made ->> '$.method' = 'update' AND p.as_made -> '$.patch' = '{}' THEN 'superseded' ELSE ?2 END,
             coalesce(j.value, s.acked_rev),
             CASE ?2 WHEN 'confirmed' THEN ?4 ELSE coalesce(?4, e.reason) END, attempts, idempotency_key,
             coalesce(p.as_made ->> '$.origin', e.origin), coalesce(p.as_made ->> '$.created_at', e.created_at), ?3
         FROM json_each(?1) j CROSS JOIN edits e ON e.id = CAST(j.key AS INTEGER)
             LEFT JOIN _outbox s ON s.edit_id = e.id LEFT JOIN _outbox p ON p.part_of = e.id",
    )?
    .execute((&list, outcome, now.to_string(), reason))?;
    tx.prepare_cached("DELETE FROM edits WHERE id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))")?
        .execute([&list])?;
    update_undone(tx, &list, outcome)?;
    outbox::clear_ended(tx, &list)?;
    outbox::delete_unused_requests(tx)
}

/// Updates which edits are undone, after edits have ended.
fn update_undone(tx: &Transaction<'_>, list: &str, outcome: EditOutcome) -> Result<(), StoreError> {
    if !tx.prepare_cached("SELECT 1 FROM _outbox WHERE undone_by IS NOT NULL")?.exists([])? {
        return Ok(());
    }
    const ENDED: &str = "(SELECT CAST(key AS INTEGER) FROM json_each(?1)
         UNION ALL SELECT edit_id FROM _outbox WHERE part_of IN (SELECT CAST(key AS INTEGER) FROM json_each(?1)))";
    if matches!(outcome, EditOutcome::Confirmed | EditOutcome::Merged) {
        explain_undone(tx, list)?;
    } else {
        // A change without effect does not count as undone, so a person can make the change again.
        let text = format!("UPDATE _outbox SET undone_by = NULL WHERE undone_by IS NOT NULL AND edit_id IN {ENDED}");
        tx.prepare_cached(&text)?.execute([list])?;
    }
    // A change is in effect again when its undo had no effect. A single part of a coalesced edit may have had no
    // effect.
    let text = format!(
        "UPDATE _outbox SET undone_by = NULL WHERE undone_by IN {ENDED}
         AND NOT EXISTS (SELECT 1 FROM edit_history h WHERE h.id = undone_by AND h.outcome IN ('confirmed', 'merged'))"
    );
    tx.prepare_cached(&text)?.execute([list])?;
    Ok(())
}

/// Writes into the reasons of ended edits which edits they undo or repeat, and which edits undid or repeated them.
/// Both edits must have ended.
fn explain_undone(tx: &Transaction<'_>, list: &str) -> Result<(), StoreError> {
    let text = "WITH ended AS (SELECT CAST(key AS INTEGER) AS id FROM json_each(?1)
             UNION SELECT edit_id FROM json_each(?1) JOIN _outbox ON part_of = CAST(key AS INTEGER))
         SELECT u.edit_id, u.undone_by, coalesce(h.outcome IN ('confirmed', 'merged'), 1)
         FROM _outbox u JOIN edit_history b ON b.id = u.undone_by LEFT JOIN edit_history h ON h.id = u.edit_id
         WHERE b.outcome IN ('confirmed', 'merged') AND (u.undone_by IN ended OR u.edit_id IN ended)
         ORDER BY u.undone_by";
    let pairs: Vec<(i64, i64, bool)> = select::all(tx, text, [list], |row| Ok(row.try_into()?))?;
    let mut add_reason = tx.prepare_cached(
        "UPDATE edit_history SET reason = coalesce(reason || '; ', '') || ?2
         WHERE id = ?1 AND coalesce(reason, '') NOT LIKE '%' || ?2",
    )?;
    for (edit, by, had_effect) in pairs {
        let (does, done) = match had_effect {
            true => (format!("undoes edit {edit}"), format!("undone by edit {by}")),
            false => (format!("makes edit {edit} again"), format!("made again by edit {by}")),
        };
        add_reason.execute((by, does))?;
        add_reason.execute((edit, done))?;
    }
    Ok(())
}

/// Keeps the losing values of a conflict in the history, as an entry with a new number, because the edit may continue
/// with other fields. Returns the number: undo of this number brings the values back.
pub(super) fn keep_loser(
    tx: &Transaction<'_>,
    edit: i64,
    values: &Fields,
    against: &Fields,
    reason: &str,
    now: Timestamp,
) -> Result<i64, StoreError> {
    let number = edit_ids::next(tx)?;
    tx.prepare_cached(
        "INSERT INTO edit_history (id, kind, record_id, method, patch, base, outcome, reason, attempts, origin, created_at,
             settled_at)
         SELECT ?2, kind, record_id, 'update', ?3, ?4, 'superseded', ?5, 0, origin, ?6, ?6 FROM edits WHERE id = ?1",
    )?
    .execute((
        edit,
        number,
        rows::json_text(values),
        rows::json_text(against),
        reason,
        now.to_string(),
    ))?;
    Ok(number)
}

/// Keeps the server's values of a conflict in the history, and takes them as seen: the edit goes on with the local values. Returns
/// the number of the entry.
pub(super) fn keep_theirs(
    tx: &Transaction<'_>,
    found: &mut PendingEdit,
    conflicts: &[FieldConflict],
    why: &str,
    now: Timestamp,
) -> Result<i64, StoreError> {
    let (mine, theirs) = (side(conflicts, |conflict| &conflict.mine), side(conflicts, |conflict| &conflict.theirs));
    let number = keep_loser(tx, found.id, &theirs, &mine, &format!("lost to edit {}: {why}", found.id), now)?;
    found.base.extend(theirs);
    Ok(number)
}

/// Handles a record that the server no longer has, and that has edits here. When the last edit deletes the record too, the edits
/// end. Otherwise the edits wait for a person, and the row stays. `rev`: the record was deleted at this position or
/// before. The edits end at this position at the latest, so a later restore can tell whether the server lost the
/// delete.
pub(crate) fn record_is_deleted(
    tx: &Transaction<'_>,
    kind: Kind,
    record: &str,
    rev: i64,
    reason: &Reason<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let edits = edits_of_record(tx, kind, record)?;
    let agreed = edits.last().is_some_and(|edit| edit.method == Method::Delete);
    for edit in &edits {
        let is_delete = edit.method == Method::Delete;
        if agreed {
            let is_there = is_delete || edit.is_sent;
            let outcome = if is_there { EditOutcome::Confirmed } else { EditOutcome::Superseded };
            // The position in the response to a delete may be after the delete event. After a gap, no position may be
            // known.
            let at = if is_delete { Some(edit.rev.map_or(rev, |acked| acked.min(rev))) } else { edit.rev };
            finish(tx, &[(edit.edit, at)], outcome, None, now)?;
        } else if !edit.is_sent {
            let edit = edit.edit;
            need_person(tx, edit, reason.clone())?;
            // The record is gone, so the request has nothing to change.
            outbox::give_up_unanswered(tx, edit)?;
            let name = pending::name_of(tx, edit)?;
            let why = reason.sentence();
            log(tx, LogLevel::Warning, &format!("{name} needs you (edit {edit}, conflict), a {kind}: {why}."))?;
        }
    }
    base::rebase(tx, kind, record)
}

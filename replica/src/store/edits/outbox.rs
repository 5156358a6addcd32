//! The rows of frozen requests (`_requests`, `_outbox`): which request an edit has, and how the request is given up. Must not
//! know what a request contains.

use std::collections::HashMap;

use rusqlite::{Connection, Transaction};

use crate::store::edits::acked::id_list;
use crate::store::edits::parts;
use crate::store::{StoreError, select};

/// The keys of the edits' frozen requests, which may still take effect.
pub(super) fn frozen_keys(tx: &Connection, groups: &[Vec<i64>]) -> Result<HashMap<i64, String>, StoreError> {
    let list = id_list(groups.iter().flatten().map(|edit| (*edit, None)));
    let text = "SELECT e.id, e.idempotency_key
         FROM json_each(?1) j CROSS JOIN edits e ON e.id = CAST(j.key AS INTEGER) LEFT JOIN _outbox f ON f.edit_id = e.id
         WHERE NOT coalesce(f.given_up, 0) AND e.state IN ('waiting', 'sending', 'blocked')
             AND e.idempotency_key IS NOT NULL";
    Ok(select::all(tx, text, [list], |row| Ok(row.try_into()?))?.into_iter().collect())
}

/// Deletes the bytes of requests whose last edit has left them.
pub(super) fn delete_unused_requests(tx: &Connection) -> Result<(), StoreError> {
    let text = "DELETE FROM _requests
         WHERE NOT EXISTS (SELECT 1 FROM edits e WHERE e.idempotency_key = _requests.idempotency_key)";
    tx.prepare_cached(text)?.execute([])?;
    Ok(())
}

/// Forgets the request of an edit and its answer: the next attempt is a new request.
pub(crate) fn forget_request(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    for text in [
        "UPDATE _outbox SET if_match = NULL, if_absent = 0, given_up = 0, maybe_applied = 0, acked_rev = NULL, awaits_record = 0
         WHERE edit_id = ?1",
        "UPDATE edits SET idempotency_key = NULL WHERE id = ?1",
    ] {
        tx.prepare_cached(text)?.execute([edit])?;
    }
    delete_unused_requests(tx)
}

/// Deletes the request of an edit that was certainly not applied, and splits a coalesced edit into its parts.
fn release(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    forget_request(tx, edit)?;
    parts::split(tx, edit)
}

/// Lets an edit go in a new request of its own, after the server refused its request. A request that was sent more than once
/// may have been applied: its edits keep the key, by which the feed confirms them, and are merged again once the feed
/// is current.
pub(crate) fn renew_request(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    let was_sent_before = format!("{SENT_BEFORE} AND id = ?1 AND state IN ('waiting', 'sending', 'blocked')");
    if !tx.prepare_cached(&was_sent_before)?.exists([edit])? {
        return release(tx, edit);
    }
    let give_up = "UPDATE _outbox SET given_up = 1, if_match = NULL, if_absent = 0 WHERE edit_id = ?1";
    tx.prepare_cached(give_up)?.execute([edit])?;
    Ok(())
}

/// Edits whose request was sent more than once. The last response says nothing of the earlier attempts.
pub(super) const SENT_BEFORE: &str =
    "SELECT id FROM edits JOIN _requests USING (idempotency_key) WHERE unacked_attempts > 1";

/// Takes back the last attempt of requests that the server did not look at. Requests that were certainly not applied
/// are deleted, and their edits can be changed, discarded or sent in another request.
pub(crate) fn withdraw_attempt(tx: &Transaction<'_>, edits: &[i64]) -> Result<(), StoreError> {
    let list = id_list(edits.iter().map(|edit| (*edit, None)));
    let of_requests = "SELECT idempotency_key FROM edits WHERE id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))";
    tx.prepare_cached(&format!(
        "UPDATE _requests SET unacked_attempts = unacked_attempts - 1 WHERE idempotency_key IN ({of_requests})"
    ))?
    .execute([&list])?;
    let unsure =
        if hearth_simulated::planted(hearth_simulated::PlantedFault::MaybeAppliedForgotten) { 1_000_000 } else { 0 };
    let free = format!(
        "SELECT id FROM edits JOIN _requests USING (idempotency_key)
         WHERE unacked_attempts <= {unsure} AND idempotency_key IN ({of_requests})"
    );
    select::column(tx, &free, [list])?.into_iter().try_for_each(|edit| release(tx, edit))
}

/// Gives up the request of an edit: the request is not sent again, because the server rejected it. The last attempt had an answer,
/// so only an earlier attempt may have been applied.
pub(super) fn give_up(tx: &Connection, edit: i64) -> Result<(), StoreError> {
    let text = format!("UPDATE _outbox SET maybe_applied = 0 WHERE edit_id = ?1 AND edit_id NOT IN ({SENT_BEFORE})");
    tx.prepare_cached(&text)?.execute([edit])?;
    give_up_unanswered(tx, edit)
}

/// Gives up an edit's request whose last attempt has no answer: whether it was applied stays unknown.
pub(super) fn give_up_unanswered(tx: &Connection, edit: i64) -> Result<(), StoreError> {
    let text = "UPDATE _outbox SET given_up = 1
         WHERE edit_id = ?1 AND edit_id IN (SELECT id FROM edits WHERE idempotency_key IS NOT NULL)";
    tx.prepare_cached(text)?.execute([edit])?;
    Ok(())
}

/// Forgets of ended edits, and of their parts, what only an unconfirmed edit has. `list`: as [`id_list`] writes it.
pub(super) fn clear_ended(tx: &Connection, list: &str) -> Result<(), StoreError> {
    let ids = "SELECT CAST(key AS INTEGER) FROM json_each(?1)";
    for text in [
        format!("DELETE FROM _outbox WHERE (edit_id IN ({ids}) OR part_of IN ({ids})) AND {NOTHING_LASTS}"),
        format!(
            "UPDATE _outbox SET if_match = NULL, if_absent = 0, given_up = 0, maybe_applied = 0, acked_rev = NULL,
                 awaits_record = 0, blocked_by = NULL, part_of = NULL, as_made = NULL
             WHERE edit_id IN ({ids}) OR part_of IN ({ids})"
        ),
    ] {
        tx.prepare_cached(&text)?.execute([list])?;
    }
    Ok(())
}

/// Deletes the rows of ended edits of which nothing is known any more.
pub(super) fn remove_empty(tx: &Connection) -> Result<(), StoreError> {
    let text = format!(
        "DELETE FROM _outbox WHERE {NOTHING_LASTS} AND part_of IS NULL AND edit_id NOT IN (SELECT id FROM edits)"
    );
    tx.prepare_cached(&text)?.execute([])?;
    Ok(())
}

/// The SQL condition that nothing is known of an edit that still counts after its end.
const NOTHING_LASTS: &str = "completes IS NULL AND undone_by IS NULL AND already_applied IS NULL AND NOT overwritten";

//! The parts of coalesced edits (`_outbox.part_of`): each edit as it was made. Every part ends in the history under its own number.
//! Must not know how requests are sent.

use hearth_contract::check::Fields;
use rusqlite::{Row, Transaction};

use crate::model::Method;
use crate::store::edits::pending::PendingEdit;
use crate::store::{StoreError, rows, select};

/// Stores an edit as it is now, as a part of the edit `of`, or of itself. An edit that already has parts passes them
/// on.
pub(super) fn remember(tx: &Transaction<'_>, edit: i64, of: i64) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE _outbox SET part_of = ?2 WHERE part_of = ?1")?.execute((edit, of))?;
    tx.prepare_cached(
        "INSERT INTO _outbox (edit_id, part_of, as_made)
         SELECT id, ?2, json_object('method', method, 'patch', json(patch), 'base', json(base), 'origin', origin,
                                    'created_at', created_at) FROM edits WHERE id = ?1
         ON CONFLICT DO UPDATE SET part_of = excluded.part_of, as_made = coalesce(as_made, excluded.as_made)",
    )?
    .execute((edit, of))?;
    Ok(())
}

/// Restores the parts of an edit that the server does not have and no request carries: each part can be reverted alone
/// again.
pub(super) fn split(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    for text in [
        "INSERT INTO edits (id, kind, record_id, method, patch, base, state, reason_code, reason, attempts,
             next_attempt_at, origin, created_at)
         SELECT p.edit_id, e.kind, e.record_id, as_made ->> '$.method', as_made -> '$.patch', as_made -> '$.base', e.state,
                e.reason_code, e.reason, e.attempts, e.next_attempt_at, as_made ->> '$.origin', as_made ->> '$.created_at'
         FROM _outbox p JOIN edits e ON e.id = p.part_of WHERE p.part_of = ?1 AND p.edit_id <> ?1",
        "UPDATE edits SET (method, patch, base) =
             (SELECT as_made ->> '$.method', as_made -> '$.patch', as_made -> '$.base' FROM _outbox WHERE edit_id = ?1)
         WHERE id = ?1 AND EXISTS (SELECT 1 FROM _outbox WHERE edit_id = ?1 AND as_made IS NOT NULL)",
        "UPDATE _outbox SET part_of = NULL, as_made = NULL WHERE part_of = ?1",
    ] {
        tx.prepare_cached(text)?.execute([edit])?;
    }
    Ok(())
}

/// Updates the parts of an edit whose values a decision has changed. The last part that has a field gets the value, or
/// the first part when none has the field. Fields that the edit no longer has are removed from all parts.
pub(super) fn update_parts(tx: &Transaction<'_>, edit: &PendingEdit) -> Result<(), StoreError> {
    let PendingEdit { id, method, patch, base, .. } = edit;
    // Parts before a delete were never sent and stay as they are.
    if *method == Method::Delete {
        return Ok(());
    }
    let text = "SELECT edit_id, coalesce(as_made -> '$.patch', '{}'), coalesce(as_made -> '$.base', '{}') FROM _outbox
                WHERE part_of = ?1 ORDER BY edit_id";
    let read = |row: &Row<'_>| Ok((row.get(0)?, rows::object(row, 1)?, rows::object(row, 2)?));
    let mut parts: Vec<(i64, Fields, Fields)> = select::all(tx, text, [id], read)?;
    for (_, values, before) in &mut parts {
        values.retain(|name, _| patch.contains_key(name));
        before.retain(|name, _| patch.contains_key(name));
    }
    for (name, value) in patch {
        let last = parts.iter().rposition(|(_, values, _)| values.contains_key(name)).unwrap_or(0);
        if let Some((_, values, _)) = parts.get_mut(last) {
            values.insert(name.clone(), value.clone());
        }
        let first = parts.iter().position(|(_, values, _)| values.contains_key(name)).unwrap_or(0);
        if let Some((_, _, before)) = parts.get_mut(first)
            && let Some(value) = base.get(name)
        {
            before.insert(name.clone(), value.clone());
        }
    }
    for (number, (part, values, before)) in parts.iter().enumerate() {
        tx.prepare_cached(
            "UPDATE _outbox SET as_made = json_set(as_made, '$.patch', json(?2), '$.base', json(?3),
                 '$.method', CASE WHEN ?4 THEN ?5 ELSE as_made ->> '$.method' END) WHERE edit_id = ?1",
        )?
        .execute((part, rows::json_text(values), rows::json_text(before), number == 0, method))?;
    }
    Ok(())
}

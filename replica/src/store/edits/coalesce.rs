//! Edits of one record that are sent as one, and the parts that each of them was. Every part ends in the history under its own
//! number. Must not know how requests are sent.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use rusqlite::Transaction;

use crate::model::{EditOutcome, Method};
use crate::store::edits::prepared::{PreparedEdit, load, save, text};
use crate::store::edits::settle;
use crate::store::{StoreError, base, rows};

/// Makes one edit of an edit and later ones of its record that were never sent. None: the record came and went without
/// anybody else having heard of it.
pub(super) fn coalesce(
    tx: &Transaction<'_>,
    mut sum: PreparedEdit,
    with: &[i64],
    now: Timestamp,
) -> Result<Option<PreparedEdit>, StoreError> {
    let mut joined = Vec::new();
    for edit in with {
        match load(tx, *edit)? {
            Some(next) if next.record == sum.record && next.kind == sum.kind => joined.push(next),
            _ => break, // somebody has decided on it meanwhile, so what follows it must wait
        }
    }
    if joined.is_empty() {
        return Ok(Some(sum));
    }
    for edit in [sum.edit].into_iter().chain(joined.iter().map(|part| part.edit)) {
        remember(tx, edit, sum.edit)?;
    }
    for part in joined {
        for (name, value) in part.base {
            // What was before the first edit of a field was before their sum.
            if !sum.patch.contains_key(&name) {
                sum.base.entry(name).or_insert(value);
            }
        }
        if !hearth_simulated::planted(hearth_simulated::Fault::CoalescedEditLost) {
            sum.patch.extend(part.patch);
        }
        if part.method == Method::Delete {
            sum.patch.clear();
            if sum.method == Method::Create {
                settle::finish(tx, part.edit, EditOutcome::Merged, Some("it was never sent"), now)?;
                tx.prepare_cached("DELETE FROM _coalesced WHERE edit_id = ?1")?.execute([part.edit])?;
                settle::finish(tx, sum.edit, EditOutcome::Superseded, Some("deleted again before it was sent"), now)?;
                base::rebase(tx, sum.kind, &sum.record)?;
                return Ok(None);
            }
            sum.method = part.method;
        }
        tx.prepare_cached("DELETE FROM edits WHERE id = ?1")?.execute([part.edit])?;
    }
    if sum.method == Method::Create {
        sum.base.clear();
    }
    save(tx, &sum)?;
    Ok(Some(sum))
}

/// Remembers an edit as it is now, as a part of another or of itself; one that has parts already goes with them.
pub(super) fn remember(tx: &Transaction<'_>, edit: i64, of: i64) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE _coalesced SET of_edit = ?2 WHERE of_edit = ?1")?.execute((edit, of))?;
    tx.prepare_cached(
        "INSERT INTO _coalesced (edit_id, of_edit, method, patch, base, origin, created_at)
         SELECT id, ?2, method, patch, base, origin, created_at FROM edits WHERE id = ?1
         ON CONFLICT DO NOTHING",
    )?
    .execute((edit, of))?;
    Ok(())
}

/// Makes an edit that the server does not have, and that nothing carries any more, the changes again that it is the sum of:
/// each can be taken back by itself.
pub(super) fn split(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    for text in [
        "INSERT INTO edits (id, kind, record_id, method, patch, base, state, reason_code, reason, attempts,
             next_attempt_at, origin, created_at)
         SELECT p.edit_id, e.kind, e.record_id, p.method, p.patch, p.base, e.state, e.reason_code, e.reason, e.attempts,
                e.next_attempt_at, p.origin, p.created_at
         FROM _coalesced p JOIN edits e ON e.id = p.of_edit WHERE p.of_edit = ?1 AND p.edit_id <> ?1",
        "UPDATE edits SET (method, patch, base) = (SELECT method, patch, base FROM _coalesced WHERE edit_id = ?1)
         WHERE id = ?1 AND EXISTS (SELECT 1 FROM _coalesced WHERE edit_id = ?1)",
        "DELETE FROM _coalesced WHERE of_edit = ?1",
    ] {
        tx.prepare_cached(text)?.execute([edit])?;
    }
    Ok(())
}

/// An edit has other values than its parts come to: somebody has decided about it. Of each field the last part that has
/// it gets the value, or the first part if none has; what is no longer wanted goes from all.
pub(super) fn update_parts(
    tx: &Transaction<'_>,
    edit: i64,
    method: Method,
    patch: &Fields,
    base: &Fields,
) -> Result<(), StoreError> {
    // Whatever came before a delete was never sent, and says what it was.
    if method == Method::Delete {
        return Ok(());
    }
    let mut parts: Vec<(i64, Fields, Fields)> = Vec::new();
    let mut statement =
        tx.prepare_cached("SELECT edit_id, patch, base FROM _coalesced WHERE of_edit = ?1 ORDER BY edit_id")?;
    let mut found = statement.query([edit])?;
    while let Some(row) = found.next()? {
        let side = |n: usize| -> Result<Fields, StoreError> { rows::object(row.get_ref(n)?.as_str().unwrap_or("{}")) };
        parts.push((row.get(0)?, side(1)?, side(2)?));
    }
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
            "UPDATE _coalesced SET patch = ?2, base = ?3, method = CASE WHEN ?4 THEN ?5 ELSE method END WHERE edit_id = ?1",
        )?
        .execute((part, text(values), text(before), number == 0, method))?;
    }
    Ok(())
}

//! Reverts an edit that the server does not have: the edit ends, and the later edits of its record stay. Must not know why.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use crate::model::{EditOutcome, Method};
use crate::store::edits::pending::{self, PendingEdit};
use crate::store::edits::settle::finish;
use crate::store::edits::{next_tasks, parts};
use crate::store::{StoreError, base, select};

/// Reverts an edit that was never applied and cannot be applied any more. Later edits of the record stay in their
/// order; with a create, they end as well.
pub(crate) fn revert(
    tx: &Transaction<'_>,
    edit: i64,
    outcome: EditOutcome,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(found) = pending::load(tx, edit)? else { return Ok(()) };
    let PendingEdit { kind, record, method, .. } = &found;
    let (kind, method) = (*kind, *method);
    if method == Method::Delete
        && let Some(copy) = unsent_copy(tx, edit)?
    {
        revert(
            tx,
            copy,
            EditOutcome::Superseded,
            Some("the deletion was taken back, so the record still exists"),
            now,
        )?;
    }
    finish(tx, &[(edit, None)], outcome, reason, now)?;
    if method == Method::Create {
        for edit in later_edits(tx, kind, record, edit)? {
            finish(tx, &[(edit, None)], outcome, reason, now)?;
        }
    } else {
        update_later_bases(tx, &found, &found.patch, &found.base)?;
    }
    base::rebase(tx, kind, record)?;
    next_tasks::end::settle_shown(tx, false, now)
}

/// The unsent create that makes a deleted record anew; None once the new record has later edits.
fn unsent_copy(tx: &Connection, delete: i64) -> Result<Option<i64>, StoreError> {
    let text = "SELECT e.id FROM _outbox u JOIN edits e ON e.id = u.undone_by
         WHERE (u.edit_id = ?1 OR u.part_of = ?1)
             AND e.method = 'create' AND e.idempotency_key IS NULL
             AND NOT EXISTS (SELECT 1 FROM edits l WHERE l.kind = e.kind AND l.record_id = e.record_id AND l.id > e.id)";
    select::first(tx, text, [delete])
}

/// The edits of a record after one of them, in their order.
fn later_edits(tx: &Connection, kind: Kind, record: &str, edit: i64) -> Result<Vec<i64>, StoreError> {
    let text = "SELECT id FROM edits WHERE kind = ?1 AND record_id = ?2 AND id > ?3 ORDER BY id";
    select::column(tx, text, (kind.as_str(), record, edit))
}

/// Updates the base of later edits after the values of an earlier edit have changed: for each field, of the first edit
/// that changes the field.
pub(super) fn update_later_bases(
    tx: &Transaction<'_>,
    changed: &PendingEdit,
    fields: &Fields,
    values: &Fields,
) -> Result<(), StoreError> {
    let mut open: Vec<&String> = fields.keys().collect();
    for later in later_edits(tx, changed.kind, &changed.record, changed.id)? {
        let Some(mut later) = pending::load(tx, later)? else { continue };
        let touched: Vec<&String> = open.iter().copied().filter(|name| later.base.contains_key(*name)).collect();
        if touched.is_empty() {
            continue;
        }
        open.retain(|name| !touched.contains(name));
        for name in touched {
            later.base.insert(name.clone(), values.get(name).cloned().unwrap_or(Value::Null));
        }
        parts::update_parts(tx, &later)?;
        pending::save(tx, &later)?;
    }
    Ok(())
}

/// Phrases about the edits that depend on a reverted create: later edits of its record end too, and the server will
/// refuse edits that name the record.
pub(super) fn consequences(tx: &Connection, found: &PendingEdit) -> Result<(String, String), StoreError> {
    let with_next = match next_tasks::next_of(tx, found.id)? {
        Some(next) if !next_tasks::is_edited(tx, next)? => ", with the next task that follows it",
        _ => "",
    };
    if found.method != Method::Create {
        return Ok((with_next.to_owned(), String::new()));
    }
    let with = match later_edits(tx, found.kind, &found.record, found.id)?.len() {
        0 => with_next.to_owned(),
        1 => ", with a later change of it, which is nothing without it".to_owned(),
        many => format!(", with {many} later changes of it, which are nothing without it"),
    };
    let until = "until that is changed";
    let named = match count_referring(tx, &found.record)? {
        0 => String::new(),
        1 => format!("; another change names this {}, and the server will refuse it {until}", found.kind),
        many => format!("; {many} other changes name this {}, and the server will refuse them {until}", found.kind),
    };
    Ok((with, named))
}

/// How many edits of other records name this record.
fn count_referring(tx: &Connection, record: &str) -> Result<i64, StoreError> {
    let text = "SELECT count(*) FROM edits WHERE record_id <> ?1 AND instr(patch, ?1) > 0";
    Ok(tx.prepare_cached(text)?.query_row([record], |row| row.get(0))?)
}

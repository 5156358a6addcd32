//! An edit is taken back: it goes, and those after it on its record stay as they are. Must not know why.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde_json::Value;

use crate::model::{EditOutcome, Method};
use crate::store::edits::parts;
use crate::store::edits::settle::finish;
use crate::store::mirror::image;
use crate::store::{StoreError, rows};

/// Takes an edit back that cannot take effect any more, or never could; later edits of the record stay in order. With
/// a create goes everything that was done to what it would have made.
pub(crate) fn take_back(
    tx: &Transaction<'_>,
    edit: i64,
    outcome: EditOutcome,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (word, record, method, patch, base): (String, String, Method, String, String) = tx
        .prepare_cached("SELECT kind, record_id, method, patch, base FROM edits WHERE id = ?1")?
        .query_row([edit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
    let kind =
        Kind::parse(&word).ok_or_else(|| StoreError::InvalidContent(format!("an edit of unknown kind {word}")))?;
    if method == Method::Delete
        && let Some(copy) = unsent_copy(tx, edit)?
    {
        take_back(
            tx,
            copy,
            EditOutcome::Superseded,
            Some("the deletion came to nothing, so the record is there"),
            now,
        )?;
    }
    let later = later(tx, kind, &record, edit)?;
    finish(tx, edit, outcome, reason, now)?;
    if method == Method::Create {
        for edit in later {
            finish(tx, edit, outcome, reason, now)?;
        }
    } else {
        hand_on(tx, edit, &later, &rows::parse_object(&patch)?, &rows::parse_object(&base)?)?;
    }
    image::project(tx, kind, &record)
}

/// The edit that makes the record of a deletion anew, as long as nobody has gone on with what it makes.
fn unsent_copy(tx: &Connection, delete: i64) -> Result<Option<i64>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT e.id FROM _undone u JOIN edits e ON e.id = u.by_edit
         WHERE (u.edit_id = ?1 OR u.edit_id IN (SELECT edit_id FROM _coalesced WHERE of_edit = ?1))
             AND e.method = 'create' AND e.idempotency_key IS NULL
             AND NOT EXISTS (SELECT 1 FROM edits l WHERE l.kind = e.kind AND l.record_id = e.record_id AND l.id > e.id)",
    )?;
    Ok(statement.query_row([delete], |row| row.get(0)).optional()?)
}

/// The edits of a record after one of them, in their order.
pub(crate) fn later(tx: &Connection, kind: Kind, record: &str, edit: i64) -> Result<Vec<i64>, StoreError> {
    let mut statement =
        tx.prepare_cached("SELECT id FROM edits WHERE kind = ?1 AND record_id = ?2 AND id > ?3 ORDER BY id")?;
    let found = statement.query_map((kind.as_str(), record, edit), |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Tells the later edits of a record what their fields were before, now that an earlier one's values have become
/// others: for each field the first that touches it.
pub(crate) fn hand_on(
    tx: &Transaction<'_>,
    edit: i64,
    later: &[i64],
    fields: &Fields,
    values: &Fields,
) -> Result<(), StoreError> {
    let mut open: Vec<&String> = fields.keys().collect();
    for later in later.iter().filter(|later| **later != edit) {
        let (method, patch, base): (Method, String, String) = tx
            .prepare_cached("SELECT method, patch, base FROM edits WHERE id = ?1")?
            .query_row([later], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut base = rows::parse_object(&base)?;
        let touched: Vec<&String> = open.iter().copied().filter(|name| base.contains_key(*name)).collect();
        if touched.is_empty() {
            continue;
        }
        open.retain(|name| !touched.contains(name));
        for name in touched {
            base.insert(name.clone(), values.get(name).cloned().unwrap_or(Value::Null));
        }
        parts::follow(tx, *later, method, &rows::parse_object(&patch)?, &base)?;
        tx.prepare_cached("UPDATE edits SET base = ?2 WHERE id = ?1")?
            .execute((later, Value::Object(base).to_string()))?;
    }
    Ok(())
}

//! Found changes that are too many to become edits before a person agrees (`_found_changes`). Must not compare rows.

use std::collections::HashMap;

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde_json::Value;
use uuid::Uuid;

use super::change::FoundChange;
use super::queue::{Queued, queue};
use crate::model::{LogLevel, Method, Origin};
use crate::store::{StoreError, gate, log, rows, select};

/// More changes of a table than this are a question, if they are also more than one row in [`CHANGED_SHARE`].
const CHANGED_MIN: usize = 50;
/// See [`CHANGED_MIN`].
const CHANGED_SHARE: usize = 5;
/// More missing rows than one in this many are a question, in a table that was dropped or made anew. A script that filters a
/// data frame and writes the rest back does not mean to delete the other rows.
const MISSING_SHARE: usize = 10;
/// More missing rows than this are a question in a table that only lacked triggers.
const MISSING_MAX: usize = 8;

/// The found changes that wait for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldChanges {
    /// New and changed records.
    pub changed: i64,
    /// Missing records. The rows are shown until a person has answered.
    pub missing: i64,
}

impl HeldChanges {
    /// The question to a person as one sentence.
    pub fn question(&self) -> String {
        let records = |count: i64| if count == 1 { "1 record".to_owned() } else { format!("{count} records") };
        let what = match (self.changed, self.missing) {
            (changed, 0) => format!("changed {}", records(changed)),
            (0, missing) => format!("removed {}", records(missing)),
            (changed, missing) => format!("changed {} and removed {missing}", records(changed)),
        };
        format!("another program {what} while triggers of the replica were missing; decide what happens to the changes")
    }
}

/// Divides the changes of one table: those that become edits now, and those that wait for a person.
pub(super) fn divide(
    changes: Vec<FoundChange>,
    known: usize,
    is_replaced: bool,
) -> (Vec<FoundChange>, Vec<FoundChange>) {
    if changes.len() > CHANGED_MIN.max(known / CHANGED_SHARE) {
        return (Vec::new(), changes);
    }
    let missing = changes.iter().filter(|change| change.method == Method::Delete).count();
    let missing_max = if is_replaced { known / MISSING_SHARE } else { MISSING_MAX };
    changes.into_iter().partition(|change| missing <= missing_max || change.method != Method::Delete)
}

/// Stores changes until a person has answered, with the gate open.
pub(super) fn hold(tx: &Transaction<'_>, changes: &[FoundChange]) -> Result<(), StoreError> {
    let mut select = tx.prepare("SELECT patch, base FROM _found_changes WHERE kind = ?1 AND record_id = ?2")?;
    let mut insert = tx.prepare(
        "INSERT OR REPLACE INTO _found_changes (kind, record_id, method, patch, base, added)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let mut equal_creates: HashMap<String, usize> = HashMap::new();
    for FoundChange { kind, record, method, patch, base, added } in changes {
        // A new row may lack an id, or have the id of another row. The key is made from the content, so a second restore does not
        // store the row again.
        let record = match method {
            Method::Create => {
                let content = format!("{kind} {record} {}", Value::Object(patch.clone()));
                let occurrence = equal_creates.entry(content.clone()).or_default();
                *occurrence += 1;
                format!("{record}#{}", Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{occurrence} {content}").as_bytes()))
            }
            _ => record.clone(),
        };
        let key = (kind.as_str(), &record);
        let earlier: Option<(String, String)> =
            select.query_row(key, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let (earlier_patch, earlier_base) = earlier.unzip();
        let patch = joined(earlier_patch, patch)?;
        insert.execute((kind.as_str(), record, method, patch, joined(earlier_base, base)?, rows::json_text(added)))?;
    }
    Ok(())
}

/// Merges the values of a later change of a record into those of an earlier change. Both are JSON.
fn joined(earlier: Option<String>, later: &Fields) -> Result<String, StoreError> {
    let mut values = earlier.map(|text| rows::parse_object(&text)).transpose()?.unwrap_or_default();
    values.extend(later.clone());
    Ok(rows::json_text(&values))
}

/// The changes that wait for a person; None when no change waits.
pub(crate) fn load(connection: &Connection) -> Result<Option<HeldChanges>, StoreError> {
    let text = "SELECT count(*) FILTER (WHERE method <> 'delete'), count(*) FILTER (WHERE method = 'delete') FROM _found_changes";
    let (changed, missing) = connection.prepare_cached(text)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((changed + missing > 0).then_some(HeldChanges { changed, missing }))
}

/// Turns all waiting changes into edits. The base of an edit is the row as the other program saw the row, so the three-way merge
/// finds later changes of the server. Returns the number of queued edits, and the number of edits that wait for a person.
pub(crate) fn accept(connection: &mut Connection) -> Result<(usize, usize), StoreError> {
    gate::edit_tx(connection, Origin::Sql, |tx| {
        let changes = read(tx)?;
        gate::with_guards_off(tx, clear)?;
        let mut queued = Queued::default();
        changes.iter().try_for_each(|change| queue(tx, change, &mut queued))?;
        let Queued { edits, refused } = queued;
        let text = format!("A person has accepted changes by another program; they are {} edits.", edits + refused);
        gate::with_guards_off(tx, |tx| log(tx, LogLevel::Info, &text))?;
        Ok((edits, refused))
    })
}

/// Drops all waiting changes. Returns their number.
pub(crate) fn discard(connection: &mut Connection) -> Result<usize, StoreError> {
    gate::sync_tx(connection, |tx| {
        let dropped = clear(tx)?;
        log(tx, LogLevel::Info, &format!("A person has dropped {dropped} changes by another program."))?;
        Ok(dropped)
    })
}

fn clear(tx: &Transaction<'_>) -> Result<usize, StoreError> {
    Ok(tx.execute("DELETE FROM _found_changes", [])?)
}

/// The waiting changes. New records come first, because other records may refer to them.
fn read(tx: &Transaction<'_>) -> Result<Vec<FoundChange>, StoreError> {
    let text = "SELECT kind, record_id, method, patch, base, added FROM _found_changes
         ORDER BY method = 'delete', method <> 'create'";
    select::all(tx, text, [], |row| {
        let (kind, record): (Kind, String) = (rows::kind(row, 0)?, row.get(1)?);
        let record = record.split('#').next().unwrap_or_default().to_owned();
        let (patch, base, added) = (rows::object(row, 3)?, rows::object(row, 4)?, rows::object(row, 5)?);
        Ok(FoundChange { kind, record, method: row.get(2)?, patch, base, added })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(count: usize, method: Method) -> Vec<FoundChange> {
        let [patch, base, added] = [(); 3].map(|()| Fields::new());
        let change = FoundChange { kind: Kind::Room, record: String::new(), method, patch, base, added };
        vec![change; count]
    }

    fn held(count: usize, method: Method, known: usize, is_replaced: bool) -> usize {
        divide(changes(count, method), known, is_replaced).1.len()
    }

    #[test]
    fn missing_rows_are_held_above_limit() {
        assert_eq!(held(1, Method::Delete, 5, true), 1, "more than a tenth");
        assert_eq!(held(1, Method::Delete, 10, true), 0);
        assert_eq!(held(8, Method::Delete, 10, false), 0, "only triggers were missing");
        assert_eq!(held(9, Method::Delete, 1000, false), 9);
        let mut both = changes(2, Method::Delete);
        both.extend(changes(3, Method::Update));
        assert_eq!(divide(both, 5, true).1, changes(2, Method::Delete), "changed rows need no question");
    }

    #[test]
    fn many_changed_rows_are_held() {
        assert_eq!(held(50, Method::Update, 60, false), 0);
        assert_eq!(held(51, Method::Update, 60, false), 51);
        assert_eq!(held(51, Method::Update, 1000, true), 0, "fewer than one in five");
    }
}

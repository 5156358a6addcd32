//! Makes the generated objects of a database, or restores them, in one transaction. Must never lose a row or an edit.

use hearth_contract::resources::RESOURCES;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::compare::compare;
use super::queue::{Queued, queue};
use super::{found_table, held, unchecked};
use crate::model::LogLevel;
use crate::store::schema::search;
use crate::store::{StoreError, log, schema};

/// Objects that a sentence names, at most.
const NAMED_MAX: usize = 3;

/// What was restored after another program had removed or altered objects of the replica.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// The restored objects, such as `the table rooms`.
    pub objects: Vec<String>,
    /// Changes that no trigger had seen, and that are edits now.
    pub edits: usize,
    /// Edits among them with values that a rule refuses. They wait for a person.
    pub refused: usize,
    /// Changes that wait for a person, because they are many.
    pub held: usize,
    /// Rows whose values of the server were set back.
    pub set_back: usize,
}

impl Restored {
    /// The sentences for people.
    pub fn sentences(&self) -> Vec<String> {
        let count = |number: usize, one: &str, many: &str| match number {
            1 => format!("1 {one}"),
            _ => format!("{number} {many}"),
        };
        let mut all = Vec::new();
        if !self.objects.is_empty() {
            all.push(format!(
                "Another program had removed or altered {}; all of it is restored.",
                named(&self.objects)
            ));
        }
        if self.edits > 0 {
            let change = count(
                self.edits,
                "change that no trigger had seen is an edit now",
                "changes that no trigger had seen are edits now",
            );
            all.push(format!("{change}."));
        }
        if self.refused > 0 {
            let change = count(self.refused, "change breaks a rule and waits", "changes break a rule and wait");
            all.push(format!("{change} for you, see `hearth-replica edits`."));
        }
        if self.held > 0 {
            let change = count(self.held, "changed or missing record waits", "changed or missing records wait");
            all.push(format!(
                "{change} for you: `hearth-replica reconcile --accept-local` makes the changes edits, `--discard-local` drops them."
            ));
        }
        if self.set_back > 0 {
            let rows = count(self.set_back, "row has", "rows have");
            all.push(format!("{rows} the server's revision and times again."));
        }
        all
    }
}

/// The first objects by name, and the number of the others.
fn named(objects: &[String]) -> String {
    let first = objects.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match objects.len().saturating_sub(NAMED_MAX) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Makes the typed tables and all generated objects, or restores them. Changes that no trigger has seen become edits.
pub(crate) fn restore(connection: &mut Connection) -> Result<Restored, StoreError> {
    schema::check_tables(connection)?;
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let restored = restore_in(&tx)?;
    tx.commit()?;
    Ok(restored)
}

fn restore_in(tx: &Transaction<'_>) -> Result<Restored, StoreError> {
    let (mut restored, mut without_checks) = (Restored::default(), Vec::new());
    if schema::state(tx)? == schema::SchemaState::Altered {
        restored.objects = schema::altered_objects(tx)?;
        without_checks = schema::tables_without_checks(tx)?;
    }
    schema::drop_generated(tx)?;
    set_gate(tx, true)?;
    let mut changes = Vec::new();
    for resource in &RESOURCES {
        let table = found_table::take(tx, resource)?;
        let comparison = compare(tx, resource, &table)?;
        table.finish(tx, resource)?;
        restored.set_back += comparison.set_back;
        let (now, later) = held::divide(comparison.changes, comparison.known, table.is_replaced);
        held::hold(tx, &later)?;
        restored.held += later.len();
        changes.extend(now);
    }
    schema::create_generated(tx)?;
    if !search::has_all_rows(tx).unwrap_or_default() {
        search::refill(tx)?;
    }
    set_gate(tx, false)?;
    let mut queued = Queued::default();
    changes.iter().try_for_each(|change| queue(tx, change, &mut queued))?;
    set_gate(tx, true)?;
    let unchecked = unchecked::check(tx, &without_checks)?;
    (restored.edits, restored.refused) = (queued.edits, queued.refused + unchecked);
    for sentence in restored.sentences() {
        log(tx, LogLevel::Warning, &sentence)?;
    }
    set_gate(tx, false)?;
    Ok(restored)
}

/// Opens or closes the gate, whatever another program has written to it.
fn set_gate(tx: &Transaction<'_>, is_open: bool) -> Result<(), StoreError> {
    tx.execute("UPDATE _gate SET open = ?1, change_count = change_count + 1, origin = 'sql'", [is_open])?;
    Ok(())
}

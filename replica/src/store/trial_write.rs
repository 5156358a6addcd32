//! Finds triggers of other programs that make each sync fail, by writes as a sync makes them. Every write is rolled back. Must
//! not judge triggers by their text.

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::rows::{self, StoredRecord};
use super::schema::trigger_sql::RAISE_GATE;
use super::schema::user_objects::{self, UserTrigger};
use super::sql_words::quoted;
use super::{StoreError, log};
use crate::model::LogLevel;

/// The name of the record that is written on trial.
const TRIAL_NAME: &str = "trial";

/// A trigger that makes each sync fail, and what SQLite says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RefusingTrigger {
    pub trigger: UserTrigger,
    pub sentence: String,
}

/// Triggers that are tried, at most. Each needs a trial of its own.
const TRIED_MAX: usize = 50;

/// The triggers of people that make each sync fail: each that fails alone, or else each without which the writes succeed.
/// Empty when none does, and while another program writes.
pub(crate) fn refusing_triggers(connection: &mut Connection) -> Result<Vec<RefusingTrigger>, StoreError> {
    let triggers = user_objects::triggers(connection)?;
    let mut found = Vec::new();
    if triggers.is_empty() {
        return Ok(found);
    }
    let Attempt::Fails(together) = attempt(connection, &[])? else { return Ok(found) };
    // Writes that fail without any of these triggers have another cause.
    if matches!(attempt(connection, &triggers)?, Attempt::Fails(_)) {
        return Ok(found);
    }
    // Each alone; then each is left out, because some triggers refuse only together.
    for is_alone in [true, false] {
        for trigger in triggers.iter().take(TRIED_MAX) {
            let without: Vec<_> = triggers.iter().filter(|other| (*other != trigger) == is_alone).cloned().collect();
            let sentence = match (attempt(connection, &without)?, is_alone) {
                (Attempt::Busy, _) => return Ok(found),
                (Attempt::Fails(sentence), true) => sentence,
                (Attempt::Succeeds, false) => together.clone(),
                _ => continue,
            };
            found.push(RefusingTrigger { trigger: trigger.clone(), sentence });
        }
        if !found.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// The result of writes on trial.
enum Attempt {
    Succeeds,
    /// Why the writes fail, as a sentence.
    Fails(String),
    /// Another program writes.
    Busy,
}

/// Writes as a sync does, without some triggers, and rolls all of it back.
fn attempt(connection: &mut Connection, without: &[UserTrigger]) -> Result<Attempt, StoreError> {
    let tx = match connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(StoreError::from) {
        Ok(tx) => tx,
        Err(error) if error.is_busy() => return Ok(Attempt::Busy),
        Err(error) => return Err(error),
    };
    for trigger in without {
        tx.execute_batch(&format!("DROP TRIGGER {}", quoted(&trigger.name)))?;
    }
    Ok(match write(&tx) {
        Ok(true) => Attempt::Succeeds,
        Ok(false) => Attempt::Fails("a row that is written does not get into its table".to_owned()),
        Err(StoreError::Sqlite(rusqlite::Error::SqliteFailure(_, Some(sentence)))) => Attempt::Fails(sentence),
        Err(error) => Attempt::Fails(error.to_string()),
    })
}

/// Creates, changes and deletes a record of each kind, and writes what each sync writes. False when a row is not as written.
fn write(tx: &Transaction<'_>) -> Result<bool, StoreError> {
    tx.execute(RAISE_GATE, [])?;
    // A home has one profile, which cannot be deleted.
    for kind in Kind::COLLECTIONS {
        let name = |name: &str| Map::from_iter([(resource(kind).title.to_owned(), Value::from(name))]);
        let id = Uuid::new_v4().to_string();
        for (rev, name) in [(1, name(TRIAL_NAME)), (2, name("changed"))] {
            rows::write_row(tx, kind, &id, &StoredRecord::from_payload(kind, rev, &name))?;
            if rows::load_row(tx, kind, &id)?.is_none_or(|row| row.rev != Some(rev)) {
                return Ok(false);
            }
        }
        rows::delete_row(tx, kind, &id)?;
        if rows::load_row(tx, kind, &id)?.is_some() {
            return Ok(false);
        }
    }
    log(tx, LogLevel::Info, TRIAL_NAME)?;
    let position = |tx: &Transaction<'_>| tx.query_row("SELECT position FROM _sync", [], |row| row.get::<_, i64>(0));
    let next = position(tx)?.saturating_add(1);
    tx.execute("UPDATE _sync SET position = ?1, cursor = cursor, last_contact_at = last_contact_at", [next])?;
    Ok(position(tx)? == next)
}

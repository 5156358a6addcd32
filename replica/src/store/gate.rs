//! The two kinds of write transaction. A sync transaction opens the gate: triggers queue no edits and guards let it pass. An
//! edit transaction goes through the same triggers as a script and only sets its origin. Must not know what is written.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Params, Transaction, TransactionBehavior};

use super::connection::set_durable;
use super::schema::trigger_sql::{LOWER_GATE, RAISE_GATE};
use super::schema::{search, user_objects};
use super::{StoreError, select};
use crate::model::Origin;

/// Runs `work` in a sync transaction that is durable at commit. All or nothing.
pub(crate) fn sync_tx<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let open = "UPDATE _gate SET open = 1, change_count = change_count + 1, origin = 'sql', existing_ids = NULL";
    tx.prepare_cached(open)?.execute([])?;
    let value = work(&tx).map_err(|error| user_objects::explain_refusal(&tx, error))?;
    search::update_touched(&tx)?;
    if !hearth_simulated::planted(hearth_simulated::PlantedFault::GateLeftOpen) {
        tx.prepare_cached("UPDATE _gate SET open = 0, change_count = change_count + 1")?.execute([])?;
    }
    interruption_point("replica commits")?;
    tx.commit()?;
    interruption_point("replica has committed")?;
    Ok(value)
}

/// Runs one statement in a sync transaction. Returns the number of changed rows.
pub(crate) fn execute(connection: &mut Connection, sql: &str, params: impl Params) -> Result<usize, StoreError> {
    sync_tx(connection, |tx| Ok(tx.execute(sql, params)?))
}

/// Runs `work` in a sync transaction without fsync, for values that the server repeats or that are only displayed. A power
/// cut may undo this transaction and later ones without fsync.
pub(crate) fn sync_tx_without_fsync<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    set_durable(connection, false)?;
    let value = sync_tx(connection, work);
    set_durable(connection, true)?;
    value
}

/// Runs one statement in a sync transaction without fsync.
pub(crate) fn execute_without_fsync(
    connection: &mut Connection,
    sql: &str,
    params: impl Params,
) -> Result<(), StoreError> {
    sync_tx_without_fsync(connection, |tx| Ok(tx.execute(sql, params).map(drop)?))
}

/// A point at which a simulation may inject a failure. No code runs after a simulated crash.
fn interruption_point(name: &'static str) -> Result<(), StoreError> {
    let code = match hearth_simulated::interruption(name) {
        None => return Ok(()),
        Some(hearth_simulated::Interruption::DiskFull) => rusqlite::ffi::SQLITE_FULL,
        Some(hearth_simulated::Interruption::Crash) => rusqlite::ffi::SQLITE_INTERRUPT,
    };
    Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None).into())
}

/// SQL of a temporary table, visible only to its connection: the newest edit id before the connection's last edit
/// transaction (`before`), and the last edit id of the transaction (`last`).
const WRITTEN_IDS: &str =
    "CREATE TEMP TABLE IF NOT EXISTS _written_ids (one INTEGER PRIMARY KEY, before INTEGER, last INTEGER)";

/// Runs `work` in an edit transaction with this origin. All or nothing.
pub(crate) fn edit_tx<T, E: From<rusqlite::Error>>(
    connection: &mut Connection,
    origin: Origin,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.prepare_cached("UPDATE _gate SET origin = ?1")?.execute([origin])?;
    let before = newest_edit_id(&tx)?;
    let value = work(&tx)?;
    tx.prepare_cached("UPDATE _gate SET origin = 'sql'")?.execute([])?;
    search::merge_index(&tx)?;
    // No other connection can write during the transaction, so all ids between both values belong to the transaction.
    let row = (before, newest_edit_id(&tx)?);
    tx.prepare_cached(WRITTEN_IDS)?.execute([])?;
    tx.prepare_cached("INSERT OR REPLACE INTO _written_ids VALUES (1, ?1, ?2)")?.execute(row)?;
    tx.commit()?;
    Ok(value)
}

/// The ids that the last [`edit_tx`] of this connection created, in order: of queued edits and of superseded history entries.
/// Without next tasks, which follow from an edit.
pub(crate) fn last_edit_ids(connection: &Connection) -> Result<Vec<i64>, StoreError> {
    connection.prepare_cached(WRITTEN_IDS)?.execute([])?;
    let text = "WITH RECURSIVE ids(id, last) AS (
             SELECT before + 1, last FROM _written_ids WHERE before < last UNION ALL SELECT id + 1, last FROM ids WHERE id < last)
         SELECT id FROM ids WHERE NOT EXISTS (SELECT 1 FROM _outbox WHERE next_edit = ids.id) ORDER BY id";
    select::column(connection, text, [])
}

/// The newest edit id; 0 before the first edit.
pub(crate) fn newest_edit_id(connection: &Connection) -> Result<i64, rusqlite::Error> {
    let text = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'edits'";
    connection.prepare_cached(text)?.query_row([], |row| row.get(0))
}

/// Runs `work` with the gate open, inside an edit transaction or a sync transaction, for rows that scripts may not write.
pub(crate) fn with_guards_off<T, E: From<rusqlite::Error>>(
    tx: &Transaction<'_>,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
) -> Result<T, E> {
    tx.execute(RAISE_GATE, [])?;
    let value = work(tx)?;
    tx.execute(LOWER_GATE, [])?;
    Ok(value)
}

/// Turns triggers off on a connection that only runs sync transactions, unless the database has a person's trigger. The
/// replica's own triggers do nothing while the gate is open, but running them takes as much time as writing the row.
pub(crate) fn skip_own_triggers(connection: &Connection) -> Result<(), StoreError> {
    connection.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS _touched (kind TEXT, record_id TEXT, PRIMARY KEY (kind, record_id)) WITHOUT ROWID",
    )?;
    let has_user_triggers = user_objects::has_triggers(connection)?
        && !hearth_simulated::planted(hearth_simulated::PlantedFault::UserTriggersOff);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, has_user_triggers)?;
    Ok(())
}

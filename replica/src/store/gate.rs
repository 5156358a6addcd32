//! The two kinds of transaction: the keeper's, which passes the gate, and an editor's, which goes through the same
//! triggers as anyone's and only says who it is.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use crate::model::Origin;
use crate::store::schema::{LOWER_GATE, RAISE_GATE, others, search};
use crate::store::{StoreError, open};

/// Runs `work` as the replica's keeper: triggers queue nothing, guards let it pass. All or nothing.
pub(crate) fn keep<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.prepare_cached("UPDATE _gate SET open = 1, turn = turn + 1, origin = 'sql', mark = NULL")?.execute([])?;
    let value = work(&tx).map_err(|error| others::named(&tx, error))?;
    search::follow(&tx)?;
    if !hearth_simulated::planted(hearth_simulated::PlantedFault::GateLeftOpen) {
        tx.prepare_cached("UPDATE _gate SET open = 0, turn = turn + 1")?.execute([])?;
    }
    at("replica commits")?;
    tx.commit()?;
    at("replica has committed")?;
    Ok(value)
}

/// The same without waiting for the disk, for what the server says again or what is only display: a power cut may take it,
/// with all that was kept after it.
pub(crate) fn keep_cheaply<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    open::set_durable(connection, false)?;
    let value = keep(connection, work);
    open::set_durable(connection, true)?;
    value
}

/// A point at which a simulation may interrupt. After a crash nobody looks at the result any more.
fn at(point: &'static str) -> Result<(), StoreError> {
    let code = match hearth_simulated::interruption(point) {
        None => return Ok(()),
        Some(hearth_simulated::Interruption::DiskFull) => rusqlite::ffi::SQLITE_FULL,
        Some(hearth_simulated::Interruption::Crash) => rusqlite::ffi::SQLITE_INTERRUPT,
    };
    Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None).into())
}

/// What the last editor's transaction of a connection drew from the numbers of edits: the last before it, and its own last.
/// In a table that the connection has for itself.
const DRAWN: &str =
    "CREATE TEMP TABLE IF NOT EXISTS _written_ids (one INTEGER PRIMARY KEY, before INTEGER, last INTEGER)";

/// Runs `work` as an editor of this name. All or nothing.
pub(crate) fn edit<T, E: From<rusqlite::Error>>(
    connection: &mut Connection,
    origin: Origin,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.prepare_cached("UPDATE _gate SET origin = ?1")?.execute([origin])?;
    let before = newest(&tx)?;
    let value = work(&tx)?;
    tx.prepare_cached("UPDATE _gate SET origin = 'sql'")?.execute([])?;
    search::merge(&tx)?;
    // Nobody else writes meanwhile, so that all of these numbers are its own.
    tx.prepare_cached(DRAWN)?.execute([])?;
    tx.prepare_cached("INSERT OR REPLACE INTO _written_ids VALUES (1, ?1, ?2)")?.execute((before, newest(&tx)?))?;
    tx.commit()?;
    Ok(value)
}

/// The numbers that the last [`edit`] of this connection drew, in their order: of the edits it queued and of the values that it
/// kept in the history.
pub(crate) fn drawn(connection: &Connection) -> Result<Vec<i64>, StoreError> {
    connection.prepare_cached(DRAWN)?.execute([])?;
    let text = "SELECT before, last FROM _written_ids";
    let found: Option<(i64, i64)> =
        connection.prepare_cached(text)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    Ok(found.map_or_else(Vec::new, |(before, last)| (before + 1..=last).collect()))
}

/// The last number that was given to an edit; 0 before the first.
fn newest(connection: &Connection) -> Result<i64, rusqlite::Error> {
    let text = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'edits'";
    connection.prepare_cached(text)?.query_row([], |row| row.get(0))
}

/// Runs `work` as the keeper within an editor's transaction, for what belongs together with an edit.
pub(crate) fn pass<T, E: From<rusqlite::Error>>(
    tx: &Transaction<'_>,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
) -> Result<T, E> {
    tx.execute(RAISE_GATE, [])?;
    let value = work(tx)?;
    tx.execute(LOWER_GATE, [])?;
    Ok(value)
}

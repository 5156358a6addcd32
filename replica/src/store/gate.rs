//! The two kinds of transaction: the keeper's, which passes the gate, and an editor's, which goes through the same
//! triggers as anyone's and only says who it is.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::store::schema::{LOWER_GATE, RAISE_GATE};
use crate::store::{StoreError, open};

/// Runs `work` as the replica's keeper: triggers queue nothing, guards let it pass. All or nothing.
pub(crate) fn keep<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.prepare_cached("UPDATE _gate SET open = 1, turn = turn + 1, origin = 'sql', mark = NULL")?.execute([])?;
    let value = work(&tx)?;
    if !hearth_simulated::planted("gate left open") {
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

/// Runs `work` as an editor of this name. All or nothing.
pub(crate) fn edit<T, E: From<rusqlite::Error>>(
    connection: &mut Connection,
    origin: &str,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.prepare_cached("UPDATE _gate SET origin = ?1")?.execute([origin])?;
    let value = work(&tx)?;
    tx.prepare_cached("UPDATE _gate SET origin = 'sql'")?.execute([])?;
    tx.commit()?;
    Ok(value)
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

//! What people ask of the process that syncs, through the database: so a wish reaches it whoever it is, and outlives
//! it. Must not know how a wish is carried out.

use rusqlite::Connection;

use crate::store::{StoreError, gate, log};

/// What people ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// No sync until further notice.
    pub paused: bool,
    /// A recovery, and whether whatever it deletes is agreed to.
    pub reconcile: Option<bool>,
    /// How often somebody wanted it to try again at once; more than before is a wish.
    pub hurried: i64,
}

/// Reads them.
pub(crate) fn read(connection: &Connection) -> Result<Wishes, StoreError> {
    Ok(connection.prepare_cached("SELECT paused, reconcile, hurried FROM _sync")?.query_row([], |row| {
        let reconcile: i64 = row.get(1)?;
        Ok(Wishes { paused: row.get(0)?, reconcile: (reconcile > 0).then_some(reconcile > 1), hurried: row.get(2)? })
    })?)
}

/// Wishes for a pause, or for its end. False: it was so already.
pub(crate) fn set_paused(connection: &mut Connection, paused: bool) -> Result<bool, StoreError> {
    gate::keep(connection, |tx| {
        let changed = tx.execute("UPDATE _sync SET paused = ?1 WHERE paused <> ?1", [paused])? > 0;
        if changed {
            log(tx, "info", if paused { "Paused by a person." } else { "Resumed by a person." })?;
        }
        Ok(changed)
    })
}

/// Wishes for a recovery.
pub(crate) fn set_reconcile(connection: &mut Connection, accept_deletions: bool) -> Result<(), StoreError> {
    gate::keep(connection, |tx| {
        tx.execute("UPDATE _sync SET reconcile = max(reconcile, ?1)", [1 + i64::from(accept_deletions)])?;
        Ok(())
    })
}

/// Wishes for the end of a pause between two attempts.
pub(crate) fn hurry(connection: &mut Connection) -> Result<(), StoreError> {
    gate::keep(connection, |tx| {
        tx.execute("UPDATE _sync SET hurried = hurried + 1", [])?;
        Ok(())
    })
}

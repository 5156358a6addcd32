//! Requests of people to the process that syncs: pause, resume, reconcile, retry now. They are stored in `_sync`, so they
//! reach whichever process syncs and survive a restart. Must not know how a request is carried out.

use rusqlite::Connection;

use super::sync_log::log;
use super::{StoreError, gate};
use crate::model::LogLevel;

/// The requests that people have made so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ControlRequests {
    /// True from `pause` until `resume`.
    pub paused: bool,
    /// A requested reconcile; true inside when the person has agreed to all its deletions. None when none is requested.
    pub reconcile: Option<bool>,
    /// How often people asked for an attempt at once. A higher count than before is a new request.
    pub retry_requests: i64,
}

/// Loads the requests.
pub(crate) fn load_requests(connection: &Connection) -> Result<ControlRequests, StoreError> {
    let text = "SELECT paused, reconcile_requested, deletions_accepted, retry_requests FROM _sync";
    Ok(connection.prepare_cached(text)?.query_row([], |row| {
        let (is_requested, accepts_deletions): (bool, bool) = (row.get(1)?, row.get(2)?);
        Ok(ControlRequests {
            paused: row.get(0)?,
            reconcile: is_requested.then_some(accepts_deletions),
            retry_requests: row.get(3)?,
        })
    })?)
}

/// Pauses or resumes syncing. False when nothing changed.
pub(crate) fn set_paused(connection: &mut Connection, paused: bool) -> Result<bool, StoreError> {
    gate::sync_tx(connection, |tx| {
        let changed = tx.execute("UPDATE _sync SET paused = ?1 WHERE paused <> ?1", [paused])? > 0;
        if changed {
            log(tx, LogLevel::Info, if paused { "Paused by a person." } else { "Resumed by a person." })?;
        }
        Ok(changed)
    })
}

/// Requests a reconcile. An agreement to its deletions is kept when a later request does not repeat it.
pub(crate) fn request_reconcile(connection: &mut Connection, accept_deletions: bool) -> Result<(), StoreError> {
    let text = "UPDATE _sync SET reconcile_requested = 1, deletions_accepted = max(deletions_accepted, ?1)";
    gate::execute(connection, text, [accept_deletions]).map(drop)
}

/// Requests the next attempt at once, without the rest of the waiting time.
pub(crate) fn request_retry(connection: &mut Connection) -> Result<(), StoreError> {
    gate::execute(connection, "UPDATE _sync SET retry_requests = retry_requests + 1", []).map(drop)
}

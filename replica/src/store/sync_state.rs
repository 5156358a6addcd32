//! The row of `_sync` as the process that syncs reads and writes it: checkpoint, home, phase, contact. Other programs read
//! [`super::status`]. Must not decide what happens next.

use hearth_contract::formats::Timestamp;
use rusqlite::Connection;

use super::{StoreError, gate, rows, select};
use crate::model::{BlockCause, Phase};
use crate::store::base;
use crate::store::edits::missed_events;
use crate::store::reconcile::lost;

/// What a sync starts from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SyncState {
    /// The cursor of the next page of the feed. None stands for the beginning of the feed.
    pub cursor: Option<String>,
    /// True once a backfill has reached the head.
    pub backfilled: bool,
    /// The id of the home. None until a server has answered.
    pub home_id: Option<String>,
}

/// The home that the key belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    /// The server's address, without path.
    pub server: String,
    pub id: String,
    pub name: String,
    /// `live` or `test`.
    pub environment: String,
}

/// Loads the state.
pub(crate) fn load_state(connection: &Connection) -> Result<SyncState, StoreError> {
    Ok(connection.query_row("SELECT cursor, backfilled, home_id FROM _sync", [], |row| {
        Ok(SyncState { cursor: row.get(0)?, backfilled: row.get(1)?, home_id: row.get(2)? })
    })?)
}

/// Stores the id of the process that syncs; None when that process ends.
pub(crate) fn set_daemon(connection: &mut Connection, pid: Option<u32>, now: Timestamp) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        if hearth_simulated::planted(hearth_simulated::PlantedFault::InFlightForgotten) {
            tx.execute("DELETE FROM edits WHERE state = 'sending'", [])?;
        }
        let offline = pid.is_none().then(|| now.to_string());
        tx.execute(
            // A server that refuses the key is in contact; a process that starts has no contact yet.
            "UPDATE _sync SET daemon_pid = ?1,
                 offline_since = coalesce(offline_since, ?2, CASE WHEN phase = 'needs_key' THEN last_contact_at END),
                 -- A process that starts has not failed yet.
                 next_attempt_at = NULL,
                 -- The process ends in contact, or another process starts: earlier reasons, also that of polls, count no longer.
                 reason = CASE WHEN phase IN ('live', 'catching_up', 'polling') OR (?1 IS NOT NULL AND phase = 'offline')
                               THEN NULL ELSE reason END,
                 phase = CASE WHEN phase IN ('live', 'catching_up', 'polling') THEN 'offline'
                              WHEN phase = 'local' THEN 'new' ELSE phase END",
            (pid, offline),
        )?;
        Ok(())
    })
}

/// Ends the phase `local`, because a server is configured.
pub(crate) fn leave_local(connection: &mut Connection) -> Result<(), StoreError> {
    if select::value(connection, "SELECT phase = 'local' FROM _sync", [])? {
        gate::execute(connection, "UPDATE _sync SET phase = 'new' WHERE phase = 'local'", [])?;
    }
    Ok(())
}

/// Stores the phase with its reason. A key that the server refuses for an edit may still be good for the feed; a phase with
/// a next attempt has no contact.
pub(crate) fn set_phase(
    connection: &mut Connection,
    phase: Phase,
    blocked_by: Option<BlockCause>,
    reason: Option<&str>,
    next_attempt_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let text = "UPDATE _sync SET phase = ?1, reason = ?2, next_attempt_at = ?3, blocked_by = ?5,
             offline_since = CASE WHEN ?1 = 'offline' OR (?1 = 'needs_key' AND ?3 IS NOT NULL)
                                  THEN coalesce(offline_since, ?4) ELSE offline_since END";
    let values = (phase, reason, next_attempt_at.map(|at| at.to_string()), now.to_string(), blocked_by);
    gate::execute_without_fsync(connection, text, values)
}

/// Why the server wants another key, as the server last said. None in other phases.
pub(crate) fn key_refusal(connection: &Connection) -> Result<Option<String>, StoreError> {
    select::first(connection, "SELECT reason FROM _sync WHERE phase = 'needs_key'", [])
}

/// Stores that the server has answered at `now`. `is_current` says that the position was proven to be at the head.
pub(crate) fn record_contact(connection: &mut Connection, is_current: bool, now: Timestamp) -> Result<(), StoreError> {
    let text = "UPDATE _sync SET last_contact_at = ?1, current_at = CASE WHEN ?2 THEN ?1 ELSE current_at END";
    gate::execute_without_fsync(connection, text, (now.to_string(), is_current))
}

/// Stores the home, and gives a profile the id of the home: its row, its edits and what is known of its server version. The row has
/// another id when it was written before the first contact, or belongs to a lost home.
pub(super) fn write_home(tx: &rusqlite::Transaction<'_>, home: &Home) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE _sync SET server = ?1, home_id = ?2, home_name = ?3, environment = ?4,
             phase = CASE WHEN phase = 'local' THEN 'new' ELSE phase END",
        (&home.server, &home.id, &home.name, &home.environment),
    )?;
    rows::set_profile_id(tx, &home.id)?;
    for table in ["edits", "_base"] {
        let text = format!("UPDATE {table} SET record_id = ?1 WHERE kind = 'property' AND record_id <> ?1");
        tx.execute(&text, [&home.id])?;
    }
    Ok(())
}

/// Makes the database a replica of a home. False when the database is a replica of another home; nothing changes then.
pub(crate) fn adopt_home(connection: &mut Connection, home: &Home) -> Result<bool, StoreError> {
    gate::sync_tx(connection, |tx| {
        let current: Option<String> = select::first(tx, "SELECT home_id FROM _sync", [])?;
        if current.is_some_and(|current| current != home.id) {
            return Ok(false);
        }
        write_home(tx, home)?;
        Ok(true)
    })
}

/// What the server says when contact begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub home: Home,
    /// The newest position of the server. None when the server did not tell.
    pub head: Option<i64>,
    /// How long the server keeps events. None: for ever.
    pub retention_seconds: Option<i64>,
    /// The ids of the edits that the server had accepted when it was asked for its head.
    pub accepted: Vec<i64>,
    /// The id of the process that syncs. Stored again, because a full disk may have prevented the first time.
    pub process: Option<u32>,
}

/// Stores a greeting, once the server has accepted the feed cursor.
pub(crate) fn record_greeting(
    connection: &mut Connection,
    greeting: &Greeting,
    now: Timestamp,
) -> Result<(), StoreError> {
    gate::sync_tx(connection, |tx| {
        let Greeting { home, head, retention_seconds, accepted, process } = greeting;
        write_home(tx, home)?;
        tx.execute(
            // A full disk may have prevented that the phase `offline` was stored. A head after the position was not reached.
            "UPDATE _sync SET head = coalesce(?1, head), retention_seconds = ?2, last_contact_at = ?3,
                 phase = CASE WHEN phase IN ('live', 'polling') AND ?1 > position THEN 'catching_up' ELSE phase END,
                 offline_since = NULL, daemon_pid = coalesce(?4, daemon_pid)",
            (head, retention_seconds, now.to_string(), process),
        )?;
        missed_events::stop_waiting_for_new_version(tx)?;
        base::clear_reported_missing(tx)?;
        head.map_or(Ok(()), |head| lost::compare_head(tx, head, accepted, now))
    })
}

//! The one row that says where the replica stands, for whoever syncs. [`super::status`] is what others read.

use hearth_contract::formats::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use crate::model::{BlockCause, Phase};
use crate::store::base;
use crate::store::edits::maybe_applied;
use crate::store::reconcile::lost;
use crate::store::{StoreError, gate, rows};

/// What a sync starts from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Where the feed goes on; None is its beginning.
    pub cursor: Option<String>,
    /// Whether a replay has reached the present once.
    pub filled: bool,
    /// The home this replica is of; None until a server has said so.
    pub home_id: Option<String>,
}

/// The home a key reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    pub server: String,
    pub id: String,
    pub name: String,
    pub environment: String,
}

/// Reads it.
pub(crate) fn read(connection: &Connection) -> Result<Standing, StoreError> {
    Ok(connection.query_row("SELECT cursor, filled, home_id FROM _sync", [], |row| {
        Ok(Standing { cursor: row.get(0)?, filled: row.get(1)?, home_id: row.get(2)? })
    })?)
}

/// Says that this process syncs, or that none does.
pub(crate) fn set_daemon(connection: &mut Connection, pid: Option<u32>, now: Timestamp) -> Result<(), StoreError> {
    gate::keep(connection, |tx| {
        if hearth_simulated::planted(hearth_simulated::Fault::InFlightForgotten) {
            tx.execute("DELETE FROM edits WHERE state = 'sending'", [])?;
        }
        let offline = pid.is_none().then(|| now.to_string());
        tx.execute(
            // A key that is refused may be so in contact; a process that begins has none yet.
            "UPDATE _sync SET daemon_pid = ?1,
                 offline_since = coalesce(offline_since, ?2, CASE WHEN phase = 'needs_key' THEN last_contact_at END),
                 next_attempt_at = CASE WHEN ?1 IS NULL THEN NULL ELSE next_attempt_at END,
                 -- What an earlier process met on its way to the server, this one has not met.
                 reason = CASE WHEN ?1 IS NOT NULL AND phase IN ('live', 'catching_up', 'polling', 'offline') THEN NULL
                               ELSE reason END,
                 phase = CASE WHEN phase IN ('live', 'catching_up', 'polling') THEN 'offline' ELSE phase END",
            (pid, offline),
        )?;
        Ok(())
    })
}

/// Writes the phase and why. A key may be refused for an edit alone while the feed comes; what is tried again later has no
/// contact.
pub(crate) fn set_phase(
    connection: &mut Connection,
    phase: Phase,
    blocked_by: Option<BlockCause>,
    reason: Option<&str>,
    next_attempt_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), StoreError> {
    gate::keep_cheaply(connection, |tx| {
        tx.execute(
            "UPDATE _sync SET phase = ?1, reason = ?2, next_attempt_at = ?3, blocked_by = ?5,
                 offline_since = CASE WHEN ?1 = 'offline' OR (?1 = 'needs_key' AND ?3 IS NOT NULL)
                                      THEN coalesce(offline_since, ?4) ELSE offline_since END",
            (phase, reason, next_attempt_at.map(|at| at.to_string()), now.to_string(), blocked_by),
        )?;
        Ok(())
    })
}

/// Why the server wants another key, as far as it was told when the key was used last.
pub(crate) fn refused(connection: &Connection) -> Result<Option<String>, StoreError> {
    let text = "SELECT reason FROM _sync WHERE phase = 'needs_key'";
    Ok(connection.query_row(text, [], |row| row.get(0)).optional()?.flatten())
}

/// Notes that the server was heard, and whether what is applied is still the present.
pub(crate) fn touch(connection: &mut Connection, current: bool, now: Timestamp) -> Result<(), StoreError> {
    gate::keep_cheaply(connection, |tx| {
        tx.execute(
            "UPDATE _sync SET last_contact_at = ?1, current_at = CASE WHEN ?2 THEN ?1 ELSE current_at END",
            (now.to_string(), current),
        )?;
        Ok(())
    })
}

/// Writes down whose home this is, and gives a profile that was filled in before that the home's id.
fn write_home(tx: &rusqlite::Transaction<'_>, home: &Home) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE _sync SET server = ?1, home_id = ?2, home_name = ?3, environment = ?4",
        (&home.server, &home.id, &home.name, &home.environment),
    )?;
    rows::move_profile(tx, &home.id)?;
    tx.execute("UPDATE edits SET record_id = ?1 WHERE kind = 'property' AND record_id <> ?1", [&home.id])?;
    Ok(())
}

/// Makes this the replica of a home. False: it is of another one already, and stays so.
pub(crate) fn adopt(connection: &mut Connection, home: &Home) -> Result<bool, StoreError> {
    gate::keep(connection, |tx| {
        let ours: Option<String> = tx.query_row("SELECT home_id FROM _sync", [], |row| row.get(0))?;
        if ours.is_some_and(|ours| ours != home.id) {
            return Ok(false);
        }
        write_home(tx, home)?;
        Ok(true)
    })
}

/// What an opened connection has said, and to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// Whose home it is.
    pub home: Home,
    pub head: Option<i64>,
    pub retention_seconds: Option<i64>,
    /// The edits that the server had accepted when it was asked for its head.
    pub accepted: Vec<i64>,
    /// The process that syncs. It may not have been written down when it started, for want of room.
    pub process: Option<u32>,
}

/// Notes a greeting. A stream is contact.
pub(crate) fn greet(connection: &mut Connection, greeting: &Greeting, now: Timestamp) -> Result<(), StoreError> {
    gate::keep(connection, |tx| {
        let Greeting { home, head, retention_seconds, accepted, process } = greeting;
        write_home(tx, home)?;
        tx.execute(
            // That it was offline may have had no room. What lies before the head has not been reached.
            "UPDATE _sync SET head = coalesce(?1, head), retention_seconds = ?2, last_contact_at = ?3,
                 phase = CASE WHEN phase IN ('live', 'polling') AND ?1 > position THEN 'catching_up' ELSE phase END,
                 offline_since = NULL, transport = 'stream', daemon_pid = coalesce(?4, daemon_pid)",
            (head, retention_seconds, now.to_string(), process),
        )?;
        maybe_applied::drop_stale_preconditions(tx)?;
        base::clear_reported_missing(tx)?;
        head.map_or(Ok(()), |head| lost::compare_head(tx, head, accepted))
    })
}

//! Where the replica stands, from the database alone. Must not claim more than was proven.

use std::path::Path;

use rusqlite::Connection;

use crate::model::{BlockCause, Phase, Transport};
use crate::store::StoreError;
use crate::sync::SyncLock;

/// The one row of `sync_status`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Status {
    /// How far the replica is in step.
    pub phase: Phase,
    /// Why it is that, when there is more to say.
    pub reason: Option<String>,
    /// The server's address; None before `init`.
    pub server: Option<String>,
    /// The home's name.
    pub home: Option<String>,
    /// `live` or `test`.
    pub environment: Option<String>,
    /// Up to where the server's changes are applied.
    pub position: i64,
    /// The newest position the server was heard to have.
    pub head: Option<i64>,
    /// Events still to apply; None without contact.
    pub behind_events: Option<i64>,
    /// Seconds since the replica was last proven current.
    pub behind_seconds: Option<i64>,
    /// Seconds until a reader that stays away has to read the feed from the beginning.
    pub retention_left_seconds: Option<i64>,
    /// Edits on their way.
    pub waiting: i64,
    /// What waits for a person: edits, and a question about deletions.
    pub needs_you: i64,
    /// When the oldest edit on its way was made.
    pub oldest_waiting_at: Option<String>,
    /// When something is tried again.
    pub next_attempt_at: Option<String>,
    /// When the server was last heard.
    pub last_contact_at: Option<String>,
    /// Since when there is no contact.
    pub offline_since: Option<String>,
    /// How events arrive; None while no process syncs.
    pub transport: Option<Transport>,
    /// When the replica was last compared with the server.
    pub verified_at: Option<String>,
    /// The version of the tables and views.
    pub schema_version: String,
    /// The process that syncs.
    pub daemon_pid: Option<i64>,
    /// Whether syncing waits for a person to agree to many deletions.
    pub asks_about_deletions: bool,
    /// Why the phase is `blocked`; None in other phases.
    pub blocked_by: Option<BlockCause>,
}

impl Status {
    /// Edits that wait for a person.
    pub fn edits_to_decide(&self) -> i64 {
        self.needs_you - i64::from(self.asks_about_deletions)
    }

    /// Whether the server is heard at this moment, as far as whoever syncs has written it down.
    pub fn is_in_contact(&self) -> bool {
        matches!(self.phase, Phase::Live | Phase::Polling | Phase::CatchingUp)
            || self.is_under_way() && self.offline_since.is_none() && self.last_contact_at.is_some()
    }

    /// Whether it is on the way to a position, in contact or not.
    pub fn is_under_way(&self) -> bool {
        matches!(self.phase, Phase::Backfilling | Phase::Reconciling)
    }
}

/// Reads the status.
pub(crate) fn read(connection: &Connection) -> Result<Status, StoreError> {
    let mut status = connection.prepare_cached("SELECT * FROM sync_status")?.query_row([], |row| {
        Ok(Status {
            phase: row.get("phase")?,
            reason: row.get("reason")?,
            server: row.get("server")?,
            home: row.get("home")?,
            environment: row.get("environment")?,
            position: row.get("position")?,
            head: row.get("head")?,
            behind_events: row.get("behind_events")?,
            behind_seconds: row.get("behind_seconds")?,
            retention_left_seconds: row.get("retention_left_seconds")?,
            waiting: row.get("waiting")?,
            needs_you: row.get("needs_you")?,
            oldest_waiting_at: row.get("oldest_waiting_at")?,
            next_attempt_at: row.get("next_attempt_at")?,
            last_contact_at: row.get("last_contact_at")?,
            offline_since: row.get("offline_since")?,
            transport: row.get("transport")?,
            verified_at: row.get("verified_at")?,
            schema_version: row.get("schema_version")?,
            daemon_pid: row.get("daemon_pid")?,
            asks_about_deletions: false,
            blocked_by: None,
        })
    })?;
    let question = "SELECT EXISTS (SELECT 1 FROM _reconcile WHERE question IS NOT NULL)";
    status.asks_about_deletions = connection.prepare_cached(question)?.query_row([], |row| row.get(0))?;
    if status.phase == Phase::Blocked {
        let cause = "SELECT blocked_by FROM _sync";
        let stored = connection.prepare_cached(cause)?.query_row([], |row| row.get(0))?;
        status.blocked_by = if status.asks_about_deletions { Some(BlockCause::Deletions) } else { stored };
    }
    // SQL cannot see processes; a program can, and so knows of a killed one before its silence shows. One that still has the
    // right to sync runs where this program sees no processes but its own, as in a container.
    let is_held = || connection.path().is_some_and(|db| SyncLock::is_held(Path::new(db)));
    if status.daemon_pid.is_some_and(|pid| !is_alive(pid)) && !is_held() {
        status.daemon_pid = None;
        status.next_attempt_at = None;
        status.transport = None;
        status.behind_events = None;
        if matches!(status.phase, Phase::Live | Phase::CatchingUp | Phase::Polling) {
            status.phase = Phase::Offline;
            status.reason = Some("the process that synced is gone".to_owned());
        }
        if matches!(status.phase, Phase::Offline | Phase::NeedsKey) {
            status.offline_since = status.offline_since.or(status.last_contact_at.clone());
        }
    }
    Ok(status)
}

/// Whether a process exists, as far as this system tells without asking it; unknown counts as alive.
fn is_alive(pid: i64) -> bool {
    !Path::new("/proc/self").exists() || Path::new(&format!("/proc/{pid}")).exists()
}

//! The status of the replica, from the database alone: the row of `sync_status` and what a program sees beside it. Must not
//! claim more than the database proves.

use std::path::Path;

use hearth_contract::units::Units;
use rusqlite::Connection;
use serde::Serialize;

use super::StoreError;
use super::lock::SyncLock;
use super::outside::{HeldChanges, held};
use super::read::view;
use crate::model::{BlockCause, Phase, Transport};

/// How far the replica is: the row of `sync_status`, with its columns in the order in which they are printed.
/// All times are RFC 3339, UTC, with milliseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Status {
    /// How far the replica is in step.
    pub phase: Phase,
    /// Why the phase is what it is, or why edits of a replica in step are held back, as a sentence for people.
    pub reason: Option<String>,
    /// The server's address; None before `init`.
    pub server: Option<String>,
    /// The home's name, or its id; None before the first contact.
    pub home: Option<String>,
    /// The home's id, a UUID (`home.id` of `/v1/me`); None before the first contact.
    pub home_id: Option<String>,
    /// `live` or `test`; None before the first contact.
    pub environment: Option<String>,
    /// The last event that the rows reflect.
    pub position: i64,
    /// The newest position that the server has reported.
    pub head: Option<i64>,
    /// Events between the position and the head; None without contact.
    pub behind_events: Option<i64>,
    /// Seconds since the position was last proven to be at the head.
    pub behind_seconds: Option<i64>,
    /// Seconds until the server may delete events that this replica has not read. None: the server keeps events for ever.
    pub retention_left_seconds: Option<i64>,
    /// How many edits are on their way: `waiting`, `sending` or `sent`.
    pub waiting: i64,
    /// How many decisions wait for a person: edits, and the questions about deletions and about changes
    /// by another program.
    pub needs_you: i64,
    /// When the oldest edit that is on its way was made.
    pub oldest_waiting_at: Option<String>,
    /// When the next attempt of a request or of the connection is due.
    pub next_attempt_at: Option<String>,
    /// When the server last answered.
    pub last_contact_at: Option<String>,
    /// Since when the server has not answered; None while it answers.
    pub offline_since: Option<String>,
    /// How events arrive; None while no process syncs.
    pub transport: Option<Transport>,
    /// When the rows were last compared with the server.
    pub verified_at: Option<String>,
    /// The version of the public tables and views, `MAJOR.MINOR`.
    pub schema_version: String,
    /// The id of the process that syncs.
    pub daemon_pid: Option<i64>,
    /// True while syncing waits until a person agrees to many deletions.
    #[serde(skip)]
    pub asks_about_deletions: bool,
    /// Changes by another program that wait until a person agrees. None when there are none.
    #[serde(skip)]
    pub held_changes: Option<HeldChanges>,
    /// Why the phase is `blocked`; None in other phases.
    #[serde(skip)]
    pub blocked_by: Option<BlockCause>,
    /// The units in which the home reads sums and areas.
    #[serde(skip)]
    pub units: Units,
}

impl Status {
    /// How many edits wait for a person.
    pub fn edits_to_decide(&self) -> i64 {
        self.needs_you - i64::from(self.asks_about_deletions) - i64::from(self.held_changes.is_some())
    }

    /// True when the server answers at this moment, as far as the process that syncs has stored it.
    pub fn is_in_contact(&self) -> bool {
        matches!(self.phase, Phase::Live | Phase::Polling | Phase::CatchingUp)
            || self.is_under_way() && self.offline_since.is_none() && self.last_contact_at.is_some()
    }

    /// True when the process that syncs has saved a failed attempt: the next attempt has a time.
    /// After a later contact the time may be of one request only, so callers check first that the replica is out of contact.
    pub fn has_failed_attempt(&self) -> bool {
        self.next_attempt_at.is_some()
    }

    /// True during a backfill or a reconcile, in contact or not.
    pub fn is_under_way(&self) -> bool {
        matches!(self.phase, Phase::Backfilling | Phase::Reconciling)
    }

    /// Removes what only a running process proves, for a process that was killed.
    fn without_process(&mut self) {
        self.daemon_pid = None;
        self.next_attempt_at = None;
        self.transport = None;
        self.behind_events = None;
        if matches!(self.phase, Phase::Live | Phase::CatchingUp | Phase::Polling) {
            self.phase = Phase::Offline;
            self.reason = Some("the process that synced is gone".to_owned());
        }
        if matches!(self.phase, Phase::Offline | Phase::NeedsKey) {
            self.offline_since = self.offline_since.take().or(self.last_contact_at.clone());
        }
    }
}

/// Loads the status. SQL cannot see processes, but a program can: a killed process is noticed at once.
pub(crate) fn load_status(connection: &Connection) -> Result<Status, StoreError> {
    let (held_changes, units) = (held::load(connection)?, view::units(connection)?);
    // The view names waiting changes as the reason. Here they stand apart, because a reason means a failed attempt.
    let text = "SELECT s.*, coalesce(question, y.reason) AS own_reason, question IS NOT NULL AS asks, blocked_by
                FROM sync_status s JOIN _sync y LEFT JOIN _reconcile";
    let mut status = connection.prepare_cached(text)?.query_row([], |row| {
        let (phase, asks_about_deletions) = (row.get("phase")?, row.get("asks")?);
        Ok(Status {
            phase,
            reason: row.get("own_reason")?,
            server: row.get("server")?,
            home: row.get("home")?,
            home_id: row.get("home_id")?,
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
            asks_about_deletions,
            held_changes,
            blocked_by: match phase {
                Phase::Blocked if asks_about_deletions => Some(BlockCause::Deletions),
                Phase::Blocked => row.get("blocked_by")?,
                _ => None,
            },
            units,
        })
    })?;
    // In a container this program may see no other processes. A held sync lock then proves that the process lives.
    let is_locked = || connection.path().is_some_and(|db| SyncLock::is_held(Path::new(db)));
    if status.daemon_pid.is_some_and(|pid| !is_alive(pid)) && !is_locked() {
        status.without_process();
    }
    Ok(status)
}

/// True when a process exists. Where the system has no `/proc`, every process counts as alive.
fn is_alive(pid: i64) -> bool {
    !Path::new("/proc/self").exists() || Path::new(&format!("/proc/{pid}")).exists()
}

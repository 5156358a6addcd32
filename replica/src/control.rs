//! The part of [`Replica`] that controls a sync in any process: pause, resume, retry, reconcile, verify, and the sync
//! log. Requests go through the database; a notification wakes the process. Must not sync.

use std::time::Duration;

use hearth_contract::schema::Kind;

use crate::store::reconcile::verify;
use crate::store::{connection, control, sync_log, sync_state};
use crate::{Listing, LogLine, Replica, StoreError, Verification};

impl Replica {
    /// Pauses syncing until [`Replica::resume`], across restarts. Edits can be made and wait. False: syncing was
    /// already paused.
    pub fn pause(&self) -> Result<bool, StoreError> {
        self.write(|connection| control::set_paused(connection, true))
    }

    /// Resumes syncing after [`Replica::pause`]. False: syncing was not paused.
    pub fn resume(&self) -> Result<bool, StoreError> {
        self.write(|connection| control::set_paused(connection, false))
    }

    /// Notes that this home has a server, before the server was reached: edits then wait to be sent. Another program that
    /// holds the database is not waited for, because each sync notes the same.
    pub fn expect_server(&self) -> Result<(), StoreError> {
        let noted =
            connection::with_busy_timeout(&mut *self.write_connection()?, Duration::ZERO, sync_state::leave_local);
        match noted {
            Err(error) if error.is_busy() => Ok(()),
            noted => noted,
        }
    }

    /// Asks the syncing process to try again now, without the rest of its backoff. A `Retry-After` of the server still
    /// holds.
    pub fn retry_sync_now(&self) -> Result<(), StoreError> {
        self.retry_sync_now_within(Duration::MAX)
    }

    /// [`Replica::retry_sync_now`], with a limit on the wait while another program holds the database.
    pub fn retry_sync_now_within(&self, limit: Duration) -> Result<(), StoreError> {
        self.write(|connection| connection::with_busy_timeout(connection, limit, control::request_retry))
    }

    /// Tests for a write lock by another program. Error: another program still holds the database after `limit`.
    pub fn check_writable_within(&self, limit: Duration) -> Result<(), StoreError> {
        connection::with_busy_timeout(&mut *self.write_connection()?, limit, connection::check_writable)
    }

    /// Asks for a reconcile: the next sync compares all records with the server. `accept_deletions` accepts all
    /// deletions of this reconcile, however many.
    pub fn reconcile(&self, accept_deletions: bool) -> Result<(), StoreError> {
        self.write(|connection| control::request_reconcile(connection, accept_deletions))
    }

    /// The replica's checkpoint in the server's feed, as the server's opaque cursor. None before the first contact.
    pub fn cursor(&self) -> Result<Option<String>, StoreError> {
        Ok(sync_state::load_state(&self.connection.borrow())?.cursor)
    }

    /// Compares all records with the server's lists (from [`crate::sync::fetch_listings`]). `repair` gives records that
    /// differ the server's values. None: the replica has not reached the position of the lists yet.
    pub fn verify(&self, listings: &[(Kind, Listing)], repair: bool) -> Result<Option<Verification>, StoreError> {
        self.write(|connection| verify::verify(connection, listings, repair, crate::now()))
    }

    /// The newest lines of `sync_log`, newest first.
    pub fn log(&self, limit: usize) -> Result<Vec<LogLine>, StoreError> {
        sync_log::newest_lines(&self.connection.borrow(), limit)
    }
}

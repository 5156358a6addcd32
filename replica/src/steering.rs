//! Steering the process that syncs, whichever it is, judging what it has done, and reading its journal: wishes go
//! through the database, and the bell tells of them. Must not sync.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;

use crate::store::recovery::verify;
use crate::store::{connection, control, sync_log, sync_state};
use crate::{Listing, LogLine, Replica, StoreError, Verification, bell};

impl Replica {
    /// Stops syncing until [`Replica::resume`], across restarts; edits made meanwhile wait. False: it was paused already.
    pub fn pause(&self) -> Result<bool, StoreError> {
        self.set_paused(true)
    }

    /// Goes on after [`Replica::pause`]. False: it was not paused.
    pub fn resume(&self) -> Result<bool, StoreError> {
        self.set_paused(false)
    }

    /// Has the process that syncs try again now instead of after its pause, unless the server asked for that pause.
    pub fn hurry(&self) -> Result<(), StoreError> {
        self.hurry_within(Duration::MAX)
    }

    /// The same, for so long at most while another program holds the database.
    pub fn hurry_within(&self, limit: Duration) -> Result<(), StoreError> {
        connection::with_busy_timeout(&mut *self.writing()?, limit, control::request_retry)?;
        bell::ring(&self.db);
        Ok(())
    }

    /// An error if another program holds the database, and goes on to for so long, so that nobody else can write to it.
    pub fn is_free_within(&self, limit: Duration) -> Result<(), StoreError> {
        connection::with_busy_timeout(&mut *self.writing()?, limit, connection::check_writable)
    }

    /// Asks for a recovery: everything is compared with the server and brought in step. `accept_deletions` agrees to
    /// as many deletions as come of it.
    pub fn reconcile(&self, accept_deletions: bool) -> Result<(), StoreError> {
        control::request_reconcile(&mut *self.writing()?, accept_deletions)?;
        bell::ring(&self.db);
        Ok(())
    }

    /// Where the replica stands in the server's feed, in the server's own words.
    pub fn cursor(&self) -> Result<Option<String>, StoreError> {
        Ok(sync_state::load_state(&self.connection.borrow())?.cursor)
    }

    /// Compares everything with what the server lists ([`crate::sync::listings`]); `repair` makes what differs as it is
    /// there. None: the replica has not passed the position of the listings yet.
    pub fn verify(&self, listings: &[(Kind, Listing)], repair: bool) -> Result<Option<Verification>, StoreError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
        let found = verify::verify(&mut *self.writing()?, listings, repair, now)?;
        bell::ring(&self.db);
        Ok(found)
    }

    /// The newest lines of the journal, newest first.
    pub fn log(&self, limit: usize) -> Result<Vec<LogLine>, StoreError> {
        sync_log::newest_lines(&self.connection.borrow(), limit)
    }

    fn set_paused(&self, paused: bool) -> Result<bool, StoreError> {
        let changed = control::set_paused(&mut *self.writing()?, paused)?;
        bell::ring(&self.db);
        Ok(changed)
    }
}

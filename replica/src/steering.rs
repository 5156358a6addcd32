//! Steering the process that syncs, whichever it is, and reading its journal: wishes go through the database, and the
//! bell tells of them. Must not sync.

use crate::store::{journal, wishes};
use crate::{LogLine, Replica, StoreError, bell};

impl Replica {
    /// Stops syncing until [`Replica::resume`], across restarts; edits made meanwhile wait. False: it was paused already.
    pub fn pause(&self) -> Result<bool, StoreError> {
        self.set_paused(true)
    }

    /// Goes on after [`Replica::pause`]. False: it was not paused.
    pub fn resume(&self) -> Result<bool, StoreError> {
        self.set_paused(false)
    }

    /// Asks for a recovery: everything is compared with the server and brought in step. `accept_deletions` agrees to
    /// as many deletions as come of it.
    pub fn reconcile(&self, accept_deletions: bool) -> Result<(), StoreError> {
        wishes::set_reconcile(&mut self.connection.borrow_mut(), accept_deletions)?;
        bell::ring(&self.db);
        Ok(())
    }

    /// The newest lines of the journal, newest first.
    pub fn log(&self, limit: usize) -> Result<Vec<LogLine>, StoreError> {
        journal::newest(&self.connection.borrow(), limit)
    }

    fn set_paused(&self, paused: bool) -> Result<bool, StoreError> {
        let changed = wishes::set_paused(&mut self.connection.borrow_mut(), paused)?;
        bell::ring(&self.db);
        Ok(changed)
    }
}

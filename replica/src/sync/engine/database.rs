//! Reads and writes of the engine: waits for locks, and checks the schema before each write. Must not know the core.

use std::sync::atomic::Ordering;

use hearth_contract::formats::Timestamp;

use super::state::Engine;
use crate::store::file_store::retry::retry_refused_by_key;
use crate::store::outside::Restored;
use crate::store::schema::SchemaState;
use crate::store::{Connection, StoreError, connection, feed, gate, marks, open, refill, schema};

impl Engine {
    /// Writes to the database.
    pub(super) fn write<T>(
        &mut self,
        work: impl FnMut(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.is_schema_altered()? {
            self.restore_schema()?;
        }
        let value = self.retry_busy(work)?;
        if self.checkpoint.is_none() {
            self.note_checkpoint()?;
        }
        self.output.has_written = true;
        Ok(value)
    }

    /// Notes the checkpoint after a write that may have moved it. After any other write another checkpoint stays a sign that another
    /// program has replaced the content.
    pub(super) fn note_checkpoint(&mut self) -> Result<(), StoreError> {
        self.checkpoint = Some(self.retry_busy(|c| feed::checkpoint(c))?);
        Ok(())
    }

    /// True when the database goes on from another event than the one that this sync applied last: another program has put an
    /// older copy there, for example by SQLite's `.restore`.
    pub(super) fn is_content_replaced(&mut self) -> Result<bool, StoreError> {
        let Some(known) = self.checkpoint else { return Ok(false) };
        Ok(self.retry_busy(|c| feed::checkpoint(c))? != known)
    }

    /// Why nothing may be synced: the records go to another home. None: no refill has begun.
    pub(crate) fn refill_reason(&mut self) -> Result<Option<String>, StoreError> {
        Ok(self.retry_busy(|c| refill::load(c))?.map(|refill| refill::reason(&refill.server)))
    }

    /// Gives the files that the server refused because of the key another attempt.
    pub(crate) fn retry_files_refused_by_key(&mut self) {
        if let Err(error) = retry_refused_by_key(&mut self.connection) {
            tracing::warn!(%error, "files that the server refused because of the key are tried later");
        }
    }

    /// Marks the database at the start and at the end of a sync, so that an older copy of the file is known by its mark.
    /// `looked_at`: when the database was last looked through for damage, if that is to be noted.
    pub(crate) fn mark_file(&mut self, looked_at: Option<Timestamp>) {
        marks::mark(&self.db, &self.connection, (self.random)() as i32, looked_at);
    }

    /// Looks at tables, triggers and views, if any was made, dropped or altered since the last look. True when another program
    /// has removed or altered one of the replica's.
    pub(super) fn is_schema_altered(&mut self) -> Result<bool, StoreError> {
        let schema_version = self.retry_busy(|c| connection::schema_version(c))?;
        if self.schema_version == Some(schema_version) {
            return Ok(false);
        }
        match self.retry_busy(|c| schema::state(c))? {
            SchemaState::Altered => return Ok(true),
            // A newer program may have added columns that this program would leave empty.
            SchemaState::Outdated => return Err(StoreError::SchemaReplaced),
            SchemaState::Current => {}
        }
        self.retry_busy(|c| gate::skip_own_triggers(c))?;
        self.schema_version = Some(schema_version);
        Ok(false)
    }

    /// Restores what another program has removed or altered. Rows that changed meanwhile become edits.
    pub(super) fn restore_schema(&mut self) -> Result<(), StoreError> {
        // The edits are queued by triggers, which do not fire on the engine's own connection.
        let db = self.db.clone();
        let (_, restored) = self.retry_busy(|_| open::read_write_and_report(&db))?;
        for sentence in restored.iter().flat_map(Restored::sentences) {
            tracing::warn!("{sentence}");
        }
        self.output.has_written = true;
        match self.is_schema_altered()? {
            true => Err(StoreError::Unexpected("tables or triggers that cannot be restored".to_owned())),
            false => Ok(()),
        }
    }

    /// Repeats `work` while another program locks the database, until the cancel flag is set.
    pub(super) fn retry_busy<T>(
        &mut self,
        mut work: impl FnMut(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut has_warned = false;
        loop {
            match work(&mut self.connection) {
                Err(error) if error.is_busy() && !self.cancel.load(Ordering::Relaxed) => {
                    if !std::mem::replace(&mut has_warned, true) {
                        tracing::warn!("another program locks the database; waiting");
                    }
                }
                result => return result,
            }
        }
    }
}

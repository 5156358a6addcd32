//! Reads and writes of the engine: waits for locks, and checks the schema before each write. Must not know the core.

use std::sync::atomic::Ordering;

use super::state::Engine;
use crate::store::{Connection, StoreError, connection, gate, schema};

impl Engine {
    /// Writes to the database.
    pub(super) fn write<T>(
        &mut self,
        work: impl FnMut(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // Another program may have created or dropped a trigger.
        let schema_version = self.retry_busy(|c| connection::schema_version(c))?;
        if self.schema_version != Some(schema_version) {
            // A newer program may have added columns that this program would leave empty.
            if !self.retry_busy(|c| schema::is_current(c))? {
                return Err(StoreError::SchemaReplaced);
            }
            self.retry_busy(|c| gate::skip_own_triggers(c))?;
            self.schema_version = Some(schema_version);
        }
        let value = self.retry_busy(work)?;
        self.output.has_written = true;
        Ok(value)
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

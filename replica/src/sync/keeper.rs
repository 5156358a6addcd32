//! The database for async code: its work happens on threads that may block, and rings the bell. Must not know what
//! the work is.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use hearth_contract::formats::Timestamp;

use crate::bell;
use crate::store::{Connection, StoreError, open};

/// The database, reached from async code: its work happens on threads that may block.
pub(super) struct Store {
    connection: Arc<Mutex<Connection>>,
    db: PathBuf,
}

impl Store {
    /// Opens the database.
    pub(super) async fn open(db: PathBuf) -> Result<Store, StoreError> {
        let path = db.clone();
        let connection = blocking(move || open::read_write(&path)).await?;
        Ok(Store { connection: Arc::new(Mutex::new(connection)), db })
    }

    /// Reads, or writes what nobody else waits for.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let connection = self.connection.clone();
        blocking(move || {
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                match work(&mut connection) {
                    // Somebody's script holds a long transaction; it will end.
                    Err(error) if error.is_busy() => tracing::warn!("the database is held by another program; waiting"),
                    result => return result,
                }
            }
        })
        .await
    }

    /// Writes, and rings the bell once it is committed.
    pub(super) async fn keep<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Connection, Timestamp) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let value = self.read(move |connection| work(connection, wall_clock())).await?;
        bell::ring(&self.db);
        Ok(value)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Odd("work that the runtime dropped as it ended".to_owned())),
        },
    }
}

/// This machine's idea of now, for display and for how old contact is; nothing is decided by it.
pub(super) fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

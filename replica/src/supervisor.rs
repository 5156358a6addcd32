//! Supervises a sync, for the daemon and for a screen: a database that is damaged, or that a person wants
//! rebuilt, is rebuilt, and the sync starts again without a person. A missing database is left for a person to find. Must not know how syncing works.

use std::io;

use crate::store::{StoreError, salvage};
use crate::sync::{SyncConfig, SyncError, SyncLock};
use crate::{Origin, RebuildReport, Replica, rebuild};

/// After this many rebuilds in one run a person has to look at the database.
const REBUILDS_MAX: u32 = 2;

/// Runs `syncing` with the sync lock until the sync ends. After damage the database is rebuilt, `rebuilt` gets the
/// result, and the sync starts again. The lock is held until the return, so that no other process syncs in between.
/// Error: the error of the last sync, or of the rebuild.
pub async fn supervise_sync(
    config: &SyncConfig,
    origin: Origin,
    lock: SyncLock,
    mut syncing: impl AsyncFnMut(SyncLock) -> Result<(), SyncError>,
    mut rebuilt: impl FnMut(&RebuildReport),
) -> Result<(), SyncError> {
    let mut rebuilds = 0;
    loop {
        // Opening first reports a failed schema migration before the sync starts.
        let ended = match Replica::open(&config.db, origin) {
            Ok(replica) => {
                for sentence in replica.restored().iter().flat_map(|restored| restored.sentences()) {
                    tracing::warn!("{sentence}");
                }
                drop(replica);
                syncing(lock.clone()).await
            }
            Err(error) => Err(SyncError::Store(error)),
        };
        match ended {
            Err(SyncError::Store(error)) if rebuilds < REBUILDS_MAX && is_damaged(config, origin, &error) => {
                rebuilds += 1;
                tracing::warn!(%error, "the database is damaged; rebuilding it");
            }
            Err(SyncError::RebuildWanted) => tracing::info!("a person has requested a rebuild"),
            ended => return ended,
        }
        let is_requested = salvage::rebuild_request::take_rebuild_request(&config.db);
        let (db, right) = (config.db.clone(), lock.clone());
        // A rebuild takes long; on a thread of its own the other tasks keep running.
        let rebuilding = tokio::task::spawn_blocking(move || rebuild(&db, &right)).await;
        let rescue = rebuilding.map_err(|error| StoreError::File(config.db.clone(), io::Error::other(error)))??;
        if is_requested {
            salvage::rebuild_request::answer(&config.db, &rescue)?;
        }
        rebuilt(&rescue);
    }
}

/// True when only a rebuild helps. For an unclear error the database is opened again, which names the real fault. A
/// moved file is not opened, because that would create another database. A missing file is not rebuilt: a person may
/// find the file, and only then is its log of use.
fn is_damaged(config: &SyncConfig, origin: Origin, error: &StoreError) -> bool {
    let calls_for_it = |error: &StoreError| error.is_damaged() && !matches!(error, StoreError::Missing(_));
    let again = || Replica::open(&config.db, origin).is_err_and(|error| calls_for_it(&error));
    // Opening a database whose triggers another build has made would replace them by those of this build.
    let is_settled = matches!(error, StoreError::Moved(_) | StoreError::Missing(_) | StoreError::SchemaReplaced);
    calls_for_it(error) || (!is_settled && again())
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;
    use hearth_contract::schema::Kind;

    use super::*;

    fn scene() -> (tempfile::TempDir, SyncConfig) {
        let directory = tempfile::tempdir().unwrap();
        let config = SyncConfig::unreachable(directory.path());
        let hall = Fields::from_iter([("name".to_owned(), "Hall".into())]);
        Replica::open(&config.db, Origin::Cli).unwrap().create(Kind::Room, &hall).unwrap();
        (directory, config)
    }

    fn damaged() -> SyncError {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        SyncError::Store(rusqlite::Error::SqliteFailure(code, None).into())
    }

    #[tokio::test]
    async fn damaged_database_is_rebuilt_and_synced() {
        let (_directory, config) = scene();
        let (mut starts, mut rebuilds_seen) = (0, Vec::new());
        let syncing = async |lock: SyncLock| {
            starts += 1;
            drop(lock);
            assert!(SyncLock::try_take(&config.db).unwrap().is_none(), "the lock is kept over the rebuild");
            if starts > 1 {
                return Ok(());
            }
            // Damages the header only, so the edits stay readable.
            let mut file = std::fs::OpenOptions::new().write(true).open(&config.db).unwrap();
            std::io::Write::write_all(&mut file, &[0xff; 100]).unwrap();
            Err(damaged())
        };
        let lock = SyncLock::try_take(&config.db).unwrap().unwrap();
        supervise_sync(&config, Origin::Tui, lock, syncing, |rescue| rebuilds_seen.push(rescue.edits)).await.unwrap();
        assert_eq!((starts, rebuilds_seen), (2, vec![1]));
        assert_eq!(Replica::open(&config.db, Origin::Tui).unwrap().edits().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn persistent_damage_or_move_ends_sync() {
        let (directory, config) = scene();
        let mut starts = 0;
        let syncing = async |lock: SyncLock| {
            drop(lock);
            starts += 1;
            Err(damaged())
        };
        let lock = || SyncLock::try_take(&config.db).unwrap().unwrap();
        let ended = supervise_sync(&config, Origin::Tui, lock(), syncing, |_| ()).await;
        assert!(matches!(ended, Err(SyncError::Store(error)) if error.is_damaged()));
        assert_eq!(starts, REBUILDS_MAX + 1);
        let moved = async |_| {
            std::fs::rename(&config.db, directory.path().join("elsewhere.db")).unwrap();
            Err(SyncError::Store(StoreError::Moved(config.db.clone())))
        };
        let ended = supervise_sync(&config, Origin::Tui, lock(), moved, |_| panic!("nothing is made anew")).await;
        assert!(matches!(ended, Err(SyncError::Store(StoreError::Moved(_)))));
        assert!(!config.db.exists(), "nor another in its place");
    }
}

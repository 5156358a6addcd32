//! Syncing that goes on over a database that turns out to be damaged: it is made anew, so that nobody has to come for it. One
//! that is missing is a person's to find. The same for a daemon and for a screen. Must not know how syncing works, nor what is said of it.

use std::io;

use crate::store::StoreError;
use crate::sync::{SyncConfig, SyncError, SyncLock};
use crate::{Origin, RebuildReport, Replica, rebuild};

/// How often a database that turns out to be damaged is made anew before a person has to look.
const REBUILDS_MAX: u32 = 2;

/// Has `syncing` sync with the right to it, until that ends. A damaged database is made anew, which `rebuilt` hears of, and
/// syncing begins again.
pub async fn keep_in_step(
    config: &SyncConfig,
    origin: Origin,
    mut lock: SyncLock,
    mut syncing: impl AsyncFnMut(SyncLock) -> Result<(), SyncError>,
    mut rebuilt: impl FnMut(&RebuildReport),
) -> Result<(), SyncError> {
    let mut rebuilds = 0;
    loop {
        // Opened before anything runs: a schema that cannot be renewed is said at once.
        let ended = match Replica::open(&config.db, origin) {
            Ok(_) => syncing(lock).await,
            Err(error) => {
                drop(lock);
                Err(SyncError::Store(error))
            }
        };
        match ended {
            Err(SyncError::Store(error)) if rebuilds < REBUILDS_MAX && is_damaged(config, origin, &error) => {
                rebuilds += 1;
                tracing::warn!(%error, "the database is damaged and made anew");
                lock = take_again(config)?;
                let db = config.db.clone();
                // It may take a while, in which others must be heard.
                let made = tokio::task::spawn_blocking(move || rebuild(&db, &lock).map(|rescue| (rescue, lock))).await;
                let rescue;
                (rescue, lock) =
                    made.map_err(|error| StoreError::File(config.db.clone(), io::Error::other(error)))??;
                rebuilt(&rescue);
            }
            ended => return ended,
        }
    }
}

/// Whether only a rebuild helps. A table that is missed in the middle of the work is an error like others; who opens the
/// database again is told what is wrong with it. One that is not in its place is not opened, which would make another, and
/// one that is missing is not made anew: it may be somewhere, and what only its log holds is nothing without it.
fn is_damaged(config: &SyncConfig, origin: Origin, error: &StoreError) -> bool {
    let calls_for_it = |error: &StoreError| error.is_damaged() && !matches!(error, StoreError::Missing(_));
    let again = || Replica::open(&config.db, origin).is_err_and(|error| calls_for_it(&error));
    // To open what another version has renewed would make it as it was.
    let is_settled = matches!(error, StoreError::Moved(_) | StoreError::Missing(_) | StoreError::SchemaReplaced);
    calls_for_it(error) || (!is_settled && again())
}

fn take_again(config: &SyncConfig) -> Result<SyncLock, StoreError> {
    let taken = SyncLock::try_take(&config.db).transpose();
    let refused = || Err(io::Error::new(io::ErrorKind::WouldBlock, "another process syncs it by now"));
    taken.unwrap_or_else(refused).map_err(|error| StoreError::File(config.db.clone(), error))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use hearth_contract::check::Fields;
    use hearth_contract::schema::Kind;

    use super::*;
    use crate::ConflictPolicy;

    fn scene() -> (PathBuf, SyncConfig) {
        let directory = std::env::temp_dir().join(format!("hearth-steady-{}", uuid::Uuid::new_v4()));
        let (server, key) = ("http://127.0.0.1:9".to_owned(), "svc_test_x".into());
        let db = directory.join("replica.db");
        let config =
            SyncConfig { db, server, key, key_file: None, profile: None, conflict_policy: ConflictPolicy::Ask };
        let hall = Fields::from_iter([("name".to_owned(), "Hall".into())]);
        Replica::open(&config.db, Origin::Cli).unwrap().create(Kind::Room, &hall).unwrap();
        (directory, config)
    }

    fn damaged() -> SyncError {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
        SyncError::Store(rusqlite::Error::SqliteFailure(code, None).into())
    }

    #[tokio::test]
    async fn a_database_that_turns_out_to_be_damaged_is_made_anew_with_its_edits_and_synced_again() {
        let (directory, config) = scene();
        let (mut began, mut told) = (0, Vec::new());
        let syncing = async |lock: SyncLock| {
            began += 1;
            drop(lock);
            if began > 1 {
                return Ok(());
            }
            // Its head alone, so that the edits can be read.
            let mut file = std::fs::OpenOptions::new().write(true).open(&config.db).unwrap();
            std::io::Write::write_all(&mut file, &[0xff; 100]).unwrap();
            Err(damaged())
        };
        let lock = SyncLock::try_take(&config.db).unwrap().unwrap();
        keep_in_step(&config, Origin::Tui, lock, syncing, |rescue| told.push(rescue.edits)).await.unwrap();
        assert_eq!((began, told), (2, vec![1]));
        assert_eq!(Replica::open(&config.db, Origin::Tui).unwrap().edits().unwrap().len(), 1);
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[tokio::test]
    async fn a_database_that_stays_damaged_or_was_moved_ends_it() {
        let (directory, config) = scene();
        let mut began = 0;
        let syncing = async |lock: SyncLock| {
            drop(lock);
            began += 1;
            Err(damaged())
        };
        let lock = || SyncLock::try_take(&config.db).unwrap().unwrap();
        let ended = keep_in_step(&config, Origin::Tui, lock(), syncing, |_| ()).await;
        assert!(matches!(ended, Err(SyncError::Store(error)) if error.is_damaged()));
        assert_eq!(began, REBUILDS_MAX + 1);
        let moved = async |_| {
            std::fs::rename(&config.db, directory.join("elsewhere.db")).unwrap();
            Err(SyncError::Store(StoreError::Moved(config.db.clone())))
        };
        let ended = keep_in_step(&config, Origin::Tui, lock(), moved, |_| panic!("nothing is made anew")).await;
        assert!(matches!(ended, Err(SyncError::Store(StoreError::Moved(_)))));
        assert!(!config.db.exists(), "nor another in its place");
        std::fs::remove_dir_all(directory).unwrap();
    }
}

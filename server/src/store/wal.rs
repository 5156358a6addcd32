//! Checkpoints of SQLite's write-ahead log (WAL): when its pages are copied into the database, and when the log restarts.
//! SQLite's own autocheckpoint restarts the log only when no reader is active. Under steady reading the log would then
//! grow without limit. Must not know what is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rusqlite::Connection;

use super::open::BUSY_TIMEOUT;

/// Pages of log between two checkpoints.
const CHECKPOINT_PAGES: i64 = 4000;
/// Pages of log from which the writer waits for readers to restart the log: 64 MiB.
const RESTART_PAGES: i64 = 16_000;
/// How long a restart waits for readers, while no write can begin. Short reads end sooner; a later checkpoint tries again
/// after a long read.
const RESTART_WAIT_MAX: Duration = Duration::from_millis(50);

/// The modes of `PRAGMA wal_checkpoint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckpointMode {
    /// Copies the pages that no reader needs.
    Passive,
    /// Copies all pages; the next write begins at the start of the log.
    Restart,
    /// Copies all pages and truncates the file of the log.
    Truncate,
}

/// The write-ahead log, as the only writer of this process sees the log.
pub(super) struct Wal {
    /// Pages in the log after the last commit.
    pages: Arc<AtomicI64>,
    /// Pages in the log after the last checkpoint.
    pages_at_checkpoint: i64,
    /// Pages in the log at the last call of [`Wal::checkpoint_truncate_if_idle`].
    pages_at_idle_check: i64,
}

impl Wal {
    /// Replaces SQLite's autocheckpoint on the only connection of this process that writes.
    pub(super) fn replace_autocheckpoint(conn: &mut Connection) -> rusqlite::Result<Wal> {
        let pages = Arc::new(AtomicI64::new(0));
        let counter = pages.clone();
        conn.wal_hook(Some(move |_: &mut _, pages| {
            counter.store(i64::from(pages), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Wal { pages, pages_at_checkpoint: 0, pages_at_idle_check: 0 })
    }

    /// Whether a checkpoint is due after a commit.
    pub(super) fn is_checkpoint_due(&self) -> bool {
        self.due_mode().is_some()
    }

    /// Runs the checkpoint that is due, if any.
    pub(super) fn checkpoint_if_due(&mut self, conn: &Connection) {
        if let Some(mode) = self.due_mode() {
            self.checkpoint(conn, mode);
        }
    }

    /// Truncates the log when no write happened since the last call. To be called while no write waits.
    pub(super) fn checkpoint_truncate_if_idle(&mut self, conn: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages > 0 && self.pages_at_idle_check == pages {
            self.checkpoint(conn, CheckpointMode::Truncate);
        }
        self.pages_at_idle_check = self.pages.load(Ordering::Relaxed);
    }

    fn due_mode(&self) -> Option<CheckpointMode> {
        let pages = self.pages.load(Ordering::Relaxed);
        // Fewer pages than at the last checkpoint: the log has restarted since.
        let pages_at_checkpoint = if pages < self.pages_at_checkpoint { 0 } else { self.pages_at_checkpoint };
        match pages {
            _ if pages - pages_at_checkpoint < CHECKPOINT_PAGES => None,
            RESTART_PAGES.. => Some(CheckpointMode::Restart),
            _ => Some(CheckpointMode::Passive),
        }
    }

    fn checkpoint(&mut self, conn: &Connection, mode: CheckpointMode) {
        let sql = match mode {
            CheckpointMode::Passive => "PRAGMA wal_checkpoint(PASSIVE)",
            CheckpointMode::Restart => "PRAGMA wal_checkpoint(RESTART)",
            CheckpointMode::Truncate => "PRAGMA wal_checkpoint(TRUNCATE)",
        };
        let _ = conn.busy_timeout(RESTART_WAIT_MAX);
        let is_complete = conn.query_row(sql, [], |row| row.get(0)).map(|busy: i64| busy == 0);
        let _ = conn.busy_timeout(BUSY_TIMEOUT);
        match is_complete {
            Ok(true) if mode != CheckpointMode::Passive => self.pages.store(0, Ordering::Relaxed),
            Ok(_) => (),
            Err(error) => tracing::warn!(%error, "the write-ahead log could not be checkpointed"),
        }
        self.pages_at_checkpoint = self.pages.load(Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// A database with this many pages of log.
    fn database(dir: &Path, pages: i64) -> (Connection, Wal) {
        let mut conn = Connection::open(dir.join("t.db")).unwrap();
        conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (n)").unwrap();
        let wal = Wal::replace_autocheckpoint(&mut conn).unwrap();
        write(&conn, pages);
        (conn, wal)
    }

    /// Writes this many pages.
    fn write(conn: &Connection, pages: i64) {
        let transaction = conn.unchecked_transaction().unwrap();
        for _ in 0..pages {
            conn.execute("INSERT INTO t VALUES (zeroblob(4000))", []).unwrap();
        }
        transaction.commit().unwrap();
    }

    fn log_bytes(dir: &Path) -> u64 {
        std::fs::metadata(dir.join("t.db-wal")).unwrap().len()
    }

    #[test]
    fn log_restarts_under_steady_reading() {
        let dir = tempfile::tempdir().unwrap();
        let (conn, mut wal) = database(dir.path(), 1);
        let stop = Arc::new(AtomicBool::new(false));
        let readers = [(); 2].map(|()| {
            let (stop, reader) = (stop.clone(), Connection::open(dir.path().join("t.db")).unwrap());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    reader.execute_batch("BEGIN; SELECT n FROM t LIMIT 1").unwrap();
                    std::thread::yield_now();
                    reader.execute_batch("COMMIT").unwrap();
                }
            })
        });
        let mut pages_max = 0;
        for _ in 0..80 {
            write(&conn, 500);
            wal.checkpoint_if_due(&conn);
            pages_max = pages_max.max(wal.pages.load(Ordering::Relaxed));
        }
        stop.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert!(pages_max < RESTART_PAGES + 3 * CHECKPOINT_PAGES, "{pages_max} of 40,000 pages");
    }

    #[test]
    fn restart_blocked_by_long_read_is_retried_later() {
        let dir = tempfile::tempdir().unwrap();
        let (conn, mut wal) = database(dir.path(), RESTART_PAGES + 1);
        let reader = Connection::open(dir.path().join("t.db")).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        write(&conn, 1);
        assert!(wal.is_checkpoint_due());
        wal.checkpoint_if_due(&conn);
        write(&conn, 1);
        assert!(!wal.is_checkpoint_due(), "not with every write");
        write(&conn, CHECKPOINT_PAGES);
        assert!(wal.is_checkpoint_due());
        reader.execute_batch("COMMIT").unwrap();
        wal.checkpoint_if_due(&conn);
        write(&conn, 1);
        assert!(!wal.is_checkpoint_due() && wal.pages.load(Ordering::Relaxed) < 10, "the log has restarted");
    }

    #[test]
    fn idle_log_is_truncated() {
        let dir = tempfile::tempdir().unwrap();
        let (conn, mut wal) = database(dir.path(), 100);
        wal.checkpoint_truncate_if_idle(&conn);
        assert!(log_bytes(dir.path()) > 100 * 4096, "a write came before the first call");
        write(&conn, 1);
        wal.checkpoint_truncate_if_idle(&conn);
        assert!(log_bytes(dir.path()) > 100 * 4096, "a write came before the second call");
        wal.checkpoint_truncate_if_idle(&conn);
        assert_eq!(log_bytes(dir.path()), 0);
    }
}

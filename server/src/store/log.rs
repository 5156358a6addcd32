//! SQLite's write-ahead log: when what it holds is moved into the database, and when it begins anew. SQLite itself moves it
//! within a commit and begins anew only when nobody happens to read, which under steady reading is never: then the log
//! grows for as long as there are writes. Must not know what is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rusqlite::Connection;

use super::open::BUSY_TIMEOUT;

/// Pages of log after which they are moved into the database.
const MOVE_EVERY: i64 = 4000;
/// Pages of log that are not put up with: 64 MiB. From here on the writer waits a little for those who read.
const LONG: i64 = 16_000;
/// How long it waits, while nobody can write. Short reads are over by then; a long one will be when it is tried again.
const WAIT_MAX: Duration = Duration::from_millis(50);

/// How much is done with the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// Moves what nobody reads any more.
    Passive,
    /// Moves all, so that the next write begins at its start.
    Restart,
    /// Moves all, and gives the disk back what it took.
    Truncate,
}

/// The log as the one writer sees it.
pub(super) struct Log {
    /// Pages in it after the last commit.
    pages: Arc<AtomicI64>,
    /// The same when something was last done with it.
    done_at: i64,
    /// The same when nobody had written for a while.
    rested_at: i64,
}

impl Log {
    /// Takes the log over from SQLite. This must be the only connection of this process that writes.
    pub(super) fn of(conn: &mut Connection) -> rusqlite::Result<Log> {
        let pages = Arc::new(AtomicI64::new(0));
        let counted = pages.clone();
        conn.wal_hook(Some(move |_: &mut _, pages| {
            counted.store(i64::from(pages), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Log { pages, done_at: 0, rested_at: 0 })
    }

    /// Whether it is time to do something with the log, after a commit.
    pub(super) fn is_due(&self) -> bool {
        self.measure().is_some()
    }

    /// Does what is due.
    pub(super) fn tend(&mut self, conn: &Connection) {
        if let Some(measure) = self.measure() {
            self.take(conn, measure);
        }
    }

    /// Nobody has a write to do. When that was so before, and nothing was written since, the disk gets back what the log
    /// took.
    pub(super) fn rest(&mut self, conn: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages > 0 && self.rested_at == pages {
            self.take(conn, Measure::Truncate);
        }
        self.rested_at = self.pages.load(Ordering::Relaxed);
    }

    fn measure(&self) -> Option<Measure> {
        let pages = self.pages.load(Ordering::Relaxed);
        // Fewer than there were: it has begun anew.
        let done_at = if pages < self.done_at { 0 } else { self.done_at };
        match pages {
            _ if pages - done_at < MOVE_EVERY => None,
            LONG.. => Some(Measure::Restart),
            _ => Some(Measure::Passive),
        }
    }

    fn take(&mut self, conn: &Connection, measure: Measure) {
        let sql = match measure {
            Measure::Passive => "PRAGMA wal_checkpoint(PASSIVE)",
            Measure::Restart => "PRAGMA wal_checkpoint(RESTART)",
            Measure::Truncate => "PRAGMA wal_checkpoint(TRUNCATE)",
        };
        let _ = conn.busy_timeout(WAIT_MAX);
        let is_whole = conn.query_row(sql, [], |row| row.get(0)).map(|busy: i64| busy == 0);
        let _ = conn.busy_timeout(BUSY_TIMEOUT);
        match is_whole {
            Ok(true) if measure != Measure::Passive => self.pages.store(0, Ordering::Relaxed),
            Ok(_) => (),
            Err(error) => tracing::warn!(%error, "the write-ahead log could not be moved into the database"),
        }
        self.done_at = self.pages.load(Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// A database with this many pages of log.
    fn written(dir: &Path, pages: i64) -> (Connection, Log) {
        let mut conn = Connection::open(dir.join("t.db")).unwrap();
        conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (n)").unwrap();
        let log = Log::of(&mut conn).unwrap();
        write(&conn, pages);
        (conn, log)
    }

    /// Writes so many pages.
    fn write(conn: &Connection, pages: i64) {
        let transaction = conn.unchecked_transaction().unwrap();
        for _ in 0..pages {
            conn.execute("INSERT INTO t VALUES (zeroblob(4000))", []).unwrap();
        }
        transaction.commit().unwrap();
    }

    fn bytes(dir: &Path) -> u64 {
        std::fs::metadata(dir.join("t.db-wal")).unwrap().len()
    }

    #[test]
    fn a_log_begins_anew_although_somebody_always_reads() {
        let dir = tempfile::tempdir().unwrap();
        let (conn, mut log) = written(dir.path(), 1);
        let over = Arc::new(AtomicBool::new(false));
        let readers = [(); 2].map(|()| {
            let (over, reader) = (over.clone(), Connection::open(dir.path().join("t.db")).unwrap());
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    reader.execute_batch("BEGIN; SELECT n FROM t LIMIT 1").unwrap();
                    std::thread::yield_now();
                    reader.execute_batch("COMMIT").unwrap();
                }
            })
        });
        let mut most = 0;
        for _ in 0..80 {
            write(&conn, 500);
            log.tend(&conn);
            most = most.max(log.pages.load(Ordering::Relaxed));
        }
        over.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert!(most < LONG + 3 * MOVE_EVERY, "{most} of 40,000 pages");
    }

    #[test]
    fn a_log_that_somebody_reads_for_long_is_waited_for_now_and_then() {
        let dir = tempfile::tempdir().unwrap();
        let (conn, mut log) = written(dir.path(), LONG + 1);
        let reader = Connection::open(dir.path().join("t.db")).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        write(&conn, 1);
        assert!(log.is_due());
        log.tend(&conn);
        write(&conn, 1);
        assert!(!log.is_due(), "not with every write");
        write(&conn, MOVE_EVERY);
        assert!(log.is_due());
        reader.execute_batch("COMMIT").unwrap();
        log.tend(&conn);
        write(&conn, 1);
        assert!(!log.is_due() && log.pages.load(Ordering::Relaxed) < 10, "it has begun anew");
    }

    #[test]
    fn who_rests_gives_the_disk_back_what_the_log_took() {
        let dir = tempfile::tempdir().unwrap();
        let (conn, mut log) = written(dir.path(), 100);
        log.rest(&conn);
        assert!(bytes(dir.path()) > 100 * 4096, "somebody wrote a moment ago");
        write(&conn, 1);
        log.rest(&conn);
        assert!(bytes(dir.path()) > 100 * 4096, "and again");
        log.rest(&conn);
        assert_eq!(bytes(dir.path()), 0);
    }
}

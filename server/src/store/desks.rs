//! Where callers read on the spot, each desk with a read-only connection. While nobody writes, a desk keeps its read
//! transaction from one reader to the next, because beginning one costs as much as finding a record. Must not know what
//! is looked for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::{Fault, Tx};

/// Longest time for which a transaction is kept: what another process commits, nobody here hears at once.
const KEPT_MAX: Duration = Duration::from_millis(1);

/// The desks. None there: every read is for the reader threads.
#[derive(Default)]
pub(super) struct Desks {
    desks: Vec<Mutex<Option<Desk>>>,
    /// Counts the beginnings and the ends of this process's writes: odd while one is under way.
    writes: AtomicU64,
}

/// How many threads have read so far.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Which of them this is.
    static SEAT: usize = THREADS.fetch_add(1, Ordering::Relaxed);
}

struct Desk {
    conn: Connection,
    kept: Option<Kept>,
}

/// A read transaction that was kept.
struct Kept {
    /// The count of writes when it began. It has all that was committed before, and nobody has written since while the
    /// count is the same.
    writes: u64,
    since: Instant,
}

impl Desks {
    /// One for each connection.
    pub(super) fn of(connections: Vec<Connection>) -> Desks {
        let desk = |conn| Mutex::new(Some(Desk { conn, kept: None }));
        Desks { desks: connections.into_iter().map(desk).collect(), writes: AtomicU64::new(0) }
    }

    /// Runs a job here and now, unless every desk is taken: then it comes back.
    pub(super) fn read<J, T>(&self, job: J) -> Result<Result<T, Fault>, J>
    where
        J: FnOnce(&Tx<'_>) -> Result<T, Fault>,
    {
        // Each thread has a desk of its own as far as they go: what it read last is near its processor.
        let first = SEAT.with(|seat| *seat) % self.desks.len().max(1);
        for desk in self.desks[first..].iter().chain(&self.desks[..first]) {
            // A job that panicked is caught below, so that a lock is never poisoned.
            if let Ok(mut desk) = desk.try_lock()
                && let Some(desk) = &mut *desk
            {
                return Ok(desk.read(job, &self.writes));
            }
        }
        Err(job)
    }

    /// Runs a write that ends in a commit or changes nothing. No desk keeps a transaction meanwhile: it would show what
    /// was before, and hold up the log's being moved into the database. Only the one writer may call this.
    pub(super) fn writing<T>(&self, write: impl FnOnce() -> T) -> T {
        self.writes.fetch_add(1, Ordering::AcqRel);
        for desk in &self.desks {
            // Whoever reads at one that is taken finds the count odd, and ends its transaction itself; or had looked a
            // moment before, and the next who reads there, or writes, will.
            match desk.try_lock() {
                Ok(mut desk) => desk.iter_mut().for_each(Desk::end),
                Err(TryLockError::Poisoned(_) | TryLockError::WouldBlock) => (),
            }
        }
        let done = write();
        self.writes.fetch_add(1, Ordering::AcqRel);
        done
    }

    /// Closes the connections; from now on jobs come back.
    pub(super) fn close(&self) {
        for desk in &self.desks {
            desk.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }
}

impl Desk {
    fn read<T>(&mut self, job: impl FnOnce(&Tx<'_>) -> Result<T, Fault>, writes: &AtomicU64) -> Result<T, Fault> {
        let (count, now) = (writes.load(Ordering::Acquire), Instant::now());
        let holds = |kept: &Kept| kept.writes == count && now.duration_since(kept.since) < KEPT_MAX;
        if !self.kept.as_ref().is_some_and(holds) {
            self.end();
            begin(&self.conn)?;
            self.kept = Some(Kept { writes: count, since: now });
        }
        let done = catch_unwind(AssertUnwindSafe(|| job(&Tx::new(&self.conn))));
        let nobody_writes = count % 2 == 0 && writes.load(Ordering::Acquire) == count;
        if !nobody_writes || !matches!(done, Ok(Ok(_))) {
            self.end();
        }
        done.unwrap_or(Err(Fault::Panicked))
    }

    fn end(&mut self) {
        if self.kept.take().is_some() {
            end(&self.conn);
        }
    }
}

/// Begins a read transaction. What it shows is settled by the first look.
pub(super) fn begin(conn: &Connection) -> rusqlite::Result<()> {
    conn.prepare_cached("BEGIN")?.raw_execute().map(drop)
}

/// Ends it.
pub(super) fn end(conn: &Connection) {
    if !conn.is_autocommit() {
        let _ = conn.prepare_cached("COMMIT").and_then(|mut commit| commit.raw_execute());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A writer, another process as far as the desk can know, and a desk.
    fn bench() -> (tempfile::TempDir, Connection, Desks) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.db");
        let writer = Connection::open(&file).unwrap();
        writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (n); INSERT INTO t VALUES (1)").unwrap();
        let desks = Desks::of(vec![Connection::open(&file).unwrap()]);
        (dir, writer, desks)
    }

    fn count(desks: &Desks) -> i64 {
        let look = |tx: &Tx<'_>| Ok(tx.conn.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?);
        desks.read(look).unwrap_or_else(|_| panic!("the desk is free")).unwrap()
    }

    fn is_kept(desks: &Desks) -> bool {
        desks.desks[0].lock().unwrap().as_ref().unwrap().kept.is_some()
    }

    #[test]
    fn a_transaction_is_kept_until_somebody_writes() {
        let (_dir, writer, desks) = bench();
        assert_eq!((count(&desks), is_kept(&desks)), (1, true));
        desks.writing(|| {
            assert!(!is_kept(&desks));
            writer.execute("INSERT INTO t VALUES (2)", []).unwrap();
            // Between the commit and its being told, what is shown is not kept.
            assert_eq!((count(&desks), is_kept(&desks)), (2, false));
        });
        assert_eq!((count(&desks), is_kept(&desks)), (2, true));
    }

    #[test]
    fn what_another_process_did_is_seen_once_a_transaction_is_old() {
        let (_dir, writer, desks) = bench();
        assert_eq!(count(&desks), 1);
        writer.execute("INSERT INTO t VALUES (2)", []).unwrap();
        let age = |desk: &mut Desk| desk.kept.iter_mut().for_each(|kept| kept.since -= KEPT_MAX);
        desks.desks[0].lock().unwrap().iter_mut().for_each(age);
        assert_eq!(count(&desks), 2);
    }

    #[test]
    fn a_kept_transaction_does_not_hold_up_the_log() {
        let (_dir, writer, desks) = bench();
        assert_eq!(count(&desks), 1);
        let moved = |writer: &Connection| {
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            writer.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() == 0
        };
        writer.execute("INSERT INTO t VALUES (2)", []).unwrap();
        assert!(!moved(&writer));
        assert!(desks.writing(|| moved(&writer)));
    }

    #[test]
    fn a_job_that_breaks_leaves_the_desk_usable() {
        let (_dir, _writer, desks) = bench();
        let broken = desks.read(|_| -> Result<i64, Fault> { panic!("on purpose") });
        assert!(matches!(broken, Ok(Err(Fault::Panicked))));
        assert_eq!(count(&desks), 1);
        desks.close();
        assert!(desks.read(|_| Ok(())).is_err());
    }
}

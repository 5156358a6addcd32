//! Read-only connections for reads on the calling thread. While no write happens, a connection keeps its read transaction
//! open from one read to the next, because beginning a transaction costs as much as finding a record. Must not know what
//! the jobs read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::error::StoreError;
use super::tx::Tx;

/// The longest time that a transaction stays open. A commit of another process is not signalled to this process.
const SNAPSHOT_AGE_MAX: Duration = Duration::from_millis(1);

/// The inline readers. Without connections, all reads go to the reader threads.
#[derive(Default)]
pub(super) struct InlineReaders {
    readers: Vec<Mutex<Option<InlineReader>>>,
    /// Counts the beginnings and the ends of this process's writes: odd while a write runs.
    write_count: AtomicU64,
}

/// The number of threads that have read inline.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The index of this thread among the threads that have read inline.
    static THREAD_INDEX: usize = THREADS.fetch_add(1, Ordering::Relaxed);
}

struct InlineReader {
    conn: Connection,
    snapshot: Option<Snapshot>,
}

/// A read transaction that stays open.
struct Snapshot {
    /// The count of writes at the beginning of the transaction. The transaction is current while the count is equal.
    write_count: u64,
    began_at: Instant,
}

impl InlineReaders {
    /// Makes an inline reader for each connection.
    pub(super) fn new(connections: Vec<Connection>) -> InlineReaders {
        let reader = |conn| Mutex::new(Some(InlineReader { conn, snapshot: None }));
        InlineReaders { readers: connections.into_iter().map(reader).collect(), write_count: AtomicU64::new(0) }
    }

    /// Runs a job on the calling thread. `Err` returns the job when all connections are in use.
    pub(super) fn read<J, T>(&self, job: J) -> Result<Result<T, StoreError>, J>
    where
        J: FnOnce(&Tx<'_>) -> Result<T, StoreError>,
    {
        // Each thread prefers the same connection: the processor's cache still holds the pages of the thread's last read.
        let first = THREAD_INDEX.with(|index| *index) % self.readers.len().max(1);
        for reader in self.readers[first..].iter().chain(&self.readers[..first]) {
            // `InlineReader::read` catches panics, so the lock is never poisoned.
            if let Ok(mut reader) = reader.try_lock()
                && let Some(reader) = &mut *reader
            {
                return Ok(reader.read(job, &self.write_count));
            }
        }
        Err(job)
    }

    /// Ends all open snapshots, then runs a write. A snapshot would show an older state and would prevent the checkpoint
    /// of the write-ahead log. Only the writer may call this function.
    pub(super) fn during_write<T>(&self, write: impl FnOnce() -> T) -> T {
        self.write_count.fetch_add(1, Ordering::AcqRel);
        for reader in &self.readers {
            // A reader in use ends its own snapshot after the read, because the count is odd. A reader that compared the
            // count earlier leaves its snapshot to the next read or write.
            match reader.try_lock() {
                Ok(mut reader) => reader.iter_mut().for_each(InlineReader::end_snapshot),
                Err(TryLockError::Poisoned(_) | TryLockError::WouldBlock) => (),
            }
        }
        let result = write();
        self.write_count.fetch_add(1, Ordering::AcqRel);
        result
    }

    /// Closes the connections. Later calls of `read` return their jobs.
    pub(super) fn close(&self) {
        for reader in &self.readers {
            reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }
}

impl InlineReader {
    fn read<T>(
        &mut self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, StoreError>,
        write_count: &AtomicU64,
    ) -> Result<T, StoreError> {
        let (count, now) = (write_count.load(Ordering::Acquire), Instant::now());
        let is_current = |snapshot: &Snapshot| {
            snapshot.write_count == count && now.duration_since(snapshot.began_at) < SNAPSHOT_AGE_MAX
        };
        if !self.snapshot.as_ref().is_some_and(is_current) {
            self.end_snapshot();
            begin_read(&self.conn)?;
            self.snapshot = Some(Snapshot { write_count: count, began_at: now });
        }
        let result = catch_unwind(AssertUnwindSafe(|| job(&Tx::new(&self.conn))));
        let is_without_write = count % 2 == 0 && write_count.load(Ordering::Acquire) == count;
        if !is_without_write || !matches!(result, Ok(Ok(_))) {
            self.end_snapshot();
        }
        result.unwrap_or(Err(StoreError::Panicked))
    }

    fn end_snapshot(&mut self) {
        if self.snapshot.take().is_some() {
            end_read(&self.conn);
        }
    }
}

/// Begins a read transaction. The first statement fixes the state that the transaction shows.
pub(super) fn begin_read(conn: &Connection) -> rusqlite::Result<()> {
    conn.prepare_cached("BEGIN")?.raw_execute().map(drop)
}

/// Ends the open read transaction, if any.
pub(super) fn end_read(conn: &Connection) {
    if !conn.is_autocommit() {
        let _ = conn.prepare_cached("COMMIT").and_then(|mut commit| commit.raw_execute());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database with a single row, a writing connection (another process to the inline reader), and an inline reader.
    fn set_up() -> (tempfile::TempDir, Connection, InlineReaders) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("t.db");
        let writer = Connection::open(&file).unwrap();
        writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (n); INSERT INTO t VALUES (1)").unwrap();
        let readers = InlineReaders::new(vec![Connection::open(&file).unwrap()]);
        (dir, writer, readers)
    }

    fn count_rows(readers: &InlineReaders) -> i64 {
        let count = |tx: &Tx<'_>| Ok(tx.conn.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?);
        readers.read(count).unwrap_or_else(|_| panic!("the connection is free")).unwrap()
    }

    fn has_snapshot(readers: &InlineReaders) -> bool {
        readers.readers[0].lock().unwrap().as_ref().unwrap().snapshot.is_some()
    }

    #[test]
    fn snapshot_is_kept_until_a_write() {
        let (_dir, writer, readers) = set_up();
        assert_eq!((count_rows(&readers), has_snapshot(&readers)), (1, true));
        readers.during_write(|| {
            assert!(!has_snapshot(&readers));
            writer.execute("INSERT INTO t VALUES (2)", []).unwrap();
            // A read between the commit and the end of the write keeps no snapshot.
            assert_eq!((count_rows(&readers), has_snapshot(&readers)), (2, false));
        });
        assert_eq!((count_rows(&readers), has_snapshot(&readers)), (2, true));
    }

    #[test]
    fn old_snapshot_is_renewed_for_other_processes() {
        let (_dir, writer, readers) = set_up();
        assert_eq!(count_rows(&readers), 1);
        writer.execute("INSERT INTO t VALUES (2)", []).unwrap();
        let age = |reader: &mut InlineReader| {
            reader.snapshot.iter_mut().for_each(|snapshot| snapshot.began_at -= SNAPSHOT_AGE_MAX);
        };
        readers.readers[0].lock().unwrap().iter_mut().for_each(age);
        assert_eq!(count_rows(&readers), 2);
    }

    #[test]
    fn write_ends_snapshots_before_a_checkpoint() {
        let (_dir, writer, readers) = set_up();
        assert_eq!(count_rows(&readers), 1);
        let checkpoint = |writer: &Connection| {
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            writer.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() == 0
        };
        writer.execute("INSERT INTO t VALUES (2)", []).unwrap();
        assert!(!checkpoint(&writer));
        assert!(readers.during_write(|| checkpoint(&writer)));
    }

    #[test]
    fn panic_leaves_the_connection_usable() {
        let (_dir, _writer, readers) = set_up();
        let panicked = readers.read(|_| -> Result<i64, StoreError> { panic!("on purpose") });
        assert!(matches!(panicked, Ok(Err(StoreError::Panicked))));
        assert_eq!(count_rows(&readers), 1);
        readers.close();
        assert!(readers.read(|_| Ok(())).is_err());
    }
}

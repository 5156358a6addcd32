//! The writer thread with group commit: all jobs that wait when a batch begins share one transaction and one fsync, and
//! get their results afterwards. Without a thread, the caller runs each job in its own transaction. Must not know what
//! the jobs write.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::runtime::Handle;

use super::counters::WriterCounters;
use super::error::{OpenError, StoreError};
use super::home_number::HomeNumber;
use super::inline_readers::InlineReaders;
use super::notifier::Notifier;
use super::queue::{Lane, Next, Queue};
use super::tx::{Pending, Tx};
use super::wal::Wal;
use super::{homes, search};

/// Why a whole batch was not committed.
#[derive(Debug, Clone, Copy)]
pub(super) enum CommitError {
    /// The disk has no room.
    DiskFull,
    /// Another process held the write lock for longer than the busy timeout.
    Locked,
    /// Any other failure.
    Failed,
}

impl From<CommitError> for StoreError {
    fn from(cause: CommitError) -> StoreError {
        match cause {
            CommitError::DiskFull => StoreError::DiskFull,
            CommitError::Locked => StoreError::Busy("another process keeps it locked"),
            CommitError::Failed => StoreError::Busy("the write could not be made durable"),
        }
    }
}

/// A write with a waiting caller.
pub(super) trait Job: Send {
    /// Writes inside the transaction and keeps the result. False: roll back the writes of this job only.
    fn run(&mut self, tx: &Tx<'_>) -> bool;
    /// Sends the result to the caller, once the outcome of the commit is certain.
    fn finish(self: Box<Self>, committed: Result<(), CommitError>);
}

/// Jobs that share one commit.
const BATCH_MAX: usize = 512;
/// Time after which a batch takes no further jobs: a limit on the wait of its first job.
const BATCH_TIME_MAX: Duration = Duration::from_millis(20);
/// Time for merges of the search index after one message. A waiting job ends the merges earlier.
const MERGE_TIME_MAX: Duration = Duration::from_millis(500);

/// The sending side of the writer.
pub(super) struct Writer {
    queue: Arc<Queue<Box<dyn Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    counters: Arc<WriterCounters>,
    /// The writer of the calling thread; None when a thread writes.
    caller_worker: Option<Mutex<Worker>>,
}

/// The writing side: the connection, and the checkpoints between two batches.
struct Worker {
    conn: Connection,
    wal: Wal,
    shared: Shared,
}

/// The parts of the store that a batch must coordinate with.
struct Shared {
    notifier: Notifier,
    inline_readers: Arc<InlineReaders>,
    counters: Arc<WriterCounters>,
    /// The runtime of the callers; None: the callers are on the writing thread.
    runtime: Option<Handle>,
}

impl Writer {
    /// Without a thread: each job is committed and finished before its `push` returns.
    pub(super) fn unthreaded(
        mut conn: Connection,
        notifier: Notifier,
        counters: Arc<WriterCounters>,
    ) -> Result<Writer, OpenError> {
        let shared = Shared { notifier, inline_readers: Arc::default(), counters: counters.clone(), runtime: None };
        let wal = Wal::replace_autocheckpoint(&mut conn)?;
        let caller_worker = Some(Mutex::new(Worker { conn, wal, shared }));
        Ok(Writer { queue: Arc::new(Queue::new()), thread: Mutex::default(), counters, caller_worker })
    }

    /// Starts the thread. The thread holds the lock file `users` too: its last batch may outlive all other users.
    pub(super) fn start(
        mut conn: Connection,
        users: Arc<File>,
        notifier: Notifier,
        inline_readers: Arc<InlineReaders>,
        counters: Arc<WriterCounters>,
    ) -> Result<Writer, OpenError> {
        let queue = Arc::new(Queue::new());
        let runtime = Handle::try_current().ok();
        let shared = Shared { notifier, inline_readers, counters: counters.clone(), runtime };
        let wal = Wal::replace_autocheckpoint(&mut conn)?;
        let waiting = queue.clone();
        let writer = move || {
            let _end = WriterEnd(waiting.clone());
            Worker { conn, wal, shared }.run(&waiting);
            drop(users);
        };
        let thread = std::thread::Builder::new().name("hearth-writer".into()).spawn(writer)?;
        Ok(Writer { queue, thread: Mutex::new(Some(thread)), counters, caller_worker: None })
    }

    /// Queues a job; waits while its lane is full.
    pub(super) async fn push(&self, lane: Lane, job: Box<dyn Job>) -> Result<(), StoreError> {
        if let Some(worker) = &self.caller_worker {
            self.counters.waiting.fetch_add(1, Ordering::Relaxed);
            worker.lock().unwrap_or_else(PoisonError::into_inner).write(job, || None);
            return Ok(());
        }
        let count = || {
            self.counters.waiting.fetch_add(1, Ordering::Relaxed);
        };
        self.queue.push(lane, job, count).await
    }

    /// Asks the thread to merge the search index, and to truncate the write-ahead log if no write came since the last call.
    pub(super) fn tidy_up(&self) {
        self.queue.want_tidy_up();
    }

    /// Refuses new jobs, finishes the queued jobs, and closes the connection. When no other connection is open, SQLite
    /// then checkpoints and removes the write-ahead log. Blocks until done.
    pub(super) fn close(&self) {
        self.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// Closes the queue when the thread ends, also by a panic: the callers of waiting jobs then get an error.
struct WriterEnd(Arc<Queue<Box<dyn Job>>>);

impl Drop for WriterEnd {
    fn drop(&mut self) {
        self.0.close();
        while self.0.try_next().is_some() {}
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

impl Worker {
    /// The loop of the thread, until the queue is closed and empty.
    fn run(mut self, queue: &Queue<Box<dyn Job>>) {
        loop {
            match queue.next() {
                Next::End => return,
                Next::Job(first) => {
                    let mut left = None;
                    self.write(first, || {
                        // The batch takes as many jobs as wait when its transaction has begun. Later jobs share the next
                        // batch: their callers prepare them while this batch waits for the disk.
                        let left: &mut usize = left.get_or_insert_with(|| queue.len());
                        *left = left.checked_sub(1)?;
                        queue.try_next()
                    });
                }
                Next::TidyUp => {
                    self.merge_search_index(|| queue.len() > 0);
                    let Worker { conn, wal, shared, .. } = &mut self;
                    shared.inline_readers.during_write(|| wal.checkpoint_truncate_if_idle(conn));
                }
            }
        }
    }

    /// Writes one batch: a first job, and the jobs that `more` gives.
    fn write(&mut self, first: Box<dyn Job>, more: impl FnMut() -> Option<Box<dyn Job>>) {
        run_batch(&self.conn, first, more, &self.shared);
        // After the results were sent: only the next write waits for the checkpoint.
        self.checkpoint_if_due();
    }

    /// Merges the search index step by step, until nothing is left to merge, a job waits, or the time is over.
    fn merge_search_index(&mut self, is_job_waiting: impl Fn() -> bool) {
        let (started, mut is_merged) = (Instant::now(), false);
        while !is_merged && !is_job_waiting() && started.elapsed() < MERGE_TIME_MAX {
            match self.shared.inline_readers.during_write(|| search::merge_step(&self.conn)) {
                Ok(is_done) => is_merged = is_done,
                Err(error) => {
                    tracing::debug!(%error, "the search index was not merged; the next round tries again");
                    return;
                }
            }
            self.checkpoint_if_due();
        }
    }

    fn checkpoint_if_due(&mut self) {
        if self.wal.is_checkpoint_due() {
            self.shared.inline_readers.during_write(|| self.wal.checkpoint_if_due(&self.conn));
        }
    }
}

fn run_batch(conn: &Connection, first: Box<dyn Job>, more: impl FnMut() -> Option<Box<dyn Job>>, shared: &Shared) {
    let Shared { notifier, inline_readers, counters, runtime } = shared;
    let changes = conn.total_changes();
    let (mut jobs, mut pending) = (Vec::new(), Pending::default());
    let outcome = inline_readers.during_write(|| run_transaction(conn, first, more, &mut jobs, &mut pending));
    if let Err(error) = &outcome {
        tracing::error!(%error, jobs = jobs.len(), "a batch of writes was not committed");
        counters.failures.fetch_add(1, Ordering::Relaxed);
    } else if conn.total_changes() > changes {
        counters.count_commit(jobs.len() as u64, pending.events_appended);
    }
    counters.waiting.fetch_sub(jobs.len() as u64, Ordering::Relaxed);
    let mut committed = outcome.as_ref().map(|_| ()).map_err(commit_error);
    if hearth_simulated::planted(hearth_simulated::PlantedFault::AckBeforeCommit) {
        committed = Ok(());
    }
    let new_heads = match outcome {
        Ok(()) => pending.new_heads,
        Err(_) => reload_heads(conn, pending.new_heads),
    };
    let notifier = notifier.clone();
    let finish = move || {
        jobs.into_iter().for_each(|job| job.finish(committed));
        new_heads.into_iter().for_each(|(home, head)| notifier.notify(home, head));
    };
    match runtime {
        // One wake-up of the runtime for the whole batch, instead of one per caller and subscriber.
        Some(runtime) => drop(runtime.spawn(async move { finish() })),
        None => finish(),
    }
}

/// The heads that the database has after a failed commit. The failure may have come after the commit was on disk: then
/// subscribers must still learn of the events.
fn reload_heads(conn: &Connection, mut new_heads: Vec<(HomeNumber, i64)>) -> Vec<(HomeNumber, i64)> {
    new_heads.retain_mut(|(home, head)| homes::load(&Tx::new(conn), *home).map(|it| *head = it.head).is_ok());
    new_heads
}

/// Runs jobs in one transaction and commits. An error rolls back all jobs.
fn run_transaction(
    conn: &Connection,
    first: Box<dyn Job>,
    mut more: impl FnMut() -> Option<Box<dyn Job>>,
    jobs: &mut Vec<Box<dyn Job>>,
    pending: &mut Pending,
) -> rusqlite::Result<()> {
    let mut outcome = execute(conn, "BEGIN IMMEDIATE");
    // Without the write lock, the first job has waited for the whole busy timeout. All queued jobs fail together with
    // the first job, instead of waiting for the same lock one after another.
    let is_locked_out = outcome.is_err();
    // Measured from here: waiting for another process does not shorten the batch.
    let started = Instant::now();
    let mut next = Some(first);
    while let Some(mut job) = next {
        if outcome.is_ok() {
            outcome = run_job(conn, job.as_mut(), pending);
        }
        jobs.push(job);
        let has_room = is_locked_out || (jobs.len() < BATCH_MAX && started.elapsed() < BATCH_TIME_MAX);
        next = if has_room { more() } else { None };
    }
    outcome = outcome
        .and_then(|()| search::apply_changes(conn, std::mem::take(&mut pending.search_changes)))
        .and_then(|()| commit(conn));
    if outcome.is_err() && !conn.is_autocommit() {
        let _ = execute(conn, "ROLLBACK");
    }
    outcome
}

/// Runs one job in its savepoint. An error means that the connection refused, and fails the whole batch.
fn run_job(conn: &Connection, job: &mut dyn Job, pending: &mut Pending) -> rusqlite::Result<()> {
    execute(conn, "SAVEPOINT job")?;
    let tx = Tx::new(conn);
    let succeeded = catch_unwind(AssertUnwindSafe(|| job.run(&tx))).unwrap_or(false);
    if succeeded {
        pending.merge(tx.pending.into_inner());
    } else if !conn.is_autocommit() {
        execute(conn, "ROLLBACK TO job")?;
    }
    execute(conn, "RELEASE job")
}

fn commit(conn: &Connection) -> rusqlite::Result<()> {
    interruption_point("server commits")?;
    execute(conn, "COMMIT")?;
    interruption_point("server has committed")
}

/// A point at which the simulation may report a full disk, or stop the simulated process.
fn interruption_point(name: &'static str) -> rusqlite::Result<()> {
    let code = match hearth_simulated::interruption(name) {
        None => return Ok(()),
        Some(hearth_simulated::Interruption::DiskFull) => rusqlite::ffi::SQLITE_FULL,
        Some(hearth_simulated::Interruption::Crash) => rusqlite::ffi::SQLITE_INTERRUPT,
    };
    Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None))
}

fn execute(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.raw_execute().map(drop)
}

fn commit_error(error: &rusqlite::Error) -> CommitError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => CommitError::DiskFull,
        Some(rusqlite::ErrorCode::DatabaseBusy) => CommitError::Locked,
        _ => CommitError::Failed,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A write that reports whether the commit succeeded.
    struct ReportingJob(Sender<bool>);

    impl Job for ReportingJob {
        fn run(&mut self, _: &Tx<'_>) -> bool {
            true
        }

        fn finish(self: Box<Self>, committed: Result<(), CommitError>) {
            self.0.send(committed.is_ok()).unwrap();
        }
    }

    /// A write of one row that reports its beginning, and then waits for permission to end.
    struct HeldJob {
        begun: Sender<()>,
        permission: Receiver<()>,
    }

    impl Job for HeldJob {
        fn run(&mut self, tx: &Tx<'_>) -> bool {
            tx.conn.execute("INSERT INTO t VALUES (1)", []).unwrap();
            self.begun.send(()).unwrap();
            self.permission.recv().is_ok()
        }

        fn finish(self: Box<Self>, _: Result<(), CommitError>) {}
    }

    fn start(conn: Connection, counters: &Arc<WriterCounters>) -> Writer {
        let users = Arc::new(tempfile::tempfile().unwrap());
        Writer::start(conn, users, Notifier::default(), Arc::default(), counters.clone()).unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn jobs_during_a_batch_share_the_next_batch() {
        let dir = tempfile::tempdir().unwrap();
        let conn = Connection::open(dir.path().join("any.db")).unwrap();
        conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (n)").unwrap();
        let counters = Arc::new(WriterCounters::default());
        let writer = start(conn, &counters);
        let (begun, beginnings) = channel();
        let held_job = || {
            let (permit, permission) = channel();
            (permit, Box::new(HeldJob { begun: begun.clone(), permission }))
        };
        let (first, job) = held_job();
        writer.push(None, job).await.unwrap();
        beginnings.recv().unwrap();
        let (second, job) = held_job();
        writer.push(None, job).await.unwrap();
        first.send(()).unwrap();
        beginnings.recv().unwrap();
        // The second batch has begun: these two jobs are too late for the batch.
        let (third, job) = held_job();
        writer.push(None, job).await.unwrap();
        let (fourth, job) = held_job();
        writer.push(None, job).await.unwrap();
        for permit in [second, third, fourth] {
            permit.send(()).unwrap();
        }
        beginnings.recv().unwrap();
        beginnings.recv().unwrap();
        tokio::task::spawn_blocking(move || writer.close()).await.unwrap();
        let (commits, writes) = (counters.commits.load(Ordering::Relaxed), counters.writes.load(Ordering::Relaxed));
        assert_eq!((commits, writes), (2, 4));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn jobs_locked_out_fail_together() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("any.db");
        let conn = Connection::open(&file).unwrap();
        conn.pragma_update(None, "journal_mode", "WAL").unwrap();
        conn.busy_timeout(Duration::from_secs(1)).unwrap();
        let other = Connection::open(&file).unwrap();
        let counters = Arc::new(WriterCounters::default());
        let writer = start(conn, &counters);
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let (report, reports) = channel();
        for _ in 0..8 {
            writer.push(None, Box::new(ReportingJob(report.clone()))).await.unwrap();
        }
        let committed: Vec<bool> = reports.into_iter().take(8).collect();
        assert_eq!(committed, [false; 8]);
        let batches = counters.failures.load(Ordering::Relaxed);
        assert!(batches < 8, "each job waited for the busy timeout by itself");
        other.execute_batch("ROLLBACK").unwrap();
        let (report, reports) = channel();
        writer.push(None, Box::new(ReportingJob(report))).await.unwrap();
        assert!(reports.recv().unwrap(), "a later job succeeds");
        tokio::task::spawn_blocking(move || writer.close()).await.unwrap();
    }
}

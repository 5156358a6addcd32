//! The reader threads, each with a read-only connection; without threads, one connection for the calling thread. Must not
//! know what the jobs read.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use rusqlite::Connection;

use super::error::{OpenError, StoreError};
use super::inline_readers::{InlineReaders, begin_read, end_read};
use super::open;
use super::tx::Tx;

/// A read with a waiting caller. The job gets the transaction, or the error that prevented one.
pub(super) type Job = Box<dyn FnOnce(Result<&Tx<'_>, StoreError>) + Send>;

/// Short reads that may wait. A further read is refused as overload.
const SHORT_QUEUE_MAX: usize = 4096;
/// Long reads that may wait.
const LONG_QUEUE_MAX: usize = 256;
/// Reader threads per pool. SQLite reads are CPU-bound: more threads only add switching.
const THREADS_MAX: usize = 4;
/// Steps of SQLite's virtual machine between two checks whether a read must end: well under a millisecond.
pub(super) const STEPS_PER_CHECK: i32 = 1000;

/// A job, and the time at which the job is cancelled.
struct QueuedJob {
    job: Job,
    deadline: Option<Instant>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<QueuedJob>,
    is_closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Signalled when the queue grows or closes.
    changed: Condvar,
}

/// All connections that read.
pub(super) struct Readers {
    short: Pool,
    /// Own threads for long reads, so that short reads never wait behind a long read.
    long: Pool,
    /// The connection of the calling thread; None when threads read.
    caller_conn: Option<Mutex<Connection>>,
    inline: Arc<InlineReaders>,
}

impl Readers {
    /// Without threads: each job is done before its `push` returns.
    pub(super) fn unthreaded(conn: Connection) -> Readers {
        let caller_conn = Some(Mutex::new(conn));
        Readers { short: Pool::default(), long: Pool::default(), caller_conn, inline: Arc::default() }
    }

    /// Opens the connections and starts the threads.
    pub(super) fn start(file: &Path) -> Result<Readers, OpenError> {
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, THREADS_MAX));
        let inline = (0..threads).map(|_| open::inline_reader(file)).collect::<Result<_, OpenError>>()?;
        let short = Pool::start(file, "reader", threads, SHORT_QUEUE_MAX)?;
        let long = Pool::start(file, "long-reader", threads, LONG_QUEUE_MAX)?;
        Ok(Readers { short, long, caller_conn: None, inline: Arc::new(InlineReaders::new(inline)) })
    }

    /// The connections for reads on the calling thread.
    pub(super) fn inline(&self) -> &Arc<InlineReaders> {
        &self.inline
    }

    /// Queues a short job.
    pub(super) fn push(&self, job: Job) -> Result<(), StoreError> {
        self.push_to(&self.short, QueuedJob { job, deadline: None })
    }

    /// Queues a long job, which is cancelled at the deadline.
    pub(super) fn push_until(&self, deadline: Instant, job: Job) -> Result<(), StoreError> {
        self.push_to(&self.long, QueuedJob { job, deadline: Some(deadline) })
    }

    fn push_to(&self, pool: &Pool, queued: QueuedJob) -> Result<(), StoreError> {
        match &self.caller_conn {
            None => pool.push(queued),
            Some(conn) => {
                drop(pool.open_queue()?);
                run_job(&mut conn.lock().unwrap_or_else(PoisonError::into_inner), queued);
                Ok(())
            }
        }
    }

    /// Refuses new jobs, finishes the queued jobs, and closes the connections. Blocks until done.
    pub(super) fn close(&self) {
        self.short.close();
        self.long.close();
        self.inline.close();
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.close();
    }
}

/// Threads that take jobs from one queue.
#[derive(Default)]
struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Jobs that may wait.
    queue_max: usize,
}

impl Pool {
    fn start(file: &Path, name: &str, threads: usize, queue_max: usize) -> Result<Pool, OpenError> {
        let shared = Arc::new(Shared::default());
        let start = |number| {
            let (mut conn, shared) = (open::reader(file)?, shared.clone());
            let thread = std::thread::Builder::new().name(format!("hearth-{name}-{number}"));
            Ok(thread.spawn(move || run_jobs(&mut conn, &shared))?)
        };
        let threads = (0..threads).map(start).collect::<Result<_, OpenError>>()?;
        Ok(Pool { shared, threads: Mutex::new(threads), queue_max })
    }

    /// The queue, unless the pool is closed.
    fn open_queue(&self) -> Result<MutexGuard<'_, Queue>, StoreError> {
        let queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.is_closed { Err(StoreError::Busy("stopping")) } else { Ok(queue) }
    }

    fn push(&self, queued: QueuedJob) -> Result<(), StoreError> {
        let mut queue = self.open_queue()?;
        if queue.jobs.len() >= self.queue_max {
            return Err(StoreError::Busy("too many reads wait"));
        }
        queue.jobs.push_back(queued);
        drop(queue);
        self.shared.changed.notify_one();
        Ok(())
    }

    fn close(&self) {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
        self.shared.changed.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

/// The loop of a reader thread, until the queue is closed and empty.
fn run_jobs(conn: &mut Connection, shared: &Shared) {
    while let Some(queued) = next_job(shared) {
        run_job(conn, queued);
    }
}

/// Runs a job in one read transaction. The job sends its own result; a panic drops the sender, which tells the caller.
fn run_job(conn: &mut Connection, QueuedJob { job, deadline }: QueuedJob) {
    let begun = begin_before(conn, deadline);
    let _ = catch_unwind(AssertUnwindSafe(|| match begun {
        Ok(()) => job(Ok(&Tx::new(conn))),
        Err(error) => job(Err(error)),
    }));
    if deadline.is_some() {
        let _ = interrupt_at(conn, None);
    }
    end_read(conn);
}

fn begin_before(conn: &mut Connection, deadline: Option<Instant>) -> Result<(), StoreError> {
    if let Some(deadline) = deadline {
        // The job may have waited in the queue until its deadline.
        if Instant::now() >= deadline {
            return Err(StoreError::TimeUp);
        }
        interrupt_at(conn, Some(deadline))?;
    }
    Ok(begin_read(conn)?)
}

/// Makes SQLite interrupt its statements from a time on; None: never.
fn interrupt_at(conn: &mut Connection, deadline: Option<Instant>) -> rusqlite::Result<()> {
    conn.progress_handler(STEPS_PER_CHECK, deadline.map(|deadline| move || Instant::now() >= deadline))
}

/// Waits for the next job. None: the queue is closed and empty.
fn next_job(shared: &Shared) -> Option<QueuedJob> {
    let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(job) = queue.jobs.pop_front() {
            return Some(job);
        }
        if queue.is_closed {
            return None;
        }
        queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

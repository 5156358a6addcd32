//! The threads that read, each on its own read-only connection; or the caller's own thread, on one. Must not know what
//! the jobs look for.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::desks::{Desks, begin, end};
use super::open::{self, OpenError};
use super::{Fault, Tx};

/// A read that somebody waits for; without a transaction it is told why.
pub(super) type Job = Box<dyn FnOnce(Result<&Tx<'_>, Fault>) + Send>;

/// Reads that may wait; one more is refused as overload.
const QUEUE_MAX: usize = 4096;
/// Reader threads: SQLite reads are short and CPU-bound, so more than this only adds switching.
const THREADS_MAX: usize = 4;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    grew: Condvar,
}

/// The hand that gives jobs to the reader threads.
pub(super) struct Readers {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Where the caller reads itself; None: the threads do.
    here: Option<Mutex<Connection>>,
    /// Where callers read what is so short that handing it to a thread would cost more than it does.
    desks: Arc<Desks>,
}

impl Readers {
    /// No threads: each job is done before its `push` returns.
    pub(super) fn here(conn: Connection) -> Readers {
        Readers {
            shared: Arc::new(Shared::default()),
            threads: Mutex::default(),
            here: Some(Mutex::new(conn)),
            desks: Arc::default(),
        }
    }

    pub(super) fn start(file: &Path) -> Result<Readers, OpenError> {
        let shared = Arc::new(Shared::default());
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, THREADS_MAX));
        let start = |number| {
            let (conn, shared) = (open::reader(file)?, shared.clone());
            let named = std::thread::Builder::new().name(format!("hearth-reader-{number}"));
            Ok(named.spawn(move || work(&conn, &shared))?)
        };
        let desks = (0..threads).map(|_| open::desk(file)).collect::<Result<_, OpenError>>()?;
        let threads = (0..threads).map(start).collect::<Result<_, OpenError>>()?;
        let desks = Arc::new(Desks::of(desks));
        Ok(Readers { shared, threads: Mutex::new(threads), here: None, desks })
    }

    /// Where callers read on the spot.
    pub(super) fn desks(&self) -> &Arc<Desks> {
        &self.desks
    }

    pub(super) fn push(&self, job: Job) -> Result<(), Fault> {
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.closed {
            return Err(Fault::Busy("stopping"));
        }
        if queue.jobs.len() >= QUEUE_MAX {
            return Err(Fault::Busy("too many reads wait"));
        }
        if let Some(conn) = &self.here {
            drop(queue);
            let _ = read(&conn.lock().unwrap_or_else(PoisonError::into_inner), job);
            return Ok(());
        }
        queue.jobs.push_back(job);
        drop(queue);
        self.shared.grew.notify_one();
        Ok(())
    }
}

impl Readers {
    /// Takes no more work, does what waits, and closes the connections. Blocks until done.
    pub(super) fn close(&self) {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.shared.grew.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            let _ = thread.join();
        }
        self.desks.close();
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.close();
    }
}

fn work(conn: &Connection, shared: &Shared) {
    while let Some(job) = next(shared) {
        // The job tells its own caller; a panic in it drops the caller's channel, which says so.
        let _ = read(conn, job);
    }
}

/// Runs a job in one read transaction. None: it panicked.
fn read<T>(conn: &Connection, job: impl FnOnce(Result<&Tx<'_>, Fault>) -> T) -> Option<T> {
    let begun = begin(conn);
    let done = catch_unwind(AssertUnwindSafe(|| match begun {
        Ok(()) => job(Ok(&Tx::new(conn))),
        Err(error) => job(Err(error.into())),
    }));
    end(conn);
    done.ok()
}

fn next(shared: &Shared) -> Option<Job> {
    let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(job) = queue.jobs.pop_front() {
            return Some(job);
        }
        if queue.closed {
            return None;
        }
        queue = shared.grew.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

//! The threads that read, each on its own read-only connection; or the caller's own thread, on one. Must not know what
//! the jobs look for.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use rusqlite::Connection;

use super::desks::{Desks, begin, end};
use super::open::{self, OpenError};
use super::{Fault, Tx};

/// A read that somebody waits for; without a transaction it is told why.
pub(super) type Job = Box<dyn FnOnce(Result<&Tx<'_>, Fault>) + Send>;

/// Short reads that may wait; one more is refused as overload.
const SHORT_MAX: usize = 4096;
/// Long reads that may wait.
const LONG_MAX: usize = 256;
/// Reader threads of each sort: SQLite reads are CPU-bound, so more than this only adds switching.
const THREADS_MAX: usize = 4;
/// Steps of SQLite's machine between two looks at the time of a long read: well under a millisecond.
const STEPS_BETWEEN_LOOKS: i32 = 1000;

/// A job, and when it is broken off.
struct Asked {
    job: Job,
    until: Option<Instant>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Asked>,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    grew: Condvar,
}

/// The hand that gives jobs to the reader threads.
pub(super) struct Readers {
    short: Pool,
    /// Threads of their own for what may take long, so that short reads never stand behind it.
    long: Pool,
    /// Where the caller reads itself; None: the threads do.
    here: Option<Mutex<Connection>>,
    /// Where callers read what is so short that handing it to a thread would cost more than it does.
    desks: Arc<Desks>,
}

impl Readers {
    /// No threads: each job is done before its `push` returns.
    pub(super) fn here(conn: Connection) -> Readers {
        let here = Some(Mutex::new(conn));
        Readers { short: Pool::default(), long: Pool::default(), here, desks: Arc::default() }
    }

    pub(super) fn start(file: &Path) -> Result<Readers, OpenError> {
        let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, THREADS_MAX));
        let desks = (0..threads).map(|_| open::desk(file)).collect::<Result<_, OpenError>>()?;
        let short = Pool::start(file, "reader", threads, SHORT_MAX)?;
        let long = Pool::start(file, "seeker", threads, LONG_MAX)?;
        Ok(Readers { short, long, here: None, desks: Arc::new(Desks::of(desks)) })
    }

    /// Where callers read on the spot.
    pub(super) fn desks(&self) -> &Arc<Desks> {
        &self.desks
    }

    /// Has a short job done.
    pub(super) fn push(&self, job: Job) -> Result<(), Fault> {
        self.ask(&self.short, Asked { job, until: None })
    }

    /// Has a job done that may take long, and is broken off then.
    pub(super) fn push_until(&self, until: Instant, job: Job) -> Result<(), Fault> {
        self.ask(&self.long, Asked { job, until: Some(until) })
    }

    fn ask(&self, pool: &Pool, asked: Asked) -> Result<(), Fault> {
        match &self.here {
            None => pool.push(asked),
            Some(conn) => {
                drop(pool.open()?);
                read(&mut conn.lock().unwrap_or_else(PoisonError::into_inner), asked);
                Ok(())
            }
        }
    }

    /// Takes no more work, does what waits, and closes the connections. Blocks until done.
    pub(super) fn close(&self) {
        self.short.close();
        self.long.close();
        self.desks.close();
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
    most: usize,
}

impl Pool {
    fn start(file: &Path, name: &str, threads: usize, most: usize) -> Result<Pool, OpenError> {
        let shared = Arc::new(Shared::default());
        let start = |number| {
            let (mut conn, shared) = (open::reader(file)?, shared.clone());
            let named = std::thread::Builder::new().name(format!("hearth-{name}-{number}"));
            Ok(named.spawn(move || work(&mut conn, &shared))?)
        };
        let threads = (0..threads).map(start).collect::<Result<_, OpenError>>()?;
        Ok(Pool { shared, threads: Mutex::new(threads), most })
    }

    /// The queue, as long as it takes work.
    fn open(&self) -> Result<MutexGuard<'_, Queue>, Fault> {
        let queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.closed { Err(Fault::Busy("stopping")) } else { Ok(queue) }
    }

    fn push(&self, asked: Asked) -> Result<(), Fault> {
        let mut queue = self.open()?;
        if queue.jobs.len() >= self.most {
            return Err(Fault::Busy("too many reads wait"));
        }
        queue.jobs.push_back(asked);
        drop(queue);
        self.shared.grew.notify_one();
        Ok(())
    }

    fn close(&self) {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.shared.grew.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

fn work(conn: &mut Connection, shared: &Shared) {
    while let Some(asked) = next(shared) {
        read(conn, asked);
    }
}

/// Runs a job in one read transaction. It tells its own caller; a panic in it drops the caller's channel, which says so.
fn read(conn: &mut Connection, Asked { job, until }: Asked) {
    let begun = begin_until(conn, until);
    let _ = catch_unwind(AssertUnwindSafe(|| match begun {
        Ok(()) => job(Ok(&Tx::new(conn))),
        Err(fault) => job(Err(fault)),
    }));
    if until.is_some() {
        let _ = watch(conn, None);
    }
    end(conn);
}

fn begin_until(conn: &mut Connection, until: Option<Instant>) -> Result<(), Fault> {
    if let Some(until) = until {
        // It may have stood in the queue for all of its time.
        if Instant::now() >= until {
            return Err(Fault::TimeUp);
        }
        watch(conn, Some(until))?;
    }
    Ok(begin(conn)?)
}

/// Has SQLite break off what it does once a moment has come; None: no more.
fn watch(conn: &mut Connection, until: Option<Instant>) -> rusqlite::Result<()> {
    conn.progress_handler(STEPS_BETWEEN_LOOKS, until.map(|until| move || Instant::now() >= until))
}

fn next(shared: &Shared) -> Option<Asked> {
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

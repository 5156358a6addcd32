//! The one thread that writes, and group commit: everything that waits when it begins shares one transaction and one fsync,
//! and is answered after it. Or the caller's own thread, job by job. Must not know what the jobs do.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::desks::Desks;
use super::log::Log;
use super::open::OpenError;
use super::tail::Tail;
use super::tally::Tally;
use super::{Fault, HomeNo, Tx, homes, search};

/// Why a whole batch was not committed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Uncommitted {
    DiskFull,
    Locked,
    Failed,
}

impl From<Uncommitted> for Fault {
    fn from(why: Uncommitted) -> Fault {
        match why {
            Uncommitted::DiskFull => Fault::DiskFull,
            Uncommitted::Locked => Fault::Busy("another process keeps it locked"),
            Uncommitted::Failed => Fault::Busy("the write could not be made durable"),
        }
    }
}

/// A write that somebody waits for.
pub(super) trait Job: Send {
    /// Writes inside the transaction and remembers what came of it. False: undo what it wrote, and nothing else.
    fn run(&mut self, tx: &Tx<'_>) -> bool;
    /// Tells the caller, once it is certain whether the commit is on disk.
    fn answer(self: Box<Self>, committed: Result<(), Uncommitted>);
}

/// What the writer thread is asked for.
enum Order {
    Write(Box<dyn Job>),
    /// To look after the log, if it has nothing else to do.
    Rest,
}

/// Jobs that may wait; more wait in their callers, which is back-pressure.
const QUEUE_MAX: usize = 1024;
/// Jobs that share one commit.
const BATCH_MAX: usize = 512;
/// Time after which a batch is closed, so that the first in it does not wait for ever.
const BATCH_TIME_MAX: Duration = Duration::from_millis(20);

/// The hand that gives jobs to the writer thread.
pub(super) struct Writer {
    orders: Mutex<Option<mpsc::Sender<Order>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    tally: Arc<Tally>,
    /// Where the caller writes itself; None: the thread does.
    here: Option<Mutex<Worker>>,
}

/// What writes, and looks after the log between two batches.
struct Worker {
    conn: Connection,
    log: Log,
    concerned: Concerned,
}

/// Whom a batch concerns beside its callers.
struct Concerned {
    tail: Tail,
    desks: Arc<Desks>,
    tally: Arc<Tally>,
    /// Where the callers wait; None: here.
    callers: Option<Handle>,
}

impl Writer {
    /// No thread: each job is done and answered before its `push` returns.
    pub(super) fn here(mut conn: Connection, tail: Tail, tally: Arc<Tally>) -> Result<Writer, OpenError> {
        let concerned = Concerned { tail, desks: Arc::default(), tally: tally.clone(), callers: None };
        let log = Log::of(&mut conn)?;
        let here = Some(Mutex::new(Worker { conn, log, concerned }));
        Ok(Writer { orders: Mutex::default(), thread: Mutex::default(), tally, here })
    }

    /// The thread is a user of the database, too: it may be at its last batch when nobody else is.
    pub(super) fn start(
        mut conn: Connection,
        user: Arc<File>,
        tail: Tail,
        desks: Arc<Desks>,
        tally: Arc<Tally>,
    ) -> Result<Writer, OpenError> {
        let (orders, queue) = mpsc::channel(QUEUE_MAX);
        let concerned = Concerned { tail, desks, tally: tally.clone(), callers: Handle::try_current().ok() };
        let log = Log::of(&mut conn)?;
        let writer = move || {
            Worker { conn, log, concerned }.work(queue);
            drop(user);
        };
        let thread = std::thread::Builder::new().name("hearth-writer".into()).spawn(writer)?;
        Ok(Writer { orders: Mutex::new(Some(orders)), thread: Mutex::new(Some(thread)), tally, here: None })
    }

    pub(super) async fn push(&self, job: Box<dyn Job>) -> Result<(), Fault> {
        if let Some(here) = &self.here {
            self.tally.waiting.fetch_add(1, Ordering::Relaxed);
            here.lock().unwrap_or_else(PoisonError::into_inner).write(job, || None);
            return Ok(());
        }
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let orders = orders.ok_or(Fault::Busy("stopping"))?;
        let place = orders.reserve().await.map_err(|_| Fault::Busy("stopping"))?;
        self.tally.waiting.fetch_add(1, Ordering::Relaxed);
        place.send(Order::Write(job));
        Ok(())
    }

    /// Has the log looked after if nothing waits to be written.
    pub(super) fn rest(&self) {
        if let Some(orders) = &*self.orders.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = orders.try_send(Order::Rest);
        }
    }

    /// Takes no more work, does what waits, and closes the connection. If it is the last, SQLite moves the log into the
    /// database and removes it. Blocks until done.
    pub(super) fn close(&self) {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

impl Worker {
    fn work(mut self, mut queue: mpsc::Receiver<Order>) {
        while let Some(order) = queue.blocking_recv() {
            match order {
                Order::Write(first) => {
                    let mut left = None;
                    self.write(first, || {
                        // Counted once the transaction has begun. Who comes later shares the next: it gets ready beside
                        // this one, where all would otherwise wait for one disk and then for one another.
                        let left: &mut usize = left.get_or_insert_with(|| queue.len());
                        *left = left.checked_sub(1)?;
                        match queue.try_recv() {
                            Ok(Order::Write(next)) => Some(next),
                            Ok(Order::Rest) | Err(_) => None,
                        }
                    });
                }
                Order::Rest => self.concerned.desks.writing(|| self.log.rest(&self.conn)),
            }
        }
    }

    fn write(&mut self, first: Box<dyn Job>, more: impl FnMut() -> Option<Box<dyn Job>>) {
        batch(&self.conn, first, more, &self.concerned);
        // After the answers: nobody waits for it but who writes next.
        if self.log.is_due() {
            self.concerned.desks.writing(|| self.log.tend(&self.conn));
        }
    }
}

/// What jobs leave to be done at the end of their batch.
#[derive(Default)]
struct Left {
    rung: Vec<(HomeNo, i64)>,
    words: Vec<search::Words>,
    appended: u64,
}

fn batch(conn: &Connection, first: Box<dyn Job>, more: impl FnMut() -> Option<Box<dyn Job>>, concerned: &Concerned) {
    let Concerned { tail, desks, tally, callers } = concerned;
    let changes = conn.total_changes();
    let (mut jobs, mut left) = (Vec::new(), Left::default());
    let outcome = desks.writing(|| transaction(conn, first, more, &mut jobs, &mut left));
    if let Err(error) = &outcome {
        tracing::error!(%error, jobs = jobs.len(), "a batch of writes was not committed");
        tally.failures.fetch_add(1, Ordering::Relaxed);
    } else if conn.total_changes() > changes {
        tally.committed(jobs.len() as u64, left.appended);
    }
    tally.waiting.fetch_sub(jobs.len() as u64, Ordering::Relaxed);
    let mut committed = outcome.as_ref().map(|_| ()).map_err(reason);
    if hearth_simulated::planted(hearth_simulated::Fault::AckBeforeCommit) {
        committed = Ok(());
    }
    let (mut rung, tail) = (left.rung, tail.clone());
    if outcome.is_err() {
        // The error may have come after the commit: then there is something to hear after all.
        rung.retain_mut(|(home, head)| homes::load(&Tx::new(conn), *home).map(|it| *head = it.head).is_ok());
    }
    let tell = move || {
        jobs.into_iter().for_each(|job| job.answer(committed));
        rung.into_iter().for_each(|(home, head)| tail.ring(home, head));
    };
    match callers {
        // One wake of the runtime for the whole batch, instead of one for each caller and listener.
        Some(runtime) => drop(runtime.spawn(async move { tell() })),
        None => tell(),
    }
}

/// Runs jobs in one transaction, up to its end on disk; an error undoes all of them.
fn transaction(
    conn: &Connection,
    first: Box<dyn Job>,
    mut more: impl FnMut() -> Option<Box<dyn Job>>,
    jobs: &mut Vec<Box<dyn Job>>,
    left: &mut Left,
) -> rusqlite::Result<()> {
    let mut outcome = statement(conn, "BEGIN IMMEDIATE");
    // Who cannot even begin has waited long for somebody else: all that came meanwhile hear of it with the first, instead
    // of trying the same one after another.
    let is_refused = outcome.is_err();
    // Waiting for another process takes no time from those who share the batch.
    let started = Instant::now();
    let mut next = Some(first);
    while let Some(mut job) = next {
        if outcome.is_ok() {
            outcome = run(conn, job.as_mut(), left);
        }
        jobs.push(job);
        let open = is_refused || (jobs.len() < BATCH_MAX && started.elapsed() < BATCH_TIME_MAX);
        next = if open { more() } else { None };
    }
    outcome = outcome.and_then(|()| search::flush(conn, std::mem::take(&mut left.words))).and_then(|()| commit(conn));
    if outcome.is_err() && !conn.is_autocommit() {
        let _ = statement(conn, "ROLLBACK");
    }
    outcome
}

/// One job in its savepoint. An error is the whole batch's: the connection itself refused.
fn run(conn: &Connection, job: &mut dyn Job, left: &mut Left) -> rusqlite::Result<()> {
    statement(conn, "SAVEPOINT job")?;
    let tx = Tx::new(conn);
    let keep = catch_unwind(AssertUnwindSafe(|| job.run(&tx))).unwrap_or(false);
    if keep {
        left.appended += tx.appended.get();
        left.rung.extend(tx.rung.into_inner());
        left.words.extend(tx.words.into_inner());
    } else if !conn.is_autocommit() {
        statement(conn, "ROLLBACK TO job")?;
    }
    statement(conn, "RELEASE job")
}

fn commit(conn: &Connection) -> rusqlite::Result<()> {
    at("server commits")?;
    statement(conn, "COMMIT")?;
    at("server has committed")
}

/// A point at which a simulation may interrupt. After a crash nobody hears the answer any more.
fn at(point: &'static str) -> rusqlite::Result<()> {
    let code = match hearth_simulated::interruption(point) {
        None => return Ok(()),
        Some(hearth_simulated::Interruption::DiskFull) => rusqlite::ffi::SQLITE_FULL,
        Some(hearth_simulated::Interruption::Crash) => rusqlite::ffi::SQLITE_INTERRUPT,
    };
    Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None))
}

fn statement(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.raw_execute().map(drop)
}

fn reason(error: &rusqlite::Error) -> Uncommitted {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => Uncommitted::DiskFull,
        Some(rusqlite::ErrorCode::DatabaseBusy) => Uncommitted::Locked,
        _ => Uncommitted::Failed,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A write that tells what came of it.
    struct Told(Sender<bool>);

    impl Job for Told {
        fn run(&mut self, _: &Tx<'_>) -> bool {
            true
        }

        fn answer(self: Box<Self>, committed: Result<(), Uncommitted>) {
            self.0.send(committed.is_ok()).unwrap();
        }
    }

    /// A write of one row that says when it runs, and goes on once it may.
    struct Held {
        runs: Sender<()>,
        may: Receiver<()>,
    }

    impl Job for Held {
        fn run(&mut self, tx: &Tx<'_>) -> bool {
            tx.conn.execute("INSERT INTO t VALUES (1)", []).unwrap();
            self.runs.send(()).unwrap();
            self.may.recv().is_ok()
        }

        fn answer(self: Box<Self>, _: Result<(), Uncommitted>) {}
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_comes_while_a_batch_is_written_shares_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let conn = Connection::open(dir.path().join("any.db")).unwrap();
        conn.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (n)").unwrap();
        let tally = Arc::new(Tally::default());
        let writer = Writer::start(
            conn,
            Arc::new(tempfile::tempfile().unwrap()),
            Tail::default(),
            Arc::default(),
            tally.clone(),
        )
        .unwrap();
        let (runs, running) = channel();
        let held = || {
            let (go, may) = channel();
            (go, Box::new(Held { runs: runs.clone(), may }))
        };
        let (first, job) = held();
        writer.push(job).await.unwrap();
        running.recv().unwrap();
        let (second, job) = held();
        writer.push(job).await.unwrap();
        first.send(()).unwrap();
        running.recv().unwrap();
        // Its first write has begun, so that these two come too late for it.
        let (third, job) = held();
        writer.push(job).await.unwrap();
        let (fourth, job) = held();
        writer.push(job).await.unwrap();
        for go in [second, third, fourth] {
            go.send(()).unwrap();
        }
        running.recv().unwrap();
        running.recv().unwrap();
        tokio::task::spawn_blocking(move || writer.close()).await.unwrap();
        let (commits, writes) = (tally.commits.load(Ordering::Relaxed), tally.writes.load(Ordering::Relaxed));
        assert_eq!((commits, writes), (2, 4));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn all_who_wait_for_another_process_hear_together_that_it_does_not_let_go() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("any.db");
        let conn = Connection::open(&file).unwrap();
        conn.pragma_update(None, "journal_mode", "WAL").unwrap();
        conn.busy_timeout(Duration::from_secs(1)).unwrap();
        let other = Connection::open(&file).unwrap();
        let tally = Arc::new(Tally::default());
        let writer = Writer::start(
            conn,
            Arc::new(tempfile::tempfile().unwrap()),
            Tail::default(),
            Arc::default(),
            tally.clone(),
        )
        .unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let (told, answers) = channel();
        for _ in 0..8 {
            writer.push(Box::new(Told(told.clone()))).await.unwrap();
        }
        let answers: Vec<bool> = answers.into_iter().take(8).collect();
        assert_eq!(answers, [false; 8]);
        let batches = tally.failures.load(Ordering::Relaxed);
        assert!(batches < 8, "each of them waited in vain by itself");
        other.execute_batch("ROLLBACK").unwrap();
        let (told, answers) = channel();
        writer.push(Box::new(Told(told))).await.unwrap();
        assert!(answers.recv().unwrap(), "who comes later is served");
        tokio::task::spawn_blocking(move || writer.close()).await.unwrap();
    }
}

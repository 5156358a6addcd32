//! The only place that speaks SQL. A narrow face of functions named by meaning, over one writer and several readers.
//! Must not know HTTP, nor why a write is wanted.
//!
//! - [`Db`]: `glance` on the spot, `read` on a reader thread, `read_until` on one for what may take long, `write` on the
//!   writer thread; all take closures over a [`Tx`].
//! - [`open`]: files, permissions, pragmas, migrations.
//! - [`tail`]: the bell that rings for a home after each commit.
//! - [`homes`], [`records`], [`events`], [`links`], [`search`], [`receipts`], [`keys`], [`exports`]: one file for each
//!   stored thing.
//! - [`rewind`]: what a home was earlier. [`copies`], [`check`]: the database as a whole, saved, put back and looked through. [`tables`]: a database made for
//!   others to read.

pub mod check;
pub mod copies;
mod desks;
pub mod events;
pub mod exports;
mod files;
pub mod homes;
pub mod keys;
pub mod links;
mod log;
pub mod open;
mod readers;
pub mod receipts;
pub mod records;
pub mod rewind;
pub mod search;
pub mod tables;
pub mod tail;
pub mod tally;
mod writer;

use std::cell::{Cell, RefCell};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::oneshot;

use self::readers::Readers;
use self::tail::Tail;
use self::tally::Tally;
use self::writer::Writer;

/// What broke, in words for the log. A client is told `internal_error` or `unavailable`, never this text.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// SQLite refused or failed.
    #[error("database: {0}")]
    Sqlite(rusqlite::Error),
    /// The file is no sound database any more.
    #[error("the database is damaged ({0}): {RESTORE}", RESTORE = open::RESTORE)]
    Damaged(String),
    /// No room on the disk; heals when there is.
    #[error("the disk is full")]
    DiskFull,
    /// Too much waits already, or the service is stopping.
    #[error("the database takes no more work now: {0}")]
    Busy(&'static str),
    /// A read took longer than it may; one that asks for less may succeed.
    #[error("a read took too long and was broken off")]
    TimeUp,
    /// What is stored is not what this program stores.
    #[error("stored data is not as expected: {0}")]
    Corrupt(String),
    /// A job panicked; its transaction was rolled back.
    #[error("a database job panicked")]
    Panicked,
}

impl Fault {
    /// Whether the same request may succeed once the machine has room or time again.
    pub fn is_passing(&self) -> bool {
        match self {
            Fault::DiskFull | Fault::Busy(_) | Fault::TimeUp => true,
            Fault::Sqlite(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    rusqlite::ErrorCode::DiskFull
                        | rusqlite::ErrorCode::DatabaseBusy
                        | rusqlite::ErrorCode::SystemIoFailure
                )
            ),
            Fault::Damaged(_) | Fault::Corrupt(_) | Fault::Panicked => false,
        }
    }
}

impl Fault {
    /// The same, told apart where a read was broken off.
    fn of_time(self) -> Fault {
        match self {
            Fault::Sqlite(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) => {
                Fault::TimeUp
            }
            other => other,
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        if open::is_damage(&error) { Fault::Damaged(error.to_string()) } else { Fault::Sqlite(error) }
    }
}

impl From<open::OpenError> for Fault {
    fn from(error: open::OpenError) -> Fault {
        match error {
            open::OpenError::Sqlite(error) => Fault::Sqlite(error),
            open::OpenError::Damaged(why) => Fault::Damaged(why),
            open::OpenError::DiskFull => Fault::DiskFull,
            other => Fault::Corrupt(other.to_string()),
        }
    }
}

/// The number under which a home's rows are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HomeNo(pub i64);

impl HomeNo {
    /// Where an event of this home sits in the log. Whatever number is asked for, it is among the seats of this home.
    fn seat(self, event: i64) -> i64 {
        (self.0 << SEAT_BITS) + event.clamp(0, EVENT_MAX)
    }

    /// One past its last seat.
    fn end(self) -> i64 {
        (self.0 + 1) << SEAT_BITS
    }
}

/// Bits of a seat that hold the event id: 2^40 events for each home.
const SEAT_BITS: u32 = 40;
/// The last event id that a home has a seat for.
const EVENT_MAX: i64 = (1 << SEAT_BITS) - 1;

fn event_of_seat(seat: i64) -> i64 {
    seat & EVENT_MAX
}

/// A transaction. Reads see one moment; what is written in it becomes durable and visible as one.
pub struct Tx<'c> {
    conn: &'c Connection,
    /// Homes that got events, with their new heads: their bells ring after the commit.
    rung: RefCell<Vec<(HomeNo, i64)>>,
    /// Changes of what can be found, carried out before the commit.
    words: RefCell<Vec<search::Words>>,
    /// Events that were appended.
    appended: Cell<u64>,
    /// Whether a home's log is ahead of its head.
    ahead: Cell<bool>,
    /// Whether what was written is to be undone.
    undone: Cell<bool>,
}

impl<'c> Tx<'c> {
    fn new(conn: &'c Connection) -> Tx<'c> {
        Tx {
            conn,
            rung: RefCell::default(),
            words: RefCell::default(),
            appended: Cell::new(0),
            ahead: Cell::new(false),
            undone: Cell::new(false),
        }
    }

    /// Has what this job wrote undone, while its answer stands.
    pub fn undo(&self) {
        self.undone.set(true);
    }

    /// For planted faults: ends the transaction here, and begins another for the rest of the job.
    fn tear(&self, fault: hearth_simulated::Fault) -> Result<(), Fault> {
        if hearth_simulated::planted(fault) {
            self.conn.execute_batch("COMMIT; BEGIN IMMEDIATE; SAVEPOINT job")?;
        }
        Ok(())
    }

    /// A number that changes whenever another connection wrote. On the writer: whenever another process did.
    pub fn version(&self) -> Result<i64, Fault> {
        Ok(self.conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
    }
}

/// The database: many readers, one writer. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    readers: Arc<Readers>,
    writer: Arc<Writer>,
    tally: Arc<Tally>,
    file: Arc<PathBuf>,
    run: i64,
    /// As long as it is open, nobody puts the database back.
    user: Arc<File>,
}

/// Nobody else has the database open, until this is dropped.
pub struct Alone<'d>(&'d File);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        // One that cannot be shared again stays taken, until this process ends.
        let _ = self.0.lock_shared();
    }
}

impl Db {
    /// Opens or makes the database in a data directory and starts its threads. `run` is a random number that marks
    /// what this process writes (contract 9.3).
    pub fn open(dir: &Path, tail: Tail, run: i64) -> Result<Db, open::OpenError> {
        let user = Arc::new(open::join(dir)?);
        let file = open::prepare(dir)?;
        let tally = Arc::new(Tally::default());
        let readers = Readers::start(&file)?;
        let writer = open::writer(&file)?;
        let writer = Writer::start(writer, user.clone(), tail, readers.desks().clone(), tally.clone())?;
        Ok(Db { readers: Arc::new(readers), writer: Arc::new(writer), tally, file: Arc::new(file), run, user })
    }

    /// Opens or makes it without threads: each read and write is done by its caller, before its future is first
    /// pending. For programs in which everything happens in one order, the same each time.
    pub fn open_here(dir: &Path, tail: Tail, run: i64) -> Result<Db, open::OpenError> {
        let user = Arc::new(open::join(dir)?);
        let file = open::prepare(dir)?;
        let tally = Arc::new(Tally::default());
        let readers = Readers::here(open::reader(&file)?);
        let writer = Writer::here(open::writer(&file)?, tail, tally.clone())?;
        Ok(Db { readers: Arc::new(readers), writer: Arc::new(writer), tally, file: Arc::new(file), run, user })
    }

    /// The number that marks what this process writes.
    pub fn run(&self) -> i64 {
        self.run
    }

    /// Has the database for this process alone. None: another has it open.
    pub fn alone(&self) -> io::Result<Option<Alone<'_>>> {
        match self.user.try_lock() {
            Ok(()) => Ok(Some(Alone(&self.user))),
            // In vain it was let go of as well (flock(2)).
            Err(TryLockError::WouldBlock) => self.user.lock_shared().map(|()| None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// What was counted of the work so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// To be said now and then: when nobody has written since the last time, the write-ahead log gives back its room.
    pub fn rest(&self) {
        self.writer.rest();
    }

    /// Takes no more work, does what waits, and leaves a checkpointed file without a log beside it, unless another process
    /// has it open.
    pub async fn close(&self) {
        let (readers, writer) = (self.readers.clone(), self.writer.clone());
        // Readers first: the last connection to close is the one that may remove the log.
        let closing = tokio::task::spawn_blocking(move || {
            readers.close();
            writer.close();
        });
        let _ = closing.await;
    }

    /// Runs a closure on a reader, off the async threads, in one read transaction.
    pub async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (answer, answered) = oneshot::channel();
        self.readers.push(Box::new(move |tx| drop(answer.send(tx.and_then(job)))))?;
        answered.await.unwrap_or(Err(Fault::Panicked))
    }

    /// Runs a reading closure that may take long in one read transaction, on threads that are kept for such, so that short
    /// reads never wait for it. When the moment comes before it is done, or before it began, it is broken off: `TimeUp`.
    pub async fn read_until<T: Send + 'static>(
        &self,
        until: Instant,
        job: impl FnOnce(&Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (answer, answered) = oneshot::channel();
        let job = move |tx: Result<&Tx<'_>, Fault>| drop(answer.send(tx.and_then(job).map_err(Fault::of_time)));
        self.readers.push_until(until, Box::new(job))?;
        answered.await.unwrap_or(Err(Fault::Panicked))
    }

    /// Runs a short reading closure on the spot, in one read transaction: one that finds few rows where it looks, so that
    /// it is done before another thread would have begun it. It sees all that this process has committed; what another
    /// process did may be a millisecond late.
    pub async fn glance<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        match self.readers.desks().read(job) {
            Ok(answer) => answer,
            Err(job) => self.read(job).await,
        }
    }

    /// Runs a long reading closure in one read transaction on a connection and thread of its own, so that short reads
    /// do not wait for it.
    pub async fn read_apart<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let file = self.file.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let mut conn = open::reader(&file)?;
            let transaction = conn.transaction()?;
            job(&Tx::new(&transaction))
        });
        reading.await.unwrap_or(Err(Fault::Panicked))
    }

    /// Runs a closure on the writer. The answer comes after the commit that holds it is on disk; an `Err` from the
    /// closure rolls back what it wrote and nothing else.
    pub async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (answer, answered) = oneshot::channel();
        self.writer.push(Box::new(Write { job: Some(job), outcome: None, answer })).await?;
        answered.await.unwrap_or(Err(Fault::Panicked))
    }
}

/// A closure that waits for the writer, then its outcome that waits for the commit.
struct Write<F, T> {
    job: Option<F>,
    outcome: Option<Result<T, Fault>>,
    answer: oneshot::Sender<Result<T, Fault>>,
}

impl<F, T> writer::Job for Write<F, T>
where
    F: FnOnce(&Tx<'_>) -> Result<T, Fault> + Send,
    T: Send,
{
    fn run(&mut self, tx: &Tx<'_>) -> bool {
        self.outcome = self.job.take().map(|job| job(tx));
        if tx.ahead.get() && !tx.undone.get() && matches!(self.outcome, Some(Ok(_))) {
            // Nothing could be written after it any more: the next event would have the id of one that is there.
            self.outcome =
                Some(Err(Fault::Corrupt("events were appended and their home's head was not kept".to_owned())));
        }
        matches!(self.outcome, Some(Ok(_))) && !tx.undone.get()
    }

    fn answer(self: Box<Self>, committed: Result<(), writer::Uncommitted>) {
        let outcome = match (self.outcome, committed) {
            (Some(Ok(value)), Ok(())) => Ok(value),
            (Some(Err(fault)), _) => Err(fault),
            (_, Err(why)) => Err(why.into()),
            (None, Ok(())) => Err(Fault::Panicked),
        };
        // A caller that hung up changes nothing: what was committed stays.
        let _ = self.answer.send(outcome);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_read_that_does_not_end_is_broken_off_and_its_thread_reads_on() {
        let dir = tempfile::tempdir().unwrap();
        for db in
            [Db::open(dir.path(), Tail::default(), 1).unwrap(), Db::open_here(dir.path(), Tail::default(), 1).unwrap()]
        {
            let endless = |tx: &Tx<'_>| {
                let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
                Ok(tx.conn.query_row(sql, [], |row| row.get::<_, i64>(0))?)
            };
            let one = |tx: &Tx<'_>| Ok(tx.conn.query_row("SELECT 1", [], |row| row.get::<_, i64>(0))?);
            for _ in 0..THREADS {
                let broken = db.read_until(Instant::now() + Duration::from_millis(20), endless).await;
                assert!(matches!(broken, Err(Fault::TimeUp)), "{broken:?}");
                let late = db.read_until(Instant::now(), one).await;
                assert!(matches!(late, Err(Fault::TimeUp)), "{late:?}");
                assert_eq!(db.read_until(Instant::now() + Duration::from_secs(600), one).await.unwrap(), 1);
            }
            db.close().await;
        }
    }

    /// More than there are threads.
    const THREADS: usize = 5;
}

//! The handle to the database: runs closures in transactions, on reader threads, on the calling thread, or on the
//! writer. Must not know what the closures read or write.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tokio::sync::oneshot;

use super::counters::WriterCounters;
use super::directory;
use super::error::{OpenError, StoreError};
use super::home_number::HomeNumber;
use super::homes;
use super::notifier::Notifier;
use super::open;
use super::queue::Lane;
use super::readers::{Readers, STEPS_PER_CHECK};
use super::tx::Tx;
use super::writer::{self, Writer};

/// The database: many readers, one writer. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    readers: Arc<Readers>,
    writer: Arc<Writer>,
    counters: Arc<WriterCounters>,
    file: Arc<PathBuf>,
    epoch: i64,
    /// Holds a shared lock: while the file is open, no process restores a backup over the database.
    users: Arc<File>,
}

/// Exclusive use of the database: no other process has it open until this value is dropped.
pub struct ExclusiveUse<'d>(&'d File);

impl Drop for ExclusiveUse<'_> {
    fn drop(&mut self) {
        // When the lock cannot be shared again, the database stays locked until this process ends.
        let _ = self.0.lock_shared();
    }
}

impl Db {
    /// Opens or creates the database in a data directory and starts its threads. `epoch` is a random number that marks
    /// the events of this process (contract 9.3).
    pub fn open(dir: &Path, notifier: Notifier, epoch: i64) -> Result<Db, OpenError> {
        let users = Arc::new(directory::lock_shared(dir)?);
        let file = open::prepare(dir)?;
        let counters = Arc::new(WriterCounters::default());
        let readers = Readers::start(&file)?;
        let writer = open::writer(&file)?;
        let writer = Writer::start(writer, users.clone(), notifier, readers.inline().clone(), counters.clone())?;
        Ok(Db { readers: Arc::new(readers), writer: Arc::new(writer), counters, file: Arc::new(file), epoch, users })
    }

    /// Opens or creates the database without threads: the caller's thread runs each closure before the future is first
    /// pending. For simulations, where all steps must happen in one reproducible order.
    pub fn open_unthreaded(dir: &Path, notifier: Notifier, epoch: i64) -> Result<Db, OpenError> {
        let users = Arc::new(directory::lock_shared(dir)?);
        let file = open::prepare(dir)?;
        let counters = Arc::new(WriterCounters::default());
        let readers = Readers::unthreaded(open::reader(&file)?);
        let writer = Writer::unthreaded(open::writer(&file)?, notifier, counters.clone())?;
        Ok(Db { readers: Arc::new(readers), writer: Arc::new(writer), counters, file: Arc::new(file), epoch, users })
    }

    /// The data directory.
    pub fn dir(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("."))
    }

    /// The number that marks the events of this process.
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Takes the database for this process alone. None: another process has the database open.
    pub fn try_exclusive(&self) -> io::Result<Option<ExclusiveUse<'_>>> {
        match self.users.try_lock() {
            Ok(()) => Ok(Some(ExclusiveUse(&self.users))),
            // A failed upgrade also drops the shared lock (flock(2)).
            Err(TryLockError::WouldBlock) => self.users.lock_shared().map(|()| None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Counters of the writer's work since the start.
    pub fn writer_counters(&self) -> &WriterCounters {
        &self.counters
    }

    /// Merges the search index while no write waits, and truncates the write-ahead log if no write happened since the last
    /// call. To be called every few seconds.
    pub fn tidy_up(&self) {
        self.writer.tidy_up();
    }

    /// Refuses new work, finishes the queued work, and checkpoints. The write-ahead log is removed unless another
    /// process has the database open.
    pub async fn close(&self) {
        let (readers, writer) = (self.readers.clone(), self.writer.clone());
        // Readers first: only the last connection to close can remove the write-ahead log.
        let closing = tokio::task::spawn_blocking(move || {
            readers.close();
            writer.close();
        });
        let _ = closing.await;
    }

    /// Runs a short closure on a reader thread, in one read transaction.
    pub async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (result, receiver) = oneshot::channel();
        self.readers.push(Box::new(move |tx| drop(result.send(tx.and_then(job)))))?;
        receiver.await.unwrap_or(Err(StoreError::Panicked))
    }

    /// Runs a closure that may take long in one read transaction, on threads reserved for long reads. A read that has
    /// not finished at `deadline` is cancelled with [`StoreError::TimeUp`], whether it has begun or not.
    pub async fn read_until<T: Send + 'static>(
        &self,
        deadline: Instant,
        job: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (result, receiver) = oneshot::channel();
        let job =
            move |tx: Result<&Tx<'_>, StoreError>| drop(result.send(tx.and_then(job).map_err(StoreError::or_time_up)));
        self.readers.push_until(deadline, Box::new(job))?;
        receiver.await.unwrap_or(Err(StoreError::Panicked))
    }

    /// Runs a very short closure on the calling thread, in one read transaction. For lookups of a few rows, which end
    /// before another thread would begin. The closure sees all commits of this process; commits of another process may
    /// appear one millisecond late.
    pub async fn read_inline<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.readers.inline().read(job) {
            Ok(result) => result,
            Err(job) => self.read(job).await,
        }
    }

    /// Runs a long closure in one read transaction on its own connection and thread, for exports, backups and checks.
    pub async fn read_on_own_thread<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.read_until_stopped(|| false, job).await
    }

    /// As [`Db::read_on_own_thread`], with SQLite interrupted as soon as `is_stopped` says so: the shutdown of a server does not
    /// wait for the closure.
    pub async fn read_until_stopped<T: Send + 'static>(
        &self,
        is_stopped: impl Fn() -> bool + Send + 'static,
        job: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let file = self.file.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let mut conn = open::reader(&file)?;
            conn.progress_handler(STEPS_PER_CHECK, Some(is_stopped))?;
            let transaction = conn.transaction()?;
            job(&Tx::new(&transaction))
        });
        reading.await.unwrap_or(Err(StoreError::Panicked))
    }

    /// Runs a closure on the writer. The future resolves after the commit is on disk. An `Err` from the closure rolls
    /// back the writes of that closure only.
    pub async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_in(None, job).await
    }

    /// As [`Db::write`], for the request of a home: the homes take turns.
    pub async fn write_for<T: Send + 'static>(
        &self,
        home: HomeNumber,
        job: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write_in(Some(home), job).await
    }

    async fn write_in<T: Send + 'static>(
        &self,
        lane: Lane,
        job: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = oneshot::channel();
        self.writer.push(lane, Box::new(WriteJob { job: Some(job), result: None, sender })).await?;
        let result = receiver.await.unwrap_or(Err(StoreError::Panicked));
        if result.as_ref().is_err_and(StoreError::is_transient) {
            self.counters.is_refusing.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Whether writes are accepted. After a refused write a small write tries again, because nobody else may write before
    /// the service is called ready.
    pub async fn takes_writes(&self) -> bool {
        !self.counters.is_refusing.load(Ordering::Relaxed) || self.write(homes::try_write).await.is_ok()
    }
}

/// A closure that waits for the writer; afterwards its result, which waits for the commit.
struct WriteJob<F, T> {
    job: Option<F>,
    result: Option<Result<T, StoreError>>,
    sender: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T> writer::Job for WriteJob<F, T>
where
    F: FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send,
    T: Send,
{
    fn run(&mut self, tx: &Tx<'_>) -> bool {
        self.result = self.job.take().map(|job| job(tx));
        if tx.is_head_unsaved.get() && !tx.is_rolled_back.get() && matches!(self.result, Some(Ok(_))) {
            // A commit would block all later writes: the next event would get an id that exists.
            self.result =
                Some(Err(StoreError::Corrupt("events were appended but the head of their home was not saved".into())));
        }
        matches!(self.result, Some(Ok(_))) && !tx.is_rolled_back.get()
    }

    fn finish(self: Box<Self>, committed: Result<(), writer::CommitError>) {
        let result = match (self.result, committed) {
            (Some(Ok(value)), Ok(())) => Ok(value),
            (Some(Err(error)), _) => Err(error),
            (_, Err(cause)) => Err(cause.into()),
            (None, Ok(())) => Err(StoreError::Panicked),
        };
        // A caller that stopped waiting changes nothing: the commit stays.
        let _ = self.sender.send(result);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// More than there are reader threads.
    const ROUNDS: usize = 5;

    #[tokio::test]
    async fn endless_read_is_cancelled_at_deadline() {
        let dir = tempfile::tempdir().unwrap();
        for db in [
            Db::open(dir.path(), Notifier::default(), 1).unwrap(),
            Db::open_unthreaded(dir.path(), Notifier::default(), 1).unwrap(),
        ] {
            let endless = |tx: &Tx<'_>| {
                let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
                Ok(tx.conn.query_row(sql, [], |row| row.get::<_, i64>(0))?)
            };
            let short = |tx: &Tx<'_>| Ok(tx.conn.query_row("SELECT 1", [], |row| row.get::<_, i64>(0))?);
            for _ in 0..ROUNDS {
                let cancelled = db.read_until(Instant::now() + Duration::from_millis(20), endless).await;
                assert!(matches!(cancelled, Err(StoreError::TimeUp)), "{cancelled:?}");
                let late = db.read_until(Instant::now(), short).await;
                assert!(matches!(late, Err(StoreError::TimeUp)), "{late:?}");
                // The thread of the cancelled read serves the next read.
                assert_eq!(db.read_until(Instant::now() + Duration::from_secs(600), short).await.unwrap(), 1);
            }
            db.close().await;
        }
    }
}

//! Runs the transfer of files: reads the table `files`, waits, carries, writes what came of it. Decides nothing. Must not know
//! how the sync of records works; the sync tells when there is contact.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use secrecy::SecretString;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;

use super::carry;
use super::machine::{Direction, Next, Transfer, TransferEnd, Verdict};
use crate::model::FileState;
use crate::notification;
use crate::store::file_store::retry::retry_refused_by_key;
use crate::store::file_store::table::{to_download, to_upload};
use crate::store::file_store::upkeep;
use crate::store::file_store::upload::{downloaded, known_limit, note_limit, refused, uploaded};
use crate::store::{Connection, StoreError, open};
use crate::sync::client::{Client, ClientError};
use crate::sync::error::SyncError;
use crate::sync::runtime::{moment, since};
use crate::sync::{SyncLock, runtime};

/// Time between two looks at the folder of the files.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(3600);

/// The pause after the database or the disk has failed. The sync of records tells a person.
const FAULT_PAUSE: Duration = Duration::from_secs(10);

/// The transfer beside a sync. Ends when dropped.
#[derive(Debug)]
pub(in crate::sync) struct TransferTask {
    _task: JoinSet<()>,
    /// The client while there is contact, and the number of its key.
    client: watch::Sender<Option<(Client, u64)>>,
    /// How many keys this sync has had.
    keys: u64,
}

impl TransferTask {
    /// Begins, without contact. `changed` tells each change of the database. `is_single_run`: the sync ends when it has
    /// reached its goal, and sends as few requests as it can.
    pub(in crate::sync) fn start(store: Store, is_single_run: bool, changed: watch::Receiver<()>) -> TransferTask {
        let (sender, receiver) = watch::channel(None);
        let start = Instant::now();
        let transfer = Transfer::new(Uuid::new_v4().as_u128() as u64);
        let worker = Worker { store, is_single_run, transfer, known_key: None, changed, start, upkeep_at: start };
        let mut task = JoinSet::new();
        task.spawn(worker.run(receiver));
        TransferTask { _task: task, client: sender, keys: 1 }
    }

    /// Tells whether there is contact. Without contact, and with another key, a transfer is cut; it goes on later.
    pub(in crate::sync) fn set_contact(&mut self, in_contact: bool, client: &Client) {
        if self.client.borrow().is_some() != in_contact {
            self.client.send_replace(in_contact.then(|| (client.clone(), self.keys)));
        }
    }

    /// Follows the contact: the client while there is contact, and the number of its key.
    pub(in crate::sync) fn contact(&self) -> watch::Receiver<Option<(Client, u64)>> {
        self.client.subscribe()
    }

    /// Uses another key from now on.
    pub(in crate::sync) fn use_client(&mut self, client: &Client) {
        self.keys += 1;
        if self.client.borrow().is_some() {
            self.client.send_replace(Some((client.clone(), self.keys)));
        }
    }
}

/// The database of the transfer, of the captures and of a refill. It is opened when it is first used, and again after a failure to open.
#[derive(Clone)]
pub(in crate::sync) struct Store {
    pub(in crate::sync) db: PathBuf,
    connection: Arc<Mutex<StoreConnection>>,
}

/// The connection of a [`Store`].
#[derive(Default)]
enum StoreConnection {
    #[default]
    NotOpened,
    Open(Connection),
    /// The sync has ended. Work that was still queued must not write after it.
    Closed,
}

impl Store {
    pub(in crate::sync) fn new(db: &Path) -> Store {
        Store { db: db.to_owned(), connection: Arc::default() }
    }

    /// Runs SQL on a thread for blocking work.
    pub(in crate::sync) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection, &Path) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.clone();
        runtime::blocking(move || {
            let mut opened = store.connection.lock().unwrap_or_else(PoisonError::into_inner);
            if matches!(*opened, StoreConnection::NotOpened) {
                *opened = StoreConnection::Open(open::read_write(&store.db)?);
            }
            match &mut *opened {
                StoreConnection::Open(connection) => work(connection, &store.db),
                _ => Err(StoreError::Unexpected("work on files after the end of the sync".to_owned())),
            }
        })
        .await
    }

    /// Closes the database for good. Work that has begun ends first; later work fails.
    pub(in crate::sync) fn close(&self) {
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = StoreConnection::Closed;
    }

    /// Hashes of the files to send and of the files to fetch.
    async fn due(&self) -> Result<(Vec<String>, Vec<String>), StoreError> {
        self.run(move |connection, _| Ok((to_upload(connection)?, to_download(connection)?))).await
    }

    /// Notes the server's limit, and gives files that the server refused because of the key another attempt. A single run that
    /// already knows the limit and has no file to send does not ask for it.
    async fn take_key(&self, client: &Client, is_single_run: bool) -> Result<(), StoreError> {
        let needs = |connection: &mut Connection, _: &Path| {
            Ok(known_limit(connection)?.is_none() || !to_upload(connection)?.is_empty())
        };
        let asks = !is_single_run || self.run(needs).await?;
        let limit = if asks { carry::file_bytes_max(client).await } else { None };
        self.run(move |connection, _| {
            if let Some(limit) = limit {
                note_limit(connection, limit)?;
            }
            retry_refused_by_key(connection)
        })
        .await
    }

    /// Carries a file and returns how the transfer ended.
    async fn carry(&self, client: &Client, direction: Direction, hash: &str) -> Result<TransferEnd, StoreError> {
        match direction {
            Direction::Up => Ok(carry::upload(client, &self.db, hash).await),
            Direction::Down => carry::download(client, &self.db, hash).await,
        }
    }

    /// Writes down what came of a file, and tells other programs.
    async fn record(&self, direction: Direction, hash: String, verdict: Verdict) -> Result<(), StoreError> {
        self.run(move |connection, db| {
            match verdict {
                Verdict::Later => return Ok(()),
                Verdict::Done if direction == Direction::Up => uploaded(connection, &hash)?,
                Verdict::Done => downloaded(connection, &hash, Some(FileState::Present), None)?,
                Verdict::NotFetched(state, problem) => downloaded(connection, &hash, state, Some(&problem))?,
                Verdict::UploadRefused { code, sentence, problem, limit } => {
                    refused(connection, &hash, code, &sentence, &problem, limit)?;
                }
                Verdict::Lost(state) => upkeep::note_lost(connection, db, &hash, state)?,
            }
            notification::notify(db);
            Ok(())
        })
        .await
    }
}

/// The transfer beside a sync.
struct Worker {
    store: Store,
    is_single_run: bool,
    transfer: Transfer,
    /// The number of the key that [`Store::take_key`] has seen.
    known_key: Option<u64>,
    changed: watch::Receiver<()>,
    start: Instant,
    upkeep_at: Instant,
}

impl Worker {
    /// Carries files while there is contact, until aborted.
    async fn run(mut self, mut current: watch::Receiver<Option<(Client, u64)>>) {
        loop {
            if Instant::now() >= self.upkeep_at {
                self.upkeep_at = Instant::now() + UPKEEP_INTERVAL;
                let now = runtime::wall_clock();
                let looked = self.store.run(move |connection, db| upkeep::look_after(connection, db, false, now));
                if let Err(error) = looked.await {
                    self.upkeep_at = Instant::now() + FAULT_PAUSE;
                    tracing::warn!(%error, "the folder of the files could not be looked at");
                }
            }
            let contact = current.borrow_and_update().clone();
            tokio::select! {
                biased;
                contact = current.changed() => match contact {
                    // Contact has come or gone, or there is another key: no file has to wait for its pause.
                    Ok(()) => self.transfer.clear_pauses(),
                    Err(_) => return,
                },
                stepped = self.step(contact.as_ref()) => {
                    if let Err(error) = stepped {
                        tracing::warn!(%error, "a file cannot be sent or fetched");
                        tokio::time::sleep(FAULT_PAUSE).await;
                    }
                }
            }
        }
    }

    /// Carries one file, or waits until there may be one to carry.
    async fn step(&mut self, contact: Option<&(Client, u64)>) -> Result<(), StoreError> {
        let Some((client, key)) = contact else {
            tokio::time::sleep_until(self.upkeep_at).await;
            return Ok(());
        };
        if self.known_key != Some(*key) {
            self.store.take_key(client, self.is_single_run).await?;
            self.known_key = Some(*key);
        }
        let (up, down) = self.store.due().await?;
        let wake_at = match self.transfer.next(since(self.start), &up, &down) {
            Next::Carry(direction, hash) => {
                let end = self.store.carry(client, direction, hash).await?;
                if end != TransferEnd::Done {
                    tracing::info!(hash, ?direction, ?end, "a file has not arrived");
                }
                let verdict = self.transfer.ended(since(self.start), direction, hash, end);
                return self.store.record(direction, hash.to_owned(), verdict).await;
            }
            Next::WaitUntil(at) => self.upkeep_at.min(moment(self.start, at)),
            Next::Idle => self.upkeep_at,
        };
        tokio::select! {
            Ok(()) = self.changed.changed() => {}
            () = tokio::time::sleep_until(wake_at) => {}
        }
        Ok(())
    }
}

/// Fetches all files that are asked for, in a program that does not sync. The caller holds the right to sync, so no other
/// process fetches them too. Err: no contact, another key is needed, or the database failed.
pub async fn fetch_files(db: &Path, server: &str, key: &SecretString, _right: &SyncLock) -> Result<(), SyncError> {
    let client = Client::new(server, key)?;
    let store = Store::new(db);
    carry_all(&store, &client, Direction::Down).await
}

/// Carries all files that wait in one direction, in a program that does not sync. Uploads are tried until they arrive, so the
/// caller bounds the time. Err: the database failed; for a download also no contact, or another key is needed.
pub(in crate::sync) async fn carry_all(store: &Store, client: &Client, direction: Direction) -> Result<(), SyncError> {
    let (start, mut transfer) = (Instant::now(), Transfer::new(Uuid::new_v4().as_u128() as u64));
    let is_download = direction == Direction::Down;
    loop {
        let (up, down) = store.due().await?;
        let next =
            if is_download { transfer.next(since(start), &[], &down) } else { transfer.next(since(start), &up, &[]) };
        match next {
            Next::Idle => return Ok(()),
            Next::WaitUntil(at) => tokio::time::sleep_until(moment(start, at)).await,
            Next::Carry(direction, hash) => {
                let end = store.carry(client, direction, hash).await?;
                let verdict = transfer.ended(since(start), direction, hash, end.clone());
                match end {
                    TransferEnd::NoAnswer(why) if is_download => return Err(client.unreachable(why).into()),
                    TransferEnd::Refused(refusal) if is_download && verdict == Verdict::Later => {
                        return Err(ClientError::Refused(refusal.status, refusal.message).into());
                    }
                    _ => store.record(direction, hash.to_owned(), verdict).await?,
                }
            }
        }
    }
}

//! Runs the exchange about captures and texts: reads the tables, waits, asks, writes what came of it. Must not know what an answer
//! means.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use super::ask::{self, Verdict};
use crate::model::CapturePurpose;
use crate::notification;
use crate::store::captures::{exchange, listed};
use crate::store::file_store::texts;
use crate::store::{StoreError, lock::SyncLock};
use crate::sync::client::Client;
use crate::sync::config::SyncConfig;
use crate::sync::core::{Backoff, Millis};
use crate::sync::error::SyncError;
use crate::sync::runtime;
use crate::sync::transfer::{Direction, Store, carry_all};

/// Pauses (seconds) between two looks at the server's list while it reads files. The last one repeats.
const READING_PAUSES: [u64; 6] = [1, 2, 4, 8, 15, 30];

/// Time between two looks at the list while nothing is read: another device may have made a capture.
const IDLE_PAUSE: Duration = Duration::from_secs(600);

/// Time between two questions about the text of a file: a fifth of what a key may ask in a minute.
const TEXT_PAUSE: Duration = Duration::from_secs(1);

/// Time between two looks for files whose text is not here.
const TEXT_LOOK_PAUSE: Duration = Duration::from_secs(15);

/// How often the first bound of a pause (half a second) is doubled before the first look in a contact. A random pause within it spreads
/// many replicas that return at the same moment.
const FIRST_LOOK_DOUBLINGS: u32 = 4;

/// The pause after the server gave no text, and after the database has failed.
const FAULT_PAUSE: Duration = Duration::from_secs(60);

/// The client while there is contact, and the number of its key.
type Contact = watch::Receiver<Option<(Client, u64)>>;

/// Runs the exchange beside a sync, until aborted. `changed` tells each change of the database.
pub(in crate::sync) async fn run(store: Store, mut contact: Contact, mut changed: watch::Receiver<()>) {
    let mut exchange = Exchange::new(store);
    exchange.meet();
    loop {
        let client = contact.borrow_and_update().as_ref().map(|(client, _)| client.clone());
        let step = async {
            match &client {
                None => std::future::pending().await,
                Some(client) => exchange.step(client, &mut changed).await,
            }
        };
        tokio::select! {
            biased;
            ended = contact.changed() => match ended {
                Ok(()) => exchange.meet(),
                Err(_) => return,
            },
            stepped = step => if let Err(error) = stepped {
                tracing::warn!(%error, "captures cannot be sent or read");
                tokio::time::sleep(FAULT_PAUSE).await;
            }
        }
    }
}

/// Waits for contact, then exchanges once. Used by `Until::Pushed`.
pub(in crate::sync) async fn run_once(store: Store, mut contact: Contact) {
    let met = contact.wait_for(Option::is_some).await.ok().and_then(|met| met.clone());
    let Some((client, _)) = met else { return };
    if let Err(error) = exchange(store, &client).await {
        tracing::warn!(%error, "captures cannot be sent or read");
    }
}

/// What is asked when.
struct Exchange {
    store: Store,
    backoff: Backoff,
    failures: u32,
    /// Not before this time is a capture sent.
    send_at: Instant,
    /// Looks at the list since its last change.
    looks: usize,
    look_at: Instant,
    /// Files whose text is asked for next.
    texts: VecDeque<String>,
    text_at: Instant,
}

impl Exchange {
    fn new(store: Store) -> Exchange {
        let (now, backoff) = (Instant::now(), Backoff::new(Uuid::new_v4().as_u128() as u64));
        let texts = VecDeque::new();
        Exchange { store, backoff, failures: 0, send_at: now, looks: 0, look_at: now, texts, text_at: now }
    }

    /// Contact has come or gone, or there is another key: what waits is sent at once. The first look waits a little.
    fn meet(&mut self) {
        let now = Instant::now();
        let pause = Duration::from_millis(self.backoff.pause(FIRST_LOOK_DOUBLINGS).max(0).unsigned_abs());
        (self.send_at, self.failures, self.looks) = (now, 0, 0);
        (self.look_at, self.text_at) = (now + pause, now + pause);
    }

    /// Does what is due, then waits until something may be due.
    async fn step(&mut self, client: &Client, changed: &mut watch::Receiver<()>) -> Result<(), StoreError> {
        if Instant::now() >= self.send_at {
            self.send(client).await?;
        }
        if Instant::now() >= self.look_at {
            self.look(client).await?;
        }
        if Instant::now() >= self.text_at {
            self.read_text(client).await?;
        }
        tokio::select! {
            Ok(()) = changed.changed() => {}
            () = tokio::time::sleep_until(self.next_at()) => {}
        }
        Ok(())
    }

    fn next_at(&self) -> Instant {
        // The time of the next send counts only after a failure: otherwise a change of the database begins it.
        let send_at = if self.failures > 0 { self.send_at } else { self.look_at };
        send_at.min(self.look_at).min(self.text_at)
    }

    /// Sends all that the server does not know. True when nothing is left that can be sent now.
    async fn send(&mut self, client: &Client) -> Result<bool, StoreError> {
        loop {
            let Some(unsent) = self.store.run(|connection, _| exchange::unsent(connection)).await? else {
                return Ok(true);
            };
            let id = unsent.id.clone();
            if matches!(unsent.news, exchange::News::New { .. }) {
                let id = id.clone();
                self.store.run(move |connection, _| exchange::begin_attempt(connection, &id)).await?;
            }
            let verdict = ask::tell(client, &unsent).await;
            let pause = match &verdict {
                Verdict::Later(_, pause) => Some(*pause),
                _ => None,
            };
            self.store.run(move |connection, db| record(connection, db, &id, verdict)).await?;
            if let Some(pause_min) = pause {
                self.failures += 1;
                let pause: Millis = self.backoff.pause(self.failures).max(pause_min);
                self.send_at = Instant::now() + Duration::from_millis(pause.max(0).unsigned_abs());
                return Ok(false);
            }
            (self.failures, self.looks, self.look_at) = (0, 0, Instant::now() + pause_of(0));
        }
    }

    /// Reads the server's lists.
    async fn look(&mut self, client: &Client) -> Result<(), StoreError> {
        for purpose in [CapturePurpose::SmartAdd, CapturePurpose::Extract] {
            let listed = match ask::list(client, purpose).await {
                Ok(listed) => listed,
                Err(why) => {
                    tracing::debug!(why, "the captures of the server cannot be listed");
                    continue;
                }
            };
            let has_changed = self.store.run(move |connection, db| {
                let has_changed = listed::take(connection, &listed, runtime::wall_clock())?;
                if has_changed {
                    notification::notify(db);
                }
                Ok(has_changed)
            });
            if has_changed.await? {
                self.looks = 0;
            }
        }
        let is_reading = self.store.run(|connection, _| listed::is_reading(connection)).await?;
        self.look_at = Instant::now() + if is_reading { pause_of(self.looks) } else { IDLE_PAUSE };
        self.looks += 1;
        Ok(())
    }

    /// Asks for the text of one file.
    async fn read_text(&mut self, client: &Client) -> Result<(), StoreError> {
        let now = runtime::wall_clock();
        if self.texts.is_empty() {
            self.texts = self.store.run(move |connection, _| texts::due(connection, now)).await?.into();
        }
        let Some(hash) = self.texts.pop_front() else {
            self.text_at = Instant::now() + TEXT_LOOK_PAUSE;
            return Ok(());
        };
        let pause = match ask::text(client, &hash).await {
            Ok(answer) => {
                self.store.run(move |connection, _| texts::answered(connection, &hash, &answer, now)).await?;
                TEXT_PAUSE
            }
            Err(why) => {
                tracing::debug!(why, "the text of a file cannot be read");
                FAULT_PAUSE
            }
        };
        self.text_at = Instant::now() + pause;
        Ok(())
    }
}

fn pause_of(looks: usize) -> Duration {
    Duration::from_secs(READING_PAUSES[looks.min(READING_PAUSES.len() - 1)])
}

/// Writes down what follows from an answer, and tells other programs.
fn record(connection: &mut crate::store::Connection, db: &Path, id: &str, verdict: Verdict) -> Result<(), StoreError> {
    match verdict {
        Verdict::Made(server_id) => exchange::made(connection, id, &server_id)?,
        Verdict::Known => exchange::known(connection, id)?,
        Verdict::Refused(problem) => exchange::refused(connection, id, &problem)?,
        Verdict::FilesMissing(problem) => {
            if !exchange::send_files_again(connection, id)? {
                exchange::refused(connection, id, &problem)?;
            }
        }
        Verdict::Later(problem, _) => exchange::delayed(connection, id, &problem)?,
    }
    notification::notify(db);
    Ok(())
}

/// Sends all captures with their files, reads the server's lists and some texts, in a program that does not sync. The caller holds
/// the right to sync and bounds the time. Err: the address or the database is wrong. A server that does not answer is no error.
pub async fn exchange_captures(config: &SyncConfig, _right: &SyncLock) -> Result<(), SyncError> {
    let client = Client::new(&config.server, &config.key)?;
    let store = Store::new(&config.db);
    carry_all(&store, &client, Direction::Up).await?;
    Ok(exchange(store, &client).await?)
}

/// Sends all captures that can be sent, then reads the server's lists and some texts.
async fn exchange(store: Store, client: &Client) -> Result<(), StoreError> {
    let mut exchange = Exchange::new(store);
    while !exchange.send(client).await? {
        tokio::time::sleep_until(exchange.send_at).await;
    }
    exchange.look(client).await?;
    loop {
        exchange.read_text(client).await?;
        if exchange.texts.is_empty() {
            return Ok(());
        }
    }
}

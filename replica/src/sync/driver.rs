//! The loop that carries out what the core decides, and tells it what happened. It decides nothing: no retry, no
//! order, no phase is chosen here.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use hearth_contract::formats::Timestamp;
use sse_stream::SseByteStream;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use uuid::Uuid;

use super::client::{Client, Failure, Identity};
use super::core::{Core, Effect, Ending, Input, Millis, Outcome, Stretch, Verdict};
use super::sse::{self, Frame};
use super::{SyncConfig, SyncError, SyncLock, Until};
use crate::bell;
use crate::store::{Connection, StoreError, mirror, open, push, replay, standing};

/// Events applied in one transaction at most.
const STRETCH_EVENTS_MAX: usize = 500;
/// Frames read ahead of the database.
const FRAMES_AHEAD: usize = 1024;
/// Edits looked up at a time.
const PLAN_EDITS: usize = 64;
/// How long a silent stream's bytes are not reported again.
const CONTACT_INTERVAL: Duration = Duration::from_secs(1);

pub(super) async fn run(
    config: SyncConfig,
    lock: SyncLock,
    until: Until,
    mut stop: watch::Receiver<bool>,
) -> Result<(), SyncError> {
    let client = Client::new(&config.server, &config.key)?;
    let store = Store::open(config.db.clone()).await?;
    let changed = Arc::new(Notify::new());
    let knock = changed.clone();
    let bell = bell::watch(&config.db, move || knock.notify_one())?;
    let standing = store.read(|connection| standing::read(connection)).await?;
    store.keep(|connection, now| standing::set_daemon(connection, Some(std::process::id()), now)).await?;

    let mut driver = Driver {
        core: Core::new(until, Uuid::new_v4().as_u64_pair().0),
        client,
        store,
        server: config.server,
        epoch: Instant::now(),
        stream: None,
        sending: FuturesUnordered::new(),
    };
    let started = Input::Started { cursor: standing.cursor, filled: standing.filled, home: standing.home_id };
    let mut verdict = driver.tell(started).await;
    while verdict.is_none() {
        verdict = driver.next(&changed, &mut stop).await;
    }
    drop(bell);
    // Whatever happened, nobody shall read that this process still syncs.
    let left = driver.store.keep(|connection, now| standing::set_daemon(connection, None, now)).await;
    drop(lock);
    match verdict.unwrap_or(Ok(Verdict::Done))? {
        Verdict::Done => left.map_err(SyncError::Store),
        Verdict::NeedsKey(why) => Err(SyncError::NeedsKey(why)),
        Verdict::Blocked(why) => Err(SyncError::Blocked(why)),
    }
}

type Ended = Option<Result<Verdict, StoreError>>;

struct Driver {
    core: Core,
    client: Client,
    store: Store,
    server: String,
    epoch: Instant,
    stream: Option<Stream>,
    sending: FuturesUnordered<BoxFuture<'static, (i64, Outcome)>>,
}

impl Driver {
    /// Waits for whichever happens first and tells the core.
    async fn next(&mut self, changed: &Notify, stop: &mut watch::Receiver<bool>) -> Ended {
        let wake = self.core.wake_at().map(|at| self.epoch + Duration::from_millis(at.max(0).unsigned_abs()));
        let input = tokio::select! {
            biased;
            () = told_to_stop(stop) => Input::StopRequested,
            Some((edit, outcome)) = self.sending.next() => Input::Answered { edit, outcome },
            () = changed.notified() => Input::EditsChanged,
            () = sleep_until(wake) => Input::Timer,
            told = told(&mut self.stream) => match told {
                Told::Opened { home, head, retention_seconds } => {
                    let id = home.id.clone();
                    return self.tell_greeting(home, head, retention_seconds, id).await;
                }
                Told::Met(home) => Input::Met { home },
                Told::Refused(Failure::Refused(refusal)) => Input::StreamRefused(refusal),
                Told::Refused(Failure::NoAnswer(reason)) | Told::Ended(reason) => Input::StreamEnded { reason },
                Told::Contact => Input::Contact,
                Told::Frames(stretch) => Input::Frames(stretch),
            },
        };
        self.tell(input).await
    }

    /// A greeting is written down only if the core takes the home for ours.
    async fn tell_greeting(
        &mut self,
        home: standing::Home,
        head: Option<i64>,
        retention: Option<i64>,
        id: String,
    ) -> Ended {
        let ended = self.tell(Input::StreamOpened { home: id }).await;
        if ended.is_none() {
            let home = standing::Home { server: self.server.clone(), ..home };
            let greeted = self.store.keep(move |c, now| standing::greet(c, &home, head, retention, now)).await;
            return greeted.err().map(Err);
        }
        ended
    }

    /// Hands an input to the core and carries out what comes of it.
    async fn tell(&mut self, input: Input) -> Ended {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for effect in self.core.handle(self.now(), input) {
                match self.carry_out(effect).await {
                    Ok(Next::Nothing) => {}
                    Ok(Next::Input(input)) => inputs.push_back(input),
                    Ok(Next::End(verdict)) => return Some(Ok(verdict)),
                    Err(error) => return Some(Err(error)),
                }
            }
        }
        None
    }

    async fn carry_out(&mut self, effect: Effect) -> Result<Next, StoreError> {
        match effect {
            Effect::OpenStream { cursor } => self.stream = Some(Stream::open(self.client.clone(), cursor)),
            Effect::CloseStream => self.stream = None,
            Effect::Apply { stretch, phase } => {
                let Stretch { events, cursor, ready } = stretch;
                if let Some(head) = ready {
                    tracing::info!(head, "in step");
                }
                let batch = mirror::Batch { events, cursor, ready };
                let phase = phase.word();
                let applied =
                    self.store.keep(move |c, now| mirror::apply(c, &batch, &mirror::Proof { phase, now })).await?;
                return Ok(Next::Input(Input::Applied { touched_edits: applied.touched_edits }));
            }
            Effect::Touch => self.store.keep(standing::touch).await?,
            Effect::Plan => {
                let push::Plan { ready, open } = self.store.read(|c| push::plan(c, PLAN_EDITS)).await?;
                return Ok(Next::Input(Input::Planned { ready, open }));
            }
            Effect::Send { edit } => {
                let key = Uuid::new_v4().to_string();
                let request = self.store.keep(move |c, _| push::freeze(c, edit, &key)).await?;
                let client = self.client.clone();
                self.sending.push(Box::pin(async move {
                    match request {
                        Some(request) => (edit, client.send(&request).await),
                        None => (edit, Outcome::Moot),
                    }
                }));
            }
            Effect::Record { edit, ending } => {
                let verdict = self.verdict(ending);
                self.store.keep(move |c, now| push::record(c, edit, &verdict, now)).await?;
            }
            Effect::Show { phase, reason, retry_at } => {
                let retry_at = retry_at.map(|at| self.moment(at));
                tracing::info!(phase = phase.word(), reason, "phase");
                self.store
                    .keep(move |c, now| standing::set_phase(c, phase.word(), reason.as_deref(), retry_at, now))
                    .await?;
            }
            Effect::StartOver { restored } => {
                let cause = if restored { replay::Cause::Restored } else { replay::Cause::Gap };
                self.store.keep(move |c, _| replay::begin(c, cause)).await?;
            }
            Effect::Finish(verdict) => return Ok(Next::End(verdict)),
        }
        Ok(Next::Nothing)
    }

    fn verdict(&self, ending: Ending) -> push::Verdict {
        match ending {
            Ending::Sent { rev } => push::Verdict::Sent { rev },
            Ending::Later { at, reason } => push::Verdict::Later { at: at.map(|at| self.moment(at)), reason },
            Ending::Rejected { reason, problem } => push::Verdict::Rejected { reason, problem },
            Ending::Conflict { reason, problem } => push::Verdict::Conflict { reason, problem },
        }
    }

    /// The core's time: milliseconds since this sync began.
    fn now(&self) -> Millis {
        Millis::try_from(self.epoch.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }

    /// A moment of the core's time as people write it.
    fn moment(&self, at: Millis) -> Timestamp {
        wall_clock().plus_millis(at - self.now())
    }
}

enum Next {
    Nothing,
    Input(Input),
    End(Verdict),
}

/// Lets go of what `wait_for` lends, so that the loop may move between threads.
async fn told_to_stop(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The database, reached from async code: its work happens on threads that may block.
struct Store {
    connection: Arc<Mutex<Connection>>,
    db: PathBuf,
}

impl Store {
    async fn open(db: PathBuf) -> Result<Store, StoreError> {
        let path = db.clone();
        let connection = blocking(move || open::read_write(&path)).await?;
        Ok(Store { connection: Arc::new(Mutex::new(connection)), db })
    }

    /// Reads, or writes what nobody else waits for.
    async fn read<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let connection = self.connection.clone();
        blocking(move || {
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                match work(&mut connection) {
                    // Somebody's script holds a long transaction; it will end.
                    Err(error) if error.is_busy() => tracing::warn!("the database is held by another program; waiting"),
                    result => return result,
                }
            }
        })
        .await
    }

    /// Writes, and rings the bell once it is committed.
    async fn keep<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Connection, Timestamp) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let value = self.read(move |connection| work(connection, wall_clock())).await?;
        bell::ring(&self.db);
        Ok(value)
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(StoreError::Odd("work that the runtime dropped as it ended".to_owned())),
        },
    }
}

/// What the stream's task tells.
enum Told {
    Met(String),
    Opened { home: standing::Home, head: Option<i64>, retention_seconds: Option<i64> },
    Refused(Failure),
    Contact,
    Frames(Stretch),
    Ended(String),
}

enum Heard {
    Told(Told),
    Frame(Frame),
}

/// An open or opening stream; dropping it ends it.
struct Stream {
    heard: mpsc::Receiver<Heard>,
    /// What was taken from the channel behind frames that had to go first.
    next: Option<Told>,
    task: JoinHandle<()>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stream {
    fn open(client: Client, cursor: Option<String>) -> Stream {
        let (tell, heard) = mpsc::channel(FRAMES_AHEAD);
        let task = tokio::spawn(async move {
            let last = match listen(&client, cursor, &tell).await {
                Ok(reason) => Told::Ended(reason),
                Err(failure) => Told::Refused(failure),
            };
            let _ = tell.send(Heard::Told(last)).await;
        });
        Stream { heard, next: None, task }
    }
}

/// Opens the stream and passes on what it brings, until it ends; gives the reason.
async fn listen(client: &Client, cursor: Option<String>, tell: &mpsc::Sender<Heard>) -> Result<String, Failure> {
    // Asked side by side: a reconnect costs one round trip. The stream is last, so that its frames wait for nobody.
    let (me, feed) = tokio::join!(client.me(), client.feed());
    let Identity { home_id, home_name, environment, .. } = me?;
    let feed = feed?;
    let _ = tell.send(Heard::Told(Told::Met(home_id.clone()))).await;
    let response = client.stream(cursor.as_deref()).await?;
    let home = standing::Home { server: String::new(), id: home_id, name: home_name, environment };
    let head = feed.as_ref().map(|feed| feed.head);
    let retention_seconds =
        feed.and_then(|feed| feed.retention_seconds).and_then(|seconds| i64::try_from(seconds).ok());
    let _ = tell.send(Heard::Told(Told::Opened { home, head, retention_seconds })).await;

    // The parser swallows comments, but they are signs of life too, so bytes are noticed before it.
    let contact = tell.clone();
    let mut noticed = Instant::now();
    let bytes = response.bytes_stream().inspect(move |_| {
        if noticed.elapsed() >= CONTACT_INTERVAL && contact.try_send(Heard::Told(Told::Contact)).is_ok() {
            noticed = Instant::now();
        }
    });
    let mut frames = SseByteStream::new(bytes);
    while let Some(frame) = frames.next().await {
        let frame = match frame.map_err(|error| error.to_string()).and_then(sse::read) {
            Ok(frame) => frame,
            Err(reason) => return Ok(reason),
        };
        if tell.send(Heard::Frame(frame)).await.is_err() {
            return Ok("nobody listens".to_owned());
        }
    }
    Ok("the server ended the stream".to_owned())
}

/// The next thing that the stream has to tell: all frames that are there already are one stretch.
async fn told(stream: &mut Option<Stream>) -> Told {
    let Some(stream) = stream else { return std::future::pending().await };
    if let Some(told) = stream.next.take() {
        return told;
    }
    let mut stretch = Stretch::default();
    let mut more = stream.heard.recv().await;
    loop {
        match more {
            Some(Heard::Frame(frame)) => sse::extend(&mut stretch, frame),
            Some(Heard::Told(Told::Contact)) if stretch != Stretch::default() => {}
            Some(Heard::Told(told)) if stretch == Stretch::default() => return told,
            Some(Heard::Told(told)) => {
                stream.next = Some(told);
                return Told::Frames(stretch);
            }
            None => return Told::Ended("the stream broke".to_owned()),
        }
        // One stretch ends at the present, so that what is live is told as such at once.
        if stretch.events.len() >= STRETCH_EVENTS_MAX || stretch.ready.is_some() {
            return Told::Frames(stretch);
        }
        match stream.heard.try_recv() {
            Ok(next) => more = Some(next),
            Err(_) if stretch == Stretch::default() => more = stream.heard.recv().await,
            Err(_) => return Told::Frames(stretch),
        }
    }
}

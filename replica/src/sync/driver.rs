//! The loop that carries out what the core decides, and tells it what happened. It decides nothing: no retry, no
//! order, no phase is chosen here.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use hearth_contract::formats::Timestamp;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use uuid::Uuid;

use super::client::{Client, Failure};
use super::core::{Core, Effect, Ending, Input, Millis, Outcome, Stretch, Verdict};
use super::keeper::{Store, wall_clock};
use super::stream::{Stream, Told, told};
use super::{SyncConfig, SyncError, SyncLock, Until};
use crate::bell;
use crate::store::{StoreError, mirror, push, replay, standing};

/// Edits looked up at a time.
const PLAN_EDITS: usize = 64;

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

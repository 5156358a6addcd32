//! `sync`: once until a goal, by this process or by the daemon that is there. Must not know how syncing works.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use clap::Args;
use hearth_replica::sync::{self, ClientError, SyncConfig, SyncLock, Until};
use hearth_replica::{Phase, Replica, Status, bell, log};
use tokio::sync::watch;

use super::goal::{believes_to_be_in_step, is_reached, not_proven, settled, too_late};
use super::progress::Progress;
use super::runtime::block_on;
use super::{ANOTHER_KEY, Context, Exit, Failure, duration, output, run, status, stop};

/// A daemon whose key was refused has taken up a new one within this time, if there is one.
const KEY_TAKEN_UP_WITHIN: Duration = Duration::from_secs(3);

/// Whether the server is still there is asked this often, while it takes long.
const SLICE: Duration = Duration::from_secs(30);
/// So often in a row, and that long apart.
const ATTEMPTS_MAX: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);

/// Who writes for longer than this is not this process itself.
const HELD_FOR: Duration = Duration::from_millis(500);

/// Arguments of `sync`.
#[derive(Debug, Args)]
pub(super) struct Sync {
    /// Until the server's present is reached, whatever edits wait
    #[arg(long)]
    until_current: bool,
    /// Until every edit is confirmed as well (this is what is done if neither is said)
    #[arg(long)]
    until_pushed: bool,
    /// How long at most, as in 500ms, 30s, 5m
    #[arg(long, default_value = "30s", value_parser = duration::parse)]
    timeout: Duration,
}

impl Sync {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        log::to_stderr(log::Form::Text, "warn");
        stop::listen()?;
        let until = if self.until_current && !self.until_pushed { Until::Current } else { Until::Pushed };
        // Before the database: a profile that was mistyped must not make an empty one.
        let config = match config(context) {
            Ok(config) => config,
            Err(failure) => {
                if context.json && hearth_replica::is_there(&context.profile.db) {
                    status::write(context, &context.replica()?.status()?)?;
                }
                return Err(failure);
            }
        };
        let replica = context.replica()?;
        let (now, ended) = match attempt(context, config, &replica, until, self.timeout) {
            Ok(Attempt::Reached(now)) => {
                let ended = settled(until, &now);
                (Some(now), ended)
            }
            Ok(Attempt::TooLate(then)) => {
                let ended = Err(too_late(context, &then));
                (Some(then), ended)
            }
            // What ended it stands in the status too, if the database can be read at all.
            Err(failure) => (replica.status().ok(), Err(failure)),
        };
        match now {
            // A script wants to know where it stands above all when it is not where it should be.
            Some(now) if context.json => status::write(context, &now)?,
            Some(now) if ended.is_ok() => {
                output::line(&format!("In step with the server at position {}.", now.position))?
            }
            _ => {}
        }
        ended
    }
}

/// How far syncing came, and the status then.
enum Attempt {
    Reached(Status),
    TooLate(Status),
}

fn attempt(
    context: &Context,
    config: SyncConfig,
    replica: &Replica,
    until: Until,
    limit: Duration,
) -> Result<Attempt, Failure> {
    let progress = Progress::of(&context.profile.db);
    let ended = match run::try_lock(&context.profile.db)? {
        Some(lock) => in_process(config, lock, until, limit, replica),
        None => by_daemon(context, config, until, limit, replica),
    };
    drop(progress);
    Ok(match ended? {
        Some(then) => Attempt::TooLate(then),
        None => Attempt::Reached(replica.status()?),
    })
}

/// Syncs until the present, in this process or by the one that holds the lock, and gives the status then; for as long as the
/// server answers at all: when it is gone nobody wants to wait for minutes to be told so.
pub(super) fn bring_in_step(
    context: &Context,
    replica: &Replica,
    config: &SyncConfig,
    limit: Duration,
) -> Result<Status, Failure> {
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        reachable(config, left)?;
        let ended = attempt(context, config.clone(), replica, Until::Current, left.min(SLICE));
        if left > SLICE && may_still_come(&ended) {
            continue;
        }
        return match ended? {
            Attempt::Reached(now) => Ok(now),
            Attempt::TooLate(then) => Err(too_late(context, &then)),
        };
    }
}

/// Whether an attempt was only too short, so that another may get there.
fn may_still_come(ended: &Result<Attempt, Failure>) -> bool {
    match ended {
        Ok(Attempt::Reached(_)) => false,
        Ok(Attempt::TooLate(then)) => !matches!(then.phase, Phase::Paused | Phase::Blocked | Phase::NeedsKey),
        Err(failure) => failure.exit == Exit::Unreachable,
    }
}

/// Whether the server answers in time, and takes the key.
pub(super) fn reachable(config: &SyncConfig, limit: Duration) -> Result<(), Failure> {
    match block_on(stop::within(limit, reach(config)))? {
        Some(reached) => reached,
        None => {
            let text = format!("{} does not answer in time", config.server);
            Err(Failure::new(Exit::Unreachable, text).hint("hearth-replica doctor; what is here can be used meanwhile"))
        }
    }
}

/// Asks the server who it is, a few times.
async fn reach(config: &SyncConfig) -> Result<(), Failure> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match sync::fetch_identity(&config.server, &config.key).await {
            Ok(_) => return Ok(()),
            Err(ClientError::Unreachable(..)) if attempts < ATTEMPTS_MAX => tokio::time::sleep(PAUSE).await,
            Err(error @ ClientError::Unreachable(..)) => {
                return Err(Failure::from(error).hint("hearth-replica doctor; what is here can be used meanwhile"));
            }
            Err(error @ (ClientError::Refused(401 | 403, _) | ClientError::Key)) => {
                return Err(Failure::from(error).hint(ANOTHER_KEY));
            }
            // It is there, and says that it is not well: who syncs knows how to wait.
            Err(_) => return Ok(()),
        }
    }
}

/// Syncs in this process. None: the goal is reached; otherwise the status when the time was over. Err: told to stop, among
/// others.
pub(super) fn in_process(
    config: SyncConfig,
    lock: SyncLock,
    until: Until,
    limit: Duration,
    replica: &Replica,
) -> Result<Option<Status>, Failure> {
    stop::check()?;
    block_on(async {
        let (stop, stopped) = watch::channel(false);
        let mut syncing = Box::pin(sync::run(config, lock, until, stopped));
        let ended = stop::within(limit, &mut syncing).await;
        if let Ok(Some(result)) = ended {
            return result.map(|()| None).map_err(Failure::from);
        }
        // Read before it stops: afterwards nobody is in contact.
        let then = replica.status();
        let has_begun = then.as_ref().is_ok_and(|then| then.daemon_pid == Some(i64::from(std::process::id())));
        let held = if ended.is_ok() && !has_begun { replica.is_free_within(HELD_FOR) } else { Ok(()) };
        let _ = stop.send(true);
        // What another program kept from beginning has nothing to end, and would wait for that program once more.
        held?;
        syncing.await?;
        ended?;
        // What it was is told; that it syncs is over by now.
        Ok(Some(Status { daemon_pid: None, ..then? }))
    })
}

/// Waits for the daemon that holds the lock, by what the database says. It does what it can already, but for the pause
/// between two attempts: somebody who asks now may know that the server is back. That it believes to be in step is no
/// proof, because it may not have noticed yet that nothing comes through: the server says where the present is. Once it
/// has ended, as a `sync` beside this one does, this process goes on.
fn by_daemon(
    context: &Context,
    config: SyncConfig,
    until: Until,
    limit: Duration,
    replica: &Replica,
) -> Result<Option<Status>, Failure> {
    let (ring, rings) = channel();
    let watch = bell::watch(&context.profile.db, move || {
        let _ = ring.send(());
    })?;
    let began = Instant::now();
    let deadline = began + limit;
    let (mut head, mut asked) = (None, false);
    replica.hurry_within(limit)?;
    loop {
        stop::check()?;
        let left = deadline.saturating_duration_since(Instant::now());
        if !left.is_zero()
            && let Some(lock) = run::try_lock(&context.profile.db)?
        {
            drop(watch);
            return in_process(config, lock, until, left, replica);
        }
        let now = replica.status()?;
        if head.is_none() && believes_to_be_in_step(&now) && !left.is_zero() {
            head = block_on(head_of(&config, left))?;
            if head.is_some() {
                continue;
            }
        }
        if is_reached(until, &now, head) {
            drop(watch);
            return Ok(None);
        }
        // What it was told of its key may be long ago: the server may be gone by now.
        if !asked && now.phase == Phase::NeedsKey && !left.is_zero() {
            reachable(&config, left)?;
            asked = true;
            continue;
        }
        let held = match now.phase {
            Phase::Paused | Phase::Blocked => true,
            Phase::NeedsKey => began.elapsed() >= KEY_TAKEN_UP_WITHIN,
            _ => false,
        };
        if held {
            return Ok(Some(now));
        }
        if left.is_zero() || rings.recv_timeout(left.min(Duration::from_secs(1))) == Err(RecvTimeoutError::Disconnected)
        {
            return if believes_to_be_in_step(&now) && head.is_none_or(|head| now.position < head) {
                Err(not_proven(&now, head))
            } else {
                Ok(Some(now))
            };
        }
    }
}

/// Where the server says that the present is; None: it asks for patience. Of one that does not tell of it, which it need
/// not, the daemon's word is all there is.
async fn head_of(config: &SyncConfig, left: Duration) -> Result<Option<i64>, Failure> {
    match stop::within(left, sync::fetch_feed_head(&config.server, &config.key)).await? {
        Some(Ok(head)) => Ok(Some(head.unwrap_or_default())),
        Some(Err(ClientError::Refused(408 | 429 | 500.., _))) => {
            tokio::time::sleep(PAUSE.min(left)).await;
            Ok(None)
        }
        None => Ok(None),
        Some(Err(error)) => Err(error.into()),
    }
}

/// What is synced with whom; a profile that is not complete says what to type.
pub(super) fn config(context: &Context) -> Result<SyncConfig, Failure> {
    let profile = &context.profile;
    profile.sync_config().ok_or_else(|| {
        let failure = match (&profile.server, profile.key_error()) {
            (None, _) => Failure::new(Exit::NotFound, profile.no_server()),
            (Some(_), Some(error)) => return error.into(),
            (Some(_), None) => Failure::new(Exit::Key, profile.no_key()),
        };
        failure.hint("hearth-replica init --server URL")
    })
}

#[cfg(test)]
mod tests {
    use super::super::goal::tests::status;
    use super::*;

    #[test]
    fn a_server_that_is_there_is_worth_more_time() {
        let ended = |phase: Phase| Ok(Attempt::TooLate(status(phase, 4, 0)));
        for phase in [
            Phase::New,
            Phase::Backfilling,
            Phase::CatchingUp,
            Phase::Reconciling,
            Phase::Live,
            Phase::Polling,
            Phase::Offline,
        ] {
            let heard = Some("2026-06-01T00:00:00.000Z".to_owned());
            assert!(may_still_come(&ended(phase)), "{phase}");
            let slow = Status { last_contact_at: heard, ..status(phase, 4, 0) };
            assert!(may_still_come(&Ok(Attempt::TooLate(slow))), "{phase}");
        }
        for phase in [Phase::Paused, Phase::Blocked, Phase::NeedsKey] {
            assert!(!may_still_come(&ended(phase)), "{phase}");
        }
        assert!(!may_still_come(&Ok(Attempt::Reached(status(Phase::Live, 4, 0)))));
        assert!(may_still_come(&Err(Failure::new(Exit::Unreachable, "gone"))));
        assert!(!may_still_come(&Err(Failure::new(Exit::Interrupted, "told to stop"))));
    }
}

//! `sync`: syncs once until a goal, in this process or by a running daemon. Must not know how syncing works.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use clap::Args;
use hearth_replica::doctor::HELD_CHANGES_ADVICE;
use hearth_replica::sync::{self, ClientError, SyncConfig, SyncLock, Until};
use hearth_replica::{Phase, Replica, Status, log, notification};
use tokio::sync::watch;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::progress::Progress;
use super::runtime::block_on;
use super::sync_goal::{
    EDITS, check_synced, claims_current, decisions_text, is_reached, timeout_failure, unproven_failure,
};
use super::{captures, duration, files, lock_holder, output, signals, status};

/// After a refusal the daemon has this long to take up a new key.
const NEW_KEY_WAIT: Duration = Duration::from_secs(3);

/// The length of one attempt. A long sync checks the server between attempts.
const ATTEMPT_TIME: Duration = Duration::from_secs(30);
/// The number of requests, and the pause between them, before the server counts as unreachable.
const ATTEMPTS_MAX: u32 = 3;
const ATTEMPT_PAUSE: Duration = Duration::from_secs(1);

/// How long the look at the pages of the database may take.
const LOOK_LIMIT: Duration = Duration::from_secs(2);

/// A write lock that lasts longer belongs to another program.
const BUSY_WAIT: Duration = Duration::from_millis(500);

/// Arguments of `sync`.
#[derive(Debug, Args)]
pub(super) struct Sync {
    /// Until the replica is current, even if edits wait
    #[arg(long)]
    until_current: bool,
    /// Until every edit is confirmed too (the default)
    #[arg(long)]
    until_pushed: bool,
    /// Time limit, as in 500ms, 30s, 5m
    #[arg(long, default_value = "30s", value_parser = duration::parse)]
    timeout: Duration,
}

impl Sync {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        log::to_stderr(log::LogFormat::Text, "warn");
        signals::listen()?;
        let until = if self.until_current && !self.until_pushed { Until::Current } else { Until::Pushed };
        // Before the database is opened, because a mistyped profile must not create an empty one.
        let config = match context.sync_config() {
            Ok(config) => config,
            Err(failure) => {
                if context.json && hearth_replica::database_exists(&context.profile.db) {
                    let replica = context.open_or_create()?;
                    status::write_status(context, &replica, &replica.status()?)?;
                }
                return Err(failure);
            }
        };
        let replica = context.open_or_create()?;
        let deadline = Instant::now() + self.timeout;
        let (now, ended) = match attempt(context, config, &replica, until, self.timeout) {
            Ok(None) => {
                let now = replica.status()?;
                let mut ended = check_synced(until, &now);
                if until == Until::Pushed {
                    ended = ended
                        .and_then(|()| captures::finish(context, &replica, deadline))
                        .and_then(|()| files::finish_requested(context, &replica, deadline));
                }
                if let Some(held) = now.held_changes.as_ref().filter(|_| ended.is_ok()) {
                    output::message(&held.question());
                    output::next_step(HELD_CHANGES_ADVICE);
                }
                if ended.is_ok() && now.edits_to_decide() > 0 {
                    output::message(&decisions_text(&now));
                    output::next_step(EDITS);
                }
                (Some(now), ended)
            }
            Ok(Some(last)) => {
                let ended = Err(timeout_failure(context, &last));
                (Some(last), ended)
            }
            // The status also says why the sync ended, if the database is readable.
            Err(failure) => (replica.status().ok(), Err(failure)),
        };
        match now {
            // A script needs the status most when the goal was missed.
            Some(now) if context.json => status::write_status(context, &replica, &now)?,
            Some(now) if ended.is_ok() => {
                output::line(&format!("In step with the server at position {}.", now.position))?
            }
            _ => {}
        }
        ended
    }
}

/// Syncs here, or waits for the process with the lock. None: goal reached. Otherwise the status at the end of the time.
fn attempt(
    context: &Context,
    config: SyncConfig,
    replica: &Replica,
    until: Until,
    limit: Duration,
) -> Result<Option<Status>, Failure> {
    let _progress = Progress::start(&context.profile.db);
    match lock_holder::try_lock_opened(&context.profile.db)? {
        Some(lock) => sync_in_process(config, lock, until, limit, replica),
        None => wait_for_daemon(context, config, until, limit, replica),
    }
}

/// Syncs until the replica is current and returns the status. The sync runs here or in the process with the lock. An
/// unreachable server ends the wait early.
pub(super) fn sync_to_current(
    context: &Context,
    replica: &Replica,
    config: &SyncConfig,
    limit: Duration,
) -> Result<Status, Failure> {
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        check_server(config, left)?;
        let ended = attempt(context, config.clone(), replica, Until::Current, left.min(ATTEMPT_TIME));
        if left > ATTEMPT_TIME && is_worth_another_attempt(&ended) {
            continue;
        }
        return match ended? {
            None => Ok(replica.status()?),
            Some(last) => Err(timeout_failure(context, &last)),
        };
    }
}

/// True when a longer attempt may reach the goal.
fn is_worth_another_attempt(ended: &Result<Option<Status>, Failure>) -> bool {
    match ended {
        Ok(None) => false,
        Ok(Some(last)) => !matches!(last.phase, Phase::Paused | Phase::Blocked | Phase::NeedsKey),
        Err(failure) => failure.exit == Exit::Unreachable,
    }
}

/// Checks the server and the key within a time limit.
pub(super) fn check_server(config: &SyncConfig, limit: Duration) -> Result<(), Failure> {
    match block_on(signals::run_within(limit, ask_server(config)))? {
        Some(reached) => reached,
        None => {
            let text = format!("{} does not answer in time", config.server);
            Err(Failure::new(Exit::Unreachable, text).hint("hearth-replica doctor; offline work is possible meanwhile"))
        }
    }
}

/// Identifies the server, with a few retries.
async fn ask_server(config: &SyncConfig) -> Result<(), Failure> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match sync::fetch_identity(&config.server, &config.key).await {
            Ok(_) => return Ok(()),
            Err(ClientError::Unreachable(..)) if attempts < ATTEMPTS_MAX => tokio::time::sleep(ATTEMPT_PAUSE).await,
            Err(error @ ClientError::Unreachable(..)) => {
                return Err(Failure::from(error).hint("hearth-replica doctor; offline work is possible meanwhile"));
            }
            Err(error @ (ClientError::Refused(401 | 403, _) | ClientError::Key)) => return Err(error.into()),
            // The server is up but has a problem; the sync itself waits and retries.
            Err(_) => return Ok(()),
        }
    }
}

/// Syncs in this process. None: goal reached. Otherwise the status at the end of the time. Err: the sync failed or was
/// stopped.
pub(super) fn sync_in_process(
    config: SyncConfig,
    lock: SyncLock,
    until: Until,
    limit: Duration,
    replica: &Replica,
) -> Result<Option<Status>, Failure> {
    signals::check_stop()?;
    block_on(async {
        let (stop, stopped) = watch::channel(false);
        let mut syncing = Box::pin(sync::run(config, lock, until, stopped));
        let ended = signals::run_within(limit, &mut syncing).await;
        if let Ok(Some(result)) = ended {
            return result.map(|()| None).map_err(Failure::from);
        }
        // Read before the sync stops, because a stopped sync has no contact.
        let last = replica.status();
        let has_begun = last.as_ref().is_ok_and(|last| last.daemon_pid == Some(i64::from(std::process::id())));
        let writable = if ended.is_ok() && !has_begun { replica.check_writable_within(BUSY_WAIT) } else { Ok(()) };
        let _ = stop.send(true);
        // A sync that another program kept from starting has nothing to finish, and would wait for that program again.
        writable?;
        syncing.await?;
        ended?;
        // The sync may have reached its goal while the exchange about captures was not finished.
        if has_begun && last.as_ref().is_ok_and(|last| is_reached(until, last, last.head)) {
            return Ok(None);
        }
        // The status is from before the stop; the sync has ended.
        Ok(Some(Status { daemon_pid: None, ..last? }))
    })
}

/// Waits for the process that holds the lock, by the status in the database. The process is asked to retry at once,
/// because a user who types `sync` may know that the server is back. The claim to be current is no proof: the process
/// may not have noticed a dead connection. The server's own head is the proof. If the process ends, this process syncs
/// instead.
fn wait_for_daemon(
    context: &Context,
    config: SyncConfig,
    until: Until,
    limit: Duration,
    replica: &Replica,
) -> Result<Option<Status>, Failure> {
    let (notify, notifications) = channel();
    let watch = notification::subscribe(&context.profile.db, move || {
        let _ = notify.send(());
    })?;
    let began = Instant::now();
    let deadline = began + limit;
    let (mut head, mut asked) = (None, false);
    replica.retry_sync_now_within(limit)?;
    loop {
        signals::check_stop()?;
        let left = deadline.saturating_duration_since(Instant::now());
        if !left.is_zero()
            && let Some(lock) = lock_holder::try_lock_opened(&context.profile.db)?
        {
            drop(watch);
            return sync_in_process(config, lock, until, left, replica);
        }
        let now = replica.status()?;
        if head.is_none() && claims_current(&now) && !left.is_zero() {
            head = block_on(server_head(&config, left))?;
            if head.is_some() {
                continue;
            }
        }
        if is_reached(until, &now, head) {
            // The process looked through the database when it started, or a look before is still valid.
            hearth_replica::look_for_damage(&context.profile.db, LOOK_LIMIT)?;
            return Ok(None);
        }
        // The refusal of the key may be old, and the server may be down by now.
        if !asked && now.phase == Phase::NeedsKey && !left.is_zero() {
            check_server(&config, left)?;
            asked = true;
            continue;
        }
        let is_halted = match now.phase {
            Phase::Paused | Phase::Blocked => true,
            Phase::NeedsKey => began.elapsed() >= NEW_KEY_WAIT,
            _ => false,
        };
        if is_halted {
            return Ok(Some(now));
        }
        if left.is_zero()
            || notifications.recv_timeout(left.min(Duration::from_secs(1))) == Err(RecvTimeoutError::Disconnected)
        {
            return if claims_current(&now) && head.is_none_or(|head| now.position < head) {
                Err(unproven_failure(&now, head))
            } else {
                Ok(Some(now))
            };
        }
    }
}

/// The position of the server's head. None: the server does not tell, or asks for patience.
async fn server_head(config: &SyncConfig, left: Duration) -> Result<Option<i64>, Failure> {
    match signals::run_within(left, sync::fetch_feed_head(&config.server, &config.key)).await? {
        Some(Ok(head)) => Ok(head),
        Some(Err(ClientError::Refused(408 | 429 | 500.., _))) => {
            tokio::time::sleep(ATTEMPT_PAUSE.min(left)).await;
            Ok(None)
        }
        None => Ok(None),
        Some(Err(error)) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sync_goal::tests::status;
    use super::*;

    #[test]
    fn reachable_server_gets_another_attempt() {
        let ended = |phase: Phase| Ok(Some(status(phase, 4, 0)));
        for phase in [
            Phase::New,
            Phase::Backfilling,
            Phase::CatchingUp,
            Phase::Reconciling,
            Phase::Live,
            Phase::Polling,
            Phase::Offline,
        ] {
            let last_contact_at = Some("2026-06-01T00:00:00.000Z".to_owned());
            assert!(is_worth_another_attempt(&ended(phase)), "{phase}");
            let slow = Status { last_contact_at, ..status(phase, 4, 0) };
            assert!(is_worth_another_attempt(&Ok(Some(slow))), "{phase}");
        }
        for phase in [Phase::Paused, Phase::Blocked, Phase::NeedsKey] {
            assert!(!is_worth_another_attempt(&ended(phase)), "{phase}");
        }
        assert!(!is_worth_another_attempt(&Ok(None)));
        assert!(is_worth_another_attempt(&Err(Failure::new(Exit::Unreachable, "gone"))));
        assert!(!is_worth_another_attempt(&Err(Failure::new(Exit::Interrupted, "told to stop"))));
    }
}

//! What a serving process does by itself: noticing what other processes wrote, thinning out old events, forgetting old
//! receipts and exports. Must not know requests.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use crate::app::App;
use crate::home::retention;
use crate::store::{HomeNo, StoreError, homes, receipts};

/// Between two looks for writes of other processes: a key revoked there stops working within a second.
const LOOK_EVERY: Duration = Duration::from_millis(400);
/// Between two rounds of thinning, at most (contract 9.2).
const THIN_EVERY_MAX: Duration = Duration::from_secs(60);
/// And at least, so that a retention of seconds does not keep the writer busy.
const THIN_EVERY_MIN: Duration = Duration::from_millis(250);
/// Between two looks whether anybody still writes.
const REST_EVERY: Duration = Duration::from_secs(5);
/// A wall clock that is further ahead of the time that has passed is looked at once more before anything is forgotten by
/// it: one that was wrong for a moment, as before a machine has heard the time, must not end what is kept for days.
const LEAP_MAX: Duration = Duration::from_secs(3600);
/// Receipts forgotten in one transaction.
const FORGET_STEP: usize = 1000;

/// Runs until the service stops. `outside` counts up whenever another process wrote.
pub(crate) async fn run(app: Arc<App>, outside: watch::Sender<u64>) {
    let thin_every = app.config.retention.map_or(THIN_EVERY_MAX, |kept| kept.clamp(THIN_EVERY_MIN, THIN_EVERY_MAX));
    let mut look = tokio::time::interval(LOOK_EVERY);
    // Not at once: the clock of a machine that was just switched on may be wrong for a while.
    let mut thin = tokio::time::interval_at(Instant::now() + thin_every, thin_every);
    let mut rest = tokio::time::interval(REST_EVERY);
    rest.set_missed_tick_behavior(MissedTickBehavior::Delay);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    thin.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stopping = app.stopping.clone();
    let db = app.db.clone();
    let mut upkeep = Upkeep::new(app, outside);
    loop {
        // A long round gives way to a look between any two of its steps.
        let done = tokio::select! {
            biased;
            () = stopping.heard() => return,
            _ = look.tick() => upkeep.notice().await,
            () = ready(()), if upkeep.is_tidying() => upkeep.tidy_on().await,
            _ = rest.tick() => {
                db.checkpoint_if_idle();
                Ok(())
            }
            _ = thin.tick() => upkeep.begin_to_tidy().await,
        };
        if let Err(fault) = done {
            tracing::warn!(%fault, "upkeep was put off");
        }
    }
}

/// The rounds that it makes, each when its caller says.
pub struct Upkeep {
    app: Arc<App>,
    outside: watch::Sender<u64>,
    /// The last number of the database that changes when another process writes.
    version: Option<i64>,
    /// The wall clock and the time that had passed when old things were looked for last.
    tidied: Option<(Timestamp, Duration)>,
    /// What is left of the round of tidying, the next last, and the moment by which it goes.
    chores: Vec<Chore>,
    moment: Timestamp,
}

/// A part of a round of tidying; as many steps as there is to do.
#[derive(Debug, Clone, Copy)]
enum Chore {
    /// Thins out a home's events from before a moment.
    Thin(HomeNo, Timestamp),
    /// Forgets old receipts.
    Receipts,
    /// Clears exports away.
    Exports,
}

impl Upkeep {
    pub(crate) fn new(app: Arc<App>, outside: watch::Sender<u64>) -> Upkeep {
        let moment = app.clock.now();
        Upkeep { app, outside, version: None, tidied: None, chores: Vec::new(), moment }
    }

    /// Looks whether another process wrote; then nothing that was read before is believed any more. The first look takes
    /// it for granted: somebody may have written between the start and this look.
    pub async fn notice(&mut self) -> Result<(), StoreError> {
        let version = self.app.db.write(|tx| tx.data_version()).await?;
        if self.version.replace(version) != Some(version) {
            self.app.keyring.forget();
            self.outside.send_modify(|count| *count += 1);
            self.app.notifier.notify_all();
        }
        Ok(())
    }

    /// Thins out old events and forgets old receipts and exports, all there are.
    pub async fn tidy(&mut self) -> Result<(), StoreError> {
        self.begin_to_tidy().await?;
        while self.is_tidying() {
            self.tidy_on().await?;
        }
        Ok(())
    }

    /// Whether a round of tidying has begun and not ended.
    pub fn is_tidying(&self) -> bool {
        !self.chores.is_empty()
    }

    /// Begins a round of tidying.
    pub async fn begin_to_tidy(&mut self) -> Result<(), StoreError> {
        let (app, now) = (&self.app, self.app.clock.now());
        let seen = (now, app.clock.passed());
        if self.tidied.replace(seen).is_some_and(|before| leaps(before, seen)) {
            tracing::warn!(%now, "the clock has leapt ahead; nothing is forgotten before it has stood for a round");
            return Ok(());
        }
        let mut chores = vec![Chore::Exports, Chore::Receipts];
        if let Some(kept) = app.config.retention {
            let before = now.plus_millis(-(kept.as_millis() as i64));
            let homes = app.db.read(homes::numbers).await?;
            chores.extend(homes.into_iter().rev().map(|number| Chore::Thin(number, before)));
        }
        (self.chores, self.moment) = (chores, now);
        Ok(())
    }

    /// Does one step of the round, which is never long. What breaks ends the round; the next begins with all of it.
    pub async fn tidy_on(&mut self) -> Result<(), StoreError> {
        let Some(chore) = self.chores.pop() else { return Ok(()) };
        match self.step(chore).await {
            Ok(true) => self.chores.push(chore),
            Ok(false) => (),
            Err(fault) => {
                self.chores.clear();
                return Err(fault);
            }
        }
        Ok(())
    }

    /// One step of a chore. True: there may be more of it.
    async fn step(&self, chore: Chore) -> Result<bool, StoreError> {
        let (app, now) = (&self.app, self.moment);
        match chore {
            Chore::Thin(number, before) => app.db.write(move |tx| retention::compact_step(tx, number, before)).await,
            Chore::Receipts => {
                let before = now.plus_millis(-(app.config.idempotency_ttl.as_millis() as i64));
                Ok(app.db.write(move |tx| receipts::delete_expired(tx, before, FORGET_STEP)).await? == FORGET_STEP)
            }
            Chore::Exports => app.exports.tidy(&app.db, now).await,
        }
    }
}

/// Whether the wall clock went further than time did.
fn leaps((then, before): (Timestamp, Duration), (now, passed): (Timestamp, Duration)) -> bool {
    let passed = passed.saturating_sub(before) + LEAP_MAX;
    now > then.plus_millis(i64::try_from(passed.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_runs_ahead_of_time_leaps() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        let seen = |wall, passed| (at(wall), Duration::from_secs(passed));
        assert!(!leaps(seen(0, 5), seen(60, 65)));
        assert!(!leaps(seen(0, 5), seen(40 * 86_400, 40 * 86_400 + 5)), "as much has passed");
        assert!(!leaps(seen(86_400, 5), seen(0, 65)), "back is no leap ahead");
        assert!(leaps(seen(0, 5), seen(40 * 86_400, 65)));
    }
}

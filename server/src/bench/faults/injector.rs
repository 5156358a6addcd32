//! Decides when each rule of a plan strikes, by count or by seeded randomness. Must not know what a fault does.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;

use super::plan::{FaultPlan, When};
use crate::store::Db;
use crate::store::keys;

/// The faults of a running service and the progress of each rule. Cheap to clone.
#[derive(Clone)]
pub struct FaultInjector {
    plan: Arc<FaultPlan>,
    progress: Arc<Mutex<Vec<Progress>>>,
}

/// The progress of one rule.
struct Progress {
    /// Matching requests (or frames) so far.
    seen: u64,
    injected: u64,
    window: Option<Window>,
    rng: Rng,
}

/// The current window of a burst.
#[derive(Clone, Copy)]
struct Window {
    began: Duration,
    strikes: u64,
}

impl FaultInjector {
    /// An injector for a plan. Each rule has its own random numbers, so a further rule does not change the others.
    pub fn new(plan: FaultPlan) -> FaultInjector {
        let rng = |nth: u64| Rng::with_seed(plan.seed.wrapping_add(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let start = |nth| Progress { seen: 0, injected: 0, window: None, rng: rng(nth) };
        let progress = (1..=plan.rules.len() as u64).map(start).collect();
        FaultInjector { plan: Arc::new(plan), progress: Arc::new(Mutex::new(progress)) }
    }

    /// The plan of this injector.
    pub fn plan(&self) -> &FaultPlan {
        &self.plan
    }

    /// Counts a matching request (or frame) and decides whether the rule strikes. With `is_taken` another rule strikes
    /// already: this rule does not strike, and a turn by count is kept for the next time.
    pub(super) fn strikes(&self, rule: usize, is_taken: bool, elapsed: Duration) -> bool {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(progress) = progress.get_mut(rule) else { return false };
        let (seen, mut window) = (progress.seen + 1, progress.window);
        let is_turn = match self.plan.rules[rule].when {
            When::Always => true,
            // Draws a number every time, so other rules do not change the sequence.
            When::Chance(chance) => progress.rng.f64() < chance,
            When::First(count) => seen <= count,
            When::Once(nth) => seen == nth,
            When::Every(nth) => seen.is_multiple_of(nth),
            When::Burst { count, within } => {
                let current = window.filter(|window| elapsed < window.began + within);
                let Window { began, strikes } = current.unwrap_or(Window { began: elapsed, strikes: 0 });
                window = Some(Window { began, strikes: strikes + 1 });
                strikes < count
            }
        };
        if is_turn && is_taken {
            return false;
        }
        (progress.seen, progress.window) = (seen, window);
        is_turn
    }

    /// Counts an injected fault and returns the new count of the rule.
    pub(super) fn count_injection(&self, rule: usize) -> u64 {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.get_mut(rule).map_or(0, |progress| {
            progress.injected += 1;
            progress.injected
        })
    }

    /// A random duration between two durations, from the random numbers of the rule.
    pub(super) fn random_between(&self, rule: usize, from: Duration, to: Duration) -> Duration {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let part = progress.get_mut(rule).map_or(0.0, |progress| progress.rng.f64());
        from + to.saturating_sub(from).mul_f64(part)
    }

    /// Logs every rule, and warns about each named key that its rule can never strike.
    pub async fn log_plan(&self, db: &Db) {
        for rule in &self.plan.rules {
            tracing::warn!(rule = rule.text, "this service injects faults: use this service for tests only");
            for word in &rule.keys {
                let wanted = word.clone();
                let Ok(found) = db.read(move |tx| keys::find_by_id_or_name(tx, &wanted)).await else { continue };
                let problem = if found.is_empty() {
                    "no key has this id or name: this part of the rule never strikes"
                } else if found.iter().all(|key| key.revoked_at.is_some()) {
                    "this key is revoked: the rule never strikes this key"
                } else if found.iter().all(|key| !self.plan.reaches(key.environment)) {
                    "this is a live key: the rule does not strike this key without --faults-on-live"
                } else {
                    continue;
                };
                tracing::warn!(rule = rule.text, key = word, "{problem}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::grammar;
    use super::*;

    /// Asks a rule once per second. Returns the turns at which the rule strikes; another rule takes the turns in `taken`.
    fn strikes_beside(text: &str, turns: u64, taken: &[u64]) -> Vec<u64> {
        let faults = FaultInjector::new(grammar::parse(text).unwrap());
        let strikes = |turn: &u64| faults.strikes(0, taken.contains(turn), Duration::from_secs(*turn));
        (1..=turns).filter(strikes).collect()
    }

    fn strikes(text: &str, turns: u64) -> Vec<u64> {
        strikes_beside(text, turns, &[])
    }

    #[test]
    fn rule_strikes_by_count_or_seeded_chance() {
        assert_eq!(strikes("503=always", 3), [1, 2, 3]);
        assert_eq!(strikes("503=first:2", 5), [1, 2]);
        assert_eq!(strikes("503=once:3", 9), [3]);
        assert_eq!(strikes("503=every:3", 9), [3, 6, 9]);
        assert_eq!(strikes("503=burst:2/10s", 25), [1, 2, 11, 12, 21, 22]);
        let some = strikes("503=20%; seed=7", 1000);
        assert!((150..250).contains(&some.len()), "{}", some.len());
        assert_eq!(some, strikes("503=20%; seed=7", 1000));
        assert_ne!(some, strikes("503=20%; seed=8", 1000));
    }

    #[test]
    fn turn_taken_by_another_rule_comes_again() {
        assert_eq!(strikes_beside("503=first:2", 9, &[1, 3]), [2, 4]);
        assert_eq!(strikes_beside("503=once:3", 9, &[1, 3, 4]), [5]);
        assert_eq!(strikes_beside("503=every:3", 9, &[3]), [4, 7]);
        assert_eq!(strikes_beside("503=burst:2/10s", 16, &[1, 13]), [2, 3, 12, 14]);
        assert_eq!(strikes_beside("503=always", 3, &[2]), [1, 3]);
        let some = strikes("503=20%; seed=7", 1000);
        let left: Vec<u64> = some.iter().copied().filter(|turn| turn % 2 == 1).collect();
        let taken: Vec<u64> = (1..=1000).filter(|turn| turn % 2 == 0).collect();
        assert_eq!(strikes_beside("503=20%; seed=7", 1000, &taken), left, "each rule has its own random numbers");
    }
}

//! Faults on order, for whoever tests a client: slow, lost and repeated requests, answers lost after the commit, bursts
//! of refusals, streams that are cut, go mute or repeat themselves. Nothing of it exists in a service that was not
//! started with `--faults`. Must not know what a request does.
//!
//! - [`grammar`]: how faults are written.
//! - [`Faults`]: whose turn it is, by count or seeded chance.
//! - [`around`]: what stands around each request.
//! - `frames`: what stands around each stream. `copied`: a body that is needed twice.

mod around;
mod copied;
mod frames;
pub mod grammar;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use fastrand::Rng;
use futures_util::future::BoxFuture;
use hearth_contract::key::Environment;
use serde_json::{Value, json};

use crate::app::App;
use crate::interceptor::{Handle, Interceptor};
use crate::store::keys::{self, Key};

pub use grammar::{Fault, Plan, Rule, When};

/// The faults of a running service, and how far each rule is.
#[derive(Clone)]
pub struct Faults {
    plan: Arc<Plan>,
    turns: Arc<Mutex<Vec<Turn>>>,
}

/// How far a rule is.
struct Turn {
    /// What it was looked at for: requests, or frames.
    seen: u64,
    injected: u64,
    /// The window of a burst: when it began, and how often the rule struck in it.
    window: Option<(Duration, u64)>,
    dice: Rng,
}

impl Faults {
    /// Faults as they were written. Each rule has its own chance, so that one more rule changes no other.
    pub fn new(plan: Plan) -> Faults {
        let dice = |nth: u64| Rng::with_seed(plan.seed.wrapping_add(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let turn = |nth| Turn { seen: 0, injected: 0, window: None, dice: dice(nth) };
        let turns = Mutex::new((1..=plan.rules.len() as u64).map(turn).collect());
        Faults { plan: Arc::new(plan), turns: Arc::new(turns) }
    }

    /// Puts the faults in front of all requests of a service. Only the first call for a service has an effect.
    pub fn install(self, app: &App) {
        let _ = app.interceptor.set(Box::new(self));
    }

    /// What was written.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether a rule strikes this time. Where another has struck before it (`is_taken`) it does not, and what was its
    /// turn by count is so again the next time.
    fn strikes(&self, rule: usize, is_taken: bool, passed: Duration) -> bool {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(turn) = turns.get_mut(rule) else { return false };
        let (seen, mut window) = (turn.seen + 1, turn.window);
        let is_turn = match self.plan.rules[rule].when {
            When::Always => true,
            // Thrown each time, so that what others do changes nothing of it.
            When::Chance(chance) => turn.dice.f64() < chance,
            When::First(count) => seen <= count,
            When::Once(nth) => seen == nth,
            When::Every(nth) => seen.is_multiple_of(nth),
            When::Burst { count, within } => {
                let (began, struck) = window.filter(|(began, _)| passed < *began + within).unwrap_or((passed, 0));
                window = Some((began, struck + 1));
                struck < count
            }
        };
        if is_turn && is_taken {
            return false;
        }
        (turn.seen, turn.window) = (seen, window);
        is_turn
    }

    /// Counts a fault that was injected; how often it has been then.
    fn injected(&self, rule: usize) -> u64 {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.get_mut(rule).map_or(0, |turn| {
            turn.injected += 1;
            turn.injected
        })
    }

    /// A time between two, by the rule's chance.
    fn between(&self, rule: usize, from: Duration, to: Duration) -> Duration {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let part = turns.get_mut(rule).map_or(0.0, |turn| turn.dice.f64());
        from + to.saturating_sub(from).mul_f64(part)
    }
}

impl Interceptor<App> for Faults {
    fn intercept<'a>(
        &'a self,
        app: &'a Arc<App>,
        request: Request<Body>,
        handle: Handle<'a>,
    ) -> BoxFuture<'a, Response<Body>> {
        Box::pin(around::around(self, app, request, handle))
    }

    fn describe(&self, key: &Key) -> Value {
        let plan = self.plan();
        let rules: Vec<&str> = plan.rules.iter().map(|rule| rule.text.as_str()).collect();
        json!({ "rules": rules, "seed": plan.seed, "reaches_this_key": plan.reaches_key(key) })
    }
}

/// Says in the log which faults are on order, and which of them wait for a key that there is none of.
pub async fn announce(faults: &Faults, app: &App) {
    for rule in &faults.plan.rules {
        tracing::warn!(rule = rule.text, "faults are injected on order: this service is for tests");
        for word in &rule.keys {
            let wanted = word.clone();
            let Ok(found) = app.db.read(move |tx| keys::by_id_or_name(tx, &wanted)).await else { continue };
            let problem = if found.is_empty() {
                "no key has this id or name: this part of the fault strikes nothing"
            } else if found.iter().all(|key| key.revoked_at.is_some()) {
                "this key is revoked: the fault never strikes it"
            } else if found.iter().all(|key| !faults.plan.reaches(key.environment)) {
                "this is a live key: the fault leaves it alone without --faults-on-live"
            } else {
                continue;
            };
            tracing::warn!(rule = rule.text, key = word, "{problem}");
        }
    }
}

impl Plan {
    /// Whether keys of an environment are touched.
    pub fn reaches(&self, environment: Environment) -> bool {
        environment == Environment::Test || self.on_live
    }

    /// Whether one of the faults is meant for a key.
    pub fn reaches_key(&self, key: &Key) -> bool {
        self.reaches(key.environment) && self.rules.iter().any(|rule| rule.is_for(key))
    }
}

impl Rule {
    /// Whether it is meant for a key, by id or name.
    fn is_for(&self, key: &Key) -> bool {
        self.keys.is_empty() || self.keys.iter().any(|word| *word == key.id || *word == key.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At which of so many looks a rule strikes, one look each second, when another has struck before it at some.
    fn struck_beside(text: &str, looks: u64, taken: &[u64]) -> Vec<u64> {
        let faults = Faults::new(grammar::read(text).unwrap());
        let strikes = |look: &u64| faults.strikes(0, taken.contains(look), Duration::from_secs(*look));
        (1..=looks).filter(strikes).collect()
    }

    fn struck(text: &str, looks: u64) -> Vec<u64> {
        struck_beside(text, looks, &[])
    }

    #[test]
    fn rules_strike_by_count_or_by_seeded_chance() {
        assert_eq!(struck("503=always", 3), [1, 2, 3]);
        assert_eq!(struck("503=first:2", 5), [1, 2]);
        assert_eq!(struck("503=once:3", 9), [3]);
        assert_eq!(struck("503=every:3", 9), [3, 6, 9]);
        assert_eq!(struck("503=burst:2/10s", 25), [1, 2, 11, 12, 21, 22]);
        let some = struck("503=20%; seed=7", 1000);
        assert!((150..250).contains(&some.len()), "{}", some.len());
        assert_eq!(some, struck("503=20%; seed=7", 1000));
        assert_ne!(some, struck("503=20%; seed=8", 1000));
    }
    #[test]
    fn a_turn_that_another_took_comes_again() {
        assert_eq!(struck_beside("503=first:2", 9, &[1, 3]), [2, 4]);
        assert_eq!(struck_beside("503=once:3", 9, &[1, 3, 4]), [5]);
        assert_eq!(struck_beside("503=every:3", 9, &[3]), [4, 7]);
        assert_eq!(struck_beside("503=burst:2/10s", 16, &[1, 13]), [2, 3, 12, 14]);
        assert_eq!(struck_beside("503=always", 3, &[2]), [1, 3]);
        let some = struck("503=20%; seed=7", 1000);
        let left: Vec<u64> = some.iter().copied().filter(|look| look % 2 == 1).collect();
        let taken: Vec<u64> = (1..=1000).filter(|look| look % 2 == 0).collect();
        assert_eq!(struck_beside("503=20%; seed=7", 1000, &taken), left, "chance is the rule's own");
    }
}

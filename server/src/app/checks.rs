//! The checks of the database that people start from the console: one at a time on the whole server, and the last result of each
//! team. In memory only. Must not know what a check does; the time is an argument.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_contract::formats::Timestamp;

use crate::operate::check::Report;

/// Teams whose last result is kept. Beyond this limit the oldest result is forgotten.
const RESULTS_MAX: usize = 50;

/// The result of a check that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The moment of the end.
    pub at: Timestamp,
    /// What was found. None: the database could not be read to the end; the log says why.
    pub report: Option<Report>,
}

/// The check that runs, and the results.
#[derive(Default)]
pub struct Checks(Mutex<State>);

#[derive(Default)]
struct State {
    /// The moment at which the running check began.
    running_since: Option<Timestamp>,
    finished: HashMap<String, Finished>,
}

impl Checks {
    /// Begins a check. False: another one runs.
    pub fn begin(&self, now: Timestamp) -> bool {
        let mut state = self.lock();
        let is_free = state.running_since.is_none();
        state.running_since = state.running_since.or(Some(now));
        is_free
    }

    /// Ends the running check, with its result for a team (id).
    pub fn end(&self, team: String, finished: Finished) {
        let mut state = self.lock();
        state.running_since = None;
        if state.finished.len() >= RESULTS_MAX && !state.finished.contains_key(&team) {
            let oldest = state.finished.iter().min_by_key(|(_, finished)| finished.at).map(|(team, _)| team.clone());
            oldest.map(|team| state.finished.remove(&team));
        }
        state.finished.insert(team, finished);
    }

    /// The moment at which the running check began. None: no check runs.
    pub fn running_since(&self) -> Option<Timestamp> {
        self.lock().running_since
    }

    /// The last result of a team (id). None: no check since the start of the server.
    pub fn last_of(&self, team: &str) -> Option<Finished> {
        self.lock().finished.get(team).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_check_runs_and_each_team_has_its_last_result() {
        let (checks, at) = (Checks::default(), Timestamp::from_millis);
        assert!(checks.begin(at(1)) && !checks.begin(at(2)));
        assert_eq!((checks.running_since(), checks.last_of("a")), (Some(at(1)), None));
        let finished =
            Finished { at: at(3), report: Some(Report { counts: None, faults: Vec::new(), notes: Vec::new() }) };
        checks.end("a".to_owned(), finished.clone());
        assert_eq!((checks.running_since(), checks.last_of("a"), checks.last_of("b")), (None, Some(finished), None));
        for nth in 0..RESULTS_MAX as i64 {
            checks.end(nth.to_string(), Finished { at: at(10 + nth), report: None });
        }
        assert!(checks.begin(at(99)) && checks.last_of("a").is_none() && checks.last_of("0").is_some());
    }
}

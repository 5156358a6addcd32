//! The latest requests, for the console: in memory only, without queries, bodies and secrets. Must not know routes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hearth_contract::formats::Timestamp;

/// Requests that are remembered of each team, and of all clients without a valid key together.
pub const REQUESTS_MAX: usize = 1000;
/// Teams whose requests are remembered. The team that was silent for the longest time is forgotten first.
const TEAMS_MAX: usize = 50;

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The moment of the response.
    pub at: Timestamp,
    /// The method, shortened as in the log.
    pub method: Box<str>,
    /// The path without the query, shortened as in the log.
    pub path: Box<str>,
    /// The HTTP status.
    pub status: u16,
    /// The time from the request to the head of the response.
    pub took: Duration,
    /// The id of the key. None: the request had no valid key.
    pub key: Option<Box<str>>,
    /// The id of the request.
    pub request_id: Box<str>,
}

/// A request in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// Rises with each request of the process; the order of the list.
    pub number: u64,
    /// The request.
    pub request: Request,
}

/// The latest requests of each team, the newest first. The team None holds the requests without a valid key.
#[derive(Default)]
pub struct RecentRequests(Mutex<State>);

#[derive(Default)]
struct State {
    last_number: u64,
    teams: HashMap<Option<Box<str>>, VecDeque<Remembered>>,
}

impl RecentRequests {
    /// Remembers a request. `team`: the id of the key's team.
    pub fn record(&self, team: Option<&str>, request: Request) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.last_number += 1;
        let number = state.last_number;
        let team: Option<Box<str>> = team.map(Box::from);
        if !state.teams.contains_key(&team) && state.teams.len() >= TEAMS_MAX {
            let newest = |requests: &VecDeque<Remembered>| requests.front().map(|request| request.number);
            let silent = state.teams.iter().min_by_key(|(_, requests)| newest(requests)).map(|(team, _)| team.clone());
            silent.map(|team| state.teams.remove(&team));
        }
        let requests = state.teams.entry(team).or_default();
        requests.truncate(REQUESTS_MAX - 1);
        requests.push_front(Remembered { number, request });
    }

    /// The newest requests of the given teams together, with numbers below `before`: at most `count`, and whether more
    /// follow. At most [`REQUESTS_MAX`] requests are shown over all pages.
    pub fn page(&self, teams: &[Option<&str>], before: u64, count: usize) -> (Vec<Remembered>, bool) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |team: &Option<&str>| state.teams.get(&team.map(Box::from));
        let mut found: Vec<&Remembered> = teams.iter().filter_map(known).flatten().collect();
        found.sort_by_key(|request| std::cmp::Reverse(request.number));
        found.truncate(REQUESTS_MAX);
        found.retain(|request| request.number < before);
        (found.iter().take(count).map(|request| (*request).clone()).collect(), found.len() > count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(status: u16) -> Request {
        let text = |text: &str| text.into();
        let at = Timestamp::from_millis(0);
        let (method, path, request_id) = (text("GET"), text("/v1/me"), text("r"));
        Request { at, method, path, status, took: Duration::ZERO, key: None, request_id }
    }

    #[test]
    fn each_team_keeps_its_newest_requests() {
        let recent = RecentRequests::default();
        recent.record(Some("a"), request(201));
        for _ in 0..REQUESTS_MAX + 5 {
            recent.record(None, request(401));
        }
        recent.record(Some("a"), request(204));
        let statuses =
            |(found, more): (Vec<Remembered>, bool)| (found.iter().map(|r| r.request.status).collect::<Vec<_>>(), more);
        assert_eq!(statuses(recent.page(&[Some("a")], u64::MAX, 10)), (vec![204, 201], false));
        assert_eq!(statuses(recent.page(&[Some("a"), None], u64::MAX, 2)), (vec![204, 401], true));
        assert_eq!(statuses(recent.page(&[Some("b")], u64::MAX, 2)), (vec![], false));
        let (mut shown, mut before) = (0, u64::MAX);
        loop {
            let (page, more) = recent.page(&[Some("a"), None], before, 300);
            shown += page.len();
            before = page.last().unwrap().number;
            if !more {
                break;
            }
        }
        assert_eq!(shown, REQUESTS_MAX);
    }

    #[test]
    fn the_most_silent_team_is_forgotten_first() {
        let recent = RecentRequests::default();
        for team in 0..TEAMS_MAX {
            recent.record(Some(&team.to_string()), request(200));
        }
        recent.record(Some("0"), request(200));
        recent.record(Some("new"), request(200));
        let is_known = |team| !recent.page(&[Some(team)], u64::MAX, 1).0.is_empty();
        assert!(is_known("0") && !is_known("1") && is_known("2") && is_known("new"));
    }
}

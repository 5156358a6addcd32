//! Questions to the server and their answers: those of clients, and those of machines over the network. Must not know
//! what is done with an answer.

use hearth_replica::sync::{HttpRequest, HttpResponse};

use super::World;
use crate::simulation::faults::Fault;
use crate::simulation::network::{Address, Happening};
use crate::simulation::server::{HOME, KEYS, NoAnswer};
use crate::simulation::{eye, people};

/// The key of clients of the API.
const CLIENT_KEY: usize = KEYS - 1;

/// A client asks again with the same key for less than the day that the server remembers it.
const KEY_MILLIS: i64 = 23 * 3_600_000;

impl World {
    /// A client of the API, on a network without faults.
    pub(super) fn client(&mut self, ask: &HttpRequest, again: bool) -> Result<(), String> {
        let until = self.server_time() + KEY_MILLIS;
        let mut first: Option<Vec<u8>> = None;
        for _ in 0..if again { 2 } else { 1 } {
            let answer = match self.call(CLIENT_KEY, ask)? {
                Ok(answer) => answer,
                Err(why) => {
                    self.say(format_args!("a client's {} {}: {why:?}", ask.method, ask.path));
                    self.network.at(self.now + 10_000, Happening::ClientAgain { ask: ask.clone(), until });
                    return Ok(());
                }
            };
            // Whoever asks again with the same key within a day is told what he was told, or would have been told.
            let key = ask.headers.iter().find(|(name, _)| *name == "idempotency-key").map(|(_, key)| key.as_str());
            let had_effect = key.is_some_and(|key| self.model.present().keys.keys().any(|(known, _)| known == key));
            if had_effect && matches!(answer.status, 404 | 409 | 412) && !self.has_slept {
                return Err(format!(
                    "{} {} had its effect, but is answered with {}",
                    ask.method, ask.path, answer.status
                ));
            }
            self.say(format_args!("a client's {} {}: {}", ask.method, ask.path, answer.status));
            let is_kept = (200..300).contains(&answer.status);
            match &first {
                Some(body) if is_kept && *body != answer.body => {
                    return Err(format!("{} {} is answered differently the second time", ask.method, ask.path));
                }
                _ => first = is_kept.then(|| answer.body.clone()),
            }
        }
        Ok(())
    }

    /// What the server takes for the time.
    pub(super) fn server_time(&self) -> i64 {
        self.now + self.server.wrong_by.get()
    }

    /// Asks the server; what it acknowledges must be there.
    fn call(&mut self, key: usize, ask: &HttpRequest) -> Result<Result<HttpResponse, NoAnswer>, String> {
        self.model.expect(ask);
        let called = self.server.call(key, ask);
        match &called {
            Ok(answer) => {
                self.model.look(&self.server.data, HOME)?;
                let head = self.model.present().head;
                for rev in people::acknowledged(answer) {
                    if rev > head {
                        return Err(format!(
                            "{} {} is acknowledged at {rev}, but the head is {head}",
                            ask.method, ask.path
                        ));
                    }
                }
            }
            Err(NoAnswer::Crashed(point)) => {
                self.say(format_args!("the server crashes: {point}"));
                self.server_gone();
            }
            Err(NoAnswer::Down) => {}
        }
        Ok(called)
    }

    pub(super) fn question(
        &mut self,
        from: Address,
        ticket: u64,
        ask: &HttpRequest,
        wanted: bool,
    ) -> Result<(), String> {
        self.say(format_args!("the server gets r{} {ticket}: {} {}", from.machine, ask.method, ask.path));
        self.requests += 1;
        let called = self.call(from.machine, ask)?;
        // A poll without a cursor reads from the beginning too; the one that only asks for the head reads nothing.
        if ask.path.starts_with("/v1/events?") && !ask.path.contains("cursor=") && !ask.path.ends_with("limit=1") {
            self.machines[from.machine].reads_up_to = self.model.present().head;
        }
        if !wanted {
            return Ok(());
        }
        let lost = self.network.strikes(Fault::LostAnswer);
        let unanswered = ask.method != "GET" && self.machines[from.machine].unanswered_until > self.now;
        let cut = self.network.strikes(Fault::CutAnswer);
        let back = self.network.latency();
        let answer = match called {
            Ok(_) if lost || unanswered => Err("the connection broke".to_owned()),
            Ok(answer) if cut => Ok(HttpResponse { body: Vec::new(), is_cut: true, ..answer }),
            Ok(answer) => Ok(self.network.replaced(answer)),
            Err(NoAnswer::Down) => Err("connection refused".to_owned()),
            Err(NoAnswer::Crashed(_)) => Err("the connection broke".to_owned()),
        };
        if self.machines[from.machine].is_cut_off(self.now) {
            return Ok(()); // it learns that nothing comes by waiting
        }
        self.network.at(self.now + back, Happening::Answer { to: from, ticket, answer });
        Ok(())
    }

    /// A write of what the server is known to have says on which revision it was made; and one that had no answer goes
    /// again with the same key.
    pub(super) fn check_ask(&mut self, machine: usize, ticket: u64, ask: &HttpRequest) -> Result<(), String> {
        let header = |name: &str| ask.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        let machine = &mut self.machines[machine];
        let what = (ask.path.clone(), ask.body.clone().unwrap_or_default());
        // A request that was fixed before goes as it is, whatever has become known since.
        let attempts = "SELECT coalesce(max(attempts), 0) FROM edits WHERE idempotency_key = ?1";
        let attempts = machine.stranger.prepare_cached(attempts).and_then(|mut found| {
            found.query_row([header("idempotency-key").unwrap_or_default()], |row| row.get::<_, i64>(0))
        });
        let is_new = attempts.map_err(|error| error.to_string())? == 1;
        if matches!(ask.method.as_str(), "PATCH" | "DELETE") && header("if-match").is_none() && is_new {
            let id = ask.path.rsplit('/').next().unwrap_or_default();
            let rows = eye::rows(&machine.stranger).map_err(|error| error.to_string())?;
            let known = rows.iter().find(|((kind, name), _)| name == id || kind.collection() == id);
            if let Some((_, row)) = known.filter(|(_, row)| row["rev"].is_i64()) {
                return Err(format!("{} {} is sent without the condition {}", ask.method, ask.path, row["rev"]));
            }
        }
        let Some(key) = header("idempotency-key") else { return Ok(()) };
        let request = (ask.method.clone(), ask.path.clone(), ask.body.clone(), header("if-match"));
        let first = machine.sent_under.entry(key.clone()).or_insert_with(|| request.clone());
        if *first != request {
            return Err(format!("key {key} goes again with another request: {request:?} instead of {first:?}"));
        }
        if !what.1.is_empty() {
            machine.sent_as.insert(ticket, (what.clone(), key.clone()));
            if machine.unaware {
                return Ok(()); // it may have to let go of this when it hears of it
            }
            let (known, attempts) = machine.unanswered.entry(what).or_insert_with(|| (key.clone(), 0));
            if *known != key {
                return Err(format!("{} {} goes again as {key}, but was sent as {known}", ask.method, ask.path));
            }
            *attempts += 1;
        }
        Ok(())
    }
}

//! Requests and responses: of clients of the API, and of machines through the network. Checks what the server
//! acknowledges and what a replica sends. Must not know how a response is used.

use hearth_contract::paths;
use hearth_replica::sync::{HttpRequest, HttpResponse};

use super::super::actors::client;
use super::super::environment_fault::EnvironmentFault;
use super::super::machine::{SentRequest, UnansweredWrite, WriteContent};
use super::super::network::route_not_found;
use super::super::observer;
use super::super::server::NoResponse;
use super::super::server_template::{HOME, KEY_COUNT};
use super::super::sim_event::{Address, SimEvent};
use super::state::World;

/// The number of the key that clients of the API use.
const CLIENT_KEY: usize = KEY_COUNT - 1;

/// How long a client retries a request with the same idempotency key, in milliseconds: less than the 24 hours for which
/// the server remembers the key.
const RETRY_MILLIS: i64 = 23 * 3_600_000;

/// How long after a failure a client retries, in milliseconds.
const RETRY_AFTER_MILLIS: i64 = 10_000;

/// The value of a header of a request.
fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

impl World {
    /// Sends a request of a client of the API, on a network without faults. `is_repeated`: sends the request twice.
    pub(super) fn send_as_client(&mut self, request: &HttpRequest, is_repeated: bool) -> Result<(), String> {
        let until = self.server_time() + RETRY_MILLIS;
        let mut first_body: Option<Vec<u8>> = None;
        for _ in 0..if is_repeated { 2 } else { 1 } {
            let response = match self.call_server(CLIENT_KEY, request)? {
                Ok(response) => response,
                Err(why) => {
                    self.log(format_args!("client: {} {}: {why:?}", request.method, request.path));
                    let retry = SimEvent::RetryClient { request: request.clone(), until };
                    self.network.schedule(self.now + RETRY_AFTER_MILLIS, retry);
                    return Ok(());
                }
            };
            // A retry with the same key must get the response of the first attempt, even if that response was lost.
            let key = header(request, "idempotency-key");
            let keys = &self.model.current().events_by_key;
            let had_effect = key.is_some_and(|key| keys.keys().any(|(known, _)| known == key));
            if had_effect && matches!(response.status, 404 | 409 | 412) && !self.keys_may_be_forgotten {
                return Err(format!(
                    "{} {} had its effect, but the response is {}",
                    request.method, request.path, response.status
                ));
            }
            self.log(format_args!("client: {} {}: {}", request.method, request.path, response.status));
            let is_stored = (200..300).contains(&response.status);
            match &first_body {
                Some(body) if is_stored && *body != response.body => {
                    return Err(format!("{} {} has another response the second time", request.method, request.path));
                }
                _ => first_body = is_stored.then(|| response.body.clone()),
            }
        }
        Ok(())
    }

    /// The time of the server's wall clock, in milliseconds since the start of the world.
    pub(super) fn server_time(&self) -> i64 {
        self.now + self.server.clock_error.get()
    }

    /// Calls the server, and checks that the database contains each write that the server acknowledges.
    fn call_server(&mut self, key: usize, request: &HttpRequest) -> Result<Result<HttpResponse, NoResponse>, String> {
        self.model.record_preconditions(request);
        let called = self.server.call(key, request);
        match &called {
            Ok(response) => {
                self.model.read_new_events(&self.server.data, HOME)?;
                let head = self.model.current().head;
                if let Some(rev) = client::acknowledged_revs(response).into_iter().find(|rev| *rev > head) {
                    return Err(format!(
                        "{} {} is acknowledged at {rev}, but the head is {head}",
                        request.method, request.path
                    ));
                }
            }
            Err(NoResponse::Crashed(point)) => self.handle_server_crash(Some(point)),
            Err(NoResponse::Down) => {}
        }
        Ok(called)
    }

    /// Serves a request that arrives from a machine. A response to a request that is not `wanted` is dropped.
    pub(super) fn serve_request(
        &mut self,
        from: Address,
        ticket: u64,
        request: &HttpRequest,
        wanted: bool,
    ) -> Result<(), String> {
        self.log(format_args!(
            "the server gets request {ticket} of r{}: {} {}",
            from.machine, request.method, request.path
        ));
        self.requests += 1;
        let called = match self.plan.lists_deletions || !request.path.starts_with(paths::DELETIONS) {
            true => self.call_server(from.machine, request)?,
            false => Ok(route_not_found()),
        };
        // A poll without cursor also reads the feed from its start. A poll with limit=1 only asks for the head.
        if request.path.starts_with("/v1/events?")
            && !request.path.contains("cursor=")
            && !request.path.ends_with("limit=1")
        {
            self.machines[from.machine].note_backfill(self.model.current().head);
        }
        if !wanted {
            return Ok(());
        }
        let is_lost = self.network.occurs(EnvironmentFault::LostResponse);
        let responses_lost_until = self.machines[from.machine].write_responses_lost_until;
        let is_lost = is_lost || (request.method != "GET" && responses_lost_until > self.now);
        let is_cut = self.network.occurs(EnvironmentFault::CutResponse);
        let latency = self.network.latency();
        let response = match called {
            Ok(_) if is_lost => Err("the connection broke".to_owned()),
            Ok(response) if is_cut => Ok(HttpResponse { body: Vec::new(), is_cut: true, ..response }),
            Ok(response) => Ok(self.network.pass_response(response)),
            Err(NoResponse::Down) => Err("connection refused".to_owned()),
            Err(NoResponse::Crashed(_)) => Err("the connection broke".to_owned()),
        };
        // A machine that is cut off learns about the lost response when its request times out.
        if !self.machines[from.machine].is_cut_off(self.now) {
            self.network.schedule(self.now + latency, SimEvent::ResponseArrives { to: from, ticket, response });
        }
        Ok(())
    }

    /// Checks a request that a replica sends: a write of a known record names its revision (`If-Match`), a key always
    /// has the same request, and a write without response is retried with the same key.
    pub(super) fn check_sent_request(
        &mut self,
        machine: usize,
        ticket: u64,
        request: &HttpRequest,
    ) -> Result<(), String> {
        self.check_precondition(machine, request)?;
        let Some(key) = header(request, "idempotency-key") else { return Ok(()) };
        let machine = &mut self.machines[machine];
        let is_next =
            "SELECT EXISTS (SELECT 1 FROM edits e JOIN _outbox n ON n.next_edit = e.id WHERE idempotency_key = ?1)";
        let database = &machine.script_connection;
        let is_next = database.prepare_cached(is_next).and_then(|mut s| s.query_row([key], |row| row.get(0)));
        if is_next.map_err(|error| error.to_string())? {
            return Err(format!("{} sends a next task, which the server makes itself", request.path));
        }
        let sent = SentRequest {
            method: request.method.clone(),
            path: request.path.clone(),
            body: request.body.clone(),
            if_match: header(request, "if-match").map(str::to_owned),
        };
        match machine.first_requests.get(key) {
            Some(first) if *first != sent => {
                return Err(format!("key {key} is sent with another request: {sent:?} instead of {first:?}"));
            }
            Some(_) => {}
            None => drop(machine.first_requests.insert(key.to_owned(), sent)),
        }
        let Some(body) = request.body.clone().filter(|body| !body.is_empty()) else { return Ok(()) };
        let write = WriteContent { path: request.path.clone(), body };
        machine.ticket_writes.insert(ticket, write.clone());
        if machine.is_unaware {
            return Ok(()); // the replica may have to give up this write when it learns about the restore
        }
        let new = || UnansweredWrite { key: key.to_owned(), attempts: 0 };
        let unanswered = machine.unanswered_writes.entry(write).or_insert_with(new);
        if unanswered.key != key {
            let known = &unanswered.key;
            return Err(format!(
                "{} {} is sent as {key}, but was sent as {known} before",
                request.method, request.path
            ));
        }
        unanswered.attempts += 1;
        Ok(())
    }

    /// Checks the first attempt of a write. A retry stays as the request was written down before the first attempt.
    fn check_precondition(&self, machine: usize, request: &HttpRequest) -> Result<(), String> {
        let database = &self.machines[machine].script_connection;
        let attempts = "SELECT coalesce(max(attempts), 0) FROM edits WHERE idempotency_key = ?1";
        let attempts = database.prepare_cached(attempts).and_then(|mut statement| {
            let key = header(request, "idempotency-key").unwrap_or_default();
            statement.query_row([key], |row| row.get::<_, i64>(0))
        });
        let is_first = attempts.map_err(|error| error.to_string())? == 1;
        let changes_record = matches!(request.method.as_str(), "PATCH" | "DELETE");
        if !changes_record || header(request, "if-match").is_some() || !is_first {
            return Ok(());
        }
        let id = request.path.rsplit('/').next().unwrap_or_default();
        let rows = observer::rows(database).map_err(|error| error.to_string())?;
        let row = rows.iter().find(|(record, _)| record.id == id || record.kind.collection() == id);
        match row.filter(|(_, row)| row["rev"].is_i64()) {
            Some((_, row)) => {
                Err(format!("{} {} is sent without the condition {}", request.method, request.path, row["rev"]))
            }
            None => Ok(()),
        }
    }
}

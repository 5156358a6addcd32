//! What each event causes. Must not know what caused the event.

use hearth_contract::schema::Kind;
use hearth_replica::sync::{DriverEvent, HttpResponse};
use serde_json::Value;

use super::super::machine::Machine;
use super::super::network::is_foreign_page;
use super::super::record::RecordKey;
use super::super::server::KeyAccess;
use super::super::sim_event::{Address, SimEvent};
use super::state::{DETECT_WRITES_MILLIS, World};

/// How often the server removes old events when it keeps them for ever, in milliseconds; also the longest interval.
const CLEAN_UP_MAX_MILLIS: i64 = 60_000;
/// The shortest interval between two rounds that remove old events, in milliseconds.
const CLEAN_UP_MIN_MILLIS: i64 = 250;

impl World {
    /// Handles an event. Err: an invariant is broken.
    pub(super) fn handle(&mut self, event: SimEvent) -> Result<(), String> {
        match event {
            SimEvent::Action(number) => self.act(number),
            SimEvent::RequestArrives { from, ticket, request, wanted } => {
                self.serve_request(from, ticket, &request, wanted)
            }
            SimEvent::ResponseArrives { to, ticket, response } => self.deliver_response(to, ticket, response),
            SimEvent::StreamRequested { from, stream, request } => self.serve_stream(from, stream, &request),
            SimEvent::StreamOpened { to, stream } => self.deliver_stream_head(to, stream),
            SimEvent::StreamRefused { to, stream, response } => self.deliver_stream_refusal(to, stream, response),
            SimEvent::StreamBytes { to, stream, bytes } => self.deliver_bytes(to, stream, &bytes),
            SimEvent::StreamEnded { to, stream, reason } => {
                if self.client_stream(to, stream).is_none() {
                    return Ok(());
                }
                self.log(format_args!("r{}: stream {stream} has ended: {reason}", to.machine));
                self.machines[to.machine].stream = None;
                self.notify_engine(to.machine, DriverEvent::StreamEnded { reason: reason.to_owned() })
            }
            SimEvent::Timer { to } => self.fire_timer(to),
            SimEvent::DatabaseChanged { machine } => match self.machines[machine].is_up() {
                true => self.notify_engine(machine, DriverEvent::DatabaseChanged),
                false => Ok(()),
            },
            SimEvent::CarryFiles { machine } => self.carry_files(machine),
            SimEvent::StartMachine { machine } => self.start_machine(machine),
            SimEvent::StartServer => self.start_server(),
            SimEvent::DetectWrites => {
                let crashed = self.server.detect_writes();
                self.handle_server_crash(crashed);
                Ok(())
            }
            SimEvent::CleanUp => {
                self.clean_up_server();
                let retention = self.server.retention().map(|retention| retention.as_millis() as i64);
                let interval = retention.unwrap_or(CLEAN_UP_MAX_MILLIS).clamp(CLEAN_UP_MIN_MILLIS, CLEAN_UP_MAX_MILLIS);
                self.network.schedule(self.now + interval, SimEvent::CleanUp);
                Ok(())
            }
            SimEvent::ResumeSync { machine } => {
                self.machines[machine].screen.resume().map_err(|error| error.to_string())?;
                self.log(format_args!("r{machine} person: resumes the sync"));
                self.network.schedule(self.now + 1, SimEvent::DatabaseChanged { machine });
                Ok(())
            }
            SimEvent::RetryClient { request, until } => match self.server_time() {
                // After `until`, the server may have forgotten the idempotency key. A client would read the feed then.
                time if time > until => Ok(()),
                _ => self.send_as_client(&request, false),
            },
            SimEvent::RestoreKey { key } => {
                self.log(format_args!("key {key} has all its rights again"));
                self.server.set_key_access(key, KeyAccess::Full)?;
                self.network.schedule(self.now + DETECT_WRITES_MILLIS, SimEvent::DetectWrites);
                Ok(())
            }
        }
    }

    fn deliver_response(
        &mut self,
        to: Address,
        ticket: u64,
        response: Result<HttpResponse, String>,
    ) -> Result<(), String> {
        let Some(machine) = self.running_machine(to) else { return Ok(()) };
        let Some(index) = machine.pending_tickets.iter().position(|pending| *pending == ticket) else { return Ok(()) };
        machine.pending_tickets.swap_remove(index);
        if machine.poll_tickets.remove(&ticket) && response.as_ref().is_ok_and(answers_poll) {
            machine.is_unaware = false;
        }
        let text = match &response {
            Ok(response) => {
                machine.ledger.received_deletes.extend(deletes_of(&response.body));
                settle_write(machine, ticket, response);
                response.status.to_string()
            }
            Err(why) => why.clone(),
        };
        self.log(format_args!("r{} gets response {ticket}: {text}", to.machine));
        self.notify_engine(to.machine, DriverEvent::Response { ticket, response })
    }

    fn deliver_stream_head(&mut self, to: Address, stream: u64) -> Result<(), String> {
        let Some(opened) = self.client_stream(to, stream) else { return Ok(()) };
        opened.is_open = true;
        let outdated = opened.is_outdated;
        self.machines[to.machine].is_unaware &= outdated;
        self.log(format_args!("r{}: stream {stream} is open", to.machine));
        self.notify_engine(to.machine, DriverEvent::StreamOpened)
    }

    fn deliver_stream_refusal(&mut self, to: Address, stream: u64, response: HttpResponse) -> Result<(), String> {
        let Some(refused) = self.client_stream(to, stream) else { return Ok(()) };
        let outdated = refused.is_outdated;
        self.machines[to.machine].is_unaware &= response.status != 410 || outdated;
        let text = String::from_utf8_lossy(&response.body);
        if text.contains(r#""reason":"retention""#) && self.machines[to.machine].is_backfilling() {
            return Err(format!("the backfill of replica {} has expired", to.machine));
        }
        self.log(format_args!("r{}: stream {stream} is refused: {}", to.machine, response.status));
        self.notify_engine(to.machine, DriverEvent::StreamRefused(response))
    }

    fn fire_timer(&mut self, to: Address) -> Result<(), String> {
        self.timers[to.machine] = None;
        let Some(machine) = self.running_machine(to) else { return Ok(()) };
        match machine.wake_at() {
            Some(at) if at <= self.now => self.notify_engine(to.machine, DriverEvent::Timer),
            _ => {
                self.set_timer(to.machine);
                Ok(())
            }
        }
    }
}

/// True when the response tells whether the cursor of the poll is still valid. A page of a proxy and a response without
/// body do not.
fn answers_poll(response: &HttpResponse) -> bool {
    !is_foreign_page(response) && (response.status == 410 || (response.status == 200 && !response.body.is_empty()))
}

/// Forgets the unanswered write of a ticket, when the response is final.
fn settle_write(machine: &mut Machine, ticket: u64, response: &HttpResponse) {
    let is_final = match response.status {
        _ if is_foreign_page(response) => false,
        200..300 => !response.body.is_empty() || response.etag.is_some(),
        status => status < 429 && status != 408,
    };
    if !is_final {
        return;
    }
    let Some(write) = machine.ticket_writes.remove(&ticket) else { return };
    // The server refused this attempt for its key. An earlier attempt may still have had its effect.
    let is_refused_for_key = matches!(response.status, 401 | 403);
    let unanswered = machine.unanswered_writes.get_mut(&write);
    match unanswered.filter(|unanswered| is_refused_for_key && unanswered.attempts > 1) {
        Some(unanswered) => unanswered.attempts -= 1,
        None => drop(machine.unanswered_writes.remove(&write)),
    }
}

/// The deletes in a page of the feed, with their event ids.
fn deletes_of(body: &[u8]) -> Vec<(i64, RecordKey)> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let deleted = body["data"].as_array().into_iter().flatten().filter(|event| event["type"] == "deleted");
    let delete = |event: &Value| {
        let kind = Kind::parse(event["resource_type"].as_str()?)?;
        let id = event["resource_id"].as_str()?.to_owned();
        Some((event["id"].as_i64()?, RecordKey { kind, id }))
    };
    deleted.filter_map(delete).collect()
}

//! The processes of machines and of the server: they start, carry out the commands of an engine, and end. Must not know
//! the plan.

use hearth_replica::sync::{Command, DriverEvent, HttpRequest};

use super::super::interruptions::Process;
use super::super::machine::{ClientStream, EngineResult, Machine};
use super::super::network::{RESPONSE_TIMEOUT_MILLIS, RequestFate};
use super::super::observer;
use super::super::sim_event::{Address, SimEvent};
use super::state::World;

impl World {
    /// Starts the process of a machine, unless a process runs or the machine joins later.
    pub(super) fn start_machine(&mut self, machine: usize) -> Result<(), String> {
        let is_last = machine + 1 == self.plan.machines;
        let joins_later = is_last && self.now < self.plan.last_machine_start && !self.is_settling;
        if self.machines[machine].is_up() || joins_later {
            return Ok(());
        }
        self.log(format_args!("r{machine} starts"));
        let result = self.machines[machine].start(self.now)?;
        self.handle_result(machine, result)
    }

    /// Passes an event to the engine of a machine, and carries out its commands.
    pub(super) fn notify_engine(&mut self, machine: usize, event: DriverEvent) -> Result<(), String> {
        let result = self.machines[machine].handle(self.now, event);
        self.handle_result(machine, result)
    }

    fn handle_result(&mut self, machine: usize, result: EngineResult) -> Result<(), String> {
        let done = match result {
            EngineResult::Done(done) => done,
            EngineResult::Crashed(point) => {
                self.log(format_args!("r{machine} crashes at: {point}"));
                let after = self.rng.between(1, 3000);
                self.restart_machine(machine, after);
                return Ok(());
            }
            EngineResult::DiskFull(why) => {
                self.log(format_args!("r{machine} ends with an error: {why}"));
                let after = self.rng.between(100, 5000);
                self.restart_machine(machine, after);
                return Ok(());
            }
            EngineResult::Failed(why) => return Err(format!("replica {machine} ends with an error: {why}")),
        };
        for command in done.commands {
            if self.interruptions.crashes_at(Process::Machine(machine), "replica before a command") {
                self.log(format_args!("r{machine} crashes before {command:?}"));
                self.machines[machine].kill();
                let after = self.rng.between(1, 3000);
                self.restart_machine(machine, after);
                return Ok(());
            }
            self.command(machine, command)?;
        }
        self.set_timer(machine);
        Ok(())
    }

    /// Carries out a command of an engine.
    fn command(&mut self, machine: usize, command: Command) -> Result<(), String> {
        match command {
            Command::Send { ticket, request } => self.send_request(machine, ticket, request)?,
            Command::OpenStream(request) => self.open_stream(machine, request)?,
            Command::CloseStream => self.close_stream(machine),
            Command::End(end_reason) => {
                self.log(format_args!("r{machine} ends: {end_reason:?}"));
                self.machines[machine].stop(self.now);
                self.machines[machine].end_reason = Some(end_reason);
                self.restart_machine(machine, 5000);
            }
        }
        Ok(())
    }

    fn send_request(&mut self, machine: usize, ticket: u64, request: HttpRequest) -> Result<(), String> {
        self.log(format_args!("r{machine} sends request {ticket}: {} {}", request.method, request.path));
        self.check_sent_request(machine, ticket, &request)?;
        if request.path.starts_with("/v1/events") && request.path.contains("cursor=") {
            self.machines[machine].poll_tickets.insert(ticket);
        }
        self.machines[machine].pending_tickets.push(ticket);
        let from = self.address_of(machine);
        let arrival = |response| SimEvent::ResponseArrives { to: from, ticket, response };
        let timeout = arrival(Err("it does not answer in time".to_owned()));
        self.network.schedule(self.now + RESPONSE_TIMEOUT_MILLIS, timeout);
        match self.request_fate(machine) {
            RequestFate::Lost(after) => {
                let lost = arrival(Err("the network is unreachable".to_owned()));
                self.network.schedule(self.now + after, lost);
            }
            RequestFate::Refused(after, response) => self.network.schedule(self.now + after, arrival(Ok(response))),
            RequestFate::Arrives(after, duplicate_after) => {
                if let Some(duplicate_after) = duplicate_after {
                    let duplicate = SimEvent::RequestArrives { from, ticket, request: request.clone(), wanted: false };
                    self.network.schedule(self.now + duplicate_after, duplicate);
                }
                let request = SimEvent::RequestArrives { from, ticket, request, wanted: true };
                self.network.schedule(self.now + after, request);
            }
        }
        Ok(())
    }

    fn open_stream(&mut self, machine: usize, request: HttpRequest) -> Result<(), String> {
        self.close_stream(machine);
        let state =
            observer::sync_state(&self.machines[machine].script_connection).map_err(|error| error.to_string())?;
        if state.is_complete && state.position > 0 && request.path.contains("cursor=start") {
            return Err(format!("replica {machine} is at {} and reads from the beginning", state.position));
        }
        self.streams_opened += 1;
        let stream = self.streams_opened;
        self.log(format_args!("r{machine} opens stream {stream}: {} {:?}", request.path, request.headers));
        let decoder = Default::default();
        let opened = ClientStream { number: stream, decoder, is_open: false, is_broken: false, is_outdated: false };
        self.machines[machine].stream = Some(opened);
        let from = self.address_of(machine);
        let (after, event) = match self.request_fate(machine) {
            RequestFate::Lost(after) => {
                (after, SimEvent::StreamEnded { to: from, stream, reason: "the network is unreachable" })
            }
            RequestFate::Refused(after, response) => (after, SimEvent::StreamRefused { to: from, stream, response }),
            RequestFate::Arrives(after, _) => (after, SimEvent::StreamRequested { from, stream, request }),
        };
        self.network.schedule(self.now + after, event);
        Ok(())
    }

    fn address_of(&self, machine: usize) -> Address {
        Address { machine, process: self.machines[machine].process }
    }

    /// What happens to a request that a machine sends now.
    fn request_fate(&mut self, machine: usize) -> RequestFate {
        let Machine { offline_until, foreign_network_until, .. } = self.machines[machine];
        match (offline_until > self.now, foreign_network_until > self.now) {
            (true, _) => RequestFate::Lost(5),
            (_, true) => self.network.foreign_network_fate(),
            _ => self.network.draw_request_fate(),
        }
    }

    /// Schedules the timer that an engine wants, unless an earlier timer is scheduled.
    pub(super) fn set_timer(&mut self, machine: usize) {
        let Some(at) = self.machines[machine].wake_at() else { return };
        if self.timers[machine].is_none_or(|scheduled| scheduled > at) {
            let at = at.max(self.now);
            self.timers[machine] = Some(at);
            self.network.schedule(at, SimEvent::Timer { to: self.address_of(machine) });
        }
    }

    /// Cleans up after the process of a machine has ended, and schedules the next start.
    pub(super) fn restart_machine(&mut self, machine: usize, after: i64) {
        if let Ok(step) = self.machines[machine].reconcile_step() {
            self.counters.count(format!("reconcile: interrupted at {step}"));
        }
        self.timers[machine] = None;
        self.server_streams.retain(|stream| stream.to.machine != machine);
        self.network.schedule(self.now + after, SimEvent::StartMachine { machine });
    }

    /// Starts the server, unless the server runs.
    pub(super) fn start_server(&mut self) -> Result<(), String> {
        if self.server.is_up() {
            return Ok(());
        }
        self.log(format_args!("the server starts"));
        self.server.start()
    }

    /// Restarts the server if it has crashed at a point.
    pub(super) fn handle_server_crash(&mut self, point: Option<&'static str>) {
        if let Some(point) = point {
            self.log(format_args!("the server crashes at: {point}"));
            self.restart_server();
        }
    }

    /// Ends the server's process with its streams, and schedules the next start.
    pub(super) fn restart_server(&mut self) {
        self.server.kill();
        for stream in std::mem::take(&mut self.server_streams) {
            // Some machines learn that the connection has ended. The others only receive no more bytes.
            if self.network.rng.chance(800) && stream.silent_in.is_none() {
                let at = stream.last_arrival.max(self.now + self.network.latency());
                let end =
                    SimEvent::StreamEnded { to: stream.to, stream: stream.number, reason: "the connection broke" };
                self.network.schedule(at, end);
            }
        }
        let after = self.network.rng.between(20, 6000);
        self.network.schedule(self.now + after, SimEvent::StartServer);
    }

    /// The machine of an address, if its process still runs.
    pub(super) fn running_machine(&mut self, to: Address) -> Option<&mut Machine> {
        Some(&mut self.machines[to.machine]).filter(|machine| machine.is_up() && machine.process == to.process)
    }
}

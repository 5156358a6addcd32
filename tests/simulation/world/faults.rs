//! The faults that the plan contains: of processes, disks, networks, clocks and keys; restores of the server and long
//! sleeps. Must not decide when a fault occurs.

use std::time::Duration;

use hearth_simulated::Interruption;

use super::super::action::Action;
use super::super::interruptions::Process;
use super::super::network::ServerStream;
use super::super::rng::SimRng;
use super::super::server::{KeyAccess, RestoreMethod};
use super::super::server_template::HOME;
use super::super::sim_event::{Address, SimEvent};
use super::state::{DETECT_WRITES_MILLIS, World};

/// The scopes that a key can lose at once.
const REMOVED_SCOPES: [&[&str]; 4] = [
    &["tasks:write", "rooms:write"],
    &["events:read"],
    &["inventory:read", "inventory:write"],
    &["property:read", "property:write"],
];

impl World {
    /// Causes a fault of the plan.
    pub(super) fn cause_fault(&mut self, action: Action, rng: &mut SimRng) -> Result<(), String> {
        match action {
            Action::Kill(machine) => {
                self.log(format_args!("r{machine} is killed"));
                self.machines[machine].kill();
                self.restart_machine(machine, rng.between(1, 4000));
            }
            Action::Restart(machine) => {
                self.log(format_args!("r{machine} stops"));
                self.machines[machine].stop(self.now);
                self.restart_machine(machine, rng.between(1, 4000));
            }
            Action::Crash(machine, after) => {
                self.interruptions.arm(Process::Machine(machine), after, Interruption::Crash);
            }
            Action::DiskFull(machine, after) => {
                self.interruptions.arm(Process::Machine(machine), after, Interruption::DiskFull);
            }
            Action::SecondProcess(machine) => {
                if self.machines[machine].is_up() && self.machines[machine].second_process_can_lock() {
                    return Err(format!("a second process could take the sync lock of replica {machine}"));
                }
            }
            Action::ServerKill => {
                self.log(format_args!("the server is killed"));
                self.restart_server();
            }
            Action::ServerCrash(after) => self.interruptions.arm(Process::Server, after, Interruption::Crash),
            Action::ServerDiskFull(after) => self.interruptions.arm(Process::Server, after, Interruption::DiskFull),
            Action::Backup => self.back_up()?,
            Action::Restore => self.restore(RestoreMethod::Command)?,
            Action::RestoreFiles => self.restore(RestoreMethod::Files)?,
            Action::CleanUp => self.clean_up_server(),
            Action::KeyRevoked(key, time) => {
                self.log(format_args!("key {key} is revoked for {time} ms"));
                self.reduce_key(key, KeyAccess::Revoked, time)?;
            }
            Action::ScopesRemoved(key, time) => {
                let scopes = rng.pick(&REMOVED_SCOPES);
                self.log(format_args!("key {key} loses {scopes:?} for {time} ms"));
                self.reduce_key(key, KeyAccess::Without(scopes), time)?;
            }
            Action::ClockStep(machine, step) => self.step_clock(machine, step),
            Action::LongSleep(hours) => self.sleep(hours, rng),
            Action::Offline(..)
            | Action::ForeignNetwork(..)
            | Action::BlockStreams(..)
            | Action::LoseWriteResponses(..) => self.cause_network_fault(action),
            other => return Err(format!("{other:?} is not a fault")),
        }
        Ok(())
    }

    /// Causes a fault of the network of one machine.
    fn cause_network_fault(&mut self, action: Action) {
        match action {
            Action::Offline(machine, time) => {
                self.log(format_args!("r{machine} is without network for {time} ms"));
                self.machines[machine].offline_until = self.now + time;
                self.streams_to(machine).for_each(|stream| stream.silent_in = Some(0));
            }
            Action::ForeignNetwork(machine, time) => {
                self.log(format_args!("r{machine} is in a network with a sign-in page for {time} ms"));
                self.machines[machine].foreign_network_until = self.now + time;
                // Open connections do not work in the other network.
                self.streams_to(machine).for_each(|stream| stream.silent_in = Some(0));
            }
            Action::BlockStreams(machine, time) => {
                self.log(format_args!("streams to r{machine} are blocked for {time} ms"));
                self.machines[machine].streams_blocked_until = self.now + time;
                self.streams_to(machine).for_each(|stream| stream.cut_in = Some(0));
            }
            Action::LoseWriteResponses(machine, time) => {
                self.log(format_args!("responses to writes of r{machine} are lost for {time} ms"));
                self.machines[machine].write_responses_lost_until = self.now + time;
            }
            _ => {}
        }
    }

    fn streams_to(&mut self, machine: usize) -> impl Iterator<Item = &mut ServerStream> {
        self.server_streams.iter_mut().filter(move |stream| stream.to.machine == machine)
    }

    fn back_up(&mut self) -> Result<(), String> {
        self.server.back_up(&self.backup_file)?;
        self.has_backup = true;
        let head = self.model.current().head;
        self.log(format_args!("a backup is made at {head}"));
        Ok(())
    }

    /// Restores the last backup, if there is one.
    fn restore(&mut self, method: RestoreMethod) -> Result<(), String> {
        if !self.has_backup {
            return Ok(());
        }
        self.restart_server();
        self.model.close();
        self.server.restore(&self.backup_file, method, self.rng.next_u64() as i64)?;
        self.model.start_history(&self.server.data, HOME)?;
        for machine in &mut self.machines {
            machine.is_unaware = true;
            // A request that requires a revision of the discarded history must not be sent again unchanged.
            machine.unanswered_writes.clear();
        }
        self.mark_outdated_responses();
        let head = self.model.current().head;
        let way = if method == RestoreMethod::Files { "by copying the file" } else { "by the restore command" };
        self.log(format_args!("the server is restored to {head} {way}"));
        Ok(())
    }

    /// Marks the responses in transit. The server sent them before the restore, and they cannot tell about the restore.
    fn mark_outdated_responses(&mut self) {
        let World { network, machines, .. } = self;
        for event in network.future_events() {
            match event {
                SimEvent::ResponseArrives { to, ticket, response: Ok(_) } => {
                    machines[to.machine].poll_tickets.remove(ticket);
                }
                SimEvent::StreamOpened { to, stream } | SimEvent::StreamRefused { to, stream, .. } => {
                    let current = machines[to.machine].stream.as_mut();
                    if let Some(current) = current.filter(|current| current.number == *stream) {
                        current.is_outdated = true;
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn clean_up_server(&mut self) {
        let crashed = self.server.clean_up();
        self.handle_server_crash(crashed);
    }

    /// Reduces the rights of a key for a time, in milliseconds.
    fn reduce_key(&mut self, key: usize, access: KeyAccess<'_>, time: i64) -> Result<(), String> {
        self.server.set_key_access(key, access)?;
        self.network.schedule(self.now + DETECT_WRITES_MILLIS, SimEvent::DetectWrites);
        self.network.schedule(self.now + time, SimEvent::RestoreKey { key });
        Ok(())
    }

    fn step_clock(&mut self, machine: Option<usize>, step: i64) {
        match machine {
            Some(machine) => {
                self.log(format_args!("the clock of r{machine} steps by {step} ms"));
                self.machines[machine].clock_error += step;
            }
            None => {
                self.log(format_args!("the clock of the server steps by {step} ms"));
                self.keys_may_be_forgotten = true;
                self.server.clock_error.set(self.server.clock_error.get() + step);
            }
        }
    }

    /// All machines sleep. Messages in transit are lost, and some steady clocks do not count the time.
    fn sleep(&mut self, hours: i64, rng: &mut SimRng) {
        let time = hours * 3_600_000;
        self.log(format_args!("all machines sleep for {hours} hours"));
        self.keys_may_be_forgotten = true;
        self.network.remove_events(SimEvent::is_message_or_timer);
        self.network.postpone_all(time);
        self.server_streams.clear();
        self.now += time;
        self.world_time.set(self.now);
        self.server.advance_timers(Duration::from_millis(time.unsigned_abs()));
        for machine in 0..self.machines.len() {
            self.wake_machine(machine, time, rng);
        }
    }

    /// Ends the connections of a machine after a sleep of `time` milliseconds, and sets its timer again.
    fn wake_machine(&mut self, machine: usize, time: i64, rng: &mut SimRng) {
        let is_suspended = rng.chance(500);
        let state = &mut self.machines[machine];
        if is_suspended {
            state.suspended += time;
        }
        let to = Address { machine, process: state.process };
        for ticket in state.pending_tickets.clone() {
            let response = Err("the connection broke".to_owned());
            let after = rng.between(1, 500);
            self.network.schedule(self.now + after, SimEvent::ResponseArrives { to, ticket, response });
        }
        if let Some(stream) = self.machines[machine].stream.as_ref().map(|stream| stream.number) {
            let end = SimEvent::StreamEnded { to, stream, reason: "the connection broke" };
            self.network.schedule(self.now + rng.between(1, 500), end);
        }
        self.timers[machine] = None;
        self.set_timer(machine);
    }
}

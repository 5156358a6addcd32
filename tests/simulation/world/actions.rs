//! The actions of the plan: actors write, faults of processes, clocks and keys occur, the server is restored, time passes.
//! Must not decide when an action happens.

use std::time::Duration;

use hearth_simulated::Interruption;

use super::super::action::{Action, PlannedAction};
use super::super::actors::{client, person, script};
use super::super::interruptions::Process;
use super::super::network::ServerStream;
use super::super::record::MARK;
use super::super::rng::SimRng;
use super::super::server::{HOME, KeyAccess, RestoreMethod};
use super::super::sim_event::{Address, SimEvent};
use super::state::{DETECT_WRITES_MILLIS, World};

impl World {
    /// Carries out the action with this index in the plan.
    pub(super) fn act(&mut self, number: usize) -> Result<(), String> {
        self.actions_left -= 1;
        let PlannedAction { action, seed, .. } = self.plan.actions[number];
        let (mut rng, mark) = (SimRng::new(seed), format!("{MARK}{number}"));
        let name = format!("{action:?}");
        self.counters.count(format!("act: {}", name.split('(').next().unwrap_or_default()));
        match action {
            Action::Person(_)
            | Action::Script(_)
            | Action::Import(_)
            | Action::WatchTriggers(..)
            | Action::FirstTask(..)
            | Action::InvalidEdit(_)
            | Action::Decide(_)
            | Action::AnswerReconcile(_)
            | Action::Pause(..) => self.act_on_replica(action, &mut rng, &mark),
            Action::Client | Action::ClientDeletesNewest | Action::ClientCreatesTasks | Action::ClientDeletesTasks => {
                self.act_as_client(action, &mut rng, &mark)
            }
            Action::Kill(_)
            | Action::Restart(_)
            | Action::Crash(..)
            | Action::DiskFull(..)
            | Action::SecondProcess(_)
            | Action::ServerKill
            | Action::ServerCrash(_)
            | Action::ServerDiskFull(_) => self.act_on_process(action, &mut rng),
            Action::Offline(..)
            | Action::ForeignNetwork(..)
            | Action::BlockStreams(..)
            | Action::LoseWriteResponses(..) => {
                self.act_on_network(action);
                Ok(())
            }
            Action::Backup => self.back_up(),
            Action::Restore => self.restore(RestoreMethod::Command),
            Action::RestoreFiles => self.restore(RestoreMethod::Files),
            Action::CleanUp => {
                self.clean_up_server();
                Ok(())
            }
            Action::KeyRevoked(key, time) => {
                self.log(format_args!("key {key} is revoked for {time} ms"));
                self.reduce_key(key, KeyAccess::Revoked, time)
            }
            Action::ScopesRemoved(key, time) => {
                let scopes: &[&str] = rng.pick(&[
                    &["tasks:write", "rooms:write"][..],
                    &["events:read"],
                    &["inventory:read", "inventory:write"],
                    &["property:read", "property:write"],
                ]);
                self.log(format_args!("key {key} loses {scopes:?} for {time} ms"));
                self.reduce_key(key, KeyAccess::Without(scopes), time)
            }
            Action::ClockStep(machine, step) => {
                self.step_clock(machine, step);
                Ok(())
            }
            Action::LongSleep(hours) => {
                self.sleep(hours, &mut rng);
                Ok(())
            }
        }
    }

    /// A person or a script writes to the database of a replica.
    fn act_on_replica(&mut self, action: Action, rng: &mut SimRng, mark: &str) -> Result<(), String> {
        let (machine, actor, text) = match action {
            Action::Person(machine) => (machine, "person", person::edit_record(&self.machines[machine], rng, mark)?),
            Action::Script(machine) => (machine, "script", script::run_statement(&self.machines[machine], rng, mark)?),
            Action::Import(machine) => (machine, "script", script::import_tasks(&self.machines[machine], rng, mark)?),
            Action::WatchTriggers(machine, begin) => {
                (machine, "script", script::set_watch_triggers(&mut self.machines[machine], begin)?)
            }
            Action::FirstTask(machine, delete) => {
                (machine, "script", script::write_first_task(&self.machines[machine], mark, delete)?)
            }
            Action::InvalidEdit(machine) => {
                (machine, "script", script::write_invalid_edit(&self.machines[machine], rng, mark)?)
            }
            Action::Decide(machine) => {
                let text = person::decide(&mut self.machines[machine], &mut self.model, rng)?;
                self.machines[machine].unanswered_writes.clear();
                (machine, "person", text)
            }
            Action::AnswerReconcile(machine) => {
                let willing = rng.chance(700);
                (machine, "person", person::answer_reconcile(&mut self.machines[machine], willing)?)
            }
            Action::Pause(machine, time) => {
                self.machines[machine].screen.pause().map_err(|error| error.to_string())?;
                self.report_write(machine, "person", "pauses", rng);
                self.network.schedule(self.now + time, SimEvent::ResumeSync { machine });
                return Ok(());
            }
            other => return Err(format!("{other:?} does not write to a replica")),
        };
        self.report_write(machine, actor, &text, rng);
        Ok(())
    }

    /// Logs a write to a replica, and notifies its syncing process.
    fn report_write(&mut self, machine: usize, actor: &str, text: &str, rng: &mut SimRng) {
        self.log(format_args!("r{machine} {actor}: {text}"));
        // The notification arrives at once, or the process notices the write with its check once a second.
        let after = if rng.chance(800) { 1 } else { rng.between(2, 1000) };
        self.network.schedule(self.now + after, SimEvent::DatabaseChanged { machine });
    }

    fn act_as_client(&mut self, action: Action, rng: &mut SimRng, mark: &str) -> Result<(), String> {
        match action {
            Action::Client => {
                let client::ClientWrite { ask, is_repeated } = client::random_write(self.model.current(), rng, mark);
                self.send_as_client(&ask, is_repeated)
            }
            Action::ClientDeletesNewest => match client::delete_newest(self.model.current(), rng) {
                Some(ask) => self.send_as_client(&ask, false),
                None => Ok(()),
            },
            Action::ClientCreatesTasks => {
                for half in 0..2 {
                    self.send_as_client(&client::create_tasks(rng, &format!("{mark}-{half}")), false)?;
                }
                Ok(())
            }
            Action::ClientDeletesTasks => {
                for ask in client::delete_all_tasks(self.model.current(), rng) {
                    self.send_as_client(&ask, false)?;
                }
                Ok(())
            }
            other => Err(format!("{other:?} is not an action of a client")),
        }
    }

    /// Ends a process, or plans its end.
    fn act_on_process(&mut self, action: Action, rng: &mut SimRng) -> Result<(), String> {
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
                    return Err(format!("a second process got the right to sync replica {machine}"));
                }
            }
            Action::ServerKill => {
                self.log(format_args!("the server is killed"));
                self.restart_server();
            }
            Action::ServerCrash(after) => self.interruptions.arm(Process::Server, after, Interruption::Crash),
            Action::ServerDiskFull(after) => self.interruptions.arm(Process::Server, after, Interruption::DiskFull),
            other => return Err(format!("{other:?} is not an action on a process")),
        }
        Ok(())
    }

    fn act_on_network(&mut self, action: Action) {
        match action {
            Action::Offline(machine, time) => {
                self.log(format_args!("r{machine} is without network for {time} ms"));
                self.machines[machine].offline_until = self.now + time;
                self.streams_to(machine).for_each(|stream| stream.silent_in = Some(0));
            }
            Action::ForeignNetwork(machine, time) => {
                self.log(format_args!("a stranger answers r{machine} for {time} ms"));
                self.machines[machine].foreign_network_until = self.now + time;
                // Open connections do not work in the other network.
                self.streams_to(machine).for_each(|stream| stream.silent_in = Some(0));
            }
            Action::BlockStreams(machine, time) => {
                self.log(format_args!("no stream has a way to r{machine} for {time} ms"));
                self.machines[machine].streams_blocked_until = self.now + time;
                self.streams_to(machine).for_each(|stream| stream.cut_in = Some(0));
            }
            Action::LoseWriteResponses(machine, time) => {
                self.log(format_args!("r{machine} hears no answers to its writes for {time} ms"));
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
        self.log(format_args!("a copy is made at {head}"));
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
        let way = if method == RestoreMethod::Files { "by its files" } else { "by the command" };
        self.log(format_args!("the server is put back to {head} {way}"));
        Ok(())
    }

    /// Marks the responses in transit. The server sent them before the restore, and they cannot tell about the restore.
    fn mark_outdated_responses(&mut self) {
        let World { network, machines, .. } = self;
        for event in network.future_events() {
            match event {
                SimEvent::ResponseArrives { to, ticket, answer: Ok(_) } => {
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
        self.log(format_args!("the clock of {machine:?} steps by {step} ms"));
        match machine {
            Some(machine) => self.machines[machine].clock_error += step,
            None => {
                self.keys_may_be_forgotten = true;
                self.server.clock_error.set(self.server.clock_error.get() + step);
            }
        }
    }

    /// All machines sleep. Messages in transit are lost, and some steady clocks do not count the time.
    fn sleep(&mut self, hours: i64, rng: &mut SimRng) {
        let time = hours * 3_600_000;
        self.log(format_args!("{hours} hours pass"));
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
            let answer = Err("the connection broke".to_owned());
            let after = rng.between(1, 500);
            self.network.schedule(self.now + after, SimEvent::ResponseArrives { to, ticket, answer });
        }
        if let Some(stream) = self.machines[machine].stream.as_ref().map(|stream| stream.number) {
            let end = SimEvent::StreamEnded { to, stream, reason: "the connection broke" };
            self.network.schedule(self.now + rng.between(1, 500), end);
        }
        self.timers[machine] = None;
        self.set_timer(machine);
    }
}

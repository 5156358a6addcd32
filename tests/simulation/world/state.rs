//! The world and its loop: take the next event, handle the event, check the invariants. Must not know what an event
//! causes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::action::Action;
use super::super::counters::{Counters, Counts};
use super::super::environment_fault::FaultRates;
use super::super::interruptions::Interruptions;
use super::super::invariants;
use super::super::machine::Machine;
use super::super::model::Model;
use super::super::network::{Network, ServerStream};
use super::super::plan::Plan;
use super::super::rng::SimRng;
use super::super::server::{KeyAccess, SharedMillis, SimServer};
use super::super::server_template::HOME;
use super::super::sim_event::SimEvent;
use super::super::trace::Trace;

/// The most events in one run. More events mean an endless loop.
const STEPS_MAX: u64 = 60_000;
/// How long after a write of another process the server detects the write, in milliseconds.
pub(super) const DETECT_WRITES_MILLIS: i64 = 400;

/// A world.
pub struct World {
    pub(in super::super) plan: Plan,
    /// The time of the world, in milliseconds since its start.
    pub(in super::super) now: i64,
    pub(in super::super) steps: u64,
    /// The number of requests that reached the server, streams included.
    pub(in super::super) requests: u64,
    pub(in super::super) server: SimServer,
    pub(in super::super) machines: Vec<Machine>,
    pub(in super::super) network: Network,
    pub(in super::super) model: Model,
    pub(in super::super) trace: Trace,
    pub(in super::super) interruptions: Interruptions,
    pub(super) counters: Counters,
    /// True after the faults have stopped.
    pub(super) is_settling: bool,
    pub(super) server_streams: Vec<ServerStream>,
    /// The number of streams opened so far.
    pub(super) streams_opened: u64,
    /// The clock of the server; always equal to `now`.
    pub(super) world_time: SharedMillis,
    pub(super) backup_file: PathBuf,
    pub(super) has_backup: bool,
    pub(super) rng: SimRng,
    /// True after a long sleep or a step of the server's clock: the server may have forgotten idempotency keys.
    pub(super) keys_may_be_forgotten: bool,
    /// For each machine: the time of its scheduled timer event.
    pub(super) timers: Vec<Option<i64>>,
    pub(super) actions_left: usize,
}

impl World {
    /// The world of a plan, with its files in the empty directory `dir`. Installs the hooks of this thread.
    pub fn new(plan: Plan, dir: &Path, templates: &Path, trace: bool) -> Result<World, String> {
        let counters = Counters::default();
        let interruptions = Interruptions::install(counters.clone());
        if let Some(point) = plan.crash_at {
            interruptions.crash_at(point);
        }
        let mut rng = SimRng::new(plan.seed ^ 0x5eed);
        let mut random_bytes = rng.fork(1);
        hearth_simulated::set_random_hook(Some(Box::new(move |bytes| random_bytes.fill(bytes))));
        let world_time = SharedMillis::default();
        let server = create_server(&plan, dir, templates, &world_time, &interruptions)?;
        let machines = create_machines(&plan, dir, templates, &mut rng, &interruptions)?;
        let mut network = Network::new(rng.fork(2), plan.fault_rates.clone(), counters.clone());
        schedule_plan(&plan, &mut network, &mut rng);
        let mut model = Model::default();
        model.start_history(&server.data, HOME)?;
        let mut world = World {
            now: 0,
            steps: 0,
            requests: 0,
            server,
            timers: vec![None; machines.len()],
            machines,
            network,
            model,
            trace: Trace::new(trace),
            counters,
            interruptions,
            is_settling: false,
            server_streams: Vec::new(),
            streams_opened: 0,
            world_time,
            backup_file: dir.join("copy.db"),
            has_backup: false,
            rng,
            keys_may_be_forgotten: false,
            actions_left: plan.actions.len(),
            plan,
        };
        if world.plan.attaches_files() {
            world.schedule_file_transfer();
        }
        Ok(world)
    }

    /// Runs until the last action of the plan has happened.
    pub fn run_plan(&mut self) -> Result<(), String> {
        while self.actions_left > 0 {
            self.step()?;
        }
        Ok(())
    }

    /// Handles the next event and checks the invariants. Err: an invariant is broken.
    pub fn step(&mut self) -> Result<(), String> {
        let Some((time, event)) = self.network.pop_event() else { return Err("no event is scheduled".to_owned()) };
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(format!("not finished after {STEPS_MAX} steps"));
        }
        let passed = (time - self.now).max(0);
        self.now += passed;
        self.world_time.set(self.now);
        if passed > 0 {
            self.server.advance_timers(Duration::from_millis(passed.unsigned_abs()));
        }
        // While the world settles, people also act between the steps.
        let can_change = |number: &usize| self.is_settling || event.can_change(*number);
        let changed: Vec<usize> = (0..self.machines.len()).filter(can_change).collect();
        self.handle(event)?;
        if self.interruptions.found_endless_loop() {
            return Err("a process runs in an endless loop".to_owned());
        }
        self.check(&changed)?;
        self.read_server_streams()
    }

    /// Reads what the server has committed, and checks the replicas that may have changed.
    fn check(&mut self, changed: &[usize]) -> Result<(), String> {
        let World { model, server, machines, .. } = self;
        model.read_new_events(&server.data, HOME)?;
        for number in changed {
            let machine = &mut machines[*number];
            invariants::check(&machine.script_connection, &mut machine.ledger, model, machine.is_unaware)
                .map_err(|why| format!("replica {number}: {why}"))?;
        }
        Ok(())
    }

    /// Stops all faults, restores the keys, and starts all processes.
    pub(in super::super) fn stop_faults(&mut self) -> Result<(), String> {
        self.log(format_args!("all faults stop"));
        (self.is_settling, self.plan.backfill_outage) = (true, 0);
        self.network.fault_rates = FaultRates::none();
        if self.plan.crash_at.is_none() {
            self.interruptions.disarm();
        }
        for stream in &mut self.server_streams {
            (stream.cut_in, stream.silent_in) = (None, if stream.silent_in.is_some() { Some(0) } else { None });
        }
        for machine in 0..self.machines.len() {
            let state = &mut self.machines[machine];
            (state.offline_until, state.foreign_network_until, state.streams_blocked_until) = (0, 0, 0);
            self.server.set_key_access(machine, KeyAccess::Full)?;
            self.network.schedule(self.now, SimEvent::StartMachine { machine });
            self.network.schedule(self.now, SimEvent::ResumeSync { machine });
        }
        self.network.schedule(self.now, SimEvent::StartServer);
        self.network.schedule(self.now + DETECT_WRITES_MILLIS, SimEvent::DetectWrites);
        Ok(())
    }

    /// The counters, with the edits and log lines of all replicas.
    pub(in super::super) fn final_counts(&self) -> Counts {
        for machine in &self.machines {
            // An unreadable database is counted as empty; the invariants report the error.
            let _ = self.counters.count_replica_tables(&machine.script_connection);
        }
        self.counters.counts()
    }

    /// Adds a line to the trace.
    pub(in super::super) fn log(&mut self, text: std::fmt::Arguments<'_>) {
        self.trace.log(self.now, text);
    }
}

fn create_server(
    plan: &Plan,
    dir: &Path,
    templates: &Path,
    world_time: &SharedMillis,
    interruptions: &Interruptions,
) -> Result<SimServer, String> {
    let failed = |error: std::io::Error| error.to_string();
    let data = dir.join("server");
    std::fs::create_dir_all(&data).map_err(failed)?;
    std::fs::copy(templates.join("server/hearth.db"), data.join("hearth.db")).map_err(failed)?;
    Ok(SimServer::new(data, world_time.clone(), interruptions.clone(), |config| {
        config.retention = plan.retention;
        config.rate_limits = plan.rate_limits;
    }))
}

fn create_machines(
    plan: &Plan,
    dir: &Path,
    templates: &Path,
    rng: &mut SimRng,
    interruptions: &Interruptions,
) -> Result<Vec<Machine>, String> {
    let changes_key = |action: &Action| matches!(action, Action::KeyRevoked(..) | Action::ScopesRemoved(..));
    let key_can_be_refused = plan.actions.iter().any(|planned| changes_key(&planned.action));
    let mut machines = Vec::new();
    for number in 0..plan.machines {
        let db = dir.join(format!("replica-{number}.db"));
        std::fs::copy(templates.join("replica.db"), &db).map_err(|error| error.to_string())?;
        let mut machine = Machine::new(number, db, rng.fork(100 + number as u64), interruptions.clone())?;
        machine.ledger.key_can_be_refused = key_can_be_refused;
        machines.push(machine);
    }
    Ok(machines)
}

/// Schedules the actions of the plan and the first start of each process.
fn schedule_plan(plan: &Plan, network: &mut Network, rng: &mut SimRng) {
    for (number, planned) in plan.actions.iter().enumerate() {
        network.schedule(planned.time, SimEvent::Action(number));
    }
    network.schedule(0, SimEvent::StartServer);
    for machine in 0..plan.machines {
        let early = rng.between(1, 400);
        let at = if machine + 1 == plan.machines { plan.last_machine_start.max(early) } else { early };
        network.schedule(at, SimEvent::StartMachine { machine });
    }
    network.schedule(1000, SimEvent::CleanUp);
}

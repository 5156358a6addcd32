//! A simulated world: one server, several machines with replicas, a network between them, and one thread that lets
//! everything happen in order of a clock that nobody waits for. Must not judge: that is for the invariants.

mod acts;
mod happen;
mod processes;
mod requests;
mod streams;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::dice::Dice;
use super::faults::{Interruptions, Weather};
use super::invariants;
use super::machine::Machine;
use super::model::Model;
use super::network::{Flowing, Happening, Network};
use super::plan::{Act, Plan};
use super::server::{HOME, Hand, ServerSide};
use super::tally::{Counts, Tally};
use super::trace::Trace;

/// Things that happen in one run at most; more is a loop without end.
const STEPS_MAX: u64 = 60_000;
/// Rounds of the server's look for what others wrote.
const NOTICE_MILLIS: i64 = 400;

/// A world.
pub struct World {
    pub(super) plan: Plan,
    pub(super) now: i64,
    pub(super) steps: u64,
    pub(super) requests: u64,
    pub(super) server: ServerSide,
    pub(super) machines: Vec<Machine>,
    pub(super) network: Network,
    pub(super) model: Model,
    pub(super) trace: Trace,
    pub(super) tally: Tally,
    pub(super) interruptions: Interruptions,
    /// Whether everybody only waits for what is under way.
    pub(super) resting: bool,
    flowing: Vec<Flowing>,
    streams: u64,
    passed: Hand,
    copy: PathBuf,
    has_copy: bool,
    restores: i64,
    dice: Dice,
    /// Whether so much time passed that keys of writes are forgotten.
    has_slept: bool,
    /// When each machine's next waking is under way already.
    waking: Vec<Option<i64>>,
    /// Acts of the plan that are to come.
    acts_left: usize,
}

impl World {
    /// A world on files in an empty directory, as the plan wants it.
    pub fn new(plan: Plan, dir: &Path, templates: &Path, trace: bool) -> Result<World, String> {
        let tally = Tally::default();
        let interruptions = Interruptions::install(tally.clone());
        if let Some(point) = plan.crash_at {
            interruptions.crash_at(point);
        }
        let mut dice = Dice::new(plan.seed ^ 0x5eed);
        let mut bits = dice.fork(1);
        hearth_simulated::set_random_hook(Some(Box::new(move |bytes| bits.fill(bytes))));
        let failed = |error: std::io::Error| error.to_string();
        let data = dir.join("server");
        std::fs::create_dir_all(&data).map_err(failed)?;
        std::fs::copy(templates.join("server/hearth.db"), data.join("hearth.db")).map_err(failed)?;
        let passed = Hand::default();
        let server = ServerSide::new(data, passed.clone(), interruptions.clone(), |config| {
            config.retention = plan.retention;
            config.rate_limits = plan.limits;
        });
        let keys_change = plan.acts.iter().any(|(_, act, _)| matches!(act, Act::Revoked(..) | Act::Narrowed(..)));
        let mut machines = Vec::new();
        for number in 0..plan.machines {
            let db = dir.join(format!("replica-{number}.db"));
            std::fs::copy(templates.join("replica.db"), &db).map_err(failed)?;
            let mut machine = Machine::new(number, db, dice.fork(100 + number as u64), interruptions.clone())?;
            machine.book.keys_change = keys_change;
            machines.push(machine);
        }
        let mut network = Network::new(dice.fork(2), plan.weather.clone(), tally.clone());
        for (number, (time, ..)) in plan.acts.iter().enumerate() {
            network.at(*time, Happening::Act(number));
        }
        network.at(0, Happening::ServerStart);
        for machine in 0..plan.machines {
            let early = dice.between(1, 400);
            let at = if machine + 1 == plan.machines { plan.late.max(early) } else { early };
            network.at(at, Happening::Start { machine });
        }
        network.at(1000, Happening::Tidy);
        let mut model = Model::default();
        model.put_back(&server.data, HOME)?;
        Ok(World {
            now: 0,
            steps: 0,
            requests: 0,
            server,
            waking: vec![None; machines.len()],
            machines,
            network,
            model,
            trace: Trace::new(trace),
            tally,
            interruptions,
            resting: false,
            flowing: Vec::new(),
            streams: 0,
            passed,
            copy: dir.join("copy.db"),
            has_copy: false,
            restores: 0,
            dice,
            has_slept: false,
            acts_left: plan.acts.len(),
            plan,
        })
    }

    /// Lets the plan happen, all of it.
    pub fn live(&mut self) -> Result<(), String> {
        while self.acts_left > 0 {
            self.step()?;
        }
        Ok(())
    }

    /// Lets the next thing happen, and looks whether all is as it must be.
    pub fn step(&mut self) -> Result<(), String> {
        let Some((time, what)) = self.network.pop() else { return Err("nothing happens any more".to_owned()) };
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(format!("no end after {STEPS_MAX} steps"));
        }
        let past = (time - self.now).max(0);
        self.now += past;
        self.passed.set(self.now);
        if past > 0 {
            self.server.pass(Duration::from_millis(past.unsigned_abs()));
        }
        // At rest people answer between the steps.
        let touched = |number: &usize| self.resting || what.may_touch(*number);
        let touched: Vec<usize> = (0..self.machines.len()).filter(touched).collect();
        self.happen(what)?;
        if self.interruptions.endless() {
            return Err("a process goes round without end".to_owned());
        }
        self.look(&touched)?;
        self.flow()
    }

    /// What the server has committed, and what the replicas show of it where anything may have changed.
    fn look(&mut self, touched: &[usize]) -> Result<(), String> {
        let World { model, server, machines, .. } = self;
        model.look(&server.data, HOME)?;
        for number in touched {
            let machine = &mut machines[*number];
            let (number, unaware) = (machine.number, machine.unaware);
            invariants::check(&machine.stranger, &mut machine.book, model, unaware)
                .map_err(|why| format!("replica {number}: {why}"))?;
        }
        Ok(())
    }

    /// From now on nothing goes wrong, and what was broken is whole.
    pub(super) fn clear_up(&mut self) -> Result<(), String> {
        self.say(format_args!("from now on nothing goes wrong"));
        (self.resting, self.plan.breaks_off) = (true, 0);
        self.network.weather = Weather::fair();
        if self.plan.crash_at.is_none() {
            self.interruptions.disarm();
        }
        for one in &mut self.flowing {
            (one.cut_in, one.mute_in) = (None, if one.mute_in.is_some() { Some(0) } else { None });
        }
        for machine in 0..self.machines.len() {
            let cleared = &mut self.machines[machine];
            (cleared.offline_until, cleared.portal_until, cleared.barred_until) = (0, 0, 0);
            self.server.change_key(machine, false, &[])?;
            self.network.at(self.now, Happening::Start { machine });
            self.network.at(self.now, Happening::Resume { machine });
        }
        self.network.at(self.now, Happening::ServerStart);
        self.network.at(self.now + NOTICE_MILLIS, Happening::Notice);
        Ok(())
    }

    /// What happened, counted, with what the replicas tell of themselves.
    pub(super) fn counts(&self) -> Counts {
        for machine in &self.machines {
            // A database that cannot be read is for the invariants to judge.
            let _ = self.tally.hear_out(&machine.stranger);
        }
        self.tally.counts()
    }

    pub(super) fn say(&mut self, text: std::fmt::Arguments<'_>) {
        self.trace.say(self.now, text);
    }
}

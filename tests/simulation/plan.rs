//! The plan of a run: the actions of actors and faults, and the rates of faults. A plan follows from a seed. To find the
//! cause of a failure, actions can be removed from a plan. Must not carry out an action.

use std::time::Duration;

use hearth_server::config::RateLimits;

use super::action::{Action, PlannedAction};
use super::environment_fault::{EnvironmentFault, FaultRates, Rate};
use super::rng::SimRng;

/// How many different files people attach.
const FILES: i64 = 3;

/// A plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed of all random numbers.
    pub seed: u64,
    /// How often each fault occurs.
    pub fault_rates: FaultRates,
    /// The number of machines.
    pub machines: usize,
    /// How long the server keeps events; None for ever.
    pub retention: Option<Duration>,
    /// The server's rate limits of each key; None without limits.
    pub rate_limits: Option<RateLimits>,
    /// False for a server without the list of deleted ids: its replicas compare all ids after a retention gap.
    pub lists_deletions: bool,
    /// The actions in order of time.
    pub actions: Vec<PlannedAction>,
    /// When the last machine starts for the first time, in milliseconds of the world. 0: with the others.
    pub last_machine_start: i64,
    /// For how long the last machine loses the network during its backfill, in milliseconds. 0: never.
    pub backfill_outage: i64,
    /// The number of the interruption point at which the running process crashes.
    pub crash_at: Option<u64>,
    /// True when the run ends with the last action, without the phase in which all replicas become equal.
    pub skip_settling: bool,
}

impl Plan {
    /// The plan of a seed with random faults, but never with the faults in `without`.
    pub fn from_seed(seed: u64, without: &[EnvironmentFault]) -> Plan {
        let mut rng = SimRng::new(seed);
        let drawn = FaultRates::draw(&mut rng, &mut SimRng::new(seed ^ 0x57a9));
        let rates = without.iter().fold(drawn, |rates, fault| rates.without(*fault));
        let mut plan = Plan::with_rates(seed, rates, rng);
        let can_occur = |fault| plan.fault_rates.rate(fault) != Rate::None;
        if can_occur(EnvironmentFault::Retention) && can_occur(EnvironmentFault::Offline) {
            let mut rng = SimRng::new(seed ^ 0xb05);
            if rng.chance(60) {
                plan.add_return_to_busy_home(&mut rng);
            }
        }
        plan
    }

    /// The plan of a seed with these faults at the rate [`Rate::Heavy`], and no others.
    pub fn with_faults(seed: u64, faults: &[EnvironmentFault]) -> Plan {
        let mut rng = SimRng::new(seed);
        // The drawn rates are not used. The draw keeps the later numbers of the seed the same.
        let _ = FaultRates::draw(&mut rng, &mut SimRng::new(seed));
        let mut plan = Plan::with_rates(seed, FaultRates::heavy(faults), rng);
        if faults.contains(&EnvironmentFault::Retention) && faults.contains(&EnvironmentFault::Offline) {
            plan.add_return_to_busy_home(&mut SimRng::new(seed ^ 0xb05));
        }
        plan
    }

    fn with_rates(seed: u64, fault_rates: FaultRates, mut rng: SimRng) -> Plan {
        let machines = rng.between(2, 4) as usize;
        let short_retention = rng.between(15, 60) as u64;
        let retention_rate = fault_rates.rate(EnvironmentFault::Retention);
        let retention = match retention_rate {
            Rate::None => rng.pick(&[None, Some(30 * 24 * 3600)]),
            _ => Some(short_retention),
        };
        let rate_limits =
            rng.pick(&[None, None, Some(RateLimits::default()), Some(RateLimits { reads: 100, writes: 20, bulk: 10 })]);
        let mut plan = Plan {
            seed,
            fault_rates,
            machines,
            retention: retention.map(Duration::from_secs),
            rate_limits,
            lists_deletions: !SimRng::new(seed ^ 0xde1e7e).chance(200),
            actions: Vec::new(),
            last_machine_start: 0,
            backfill_outage: 0,
            crash_at: None,
            skip_settling: false,
        };
        let count = rng.between(30, 120);
        let pause = rng.pick(&[60, 400, 2000]);
        let mut time = rng.between(0, 500);
        for _ in 0..count {
            let action = plan.draw_action(&mut rng);
            plan.push(time, action, &mut rng);
            time += rng.between(0, pause * 2);
        }
        plan.add_watch_triggers(&mut SimRng::new(seed ^ 0x3a7c4));
        plan.add_obstructions(&mut SimRng::new(seed ^ 0x6a7e));
        plan.add_attachments(&mut SimRng::new(seed ^ 0xf11e5));
        if retention_rate != Rate::None {
            let retention_millis = short_retention as i64 * 1000;
            plan.add_long_gaps(retention_millis, &mut SimRng::new(seed ^ 0x0ff));
            let mut rng = SimRng::new(seed ^ 0xf05e);
            if rng.chance(200) {
                plan.add_mass_delete(retention_millis, &mut rng);
            }
        }
        plan
    }

    fn push(&mut self, time: i64, action: Action, rng: &mut SimRng) {
        self.actions.push(PlannedAction { time, action, seed: rng.next_u64() });
    }

    fn sort_by_time(&mut self) {
        self.actions.sort_by_key(|action| action.time);
    }

    fn last_time(&self) -> i64 {
        self.actions.last().map_or(0, |action| action.time)
    }

    /// Adds a replica that returns after the retention time while others write and delete many records. The reconcile
    /// then lists records that are deleted while the lists are in transit.
    fn add_return_to_busy_home(&mut self, rng: &mut SimRng) {
        let retention = self.retention.map_or(0, |retention| retention.as_millis() as i64);
        let away = retention * 2 + rng.between(1000, 10_000);
        let from = self.last_time();
        let machine = rng.index(self.machines);
        self.push(from, Action::Import(machine), rng);
        let machine = rng.index(self.machines);
        self.push(from + 5000, Action::Offline(machine, away), rng);
        for number in 0..20 {
            self.push(from + 5000 + number * 100, Action::Client, rng);
        }
        // The replica can wait a minute before its next attempt, and its reconcile can take another minute.
        for number in 0..100 {
            let at = from + 4500 + away + number * 1200;
            self.push(at, Action::Client, rng);
            let after = rng.between(100, 1100);
            self.push(at + after, Action::ClientDeletesNewest, rng);
        }
    }

    /// Sometimes adds a script that watches the tasks of a replica with triggers. A sync then fires the triggers, and
    /// takes other code paths than without triggers.
    fn add_watch_triggers(&mut self, rng: &mut SimRng) {
        if !rng.chance(200) {
            return;
        }
        let machine = rng.index(self.machines);
        let from = rng.index(self.actions.len());
        self.push(self.actions[from].time, Action::WatchTriggers(machine, true), rng);
        if rng.chance(300) {
            let until = from + rng.index(self.actions.len() - from);
            self.push(self.actions[until].time + 1, Action::WatchTriggers(machine, false), rng);
        }
        self.sort_by_time();
    }

    /// Sometimes adds people who attach a few files, the same ones on several machines. Not with restores: the backups of the
    /// simulation hold no files.
    fn add_attachments(&mut self, rng: &mut SimRng) {
        let restores = [EnvironmentFault::Restore, EnvironmentFault::RestoreFiles];
        if restores.iter().any(|fault| self.fault_rates.rate(*fault) != Rate::None) || !rng.chance(300) {
            return;
        }
        for _ in 0..rng.between(2, 6) {
            let at = self.actions[rng.index(self.actions.len())].time;
            let action = Action::Attach(rng.index(self.machines), rng.between(0, FILES - 1) as u8);
            self.push(at, action, rng);
        }
        self.sort_by_time();
    }

    /// Whether the plan attaches files.
    pub fn attaches_files(&self) -> bool {
        self.actions.iter().any(|planned| matches!(planned.action, Action::Attach(..)))
    }

    /// Adds networks with a sign-in page, and networks that block streams.
    fn add_obstructions(&mut self, rng: &mut SimRng) {
        for &fault in EnvironmentFault::added_later() {
            let count = match self.fault_rates.rate(fault) {
                Rate::None => 0,
                Rate::Rare => rng.between(0, 2),
                Rate::Heavy => rng.between(2, 6),
            };
            for _ in 0..count {
                let (machine, time) = (rng.index(self.machines), rng.between(500, 200_000));
                let action = match fault {
                    EnvironmentFault::ForeignResponse => Action::ForeignNetwork(machine, time),
                    _ => Action::BlockStreams(machine, time),
                };
                let at = self.actions[rng.index(self.actions.len())].time;
                self.push(at, action, rng);
            }
        }
        self.sort_by_time();
    }

    /// Adds a mass delete while a replica is away for longer than the retention time. The replica must ask a person
    /// before it deletes its rows, because the server does not list what was deleted.
    fn add_mass_delete(&mut self, retention: i64, rng: &mut SimRng) {
        self.lists_deletions = false;
        let machine = rng.index(self.machines);
        let away = retention * 2 + rng.between(5000, 15_000);
        let from = self.last_time();
        let back = from + 6000 + away;
        let asked = back + rng.between(1000, 90_000);
        let last_write = asked + rng.between(100, 60_000);
        for (time, action) in [
            (from + 500, Action::ClientCreatesTasks),
            (from + 6000, Action::Offline(machine, away)),
            (from + 6500, Action::Script(machine)),
            (from + 7000, Action::ClientDeletesTasks),
            (asked, Action::AnswerReconcile(machine)),
            (last_write, Action::Client),
        ] {
            self.push(time, action, rng);
        }
    }

    /// Adds pauses that are longer than the retention time: between actions, before the last machine starts, or during
    /// its backfill.
    fn add_long_gaps(&mut self, retention: i64, rng: &mut SimRng) {
        for _ in 0..rng.between(0, 3) {
            let from = rng.index(self.actions.len());
            let gap = retention + rng.between(1000, 20_000);
            self.actions.iter_mut().skip(from).for_each(|action| action.time += gap);
        }
        if rng.chance(500) {
            self.last_machine_start = self.actions[self.actions.len() / 2].time;
            if self.fault_rates.rate(EnvironmentFault::Offline) != Rate::None {
                self.backfill_outage = retention + rng.between(5000, 30_000);
            }
        }
    }

    fn draw_action(&self, rng: &mut SimRng) -> Action {
        let machine = rng.index(self.machines);
        let fault = rng.pick(EnvironmentFault::original());
        let (points, time) = (rng.between(0, 6) as u32, rng.between(500, 50_000));
        let chance = match self.fault_rates.rate(fault) {
            Rate::None => 0,
            Rate::Rare => 350,
            Rate::Heavy => 900,
        };
        if rng.chance(chance)
            && let Some(action) = draw_fault(fault, machine, points, time, rng)
        {
            return action;
        }
        match rng.between(0, 9) {
            0..=3 => Action::Person(machine),
            4..=6 => Action::Script(machine),
            7..=8 => Action::Client,
            _ if rng.chance(50) => Action::Pause(machine, time),
            _ => Action::Decide(machine),
        }
    }
}

/// The action that causes a fault; None for a fault of messages and streams, which the network causes.
fn draw_fault(fault: EnvironmentFault, machine: usize, points: u32, time: i64, rng: &mut SimRng) -> Option<Action> {
    Some(match fault {
        EnvironmentFault::ServerKill => Action::ServerKill,
        EnvironmentFault::ServerCrash => Action::ServerCrash(points),
        EnvironmentFault::ServerDiskFull => Action::ServerDiskFull(points),
        EnvironmentFault::Restore => rng.pick(&[Action::Backup, Action::Restore]),
        EnvironmentFault::RestoreFiles => rng.pick(&[Action::Backup, Action::RestoreFiles]),
        EnvironmentFault::Retention => Action::CleanUp,
        EnvironmentFault::KeyRevoked => Action::KeyRevoked(machine, time),
        EnvironmentFault::ScopesRemoved => Action::ScopesRemoved(machine, time),
        EnvironmentFault::ClockStep => {
            let step = rng.pick(&[-86_400_000, -30_000, 5000, 400_000_000]);
            Action::ClockStep(rng.pick(&[None, Some(machine)]), step)
        }
        EnvironmentFault::Kill => rng.pick(&[Action::Kill(machine), Action::Restart(machine)]),
        EnvironmentFault::Crash => Action::Crash(machine, points),
        EnvironmentFault::DiskFull => Action::DiskFull(machine, points),
        EnvironmentFault::Offline => Action::Offline(machine, time * 2),
        EnvironmentFault::LongSleep => Action::LongSleep(rng.between(23, 50)),
        EnvironmentFault::InvalidEdit => Action::InvalidEdit(machine),
        EnvironmentFault::SecondProcess => Action::SecondProcess(machine),
        _ => return None,
    })
}

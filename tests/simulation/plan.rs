//! What is going to happen in a run, as far as it does not depend on what happens before: a list that follows from the
//! seed, of which a failing run can leave out what is not needed. Must not carry anything out.

use std::time::Duration;

use hearth_server::config::RateLimits;

use super::dice::Dice;
use super::faults::{Fault, Rate, Weather};

/// One thing that somebody does, or that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A person edits on a screen.
    Person(usize),
    /// A script edits with SQL.
    Script(usize),
    /// A script brings in many records at once.
    Import(usize),
    /// A script keeps a table of its own in step by triggers of its own; or it gives that up.
    Watch(usize, bool),
    /// A script changes the first task, or deletes it: what two replicas do to it meets.
    First(usize, bool),
    /// A client of the API writes.
    Client,
    /// A client of the API deletes what was changed last.
    Regret,
    /// A client of the API brings in more than a person would throw away.
    Stock,
    /// A client of the API deletes all tasks.
    ClearOut,
    /// A person agrees to the deletions that a recovery asks about; if it does not, she asks for a comparison.
    Agree(usize),
    /// A script writes what the server will refuse.
    Poison(usize),
    /// A person decides about edits that wait for one.
    Decide(usize),
    /// A person pauses the sync for so many milliseconds.
    Pause(usize, i64),
    /// A replica's process is killed.
    Kill(usize),
    /// A replica's process ends in an orderly way, and another starts.
    Restart(usize),
    /// It will be killed when it has passed so many points.
    Crash(usize, u32),
    /// Its disk will be full when it has passed so many points.
    DiskFull(usize, u32),
    /// A machine has no network for so many milliseconds.
    Offline(usize, i64),
    /// A stranger answers whatever a machine asks, for so many milliseconds.
    Portal(usize, i64),
    /// No stream has a way through to a machine for so many milliseconds.
    Barred(usize, i64),
    /// The answers to what a machine writes are lost for so many milliseconds.
    Unanswered(usize, i64),
    /// A second process wants to sync.
    SecondProcess(usize),
    /// The server is killed.
    ServerKill,
    /// It will be killed when it has passed so many points.
    ServerCrash(u32),
    /// Its disk will be full when it has passed so many points.
    ServerDiskFull(u32),
    /// A copy of its database is made.
    Backup,
    /// The copy is put back, by the command.
    Restore,
    /// The copy is put back by hand.
    RestoreFiles,
    /// Old events are thinned out now.
    Tidy,
    /// A machine's key is revoked for so many milliseconds.
    Revoked(usize, i64),
    /// A machine's key loses scopes for so many milliseconds.
    Narrowed(usize, i64),
    /// A wall clock is set forward or back; of the server for None.
    ClockStep(Option<usize>, i64),
    /// Everybody sleeps for so many hours.
    Night(i64),
}

/// A run before it begins.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where everything comes from.
    pub seed: u64,
    /// How often messages are struck.
    pub weather: Weather,
    /// How many replicas there are.
    pub machines: usize,
    /// How long the server keeps events.
    pub retention: Option<Duration>,
    /// How often a key may call.
    pub limits: Option<RateLimits>,
    /// What is done, when, and with which chance.
    pub acts: Vec<(i64, Act, u64)>,
    /// When the last replica is there for the first time.
    pub late: i64,
    /// For how long it loses the network in the middle of its first read.
    pub breaks_off: i64,
    /// The one point at which whoever passes it crashes.
    pub crash_at: Option<u64>,
    /// Whether the world ends with its last act, without coming to rest.
    pub restless: bool,
}

impl Plan {
    /// The plan of a seed, in a world without these faults.
    pub fn of(seed: u64, without: &[Fault]) -> Plan {
        let mut dice = Dice::new(seed);
        let drawn = Weather::draw(&mut dice, &mut Dice::new(seed ^ 0x57a9));
        let weather = without.iter().fold(drawn, |weather, fault| weather.without(*fault));
        let mut plan = Plan::in_weather(seed, weather, dice);
        let strikes = |fault| plan.weather.rate(fault) != Rate::None;
        if strikes(Fault::Retention) && strikes(Fault::Offline) {
            let mut dice = Dice::new(seed ^ 0xb05);
            if dice.happens(60) {
                plan.come_back_to_bustle(&mut dice);
            }
        }
        plan
    }

    /// The plan of a seed, in which these faults happen all the time and no others.
    pub fn with(seed: u64, faults: &[Fault]) -> Plan {
        let mut dice = Dice::new(seed);
        let _ = Weather::draw(&mut dice, &mut Dice::new(seed));
        let mut plan = Plan::in_weather(seed, Weather::all_the_time(faults), dice);
        if faults.contains(&Fault::Retention) && faults.contains(&Fault::Offline) {
            plan.come_back_to_bustle(&mut Dice::new(seed ^ 0xb05));
        }
        plan
    }

    /// Has a replica come back after longer than events are kept, while others write a lot.
    fn come_back_to_bustle(&mut self, dice: &mut Dice) {
        let kept = self.retention.map_or(0, |kept| kept.as_millis() as i64);
        let away = kept * 2 + dice.between(1000, 10_000);
        let from = self.acts.last().map_or(0, |(time, ..)| *time);
        self.acts.push((from, Act::Import(dice.place(self.machines)), dice.bits()));
        self.acts.push((from + 5000, Act::Offline(dice.place(self.machines), away), dice.bits()));
        for number in 0..20 {
            self.acts.push((from + 5000 + number * 100, Act::Client, dice.bits()));
        }
        // It may take a minute until it tries again, and its recovery another one. What the lists are about to show is
        // deleted while they are on their way.
        for number in 0..100 {
            let at = from + 4500 + away + number * 1200;
            self.acts.push((at, Act::Client, dice.bits()));
            self.acts.push((at + dice.between(100, 1100), Act::Regret, dice.bits()));
        }
    }

    fn in_weather(seed: u64, weather: Weather, mut dice: Dice) -> Plan {
        let machines = dice.between(2, 4) as usize;
        let short = dice.between(15, 60) as u64;
        let heavy = weather.rate(Fault::Retention);
        let retention = match heavy {
            Rate::None => dice.of(&[None, Some(30 * 24 * 3600)]),
            _ => Some(short),
        };
        let limits =
            dice.of(&[None, None, Some(RateLimits::default()), Some(RateLimits { reads: 100, writes: 20, bulk: 10 })]);
        let mut plan = Plan {
            seed,
            weather,
            machines,
            retention: retention.map(Duration::from_secs),
            limits,
            acts: Vec::new(),
            late: 0,
            breaks_off: 0,
            crash_at: None,
            restless: false,
        };
        let many = dice.between(30, 120);
        let pace = dice.of(&[60, 400, 2000]);
        let mut time = dice.between(0, 500);
        for _ in 0..many {
            let act = plan.draw(&mut dice);
            plan.acts.push((time, act, dice.bits()));
            time += dice.between(0, pace * 2);
        }
        plan.watch(&mut Dice::new(seed ^ 0x3a7c4));
        plan.obstruct(&mut Dice::new(seed ^ 0x6a7e));
        if heavy != Rate::None {
            plan.outlast(short as i64 * 1000, &mut Dice::new(seed ^ 0x0ff));
            let mut dice = Dice::new(seed ^ 0xf05e);
            if dice.happens(200) {
                plan.clear_out(short as i64 * 1000, &mut dice);
            }
        }
        plan
    }

    /// Has a script watch the tasks of a replica for a while: where a stranger has triggers, a sync fires them all, and
    /// goes other ways than where it fires none.
    fn watch(&mut self, dice: &mut Dice) {
        if !dice.happens(200) {
            return;
        }
        let machine = dice.place(self.machines);
        let from = dice.place(self.acts.len());
        self.acts.push((self.acts[from].0, Act::Watch(machine, true), dice.bits()));
        if dice.happens(300) {
            let until = from + dice.place(self.acts.len() - from);
            self.acts.push((self.acts[until].0 + 1, Act::Watch(machine, false), dice.bits()));
        }
        self.acts.sort_by_key(|(time, ..)| *time);
    }

    /// Has a stranger answer machines for a while, or streams have no way through to them.
    fn obstruct(&mut self, dice: &mut Dice) {
        for &fault in Fault::young() {
            let many = match self.weather.rate(fault) {
                Rate::None => 0,
                Rate::Rare => dice.between(0, 2),
                Rate::Heavy => dice.between(2, 6),
            };
            for _ in 0..many {
                let (machine, long) = (dice.place(self.machines), dice.between(500, 200_000));
                let act =
                    if fault == Fault::Stranger { Act::Portal(machine, long) } else { Act::Barred(machine, long) };
                let at = self.acts[dice.place(self.acts.len())].0;
                self.acts.push((at, act, dice.bits()));
            }
        }
        self.acts.sort_by_key(|(time, ..)| *time);
    }

    /// Has somebody delete so much while a replica is away for too long that it must not believe it without a word.
    fn clear_out(&mut self, kept: i64, dice: &mut Dice) {
        let machine = dice.place(self.machines);
        let away = kept * 2 + dice.between(5000, 15_000);
        let from = self.acts.last().map_or(0, |(time, ..)| *time);
        let back = from + 6000 + away;
        let asked = back + dice.between(1000, 90_000);
        for (time, act) in [
            (from + 500, Act::Stock),
            (from + 6000, Act::Offline(machine, away)),
            (from + 6500, Act::Script(machine)),
            (from + 7000, Act::ClearOut),
            (asked, Act::Agree(machine)),
            (asked + dice.between(100, 60_000), Act::Client),
        ] {
            self.acts.push((time, act, dice.bits()));
        }
    }

    /// Has some things take longer than events are kept: nobody does anything, or a replica comes late and its first
    /// read is broken off.
    fn outlast(&mut self, kept: i64, dice: &mut Dice) {
        for _ in 0..dice.between(0, 3) {
            let from = dice.place(self.acts.len());
            let long = kept + dice.between(1000, 20_000);
            self.acts.iter_mut().skip(from).for_each(|(time, ..)| *time += long);
        }
        if dice.happens(500) {
            self.late = self.acts[self.acts.len() / 2].0;
            if self.weather.rate(Fault::Offline) != Rate::None {
                self.breaks_off = kept + dice.between(5000, 30_000);
            }
        }
    }

    fn draw(&self, dice: &mut Dice) -> Act {
        let machine = dice.place(self.machines);
        let fault = dice.of(Fault::old());
        let (soon, long) = (dice.between(0, 6) as u32, dice.between(500, 50_000));
        let chance = match self.weather.rate(fault) {
            Rate::None => 0,
            Rate::Rare => 350,
            Rate::Heavy => 900,
        };
        if dice.happens(chance) {
            let act = match fault {
                Fault::ServerKill => Some(Act::ServerKill),
                Fault::ServerCrash => Some(Act::ServerCrash(soon)),
                Fault::ServerDiskFull => Some(Act::ServerDiskFull(soon)),
                Fault::Restore => Some(dice.of(&[Act::Backup, Act::Restore])),
                Fault::RestoreFiles => Some(dice.of(&[Act::Backup, Act::RestoreFiles])),
                Fault::Retention => Some(Act::Tidy),
                Fault::Revoked => Some(Act::Revoked(machine, long)),
                Fault::Narrowed => Some(Act::Narrowed(machine, long)),
                Fault::ClockStep => {
                    let step = dice.of(&[-86_400_000, -30_000, 5000, 400_000_000]);
                    Some(Act::ClockStep(dice.of(&[None, Some(machine)]), step))
                }
                Fault::Kill => Some(dice.of(&[Act::Kill(machine), Act::Restart(machine)])),
                Fault::Crash => Some(Act::Crash(machine, soon)),
                Fault::DiskFull => Some(Act::DiskFull(machine, soon)),
                Fault::Offline => Some(Act::Offline(machine, long * 2)),
                Fault::Night => Some(Act::Night(dice.between(23, 50))),
                Fault::Poison => Some(Act::Poison(machine)),
                Fault::SecondProcess => Some(Act::SecondProcess(machine)),
                _ => None,
            };
            if let Some(act) = act {
                return act;
            }
        }
        match dice.between(0, 9) {
            0..=3 => Act::Person(machine),
            4..=6 => Act::Script(machine),
            7..=8 => Act::Client,
            _ if dice.happens(50) => Act::Pause(machine, long),
            _ => Act::Decide(machine),
        }
    }
}

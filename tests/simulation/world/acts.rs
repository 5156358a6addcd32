//! What the plan says: people and scripts edit, machines and clocks go wrong, the server is put back, time passes. Must
//! not decide when.

use std::time::Duration;

use hearth_simulated::Interruption;

use super::{NOTICE_MILLIS, World};
use crate::simulation::dice::Dice;
use crate::simulation::faults::Who;
use crate::simulation::model::MARK;
use crate::simulation::network::{Address, Happening};
use crate::simulation::people;
use crate::simulation::plan::Act;
use crate::simulation::server::HOME;

impl World {
    pub(super) fn act(&mut self, number: usize) -> Result<(), String> {
        self.acts_left -= 1;
        let (_, act, chance) = self.plan.acts[number];
        let (mut dice, mark) = (Dice::new(chance), format!("{MARK}{number}"));
        let name = format!("{act:?}");
        self.tally.note(format!("act: {}", name.split('(').next().unwrap_or_default()));
        match act {
            Act::Person(machine) => {
                let told = people::person(&self.machines[machine], &mut dice, &mark)?;
                self.edited(machine, "person", &told, &mut dice);
            }
            Act::Script(machine) => {
                let told = people::script(&self.machines[machine], &mut dice, &mark)?;
                self.edited(machine, "script", &told, &mut dice);
            }
            Act::Import(machine) => {
                let told = people::import(&self.machines[machine], &mut dice, &mark)?;
                self.edited(machine, "script", &told, &mut dice);
            }
            Act::Watch(machine, begin) => {
                let told = people::watch(&mut self.machines[machine], begin)?;
                self.edited(machine, "script", &told, &mut dice);
            }
            Act::First(machine, delete) => {
                let told = people::first(&self.machines[machine], &mark, delete)?;
                self.edited(machine, "script", &told, &mut dice);
            }
            Act::Poison(machine) => {
                let told = people::poison(&self.machines[machine], &mut dice, &mark)?;
                self.edited(machine, "script", &told, &mut dice);
            }
            Act::Decide(machine) => {
                let told = people::decide(&mut self.machines[machine], &mut self.model, &mut dice)?;
                self.machines[machine].unanswered.clear();
                self.edited(machine, "person", &told, &mut dice);
            }
            Act::Pause(machine, time) => {
                self.machines[machine].screen.pause().map_err(|error| error.to_string())?;
                self.edited(machine, "person", "pauses", &mut dice);
                self.network.at(self.now + time, Happening::Resume { machine });
            }
            Act::Client => {
                let (ask, again) = people::client(self.model.present(), &mut dice, &mark);
                self.client(&ask, again)?;
            }
            Act::Regret => {
                if let Some((ask, again)) = people::regret(self.model.present(), &mut dice) {
                    self.client(&ask, again)?;
                }
            }
            Act::Stock => {
                for half in 0..2 {
                    self.client(&people::stock(&mut dice, &format!("{mark}-{half}")), false)?;
                }
            }
            Act::ClearOut => {
                for ask in people::clear_out(self.model.present(), &mut dice) {
                    self.client(&ask, false)?;
                }
            }
            Act::Agree(machine) => {
                let told = people::agree(&mut self.machines[machine], dice.happens(700))?;
                self.edited(machine, "person", &told, &mut dice);
            }
            Act::Kill(machine) => {
                self.say(format_args!("r{machine} is killed"));
                self.machines[machine].kill();
                self.gone(machine, dice.between(1, 4000));
            }
            Act::Restart(machine) => {
                self.say(format_args!("r{machine} stops"));
                self.machines[machine].stop(self.now);
                self.gone(machine, dice.between(1, 4000));
            }
            Act::Crash(machine, after) => self.interruptions.arm(Who::Machine(machine), after, Interruption::Crash),
            Act::DiskFull(machine, after) => {
                self.interruptions.arm(Who::Machine(machine), after, Interruption::DiskFull);
            }
            Act::Offline(machine, time) => {
                self.say(format_args!("r{machine} is without network for {time} ms"));
                self.machines[machine].offline_until = self.now + time;
                self.flowing.iter_mut().filter(|one| one.to.machine == machine).for_each(|one| one.mute_in = Some(0));
            }
            Act::Portal(machine, time) => {
                self.say(format_args!("a stranger answers r{machine} for {time} ms"));
                self.machines[machine].portal_until = self.now + time;
                // Another network: what was open goes nowhere.
                self.flowing.iter_mut().filter(|one| one.to.machine == machine).for_each(|one| one.mute_in = Some(0));
            }
            Act::Barred(machine, time) => {
                self.say(format_args!("no stream has a way to r{machine} for {time} ms"));
                self.machines[machine].barred_until = self.now + time;
                self.flowing.iter_mut().filter(|one| one.to.machine == machine).for_each(|one| one.cut_in = Some(0));
            }
            Act::Unanswered(machine, time) => {
                self.say(format_args!("r{machine} hears no answers to its writes for {time} ms"));
                self.machines[machine].unanswered_until = self.now + time;
            }
            Act::SecondProcess(machine) => {
                if self.machines[machine].is_up() && self.machines[machine].would_share() {
                    return Err(format!("a second process got the right to sync replica {machine}"));
                }
            }
            Act::ServerKill => {
                self.say(format_args!("the server is killed"));
                self.server_gone();
            }
            Act::ServerCrash(after) => self.interruptions.arm(Who::Server, after, Interruption::Crash),
            Act::ServerDiskFull(after) => self.interruptions.arm(Who::Server, after, Interruption::DiskFull),
            Act::Backup => {
                self.server.save(&self.copy)?;
                self.has_copy = true;
                let head = self.model.present().head;
                self.say(format_args!("a copy is made at {head}"));
            }
            Act::Restore => self.put_back(false)?,
            Act::RestoreFiles => self.put_back(true)?,
            Act::Tidy => self.tidy(),
            Act::Revoked(key, time) => {
                self.say(format_args!("key {key} is revoked for {time} ms"));
                self.server.change_key(key, true, &[])?;
                self.network.at(self.now + NOTICE_MILLIS, Happening::Notice);
                self.network.at(self.now + time, Happening::KeyBack { key });
            }
            Act::Narrowed(key, time) => {
                let lost: &[&str] = dice.of(&[
                    &["tasks:write", "rooms:write"][..],
                    &["events:read"],
                    &["inventory:read", "inventory:write"],
                    &["property:read", "property:write"],
                ]);
                self.say(format_args!("key {key} loses {lost:?} for {time} ms"));
                self.server.change_key(key, false, lost)?;
                self.network.at(self.now + NOTICE_MILLIS, Happening::Notice);
                self.network.at(self.now + time, Happening::KeyBack { key });
            }
            Act::ClockStep(whose, step) => {
                self.say(format_args!("the clock of {whose:?} steps by {step} ms"));
                match whose {
                    Some(machine) => self.machines[machine].wrong_by += step,
                    None => {
                        self.has_slept = true;
                        self.server.wrong_by.set(self.server.wrong_by.get() + step);
                    }
                }
            }
            Act::Night(hours) => self.night(hours, &mut dice),
        }
        Ok(())
    }

    fn edited(&mut self, machine: usize, who: &str, told: &str, dice: &mut Dice) {
        self.say(format_args!("r{machine} {who}: {told}"));
        // The bell is heard at once, or its floor is: a look each second.
        let heard = if dice.happens(800) { 1 } else { dice.between(2, 1000) };
        self.network.at(self.now + heard, Happening::Bell { machine });
    }

    fn put_back(&mut self, by_files: bool) -> Result<(), String> {
        if !self.has_copy {
            return Ok(());
        }
        self.server_gone();
        self.model.close();
        self.restores += 1;
        self.server.put_back(&self.copy, by_files, self.dice.bits() as i64)?;
        self.model.put_back(&self.server.data, HOME)?;
        for machine in &mut self.machines {
            machine.unaware = true;
            // What insists on a revision of the lost history must not go again as it was.
            machine.unanswered.clear();
        }
        self.outdate();
        let (way, head) = (if by_files { "by its files" } else { "by the command" }, self.model.present().head);
        self.say(format_args!("the server is put back to {head} {way}"));
        Ok(())
    }

    /// What the server said before it was put back tells nobody of that, however late it arrives.
    fn outdate(&mut self) {
        let World { network, machines, .. } = self;
        for said in network.under_way() {
            match said {
                Happening::Answer { to, ticket, answer: Ok(_) } => drop(machines[to.machine].polls.remove(ticket)),
                Happening::StreamOpen { to, stream } | Happening::StreamRefused { to, stream, .. } => {
                    let listening = machines[to.machine].stream.as_mut();
                    if let Some(listening) = listening.filter(|listening| listening.number == *stream) {
                        listening.outdated = true;
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn tidy(&mut self) {
        let crashed = self.server.tidy();
        self.server_crashed(crashed);
    }

    /// Everybody sleeps. Nothing that was under way arrives, and some clocks do not count the time.
    fn night(&mut self, hours: i64, dice: &mut Dice) {
        let time = hours * 3_600_000;
        self.say(format_args!("{hours} hours pass"));
        self.has_slept = true;
        self.network.drop_all(|what| {
            matches!(
                what,
                Happening::Question { .. }
                    | Happening::Answer { .. }
                    | Happening::StreamWish { .. }
                    | Happening::StreamOpen { .. }
                    | Happening::StreamRefused { .. }
                    | Happening::Bytes { .. }
                    | Happening::StreamEnd { .. }
                    | Happening::Wake { .. }
            )
        });
        self.network.put_off(time);
        self.flowing.clear();
        self.now += time;
        self.passed.set(self.now);
        self.server.pass(Duration::from_millis(time.unsigned_abs()));
        for machine in 0..self.machines.len() {
            let suspended = dice.happens(500);
            let asleep = &mut self.machines[machine];
            if suspended {
                asleep.slept += time;
            }
            let to = Address { machine, life: asleep.life };
            for ticket in asleep.asked.clone() {
                let answer = Err("the connection broke".to_owned());
                self.network.at(self.now + dice.between(1, 500), Happening::Answer { to, ticket, answer });
            }
            if let Some(stream) = self.machines[machine].stream.as_ref().map(|stream| stream.number) {
                let end = Happening::StreamEnd { to, stream, reason: "the connection broke" };
                self.network.at(self.now + dice.between(1, 500), end);
            }
            self.waking[machine] = None;
            self.set_alarm(machine);
        }
    }
}

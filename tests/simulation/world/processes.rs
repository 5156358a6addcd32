//! Processes of machines and of the server: they start, do what they want done outside, and end. Must not know what the
//! plan wants of them.

use hearth_replica::sync::{Command, DriverEvent};

use super::World;
use crate::simulation::eye;
use crate::simulation::faults::Who;
use crate::simulation::machine::{Listening, Machine, Worked};
use crate::simulation::network::{Address, Fate, Happening, PATIENCE};

impl World {
    /// Starts a machine's process.
    pub(super) fn start(&mut self, machine: usize) -> Result<(), String> {
        let comes_later = machine + 1 == self.plan.machines && self.now < self.plan.late && !self.resting;
        if self.machines[machine].is_up() || comes_later {
            return Ok(());
        }
        self.say(format_args!("r{machine} starts"));
        let worked = self.machines[machine].start(self.now)?;
        self.carry_on(machine, worked)
    }

    /// Tells an engine something and does what it says.
    pub(super) fn tell(&mut self, machine: usize, heard: DriverEvent) -> Result<(), String> {
        let worked = self.machines[machine].hear(self.now, heard);
        self.carry_on(machine, worked)
    }

    fn carry_on(&mut self, machine: usize, worked: Worked) -> Result<(), String> {
        let done = match worked {
            Worked::Done(done) => done,
            Worked::Crashed(point) => {
                self.say(format_args!("r{machine} crashes: {point}"));
                let after = self.dice.between(1, 3000);
                self.gone(machine, after);
                return Ok(());
            }
            Worked::Failed(why) if why.contains("full") => {
                self.say(format_args!("r{machine} gives up: {why}"));
                let after = self.dice.between(100, 5000);
                self.gone(machine, after);
                return Ok(());
            }
            Worked::Failed(why) => return Err(format!("replica {machine} gives up: {why}")),
        };
        for command in done.commands {
            if self.interruptions.crashes(Who::Machine(machine), "replica acts") {
                self.say(format_args!("r{machine} crashes before {command:?}"));
                self.machines[machine].kill();
                let after = self.dice.between(1, 3000);
                self.gone(machine, after);
                return Ok(());
            }
            self.command(machine, command)?;
        }
        self.set_alarm(machine);
        Ok(())
    }

    fn command(&mut self, machine: usize, command: Command) -> Result<(), String> {
        let from = Address { machine, life: self.machines[machine].life };
        match command {
            Command::Send { ticket, request: ask } => {
                self.say(format_args!("r{machine} asks {ticket}: {} {}", ask.method, ask.path));
                self.check_ask(machine, ticket, &ask)?;
                if ask.path.starts_with("/v1/events") && ask.path.contains("cursor=") {
                    self.machines[machine].polls.insert(ticket);
                }
                self.machines[machine].asked.push(ticket);
                let late = Err("it does not answer in time".to_owned());
                self.network.at(self.now + PATIENCE, Happening::Answer { to: from, ticket, answer: late });
                let lost = |answer| Happening::Answer { to: from, ticket, answer };
                match self.fate(machine) {
                    Fate::Lost(after) => {
                        self.network.at(self.now + after, lost(Err("the network is unreachable".to_owned())));
                    }
                    Fate::Refused(after, answer) => self.network.at(self.now + after, lost(Ok(answer))),
                    Fate::Arrives(after, again) => {
                        if let Some(again) = again {
                            let twice = Happening::Question { from, ticket, ask: ask.clone(), wanted: false };
                            self.network.at(self.now + again, twice);
                        }
                        self.network.at(self.now + after, Happening::Question { from, ticket, ask, wanted: true });
                    }
                }
            }
            Command::OpenStream(ask) => {
                self.leave_stream(machine);
                let standing = eye::standing(&self.machines[machine].stranger).map_err(|error| error.to_string())?;
                if standing.whole && standing.position > 0 && ask.path.contains("cursor=start") {
                    return Err(format!(
                        "replica {machine} stands at {} and reads from the beginning",
                        standing.position
                    ));
                }
                self.streams += 1;
                let stream = self.streams;
                self.say(format_args!("r{machine} opens stream {stream}: {} {:?}", ask.path, ask.headers));
                let decoder = Default::default();
                let listening = Listening { number: stream, decoder, open: false, broken: false, outdated: false };
                self.machines[machine].stream = Some(listening);
                let (after, what) = match self.fate(machine) {
                    Fate::Lost(after) => {
                        (after, Happening::StreamEnd { to: from, stream, reason: "the network is unreachable" })
                    }
                    Fate::Refused(after, answer) => (after, Happening::StreamRefused { to: from, stream, answer }),
                    Fate::Arrives(after, _) => (after, Happening::StreamWish { from, stream, ask }),
                };
                self.network.at(self.now + after, what);
            }
            Command::CloseStream => self.leave_stream(machine),
            Command::End(verdict) => {
                self.say(format_args!("r{machine} ends: {verdict:?}"));
                self.machines[machine].stop(self.now);
                self.machines[machine].verdict = Some(verdict);
                self.gone(machine, 5000);
            }
        }
        Ok(())
    }

    /// What becomes of what a machine asks now.
    fn fate(&mut self, machine: usize) -> Fate {
        let Machine { offline_until, portal_until, .. } = self.machines[machine];
        match (offline_until > self.now, portal_until > self.now) {
            (true, _) => Fate::Lost(5),
            (_, true) => self.network.strangers_fate(),
            _ => self.network.fate(),
        }
    }

    pub(super) fn set_alarm(&mut self, machine: usize) {
        let Some(at) = self.machines[machine].wake_at() else { return };
        if self.waking[machine].is_none_or(|known| known > at) {
            let at = at.max(self.now);
            self.waking[machine] = Some(at);
            let to = Address { machine, life: self.machines[machine].life };
            self.network.at(at, Happening::Wake { to });
        }
    }

    /// A machine's process is no more; another starts after a while.
    pub(super) fn gone(&mut self, machine: usize, after: i64) {
        if let Ok(step) = self.machines[machine].recovery_step() {
            self.tally.note(format!("recovery: cut off at {step}"));
        }
        self.waking[machine] = None;
        self.flowing.retain(|one| one.to.machine != machine);
        self.network.at(self.now + after, Happening::Start { machine });
    }

    pub(super) fn server_start(&mut self) -> Result<(), String> {
        if self.server.is_up() {
            return Ok(());
        }
        self.say(format_args!("the server starts"));
        self.server.start()
    }

    pub(super) fn server_crashed(&mut self, point: Option<&'static str>) {
        if let Some(point) = point {
            self.say(format_args!("the server crashes: {point}"));
            self.server_gone();
        }
    }

    /// The server's process is no more; another starts after a while.
    pub(super) fn server_gone(&mut self) {
        self.server.kill();
        for one in std::mem::take(&mut self.flowing) {
            // The machine hears of it, or only that it hears nothing.
            if self.network.dice.happens(800) && one.mute_in.is_none() {
                let at = one.last_at.max(self.now + self.network.latency());
                let end = Happening::StreamEnd { to: one.to, stream: one.number, reason: "the connection broke" };
                self.network.at(at, end);
            }
        }
        let after = self.network.dice.between(20, 6000);
        self.network.at(self.now + after, Happening::ServerStart);
    }

    pub(super) fn addressed(&mut self, to: Address) -> Option<&mut Machine> {
        Some(&mut self.machines[to.machine]).filter(|machine| machine.is_up() && machine.life == to.life)
    }
}

//! A simulated world: one server, several machines with replicas, a network between them, and one thread that lets
//! everything happen in order of a clock that nobody waits for. Must not judge: that is for the invariants.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hearth_replica::sync::{Ask, Deed, Heard};
use hearth_simulated::Interruption;

use super::dice::Dice;
use super::faults::{Fault, Interruptions, Weather, Who};
use super::invariants;
use super::machine::{Listening, Machine, Worked};
use super::model::{MARK, Model};
use super::network::{Address, Fate, Flowing, Happening, Network, PATIENCE, SILENCE};
use super::people;
use super::plan::{Act, Plan};
use super::server::{HOME, Hand, KEYS, NoAnswer, ServerSide};
use super::trace::Trace;

/// Things that happen in one run at most; more is a loop without end.
const STEPS_MAX: u64 = 60_000;
/// Rounds of the server's look for what others wrote.
const NOTICE_MILLIS: i64 = 400;
/// The key of clients of the API.
const CLIENT_KEY: usize = KEYS - 1;

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
        let interruptions = Interruptions::install();
        if let Some(point) = plan.crash_at {
            interruptions.crash_at(point);
        }
        let mut dice = Dice::new(plan.seed ^ 0x5eed);
        let mut bits = dice.fork(1);
        hearth_simulated::random_by(Some(Box::new(move |bytes| bits.fill(bytes))));
        let failed = |error: std::io::Error| error.to_string();
        let data = dir.join("server");
        std::fs::create_dir_all(&data).map_err(failed)?;
        std::fs::copy(templates.join("server/hearth.db"), data.join("hearth.db")).map_err(failed)?;
        let passed = Hand::default();
        let server = ServerSide::new(data, passed.clone(), interruptions.clone(), |config| {
            config.retention = plan.retention;
            config.rate_limits = plan.limits;
        });
        let mut machines = Vec::new();
        for number in 0..plan.machines {
            let db = dir.join(format!("replica-{number}.db"));
            std::fs::copy(templates.join("replica.db"), &db).map_err(failed)?;
            machines.push(Machine::new(number, db, dice.fork(100 + number as u64), interruptions.clone())?);
        }
        let mut network = Network::new(dice.fork(2), plan.weather.clone());
        for (number, (time, ..)) in plan.acts.iter().enumerate() {
            network.at(*time, Happening::Act(number));
        }
        network.at(0, Happening::ServerStart);
        for machine in 0..plan.machines {
            network.at(dice.between(1, 400), Happening::Start { machine });
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
        self.happen(what)?;
        self.flow();
        self.look()
    }

    /// What the server has committed, and what the replicas show of it.
    fn look(&mut self) -> Result<(), String> {
        let World { model, server, machines, .. } = self;
        model.look(&server.data, HOME)?;
        for machine in machines {
            let (number, unaware) = (machine.number, machine.unaware);
            invariants::check(&machine.eye, &mut machine.book, model, unaware)
                .map_err(|why| format!("replica {number}: {why}"))?;
        }
        Ok(())
    }

    fn happen(&mut self, what: Happening) -> Result<(), String> {
        match what {
            Happening::Act(number) => self.act(number),
            Happening::Question { from, ticket, ask, wanted } => self.question(from, ticket, &ask, wanted),
            Happening::Answer { to, ticket, answer } => {
                let Some(machine) = self.addressed(to) else { return Ok(()) };
                let Some(place) = machine.asked.iter().position(|asked| *asked == ticket) else { return Ok(()) };
                machine.asked.swap_remove(place);
                if machine.polls.remove(&ticket) && answer.is_ok() {
                    machine.unaware = false;
                }
                let is_final = |answer: &hearth_replica::sync::Answer| match answer.status {
                    200..300 => !answer.body.is_empty() || answer.etag.is_some(),
                    status => status < 429 && status != 408,
                };
                if answer.as_ref().is_ok_and(is_final)
                    && let Some((what, _)) = machine.sent_as.remove(&ticket)
                {
                    machine.unanswered.remove(&what);
                }
                let text = match &answer {
                    Ok(answer) => answer.status.to_string(),
                    Err(why) => why.clone(),
                };
                self.say(format_args!("r{} hears {ticket}: {text}", to.machine));
                self.tell(to.machine, Heard::Answer { ticket, answer })
            }
            Happening::StreamWish { from, stream, ask } => self.stream_wish(from, stream, &ask),
            Happening::StreamOpen { to, stream } => {
                let now = self.now;
                let Some(listening) = self.listening(to, stream) else { return Ok(()) };
                (listening.open, listening.heard_at) = (true, now);
                self.machines[to.machine].unaware = false;
                self.network.at(now + SILENCE, Happening::Silence { to, stream });
                self.say(format_args!("r{} has its stream {stream}", to.machine));
                self.tell(to.machine, Heard::StreamOpened)
            }
            Happening::StreamRefused { to, stream, answer } => {
                if self.listening(to, stream).is_none() {
                    return Ok(());
                }
                self.machines[to.machine].unaware &= answer.status != 410;
                let text = String::from_utf8_lossy(&answer.body);
                if text.contains(r#""reason":"retention""#) && self.machines[to.machine].is_filling() {
                    return Err(format!("the first read of replica {} has expired", to.machine));
                }
                self.say(format_args!("r{} is refused its stream: {}", to.machine, answer.status));
                self.tell(to.machine, Heard::StreamRefused(answer))
            }
            Happening::Bytes { to, stream, bytes } => self.bytes(to, stream, &bytes),
            Happening::StreamEnd { to, stream, reason } => {
                if self.listening(to, stream).is_none() {
                    return Ok(());
                }
                self.say(format_args!("r{}'s stream {stream} is over: {reason}", to.machine));
                self.machines[to.machine].stream = None;
                self.tell(to.machine, Heard::StreamEnded { reason: reason.to_owned() })
            }
            Happening::Silence { to, stream } => {
                let now = self.now;
                let Some(listening) = self.listening(to, stream) else { return Ok(()) };
                let due = listening.heard_at + SILENCE;
                let next = Happening::Silence { to, stream };
                if due > now {
                    self.network.at(due, next);
                } else {
                    self.network.at(now, Happening::StreamEnd { to, stream, reason: "it says nothing" });
                }
                Ok(())
            }
            Happening::Wake { to } => {
                self.waking[to.machine] = None;
                let Some(machine) = self.addressed(to) else { return Ok(()) };
                match machine.wake_at() {
                    Some(at) if at <= self.now => self.tell(to.machine, Heard::Timer),
                    _ => {
                        self.set_alarm(to.machine);
                        Ok(())
                    }
                }
            }
            Happening::Bell { machine } => {
                if !self.machines[machine].is_up() {
                    return Ok(());
                }
                self.tell(machine, Heard::DatabaseChanged)
            }
            Happening::Start { machine } => self.start(machine),
            Happening::ServerStart => self.server_start(),
            Happening::Notice => {
                let crashed = self.server.notice();
                self.server_crashed(crashed);
                Ok(())
            }
            Happening::Tidy => {
                self.tidy();
                let every = self.server.retention().map_or(60_000, |kept| kept.as_millis() as i64);
                self.network.at(self.now + every.clamp(250, 60_000), Happening::Tidy);
                Ok(())
            }
            Happening::Resume { machine } => {
                self.machines[machine].screen.resume().map_err(|error| error.to_string())?;
                self.say(format_args!("r{machine} person: resumes"));
                self.network.at(self.now + 1, Happening::Bell { machine });
                Ok(())
            }
            Happening::ClientAgain { ask } => self.client(&ask, false),
            Happening::KeyBack { key } => {
                self.say(format_args!("key {key} is whole again"));
                self.server.change_key(key, false, &[])?;
                self.network.at(self.now + NOTICE_MILLIS, Happening::Notice);
                Ok(())
            }
        }
    }

    fn act(&mut self, number: usize) -> Result<(), String> {
        self.acts_left -= 1;
        let (_, act, chance) = self.plan.acts[number];
        let (mut dice, mark) = (Dice::new(chance), format!("{MARK}{number}"));
        match act {
            Act::Person(machine) => {
                let told = people::person(&self.machines[machine], &mut dice, &mark)?;
                self.edited(machine, "person", &told, &mut dice);
            }
            Act::Script(machine) => {
                let told = people::script(&self.machines[machine], &mut dice, &mark)?;
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
                self.has_slept = true;
                match whose {
                    Some(machine) => self.machines[machine].wrong_by += step,
                    None => self.server.wrong_by.set(self.server.wrong_by.get() + step),
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

    /// A client of the API, on a network without faults.
    fn client(&mut self, ask: &Ask, again: bool) -> Result<(), String> {
        let mut first: Option<Vec<u8>> = None;
        for _ in 0..if again { 2 } else { 1 } {
            let answer = match self.call(CLIENT_KEY, ask)? {
                Ok(answer) => answer,
                Err(why) => {
                    self.say(format_args!("a client's {} {}: {why:?}", ask.verb, ask.path));
                    self.network.at(self.now + 10_000, Happening::ClientAgain { ask: ask.clone() });
                    return Ok(());
                }
            };
            // Whoever asks again with the same key within a day is told what he was told, or would have been told.
            let key = ask.headers.iter().find(|(name, _)| *name == "idempotency-key").map(|(_, key)| key.as_str());
            let had_effect = key.is_some_and(|key| self.model.present().keys.keys().any(|(known, _)| known == key));
            if had_effect && matches!(answer.status, 404 | 409 | 412) && !self.has_slept {
                return Err(format!(
                    "{} {} had its effect, but is answered with {}",
                    ask.verb, ask.path, answer.status
                ));
            }
            self.say(format_args!("a client's {} {}: {}", ask.verb, ask.path, answer.status));
            let is_kept = (200..300).contains(&answer.status);
            match &first {
                Some(body) if is_kept && *body != answer.body => {
                    return Err(format!("{} {} is answered differently the second time", ask.verb, ask.path));
                }
                _ => first = is_kept.then(|| answer.body.clone()),
            }
        }
        Ok(())
    }

    /// Asks the server; what it acknowledges must be there.
    fn call(&mut self, key: usize, ask: &Ask) -> Result<Result<hearth_replica::sync::Answer, NoAnswer>, String> {
        let called = self.server.call(key, ask);
        match &called {
            Ok(answer) => {
                self.model.look(&self.server.data, HOME)?;
                let head = self.model.present().head;
                for rev in people::acknowledged(answer) {
                    if rev > head {
                        return Err(format!(
                            "{} {} is acknowledged at {rev}, but the head is {head}",
                            ask.verb, ask.path
                        ));
                    }
                }
            }
            Err(NoAnswer::Crashed(point)) => {
                self.say(format_args!("the server crashes: {point}"));
                self.server_gone();
            }
            Err(NoAnswer::Down) => {}
        }
        Ok(called)
    }

    fn question(&mut self, from: Address, ticket: u64, ask: &Ask, wanted: bool) -> Result<(), String> {
        self.say(format_args!("the server gets r{} {ticket}: {} {}", from.machine, ask.verb, ask.path));
        self.requests += 1;
        let called = self.call(from.machine, ask)?;
        if !wanted {
            return Ok(());
        }
        let lost = self.network.weather.strikes(Fault::LostAnswer, &mut self.network.dice);
        let cut = self.network.weather.strikes(Fault::CutAnswer, &mut self.network.dice);
        let back = self.network.latency();
        let answer = match called {
            Ok(_) if lost => Err("the connection broke".to_owned()),
            Ok(answer) if cut => Ok(hearth_replica::sync::Answer { body: Vec::new(), ..answer }),
            Ok(answer) => Ok(answer),
            Err(NoAnswer::Down) => Err("connection refused".to_owned()),
            Err(NoAnswer::Crashed(_)) => Err("the connection broke".to_owned()),
        };
        if self.machines[from.machine].offline_until > self.now {
            return Ok(()); // it learns that nothing comes by waiting
        }
        self.network.at(self.now + back, Happening::Answer { to: from, ticket, answer });
        Ok(())
    }

    fn stream_wish(&mut self, from: Address, stream: u64, ask: &Ask) -> Result<(), String> {
        self.requests += 1;
        if self.listening(from, stream).is_none() {
            return Ok(());
        }
        let there = self.network.latency();
        let (cut_in, mute_in) = self.network.stream_fate();
        let at = self.now + there;
        match self.server.open(from.machine, ask) {
            Ok(Ok(body)) => {
                let flowing = Flowing { to: from, number: stream, body, cut_in, mute_in, last_at: at, left_at: None };
                self.flowing.push(flowing);
                self.network.at(at, Happening::StreamOpen { to: from, stream });
            }
            Ok(Err(answer)) => self.network.at(at, Happening::StreamRefused { to: from, stream, answer }),
            Err(why) => {
                self.network.at(at, Happening::StreamEnd { to: from, stream, reason: "connection refused" });
                if let NoAnswer::Crashed(point) = why {
                    self.say(format_args!("the server crashes: {point}"));
                    self.server_gone();
                }
            }
        }
        Ok(())
    }

    /// Takes from every stream what it has to say.
    fn flow(&mut self) {
        let mut kept = Vec::new();
        for mut one in std::mem::take(&mut self.flowing) {
            if one.left_at.is_some_and(|left| self.now - left > SILENCE) {
                continue;
            }
            if self.run_dry(&mut one) {
                kept.push(one);
            }
        }
        self.flowing = kept;
    }

    /// False: it is over.
    fn run_dry(&mut self, one: &mut Flowing) -> bool {
        let (to, stream) = (one.to, one.number);
        while let Some(said) = self.server.next(&mut one.body) {
            let Some(mut bytes) = said else {
                one.last_at = one.last_at.max(self.now + self.network.latency());
                let end = Happening::StreamEnd { to, stream, reason: "the server ended the stream" };
                self.network.at(one.last_at, end);
                return false;
            };
            if let Some(left) = &mut one.mute_in {
                let through = bytes.len().min(*left);
                *left -= through;
                bytes.truncate(through);
            }
            let breaks = one.cut_in.is_some_and(|left| left < bytes.len());
            if let Some(left) = &mut one.cut_in {
                bytes.truncate(*left);
                *left = left.saturating_sub(bytes.len());
            }
            // What the server wrote at once may come in pieces.
            let piece = self.network.dice.of(&[17, 400, 4000, usize::MAX]);
            for bytes in bytes.chunks(piece.min(bytes.len().max(1))) {
                one.last_at = one.last_at.max(self.now + self.network.latency());
                self.network.at(one.last_at, Happening::Bytes { to, stream, bytes: bytes.to_vec() });
            }
            if breaks {
                let end = Happening::StreamEnd { to, stream, reason: "the connection broke" };
                self.network.at(one.last_at, end);
                return false;
            }
        }
        true
    }

    fn bytes(&mut self, to: Address, stream: u64, bytes: &[u8]) -> Result<(), String> {
        let now = self.now;
        let is_offline = self.machines[to.machine].offline_until > now;
        let Some(listening) = self.listening(to, stream) else { return Ok(()) };
        listening.broken |= is_offline;
        if listening.broken {
            return Ok(());
        }
        listening.heard_at = now;
        let heard = listening.ear.hear(bytes);
        for heard in heard {
            if let Heard::Frames(stretch) = &heard {
                let (first, last) = (stretch.events.first().map(|e| e.id), stretch.events.last().map(|e| e.id));
                let ready = stretch.ready;
                self.say(format_args!("r{} hears events {first:?} to {last:?}, ready {ready:?}", to.machine));
            }
            if self.listening(to, stream).is_none() {
                return Ok(());
            }
            self.tell(to.machine, heard)?;
        }
        Ok(())
    }

    /// Starts a machine's process.
    fn start(&mut self, machine: usize) -> Result<(), String> {
        if self.machines[machine].is_up() {
            return Ok(());
        }
        self.say(format_args!("r{machine} starts"));
        let worked = self.machines[machine].start(self.now)?;
        self.carry_on(machine, worked)
    }

    /// Tells an engine something and does what it says.
    pub(super) fn tell(&mut self, machine: usize, heard: Heard) -> Result<(), String> {
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
        for deed in done.deeds {
            if self.interruptions.crashes(Who::Machine(machine), "replica acts") {
                self.say(format_args!("r{machine} crashes before {deed:?}"));
                self.machines[machine].kill();
                let after = self.dice.between(1, 3000);
                self.gone(machine, after);
                return Ok(());
            }
            self.deed(machine, deed)?;
        }
        self.set_alarm(machine);
        Ok(())
    }

    fn deed(&mut self, machine: usize, deed: Deed) -> Result<(), String> {
        let from = Address { machine, life: self.machines[machine].life };
        match deed {
            Deed::Ask { ticket, ask } => {
                self.say(format_args!("r{machine} asks {ticket}: {} {}", ask.verb, ask.path));
                self.check_ask(machine, ticket, &ask)?;
                if ask.path.starts_with("/v1/events") && ask.path.contains("cursor=") {
                    self.machines[machine].polls.insert(ticket);
                }
                self.machines[machine].asked.push(ticket);
                let late = Err("it does not answer in time".to_owned());
                self.network.at(self.now + PATIENCE, Happening::Answer { to: from, ticket, answer: late });
                let lost = |answer| Happening::Answer { to: from, ticket, answer };
                let fate = match self.machines[machine].offline_until > self.now {
                    true => Fate::Lost(5),
                    false => self.network.fate(),
                };
                match fate {
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
            Deed::OpenStream(ask) => {
                self.leave_stream(machine);
                let standing = invariants::standing(&self.machines[machine].eye).map_err(|error| error.to_string())?;
                if standing.whole && standing.position > 0 && ask.path.contains("cursor=start") {
                    return Err(format!(
                        "replica {machine} stands at {} and reads from the beginning",
                        standing.position
                    ));
                }
                self.streams += 1;
                let stream = self.streams;
                self.say(format_args!("r{machine} opens stream {stream}: {} {:?}", ask.path, ask.headers));
                let (ear, heard_at) = (Default::default(), self.now);
                let listening = Listening { number: stream, ear, open: false, heard_at, broken: false };
                self.machines[machine].stream = Some(listening);
                let fate = match self.machines[machine].offline_until > self.now {
                    true => Fate::Lost(5),
                    false => self.network.fate(),
                };
                let (after, what) = match fate {
                    Fate::Lost(after) => {
                        (after, Happening::StreamEnd { to: from, stream, reason: "the network is unreachable" })
                    }
                    Fate::Refused(after, answer) => (after, Happening::StreamRefused { to: from, stream, answer }),
                    Fate::Arrives(after, _) => (after, Happening::StreamWish { from, stream, ask }),
                };
                self.network.at(self.now + after, what);
            }
            Deed::CloseStream => self.leave_stream(machine),
            Deed::End(verdict) => {
                self.say(format_args!("r{machine} ends: {verdict:?}"));
                self.machines[machine].stop(self.now);
                self.machines[machine].verdict = Some(verdict);
                self.gone(machine, 5000);
            }
        }
        Ok(())
    }

    /// A write of what the server is known to have says on which revision it was made; and one that had no answer goes
    /// again with the same key.
    fn check_ask(&mut self, machine: usize, ticket: u64, ask: &Ask) -> Result<(), String> {
        let header = |name: &str| ask.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        let machine = &mut self.machines[machine];
        let what = (ask.path.clone(), ask.body.clone().unwrap_or_default());
        // A request that was fixed before goes as it is, whatever has become known since.
        let attempts = "SELECT coalesce(max(attempts), 0) FROM edits WHERE idempotency_key = ?1";
        let attempts = machine.eye.prepare_cached(attempts).and_then(|mut found| {
            found.query_row([header("idempotency-key").unwrap_or_default()], |row| row.get::<_, i64>(0))
        });
        let is_new = attempts.map_err(|error| error.to_string())? == 1;
        if matches!(ask.verb.as_str(), "PATCH" | "DELETE") && header("if-match").is_none() && is_new {
            let id = ask.path.rsplit('/').next().unwrap_or_default();
            let rows = invariants::rows(&machine.eye).map_err(|error| error.to_string())?;
            let known = rows.iter().find(|((kind, name), _)| name == id || kind.collection() == id);
            if let Some((_, row)) = known.filter(|(_, row)| row["rev"].is_i64()) {
                return Err(format!("{} {} is sent without the condition {}", ask.verb, ask.path, row["rev"]));
            }
        }
        let Some(key) = header("idempotency-key") else { return Ok(()) };
        if !what.1.is_empty() {
            machine.sent_as.insert(ticket, (what.clone(), key.clone()));
            if let Some(known) = machine.unanswered.insert(what, key.clone()).filter(|known| *known != key) {
                return Err(format!("{} {} goes again as {key}, but was sent as {known}", ask.verb, ask.path));
            }
        }
        Ok(())
    }

    fn leave_stream(&mut self, machine: usize) {
        let Some(left) = self.machines[machine].stream.take() else { return };
        let now = self.now;
        // The server hears of it, unless nothing comes through any more.
        self.flowing.retain_mut(|one| {
            if one.number == left.number {
                one.left_at = Some(now);
            }
            one.number != left.number || one.mute_in.is_some()
        });
    }

    fn set_alarm(&mut self, machine: usize) {
        let Some(at) = self.machines[machine].wake_at() else { return };
        if self.waking[machine].is_none_or(|known| known > at) {
            let at = at.max(self.now);
            self.waking[machine] = Some(at);
            let to = Address { machine, life: self.machines[machine].life };
            self.network.at(at, Happening::Wake { to });
        }
    }

    /// A machine's process is no more; another starts after a while.
    fn gone(&mut self, machine: usize, after: i64) {
        self.waking[machine] = None;
        self.flowing.retain(|one| one.to.machine != machine);
        self.network.at(self.now + after, Happening::Start { machine });
    }

    fn server_crashed(&mut self, point: Option<&'static str>) {
        if let Some(point) = point {
            self.say(format_args!("the server crashes: {point}"));
            self.server_gone();
        }
    }

    /// The server's process is no more; another starts after a while.
    fn server_gone(&mut self) {
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

    fn server_start(&mut self) -> Result<(), String> {
        if self.server.is_up() {
            return Ok(());
        }
        self.say(format_args!("the server starts"));
        self.server.start()
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
        self.machines.iter_mut().for_each(|machine| machine.unaware = true);
        let (way, head) = (if by_files { "by its files" } else { "by the command" }, self.model.present().head);
        self.say(format_args!("the server is put back to {head} {way}"));
        Ok(())
    }

    fn tidy(&mut self) {
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
                    | Happening::Silence { .. }
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

    fn addressed(&mut self, to: Address) -> Option<&mut Machine> {
        Some(&mut self.machines[to.machine]).filter(|machine| machine.is_up() && machine.life == to.life)
    }

    fn listening(&mut self, to: Address, stream: u64) -> Option<&mut Listening> {
        self.addressed(to)?.stream.as_mut().filter(|listening| listening.number == stream)
    }

    /// From now on nothing goes wrong, and what was broken is whole.
    pub(super) fn clear_up(&mut self) -> Result<(), String> {
        self.say(format_args!("from now on nothing goes wrong"));
        self.resting = true;
        self.network.weather = Weather::fair();
        if self.plan.crash_at.is_none() {
            self.interruptions.disarm();
        }
        for one in &mut self.flowing {
            (one.cut_in, one.mute_in) = (None, if one.mute_in.is_some() { Some(0) } else { None });
        }
        for machine in 0..self.machines.len() {
            self.machines[machine].offline_until = 0;
            self.server.change_key(machine, false, &[])?;
            self.network.at(self.now, Happening::Start { machine });
            self.network.at(self.now, Happening::Resume { machine });
        }
        self.network.at(self.now, Happening::ServerStart);
        self.network.at(self.now + NOTICE_MILLIS, Happening::Notice);
        Ok(())
    }

    pub(super) fn say(&mut self, text: std::fmt::Arguments<'_>) {
        self.trace.say(self.now, text);
    }
}

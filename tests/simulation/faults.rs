//! What can go wrong in a simulation, how often in this run, and where a process is interrupted. Must not know how the
//! world is put right again.

use std::cell::RefCell;
use std::rc::Rc;

use hearth_simulated::Interruption;

use super::dice::Dice;
use super::tally::Tally;

/// A kind of fault, each with its own rate in each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// A request never arrives.
    LostRequest,
    /// A request arrives and its answer does not.
    LostAnswer,
    /// An answer's head arrives and its body does not.
    CutAnswer,
    /// A message takes seconds.
    Delay,
    /// A request arrives twice.
    Duplicate,
    /// Somebody on the way, or the server, says 429 with Retry-After.
    TooMany,
    /// Somebody on the way says 500, 502 or 503.
    ServerError,
    /// A stream breaks off after any byte.
    StreamCut,
    /// A stream stays open and says nothing any more.
    StreamMute,
    /// The server is killed and started again.
    ServerKill,
    /// The server is killed at one of its points.
    ServerCrash,
    /// The server's disk is full for a moment.
    ServerDiskFull,
    /// The server is put back by its own command.
    Restore,
    /// The server's files are put back by hand.
    RestoreFiles,
    /// The upkeep thins out events, soon after they happened.
    Retention,
    /// A key is revoked and given back.
    Revoked,
    /// A key loses scopes and gets them back.
    Narrowed,
    /// A wall clock is set to another time.
    ClockStep,
    /// A replica's process is killed and started again.
    Kill,
    /// A replica's process is killed at one of its points.
    Crash,
    /// A replica's disk is full for a moment.
    DiskFull,
    /// A machine is without network for a while.
    Offline,
    /// All machines sleep for more than a day.
    Night,
    /// Edits that the server will refuse.
    Poison,
    /// A second process wants to sync the same database.
    SecondProcess,
    /// Somebody on the way, as a network's sign-in page or a proxy, answers with a page of its own.
    Stranger,
    /// Something on the way refuses or cuts whatever is a stream, and lets polls pass.
    StreamBarred,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 27] = [
        Fault::LostRequest,
        Fault::LostAnswer,
        Fault::CutAnswer,
        Fault::Delay,
        Fault::Duplicate,
        Fault::TooMany,
        Fault::ServerError,
        Fault::StreamCut,
        Fault::StreamMute,
        Fault::ServerKill,
        Fault::ServerCrash,
        Fault::ServerDiskFull,
        Fault::Restore,
        Fault::RestoreFiles,
        Fault::Retention,
        Fault::Revoked,
        Fault::Narrowed,
        Fault::ClockStep,
        Fault::Kill,
        Fault::Crash,
        Fault::DiskFull,
        Fault::Offline,
        Fault::Night,
        Fault::Poison,
        Fault::SecondProcess,
        Fault::Stranger,
        Fault::StreamBarred,
    ];

    /// So many of them are as old as the worlds that are known by their seeds. What the others throw is thrown apart, so
    /// that a world without them goes as it always went.
    const OLD: usize = 25;

    /// The old ones.
    pub fn old() -> &'static [Fault] {
        &Fault::ALL[..Fault::OLD]
    }

    /// The others.
    pub fn young() -> &'static [Fault] {
        &Fault::ALL[Fault::OLD..]
    }
}

/// How often each fault happens in this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weather(Vec<(Fault, Rate)>);

/// How often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rate {
    /// Never.
    None,
    /// Now and then.
    Rare,
    /// All the time.
    Heavy,
}

impl Weather {
    /// Nothing goes wrong.
    pub fn fair() -> Weather {
        Weather(Vec::new())
    }

    /// These faults all the time, and no others.
    pub fn all_the_time(faults: &[Fault]) -> Weather {
        Weather(faults.iter().map(|fault| (*fault, Rate::Heavy)).collect())
    }

    /// Draws the rates, those of the young ones with dice of their own: in some runs one fault alone, in some many at
    /// once.
    pub fn draw(dice: &mut Dice, apart: &mut Dice) -> Weather {
        let odds = dice.of(&[(150, 50), (350, 100), (500, 200)]);
        let rate = |dice: &mut Dice| match (dice.happens(odds.1), dice.happens(odds.0)) {
            (true, _) => Rate::Heavy,
            (_, true) => Rate::Rare,
            _ => Rate::None,
        };
        let old = Fault::old().iter().map(|fault| (*fault, rate(dice)));
        let young = Fault::young().iter().map(|fault| (*fault, rate(apart)));
        Weather(old.chain(young).filter(|(_, rate)| *rate != Rate::None).collect())
    }

    /// The same without one fault.
    pub fn without(&self, fault: Fault) -> Weather {
        Weather(self.0.iter().filter(|(kind, _)| *kind != fault).copied().collect())
    }

    /// The faults that happen at all.
    pub fn faults(&self) -> impl Iterator<Item = Fault> {
        self.0.iter().map(|(fault, _)| *fault)
    }

    /// How often a fault happens.
    pub fn rate(&self, fault: Fault) -> Rate {
        self.0.iter().find(|(kind, _)| *kind == fault).map_or(Rate::None, |(_, rate)| *rate)
    }

    /// Whether it happens to this message or stream.
    pub fn strikes(&self, fault: Fault, dice: &mut Dice) -> bool {
        // Thrown in any case, so that a run without this fault goes the same way otherwise.
        let throw = dice.bits() % 1000;
        throw
            < match self.rate(fault) {
                Rate::None => 0,
                Rate::Rare => 25,
                Rate::Heavy => 200,
            }
    }
}

impl std::fmt::Display for Weather {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("fair");
        }
        for (number, (fault, rate)) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            let heavy = if *rate == Rate::Heavy { "!" } else { "" };
            write!(f, "{comma}{fault:?}{heavy}")?;
        }
        Ok(())
    }
}

/// Whose code runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The server's.
    Server,
    /// A replica's.
    Machine(usize),
}

#[derive(Debug, Default)]
struct Points {
    running: Option<Who>,
    armed: Vec<(Who, u32, Interruption)>,
    /// The point that crashes whoever passes it, counted over the whole run.
    target: Option<u64>,
    passed: u64,
    crashed: Option<&'static str>,
    tally: Tally,
    /// Points passed by what runs now.
    in_a_row: u32,
    endless: bool,
}

/// Points that a process passes over one thing that it hears; more is a loop without end.
const IN_A_ROW_MAX: u32 = 10_000;

/// The points that processes pass, and what happens to them there.
#[derive(Debug, Clone, Default)]
pub struct Interruptions(Rc<RefCell<Points>>);

impl Interruptions {
    /// Interrupts the code of this thread from now on.
    pub fn install(tally: Tally) -> Interruptions {
        let all = Interruptions(Rc::new(RefCell::new(Points { tally, ..Points::default() })));
        let here = all.clone();
        hearth_simulated::set_interruption_hook(Some(Box::new(move |point| here.pass(point))));
        all
    }

    /// Crashes whoever passes the point of this number.
    pub fn crash_at(&self, target: u64) {
        self.0.borrow_mut().target = Some(target);
    }

    /// Lets something happen at the point that a process passes after so many others.
    pub fn arm(&self, who: Who, after: u32, what: Interruption) {
        self.0.borrow_mut().armed.push((who, after, what));
    }

    /// Nothing happens any more.
    pub fn disarm(&self) {
        let mut points = self.0.borrow_mut();
        points.armed.clear();
        points.target = None;
    }

    /// Whether a process went round without end, and was ended.
    pub fn endless(&self) -> bool {
        self.0.borrow().endless
    }

    /// Points passed so far.
    pub fn passed(&self) -> u64 {
        self.0.borrow().passed
    }

    /// Runs a process's code; with the point at which it crashed, if it did.
    pub fn run<T>(&self, who: Who, work: impl FnOnce() -> T) -> (T, Option<&'static str>) {
        let mut points = self.0.borrow_mut();
        (points.running, points.in_a_row) = (Some(who), 0);
        drop(points);
        let value = work();
        let mut points = self.0.borrow_mut();
        points.running = None;
        (value, points.crashed.take())
    }

    /// A point outside the code, between two things that a process does.
    pub fn crashes(&self, who: Who, point: &'static str) -> bool {
        let (happened, crashed) = self.run(who, || self.pass(point));
        crashed.is_some() || happened == Some(Interruption::Crash)
    }

    fn pass(&self, point: &'static str) -> Option<Interruption> {
        let mut points = self.0.borrow_mut();
        let who = points.running?;
        points.passed += 1;
        points.in_a_row += 1;
        points.endless |= points.in_a_row > IN_A_ROW_MAX;
        let ends = points.target == Some(points.passed) || points.endless;
        let mut happens = ends.then_some(Interruption::Crash);
        if let Some(at) = points.armed.iter().position(|(whose, ..)| *whose == who) {
            if points.armed[at].1 == 0 {
                happens = Some(points.armed.remove(at).2);
            } else {
                points.armed[at].1 -= 1;
            }
        }
        if let Some(what) = happens {
            points.tally.note(format!("point: {what:?} where {point}"));
        }
        if happens == Some(Interruption::Crash) {
            points.crashed = Some(point);
        }
        happens
    }
}

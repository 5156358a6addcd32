//! Crashes and full disks at the interruption points of the programs. A point is a call of
//! `hearth_simulated::interruption` in the code, or a point between two actions of a process. Must not know what a
//! process does at a point.

use std::cell::RefCell;
use std::rc::Rc;

use hearth_simulated::Interruption;

use super::counters::Counters;

/// A simulated process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// The server.
    Server,
    /// The syncing process of the machine with this number.
    Machine(usize),
}

/// An interruption that waits until its process has passed some points.
#[derive(Debug)]
struct Armed {
    process: Process,
    points_left: u32,
    interruption: Interruption,
}

#[derive(Debug, Default)]
struct Points {
    running: Option<Process>,
    armed: Vec<Armed>,
    /// The number of the point at which the running process crashes, counted over the whole run.
    crash_at: Option<u64>,
    passed: u64,
    /// The point at which the running process crashed.
    crashed: Option<&'static str>,
    counters: Counters,
    /// Points passed since the running process was called.
    passed_in_call: u32,
    found_endless_loop: bool,
}

/// The most points that a process passes in one call. More points mean an endless loop.
const POINTS_PER_CALL_MAX: u32 = 10_000;

/// Decides what happens at each interruption point. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Interruptions(Rc<RefCell<Points>>);

impl Interruptions {
    /// Installs the hook that is called at the interruption points of this thread.
    pub fn install(counters: Counters) -> Interruptions {
        let installed = Interruptions(Rc::new(RefCell::new(Points { counters, ..Points::default() })));
        let hook = installed.clone();
        hearth_simulated::set_interruption_hook(Some(Box::new(move |point| hook.pass(point))));
        installed
    }

    /// Crashes the running process at the point with this number, counted over the whole run.
    pub fn crash_at(&self, point: u64) {
        self.0.borrow_mut().crash_at = Some(point);
    }

    /// Interrupts the process at a point, after the process has passed `after` other points.
    pub fn arm(&self, process: Process, after: u32, interruption: Interruption) {
        self.0.borrow_mut().armed.push(Armed { process, points_left: after, interruption });
    }

    /// Removes all planned interruptions.
    pub fn disarm(&self) {
        let mut points = self.0.borrow_mut();
        points.armed.clear();
        points.crash_at = None;
    }

    /// True when a process passed more than [`POINTS_PER_CALL_MAX`] points in one call. The process was crashed.
    pub fn found_endless_loop(&self) -> bool {
        self.0.borrow().found_endless_loop
    }

    /// The number of points passed so far.
    pub fn points_passed(&self) -> u64 {
        self.0.borrow().passed
    }

    /// Runs code of a process. Returns the result and the point at which the process crashed, if it did.
    pub fn run<T>(&self, process: Process, work: impl FnOnce() -> T) -> (T, Option<&'static str>) {
        let mut points = self.0.borrow_mut();
        (points.running, points.passed_in_call) = (Some(process), 0);
        drop(points);
        let value = work();
        let mut points = self.0.borrow_mut();
        points.running = None;
        (value, points.crashed.take())
    }

    /// Passes a point between two actions of a process, outside its code. True when the process crashes at the point.
    pub fn crashes_at(&self, process: Process, point: &'static str) -> bool {
        let (interruption, crashed) = self.run(process, || self.pass(point));
        crashed.is_some() || interruption == Some(Interruption::Crash)
    }

    fn pass(&self, point: &'static str) -> Option<Interruption> {
        let mut points = self.0.borrow_mut();
        let process = points.running?;
        points.passed += 1;
        points.passed_in_call += 1;
        points.found_endless_loop |= points.passed_in_call > POINTS_PER_CALL_MAX;
        let crashes = points.crash_at == Some(points.passed) || points.found_endless_loop;
        let mut interruption = crashes.then_some(Interruption::Crash);
        if let Some(at) = points.armed.iter().position(|armed| armed.process == process) {
            if points.armed[at].points_left == 0 {
                interruption = Some(points.armed.remove(at).interruption);
            } else {
                points.armed[at].points_left -= 1;
            }
        }
        if let Some(happens) = interruption {
            points.counters.count(format!("point: {happens:?} at {point}"));
        }
        if interruption == Some(Interruption::Crash) {
            points.crashed = Some(point);
        }
        interruption
    }
}

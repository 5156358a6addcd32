//! The crash enumeration: runs a scenario once for each interruption point, with a crash exactly at the point. Points
//! are both sides of every commit of server and replica, every command of a replica's engine, and every response of the
//! server. Must not choose points by chance.

use super::scenarios::Scenario;
use super::simulator::Simulator;

/// The result of the runs of one scenario.
pub struct Enumeration {
    /// The number of interruption points of the run without a crash.
    pub points: u64,
    /// The points whose crash led to a failure, with the failure. Point 0 is the run without a crash.
    pub failures: Vec<(u64, String)>,
}

/// Runs the scenario without a crash, then with a crash at every `stride`th point.
pub fn run_with_crashes(scenario: &Scenario, simulator: &Simulator, stride: u64) -> Enumeration {
    let whole = simulator.run(scenario.plan(None), true);
    let points = whole.points;
    if let Err(why) = whole.result {
        return Enumeration { points, failures: vec![(0, why)] };
    }
    let is_missing = |text: &&&str| !whole.lines.iter().any(|line| line.contains(**text));
    if let Some(text) = scenario.expected_trace.iter().find(is_missing) {
        let why = format!("the trace does not contain `{text}`, which the scenario is about");
        return Enumeration { points, failures: vec![(0, why)] };
    }
    let mut failures = Vec::new();
    for point in (1..=points).step_by(stride.max(1) as usize) {
        if let Err(why) = simulator.run(scenario.plan(Some(point)), false).result {
            failures.push((point, why));
        }
    }
    Enumeration { points, failures }
}

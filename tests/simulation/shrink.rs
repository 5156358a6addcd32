//! Makes a failing plan smaller: removes faults and actions as long as the run fails in the same way. Must not know the
//! meaning of a failure.

use std::time::{Duration, Instant};

use super::plan::Plan;
use super::simulator::Simulator;

/// A smaller plan with the same failure. The search takes about `time`.
pub fn shrink(simulator: &Simulator, plan: &Plan, why: &str, time: Duration) -> Plan {
    let (started, kind) = (Instant::now(), failure_kind(why));
    let fails = |plan: &Plan| {
        started.elapsed() < time
            && simulator.run(plan.clone(), false).result.is_err_and(|why| failure_kind(&why) == kind)
    };
    let mut small = plan.clone();
    let faults: Vec<_> = small.fault_rates.faults().collect();
    for fault in faults {
        let smaller = Plan { fault_rates: small.fault_rates.without(fault), ..small.clone() };
        if fails(&smaller) {
            small = smaller;
        }
    }
    let mut piece = small.actions.len().div_ceil(2);
    while piece > 0 && started.elapsed() < time {
        let mut from = 0;
        while from < small.actions.len() {
            let mut smaller = small.clone();
            smaller.actions.drain(from..(from + piece).min(small.actions.len()));
            if fails(&smaller) {
                small = smaller;
            } else {
                from += piece;
            }
        }
        piece /= 2;
    }
    small
}

/// The first words of a failure without numbers and quoted names. Two runs that fail in the same way share the kind.
fn failure_kind(why: &str) -> String {
    let is_plain = |word: &&str| !word.chars().any(|c| c.is_ascii_digit()) && !word.contains('"');
    why.split_whitespace().filter(is_plain).take(8).collect::<Vec<_>>().join(" ")
}

//! Making a failing plan small: faults and acts are left out as long as the run still fails in the same way. Must not
//! know what a failure means.

use std::time::{Duration, Instant};

use super::Ground;
use super::plan::Plan;

/// A smaller plan that fails like this one; found within about `time`.
pub fn shrink(ground: &Ground, plan: &Plan, why: &str, time: Duration) -> Plan {
    let (begun, kind) = (Instant::now(), kind_of(why));
    let fails = |plan: &Plan| {
        begun.elapsed() < time && ground.run(plan.clone(), false).result.is_err_and(|why| kind_of(&why) == kind)
    };
    let mut small = plan.clone();
    let faults: Vec<_> = small.weather.faults().collect();
    for fault in faults {
        let less = Plan { weather: small.weather.without(fault), ..small.clone() };
        if fails(&less) {
            small = less;
        }
    }
    let mut piece = small.acts.len().div_ceil(2);
    while piece > 0 && begun.elapsed() < time {
        let mut from = 0;
        while from < small.acts.len() {
            let mut less = small.clone();
            less.acts.drain(from..(from + piece).min(small.acts.len()));
            if fails(&less) {
                small = less;
            } else {
                from += piece;
            }
        }
        piece /= 2;
    }
    small
}

/// A failure without its numbers and names: what two runs that fail alike share.
pub fn kind_of(why: &str) -> String {
    let plain = |word: &&str| !word.chars().any(|c| c.is_ascii_digit()) && !word.contains('"');
    why.split_whitespace().filter(plain).take(8).collect::<Vec<_>>().join(" ")
}

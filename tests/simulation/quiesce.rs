//! The end of a run: nothing goes wrong any more, time passes, and all must come to the same within a stated time and a
//! stated number of requests. Must not help anybody.

use super::network::Happening;
use super::people;
use super::server::HOME;
use super::world::World;
use super::{eye, invariants};

/// Virtual time within which a world comes to rest.
pub const TIME_MAX: i64 = 20 * 60_000;
/// Requests, streams included, that each replica has for it; and for each of its edits; and for each hundred records.
pub const REQUESTS_MAX: (u64, u64, u64) = (60, 4, 30);

/// What a run came to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rest {
    /// Virtual milliseconds until all was equal.
    pub time: i64,
    /// Requests until then.
    pub requests: u64,
}

impl World {
    /// Clears the weather and waits until all are equal.
    pub fn come_to_rest(&mut self) -> Result<Rest, String> {
        self.clear_up()?;
        let (begun, before) = (self.now, self.requests);
        let mut allowed = REQUESTS_MAX.0 * self.machines.len() as u64;
        for machine in &self.machines {
            let open = machine.book.sight.as_ref().map_or(0, |(_, edits)| edits.len() as u64);
            let records = self.model.present().versions.len() as u64;
            allowed += open * REQUESTS_MAX.1 + records.div_ceil(100) * REQUESTS_MAX.2;
        }
        loop {
            let unrest = self.unrest();
            let rest = Rest { time: self.now - begun, requests: self.requests - before };
            let Some(why) = unrest else {
                self.say(format_args!("all are equal after {} ms and {} requests", rest.time, rest.requests));
                self.are_equal()?;
                return Ok(rest);
            };
            if rest.time > TIME_MAX {
                return Err(format!("no rest after {} s: {why}", TIME_MAX / 1000));
            }
            if rest.requests > allowed {
                return Err(format!("no rest after {allowed} requests: {why}"));
            }
            self.agree()?;
            self.step()?;
        }
    }

    /// Whoever is asked agrees.
    fn agree(&mut self) -> Result<(), String> {
        for machine in 0..self.machines.len() {
            let sight = self.machines[machine].book.sight.as_ref();
            if sight.is_some_and(|(standing, _)| standing.question.is_some()) {
                let told = people::agree(&mut self.machines[machine], true)?;
                self.say(format_args!("r{machine} person: {told}"));
                self.network.at(self.now + 1, Happening::Bell { machine });
            }
        }
        Ok(())
    }

    /// Who is not there yet, as the last look shows it.
    fn unrest(&self) -> Option<String> {
        let head = self.model.present().head;
        self.machines.iter().find_map(|machine| {
            let number = machine.number;
            if let Some(verdict) = &machine.verdict {
                return Some(format!("replica {number} has ended: {verdict:?}"));
            }
            let Some((standing, edits)) = &machine.book.sight else {
                return Some(format!("replica {number} was never looked at"));
            };
            let is_there = machine.is_up() && standing.whole && matches!(standing.phase.as_str(), "live" | "polling");
            if !is_there || machine.unaware || standing.position < head {
                return Some(format!("replica {number} is {} at {} of {head}", standing.phase, standing.position));
            }
            let edit = edits.iter().find(|edit| !edit.needs_a_person())?;
            Some(format!("edit {} of replica {number} is {}", edit.id, edit.state))
        })
    }

    /// All replicas equal the server, save what waits for people.
    fn are_equal(&self) -> Result<(), String> {
        let (present, restored) = (self.model.present(), self.model.histories.len() > 1);
        for machine in &self.machines {
            let edits = eye::edits(&machine.stranger).map_err(|error| error.to_string())?;
            invariants::are_stuck_for_a_reason(&machine.book, &edits, &self.model)
                .map_err(|why| format!("replica {}: {why}", machine.number))?;
            invariants::are_still_held(&machine.stranger, &machine.book, &edits, &self.model)
                .map_err(|why| format!("replica {}: {why}", machine.number))?;
            let rows = eye::rows(&machine.stranger).map_err(|error| error.to_string())?;
            invariants::compare(present, restored, &Default::default(), present.head, &edits, &rows)
                .map_err(|why| format!("replica {} is not equal to home {HOME} at the end: {why}", machine.number))?;
            let astray = eye::not_in_search(&machine.stranger).map_err(|error| error.to_string())?;
            if !astray.is_empty() {
                return Err(format!("replica {}: search is not in step with {}", machine.number, astray.join(", ")));
            }
        }
        if self.plan.seed.is_multiple_of(16) {
            let faults = self.server.faults()?;
            if !faults.is_empty() {
                return Err(format!("the server is not sound at the end: {}", faults.join("; ")));
            }
        }
        Ok(())
    }
}

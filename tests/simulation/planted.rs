//! Faults that are planted in the code, one at a time, to see whether the simulation finds them: a simulation that
//! finds nothing proves nothing. Must not plant more than one at once.

use std::time::{Duration, Instant};

use super::Ground;
use super::faults::Fault;
use super::plan::Plan;

/// A fault in the code.
pub struct Planted {
    /// Its name, as the code asks for it.
    pub name: &'static str,
    /// What the machine does all the time while it is looked for.
    pub with: &'static [Fault],
}

/// All faults that can be planted.
pub const PLANTED: [Planted; 30] = [
    // The server.
    one("answer before commit", &[Fault::ServerDiskFull]),
    one("event in a transaction of its own", &[Fault::ServerCrash]),
    one("receipt in a transaction of its own", &[Fault::ServerCrash]),
    one("receipt not kept", &[]),
    one("ids used again after thinning", &[Fault::Retention, Fault::ClockStep]),
    one("thinning takes the present", &[Fault::Retention]),
    one("a first read expires", &[Fault::Retention, Fault::Offline, Fault::StreamCut]),
    one("a gap goes unnoticed", &[Fault::Retention, Fault::Offline]),
    one("graves not shown", &[Fault::Retention, Fault::Offline, Fault::StreamCut]),
    one("another history goes unnoticed", &[Fault::RestoreFiles, Fault::Kill]),
    one("the home's clock steps back", &[Fault::ClockStep]),
    one("condition ignored", &[Fault::Night, Fault::LostAnswer]),
    one("head not kept", &[Fault::ServerKill]),
    one("used ids are free again", &[Fault::Night, Fault::LostAnswer]),
    // The replica.
    one("position before rows", &[Fault::Crash]),
    one("cursor not kept", &[Fault::Kill]),
    one("an older image wins", &[Fault::Retention, Fault::Offline, Fault::Duplicate]),
    one("deletes not remembered", &[Fault::Retention, Fault::Offline]),
    one("overlay removed at the answer", &[]),
    one("image of the edited row", &[Fault::Poison]),
    one("gate left open", &[]),
    one("live before the present is reached", &[Fault::Offline]),
    one("a refused edit is dropped", &[Fault::Poison]),
    one("an overtaken edit counts as sent", &[Fault::Delay, Fault::Offline]),
    one("a server error counts as sent", &[Fault::ServerError]),
    one("no condition is sent", &[Fault::Night, Fault::LostAnswer]),
    one("a retry has a new key", &[Fault::LostAnswer]),
    one("a start forgets what was being sent", &[Fault::Crash, Fault::Kill]),
    one("dependents do not wait", &[Fault::Offline, Fault::ServerError]),
    one("blocked for ever", &[Fault::Poison]),
];

const fn one(name: &'static str, with: &'static [Fault]) -> Planted {
    Planted { name, with }
}

/// A planted fault that was found.
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// How many were run.
    pub seeds: u64,
    /// What was not as it must be.
    pub why: String,
}

impl Planted {
    /// Plants it and runs seeds until it is found, for so long at most.
    pub fn look_for(&self, time: Duration) -> Result<Option<Found>, String> {
        hearth_simulated::plant(Some(self.name));
        let found = self.search(time);
        hearth_simulated::plant(None);
        found
    }

    fn search(&self, time: Duration) -> Result<Option<Found>, String> {
        let (begun, ground) = (Instant::now(), Ground::new()?);
        let mut seed = 0;
        while begun.elapsed() < time {
            seed += 1;
            if let Err(why) = ground.run(self.plan(seed), false).result {
                return Ok(Some(Found { seed, seeds: seed, why }));
            }
        }
        Ok(None)
    }

    /// A plan in which it should show.
    pub fn plan(&self, seed: u64) -> Plan {
        Plan::with(seed, self.with)
    }
}

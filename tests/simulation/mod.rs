//! The whole house in one thread: the real server, the real replicas and a network that fails, on a clock that nobody
//! waits for. A seed decides everything, so whatever goes wrong goes wrong again. Read in this order:
//!
//! - [`world`]: the loop; what happens next, and what comes of it.
//! - [`plan`], [`faults`], [`dice`]: who does what and what goes wrong, out of a seed.
//! - [`network`], [`server`], [`machine`], [`people`]: those who take part.
//! - [`eye`]: what a stranger sees of a replica; [`model`], [`invariants`], [`quiesce`]: what must be true after each step,
//!   and at the end.
//! - [`enumerate`]: fixed stories with a crash at every point.
//! - [`planted`]: faults in the code that must be found.
//! - [`trace`], [`shrink`]: what is told of a failure, and how it is made small; [`tally`]: how often what happened.

pub mod dice;
pub mod enumerate;
pub mod eye;
pub mod faults;
pub mod invariants;
pub mod machine;
pub mod model;
pub mod network;
pub mod people;
pub mod plan;
pub mod planted;
pub mod quiesce;
pub mod server;
pub mod shrink;
pub mod tally;
pub mod trace;
pub mod world;

use std::path::Path;

use self::plan::Plan;
use self::quiesce::Rest;
use self::world::World;

/// What a run came to.
#[derive(Debug)]
pub struct Report {
    /// How it ended; Err: what was not as it must be.
    pub result: Result<Rest, String>,
    /// Things that happened.
    pub steps: u64,
    /// Virtual milliseconds.
    pub time: i64,
    /// Points at which somebody could have crashed.
    pub points: u64,
    /// What happened, if it was wanted.
    pub lines: Vec<String>,
    /// How often what happened.
    pub counts: tally::Counts,
    /// A number that two runs share only if the same happened.
    pub sum: u64,
}

/// Files of worlds, in memory where the system has such a place.
#[derive(Debug)]
pub struct Ground {
    dir: tempfile::TempDir,
    worlds: std::cell::Cell<u64>,
}

impl Ground {
    /// Makes the files that every world begins with.
    pub fn new() -> Result<Ground, String> {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let dir = tempfile::Builder::new().prefix("hearth-simulation-").tempdir_in(place);
        let dir = dir.map_err(|error| error.to_string())?;
        let templates = dir.path().join("templates");
        server::make(&templates.join("server"))?;
        machine::make(&templates.join("replica.db"))?;
        Ok(Ground { dir, worlds: std::cell::Cell::new(0) })
    }

    /// Lets a plan happen in a world of its own.
    pub fn run(&self, plan: Plan, trace: bool) -> Report {
        self.worlds.set(self.worlds.get() + 1);
        let dir = self.dir.path().join(format!("world-{}", self.worlds.get()));
        let report = self.run_in(plan, &dir, trace);
        let _ = std::fs::remove_dir_all(&dir);
        report
    }

    /// The same in a directory that stays: there the databases can be looked at as they are in the end.
    pub fn run_in(&self, plan: Plan, dir: &Path, trace: bool) -> Report {
        run_in(plan, dir, &self.dir.path().join("templates"), trace)
    }
}

fn run_in(plan: Plan, dir: &Path, templates: &Path, trace: bool) -> Report {
    let restless = plan.restless;
    let mut world = match std::fs::create_dir_all(dir)
        .map_err(|error| error.to_string())
        .and_then(|()| World::new(plan, dir, templates, trace))
    {
        Ok(world) => world,
        Err(why) => {
            return Report {
                result: Err(why),
                steps: 0,
                time: 0,
                points: 0,
                lines: Vec::new(),
                counts: tally::Counts::new(),
                sum: 0,
            };
        }
    };
    let mut result = world.live().map(|()| Rest::default());
    if result.is_ok() && !restless {
        result = world.come_to_rest();
    }
    if let Err(why) = &result {
        world.say(format_args!("NOT AS IT MUST BE: {why}"));
    }
    let report = Report {
        result,
        steps: world.steps,
        time: world.now,
        points: world.interruptions.passed(),
        counts: world.counts(),
        lines: world.trace.lines().map(str::to_owned).collect(),
        sum: world.trace.sum(),
    };
    drop(world);
    hearth_simulated::set_interruption_hook(None);
    hearth_simulated::set_random_hook(None);
    report
}

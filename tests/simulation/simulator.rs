//! Runs plans in worlds of their own, and reports what happened. Must not judge a world.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use super::counters::Counts;
use super::plan::Plan;
use super::settle::Settled;
use super::world::World;
use super::{machine, server_template};

/// The result of a run.
#[derive(Debug)]
pub struct Report {
    /// How the world settled. Err: the invariant that was broken.
    pub result: Result<Settled, String>,
    /// The number of steps.
    pub steps: u64,
    /// The time of the world at the end, in milliseconds.
    pub time: i64,
    /// The number of interruption points that processes passed.
    pub points: u64,
    /// The trace; empty when no trace was requested.
    pub lines: Vec<String>,
    /// How often each fault, action and outcome occurred.
    pub counts: Counts,
    /// The hash of the trace. Two runs of one seed have the same hash.
    pub checksum: u64,
}

/// Runs plans. The files are in memory where the system has `/dev/shm`.
#[derive(Debug)]
pub struct Simulator {
    dir: tempfile::TempDir,
    worlds: Cell<u64>,
}

impl Simulator {
    /// Creates the database files with which every world starts.
    pub fn new() -> Result<Simulator, String> {
        if !hearth_simulated::IS_SIMULATED {
            return Err("this program was built without the hooks of the simulation".to_owned());
        }
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let dir = tempfile::Builder::new().prefix("hearth-simulation-").tempdir_in(parent);
        let simulator = Simulator { dir: dir.map_err(|error| error.to_string())?, worlds: Cell::new(0) };
        server_template::create_template(&simulator.templates().join("server"))?;
        machine::create_template(&simulator.templates().join("replica.db"))?;
        Ok(simulator)
    }

    /// Runs a plan in a new world, and deletes the files of the world.
    pub fn run(&self, plan: Plan, trace: bool) -> Report {
        self.worlds.set(self.worlds.get() + 1);
        let dir = self.dir.path().join(format!("world-{}", self.worlds.get()));
        let report = self.run_in(plan, &dir, trace);
        let _ = std::fs::remove_dir_all(&dir);
        report
    }

    /// Runs a plan with the files in `dir`. The databases stay there as they are at the end.
    pub fn run_in(&self, plan: Plan, dir: &Path, trace: bool) -> Report {
        let skip_settling = plan.skip_settling;
        let world = std::fs::create_dir_all(dir).map_err(|error| error.to_string());
        let world = world.and_then(|()| World::new(plan, dir, &self.templates(), trace));
        let report = match world {
            Ok(mut world) => {
                let result = run_world(&mut world, skip_settling);
                report_of(&world, result)
            }
            Err(why) => Report {
                result: Err(why),
                steps: 0,
                time: 0,
                points: 0,
                lines: Vec::new(),
                counts: Counts::new(),
                checksum: 0,
            },
        };
        hearth_simulated::set_interruption_hook(None);
        hearth_simulated::set_random_hook(None);
        report
    }

    fn templates(&self) -> PathBuf {
        self.dir.path().join("templates")
    }
}

fn run_world(world: &mut World, skip_settling: bool) -> Result<Settled, String> {
    let result = world.run_plan().and_then(|()| if skip_settling { Ok(Settled::default()) } else { world.settle() });
    if let Err(why) = &result {
        world.log(format_args!("BROKEN INVARIANT: {why}"));
    }
    result
}

fn report_of(world: &World, result: Result<Settled, String>) -> Report {
    Report {
        result,
        steps: world.steps,
        time: world.now,
        points: world.interruptions.points_passed(),
        counts: world.final_counts(),
        lines: world.trace.lines().map(str::to_owned).collect(),
        checksum: world.trace.checksum(),
    }
}

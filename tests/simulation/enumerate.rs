//! The crash enumerator: a few fixed stories, told once for each point at which a process can end, with a crash exactly
//! there. Points are both sides of every commit of server and replica, every deed of a replica and every answer of the
//! server. Must not choose points by chance.

use std::time::Duration;

use super::Ground;
use super::faults::Weather;
use super::plan::{Act, Plan};

/// A story that is told over and over.
pub struct Story {
    /// What it is about.
    pub name: &'static str,
    retention: Option<u64>,
    /// Words of its trace without which it is no longer about that.
    shows: &'static [&'static str],
    acts: &'static [(i64, Act)],
}

/// All stories.
pub const STORIES: [Story; 8] = [
    Story {
        name: "edits of two replicas and of clients",
        retention: None,
        shows: &["PATCH /v1/", "POST /v1/", "DELETE /v1/"],
        acts: &[
            (500, Act::Client),
            (600, Act::Person(0)),
            (700, Act::Script(1)),
            (900, Act::Person(1)),
            (1200, Act::Client),
            (1300, Act::Script(0)),
            (1500, Act::Person(0)),
            (1501, Act::Person(1)),
        ],
    },
    Story {
        name: "many edits made without a network",
        retention: None,
        shows: &["/bulk"],
        acts: &[
            (500, Act::Client),
            (600, Act::Person(1)),
            (700, Act::Offline(0, 2500)),
            (800, Act::Import(0)),
            (900, Act::Person(0)),
            (1000, Act::Person(0)),
            (1100, Act::Script(0)),
            (1200, Act::Client),
            (1300, Act::Person(0)),
            (1400, Act::Poison(0)),
            (1500, Act::Script(0)),
            (1600, Act::Person(0)),
            (1700, Act::Script(0)),
            (1800, Act::Person(0)),
        ],
    },
    Story {
        name: "edits that meet, and a person who decides",
        retention: None,
        shows: &["is conflict"],
        acts: &[
            (500, Act::Import(1)),
            (900, Act::Offline(0, 1500)),
            (950, Act::First(0, false)),
            (960, Act::Script(1)),
            (1000, Act::First(1, false)),
            (1010, Act::Person(0)),
            (1100, Act::First(1, true)),
            (1110, Act::Client),
            (4000, Act::Decide(0)),
            (5000, Act::Offline(1, 1500)),
            (5100, Act::First(1, false)),
            (5200, Act::First(0, false)),
            (9000, Act::Decide(1)),
            (9500, Act::Decide(0)),
        ],
    },
    Story {
        name: "a server that is put back",
        retention: None,
        shows: &["the server is put back", ": 410"],
        acts: &[
            (500, Act::Person(0)),
            (600, Act::Client),
            (700, Act::Person(1)),
            (900, Act::Backup),
            (1000, Act::Client),
            (1100, Act::Script(0)),
            (1200, Act::Person(1)),
            (1500, Act::RestoreFiles),
            (2500, Act::Person(0)),
        ],
    },
    Story {
        name: "a replica that was away too long",
        retention: Some(15),
        shows: &[": 410", "&fields=id,rev"],
        acts: &[
            (500, Act::Person(0)),
            (600, Act::Client),
            (700, Act::Client),
            (800, Act::Offline(0, 40_000)),
            (900, Act::Script(0)),
            (1000, Act::Person(1)),
            (1100, Act::Client),
            (1300, Act::Script(1)),
            (1400, Act::Script(1)),
            (1500, Act::Client),
            (1600, Act::Script(1)),
            (1700, Act::Person(1)),
            (1800, Act::Client),
            (39_000, Act::Client),
        ],
    },
    Story {
        name: "many edits whose answers are lost",
        retention: None,
        shows: &["/bulk", "the connection broke"],
        acts: &[
            (500, Act::Person(1)),
            (700, Act::Offline(0, 1500)),
            (800, Act::Import(0)),
            (900, Act::Person(0)),
            (1000, Act::Person(0)),
            (1100, Act::Script(0)),
            (1200, Act::Person(0)),
            (1250, Act::Script(0)),
            (1300, Act::Person(0)),
            (1350, Act::Script(0)),
            (1400, Act::Unanswered(0, 4000)),
            (2600, Act::Script(1)),
        ],
    },
    Story {
        name: "answers that are lost before a night",
        retention: None,
        shows: &["the connection broke", "hours pass"],
        acts: &[
            (500, Act::Person(0)),
            (600, Act::Client),
            (700, Act::Script(1)),
            (900, Act::Unanswered(0, 3000)),
            (1000, Act::Person(0)),
            (1100, Act::Script(0)),
            (1150, Act::Kill(0)),
            (1200, Act::Night(30)),
            (3000, Act::Script(0)),
        ],
    },
    Story {
        name: "a server that is put back by its command",
        retention: None,
        shows: &["by the command", ": 410"],
        acts: &[
            (500, Act::Person(0)),
            (600, Act::Client),
            (700, Act::Person(1)),
            (900, Act::Backup),
            (1000, Act::Client),
            (1100, Act::Script(0)),
            (1200, Act::Person(1)),
            (1300, Act::Offline(1, 2000)),
            (1400, Act::Person(1)),
            (1500, Act::Restore),
            (2500, Act::Person(0)),
        ],
    },
];

/// What came of a story.
pub struct Told {
    /// Points at which somebody could crash.
    pub points: u64,
    /// The points whose crash ended badly, and how.
    pub failures: Vec<(u64, String)>,
}

impl Story {
    /// The story with a crash at a point, or without any.
    pub fn plan(&self, crash_at: Option<u64>) -> Plan {
        let acts = self.acts.iter().enumerate().map(|(number, (time, act))| (*time, *act, number as u64 * 7919 + 5));
        Plan {
            seed: 16,
            weather: Weather::fair(),
            machines: 2,
            retention: self.retention.map(Duration::from_secs),
            limits: None,
            acts: acts.collect(),
            late: 0,
            breaks_off: 0,
            crash_at,
            restless: false,
        }
    }

    /// Tells it with a crash at every `stride`th point, after once without any.
    pub fn tell(&self, ground: &Ground, stride: u64) -> Told {
        let whole = ground.run(self.plan(None), true);
        if let Err(why) = whole.result {
            return Told { points: whole.points, failures: vec![(0, why)] };
        }
        if let Some(word) = self.shows.iter().find(|word| !whole.lines.iter().any(|line| line.contains(**word))) {
            let why = format!("nothing in it says `{word}`, which it is about");
            return Told { points: whole.points, failures: vec![(0, why)] };
        }
        let mut failures = Vec::new();
        for point in (1..=whole.points).step_by(stride.max(1) as usize) {
            if let Err(why) = ground.run(self.plan(Some(point)), false).result {
                failures.push((point, why));
            }
        }
        Told { points: whole.points, failures }
    }
}

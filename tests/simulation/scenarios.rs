//! The fixed scenarios of the crash enumeration. Must not contain chance: the actions and their seeds are fixed.

use std::time::Duration;

use super::action::{Action, PlannedAction};
use super::environment_fault::FaultRates;
use super::plan::Plan;

/// A short run that is repeated with a crash at each interruption point.
pub struct Scenario {
    /// What the scenario is about.
    pub name: &'static str,
    /// How long the server keeps events, in seconds; None for ever.
    retention: Option<u64>,
    /// Texts that the trace must contain. Without one of them, the scenario no longer shows what its name says.
    pub expected_trace: &'static [&'static str],
    /// The first actions: times in milliseconds of the world.
    beginning: &'static [(i64, Action)],
    /// The actions after the beginning.
    actions: &'static [(i64, Action)],
}

/// Some edits, then a backup, then edits that a restore of the backup loses.
const BACKUP_AND_EDITS: [(i64, Action); 7] = [
    (500, Action::Person(0)),
    (600, Action::Client),
    (700, Action::Person(1)),
    (900, Action::Backup),
    (1000, Action::Client),
    (1100, Action::Script(0)),
    (1200, Action::Person(1)),
];

/// All scenarios.
pub const SCENARIOS: [Scenario; 9] = [
    Scenario {
        name: "edits of two replicas and of clients",
        retention: None,
        expected_trace: &["PATCH /v1/", "POST /v1/", "DELETE /v1/"],
        beginning: &[],
        actions: &[
            (500, Action::Client),
            (600, Action::Person(0)),
            (700, Action::Script(1)),
            (900, Action::Person(1)),
            (1200, Action::Client),
            (1300, Action::Script(0)),
            (1500, Action::Person(0)),
            (1501, Action::Person(1)),
        ],
    },
    Scenario {
        name: "many edits made without a network",
        retention: None,
        expected_trace: &["/bulk"],
        beginning: &[],
        actions: &[
            (500, Action::Client),
            (600, Action::Person(1)),
            (700, Action::Offline(0, 2500)),
            (800, Action::Import(0)),
            (900, Action::Person(0)),
            (1000, Action::Person(0)),
            (1100, Action::Script(0)),
            (1200, Action::Client),
            (1300, Action::Person(0)),
            (1400, Action::InvalidEdit(0)),
            (1500, Action::Script(0)),
            (1600, Action::Person(0)),
            (1700, Action::Script(0)),
            (1800, Action::Person(0)),
        ],
    },
    Scenario {
        name: "conflicting edits, and a person who decides",
        retention: None,
        expected_trace: &["in state conflict"],
        beginning: &[],
        actions: &[
            (500, Action::Import(1)),
            (900, Action::Offline(0, 1500)),
            (950, Action::FirstTask(0, false)),
            (960, Action::Script(1)),
            (1000, Action::FirstTask(1, false)),
            (1010, Action::Person(0)),
            (1100, Action::FirstTask(1, true)),
            (1110, Action::Client),
            (4000, Action::Decide(0)),
            (5000, Action::Offline(1, 1500)),
            (5100, Action::FirstTask(1, false)),
            (5200, Action::FirstTask(0, false)),
            (9000, Action::Decide(1)),
            (9500, Action::Decide(0)),
        ],
    },
    Scenario {
        name: "a server that is restored by its files",
        retention: None,
        expected_trace: &["the server is restored", ": 410"],
        beginning: &BACKUP_AND_EDITS,
        actions: &[(1500, Action::RestoreFiles), (2500, Action::Person(0))],
    },
    Scenario {
        name: "a replica that is away for longer than the retention time",
        retention: Some(15),
        expected_trace: &[": 410", "/v1/deletions?"],
        beginning: &[],
        actions: &[
            (500, Action::Person(0)),
            (600, Action::Client),
            (700, Action::Client),
            (800, Action::Offline(0, 40_000)),
            (900, Action::Script(0)),
            (1000, Action::Person(1)),
            (1100, Action::Client),
            (1300, Action::Script(1)),
            (1400, Action::Script(1)),
            (1500, Action::Client),
            (1600, Action::Script(1)),
            (1700, Action::Person(1)),
            (1800, Action::Client),
            (39_000, Action::Client),
        ],
    },
    Scenario {
        name: "many edits whose responses are lost",
        retention: None,
        expected_trace: &["/bulk", "the connection broke"],
        beginning: &[],
        actions: &[
            (500, Action::Person(1)),
            (700, Action::Offline(0, 1500)),
            (800, Action::Import(0)),
            (900, Action::Person(0)),
            (1000, Action::Person(0)),
            (1100, Action::Script(0)),
            (1200, Action::Person(0)),
            (1250, Action::Script(0)),
            (1300, Action::Person(0)),
            (1350, Action::Script(0)),
            (1400, Action::LoseWriteResponses(0, 4000)),
            (2600, Action::Script(1)),
        ],
    },
    Scenario {
        name: "responses that are lost before a long sleep",
        retention: None,
        expected_trace: &["the connection broke", "all machines sleep"],
        beginning: &[],
        actions: &[
            (500, Action::Person(0)),
            (600, Action::Client),
            (700, Action::Script(1)),
            (900, Action::LoseWriteResponses(0, 3000)),
            (1000, Action::Person(0)),
            (1100, Action::Script(0)),
            (1150, Action::Kill(0)),
            (1200, Action::LongSleep(30)),
            (3000, Action::Script(0)),
        ],
    },
    Scenario {
        name: "tasks of a series completed without a network",
        retention: None,
        expected_trace: &["completes task", "PATCH /v1/tasks/"],
        beginning: &[],
        actions: &[
            (500, Action::Series(0)),
            (700, Action::Client),
            (900, Action::Offline(0, 3000)),
            (1000, Action::Series(0)),
            (1050, Action::FirstTask(0, false)),
            (1100, Action::Series(0)),
            (1150, Action::Script(0)),
            // Somebody else completes the first task too, and both next tasks meet.
            (1200, Action::Series(1)),
            (1300, Action::FirstTask(1, false)),
            (1500, Action::Series(0)),
            (6000, Action::Series(1)),
        ],
    },
    Scenario {
        name: "a server that is restored by its command",
        retention: None,
        expected_trace: &["by the restore command", ": 410"],
        beginning: &BACKUP_AND_EDITS,
        actions: &[
            (1300, Action::Offline(1, 2000)),
            (1400, Action::Person(1)),
            (1500, Action::Restore),
            (2500, Action::Person(0)),
        ],
    },
];

impl Scenario {
    /// The plan of the scenario, with a crash at the interruption point of this number, or without a crash.
    pub fn plan(&self, crash_at: Option<u64>) -> Plan {
        let actions = self.beginning.iter().chain(self.actions).enumerate();
        let actions = actions.map(|(number, (time, action))| PlannedAction {
            time: *time,
            action: *action,
            seed: number as u64 * 7919 + 5,
        });
        Plan {
            seed: 16,
            fault_rates: FaultRates::none(),
            machines: 2,
            retention: self.retention.map(Duration::from_secs),
            rate_limits: None,
            lists_deletions: true,
            actions: actions.collect(),
            last_machine_start: 0,
            backfill_outage: 0,
            crash_at,
            skip_settling: false,
        }
    }
}

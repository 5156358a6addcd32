//! The end of a run: faults stop, and all replicas must become equal to the server within a limit of time and of
//! requests. Must not change a database.

use super::actors::person;
use super::server_template::HOME;
use super::sim_event::SimEvent;
use super::world::World;
use super::{invariants, observer};

/// The longest time in which a world must settle, in milliseconds.
const TIME_MAX_MILLIS: i64 = 20 * 60_000;
/// How many requests each replica may send, streams included.
const REQUESTS_PER_MACHINE: u64 = 60;
/// How many more requests for each open edit.
const REQUESTS_PER_EDIT: u64 = 4;
/// How many more requests for each hundred records, in each replica.
const REQUESTS_PER_HUNDRED_RECORDS: u64 = 30;

/// How a world settled.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settled {
    /// Milliseconds until all replicas were equal to the server.
    pub time: i64,
    /// The number of requests in this time.
    pub requests: u64,
}

impl World {
    /// Stops all faults, and runs until all replicas are equal to the server.
    pub fn settle(&mut self) -> Result<Settled, String> {
        self.stop_faults()?;
        let (started, requests_before) = (self.now, self.requests);
        let requests_max = self.requests_allowed();
        loop {
            let settled = Settled { time: self.now - started, requests: self.requests - requests_before };
            let Some(why) = self.find_unsettled() else {
                let Settled { time, requests } = settled;
                self.log(format_args!("all replicas are equal to the server after {time} ms and {requests} requests"));
                self.check_end_state()?;
                return Ok(settled);
            };
            if settled.time > TIME_MAX_MILLIS {
                return Err(format!("not settled after {} s: {why}", TIME_MAX_MILLIS / 1000));
            }
            if settled.requests > requests_max {
                return Err(format!("not settled after {requests_max} requests: {why}"));
            }
            self.accept_deletions()?;
            self.step()?;
        }
    }

    fn requests_allowed(&self) -> u64 {
        let records = self.model.current().versions.len() as u64;
        let for_records = records.div_ceil(100) * REQUESTS_PER_HUNDRED_RECORDS;
        let for_machine = |edits: u64| REQUESTS_PER_MACHINE + edits * REQUESTS_PER_EDIT + for_records;
        let edits = |snapshot: &observer::Snapshot| snapshot.edits.len() as u64;
        let snapshots = self.machines.iter().map(|machine| machine.ledger.last_snapshot.as_ref());
        snapshots.map(|snapshot| for_machine(snapshot.map_or(0, edits))).sum()
    }

    /// A person accepts the deletions in each replica that asks.
    fn accept_deletions(&mut self) -> Result<(), String> {
        for machine in 0..self.machines.len() {
            let snapshot = self.machines[machine].ledger.last_snapshot.as_ref();
            if snapshot.is_some_and(|snapshot| snapshot.state.question.is_some()) {
                let text = person::answer_reconcile(&mut self.machines[machine], true)?;
                self.log(format_args!("r{machine} person: {text}"));
                self.network.schedule(self.now + 1, SimEvent::DatabaseChanged { machine });
            }
        }
        Ok(())
    }

    /// Why the world is not settled, as the server and the last check of each replica show; None when the server runs and all
    /// replicas are in step.
    fn find_unsettled(&self) -> Option<String> {
        if !self.server.is_up() {
            return Some("the server is down".to_owned());
        }
        let head = self.model.current().head;
        self.machines.iter().find_map(|machine| {
            let number = machine.number;
            if let Some(end_reason) = &machine.end_reason {
                return Some(format!("replica {number} has ended: {end_reason:?}"));
            }
            let Some(observer::Snapshot { state, edits }) = &machine.ledger.last_snapshot else {
                return Some(format!("replica {number} was never checked"));
            };
            let is_live = machine.is_up() && state.is_complete && matches!(state.phase.as_str(), "live" | "polling");
            if !is_live || machine.is_unaware || state.position < head {
                return Some(format!("replica {number} is {} at {} of {head}", state.phase, state.position));
            }
            let edit = edits.iter().find(|edit| !edit.needs_a_person())?;
            Some(format!("edit {} of replica {number} is {}", edit.id, edit.state))
        })
    }

    /// Checks that all replicas equal the server, except for edits that need a person, and checks the server itself.
    fn check_end_state(&mut self) -> Result<(), String> {
        self.check_files()?;
        for machine in &self.machines {
            self.check_replica(machine.number).map_err(|why| format!("replica {}: {why}", machine.number))?;
        }
        // The server's own check takes long, so only some seeds run the check.
        if self.plan.seed.is_multiple_of(16) {
            let faults = self.server.check_database()?;
            if !faults.is_empty() {
                return Err(format!("the server's check finds faults at the end: {}", faults.join("; ")));
            }
        }
        Ok(())
    }

    fn check_replica(&self, number: usize) -> Result<(), String> {
        let machine = &self.machines[number];
        let (database, ledger) = (&machine.script_connection, &machine.ledger);
        let (current, restored) = (self.model.current(), self.model.was_restored());
        let edits = observer::open_edits(database).map_err(|error| error.to_string())?;
        invariants::check_waiting_edits(ledger, &edits, &self.model)?;
        invariants::check_confirmed_edits(database, ledger, &edits, &self.model)?;
        let rows = observer::rows(database).map_err(|error| error.to_string())?;
        invariants::compare(current, restored, &Default::default(), current.head, &edits, &rows)
            .map_err(|why| format!("the tables are not equal to home {HOME} at the end: {why}"))?;
        let differences = observer::search_differences(database).map_err(|error| error.to_string())?;
        if !differences.is_empty() {
            return Err(format!("search is not in step with {}", differences.join(", ")));
        }
        Ok(())
    }
}

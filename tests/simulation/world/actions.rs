//! The actions of the plan: people, scripts and API clients write. Must not decide when an action happens.

use super::super::action::{Action, PlannedAction};
use super::super::actors::{client, person, script};
use super::super::record::MARK;
use super::super::rng::SimRng;
use super::super::sim_event::SimEvent;
use super::state::World;

impl World {
    /// Carries out the action with this index in the plan.
    pub(super) fn act(&mut self, number: usize) -> Result<(), String> {
        self.actions_left -= 1;
        let PlannedAction { action, seed, .. } = self.plan.actions[number];
        let (mut rng, mark) = (SimRng::new(seed), format!("{MARK}{number}"));
        let name = format!("{action:?}");
        self.counters.count(format!("action: {}", name.split('(').next().unwrap_or_default()));
        match action {
            Action::Person(_)
            | Action::Script(_)
            | Action::Import(_)
            | Action::WatchTriggers(..)
            | Action::FirstTask(..)
            | Action::Series(_)
            | Action::Attach(..)
            | Action::InvalidEdit(_)
            | Action::Decide(_)
            | Action::AnswerReconcile(_)
            | Action::Pause(..) => self.act_on_replica(action, &mut rng, &mark),
            Action::Client | Action::ClientDeletesNewest | Action::ClientCreatesTasks | Action::ClientDeletesTasks => {
                self.act_as_client(action, &mut rng, &mark)
            }
            fault => self.cause_fault(fault, &mut rng),
        }
    }

    /// A person or a script writes to the database of a replica.
    fn act_on_replica(&mut self, action: Action, rng: &mut SimRng, mark: &str) -> Result<(), String> {
        let (machine, actor, text) = match action {
            Action::Person(machine) => {
                (machine, "person", person::edit_record(&self.machines[machine], self.now, rng, mark)?)
            }
            Action::Script(machine) => {
                (machine, "script", script::run_statement(&self.machines[machine], self.now, rng, mark)?)
            }
            Action::Import(machine) => (machine, "script", script::import_tasks(&self.machines[machine], rng, mark)?),
            Action::WatchTriggers(machine, begin) => {
                (machine, "script", script::set_watch_triggers(&mut self.machines[machine], begin)?)
            }
            Action::FirstTask(machine, delete) => {
                (machine, "script", script::write_first_task(&self.machines[machine], mark, delete)?)
            }
            Action::Series(machine) => {
                (machine, "person", person::work_on_series(&self.machines[machine], self.now, mark)?)
            }
            Action::Attach(machine, number) => {
                (machine, "person", person::attach(&self.machines[machine], number, rng, mark)?)
            }
            Action::InvalidEdit(machine) => {
                (machine, "script", script::write_invalid_edit(&self.machines[machine], rng, mark)?)
            }
            Action::Decide(machine) => {
                let text = person::decide(&mut self.machines[machine], &mut self.model, rng)?;
                self.machines[machine].unanswered_writes.clear();
                (machine, "person", text)
            }
            Action::AnswerReconcile(machine) => {
                let willing = rng.chance(700);
                (machine, "person", person::answer_reconcile(&mut self.machines[machine], willing)?)
            }
            Action::Pause(machine, time) => {
                self.machines[machine].screen.pause().map_err(|error| error.to_string())?;
                self.report_write(machine, "person", "pauses the sync", rng);
                self.network.schedule(self.now + time, SimEvent::ResumeSync { machine });
                return Ok(());
            }
            other => return Err(format!("{other:?} does not write to a replica")),
        };
        self.report_write(machine, actor, &text, rng);
        Ok(())
    }

    /// Logs a write to a replica, and notifies its syncing process.
    fn report_write(&mut self, machine: usize, actor: &str, text: &str, rng: &mut SimRng) {
        self.log(format_args!("r{machine} {actor}: {text}"));
        // The notification arrives at once, or the process notices the write with its check once a second.
        let after = if rng.chance(800) { 1 } else { rng.between(2, 1000) };
        self.network.schedule(self.now + after, SimEvent::DatabaseChanged { machine });
    }

    fn act_as_client(&mut self, action: Action, rng: &mut SimRng, mark: &str) -> Result<(), String> {
        match action {
            Action::Client => {
                let client::ClientWrite { request, is_repeated } =
                    client::random_write(self.model.current(), rng, mark);
                self.send_as_client(&request, is_repeated)
            }
            Action::ClientDeletesNewest => match client::delete_newest(self.model.current(), rng) {
                Some(request) => self.send_as_client(&request, false),
                None => Ok(()),
            },
            Action::ClientCreatesTasks => {
                for half in 0..2 {
                    self.send_as_client(&client::create_tasks(rng, &format!("{mark}-{half}")), false)?;
                }
                Ok(())
            }
            Action::ClientDeletesTasks => {
                for request in client::delete_all_tasks(self.model.current(), rng) {
                    self.send_as_client(&request, false)?;
                }
                Ok(())
            }
            other => Err(format!("{other:?} is not an action of a client")),
        }
    }
}

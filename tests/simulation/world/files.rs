//! Files on their way from a machine to the server, beside the records. Must not know what documents are.

use hearth_contract::schema::Kind;
use serde_json::Value;

use super::super::environment_fault::EnvironmentFault;
use super::super::server::NoResponse;
use super::super::sim_event::SimEvent;
use super::state::World;

/// Time between two looks of a machine for files to send, in milliseconds.
const CARRY_EVERY_MILLIS: i64 = 3000;

impl World {
    /// Begins the looks of all machines for files to send.
    pub(super) fn schedule_file_transfer(&mut self) {
        for machine in 0..self.machines.len() {
            self.network.schedule(CARRY_EVERY_MILLIS, SimEvent::CarryFiles { machine });
        }
    }

    /// Sends the files of a machine that wait. A response may be lost: the machine then sends the file again.
    pub(super) fn carry_files(&mut self, machine: usize) -> Result<(), String> {
        self.network.schedule(self.now + CARRY_EVERY_MILLIS, SimEvent::CarryFiles { machine });
        if !self.machines[machine].is_up() || self.machines[machine].is_cut_off(self.now) {
            return Ok(());
        }
        let waiting = self.machines[machine].screen.files_to_send().map_err(|error| error.to_string())?;
        for hash in waiting {
            let Some(place) = self.machines[machine].screen.file_path(&hash) else {
                return Err(format!("replica {machine} names the file {hash}, and does not have its bytes"));
            };
            let bytes = std::fs::read(place).map_err(|error| error.to_string())?;
            let status = match self.server.put_file(machine, &hash, bytes) {
                Ok(status) => status,
                Err(NoResponse::Down) => return Ok(()),
                Err(NoResponse::Crashed(point)) => {
                    self.handle_server_crash(Some(point));
                    return Ok(());
                }
            };
            let is_lost = self.network.occurs(EnvironmentFault::LostResponse);
            self.log(format_args!("r{machine} sends the file {hash}: {status}, lost: {is_lost}"));
            if matches!(status, 200 | 201) && !is_lost {
                self.machines[machine].screen.file_was_sent(&hash).map_err(|error| error.to_string())?;
                self.network.schedule(self.now + 1, SimEvent::DatabaseChanged { machine });
            }
        }
        Ok(())
    }

    /// Checks that the server has the bytes of each file that a document names.
    pub(in super::super) fn check_files(&mut self) -> Result<(), String> {
        let history = self.model.current();
        let documents =
            history.records_at(history.head).into_iter().filter(|(record, _)| record.kind == Kind::Document);
        let mut named: Vec<String> = documents
            .filter_map(|(_, (_, fields))| fields.get("file_sha256").and_then(Value::as_str).map(str::to_owned))
            .collect();
        named.sort_unstable();
        named.dedup();
        named.into_iter().try_for_each(|hash| match self.server.has_file(&hash) {
            true => Ok(()),
            false => Err(format!("a document names the file {hash}, and the server does not have its bytes")),
        })
    }
}

//! What each operation does to the world. Must not know the invariants.

use super::super::super::*;
use super::super::invariants::column_pairs;
use super::super::server::Key;
use super::super::{Operation, Write};
use super::{Stream, World};
use crate::{EditError, Resolution};

impl World {
    /// The row that an index chooses, as its kind and id.
    fn row(&self, index: usize) -> Option<Key> {
        let text = "SELECT 'room', id FROM rooms UNION ALL SELECT 'inventory', id FROM inventory ORDER BY 1, 2";
        let rows = column_pairs(&self.script, text);
        let (kind, id) = rows.get(index % rows.len().max(1))?;
        Some((Kind::parse(kind)?, id.clone()))
    }

    /// Does an operation. Nothing happens when there is no object for the operation.
    pub(in super::super) fn perform(&mut self, operation: &Operation) {
        match *operation {
            Operation::Create { item } => {
                let table = if item { "inventory" } else { "rooms" };
                let mark = self.mark();
                self.run_sql(&format!("INSERT INTO {table} (name) VALUES ('{mark}')"));
            }
            Operation::Patch { row, second } => self.patch(row, second),
            Operation::Refer { item } => self.run_sql(&format!(
                "UPDATE inventory SET room_id = (SELECT id FROM rooms ORDER BY id DESC LIMIT 1)
                 WHERE id = (SELECT id FROM inventory ORDER BY id LIMIT 1 OFFSET {})",
                item % 3
            )),
            Operation::Delete { row } => {
                let Some((kind, id)) = self.row(row) else { return };
                self.run_sql(&format!("DELETE FROM {} WHERE id = '{id}'", kind.collection()));
            }
            Operation::Undo => {
                let done = self.replica.undo(None);
                self.decided(done.map(drop));
            }
            Operation::Decide { mine } => self.decide(mine),
            Operation::ByAnother { row, write } => self.write_by_another(row, write),
            Operation::RefuseNext => self.server.refuses_next = true,
            Operation::Deliver { fate } => self.deliver(fate),
            Operation::Feed { events } => self.feed(events),
            Operation::Serve { request } => {
                let Some(sent) = self.sends.get_mut(request) else { return };
                if sent.response.is_none() {
                    sent.response = Some(self.server.handle(&sent.request, true));
                }
            }
            Operation::Repeat { events } => {
                if let Stream::Open(position) = &mut self.stream {
                    *position = (*position - events).max(self.server.oldest);
                    self.feed(usize::MAX);
                }
            }
            Operation::CutStream => self.cut(),
            Operation::Tick => self.tick(),
            Operation::Restart => self.restart(),
            Operation::Trim => {
                self.server.trim();
                self.cut();
            }
            Operation::ForgetKeys => self.server.forget_keys(),
            Operation::Restore { back, tells_fork } => {
                self.server.restore((self.server.head() - back).max(1), tells_fork);
                self.drop_connections();
            }
            Operation::Rebuild { damaged } => self.rebuild(damaged),
            Operation::CatchUp => self.catch_up(),
        }
    }

    fn run_sql(&mut self, text: &str) {
        // A rule can refuse the statement, for example for a row that is already gone.
        let _ = self.script.execute(text, []);
        self.report(DriverEvent::DatabaseChanged);
    }

    fn patch(&mut self, row: usize, second: bool) {
        let Some((kind, id)) = self.row(row) else { return };
        let field = match (kind, second) {
            (Kind::Room, false) => "name",
            (Kind::Room, true) => "floor",
            (_, false) => "name",
            (_, true) => "notes",
        };
        let mark = self.mark();
        self.run_sql(&format!("UPDATE {} SET {field} = '{mark}' WHERE id = '{id}'", kind.collection()));
    }

    fn write_by_another(&mut self, row: usize, write: Write) {
        let records = self.server.records();
        let Some((record, fields)) = records.iter().nth(row % records.len().max(1)) else { return };
        let (record, mut fields) = (record.clone(), fields.clone());
        let field = match (record.0, write) {
            (_, Write::Delete) => {
                self.server.delete(record, None);
                return;
            }
            (kind, Write::Create) => return self.create_by_another(kind),
            (_, Write::FirstField) => "name",
            (Kind::Room, Write::SecondField) => "floor",
            (_, Write::SecondField) => "notes",
        };
        fields.insert(field.to_owned(), self.mark().into());
        self.server.change(record, Some(fields), None);
    }

    /// Decides about the first edit that needs a person. Nothing happens when there is none.
    pub(super) fn decide(&mut self, mine: bool) {
        let edits = self.replica.edits().unwrap();
        let needs_decision = |state| matches!(state, EditState::Conflict | EditState::Rejected);
        let Some(edit) = edits.iter().find(|edit| needs_decision(edit.state)) else { return };
        let done = match (edit.state, mine) {
            (EditState::Conflict, true) => self.replica.resolve(edit.id, &Resolution::mine()),
            (EditState::Conflict, false) => self.replica.resolve(edit.id, &Resolution::theirs()),
            (_, true) => self.replica.retry(edit.id),
            (_, false) => self.replica.discard(edit.id),
        };
        let done = done.or_else(|_| self.replica.discard(edit.id));
        self.decided(done.map(drop));
    }

    fn decided(&mut self, done: Result<(), EditError>) {
        if done.is_ok() {
            (self.has_decided, self.server.allows_new_keys) = (true, true);
        }
        self.report(DriverEvent::DatabaseChanged);
    }
}

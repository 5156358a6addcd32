//! Finds the existing record of a row, by the row's id, import_ref, key or values, and refuses a second row of one record. Must not
//! know what a row changes.

use uuid::Uuid;

use super::row_change::fault_at;
use super::{KeyOfRow, Planner};
use crate::import::draft::{DraftRow, DraftTable};
use crate::import::existing::Found;
use crate::import::fault::{RowCode, RowFault};
use crate::import::plan::{Action, PlannedRow};
use crate::import::target::IMPORT_REF;

impl Planner<'_> {
    /// The existing record of a row. None: the row makes a new record.
    pub(super) fn existing_record(
        &self,
        at: usize,
        table: &DraftTable,
        row: &DraftRow,
    ) -> Result<Option<Uuid>, RowFault> {
        let kind = table.columns.kind;
        if kind.is_singleton() {
            return Ok(self.existing.singleton(kind));
        }
        let by_reference = row.import_ref().map(|text| self.existing.by_reference(at, text));
        if let Some(id) = row.id {
            if self.existing.used.contains(&id) {
                let message = "The id was used by a record that was deleted, or by one of another kind. Remove the id to make a new record.";
                return Err(fault_at(table, row, "id", Some(id.to_string()), RowCode::AlreadyExists, message));
            }
            let is_of_another = match by_reference {
                Some(Found::One(other)) => other != id,
                Some(Found::Several) => true,
                Some(Found::None) | None => false,
            };
            if is_of_another {
                let message = "Another record has this import_ref. Remove the id or the import_ref from the row.";
                return Err(fault_at(table, row, IMPORT_REF, None, RowCode::AlreadyExists, message));
            }
            return Ok(self.existing.records.contains_key(&(kind, id)).then_some(id));
        }
        if let Some(Found::One(id)) = by_reference {
            return Ok(Some(id));
        }
        let several = |what: &str| {
            RowFault::of_row(RowCode::SeveralMatch, format!("Several records have {what}. Use their ids."))
        };
        if let Some(Found::Several) = by_reference {
            return Err(several("this import_ref"));
        }
        match table.row_key(row).map(|key| self.existing.by_key(at, &key)) {
            Some(Found::One(id)) => return Ok(Some(id)),
            Some(Found::Several) => return Err(several(&format!("this {}", table.key.join(" and ")))),
            _ => (),
        }
        match table.row_whole(row).map(|whole| self.existing.by_whole(at, &whole)) {
            Some(Found::One(_) | Found::Several) => {
                let next = "Name the columns by which records are recognised, such as key=name, or add an import_ref";
                let message = format!("The home has a record of the kind {kind} with these values already. {next}.");
                Err(RowFault::of_row(RowCode::AlreadyExists, message))
            }
            _ => Ok(None),
        }
    }

    /// Refuses a row whose id or import_ref an earlier row has.
    pub(super) fn refuse_double(&self, table: &DraftTable, row: &DraftRow, id: Option<Uuid>) -> Result<(), RowFault> {
        let by_id = id.and_then(|id| self.taken.get(&id));
        if let Some((kind, first)) = by_id.filter(|(kind, _)| *kind != table.columns.kind) {
            let message =
                format!("Row {first} of the kind {kind} has this id. Remove the id from one of the two rows.");
            return Err(RowFault::of_row(RowCode::AlreadyExists, message));
        }
        let by_reference = row.import_ref().and_then(|reference| self.references.get(reference));
        match by_id.map(|(_, first)| first).or(by_reference) {
            Some(first) => {
                let message = format!("Row {first} is the same record. Keep one of the two rows.");
                Err(RowFault::of_row(RowCode::AlreadyExists, message))
            }
            None => Ok(()),
        }
    }

    /// Rows with one key are one record. Two rows that both have an id or an import_ref may have one key.
    pub(super) fn refuse_double_key(&self, table: &DraftTable, row: &DraftRow) -> Result<(), RowFault> {
        let first = table.row_key(row).and_then(|key| self.keys.get(&key));
        let Some(first) = first.filter(|first| !(first.is_named && row.is_named())) else { return Ok(()) };
        let (key, number) = (table.key.join(" and "), first.number);
        let message = format!("Row {number} has the same {key}. Keep one of the two rows, or add a column to the key.");
        Err(RowFault::of_row(RowCode::DuplicateKey, message))
    }

    /// Notes the key of a row, for the rows after it.
    pub(super) fn keep_key(&mut self, table: &DraftTable, row: &DraftRow, planned: &PlannedRow) {
        let Some(key) = table.row_key(row).filter(|_| row.fault.is_none()) else { return };
        let id = planned.id.filter(|_| !matches!(planned.action, Action::Fail(_)));
        self.keys.entry(key).or_insert(KeyOfRow { number: row.number, id, is_named: row.is_named() });
    }
}

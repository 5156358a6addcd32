//! References between records: what a delete clears, and which references a write may make. Must not know how a record is
//! stored.

use hearth_contract::check::{Fields, references};
use hearth_contract::command::Preconditions;
use hearth_contract::event::EventType;
use hearth_contract::problem::{FaultCode, FieldFault, Problem};
use hearth_contract::schema::{IMPORT_REF, Kind};
use serde_json::Value;
use uuid::Uuid;

use super::HomeWriter;
use super::refusals::import_ref_taken;
use crate::home::rules;
use crate::store::{StoreError, field_values, records};

impl HomeWriter<'_, '_> {
    /// A step of a delete that one transaction cannot bear: clears the references of some records, at most
    /// [`CLEARED_MAX`], to the record. False: the delete will not find the record, or not delete it; nothing is cleared.
    pub fn clear_references_to(
        &mut self,
        kind: Kind,
        id: Uuid,
        preconditions: &Preconditions,
        sources: Vec<(Kind, Uuid)>,
    ) -> Result<bool, StoreError> {
        let is_deletable = self.load(kind, id)?.is_some_and(|before| preconditions.admits(Some(before.rev)));
        if is_deletable {
            self.clear_references(sources, id)?;
        }
        Ok(is_deletable)
    }

    pub(super) fn clear_references(&mut self, sources: Vec<(Kind, Uuid)>, target: Uuid) -> Result<(), StoreError> {
        self.clearable = self.clearable.saturating_sub(sources.len());
        sources.into_iter().try_for_each(|(kind, source)| self.clear_reference(kind, source, target))
    }

    /// Clears the reference of a record to a deleted record: an ordinary update with its own event (contract 3).
    fn clear_reference(&mut self, kind: Kind, id: Uuid, target: Uuid) -> Result<(), StoreError> {
        let Some(before) = self.load(kind, id)? else {
            return Ok(());
        };
        let mut after = before.fields.clone();
        rules::clear_reference(kind, &mut after, target);
        if after != before.fields {
            self.save_record(EventType::Updated, kind, id, Some(before), after)?;
        }
        Ok(())
    }

    /// The refusal of a changed `import_ref` that another record of the kind has.
    pub(super) fn taken_import_ref(
        &self,
        kind: Kind,
        id: Uuid,
        before: Option<&Fields>,
        after: &Fields,
    ) -> Result<Option<Problem>, StoreError> {
        let Some(import_ref) = after.get(IMPORT_REF).and_then(Value::as_str) else { return Ok(None) };
        if before.and_then(|before| before.get(IMPORT_REF)).and_then(Value::as_str) == Some(import_ref) {
            return Ok(None);
        }
        let holder = field_values::with_import_ref(self.tx, self.home.number, kind, import_ref)?;
        Ok(holder.filter(|holder| *holder != id).map(|holder| import_ref_taken(kind, holder, import_ref)))
    }

    /// A fault for each changed reference that names no existing record of the right kind in this home.
    pub(super) fn missing_references(
        &self,
        kind: Kind,
        fields: &Fields,
        before: Option<&Fields>,
    ) -> Result<Vec<FieldFault>, StoreError> {
        let mut faults = Vec::new();
        let unchanged = before.map(|before| references(kind, before)).unwrap_or_default();
        for (field, target_kind, target) in references(kind, fields) {
            if unchanged.iter().any(|(_, kind, id)| (*kind, *id) == (target_kind, target)) {
                continue;
            }
            let entry = records::entry(self.tx, self.home.number, target)?;
            if !entry.is_some_and(|entry| entry.kind == target_kind && !entry.deleted) {
                let message = format!("{} names no {target_kind} of this home.", field.name);
                faults.push(FieldFault::new(field.name, FaultCode::NotFound, message));
            }
        }
        Ok(faults)
    }
}

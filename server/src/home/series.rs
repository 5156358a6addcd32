//! Recurring tasks of a home (contract 3): which task follows a completed one, and when a task can have been completed. The
//! dates follow from `hearth_contract::recurrence`. Must not write.

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{FaultCode, FieldFault};
use hearth_contract::record::Record;
use hearth_contract::recurrence::{self, COMPLETED_AT, NextTask, TIME_ZONE};
use hearth_contract::schema::Kind;
use serde_json::Value;
use uuid::Uuid;

use crate::store::homes::Home;
use crate::store::{StoreError, Tx, records};

/// The task that follows, if a write completes a task of a series. None also when the id of the next task was ever used:
/// each task has one successor.
pub fn next_task(
    tx: &Tx<'_>,
    home: &Home,
    kind: Kind,
    id: Uuid,
    before: Option<&Fields>,
    after: &Fields,
) -> Result<Option<NextTask>, StoreError> {
    if kind != Kind::Task || !recurrence::becomes_done(before, after) || !recurrence::recurs(after) {
        return Ok(None);
    }
    let next_id = recurrence::next_id(id);
    let was_used = next_id == home.id || records::entry(tx, home.number, next_id)?.is_some();
    Ok(if was_used { None } else { recurrence::next_task(id, after, time_zone(tx, home)?.as_deref()) })
}

/// A fault when a sent `completed_at` is in the future. `before`: None for a create.
pub fn implausible_completion(changes: &Fields, before: Option<&Record>, now: Timestamp) -> Option<FieldFault> {
    let value = changes.get(COMPLETED_AT);
    let sent = value.and_then(Value::as_str).and_then(Timestamp::parse)?;
    let is_same = before.is_some_and(|before| before.fields.get(COMPLETED_AT) == value);
    if is_same || recurrence::is_plausible_completion(sent, now) {
        return None;
    }
    Some(FieldFault::new(COMPLETED_AT, FaultCode::OutOfRange, "completed_at must not be in the future."))
}

/// The time zone of a home. None: the profile names no zone.
pub fn time_zone(tx: &Tx<'_>, home: &Home) -> Result<Option<String>, StoreError> {
    let profile = records::image(tx, home.number, Kind::Property, home.id)?;
    let profile = profile.and_then(|image| Record::from_json(Kind::Property, &image.json));
    Ok(profile.and_then(|profile| profile.fields.get(TIME_ZONE)?.as_str().map(str::to_owned)))
}

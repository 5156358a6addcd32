//! The only way to change records: load, check, change, append. A record, its event, its indexed values and its search text
//! change together. Must not know HTTP, or the wording of responses.

mod references;
mod refusals;
mod save;

use hearth_contract::check::{Fields, check_subject};
use hearth_contract::command::{Command, Preconditions};
use hearth_contract::event::EventType;
use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{FieldFault, Problem};
use hearth_contract::record::Record;
use hearth_contract::recurrence::{self, COMPLETED_AT, NextTask};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, is_subject};
use hearth_simulated::{PlantedFault, planted};
use serde_json::Value;
use uuid::Uuid;

pub use self::refusals::not_found;
use self::refusals::{already_exists, belongs_to_property, precondition_failed, too_many_references};
use super::{document_file, series};
use crate::store::homes::{self, Home};
use crate::store::records::{self, Image};
use crate::store::{HomeNumber, StoreError, Tx, field_values};

/// Generates the ids of new records.
pub type Ids<'a> = &'a mut dyn FnMut() -> Uuid;

/// The result of an accepted command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The record was created.
    Created(Uuid, Image),
    /// The record has the requested values, changed now or before. None: the property was never set and stays unset.
    Current(Option<Image>),
    /// The record does not exist, deleted now or before.
    Deleted(Uuid),
}

/// The result of a command. A refusal is a `Problem`; a [`StoreError`] means that the database failed.
pub type WriteResult = Result<WriteOutcome, Problem>;

/// Applies commands to one home in one transaction: gives out event ids and moments, and saves the state of the home at
/// the end.
pub struct HomeWriter<'a, 'c> {
    tx: &'a Tx<'c>,
    home: Home,
    /// The first event of this transaction. None: no event yet.
    first: Option<i64>,
    /// The epoch of this process.
    epoch: i64,
    /// The moment of the events, which never goes back within a home.
    now: Timestamp,
    /// The time of the machine. Behind `now` when the clock of the machine was ahead once, or went back.
    machine_now: Timestamp,
    /// The name of the person or the key that writes, for `updated_by`.
    author: String,
    /// The idempotency key that the events carry.
    key: Option<String>,
    /// References that deletes may still clear in this transaction.
    clearable: usize,
    /// The computed values of the record that is created now, as its lost home had them.
    as_sent: Option<AsSent>,
}

/// Computed values of a record that a refill sends (contract 24).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AsSent {
    /// The moment of the creation in the lost home.
    pub created_at: Timestamp,
    /// `recurrence_anchor` of a task. None: it was not sent.
    pub anchor: Option<Value>,
}

/// References to deleted records that one transaction clears at most. A home may have thousands of large records in one room:
/// without a limit, their updates would hold up the writes of all homes.
pub const CLEARED_MAX: usize = 50;

/// The author of records that the server writes by itself: the example data of a sandbox.
pub const HEARTH: &str = "Hearth";

impl<'a, 'c> HomeWriter<'a, 'c> {
    /// Loads a home for writing. `epoch` is the random number of this process, `now` the time of the machine, `author` the
    /// name of the person or the key that writes, and `key` the idempotency key of the request.
    pub fn begin(
        tx: &'a Tx<'c>,
        number: HomeNumber,
        epoch: i64,
        now: Timestamp,
        author: String,
        key: Option<String>,
    ) -> Result<Self, StoreError> {
        let mut home = homes::load(tx, number)?;
        let machine_now = now;
        // The clock of the machine may step back; `updated_at` must not (contract 2).
        let last = home.last_updated_at.filter(|_| !planted(PlantedFault::HomeClockStepsBack));
        let now = last.map_or(now, |last| now.max(last));
        home.last_updated_at = Some(now);
        Ok(HomeWriter {
            tx,
            first: None,
            home,
            epoch,
            now,
            machine_now,
            author,
            key,
            clearable: CLEARED_MAX,
            as_sent: None,
        })
    }

    /// The head of the home after the commands so far.
    pub fn as_of(&self) -> i64 {
        self.home.head
    }

    /// Saves the head of the home, and begins the epoch of this process if another process wrote last. Without events
    /// nothing is saved.
    pub fn finish(mut self) -> Result<(), StoreError> {
        let Some(first) = self.first else {
            return Ok(());
        };
        if self.home.epoch != Some(self.epoch) {
            homes::begin_epoch(self.tx, self.home.number, first, self.epoch)?;
            self.home.epoch = Some(self.epoch);
        }
        if self.home.oldest_event_at.is_none() {
            homes::set_oldest_event_at(self.tx, self.home.number, Some(self.now))?;
        }
        if planted(PlantedFault::HeadNotStored) && self.home.head % 7 == 0 {
            self.home.head = first - 1;
        }
        homes::save(self.tx, &self.home)
    }

    /// Applies one command. A refused command changes no row.
    pub fn apply(&mut self, command: Command, ids: Ids<'_>) -> Result<WriteResult, StoreError> {
        if !matches!(command, Command::Delete { .. }) {
            self.tx.note_values();
        }
        match command {
            Command::Create { kind, body } => {
                let id = body.id.unwrap_or_else(&mut *ids);
                self.create(kind, id, body.fields, body.faults)
            }
            Command::Update { kind, id, body, preconditions } => {
                let id = id.unwrap_or(self.home.id);
                self.update(kind, id, body.fields, body.faults, &preconditions)
            }
            Command::Delete { kind, id, preconditions } => self.delete(kind, id, &preconditions),
        }
    }

    /// Applies one create of a refill. A completed task has no successor: the lost home has made it, and it is sent as well.
    pub fn apply_as_sent(
        &mut self,
        command: Command,
        as_sent: AsSent,
        ids: Ids<'_>,
    ) -> Result<WriteResult, StoreError> {
        self.as_sent = Some(as_sent);
        let applied = self.apply(command, ids);
        self.as_sent = None;
        applied
    }

    /// Writes a record anew whose moments are ahead of the machine's clock, as an ordinary update.
    pub(super) fn correct_moments(&mut self, kind: Kind, id: Uuid) -> Result<(), StoreError> {
        let Some(before) = self.load(kind, id)? else { return Ok(()) };
        let mut fields = before.fields.clone();
        let completed_at = fields.get(COMPLETED_AT).and_then(Value::as_str).and_then(Timestamp::parse);
        if completed_at.is_some_and(|at| at > self.now) {
            fields.insert(COMPLETED_AT.to_owned(), self.now.to_string().into());
        }
        // A corrected moment is nobody's change of the record.
        self.author.clone_from(&before.updated_by);
        let before = Record { created_at: before.created_at.min(self.now), ..before };
        self.save_record(EventType::Updated, kind, id, Some(before), fields).map(drop)
    }

    fn create(
        &mut self,
        kind: Kind,
        id: Uuid,
        mut fields: Fields,
        mut faults: Vec<FieldFault>,
    ) -> Result<WriteResult, StoreError> {
        faults.extend(self.missing_references(kind, &fields, None)?);
        faults.extend(document_file::complete(self.tx, self.home.number, None, None, &mut fields)?);
        faults.extend(series::implausible_completion(&fields, None, self.machine_now));
        if !faults.is_empty() {
            return Ok(Err(Problem::validation(&faults)));
        }
        if id == self.home.id {
            return Ok(Err(belongs_to_property(id)));
        }
        if let Some(entry) = records::entry(self.tx, self.home.number, id)?
            && !planted(PlantedFault::DeletedIdsReusable)
        {
            return Ok(Err(already_exists(id, entry.deleted)));
        }
        if let Some(problem) = self.taken_import_ref(kind, id, None, &fields)? {
            return Ok(Err(problem));
        }
        if kind == Kind::Task {
            recurrence::set_computed(None, &mut fields, self.machine_now);
        }
        let anchor = self.as_sent.as_ref().and_then(|as_sent| as_sent.anchor.clone());
        if let Some(anchor) = anchor.filter(|_| kind == Kind::Task) {
            fields.insert(recurrence::ANCHOR.to_owned(), anchor);
        }
        let next = match self.as_sent {
            Some(_) => None,
            None => series::next_task(self.tx, &self.home, kind, id, None, &fields)?,
        };
        let image = self.save_record(EventType::Created, kind, id, None, fields)?;
        self.create_next(next)?;
        Ok(Ok(WriteOutcome::Created(id, image)))
    }

    fn update(
        &mut self,
        kind: Kind,
        id: Uuid,
        changes: Fields,
        mut faults: Vec<FieldFault>,
        preconditions: &Preconditions,
    ) -> Result<WriteResult, StoreError> {
        let before = match self.load(kind, id)? {
            Some(before) => before,
            None if kind.is_singleton() => return self.create_property(id, changes, faults, preconditions),
            None => return Ok(Err(not_found(kind, id))),
        };
        if !preconditions.admits(Some(before.rev)) && !planted(PlantedFault::IfMatchIgnored) {
            return Ok(Err(precondition_failed(Some(before.rev))));
        }
        faults.extend(series::implausible_completion(&changes, Some(&before), self.machine_now));
        let mut after = before.fields.clone();
        let sent = if kind == Kind::Document { changes.clone() } else { Fields::new() };
        after.extend(changes);
        // When one of the two subject fields is faulty, the other half comes from the old record. Such a pair is not
        // checked: its faults would say nothing about the request.
        let is_half_faulty = faults.iter().any(|fault| is_subject(&fault.field));
        check_subject(kind, &after, &mut faults);
        faults.extend(document_file::complete(
            self.tx,
            self.home.number,
            Some(&sent),
            Some(&before.fields),
            &mut after,
        )?);
        let missing = self.missing_references(kind, &after, Some(&before.fields))?;
        faults.extend(missing.into_iter().filter(|fault| !(is_half_faulty && is_subject(&fault.field))));
        if !faults.is_empty() {
            return Ok(Err(Problem::validation(&faults)));
        }
        if let Some(problem) = self.taken_import_ref(kind, id, Some(&before.fields), &after)? {
            return Ok(Err(problem));
        }
        if kind == Kind::Task {
            recurrence::set_computed(Some(&before.fields), &mut after, self.machine_now);
        }
        if after == before.fields {
            return Ok(Ok(WriteOutcome::Current(Some(Image { rev: before.rev, json: before.to_json() }))));
        }
        let next = series::next_task(self.tx, &self.home, kind, id, Some(&before.fields), &after)?;
        let image = self.save_record(EventType::Updated, kind, id, Some(before), after)?;
        self.create_next(next)?;
        Ok(Ok(WriteOutcome::Current(Some(image))))
    }

    /// The first patch creates the property record (contract 10).
    fn create_property(
        &mut self,
        id: Uuid,
        changes: Fields,
        faults: Vec<FieldFault>,
        preconditions: &Preconditions,
    ) -> Result<WriteResult, StoreError> {
        if !preconditions.admits(None) {
            return Ok(Err(precondition_failed(None)));
        }
        if !faults.is_empty() {
            return Ok(Err(Problem::validation(&faults)));
        }
        // All fields of an unset property are null: null values change nothing (contract 6.2, 10).
        if changes.values().all(Value::is_null) {
            return Ok(Ok(WriteOutcome::Current(None)));
        }
        let mut fields: Fields =
            resource(Kind::Property).fields.iter().map(|field| (field.name.to_owned(), Value::Null)).collect();
        fields.extend(changes);
        let image = self.save_record(EventType::Created, Kind::Property, id, None, fields)?;
        Ok(Ok(WriteOutcome::Current(Some(image))))
    }

    fn delete(&mut self, kind: Kind, id: Uuid, preconditions: &Preconditions) -> Result<WriteResult, StoreError> {
        let Some(before) = self.load(kind, id)? else {
            return Ok(Ok(WriteOutcome::Deleted(id)));
        };
        if !preconditions.admits(Some(before.rev)) {
            return Ok(Err(precondition_failed(Some(before.rev))));
        }
        let sources = field_values::sources(self.tx, self.home.number, id, self.clearable + 1)?;
        if sources.len() > self.clearable {
            return Ok(Err(too_many_references(kind, CLEARED_MAX)));
        }
        self.clear_references(sources, id)?;
        self.delete_record(&before)?;
        Ok(Ok(WriteOutcome::Deleted(id)))
    }

    /// Creates the task that follows a completed task.
    fn create_next(&mut self, next: Option<NextTask>) -> Result<(), StoreError> {
        if let Some(NextTask { id, fields }) = next {
            self.save_record(EventType::Created, Kind::Task, id, None, fields)?;
        }
        Ok(())
    }
}

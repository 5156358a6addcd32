//! The one way a write happens: load, check, change, append. Records and their events move together here and nowhere
//! else. Must not know who asked, or how the answer is worded on the wire.

use hearth_contract::check::{Fields, check_subject, references};
use hearth_contract::command::{Command, Preconditions};
use hearth_contract::event::{EventType, StoredEvent};
use hearth_contract::formats::Timestamp;
use hearth_contract::problem::{FaultCode, FieldFault, Problem, ProblemType};
use hearth_contract::record::Record;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, is_subject};
use hearth_contract::search_text;
use serde_json::Value;
use uuid::Uuid;

use super::rules;
use crate::store::homes::{self, Home};
use crate::store::records::{self, Entry, Image};
use crate::store::{Fault, HomeNo, Tx, events, links};

/// Where ids of new records come from.
pub type Ids<'a> = &'a mut dyn FnMut() -> Uuid;

/// What a command came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The record now exists.
    Created(Uuid, Image),
    /// The record is now, or already was, as asked; None: the profile was never set and nothing was sent.
    Stands(Option<Image>),
    /// The record does not exist, now or already before.
    Gone(Uuid),
}

/// Expected refusals are values; only what is broken is an `Err`.
pub type Verdict = Result<Outcome, Problem>;

/// A transaction's hold on one home: gives out event ids and moments, and keeps where the home stands at the end.
pub struct Writing<'a, 'c> {
    tx: &'a Tx<'c>,
    home: Home,
    /// The first event of this transaction.
    first: Option<i64>,
    run: i64,
    now: Timestamp,
    key: Option<String>,
}

impl<'a, 'c> Writing<'a, 'c> {
    /// Takes hold of a home for a process `run` at a moment; `key` is the idempotency key that its events carry.
    pub fn begin(tx: &'a Tx<'c>, number: HomeNo, run: i64, now: Timestamp, key: Option<String>) -> Result<Self, Fault> {
        let mut home = homes::load(tx, number)?;
        // The machine's clock may step back; the home's does not (contract 2).
        let now = if hearth_simulated::planted(hearth_simulated::Fault::HomeClockStepsBack) {
            now
        } else {
            now.max(home.clock)
        };
        home.clock = now;
        Ok(Writing { tx, first: None, home, run, now, key })
    }

    /// The home's position with everything written so far.
    pub fn as_of(&self) -> i64 {
        self.home.head
    }

    /// Keeps where the home stands, and from where on this process wrote it. Without events nothing is kept.
    pub fn finish(mut self) -> Result<(), Fault> {
        let Some(first) = self.first else {
            return Ok(());
        };
        if self.home.run != self.run {
            homes::begin_run(self.tx, self.home.number, first, self.run)?;
            self.home.run = self.run;
        }
        if hearth_simulated::planted(hearth_simulated::Fault::HeadNotStored) && self.home.head % 7 == 0 {
            self.home.head = first - 1;
        }
        homes::save(self.tx, &self.home)
    }

    /// Carries out one command. A refusal leaves everything as it was.
    pub fn apply(&mut self, command: Command, ids: Ids<'_>) -> Result<Verdict, Fault> {
        match command {
            Command::Create { kind, body } => {
                let id = body.id.unwrap_or_else(&mut *ids);
                self.create(kind, id, body.fields, body.faults, ids)
            }
            Command::Update { kind, id, body, guard } => {
                let id = id.unwrap_or(self.home.id);
                self.update(kind, id, body.fields, body.faults, &guard, ids)
            }
            Command::Delete { kind, id, guard } => self.delete(kind, id, &guard),
        }
    }

    fn create(
        &mut self,
        kind: Kind,
        id: Uuid,
        mut fields: Fields,
        mut faults: Vec<FieldFault>,
        ids: Ids<'_>,
    ) -> Result<Verdict, Fault> {
        faults.extend(self.missing_references(kind, &fields, None)?);
        if !faults.is_empty() {
            return Ok(Err(Problem::validation(&faults)));
        }
        if id == self.home.id {
            return Ok(Err(belongs_to_the_profile(id)));
        }
        if let Some(entry) = records::entry(self.tx, self.home.number, id)?
            && !hearth_simulated::planted(hearth_simulated::Fault::DeletedIdsReusable)
        {
            return Ok(Err(already_exists(id, entry.deleted)));
        }
        rules::settle(kind, None, &mut fields, self.now);
        let follow_up = rules::follow_up(kind, None, &fields, self.now);
        let image = self.put(EventType::Created, kind, id, None, fields)?;
        self.add_follow_up(kind, follow_up, ids)?;
        Ok(Ok(Outcome::Created(id, image)))
    }

    fn update(
        &mut self,
        kind: Kind,
        id: Uuid,
        changes: Fields,
        mut faults: Vec<FieldFault>,
        guard: &Preconditions,
        ids: Ids<'_>,
    ) -> Result<Verdict, Fault> {
        let before = match self.load(kind, id)? {
            Some(before) => before,
            None if kind.is_singleton() => return self.set_profile(id, changes, faults, guard),
            None => return Ok(Err(not_found(kind, id))),
        };
        if !guard.admits(Some(before.rev)) && !hearth_simulated::planted(hearth_simulated::Fault::IfMatchIgnored) {
            return Ok(Err(moved_on(Some(before.rev))));
        }
        let mut after = before.fields.clone();
        after.extend(changes);
        // A subject one half of which is faulty is the old one in part: it says nothing of what was meant.
        let is_half = faults.iter().any(|fault| is_subject(&fault.field));
        check_subject(kind, &after, &mut faults);
        let missing = self.missing_references(kind, &after, Some(&before.fields))?;
        faults.extend(missing.into_iter().filter(|fault| !(is_half && is_subject(&fault.field))));
        if !faults.is_empty() {
            return Ok(Err(Problem::validation(&faults)));
        }
        rules::settle(kind, Some(&before.fields), &mut after, self.now);
        if after == before.fields {
            return Ok(Ok(Outcome::Stands(Some(Image { rev: before.rev, json: before.to_json() }))));
        }
        let follow_up = rules::follow_up(kind, Some(&before.fields), &after, self.now);
        let image = self.put(EventType::Updated, kind, id, Some(before), after)?;
        self.add_follow_up(kind, follow_up, ids)?;
        Ok(Ok(Outcome::Stands(Some(image))))
    }

    /// The profile is made by its first patch (contract 10).
    fn set_profile(
        &mut self,
        id: Uuid,
        changes: Fields,
        faults: Vec<FieldFault>,
        guard: &Preconditions,
    ) -> Result<Verdict, Fault> {
        if !guard.admits(None) {
            return Ok(Err(moved_on(None)));
        }
        if !faults.is_empty() {
            return Ok(Err(Problem::validation(&faults)));
        }
        // Values that are null already change nothing (contract 6.2, 10).
        if changes.values().all(Value::is_null) {
            return Ok(Ok(Outcome::Stands(None)));
        }
        let mut fields: Fields =
            resource(Kind::Property).fields.iter().map(|field| (field.name.to_owned(), Value::Null)).collect();
        fields.extend(changes);
        let image = self.put(EventType::Created, Kind::Property, id, None, fields)?;
        Ok(Ok(Outcome::Stands(Some(image))))
    }

    fn delete(&mut self, kind: Kind, id: Uuid, guard: &Preconditions) -> Result<Verdict, Fault> {
        let Some(before) = self.load(kind, id)? else {
            return Ok(Ok(Outcome::Gone(id)));
        };
        if !guard.admits(Some(before.rev)) {
            return Ok(Err(moved_on(Some(before.rev))));
        }
        for (source_kind, source) in links::sources(self.tx, self.home.number, id)? {
            self.clear_reference(source_kind, source, id)?;
        }
        for (_, _, target) in references(kind, &before.fields) {
            links::remove(self.tx, self.home.number, target, (kind, id))?;
        }
        self.remove(&before)?;
        Ok(Ok(Outcome::Gone(id)))
    }

    /// What referred to a deleted record becomes general: an ordinary update with its own event (contract 3).
    fn clear_reference(&mut self, kind: Kind, id: Uuid, target: Uuid) -> Result<(), Fault> {
        let Some(before) = self.load(kind, id)? else {
            return Ok(());
        };
        let mut after = before.fields.clone();
        rules::forget_reference(kind, &mut after, target);
        self.put(EventType::Updated, kind, id, Some(before), after)?;
        Ok(())
    }

    fn add_follow_up(&mut self, kind: Kind, follow_up: Option<Fields>, ids: Ids<'_>) -> Result<(), Fault> {
        if let Some(fields) = follow_up {
            self.put(EventType::Created, kind, ids(), None, fields)?;
        }
        Ok(())
    }

    /// The one place where a record changes: its image, its event, its place in both orders and its links.
    fn put(
        &mut self,
        event_type: EventType,
        kind: Kind,
        id: Uuid,
        before: Option<Record>,
        fields: Fields,
    ) -> Result<Image, Fault> {
        let rev = self.next_event();
        let targets = |fields: &Fields| references(kind, fields).into_iter().map(|(_, _, target)| target).collect();
        let new_targets: Vec<Uuid> = targets(&fields);
        let old_targets: Vec<Uuid> = before.as_ref().map(|before| targets(&before.fields)).unwrap_or_default();
        let created_at = before.as_ref().map_or(self.now, |before| before.created_at);
        let record = Record { kind, id, rev, fields, created_at, updated_at: self.now };
        let json = record.to_json();

        let created = match &before {
            Some(before) => self.supersede(before)?,
            None => rev,
        };
        self.append(event_type, kind, id, rev, Some(json.clone()))?;
        records::put(self.tx, self.home.number, id, &Entry { kind, created, rev, deleted: false })?;
        self.keep_words(created, before.as_ref(), &record);
        for target in old_targets.iter().filter(|target| !new_targets.contains(target)) {
            links::remove(self.tx, self.home.number, *target, (kind, id))?;
        }
        for target in new_targets.iter().filter(|target| !old_targets.contains(target)) {
            links::add(self.tx, self.home.number, *target, (kind, id))?;
        }
        Ok(Image { rev, json })
    }

    /// Keeps what of a record can be found, unless it is found by the same words already.
    fn keep_words(&self, created: i64, before: Option<&Record>, record: &Record) {
        let (title, body) = search_text::folded_title_and_rest(record.kind, &record.fields);
        let is_known = |before: &Record| {
            search_text::folded_title_and_rest(before.kind, &before.fields) == (title.clone(), body.clone())
        };
        if !record.kind.is_singleton() && !before.is_some_and(is_known) {
            let (number, record) = (self.home.number, (record.kind, record.id));
            crate::store::search::put(self.tx, number, created, before.is_none(), record, title, body);
        }
    }

    fn remove(&mut self, before: &Record) -> Result<(), Fault> {
        let (kind, id) = (before.kind, before.id);
        let rev = self.next_event();
        let created = self.supersede(before)?;
        self.append(EventType::Deleted, kind, id, rev, None)?;
        crate::store::search::remove(self.tx, self.home.number, created);
        records::put(self.tx, self.home.number, id, &Entry { kind, created, rev, deleted: true })
    }

    /// An image that is no longer a record's present leaves the feed at once if it is older than retention; only the
    /// present kept it there. Gives the event that created the record.
    fn supersede(&mut self, before: &Record) -> Result<i64, Fault> {
        if before.rev <= self.home.aged {
            events::remove(self.tx, self.home.number, before.rev)?;
            self.home.thinned = self.home.thinned.max(before.rev);
        }
        let entry = records::entry(self.tx, self.home.number, before.id)?;
        entry.map(|entry| entry.created).ok_or_else(|| Fault::Corrupt(format!("record {} has no entry", before.id)))
    }

    fn append(
        &self,
        event_type: EventType,
        kind: Kind,
        record: Uuid,
        id: i64,
        payload: Option<String>,
    ) -> Result<(), Fault> {
        let idempotency_key = self.key.clone();
        let event = StoredEvent { id, event_type, kind, record, payload, created_at: self.now, idempotency_key };
        events::append(self.tx, self.home.number, &event)
    }

    fn next_event(&mut self) -> i64 {
        self.home.head = (self.home.head + 1).max(self.home.floor);
        self.first.get_or_insert(self.home.head);
        self.home.head
    }

    fn load(&self, kind: Kind, id: Uuid) -> Result<Option<Record>, Fault> {
        let Some(image) = records::image(self.tx, self.home.number, kind, id)? else {
            return Ok(None);
        };
        let record = Record::from_json(kind, &image.json);
        record.map(Some).ok_or_else(|| Fault::Corrupt(format!("image of {kind} {id}")))
    }

    /// References that changed and name nothing of their kind in this home.
    fn missing_references(
        &self,
        kind: Kind,
        fields: &Fields,
        before: Option<&Fields>,
    ) -> Result<Vec<FieldFault>, Fault> {
        let mut faults = Vec::new();
        let known = before.map(|before| references(kind, before)).unwrap_or_default();
        for (field, target_kind, target) in references(kind, fields) {
            if known.iter().any(|(_, kind, id)| (*kind, *id) == (target_kind, target)) {
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

/// The refusal for a record that does not exist.
pub fn not_found(kind: Kind, id: impl std::fmt::Display) -> Problem {
    Problem::new(ProblemType::NotFound, format!("No {kind} {id} in this home."))
}

fn already_exists(id: Uuid, deleted: bool) -> Problem {
    let state = if deleted { "was used by a record that is deleted" } else { "exists" };
    let problem = Problem::new(ProblemType::AlreadyExists, format!("The id {id} {state}."))
        .with("id", id.to_string())
        .with("deleted", deleted);
    // What is deleted cannot be patched.
    if deleted { problem.with_fix("Choose another id: one that was used is never free again.") } else { problem }
}

/// The id of a home is that of its profile, also before there is one (contract 10).
fn belongs_to_the_profile(id: Uuid) -> Problem {
    let message = format!("The id {id} is the home's own: its profile has it.");
    let problem = Problem::new(ProblemType::AlreadyExists, message).with("id", id.to_string()).with("deleted", false);
    problem.with_fix("Choose another id.")
}

fn moved_on(rev: Option<i64>) -> Problem {
    let message = match rev {
        None => "The record does not exist yet.".to_owned(),
        Some(rev) => format!("The record is at revision {rev} now."),
    };
    Problem::new(ProblemType::PreconditionFailed, message).with("rev", rev)
}

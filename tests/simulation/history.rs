//! One history of the home: the versions of all records and the effects of all writes, built from the server's events.
//! Checks each event when it is added. Must not know where events are read, nor replicas.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use hearth_contract::recurrence;
use hearth_contract::schema::Kind;
use serde_json::Value;
use uuid::Uuid;

use super::record::{Fields, RecordKey, Version, marks, new_marks};

/// How long the server remembers an idempotency key, in milliseconds.
const KEY_LIFETIME_MILLIS: i64 = 24 * 3_600_000;

/// An event of the server.
#[derive(Debug)]
pub struct EventRow {
    /// The id of the event, which is its position in the feed.
    pub id: i64,
    /// The changed record.
    pub record: RecordKey,
    /// 0 created, 1 updated, 2 deleted.
    pub event_type: i64,
    /// When the event happened, in milliseconds since 1970.
    pub at: i64,
    /// The idempotency key of the write; None for a write without key.
    pub key: Option<String>,
    /// The record after the event as JSON; None when the event deleted the record.
    pub body: Option<String>,
}

/// What the simulation knows beside the events.
#[derive(Debug, Default)]
pub struct WriteFacts {
    /// Records about whose edits a person has decided. Such an edit may write an earlier value again.
    pub decided_records: HashSet<RecordKey>,
    /// The revision that a write insists on (`If-Match`), by idempotency key and record id.
    pub required_revs: HashMap<(String, String), i64>,
}

/// The events that one idempotency key has caused.
#[derive(Debug, Clone, Copy)]
struct KeyEffect {
    last_event: i64,
    /// When the first of these events happened, in milliseconds since 1970.
    first_at: i64,
}

/// One history of the home: from the beginning to now, or to the point at which a restore discarded the rest.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The id of the last event.
    pub head: i64,
    /// The id of the last event that this history shares with the history before it.
    pub fork: i64,
    /// All versions of each record, oldest first.
    pub versions: BTreeMap<RecordKey, Vec<Version>>,
    /// The id of the last event of each write, by idempotency key and record id.
    pub events_by_key: HashMap<(String, String), i64>,
    /// How often each marked value appeared anew in a record.
    pub mark_counts: HashMap<(RecordKey, String), u32>,
    key_effects: HashMap<String, KeyEffect>,
    last_event_at: i64,
    /// The task that the next event must create: the last event completed a recurring task.
    expected_next: Option<RecordKey>,
}

impl History {
    /// The record as it was at a position; None when it did not exist yet.
    pub fn version_at(&self, record: &RecordKey, position: i64) -> Option<&Version> {
        self.versions.get(record)?.iter().rev().find(|version| version.rev <= position)
    }

    /// The last version of a record.
    pub fn last_version(&self, record: &RecordKey) -> Option<&Version> {
        self.versions.get(record)?.last()
    }

    /// All records that existed at a position, with their fields.
    pub fn records_at(&self, position: i64) -> BTreeMap<&RecordKey, (i64, &Rc<Fields>)> {
        let last = |versions: &'_ [Version]| versions.iter().rposition(|version| version.rev <= position);
        let records = self.versions.iter().filter_map(|(record, versions)| {
            let version = &versions[last(versions)?];
            Some((record, (version.rev, version.fields.as_ref()?)))
        });
        records.collect()
    }

    /// True when the record had this mark and its last version does not have the mark.
    pub fn has_overwritten(&self, record: &RecordKey, mark: &str) -> bool {
        let shows = |version: &Version| version.fields.iter().any(|fields| marks(fields).any(|known| known == mark));
        self.versions
            .get(record)
            .is_some_and(|versions| versions.iter().any(shows) && !versions.last().is_some_and(shows))
    }

    /// True when the mark has appeared in any record.
    pub fn has_mark(&self, mark: &str) -> bool {
        self.mark_counts.keys().any(|(_, known)| known == mark)
    }

    /// Removes all events after `head`, as a restore does. The rest becomes the common part with the history before.
    pub fn truncate(&mut self, head: i64) {
        (self.head, self.fork, self.last_event_at) = (head, head, 0);
        self.expected_next = None;
        for versions in self.versions.values_mut() {
            versions.retain(|version| version.rev <= head);
        }
        self.versions.retain(|_, versions| !versions.is_empty());
        self.events_by_key.retain(|_, rev| *rev <= head);
        let effects_before = std::mem::take(&mut self.key_effects);
        for ((key, _), rev) in &self.events_by_key {
            let first_at = effects_before.get(key).map_or(0, |effect| effect.first_at);
            let effect = self.key_effects.entry(key.clone()).or_insert(KeyEffect { last_event: *rev, first_at });
            effect.last_event = effect.last_event.max(*rev);
        }
        self.mark_counts = self.count_marks();
    }

    fn count_marks(&self) -> HashMap<(RecordKey, String), u32> {
        let mut counts = HashMap::new();
        for (record, versions) in &self.versions {
            let mut before: Option<&Fields> = None;
            for Version { fields, .. } in versions {
                for mark in fields.iter().flat_map(|fields| new_marks(before, fields)) {
                    *counts.entry((record.clone(), mark)).or_insert(0) += 1;
                }
                before = fields.as_deref();
            }
        }
        counts
    }

    /// Adds an event. Err: the event breaks a rule that every event must keep.
    pub fn add(&mut self, event: EventRow, facts: &WriteFacts) -> Result<(), String> {
        let EventRow { id, record, event_type, at, key, body } = event;
        let name = format!("event {id} of {record}");
        if id <= self.head {
            return Err(format!("{name} follows position {}", self.head));
        }
        if at < self.last_event_at {
            return Err(format!("{name} is older than the event before it"));
        }
        (self.head, self.last_event_at) = (id, at);
        let fields = match body.as_deref().map(serde_json::from_str::<Fields>).transpose() {
            Ok(fields) => fields.map(Rc::new),
            Err(error) => return Err(format!("{name} has a body that is not a record: {error}")),
        };
        let last = self.last_version(&record);
        let (last_rev, before) = (last.map(|last| last.rev), last.and_then(|last| last.fields.clone()));
        match (event_type, last_rev, before.is_some(), fields.is_some()) {
            (0, None, _, true) | (1, _, true, true) | (2, _, true, false) => {}
            _ => return Err(format!("{name} has the type {event_type}, which cannot follow the version before it")),
        }
        self.check_next_task(&record, event_type).map_err(|why| format!("{name} {why}"))?;
        if let Some(fields) = &fields {
            self.expected_next = self.next_task(&record, before.as_deref(), fields);
            let may_repeat = facts.decided_records.contains(&record);
            self.check_image(id, &record, before.as_deref(), fields, may_repeat)
                .map_err(|why| format!("{name} {why}"))?;
        }
        if let Some(key) = key {
            self.check_key(&key, id, at, &record, last_rev, facts).map_err(|why| format!("{name} {why}"))?;
            self.events_by_key.insert((key, record.id.clone()), id);
        }
        self.versions.entry(record).or_default().push(Version { rev: id, fields });
        Ok(())
    }

    /// The task that must follow a version of a record (contract 3): the record is a task of a series that becomes done, and
    /// the id of the next task was never used.
    fn next_task(&self, record: &RecordKey, before: Option<&Fields>, after: &Fields) -> Option<RecordKey> {
        let completes =
            record.kind == Kind::Task && recurrence::becomes_done(before, after) && recurrence::recurs(after);
        let id = completes.then(|| Uuid::try_parse(&record.id).ok())??;
        let id = recurrence::next_id(id).to_string();
        let is_used = self.versions.keys().any(|known| known.id == id);
        (!is_used).then_some(RecordKey { kind: Kind::Task, id })
    }

    /// The id of the next task that the last event calls for; None when nothing is missing.
    pub fn missing_next_task(&self) -> Option<&str> {
        self.expected_next.as_ref().map(|next| next.id.as_str())
    }

    /// Checks that a task of a series is followed by its next task, in the next event.
    fn check_next_task(&mut self, record: &RecordKey, event_type: i64) -> Result<(), String> {
        match self.expected_next.take() {
            Some(next) if next != *record || event_type != 0 => {
                Err(format!("stands in the place of the next task {}", next.id))
            }
            _ => Ok(()),
        }
    }

    /// Checks the record that an event contains, and counts its new marks.
    fn check_image(
        &mut self,
        id: i64,
        record: &RecordKey,
        before: Option<&Fields>,
        fields: &Fields,
        may_repeat: bool,
    ) -> Result<(), String> {
        if fields.get("rev").and_then(Value::as_i64) != Some(id) {
            return Err("contains another rev".to_owned());
        }
        for mark in new_marks(before, fields) {
            let count = self.mark_counts.entry((record.clone(), mark.clone())).or_insert(0);
            *count += 1;
            if *count > 1 && !may_repeat {
                return Err(format!("writes {mark}, which had its effect before ({count} times now)"));
            }
        }
        Ok(())
    }

    /// Checks that the write changed the revision that it insisted on, and that its key has one effect only.
    fn check_key(
        &mut self,
        key: &str,
        id: i64,
        at: i64,
        record: &RecordKey,
        last_rev: Option<i64>,
        facts: &WriteFacts,
    ) -> Result<(), String> {
        let named = if record.kind.is_singleton() { record.kind.as_str() } else { &record.id };
        let required = facts.required_revs.get(&(key.to_owned(), named.to_owned())).copied();
        if required.is_some() && required != last_rev {
            return Err(format!("requires revision {required:?} and changes {last_rev:?}"));
        }
        // The events of one write are consecutive. After the lifetime of the key, a new write may use the key again.
        match self.key_effects.get_mut(key) {
            Some(effect) if effect.last_event != id - 1 => {
                if at - effect.first_at < KEY_LIFETIME_MILLIS {
                    return Err(format!("is a second effect of key {key}; the first was at {}", effect.last_event));
                }
                *effect = KeyEffect { last_event: id, first_at: at };
            }
            Some(effect) => effect.last_event = id,
            None => drop(self.key_effects.insert(key.to_owned(), KeyEffect { last_event: id, first_at: at })),
        }
        Ok(())
    }

    /// Checks an event that was read again: a used position never gets another event, even after compaction.
    pub fn check_last(&self, event: &EventRow) -> Result<(), String> {
        match self.last_version(&event.record) {
            Some(last) if last.rev == event.id && last.fields.is_some() == event.body.is_some() => Ok(()),
            _ => Err(format!("position {} is used again, for {}", event.id, event.record)),
        }
    }
}

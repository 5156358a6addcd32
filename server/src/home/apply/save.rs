//! How a change is stored: the event with the JSON of the record, its entry, its search text and its indexed values, in the
//! transaction of the command. Must not know why a record changes.

use hearth_contract::check::Fields;
use hearth_contract::event::{EventType, StoredEvent};
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use hearth_contract::search_text::{indexed_rest, indexed_title, title_and_rest};
use uuid::Uuid;

use super::HomeWriter;
use crate::home::document_file;
use crate::store::records::{self, Entry, Image};
use crate::store::{StoreError, events, field_values, search};

impl HomeWriter<'_, '_> {
    /// The only place where a record is created or updated: its event with the JSON, its entry, its search text and its
    /// indexed values.
    pub(super) fn save_record(
        &mut self,
        event_type: EventType,
        kind: Kind,
        id: Uuid,
        before: Option<Record>,
        fields: Fields,
    ) -> Result<Image, StoreError> {
        let rev = self.next_event();
        let created_at = match (&before, &self.as_sent) {
            (Some(before), _) => before.created_at,
            // Moments rise in the order of creation (contract 5).
            (None, Some(as_sent)) => {
                let last = records::last_created_at(self.tx, self.home.number, kind)?;
                last.map_or(as_sent.created_at, |last| as_sent.created_at.max(last)).min(self.now)
            }
            (None, None) => self.now,
        };
        let updated_by = self.author.clone();
        let record = Record { kind, id, rev, fields, created_at, updated_at: self.now, updated_by };
        let json = record.to_json();

        let created = match &before {
            Some(before) => self.supersede(before)?,
            None => rev,
        };
        self.append(event_type, kind, id, rev, Some(json.clone()))?;
        records::save_entry(self.tx, self.home.number, id, &Entry { kind, created, rev, deleted: false })?;
        self.index_text(created, before.as_ref(), &record);
        let old = before.as_ref().map(|before| &before.fields);
        field_values::replace(self.tx, self.home.number, kind, created, old, Some(&record.fields))?;
        document_file::note_use(self.tx, self.home.number, kind, old, Some(&record.fields), self.machine_now)?;
        document_file::index_reading(self.tx, self.home.number, created, kind, old, &record.fields)?;
        Ok(Image { rev, json })
    }

    /// Indexes the searched texts of a record, as far as they have changed: folding and indexing a long text is the most
    /// work of a write.
    fn index_text(&self, created: i64, before: Option<&Record>, record: &Record) {
        if record.kind.is_singleton() {
            return;
        }
        let (tx, number) = (self.tx, self.home.number);
        let (title, rest) = title_and_rest(record.kind, &record.fields);
        let old = before.map(|before| title_and_rest(before.kind, &before.fields));
        match old {
            Some((old_title, old_rest)) if old_rest == rest => {
                if old_title != title {
                    search::index_title(tx, number, created, &indexed_title(title));
                }
            }
            _ => {
                let record = (record.kind, record.id);
                let (title, rest) = (indexed_title(title), indexed_rest(&rest));
                search::index(tx, number, created, before.is_none(), record, &title, &rest);
            }
        }
    }

    pub(super) fn delete_record(&mut self, before: &Record) -> Result<(), StoreError> {
        let (kind, id) = (before.kind, before.id);
        let rev = self.next_event();
        let created = self.supersede(before)?;
        self.append(EventType::Deleted, kind, id, rev, None)?;
        search::remove(self.tx, self.home.number, created);
        field_values::replace(self.tx, self.home.number, kind, created, Some(&before.fields), None)?;
        document_file::note_use(self.tx, self.home.number, kind, Some(&before.fields), None, self.machine_now)?;
        records::save_entry(self.tx, self.home.number, id, &Entry { kind, created, rev, deleted: true })
    }

    /// Removes the event with the old JSON of a record from the feed, if the event is older than retention: only events
    /// with current JSON stay there. Gives the event that created the record.
    fn supersede(&mut self, before: &Record) -> Result<i64, StoreError> {
        if before.rev <= self.home.retention_pos {
            events::remove(self.tx, self.home.number, before.rev)?;
            self.home.compacted_pos = self.home.compacted_pos.max(before.rev);
        }
        let entry = records::entry(self.tx, self.home.number, before.id)?;
        entry
            .map(|entry| entry.created)
            .ok_or_else(|| StoreError::Corrupt(format!("record {} has no entry", before.id)))
    }

    fn append(
        &self,
        event_type: EventType,
        kind: Kind,
        record: Uuid,
        id: i64,
        payload: Option<String>,
    ) -> Result<(), StoreError> {
        let idempotency_key = self.key.clone();
        let event = StoredEvent { id, event_type, kind, record, payload, created_at: self.now, idempotency_key };
        events::append(self.tx, self.home.number, &event, &self.author)
    }

    fn next_event(&mut self) -> i64 {
        self.home.head = (self.home.head + 1).max(self.home.next_event_min);
        self.first.get_or_insert(self.home.head);
        self.home.head
    }

    pub(super) fn load(&self, kind: Kind, id: Uuid) -> Result<Option<Record>, StoreError> {
        let Some(image) = records::image(self.tx, self.home.number, kind, id)? else {
            return Ok(None);
        };
        let record = Record::from_json(kind, &image.json);
        record.map(Some).ok_or_else(|| StoreError::Corrupt(format!("image of {kind} {id}")))
    }
}

//! The latest events of a home in words for people: which record, what happened, and who did it. Must not know pages.

use hearth_contract::event::{EventType, StoredEvent};
use hearth_contract::formats::Timestamp;
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use hearth_contract::search_text::title_and_rest;
use uuid::Uuid;

use crate::store::{HomeNumber, StoreError, Tx, events};

/// An event of the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatestEvent {
    /// The event id.
    pub id: i64,
    /// What happened to the record.
    pub event_type: EventType,
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record.
    pub record: Uuid,
    /// The title of the record after the event. None: the record was deleted, or has no title.
    pub title: Option<String>,
    /// The name of the person or key. None: the stored event names nobody.
    pub by: Option<String>,
    /// The moment of the event.
    pub at: Timestamp,
}

/// The latest events of a home, the newest first.
pub fn latest_events(tx: &Tx<'_>, home: HomeNumber, count: usize) -> Result<Vec<LatestEvent>, StoreError> {
    let stored = events::latest(tx, home, count)?.into_iter();
    let event = |(event, deleted_by): (StoredEvent, Option<String>)| {
        let record = event.payload.as_deref().and_then(|json| Record::from_json(event.kind, json));
        let title = record.as_ref().map(|record| title_and_rest(event.kind, &record.fields).0.to_owned());
        LatestEvent {
            id: event.id,
            event_type: event.event_type,
            kind: event.kind,
            record: event.record,
            title: title.filter(|title| !title.is_empty()),
            by: record.map(|record| record.updated_by).or(deleted_by),
            at: event.created_at,
        }
    };
    Ok(stored.map(event).collect())
}

//! What the server committed: one entry of a home's change feed (contract 9). Must not know cursors or transport.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::formats::Timestamp;
use crate::headers::CURRENT_VERSION;
use crate::schema::Kind;

/// What an event did to its record (`type` in the seed).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    /// The record was created.
    Created,
    /// The record was changed.
    Updated,
    /// The record was deleted.
    Deleted,
}

impl EventType {
    /// The value of `type`.
    pub const fn as_str(self) -> &'static str {
        match self {
            EventType::Created => "created",
            EventType::Updated => "updated",
            EventType::Deleted => "deleted",
        }
    }

    /// The event type with this name; None for a name of a newer server.
    pub fn parse(word: &str) -> Option<EventType> {
        [EventType::Created, EventType::Updated, EventType::Deleted].into_iter().find(|h| h.as_str() == word)
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An event with its payload as stored text: the server's side, which writes events and never reads their payloads.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// Its position in the home's order.
    pub id: i64,
    /// What the event did.
    pub event_type: EventType,
    /// Of which kind the record is.
    pub kind: Kind,
    /// Which record.
    pub record: Uuid,
    /// The record's wire JSON after the event; None when deleted.
    pub payload: Option<String>,
    /// When it was committed.
    pub created_at: Timestamp,
    /// The key of the write that made it.
    pub idempotency_key: Option<String>,
}

impl StoredEvent {
    /// Appends the event record as one line of JSON.
    pub fn write_json(&self, out: &mut String) {
        use fmt::Write as _;
        let StoredEvent { id, event_type, kind, record, created_at, .. } = self;
        let payload = self.payload.as_deref().unwrap_or("null");
        let _ = write!(
            out,
            r#"{{"id":{id},"type":"{event_type}","resource_type":"{kind}","resource_id":"{record}","api_version":"{CURRENT_VERSION}","payload":{payload},"created_at":"{created_at}","idempotency_key":"#
        );
        match &self.idempotency_key {
            Some(key) => out.push_str(&Value::from(key.as_str()).to_string()),
            None => out.push_str("null"),
        }
        out.push('}');
    }
}

/// An event as a reader gets it. Words this version does not know stay words, so that a newer server is no error.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Event {
    /// Its position in the home's order.
    pub id: i64,
    /// `created`, `updated` or `deleted`.
    #[serde(rename = "type")]
    pub event_type: String,
    /// The kind's singular word.
    pub resource_type: String,
    /// Which record.
    pub resource_id: Uuid,
    /// The record after the event; None when deleted.
    pub payload: Option<Map<String, Value>>,
    /// When it was committed.
    pub created_at: Timestamp,
    /// The key of the write that made it; None when it had none, or when the server does not say.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let stored = StoredEvent {
            id: 9,
            event_type: EventType::Created,
            kind: Kind::Room,
            record: Uuid::from_u128(7),
            payload: Some(r#"{"id":"x","rev":9}"#.to_owned()),
            created_at: Timestamp::from_millis(5),
            idempotency_key: Some("a\"b".to_owned()),
        };
        let mut text = String::new();
        stored.write_json(&mut text);
        let event: Event = serde_json::from_str(&text).unwrap();
        assert_eq!((event.id, event.event_type.as_str(), event.resource_type.as_str()), (9, "created", "room"));
        assert_eq!(event.idempotency_key.as_deref(), Some("a\"b"));
        assert_eq!(event.payload.unwrap()["rev"], 9);
    }
}

//! Events: the entries of a home's change feed (contract 9), as the server writes and as clients read. Must not know
//! cursors or transport.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::formats::Timestamp;
use crate::headers::CURRENT_VERSION;
use crate::schema::Kind;

/// The `type` of an event: the change of the record.
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

    /// The event type with this name. None for a name of a newer server.
    pub fn parse(word: &str) -> Option<EventType> {
        [EventType::Created, EventType::Updated, EventType::Deleted].into_iter().find(|kind| kind.as_str() == word)
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An event with its payload as stored text. The server writes events and never parses payloads.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// The position of the event in the home's order.
    pub id: i64,
    /// The change of the record.
    pub event_type: EventType,
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record.
    pub record: Uuid,
    /// The wire JSON of the record after the event. None for `deleted`.
    pub payload: Option<String>,
    /// The time of the commit; equals `updated_at` in the payload.
    pub created_at: Timestamp,
    /// The Idempotency-Key of the write. None: the write had no key.
    pub idempotency_key: Option<String>,
}

/// Bytes that the JSON of most events has beside the payload.
const HEAD_USUAL: usize = 320;

impl StoredEvent {
    /// Appends the event as one line of JSON, in the current version of the API.
    pub fn write_json(&self, out: &mut String) {
        use fmt::Write as _;
        let StoredEvent { id, event_type, kind, record, created_at, .. } = self;
        let payload = self.payload.as_deref().unwrap_or("null");
        out.reserve(payload.len() + HEAD_USUAL);
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

/// An event as a client reads it. Types and kinds stay words: an unknown word of a newer server is not an error.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Event {
    /// The position of the event in the home's order.
    pub id: i64,
    /// `created`, `updated` or `deleted`.
    #[serde(rename = "type")]
    pub event_type: String,
    /// The singular word of the kind.
    pub resource_type: String,
    /// The id of the record.
    pub resource_id: Uuid,
    /// The members of the record after the event. None for `deleted`.
    pub payload: Option<Map<String, Value>>,
    /// The time of the commit.
    pub created_at: Timestamp,
    /// The Idempotency-Key of the write. None: the write had no key, or the server does not report keys.
    #[serde(default)]
    pub idempotency_key: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_json_round_trips() {
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

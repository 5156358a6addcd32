//! Records, their JSON form and their ETags (contract 1, 3, 4). Must not know where records are stored.

use serde_json::Value;
use uuid::Uuid;

use crate::check::Fields;
use crate::formats::{Timestamp, parse_id};
use crate::recurrence;
use crate::resources::resource;
use crate::schema::{COMMON, Kind, Presence};

/// One record of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The kind of the record.
    pub kind: Kind,
    /// The id within the home. An id is never used again, also after a delete.
    pub id: Uuid,
    /// The id of the event that last changed the record; also the ETag.
    pub rev: i64,
    /// The fields of the kind by name. A record from a newer server may hold unknown members.
    pub fields: Fields,
    /// The time of the create; never changes.
    pub created_at: Timestamp,
    /// The time of the last change; never goes backwards within a home.
    pub updated_at: Timestamp,
    /// The name of the person or the key that made the last change, as the name was at that time. At most
    /// [`AUTHOR_MAX`](crate::schema::AUTHOR_MAX) characters.
    pub updated_by: String,
}

impl Record {
    /// Writes the JSON form: `id`, `rev`, all fields of the kind in the order of the table, `created_at`, `updated_at`,
    /// `updated_by`.
    pub fn to_json(&self) -> String {
        let mut members = serde_json::Map::with_capacity(self.fields.len() + COMMON.len());
        members.insert("id".into(), self.id.to_string().into());
        members.insert("rev".into(), self.rev.into());
        for field in resource(self.kind).fields {
            members.insert(field.name.into(), self.fields.get(field.name).cloned().unwrap_or(Value::Null));
        }
        members.insert("created_at".into(), self.created_at.to_string().into());
        members.insert("updated_at".into(), self.updated_at.to_string().into());
        members.insert("updated_by".into(), self.updated_by.as_str().into());
        Value::Object(members).to_string()
    }

    /// Parses the JSON form. None: the text is not an object with the common members.
    pub fn from_json(kind: Kind, text: &str) -> Option<Record> {
        match serde_json::from_str(text) {
            Ok(Value::Object(members)) => Record::from_members(kind, members),
            _ => None,
        }
    }

    /// Builds a record from the members of its JSON form. None: a common member is missing or malformed.
    pub fn from_members(kind: Kind, mut members: Fields) -> Option<Record> {
        let text = |value: Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
        let id = parse_id(&text(members.shift_remove("id"))?)?;
        let rev = members.shift_remove("rev")?.as_i64()?;
        let created_at = Timestamp::parse(&text(members.shift_remove("created_at"))?)?;
        let updated_at = Timestamp::parse(&text(members.shift_remove("updated_at"))?)?;
        let updated_by = text(members.shift_remove("updated_by"))?;
        complete(kind, &mut members);
        Some(Record { kind, id, rev, fields: members, created_at, updated_at, updated_by })
    }
}

/// Adds the fields that a record lacks because it was written before its kind had them: a field with a default has the
/// default, and the series of a recurring task counts from its due date (contract 3).
pub fn complete(kind: Kind, fields: &mut Fields) {
    for field in resource(kind).fields {
        if let Presence::Default(preset) = field.presence
            && !fields.contains_key(field.name)
        {
            fields.insert(field.name.to_owned(), preset.value());
        }
    }
    if resource(kind).field(recurrence::ANCHOR).is_some() && !fields.contains_key(recurrence::ANCHOR) {
        recurrence::set_anchor(fields);
    }
}

/// The ETag of a revision: the number in quotes.
pub fn etag(rev: i64) -> String {
    format!("\"{rev}\"")
}

/// Parses an ETag that [`etag`] wrote. None for a weak tag, because conditions compare strongly (RFC 9110 13.1.1). None for
/// another spelling of the number, because ETags are compared as texts.
pub fn parse_etag(text: &str) -> Option<i64> {
    let rev = text.strip_prefix('"')?.strip_suffix('"')?.parse().ok()?;
    (etag(rev) == text).then_some(rev)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::check::{Intent, check};

    #[test]
    fn record_json_round_trips() {
        let record = Record {
            kind: Kind::Room,
            id: Uuid::from_u128(7),
            rev: 12,
            fields: check(Kind::Room, Intent::Create, &json!({ "name": "Hall" })).fields,
            created_at: Timestamp::from_millis(1),
            updated_at: Timestamp::from_millis(2),
            updated_by: "Ana's \"phone\"".to_owned(),
        };
        let text = record.to_json();
        assert!(
            text.starts_with(r#"{"id":"00000000-0000-0000-0000-000000000007","rev":12,"name":"Hall","room_type":null"#)
        );
        assert!(text.ends_with(r#""updated_at":"1970-01-01T00:00:00.002Z","updated_by":"Ana's \"phone\""}"#));
        assert_eq!(Record::from_json(Kind::Room, &text), Some(record));
    }

    #[test]
    fn etag_is_quoted_revision() {
        assert_eq!(parse_etag(&etag(42)), Some(42));
        assert_eq!(parse_etag("W/\"42\""), None);
        assert_eq!(parse_etag("42"), None);
        // Another spelling of the number is another tag.
        for other in ["\"042\"", "\"+42\"", "\"-0\"", "\"\""] {
            assert_eq!(parse_etag(other), None, "{other}");
        }
    }
}

//! A thing in the home, and its one wire form. Must not know where records are stored.

use serde_json::Value;
use uuid::Uuid;

use crate::check::Fields;
use crate::formats::{Timestamp, parse_id};
use crate::resources::resource;
use crate::schema::Kind;

/// One resource of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Which kind.
    pub kind: Kind,
    /// Its id in the home, for ever its own.
    pub id: Uuid,
    /// Id of the event that last changed it; its ETag.
    pub rev: i64,
    /// Its own fields by name. A record read from the wire may hold members that this version does not know.
    pub fields: Fields,
    /// When it was created; never changes.
    pub created_at: Timestamp,
    /// When it last changed; never goes backwards within a home.
    pub updated_at: Timestamp,
}

impl Record {
    /// The finished wire JSON: `id`, `rev`, every field of the table in its order, `created_at`, `updated_at`.
    pub fn to_json(&self) -> String {
        let mut members = serde_json::Map::with_capacity(self.fields.len() + 4);
        members.insert("id".into(), self.id.to_string().into());
        members.insert("rev".into(), self.rev.into());
        for field in resource(self.kind).fields {
            members.insert(field.name.into(), self.fields.get(field.name).cloned().unwrap_or(Value::Null));
        }
        members.insert("created_at".into(), self.created_at.to_string().into());
        members.insert("updated_at".into(), self.updated_at.to_string().into());
        Value::Object(members).to_string()
    }

    /// Reads the wire form. None: not an object with the four common members.
    pub fn from_json(kind: Kind, text: &str) -> Option<Record> {
        match serde_json::from_str(text) {
            Ok(Value::Object(members)) => Record::from_members(kind, members),
            _ => None,
        }
    }

    /// Reads the members of the wire form.
    pub fn from_members(kind: Kind, mut members: Fields) -> Option<Record> {
        let text = |value: Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
        let id = parse_id(&text(members.shift_remove("id"))?)?;
        let rev = members.shift_remove("rev")?.as_i64()?;
        let created_at = Timestamp::parse(&text(members.shift_remove("created_at"))?)?;
        let updated_at = Timestamp::parse(&text(members.shift_remove("updated_at"))?)?;
        Some(Record { kind, id, rev, fields: members, created_at, updated_at })
    }
}

/// The text of a revision as an ETag.
pub fn etag(rev: i64) -> String {
    format!("\"{rev}\"")
}

/// Reads a revision written as an ETag, quoted. Weak tags are no revisions (RFC 9110 13.1.1: strong comparison), nor are
/// other spellings of a number: a tag is its text.
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
    fn the_wire_form_round_trips() {
        let record = Record {
            kind: Kind::Room,
            id: Uuid::from_u128(7),
            rev: 12,
            fields: check(Kind::Room, Intent::Create, &json!({ "name": "Hall" })).fields,
            created_at: Timestamp::from_millis(1),
            updated_at: Timestamp::from_millis(2),
        };
        let text = record.to_json();
        assert!(
            text.starts_with(r#"{"id":"00000000-0000-0000-0000-000000000007","rev":12,"name":"Hall","room_type":null"#)
        );
        assert!(text.ends_with(r#""created_at":"1970-01-01T00:00:00.001Z","updated_at":"1970-01-01T00:00:00.002Z"}"#));
        assert_eq!(Record::from_json(Kind::Room, &text), Some(record));
    }

    #[test]
    fn an_etag_is_a_quoted_revision() {
        assert_eq!(parse_etag(&etag(42)), Some(42));
        assert_eq!(parse_etag("W/\"42\""), None);
        assert_eq!(parse_etag("42"), None);
        // A tag is its text: another spelling of the number is another tag.
        for other in ["\"042\"", "\"+42\"", "\"-0\"", "\"\""] {
            assert_eq!(parse_etag(other), None, "{other}");
        }
    }
}

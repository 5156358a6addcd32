//! What a record may hold at most (contract 2, 3), for readers of data that somebody else has checked. Formats are not
//! checked: a newer server may know words that this version does not. Must not know where a record comes from.

use serde_json::Value;

use crate::check::Fields;
use crate::resources::resource;
use crate::schema::{AUTHOR_MAX, COMMON, Format, Kind, URL_MAX};

/// Bytes of the JSON of one record. The largest record that the contract allows has 90 kB; members of a newer server fit too.
pub const RECORD_BYTES_MAX: usize = 256 << 10;
/// Bytes of the JSON of an event: a record, and at most 4 KiB of other members.
pub const EVENT_BYTES_MAX: usize = RECORD_BYTES_MAX + (4 << 10);

/// Bytes of the members of a record that this version does not know.
const UNKNOWN_BYTES_MAX: usize = 64 << 10;
/// Characters of a value that is neither a text nor an address: a word, a date, a sum, an id, the name of an author.
const VALUE_CHARS_MAX: usize = AUTHOR_MAX;

/// The first limit that a record breaks, as a part of a sentence such as `title has more than 200 characters`. None: the
/// record keeps all limits.
pub fn broken_limit(kind: Kind, members: &Fields) -> Option<String> {
    let mut unknown_bytes = 0;
    for (name, value) in members {
        let format = resource(kind).field(name).map(|field| field.format);
        let is_common = COMMON.contains(&name.as_str());
        let range = format.and_then(Format::integer_range);
        match (value, format, range) {
            (Value::Null | Value::Bool(_), ..) => {}
            (Value::String(text), format, _) if format.is_some() || is_common => {
                let max = format.map_or(VALUE_CHARS_MAX, chars_max);
                if text.len() > max && text.chars().count() > max {
                    return Some(format!("{name} has more than {max} characters"));
                }
            }
            (Value::Number(number), _, Some((low, high))) => {
                if !number.as_f64().is_some_and(|number| (low as f64..=high as f64).contains(&number)) {
                    return Some(format!("{name} is not from {low} to {high}"));
                }
            }
            (value, ..) => unknown_bytes += name.len() + value.to_string().len(),
        }
    }
    (unknown_bytes > UNKNOWN_BYTES_MAX)
        .then(|| format!("its unknown members have more than {} KiB", UNKNOWN_BYTES_MAX >> 10))
}

/// The most characters of a value.
fn chars_max(format: Format) -> usize {
    match format {
        Format::Text { max, .. } => max,
        Format::Url => URL_MAX,
        _ => VALUE_CHARS_MAX,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::formats::Timestamp;
    use crate::record::Record;

    fn broken(members: Value) -> Option<String> {
        broken_limit(Kind::Task, members.as_object().unwrap())
    }

    #[test]
    fn oversized_values_are_named() {
        let fits =
            json!({ "id": "x", "rev": 7, "title": "é".repeat(200), "priority": "someday", "recurrence_every": 2 });
        assert_eq!(broken(fits), None);
        let says = |members| broken(members).unwrap_or_default();
        assert_eq!(says(json!({ "title": "x".repeat(3_900_000) })), "title has more than 200 characters");
        assert_eq!(says(json!({ "due_on": "9".repeat(101) })), "due_on has more than 100 characters");
        assert_eq!(says(json!({ "id": "9".repeat(101) })), "id has more than 100 characters");
        assert_eq!(says(json!({ "recurrence_every": i64::MAX })), "recurrence_every is not from 1 to 99");
        assert_eq!(says(json!({ "recurrence_every": 1e300 })), "recurrence_every is not from 1 to 99");
        assert_eq!(says(json!({ "new": "x".repeat(70_000) })), "its unknown members have more than 64 KiB");
        assert_eq!(says(json!({ "title": ["x".repeat(70_000)] })), "its unknown members have more than 64 KiB");
    }

    #[test]
    fn largest_record_fits() {
        for kind in Kind::ALL {
            let largest = |format: Format| match format.integer_range() {
                Some((_, high)) => json!(high),
                None => json!("\u{1f600}".repeat(chars_max(format))),
            };
            let fields = resource(kind).fields.iter();
            let fields = fields.map(|field| (field.name.to_owned(), largest(field.format))).collect();
            assert_eq!(broken_limit(kind, &fields), None);
            let at = Timestamp::from_millis(0);
            let (id, updated_by) = (uuid::Uuid::nil(), "\u{1f600}".repeat(AUTHOR_MAX));
            let record = Record { kind, id, rev: i64::MAX, fields, created_at: at, updated_at: at, updated_by };
            assert!(record.to_json().len() + UNKNOWN_BYTES_MAX < RECORD_BYTES_MAX, "{kind}");
        }
    }
}

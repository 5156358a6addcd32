//! The days on which something of a record ends: a warranty, an insurance, a registration, a document. Calendars and reminders
//! use the same list. Must not know the clock, nor who shows the days.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use serde_json::Value;

/// A field whose day is the last day of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The kind of the record.
    pub kind: Kind,
    /// The name of the field.
    pub field: &'static str,
    /// What ends, in one word.
    pub what: &'static str,
    /// What happens on the day, for people: `warranty ends`.
    pub sentence: &'static str,
}

/// All such fields.
pub const ENDS: [End; 4] = [
    End { kind: Kind::Inventory, field: "warranty_expires_on", what: "warranty", sentence: "warranty ends" },
    End { kind: Kind::Vehicle, field: "insurance_expires_on", what: "insurance", sentence: "insurance ends" },
    End { kind: Kind::Vehicle, field: "registration_expires_on", what: "registration", sentence: "registration ends" },
    End { kind: Kind::Document, field: "expires_on", what: "document", sentence: "expires" },
];

/// The days on which something of a record ends, each as `YYYY-MM-DD`.
pub fn ends(kind: Kind, fields: &Fields) -> impl Iterator<Item = (End, &str)> {
    let of_kind = ENDS.into_iter().filter(move |end| end.kind == kind);
    of_kind.filter_map(|end| Some((end, fields.get(end.field).and_then(Value::as_str)?)))
}

/// The day on which a task is due, unless the task is done.
pub fn due_day(kind: Kind, fields: &Fields) -> Option<&str> {
    let word = |name: &str| fields.get(name).and_then(Value::as_str);
    if kind == Kind::Task && word("status") != Some("done") { word("due_on") } else { None }
}

#[cfg(test)]
mod tests {
    use hearth_contract::resources::resource;
    use hearth_contract::schema::Format;

    use super::*;

    #[test]
    fn every_day_of_expiry_is_an_end() {
        for kind in Kind::ALL {
            let days = resource(kind).fields.iter().filter(|field| field.format == Format::Date);
            for field in days.filter(|field| field.name.ends_with("expires_on")) {
                assert!(ENDS.iter().any(|end| end.kind == kind && end.field == field.name), "{kind} {}", field.name);
            }
        }
    }
}

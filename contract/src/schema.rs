//! The types that describe a resource: kind, field, format. Must not know a particular resource.

use std::fmt;

/// A kind of record (contract 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An item that the household owns.
    Inventory,
    /// A vehicle, such as a car or a trailer.
    Vehicle,
    /// A document of the household: a description, not the file.
    Document,
    /// A task to do.
    Task,
    /// A room of the home.
    Room,
    /// The profile of the home; a home has at most one.
    Property,
}

impl Kind {
    /// All kinds, in the contract's order.
    pub const ALL: [Kind; 6] = [Kind::Inventory, Kind::Vehicle, Kind::Document, Kind::Task, Kind::Room, Kind::Property];

    /// The kinds with a collection: all but the profile.
    pub const COLLECTIONS: [Kind; 5] = [Kind::Inventory, Kind::Vehicle, Kind::Document, Kind::Task, Kind::Room];

    /// The singular word, for events, search and subjects.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Inventory => "inventory",
            Kind::Vehicle => "vehicle",
            Kind::Document => "document",
            Kind::Task => "task",
            Kind::Room => "room",
            Kind::Property => "property",
        }
    }

    /// The word in paths, scopes and replica tables. Plural for most collections.
    pub const fn collection(self) -> &'static str {
        match self {
            Kind::Inventory => "inventory",
            Kind::Vehicle => "vehicles",
            Kind::Document => "documents",
            Kind::Task => "tasks",
            Kind::Room => "rooms",
            Kind::Property => "property",
        }
    }

    /// The kind with this singular word.
    pub fn parse(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The kind with this collection word; `property` is the profile.
    pub fn from_collection(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.collection() == name)
    }

    /// Whether a home has at most one record of the kind. The path of a singleton has no id.
    pub const fn is_singleton(self) -> bool {
        matches!(self, Kind::Property)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The description of one kind.
#[derive(Debug)]
pub struct Resource {
    /// The described kind.
    pub kind: Kind,
    /// One sentence for people.
    pub about: &'static str,
    /// The name of the field that people know a record by.
    pub title: &'static str,
    /// The fields of the kind in the contract's order, without the common members ([`COMMON`]).
    pub fields: &'static [Field],
}

impl Resource {
    /// The field with this name. None for common members and unknown names.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The relations that `expand` may name, each with the field that holds the id.
    pub fn relations(&self) -> impl Iterator<Item = (&'static str, &'static Field)> {
        self.fields.iter().filter_map(|field| field.relation().map(|relation| (relation, field)))
    }

    /// The kinds that a relation may lead to; empty for an unknown relation.
    pub fn targets(&self, relation: &str) -> Vec<Kind> {
        let named = self.relations().find(|(name, _)| *name == relation);
        match named.map(|(_, field)| field.format) {
            Some(Format::Reference(kind)) => vec![kind],
            // The choices differ by kind: a document has no room (contract 3).
            Some(Format::Subject) => match self.field(SUBJECT_TYPE).map(|field| field.format) {
                Some(Format::Choice(words)) => words.iter().filter_map(|word| Kind::parse(word)).collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// The fields that lists can be filtered by (contract 5).
    pub fn filters(&self) -> impl Iterator<Item = &'static Field> {
        self.fields.iter().filter(|field| field.is_filter())
    }

    /// The searched fields (contract 8).
    pub fn searchable(&self) -> impl Iterator<Item = &'static Field> {
        self.fields.iter().filter(|field| field.is_searchable())
    }

    /// Whether records of the kind have `subject_type` and `subject_id`.
    pub fn has_subject(&self) -> bool {
        self.field(SUBJECT_ID).is_some()
    }
}

/// The field that holds the kind of a record's subject.
pub const SUBJECT_TYPE: &str = "subject_type";
/// The field that holds the id of a record's subject.
pub const SUBJECT_ID: &str = "subject_id";

/// The field that names a record in the source of an import. Unique within a kind and a home.
pub const IMPORT_REF: &str = "import_ref";

/// The kinds that a subject can have. Documents take two of them ([`Resource::targets`]).
pub const SUBJECTS: [Kind; 3] = [Kind::Inventory, Kind::Vehicle, Kind::Room];

/// Whether a field is `subject_type` or `subject_id`: together they name one record.
pub fn is_subject(field: &str) -> bool {
    field == SUBJECT_TYPE || field == SUBJECT_ID
}

/// The members of every record beside the fields of its kind. The server sets them all.
pub const COMMON: [&str; 5] = ["id", "rev", "created_at", "updated_at", "updated_by"];
/// The most characters of `updated_by`: the name of a person or of a key.
pub const AUTHOR_MAX: usize = 100;

/// One field of a resource.
#[derive(Debug)]
pub struct Field {
    /// The name of the JSON member and of the database column.
    pub name: &'static str,
    /// One phrase for people, in help texts, schemas and column comments.
    pub about: &'static str,
    /// The values that the field takes.
    pub format: Format,
    /// Whether a client must, may or must not send the field.
    pub presence: Presence,
}

impl Field {
    /// Whether the field may be null.
    pub const fn is_nullable(&self) -> bool {
        matches!(self.presence, Presence::Optional | Presence::ReadOnly | Presence::OnCompletion)
    }

    /// Whether a create must have the field.
    pub const fn is_required(&self) -> bool {
        matches!(self.presence, Presence::Required)
    }

    /// Whether a client may set the field with any write.
    pub const fn is_writable(&self) -> bool {
        !matches!(self.presence, Presence::ReadOnly | Presence::OnCompletion)
    }

    /// Whether some requests may contain the field.
    pub const fn is_sendable(&self) -> bool {
        !matches!(self.presence, Presence::ReadOnly)
    }

    /// Whether search looks at the field: texts and codes, not choices, dates, urls and marks of programs (contract 8).
    pub fn is_searchable(&self) -> bool {
        matches!(self.format, Format::Text { .. } | Format::Vin) && self.name != IMPORT_REF
    }

    /// Whether a list can be filtered by values of the field: choices, references, dates and files (contract 5).
    pub const fn is_filter(&self) -> bool {
        matches!(
            self.format,
            Format::Choice(_) | Format::Reference(_) | Format::Subject | Format::Date | Format::Sha256
        )
    }

    /// Whether the field is an area in whole square feet. Its name ends with the unit.
    pub fn is_area(&self) -> bool {
        matches!(self.format, Format::Count { .. }) && self.name.ends_with("_sq_ft")
    }

    /// The relation whose id the field holds: `room` for `room_id`. None for other fields.
    pub fn relation(&self) -> Option<&'static str> {
        match self.format {
            Format::Reference(_) | Format::Subject => self.name.strip_suffix("_id"),
            _ => None,
        }
    }

    /// The allowed values of the field for people, such as `an integer from 0; required`.
    pub fn allowed_values(&self) -> String {
        let values = match self.format {
            Format::Text { max, .. } => format!("at most {max} characters"),
            Format::Choice(words) => words.join(", "),
            Format::Count { min, max: COUNT_MAX } => format!("an integer from {min}"),
            Format::Count { min, max } => format!("an integer from {min} to {max}"),
            Format::Year => "an integer from 1000 to 9999".to_owned(),
            Format::Money => "a decimal such as 1299.00".to_owned(),
            Format::Date => "YYYY-MM-DD".to_owned(),
            Format::Timestamp => "YYYY-MM-DDTHH:MM:SS.mmmZ".to_owned(),
            Format::TimeZone => "a name such as Europe/Berlin".to_owned(),
            Format::Currency => "a code such as EUR".to_owned(),
            Format::Sha256 => "64 of 0-9 and a-f".to_owned(),
            Format::Vin => "11 to 17 letters and digits".to_owned(),
            Format::Url => "http or https".to_owned(),
            Format::Reference(kind) => format!("id in {}", kind.collection()),
            Format::Subject => "id in the table that subject_type means".to_owned(),
        };
        match self.presence {
            Presence::Required => format!("{values}; required"),
            Presence::ReadOnly => format!("{values}; set by the server"),
            _ => values,
        }
    }

    /// The name for people: `Purchase price` for `purchase_price`.
    pub fn label(&self) -> String {
        let words = self.name.strip_suffix("_id").unwrap_or(self.name).replace('_', " ");
        let mut letters = words.chars();
        match letters.next() {
            Some(first) => first.to_uppercase().chain(letters).collect(),
            None => words,
        }
    }
}

/// Whether a client must, may or must not send a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// A create must send the field. Never null.
    Required,
    /// A client may send the field. Null if not set.
    Optional,
    /// A client may send the field. A create without the field takes the default. Never null.
    Default(Preset),
    /// Only the server sets the field. May be null.
    ReadOnly,
    /// The server sets the field when a task is completed. A client may send it only with a write that sets the status
    /// done (contract 3). May be null.
    OnCompletion,
}

/// The default value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// A word of a choice.
    Word(&'static str),
    /// The value of a count.
    Number(i64),
}

impl Preset {
    /// The default as JSON.
    pub fn value(self) -> serde_json::Value {
        match self {
            Preset::Word(word) => word.into(),
            Preset::Number(number) => number.into(),
        }
    }
}

/// The values that a field takes (contract 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A text of at most `max` characters.
    Text {
        /// The most characters.
        max: usize,
        /// Whether the text may have line breaks and tabs.
        lines: Lines,
    },
    /// A vehicle identification number: 11–17 of A–Z and 0–9 without I, O, Q; upper-cased.
    Vin,
    /// An absolute http or https address of at most [`URL_MAX`] characters.
    Url,
    /// One of the listed words.
    Choice(&'static [&'static str]),
    /// An integer in a range.
    Count {
        /// The least value.
        min: i64,
        /// The greatest value.
        max: i64,
    },
    /// An integer from 1000 to 9999.
    Year,
    /// A non-negative decimal string with at most 12 integer digits and 2 decimals.
    Money,
    /// A calendar date: `YYYY-MM-DD`.
    Date,
    /// A moment in UTC: `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    Timestamp,
    /// The name of a zone of the tz database, such as `Europe/Berlin`.
    TimeZone,
    /// The code of a currency of ISO 4217, such as `EUR`.
    Currency,
    /// The SHA-256 of a file: 64 hex digits in lower case.
    Sha256,
    /// The id of a record of the given kind.
    Reference(Kind),
    /// The id of a record of the kind that `subject_type` names.
    Subject,
}

/// The most characters of a url.
pub const URL_MAX: usize = 2000;
/// The greatest count where a field has no lower limit: the largest signed 32-bit integer.
pub const COUNT_MAX: i64 = 2_147_483_647;

/// The least year.
pub const YEAR_MIN: i64 = 1000;
/// The greatest year.
pub const YEAR_MAX: i64 = 9999;

/// Whether a text is one line or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// No control characters.
    One,
    /// No control characters but `\n` and `\t`.
    Many,
}

impl Format {
    /// The format's name in discovery documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Format::Text { .. } => "text",
            Format::Vin => "vin",
            Format::Url => "url",
            Format::Choice(_) => "choice",
            Format::Count { .. } => "count",
            Format::Year => "year",
            Format::Money => "money",
            Format::Date => "date",
            Format::Timestamp => "timestamp",
            Format::TimeZone => "time_zone",
            Format::Currency => "currency",
            Format::Sha256 => "sha256",
            Format::Reference(_) | Format::Subject => "id",
        }
    }

    /// Whether the values are JSON integers. All other formats are JSON strings.
    pub const fn is_integer(self) -> bool {
        self.integer_range().is_some()
    }

    /// The least and the greatest value of an integer format. None: the values are strings.
    pub const fn integer_range(self) -> Option<(i64, i64)> {
        match self {
            Format::Count { min, max } => Some((min, max)),
            Format::Year => Some((YEAR_MIN, YEAR_MAX)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn kind_is_written_as_its_word() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert_eq!(serde_json::from_value::<Kind>(kind.as_str().into()).unwrap(), kind);
        }
    }
}

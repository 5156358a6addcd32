//! The words in which a resource is described. Must not know any particular resource.

use std::fmt;

/// One of the six kinds of thing a home consists of (contract 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A thing one owns.
    Inventory,
    /// A car, a bike with a plate, a trailer.
    Vehicle,
    /// A paper, or what is known of it.
    Document,
    /// Something to do.
    Task,
    /// A room of the home.
    Room,
    /// The home's own profile; there is one.
    Property,
}

impl Kind {
    /// All kinds, in the contract's order.
    pub const ALL: [Kind; 6] = [Kind::Inventory, Kind::Vehicle, Kind::Document, Kind::Task, Kind::Room, Kind::Property];

    /// The kinds of which a home has many.
    pub const COLLECTIONS: [Kind; 5] = [Kind::Inventory, Kind::Vehicle, Kind::Document, Kind::Task, Kind::Room];

    /// The singular word used in events, search and subjects.
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

    /// The word of paths, scopes and replica tables: plural where the kind is a collection.
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

    /// The kind a singular word names.
    pub fn parse(word: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The kind a collection name names, the singleton's included.
    pub fn from_collection(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.collection() == name)
    }

    /// Whether a home has at most one of it, without an id in its path.
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
    /// Which kind it describes.
    pub kind: Kind,
    /// One sentence for people.
    pub about: &'static str,
    /// The field that names a record to people.
    pub title: &'static str,
    /// Its own fields in the contract's order; `id`, `rev`, `created_at` and `updated_at` are common to all.
    pub fields: &'static [Field],
}

impl Resource {
    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// What `expand` may name: relation and the field that holds the id.
    pub fn relations(&self) -> impl Iterator<Item = (&'static str, &'static Field)> {
        self.fields.iter().filter_map(|field| field.relation().map(|relation| (relation, field)))
    }

    /// The kinds of records that a relation may lead to.
    pub fn targets(&self, relation: &str) -> Vec<Kind> {
        let named = self.relations().find(|(name, _)| *name == relation);
        match named.map(|(_, field)| field.format) {
            Some(Format::Reference(kind)) => vec![kind],
            // Not every kind may have every subject: a document has no room (contract 3).
            Some(Format::Subject) => match self.field(SUBJECT_TYPE).map(|field| field.format) {
                Some(Format::Choice(words)) => words.iter().filter_map(|word| Kind::parse(word)).collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// The fields whose words a search looks through (contract 8).
    pub fn searchable(&self) -> impl Iterator<Item = &'static Field> {
        self.fields.iter().filter(|field| field.is_searchable())
    }

    /// Whether records of this kind carry a `subject_type` and `subject_id`.
    pub fn has_subject(&self) -> bool {
        self.field(SUBJECT_ID).is_some()
    }
}

/// The field that says of which kind a record's subject is.
pub const SUBJECT_TYPE: &str = "subject_type";
/// The field that holds the id of a record's subject.
pub const SUBJECT_ID: &str = "subject_id";

/// What a subject can name, besides the home itself; each kind takes these or some of them (`Resource::targets`).
pub const SUBJECTS: [Kind; 3] = [Kind::Inventory, Kind::Vehicle, Kind::Room];

/// Whether a field is one half of a subject: both halves together name one record.
pub fn is_subject(field: &str) -> bool {
    field == SUBJECT_TYPE || field == SUBJECT_ID
}
/// The members that every record has beside its own fields; all are set by the server.
pub const COMMON: [&str; 4] = ["id", "rev", "created_at", "updated_at"];

/// One field of a resource.
#[derive(Debug)]
pub struct Field {
    /// Its member and column name.
    pub name: &'static str,
    /// One phrase for people: help texts, schemas, column comments.
    pub about: &'static str,
    /// Which values it takes.
    pub format: Format,
    /// Whether it must, may or must not be sent.
    pub presence: Presence,
}

impl Field {
    /// Whether `null` is a value of it.
    pub const fn is_nullable(&self) -> bool {
        matches!(self.presence, Presence::Optional | Presence::ReadOnly)
    }

    /// Whether a client may set it.
    pub const fn is_writable(&self) -> bool {
        !matches!(self.presence, Presence::ReadOnly)
    }

    /// Whether its words are found by search: texts and codes, not choices, dates and addresses (contract 8).
    pub const fn is_searchable(&self) -> bool {
        matches!(self.format, Format::Text { .. } | Format::Vin)
    }

    /// The relation it holds the id of.
    pub fn relation(&self) -> Option<&'static str> {
        match self.format {
            Format::Reference(_) | Format::Subject => self.name.strip_suffix("_id"),
            _ => None,
        }
    }

    /// Its name as people read it: `purchase_price` is `Purchase price`.
    pub fn label(&self) -> String {
        let words = self.name.strip_suffix("_id").unwrap_or(self.name).replace('_', " ");
        let mut letters = words.chars();
        match letters.next() {
            Some(first) => first.to_uppercase().chain(letters).collect(),
            None => words,
        }
    }
}

/// Whether a field must, may or must not be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Sent on create, never null.
    Required,
    /// Null when not set.
    Optional,
    /// Takes this value when not sent, never null.
    Default(Preset),
    /// Set by the server alone.
    ReadOnly,
}

/// The value of a field that was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// A choice.
    Word(&'static str),
    /// A count.
    Number(i64),
}

/// Which values a field takes (contract 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Characters: at most `max` of them, on one line or several.
    Text {
        /// Greatest length in characters.
        max: usize,
        /// Whether line breaks and tabs are allowed.
        lines: Lines,
    },
    /// A vehicle identification number: 11–17 of A–Z and 0–9 without I, O, Q; upper-cased.
    Vin,
    /// An absolute http or https address of at most [`URL_MAX`] characters.
    Url,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An integer from 0 to [`COUNT_MAX`].
    Count,
    /// An integer from 1000 to 9999.
    Year,
    /// A non-negative decimal string with at most 12 integer digits and 2 decimals.
    Money,
    /// `YYYY-MM-DD`.
    Date,
    /// `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    Timestamp,
    /// The id of a record of this kind.
    Reference(Kind),
    /// The id of a record of the kind that `subject_type` names.
    Subject,
}

/// Greatest length of a url in characters.
pub const URL_MAX: usize = 2000;
/// Greatest count.
pub const COUNT_MAX: i64 = 2_147_483_647;

/// One line or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// No control character at all.
    One,
    /// `\n` and `\t` are allowed.
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
            Format::Count => "count",
            Format::Year => "year",
            Format::Money => "money",
            Format::Date => "date",
            Format::Timestamp => "timestamp",
            Format::Reference(_) | Format::Subject => "id",
        }
    }

    /// Whether its values are JSON integers; all others are strings.
    pub const fn is_integer(self) -> bool {
        matches!(self, Format::Count | Format::Year)
    }
}
